"""Which files are generated from the messages and problem codes? `deploy/schemas` and `deploy/docs/problems.md`.

Run this after a change of `schemas`, and commit them.
"""

# ruff: noqa: INP001 - a command, not a package

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "schemas"
CATALOGUE = Path(__file__).parent / "docs" / "problems.md"
sys.path.insert(0, str(Path(__file__).parent.parent))  # a checkout that is not installed has them too

from schemas.documents import asyncapi_of_files, json_schemas, problem_catalogue, schema_file  # noqa: E402 - the path is set above


def documents() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every file."""
    yield "asyncapi.json", _text(asyncapi_of_files())
    for name, schema in json_schemas().items():
        yield schema_file(name), _text(schema)


def _text(document: dict[str, object]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def write() -> None:
    """Write every file and remove those of messages that are gone."""
    FOLDER.mkdir(exist_ok=True)
    written = dict(documents())
    for path in FOLDER.glob("*.json"):
        if path.name not in written:
            path.unlink()
    for name, data in written.items():
        (FOLDER / name).write_bytes(data)
    CATALOGUE.write_text(problem_catalogue())


if __name__ == "__main__":
    write()
