"""Does anything that can be sent bring forth a 5xx, or an answer that the document does not describe? schemathesis asks.

The document is the served reference, with ids and tokens of records that are really there in the place of its examples'.
"""

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from adapters.http.document.examples import EXAMPLES
from adapters.http.server import serving
from tests.adapters.http.conftest import Company, Town
from tests.api.world import make_places

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "positive_data_acceptance",
    "negative_data_rejection",
    "use_after_free",
    "ensure_resource_availability",
)
"""What no schema can say (a number must exist, a token be known) is excused in `tests.api.acceptance`, with its reason."""

CLIENT_CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
"""Of the document for clients: what is answered. It says one way for each thing, so that more is accepted than it says."""

KEYS = r"/keys|/access_tokens"
"""The key that asks must stay as it is."""

HOOKS = Path(__file__).with_name("acceptance.py")

EXAMPLES_VARIABLE = "LEADCLOCK_API_EXAMPLES"
ASKING_KEYS_VARIABLE = "LEADCLOCK_ASKING_KEYS"
"""Names of the key that asks, which `tests.api.acceptance` leaves alone."""

FEW, MANY = 2, 100
"""Examples of an operation in `make test` and in `make test-api`."""

PHASES = ("examples", "coverage", "fuzzing", "stateful")
"""Stateful walks along the links of the document: from what was made or listed to reading, changing and deleting it."""

PHASES_SHORT = ("examples", "fuzzing")
"""Coverage tries each field with each fault, some hundred requests an operation: `make test` has its own table of those."""

SETTINGS = """
[phases.stateful.inference]
algorithms = []

[phases.stateful.generation]
max-examples = 200

[[operations]]
include-path-regex = "[.]csv$"
phases.coverage.enabled = false
"""
"""Walks along the links of the document alone, not along guessed ones; tests/api/test_links.py walks each of them once.
A file has the parameters of its list, so that coverage asks those once.
"""

SAME = r"\.json$"
"""Paths that are others under a second name: the long form asks those others, the short one all."""

SEED = 20261121


class Found(msgspec.Struct, frozen=True):
    """What came of a run: whether all was well, and everything that schemathesis said."""

    clean: bool
    text: str


def examples_wanted() -> int:
    """Return how many examples an operation gets in this run."""
    return int(os.environ.get(EXAMPLES_VARIABLE, FEW))


async def fuzz(town: Town, company: Company, folder: Path, *, examples: int) -> Found:
    """Serve the application, let schemathesis ask it everything, and tell what it found."""
    document = folder / "openapi.json"
    document.write_bytes(await _document(town, company))
    (folder / "schemathesis.toml").write_text(SETTINGS)
    options = (
        *("--checks", ",".join(CHECKS), "--phases", ",".join(PHASES if examples >= MANY else PHASES_SHORT)),
        *("--max-examples", str(examples)),
        *(("--exclude-path-regex", SAME) if examples >= MANY else ()),
    )
    hooks = {"SCHEMATHESIS_HOOKS": str(HOOKS), ASKING_KEYS_VARIABLE: ",".join(await _asking(company))}
    return await _run(town, company, document, options, hooks)


async def fuzz_as_clients(town: Town, company: Company, folder: Path) -> Found:
    """Serve the application, let schemathesis ask it by the document for clients, and tell what it found."""
    document = folder / "openapi.json"
    document.write_bytes((await town.client.get("/api/docs/1.0/openapi.json")).content)
    options = (
        *("--checks", ",".join(CLIENT_CHECKS), "--phases", "fuzzing"),
        *("--max-examples", str(FEW), "--exclude-path-regex", KEYS),
    )
    return await _run(town, company, document, options, {})


async def _run(town: Town, company: Company, document: Path, options: tuple[str, ...], environ: Mapping[str, str]) -> Found:
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        process = await asyncio.create_subprocess_exec(
            *_command(document, f"http://127.0.0.1:{port}", company),
            *options,
            cwd=document.parent,
            env={**os.environ, "PYTHONWARNINGS": "ignore", "COLUMNS": "160", **environ},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
    return Found(process.returncode == 0, out.decode(errors="replace"))


def _command(document: Path, address: str, company: Company) -> list[str]:
    return [
        sys.executable, "-m", "schemathesis.cli", "run", str(document),
        "--url", address,
        "--auth", f"{company.public_key}:{company.private_key}",
        "--seed", str(SEED),
        "--request-timeout", "30",
        "--suppress-health-check", "all",
        "--warnings", "off",
        "--continue-on-failure",
        "--generation-database", "none",
    ]  # fmt: skip


async def _asking(company: Company) -> tuple[str, ...]:
    """Return the id and uuid of the key that asks."""
    listed = await company.send("GET", "/api/v1/keys", params={"columns": "id,uuid,public_key"})
    (own,) = [key for key in listed.json()["keys"] if key["public_key"] == company.public_key]
    return str(own["id"]), own["uuid"]


async def _document(town: Town, company: Company) -> bytes:
    text = (await town.client.get("/api/docs/1.0/reference.json")).text
    for place, real in (await make_places(town, company, *EXAMPLES.values())).items():
        # Numbers stand as numbers in bodies, and as text in paths.
        text = re.sub(rf"(?<![0-9A-Za-z]){re.escape(place)}(?![0-9A-Za-z])", real, text)
    return text.encode()
