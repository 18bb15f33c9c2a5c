"""How is a client generated, and run? By the programs that deploy/client-tools.sh installs; without them a test fails."""

import asyncio
import json
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from adapters.http.document.client_document import client_document
from adapters.http.document.document_parts import part_of
from adapters.http.exchange.exchange import JSON
from tests.pace import bound

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv" / "clients"
HERE = Path(__file__).parent

SECONDS = bound(240.0)
"""Far longer than a generator or compiler takes on a busy machine."""

SETTINGS = "project_name_override: leadclock-client\npackage_name_override: leadclock_client\npost_hooks: []\n"
"""No formatter runs over what is generated: it would only take time."""


async def run(program: Path, *arguments: str | Path, folder: Path, **environ: str) -> str:
    """Run a program and return all that it wrote; fail if it failed."""
    if not program.exists():
        pytest.fail(f"{program.name} is not installed: run `make test-clients`, which installs it", pytrace=False)
    process = await asyncio.create_subprocess_exec(
        program, *map(str, arguments), cwd=folder, env={**os.environ, **environ},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(SECONDS):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


def write_document(folder: Path, tags: Collection[str] = ()) -> Path:
    """Write the document as it is served, or the part that has some tags, and return its path."""
    document = folder / "openapi.json"
    served = client_document()
    document.write_bytes(JSON.encode(part_of(served, frozenset(tags)) if tags else served))
    return document


async def generate_python(folder: Path, tags: Collection[str] = ()) -> str:
    """Generate the Python client as the package `leadclock_client`, and return what the generator said."""
    (folder / "settings.yaml").write_text(SETTINGS)
    return await run(
        TOOLS / "python" / "bin" / "openapi-python-client",
        *("generate", "--path", write_document(folder, tags), "--config", folder / "settings.yaml", "--meta", "none"),
        *("--output-path", folder / "leadclock_client"),
        folder=folder,
    )


async def generate_typescript(folder: Path) -> str:
    """Generate the types `api.ts` beside the program that uses them, and return what the generator said."""
    (folder / "node_modules").symlink_to(TOOLS / "node_modules")
    for name in ("package.json", "tsconfig.json", "use_client.ts"):
        (folder / name).write_bytes((HERE / name).read_bytes())
    return await run(
        TOOLS / "node_modules" / ".bin" / "openapi-typescript", write_document(folder), "-o", "api.ts", folder=folder
    )


async def generate_go(folder: Path) -> str:
    """Generate the Go client as the module `github.com/leadclock/client` beside the program that uses it."""
    said = await run(
        _found("java"),
        *("-jar", TOOLS / "openapi-generator-cli.jar", "generate", "-g", "go", "-i", write_document(folder), "-o", "go"),
        *("--git-user-id", "leadclock", "--git-repo-id", "client"),
        *("--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"),
        *("--additional-properties", "enumClassPrefix=true,packageName=leadclock"),
        folder=folder,
    )
    (folder / "go" / "use").mkdir()
    (folder / "go" / "use" / "main.go").write_bytes((HERE / "use_client.go").read_bytes())
    return said


def _found(name: str) -> Path:
    program = shutil.which(name)
    if program is None:
        pytest.fail(f"{name} is not installed", pytrace=False)
    return Path(program)


def last_line(text: str) -> Any:
    """Return the JSON of the last line that a program wrote."""
    return json.loads(text.strip().rpartition("\n")[2])
