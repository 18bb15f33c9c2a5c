"""Does every line that the producers' page tells one to type work as it stands?

The ids of the examples stand for records of a deployment that is made for the purpose, as in the document.
"""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.http.document.examples import CALL, EXAMPLES, LEAD, LEAD_BULK_JOB, LEAD_IMPORT, RECORDED_CALL, RECORDS
from adapters.http.server import serving
from tests.api.clients import found
from tests.api.world import make_places
from tests.pace import bound

pytestmark = pytest.mark.asyncio(loop_scope="session")

FIRST_PAGE = Path(__file__).parents[2] / "README.md"
PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "producers.md"
SUBSCRIPTIONS_PAGE = PAGE.with_name("subscriptions.md")
AGENTS_PAGE = PAGE.with_name("agents.md")
SECONDS = bound(60.0)

ELSEWHERE = {
    "leadclock leads send": "asks a log of its own: tests/system/test_up.py pastes it",
    "import hashlib, hmac": "tests/adapters/http/test_signed_forms.py signs a form by it",
    "import { createHmac": "tests/adapters/http/test_signed_forms.py signs a form by it",
    "leadclock leads import": "asks a log of its own: tests/adapters/cli/test_lead_import.py runs it",
}
"""Beginning of a block -> who runs it."""

STRICT_CURL = 'curl() { command curl -sS --fail-with-body -g "$@"; echo; }\n'
"""A refusal ends the shell, as a reader would see that it is one."""


def blocks(language: str, page: Path = PAGE) -> list[str]:
    """Return the blocks of a page in a language, without those that only say what the names stand for."""
    output = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in output if not block.startswith(("BASE=", *ELSEWHERE))]


async def _ran(name: str, *arguments: str, folder: Path, **environ: str) -> str:
    venv = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        name, *arguments, cwd=folder, env={**os.environ, "PATH": venv, **environ},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(SECONDS):
        out, _ = await process.communicate()
    assert process.returncode == 0, f"{arguments[-1]}\n{out.decode()}"
    return out.decode()


async def test_the_schedule_of_the_first_page_is_published_as_it_stands(company: Any) -> None:
    (schedule,) = re.findall(r"^```json\n(.*?)^```$", FIRST_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    made = await company.send("POST", "/api/v1/schedules", json=json.loads(schedule))
    assert made.status_code == 201, made.text


async def test_every_snippet_of_the_producers_page_works_as_it_stands(town: Any, company: Any, tmp_path: Path) -> None:
    schedule = await company.schedule()
    records = (
        *("schedule", "buyer", "buyer_fleet", "outgoing_webhook", "agent", "agent_status", "agent_message"),
        *("number", "ring_pool", "traffic_source"),
    )
    shown = ("call", "lead_bulk_job", "lead_import", *records)
    places = await make_places(
        town, company, *(EXAMPLES[f"show_{name}"] for name in shown), EXAMPLES["make_call"], EXAMPLES["play_recording"]
    )
    offer = await company.record("offers", {"name": "Solar"})
    await company.record("numbers", {"number": "+12125550150"})  # as the company of `leadclock up` has it
    places |= {RECORDS["offer"]: str(offer["id"])}
    text_of = {LEAD, CALL, RECORDED_CALL, LEAD_BULK_JOB, LEAD_IMPORT, RECORDS["offer"], *(RECORDS[name] for name in records)}
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        names = {
            "BASE": f"http://127.0.0.1:{port}",
            "TOKEN": schedule["lead_token"],
            "KEY": f"{company.public_key}:{company.private_key}",
        }
        scripts = blocks("sh")
        assert len(scripts) >= 5
        for script in scripts:
            for place in text_of:
                script = script.replace(place, places[place])  # noqa: PLW2901 - the same script, with real ids
            await _ran(found("bash"), "-euc", STRICT_CURL + script, folder=tmp_path, **names)
        constants = "\n".join(f'const {name} = "{value}";' for name, value in names.items())
        (script,) = blocks("js")
        output = await _ran(found("node"), "--input-type=module", "-e", f"{constants}\n{script}", folder=tmp_path)
        assert output.strip() == "accepted"
        constants = "\n".join(f"{name} = {value!r}" for name, value in names.items())
        (script,) = blocks("python")
        assert (await _ran(sys.executable, "-c", f"{constants}\n{script}", folder=tmp_path)).strip() == "scheduled"
    listed = await company.send("GET", "/api/v1/leads", params={"schedule_id": str(schedule["id"]), "columns": "caller_id"})
    output_of = {lead["caller_id"] for lead in listed.json()["leads"]}
    assert output_of == {f"+1212555010{last}" for last in range(7)}
    assert (tmp_path / "leads.csv").read_text().startswith('"id",')


async def test_the_commands_of_the_subscriptions_page_work_as_they_stand(town: Any, company: Any, tmp_path: Path) -> None:
    places = await make_places(town, company, EXAMPLES["show_subscription"])
    (script,) = blocks("sh", SUBSCRIPTIONS_PAGE)
    script = script.replace(RECORDS["subscription"], places[RECORDS["subscription"]])
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        names = {"BASE": f"http://127.0.0.1:{port}", "KEY": f"{company.public_key}:{company.private_key}"}
        output = await _ran(found("bash"), "-euc", STRICT_CURL + script, folder=tmp_path, **names)
    assert '"secret":"whsec_' in output
    assert '"deliveries":[]' in output


async def test_the_commands_of_the_agents_page_work_as_they_stand(town: Any, company: Any, tmp_path: Path) -> None:
    places = await make_places(town, company, EXAMPLES["show_agent"])
    await town.context.rules.refresh()
    async with serving(town.app, host="127.0.0.1", port=0) as port:
        names = {"BASE": f"http://127.0.0.1:{port}", "KEY": f"{company.public_key}:{company.private_key}"}
        output = ""
        for script in blocks("sh", AGENTS_PAGE):
            placed = script.replace(RECORDS["agent"], places[RECORDS["agent"]])
            output += await _ran(found("bash"), "-euc", STRICT_CURL + placed, folder=tmp_path, **names)
    assert "event: ready" in output
    assert '"last_event_id":' in output
