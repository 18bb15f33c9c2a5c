"""Does `leadclock explain` answer for a lead by id, uuid or number, and is its answer from the log the same, with proof?"""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from adapters.cli.explain import _show, explain, explained
from adapters.embedded.log_server import serve_log
from adapters.embedded.remote import EMBEDDED
from adapters.postgres.reads import PostgresReads
from adapters.settings import to_environment
from adapters.up.folder import Running
from adapters.why.proof import NoProofError
from engine.partition.ports import Outgoing
from schemas.instant import EPOCH, from_datetime
from tests.adapters.http.conftest import company, town  # noqa: F401 - fixtures

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEPS = [
    {"id": "pause", "kind": "wait", "duration": "2h"},
    {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "x"},
]
NUMBER = "+12125550123"


@pytest.fixture
def answer_to(town: Any, company: Any) -> Any:  # noqa: F811
    """What the command answers about a lead of the company, as `--json` shows it."""

    async def ask(lead: str, **more: Any) -> dict[str, Any]:
        more = {"at": None, **more}
        return await explained(town.context, PostgresReads(town.pool), company.id, lead, **more)

    return ask


async def submitted(company: Any) -> dict[str, Any]:  # noqa: F811
    schedule = await company.schedule(steps=STEPS)
    lead = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "email": "ada@example.com"}
    answer = await company.send("POST", "/api/v1/leads", json={**lead, "time_zone": "America/New_York"})
    found: dict[str, Any] = answer.json()["lead"]
    return found


async def test_a_lead_is_named_by_id_uuid_or_number(company: Any, answer_to: Any) -> None:  # noqa: F811
    lead = await submitted(company)

    for reference in (str(lead["id"]), lead["uuid"], NUMBER, "2125550123", "(212) 555-0123"):
        assert (await answer_to(reference))["lead_id"] == lead["id"]
    with pytest.raises(click.ClickException, match="has no lead nobody"):
        await answer_to("nobody")


async def test_the_command_answers_as_the_interface_does(company: Any, answer_to: Any) -> None:  # noqa: F811
    lead = await submitted(company)
    due = from_datetime(datetime.fromisoformat(lead["next_action_at"]))
    path = f"/api/v1/leads/{lead['id']}/why?at={lead['next_action_at']}"

    assert (await company.send("GET", path)).json()["why"] == await answer_to(lead["uuid"], at=due)
    assert (await answer_to(lead["uuid"], at=due))["verdict"] == "would_act"


@pytest.mark.parametrize("hours", [-24, 0, 1, 2, 3])
async def test_the_log_gives_the_same_answer_and_proves_it(company: Any, answer_to: Any, hours: int) -> None:  # noqa: F811
    lead = await submitted(company)
    moment = from_datetime(datetime.fromisoformat(lead["created_at"]) + timedelta(hours=hours, milliseconds=1))

    by_rows, by_log = await answer_to(lead["uuid"], at=moment), await answer_to(lead["uuid"], at=moment, from_log=True)

    for name in ("verdict", "sentence", "reasons", "next_action_at", "acts_at", "step_id", "assumed"):
        assert by_log[name] == by_rows[name]
    assert by_log["proof"]["chain"] == "unbroken"
    assert by_log["proof"]["decisions"] >= 1
    decision, record = by_log["decision"], by_log["record"]
    assert (decision is None) == (by_rows["decision"] is None) == (record is None)
    if decision is None:
        return
    assert decision["offset"] is not None
    assert {**decision, "offset": None} == by_rows["decision"]
    assert record["decision"]["offset"] == decision["offset"]
    assert (record["step_id"], record["chosen"], record["zones"]) == ("mail-1", "schedule_step", ["America/New_York"])
    assert record["candidates"][0]["earliest"] == lead["next_action_at"]
    assert record["schedule_version"] == 1
    assert record["versions"]
    assert record["counters"] == {
        "enrolment_attempts": 0,
        "limit": None,
        "lifetime_calls": 0,
        "lifetime_sms": 0,
        "contact_24h": 0,
        "contact_7d": 0,
    }


async def test_the_proof_of_a_lead_that_was_not_there_yet_shows_no_record(
    company: Any,  # noqa: F811
    answer_to: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lead = await submitted(company)
    before = from_datetime(datetime.fromisoformat(lead["created_at"]) - timedelta(hours=1))

    found = await answer_to(lead["uuid"], at=before, from_log=True)
    capsys.readouterr()  # what was logged meanwhile
    _show(found)

    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("The lead was not there yet")
    assert shown[-1].endswith("the hash chain unbroken")


async def test_only_what_has_happened_is_called_proved(
    company: Any,  # noqa: F811
    answer_to: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lead = await submitted(company)
    created_at = datetime.fromisoformat(lead["created_at"])

    async def said(moment: datetime) -> str:
        found = await answer_to(lead["uuid"], at=from_datetime(moment), from_log=True)
        capsys.readouterr()  # what was logged meanwhile
        _show(found)
        return capsys.readouterr().out

    past, future = await said(created_at + timedelta(milliseconds=1)), await said(created_at + timedelta(hours=1))
    assert "Nothing was due: an e-mail (step mail-1) was planned for" in past
    assert re.search(r"^  proved from \d+ decisions, the hash chain unbroken$", past, re.MULTILINE), past
    assert "Nothing will be due: an e-mail (step mail-1) will come at" in future
    assert re.search(r"^  proved until \S+Z from \d+ decisions, .*; what follows is foreseen$", future, re.MULTILINE), future


@asynccontextmanager
async def asked_over_the_log_server(town: Any, company: Any, folder: Path) -> AsyncIterator[Any]:  # noqa: F811
    """Yield what runs a command beside the deployment and returns its exit status and its output."""
    async with serve_log(town.context.log, town.context.settings.secret_key) as port:
        settings = structs.replace(town.context.settings, kafka_bootstrap=f"{EMBEDDED}{port}")
        up = Running(
            pid=os.getpid(),
            api_url="http://127.0.0.1",
            started_at=EPOCH,
            environment=to_environment(settings),
            mail_folder="",
        )
        (folder / "up.json").write_bytes(msgspec.json.encode(up))

        async def ask(command: str, *words: str) -> tuple[int | None, str]:
            program = (sys.executable, "-c", "import sys; from adapters.cli.main import main; sys.exit(main())")
            whose = () if command.startswith("audit") else ("--company", str(company.id))
            of = (*whose, "--data-dir", str(folder))
            process = await asyncio.create_subprocess_exec(
                *program, *command.split(), *words, *of, stdout=PIPE, stderr=STDOUT
            )
            output, _ = await process.communicate()
            return process.returncode, output.decode()

        yield ask


async def test_an_up_with_the_embedded_log_is_asked_over_its_log_server(
    town: Any,  # noqa: F811
    company: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    lead = await submitted(company)
    async with asked_over_the_log_server(town, company, tmp_path) as ask:
        for reference in (lead["uuid"], "2125550123"):
            code, output = await ask("explain", reference, "--json")
            assert code == 0, output
            assert msgspec.json.decode(output)["why"]["lead_id"] == lead["id"]
        assert "unbroken" in (await ask("explain --from-log", lead["uuid"]))[1]
        code, output = await ask("explain", NUMBER, "--at", lead["next_action_at"])
        assert "An e-mail would be ordered at " in output
        assert output.startswith("(using the `up` at http://127.0.0.1)")
        code, output = await ask("leads forecast --hours 3")
        assert (code, "1 will expire" in output, "leads; none skipped (limit " in output) == (0, False, True), output
        code, output = await ask("explain", "+12125550999")
        assert (code, "has no lead" in output) == (1, True)
        await assert_the_other_commands_answer(ask, lead, company.id)


async def assert_the_other_commands_answer(ask: Any, lead: dict[str, Any], company_id: int) -> None:
    listed = msgspec.json.decode((await ask("leads list --json --status", lead["status"]))[1])
    assert ([row["uuid"] for row in listed["leads"]], listed["next_cursor"]) == ([lead["uuid"]], 0)
    assert NUMBER in (await ask("leads list --number", NUMBER))[1]
    assert "next action (UTC)" in (await ask("leads list"))[1]
    assert "no lead" in (await ask("leads list --status opt_out"))[1]
    for_people = (await ask("leads show", lead["uuid"]))[1]
    assert re.search(r"^when \(America/New_York\) +what +details$", for_people, re.MULTILINE), for_people
    assert re.search(r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d -0[45]00  Created", for_people, re.MULTILINE), for_people
    shown = msgspec.json.decode((await ask("leads show --json", lead["uuid"]))[1])
    assert shown["lead"]["caller_id"] == NUMBER
    assert "lead.created" in {fact["type"] for fact in shown["history"]}
    code, output = await ask("leads show", "²")
    assert (code, "has no lead ² (an id or a uuid)" in output) == (1, True), output
    code, output = await ask("audit verify --partition 0 --partition 99")
    assert (code, "there is no partition 99" in output) == (2, True), output
    made = msgspec.json.decode((await ask("keys create --name second --json"))[1])
    assert made["company_id"] == company_id
    assert made["public_key"] in (await ask("keys list"))[1]


async def test_a_command_without_a_deployment_says_how_to_start_one(tmp_path: Any) -> None:
    found = CliRunner().invoke(explain, ["1", "--data-dir", str(tmp_path)])

    assert found.exit_code == 1
    assert "leadclock up" in found.output
    assert CliRunner().invoke(explain, ["1", "--at", "soon"]).exit_code == 2


# From here on the log is damaged, so these tests are the last of this file.
async def test_a_lead_whose_first_decisions_retention_has_deleted_is_not_called_absent(
    town: Any,  # noqa: F811
    company: Any,  # noqa: F811
    answer_to: Any,
    tmp_path: Path,
) -> None:
    lead = await submitted(company)
    decision = (await answer_to(lead["uuid"], from_log=True))["decision"]
    answer = await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"name": "Ada", "next_action": "opt_out"})
    assert answer.status_code == 200, answer.text
    await town.context.log.delete_records(decision["topic"], decision["partition"], before=decision["offset"] + 1)

    for moment in (None, from_datetime(datetime.fromisoformat(lead["created_at"])) + 1):
        found = await answer_to(lead["uuid"], at=moment, from_log=True)
        assert (found["verdict"], found["decision"], found["record"]) == ("unproved", None, None)
        assert "not there yet" not in found["sentence"]
        assert found["proof"]["begins_at"] == decision["sequence"] + 1
        assert found["proof"]["missing"] != []
    async with asked_over_the_log_server(town, company, tmp_path) as ask:
        code, output = await ask("explain --from-log", lead["uuid"])
        assert (code, f"deleted decisions 1 to {decision['sequence']}" in output) == (3, True), output
        assert "proved from" not in output
        assert f"decision {decision['sequence'] + 1} at offset" in output, output
        code, output = await ask("audit verify")
        assert (code, f"deleted decisions 1 to {decision['sequence']}" in output) == (3, True), output


async def test_a_lead_that_began_in_what_retention_left_is_answered_and_the_missing_beginning_is_named(
    town: Any,  # noqa: F811
    company: Any,  # noqa: F811
    answer_to: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lead = await submitted(company)
    decision = (await answer_to(lead["uuid"], from_log=True))["decision"]
    before = await answer_to(lead["uuid"])
    # The company's own adoption is the decision before; those before that are deleted.
    await town.context.log.delete_records(decision["topic"], decision["partition"], before=decision["offset"] - 2)

    found = await answer_to(lead["uuid"], from_log=True)
    capsys.readouterr()  # what was logged meanwhile
    _show(found)

    assert (found["verdict"], found["sentence"]) == (before["verdict"], before["sentence"])
    assert (found["proof"]["begins_at"] > 1, found["proof"]["missing"]) == (True, [])
    assert "nothing shows what they were" in capsys.readouterr().out


# Last in this file: whatever else is asked of that partition finds it broken from here on.
async def test_a_forged_decision_is_found_out(town: Any, company: Any, answer_to: Any) -> None:  # noqa: F811
    lead = await submitted(company)
    decision = (await answer_to(lead["uuid"], from_log=True))["decision"]
    forged = b'{"sequence":99999,"decided_at":1,"prev":"0","cause":{"kind":"tick"}}'
    appender = await town.context.log.appender()
    await appender.append(decision["partition"], [Outgoing(decision["topic"], None, forged)])
    await appender.close()

    with pytest.raises(NoProofError, match="the hash chain is broken before decision 99999"):
        await answer_to(lead["uuid"], from_log=True)
