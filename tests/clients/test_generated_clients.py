"""Do client generators take the document without a warning, and do their clients work? Each is generated, and used."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adapters.http.document.areas import AREAS
from adapters.http.document.client_document import client_document
from adapters.http.server import serving
from tests.clients.generators import HERE, ROOT, TOOLS, generate_go, generate_python, generate_typescript, last_line, run

pytestmark = pytest.mark.asyncio(loop_scope="session")

EXPECTED = {
    "listed": True,
    "total": 1,
    "email": "ada@example.com",
    "status": "opt_out",
    "code": "validation_failed",
    "fields": ["caller_id"],
}

OF_THE_GENERATOR = "support is still in beta|Failed to get the schema name: null|No application/json content media type"
"""What openapi-generator says of any OpenAPI 3.1 document, of one operation too, and of a problem+json."""

FURTHER_FILES = 20
"""Of a Python client: its classes of clients and errors, and one file that lists the types."""

FILES_MAX = 400
"""Files of a client that people still review and keep. Python's generator writes one for each operation as well: its client
of everything has more, that of a sender has fewer."""

OF_A_SENDER = ("leads", "contacts", "calls")
"""Tags of the operations that a sender of leads uses."""

PART = re.compile(r"^\| `tags=([a-z,]+)` \| (\d+) \|", re.MULTILINE)
PARTS = {tags: int(files) for tags, files in PART.findall((ROOT / "deploy/docs/producers.md").read_text("utf-8"))}
"""Tags of a part of the document -> files of its Python client at most, as the guide says."""

ROUNDED = 40
"""The guide's figures are for a reader: a new operation or two must not change them."""


async def _names(company: Any, port: int, number: str) -> dict[str, str]:
    schedule = await company.schedule()
    return {
        "BASE": f"http://127.0.0.1:{port}",
        "KEY": f"{company.public_key}:{company.private_key}",
        "TOKEN": schedule["lead_token"],
        "NUMBER": number,
    }


async def test_a_python_client_of_everything_is_generated_without_a_warning(tmp_path: Path) -> None:
    said = await generate_python(tmp_path)
    assert "warning" not in said.lower(), said
    _has_one_file_for_each_thing(tmp_path / "leadclock_client")


async def test_the_python_client_of_a_sender_works(town: Any, company: Any, tmp_path: Path) -> None:
    said = await generate_python(tmp_path, OF_A_SENDER)
    assert "warning" not in said.lower(), said
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        names = await _names(company, port, "+12125550171")
        output = await run(
            TOOLS / "python" / "bin" / "python", HERE / "use_client.py", folder=tmp_path, PYTHONPATH=str(tmp_path), **names
        )
    assert last_line(output) == EXPECTED


async def test_the_guide_names_the_part_of_each_tag_and_that_of_a_sender() -> None:
    assert PARTS.keys() == {*AREAS, ",".join(OF_A_SENDER)}
    assert max(PARTS.values()) <= FILES_MAX


@pytest.mark.parametrize("tags", PARTS)
async def test_the_python_client_of_a_part_has_as_few_files_as_the_guide_says(tmp_path: Path, tags: str) -> None:
    said = await generate_python(tmp_path, tags.split(","))
    assert "warning" not in said.lower(), said
    files = len(list((tmp_path / "leadclock_client").rglob("*.py")))
    assert PARTS[tags] - ROUNDED <= files <= PARTS[tags]


def _has_one_file_for_each_thing(folder: Path) -> None:
    """Hold that each operation, type and enumeration gives one file: an object without a name would give more."""
    document = client_document()
    operations = sum("operationId" in part for entry in document["paths"].values() for part in entry.values())
    enumerations = json.dumps(document).count('"enum":')
    types = sum("enum" not in schema for schema in document["components"]["schemas"].values())
    things = operations + len(document["tags"]) + types + enumerations
    assert len(list(folder.rglob("*.py"))) <= things + FURTHER_FILES


async def test_the_typescript_client_is_generated_compiles_strictly_and_works(
    town: Any, company: Any, tmp_path: Path
) -> None:
    said = await generate_typescript(tmp_path)
    assert "warn" not in said.lower(), said
    await run(TOOLS / "node_modules" / ".bin" / "tsc", folder=tmp_path)
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        names = await _names(company, port, "+12125550172")
        output = await run(Path("/usr/bin/env"), "node", "built/use_client.js", folder=tmp_path, **names)
    assert last_line(output) == EXPECTED


async def test_the_go_client_is_generated_compiles_and_works(town: Any, company: Any, tmp_path: Path) -> None:
    said = await generate_go(tmp_path)
    warned = [line for line in said.splitlines() if "WARN" in line]
    assert [line for line in warned if not re.search(OF_THE_GENERATOR, line)] == [], said
    assert sum(path.is_file() for path in (tmp_path / "go").rglob("*")) <= FILES_MAX
    await run(Path("/usr/bin/env"), "go", "build", "-o", "use_client", "./use", folder=tmp_path / "go")
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        names = await _names(company, port, "+12125550173")
        output = await run(tmp_path / "go" / "use_client", folder=tmp_path, **names)
    assert last_line(output) == EXPECTED
