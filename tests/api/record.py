"""What does the running system answer to each example of the documentation? `python -m tests.api.record` writes it down.

The document shows these answers. Ids, tokens and moments are those of nobody: what a test's deployment gave is replaced
by what the examples speak of. A test asks everything again and holds what is written to it, field by field.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec

from adapters.http.document.examples import EXAMPLES, NUMBER, OWN_EMAIL, RECORDED, REQUEST, Example, RecordedAnswer
from adapters.http.exchange.exchange import Operation
from adapters.http.operations import documented_operations
from adapters.local import resolution
from adapters.postgres.migrate import migrate
from tests.adapters.http.conftest import UNLIMITED, Company, Town, deployed
from tests.api.world import Places, make_places, placed, send, show_impression

ROWS_SHOWN = 1
"""Of a list: enough to see what a row looks like."""

CSV_LINES_SHOWN = 3

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_MOMENT = re.compile(r"\b20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:.]+Z")
_LOCAL_MOMENT = re.compile(r"\b20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:.]+[+-][0-9:]{5}")
_SECRET = re.compile(
    r"\b(?:whsec_[A-Za-z0-9+/=]+|sk_[A-Za-z0-9_-]{20,}|pk_[A-Za-z0-9_-]{12,}|lt_[A-Za-z0-9_-]{16,}"
    r"|ss_[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|iv_[0-9]+\.[A-Za-z0-9_-]{43})"
)
_LINK = re.compile(r"/recordings/[A-Za-z0-9_-]{20,}")
_SEED = re.compile(r"\b[A-Z2-7]{32}\b")
_ADDRESS = re.compile(r"\buser-[0-9]{6}(@|%40)example\.com")
SEED = "EXAMPLEONLYEXAMPLEONLYEXAMPLEONL"
MOMENT, LOCAL_MOMENT = "2026-03-09T14:00:00.000Z", "2026-03-09T10:00:00-04:00"


async def answers(town: Town, company: Company) -> dict[str, RecordedAnswer]:
    """Ask every example of every operation and return the answers as the document shows them."""
    found: dict[str, RecordedAnswer] = {}
    await make_places(town, company, *EXAMPLES.values())  # lists have something to show
    await show_impression(company)
    for operation, method in asked():
        example = EXAMPLES[operation.name]
        places = await make_places(town, company, example)
        if operation.created and operation.access == "token":
            town.numbers += 1
            places |= {NUMBER: f"+1212555{town.numbers % 10_000:04d}"}  # of nobody yet: a lead that is created
        answer = await send(town, company, operation, method, placed(example, places))
        assert answer.status_code < 300, (operation.name, method, answer.text)
        as_file = await _as_file(company, operation, placed(example, places))
        found[f"{operation.name} {method}"] = _recorded(answer, as_file, places)
    return found


def asked() -> Iterator[tuple[Operation, str]]:
    """Yield every operation with each of its methods that has an answer to show."""
    for operation in documented_operations():
        for method in operation.methods:
            if method != "HEAD" and not operation.file:
                yield operation, method


async def _as_file(company: Company, operation: Operation, example: Example) -> str:
    if ".csv" not in operation.suffixes:
        return ""
    path = operation.path + ".csv"
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    answer = await company.send("GET", path, params=dict(example.query))
    return "".join(answer.text.splitlines(keepends=True)[:CSV_LINES_SHOWN])


def _recorded(answer: httpx.Response, as_file: str, places: Places) -> RecordedAnswer:
    text = msgspec.json.encode(_few(answer.json())).decode()
    return RecordedAnswer(
        status=answer.status_code,
        body=msgspec.json.decode(_of_nobody(text, places)),
        csv=_of_nobody(as_file, places),
    )


def _few(value: Any) -> Any:
    """Return an answer with few rows of each list."""
    if isinstance(value, dict):
        return {name: _few(part) for name, part in value.items()}
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return [_few(part) for part in value[:ROWS_SHOWN]]
    return value


def _of_nobody(text: str, places: Places) -> str:
    """Replace what a deployment of its own gave by what the examples speak of."""
    for place, real in places.items():
        text = re.sub(rf"(?<![0-9A-Za-z]){re.escape(real)}(?![0-9A-Za-z])", place, text)
    text = _LINK.sub(f"/recordings/{SEED}", text)
    text = _LOCAL_MOMENT.sub(LOCAL_MOMENT, _MOMENT.sub(MOMENT, text))
    text = _ADDRESS.sub(lambda match: OWN_EMAIL.replace("@", match[1]), _SEED.sub(SEED, text))
    return _UUID.sub(REQUEST, _SECRET.sub(lambda match: f"{match[0].partition('_')[0]}_exampleOnly", text))


def as_lines(found: Mapping[str, RecordedAnswer]) -> bytes:
    """Return recorded answers as JSON with an answer a line, so that a diff shows which have changed."""
    lines = [msgspec.json.encode(name) + b": " + msgspec.json.encode(answer) for name, answer in found.items()]
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


async def main() -> int:
    """Record every answer again."""
    with tempfile.TemporaryDirectory() as folder:
        async with resolution.database(Path(folder), durable=False) as database:
            await migrate(database.dsn)
            async with deployed(database.dsn, UNLIMITED) as town:
                found = await answers(town, await town.company())
    RECORDED.write_bytes(as_lines(found))
    sys.stdout.write(f"{len(found)} answers in {RECORDED.name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
