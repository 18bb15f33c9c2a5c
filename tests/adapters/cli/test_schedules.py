"""Do `leadclock schedules preview|publish` do what the API does, with what was published and with what waits?"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click
import httpx
import msgspec
import pytest
import pytest_asyncio
from click.testing import CliRunner

from adapters.cli.schedules import publish, publish_draft
from adapters.local.process import free_port
from tests.adapters.cli.test_explain import asked_over_the_log_server
from tests.adapters.http.conftest import company, other, town  # noqa: F401 - fixtures

pytestmark = pytest.mark.asyncio(loop_scope="session")

AT = "2026-06-17 13:00:00 -0400"
QUESTION = {"lead": {"caller_id": "+13055550123"}, "at": AT}
WAIT = {"id": "pause", "kind": "wait", "duration": "1h"}
CALL = {"id": "call-1", "kind": "call"}
MAIL = {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "x"}
TEXT = {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}"}


@pytest_asyncio.fixture(loop_scope="session")
async def ask(town: Any, company: Any, tmp_path: Path) -> AsyncIterator[Any]:  # noqa: F811
    async with asked_over_the_log_server(town, company, tmp_path) as asked:
        yield asked


@pytest_asyncio.fixture(loop_scope="session")
async def client(town: Any, company: Any) -> AsyncIterator[httpx.AsyncClient]:  # noqa: F811
    """A client with the company's key, as the command has one."""
    transport = httpx.ASGITransport(app=town.app)
    key = (company.public_key, company.private_key)
    async with httpx.AsyncClient(transport=transport, base_url="http://leadclock.test", auth=key, timeout=30.0) as made:
        yield made


@pytest.fixture
def question(tmp_path: Path) -> str:
    path = tmp_path / "question.json"
    path.write_bytes(msgspec.json.encode(QUESTION))
    return str(path)


async def with_waiting_draft(company: Any) -> dict[str, Any]:  # noqa: F811
    """Return a schedule that calls, and texts once its draft is published."""
    made: dict[str, Any] = await company.schedule(steps=[WAIT, CALL])
    answer = await company.send("PUT", f"/api/v1/schedules/{made['id']}", json={"steps": [WAIT, TEXT], "draft": True})
    assert answer.status_code == 200, answer.text
    return made


async def test_a_preview_of_a_schedule_is_that_of_the_api(company: Any, ask: Any, question: str) -> None:  # noqa: F811
    made = await company.schedule(steps=[WAIT, CALL])
    answer = await company.send("POST", "/api/v1/schedules/preview", json={**QUESTION, "schedule_id": made["id"]})
    assert answer.status_code == 200, answer.text

    for reference in (str(made["id"]), made["uuid"]):
        code, output = await ask("schedules preview --json", reference, question)
        assert (code, msgspec.json.decode(output)) == (0, {"preview": answer.json()["preview"]})
    code, output = await ask("schedules preview", str(made["id"]), question)
    assert (code, "Wed 17 Jun 2026 14:00" in output) == (0, True), output


async def test_a_schedule_and_what_it_does_are_drawn(company: Any, ask: Any, question: str, tmp_path: Path) -> None:  # noqa: F811
    made = await company.schedule(steps=[WAIT, CALL])
    plan, flow = tmp_path / "plan.svg", tmp_path / "flow.svg"

    code, output = await ask(f"schedules preview --svg {plan}", str(made["id"]), question)
    assert (code, "1. Wed 17 Jun 14:00 · Call · call-1" in plan.read_text("utf-8")) == (0, True), output
    code, output = await ask(f"schedules show --svg {flow}", str(made["id"]))
    assert (code, "Wait 1h. pause" in flow.read_text("utf-8")) == (0, True), output


async def test_a_forecast_is_drawn_as_heat_maps(company: Any, ask: Any, tmp_path: Path) -> None:  # noqa: F811
    made = await company.schedule(steps=[WAIT, MAIL])
    lead = {"lead_token": made["lead_token"], "email": "ada@example.com", "state": "NY"}
    answer = await company.send("POST", "/api/v1/leads", json=lead)
    assert answer.status_code < 300, answer.text
    svg, html = tmp_path / "forecast.svg", tmp_path / "forecast.html"

    code, output = await ask(f"leads forecast --svg {svg} --html {html} --zone Asia/Kathmandu")

    assert code == 0, output
    assert "1 e-mails of 1 leads" in svg.read_text("utf-8")
    assert "<td>NY</td>" in html.read_text("utf-8")
    for flags, sentence in (("--zone UTC", "add --svg or --html"), (f"--svg {svg} --zone Mars", "must be an IANA name")):
        code, output = await ask(f"leads forecast {flags}")
        assert (code, sentence in output) == (2, True), output


async def test_a_draft_is_previewed_before_it_is_published(company: Any, ask: Any, question: str) -> None:  # noqa: F811
    made = await with_waiting_draft(company)

    kinds = {}
    for flags in ("", " --draft"):
        code, output = await ask(f"schedules preview --json{flags}", str(made["id"]), question)
        assert code == 0, output
        kinds[flags] = [action["kind"] for action in msgspec.json.decode(output)["preview"]["actions"]]
    assert kinds == {"": ["call"], " --draft": ["sms"]}


async def test_a_draft_that_names_an_action_group_is_previewed_with_the_steps_of_the_group(
    company: Any,  # noqa: F811
    ask: Any,
    question: str,
) -> None:
    group = await company.record("action_groups", {"name": "Two", "steps": [TEXT, CALL]})
    steps = [WAIT, {"id": "both", "kind": "action_group", "action_group_id": group["id"]}]
    made = await company.schedule(steps=steps, draft=True)

    code, output = await ask("schedules preview --draft --json", str(made["id"]), question)

    assert code == 0, output
    found = msgspec.json.decode(output)["preview"]["actions"]
    assert [action["step_id"] for action in found] == ["both/text-1", "both/call-1"]


async def test_a_preview_without_a_draft_and_one_of_a_foreign_schedule_are_refused(
    company: Any,  # noqa: F811
    other: Any,  # noqa: F811
    ask: Any,
    question: str,
) -> None:
    plain, foreign = await company.schedule(), await other.schedule()

    code, output = await ask("schedules preview --draft", str(plain["id"]), question)
    assert (code, f"schedule {plain['id']} has no draft" in output) == (1, True), output
    for reference in (str(foreign["id"]), foreign["uuid"], "Solar"):
        code, output = await ask("schedules preview", reference, question)
        assert (code, f"has no schedule {reference} (an id or a uuid)" in output) == (1, True), output


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ({**QUESTION, "schedule": {"steps": [CALL]}}, "names a schedule itself"),
        ({"lead": {"caller_id": "+13055550123"}, "limits": 3}, "limits is no field of a preview"),
        ([], "asked for with an object"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_refused_with_status_2(
    company: Any,  # noqa: F811
    ask: Any,
    tmp_path: Path,
    file: Any,
    sentence: str,
) -> None:
    made = await with_waiting_draft(company)
    path = tmp_path / "bad.json"
    path.write_bytes(msgspec.json.encode(file))

    for flags in ("", " --draft"):
        code, output = await ask(f"schedules preview{flags}", str(made["id"]), str(path))
        assert (code, sentence in output) == (2, True), output


async def test_publishing_makes_the_draft_the_present_version_and_a_second_time_changes_nothing(
    company: Any,  # noqa: F811
    client: httpx.AsyncClient,
) -> None:
    made = await with_waiting_draft(company)

    before, after, _ = await publish_draft(client, reference=made["uuid"], migrate="by_step_id")

    assert ([step["kind"] for step in before["steps"]], before["draft_fields"] != {}) == (["wait", "call"], True)
    assert [step["kind"] for step in after["steps"]] == ["wait", "sms"]
    assert (after["draft_fields"], after["migrate"], after["version"]) == ({}, "by_step_id", before["version"] + 1)
    again, same, _ = await publish_draft(client, reference=str(made["id"]), migrate=None)
    assert again["version"] == same["version"] == after["version"]


async def test_a_schedule_of_another_company_is_not_published(
    other: Any,  # noqa: F811
    client: httpx.AsyncClient,
) -> None:
    foreign = await with_waiting_draft(other)

    with pytest.raises(click.ClickException, match="no schedule with this id"):
        await publish_draft(client, reference=str(foreign["id"]), migrate=None)

    kept = (await other.send("GET", f"/api/v1/schedules/{foreign['id']}")).json()["schedule"]
    assert kept["draft_fields"] != {}


async def test_a_key_is_read_from_its_file_and_an_api_that_is_down_is_one_sentence(tmp_path: Path) -> None:
    key, url = tmp_path / "key.json", f"http://127.0.0.1:{free_port()}"
    key.write_bytes(msgspec.json.encode({"company_id": 1, "public_key": "pk_1", "private_key": "sk_1"}))
    text = tmp_path / "text.json"
    text.write_text("sk_1")

    async def invoked(*words: str) -> tuple[int, str]:
        found = await asyncio.to_thread(CliRunner().invoke, publish, list(words))  # the command runs a loop of its own
        return found.exit_code, found.output

    code, output = await invoked("1", "--api", url, "--key", str(key))
    assert (code, f"Error: {url} does not answer" in output) == (1, True), output
    assert "needs --key" in (await invoked("1", "--api", url))[1]
    code, output = await invoked("1", "--api", url, "--key", str(text))
    assert (code, "holds no key" in output, "sk_1" in output) == (2, True, False), output
    code, output = await invoked("1", "--api", url, "--key", str(tmp_path / "none.json"))
    assert (code, "holds no key" in output) == (2, True), output
    assert "neither an id nor a uuid" in (await invoked("Solar", "--api", url, "--key", str(key)))[1]
