"""What have contacts come to on each channel? Each command by its newest outcome in a span, as it was projected."""

import asyncio
from typing import Any

import pytest

from schemas.contact import Lead
from schemas.decisions import Cause, Fact
from schemas.instant import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from schemas.requests import OutcomeRecorded
from schemas.state import lead_key
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.furnished import OURS, submit
from tests.adapters.http.test_teams import ADA, Person
from tests.adapters.http.test_teams import person as person_of
from tests.adapters.postgres.projected_rows import Shown, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/leads/outcomes"
NOTHING = (0, 0, 0)


class Outcomes:
    """Outcomes of commands about leads of a company, written as they are projected."""

    def __init__(self, town: Any, company: Any) -> None:
        self._shown = Shown(town.pool, topic=f"outcomes.{company.id}")
        self._company = company.id
        self._number = company.id * 100_000
        self.now: Instant = town.context.clock.now()

    async def lead(self, **fields: Any) -> Lead:
        self._number += 1
        made = lead(self._number, company=self._company, created_at=self.now, updated_at=self.now, **fields)
        await self._shown.decide(made)
        return made

    async def delete(self, gone: Lead) -> None:
        await self._shown.decide(removed=(lead_key(gone.id),), cause=self._cause())

    async def say(
        self, kind: str, outcome: str, *, minutes: float = 10, command: str = "", about: int | None = None
    ) -> None:
        """Let an outcome have been recorded so many minutes ago; without `command`, of a command of its own."""
        self._number += 1
        data = {"kind": kind, "outcome": outcome, "command_id": command or f"c-{self._number}"}
        fact = Fact(type="outcome.recorded", lead_id=about or self._number, data=data)
        await self._shown.decide(facts=(fact,), cause=self._cause(), at=self.now - int(minutes * MINUTE))

    def _cause(self) -> Cause:
        """Return a request about a contact of the company, which says whose the facts are."""
        self._number += 1
        return Cause(kind="request", id=f"said-{self._number}", key=f"{self._company}|+13055550100")


async def report(sender: Any, **params: str) -> dict[str, Any]:
    answer = await sender.send("GET", PATH, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["outcome_report"]
    return found


def counts(report_: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    """Return channel -> done, failed, open."""
    return {row["channel"]: (row["done_count"], row["failed_count"], row["open_count"]) for row in report_["channels"]}


def outcomes(report_: dict[str, Any], channel: str) -> dict[str, int]:
    (row,) = [row for row in report_["channels"] if row["channel"] == channel]
    return {one["outcome"]: one["count"] for one in row["by_outcome"]}


async def test_a_company_without_contacts_has_every_channel_at_nothing(company: Any) -> None:
    found = await report(company)
    assert counts(found) == dict.fromkeys(("call", "sms", "email", "webhook"), NOTHING)
    assert found["at_least"] == []


async def test_a_command_counts_once_by_its_newest_outcome(town: Any, company: Any) -> None:
    rows = Outcomes(town, company)
    await rows.say("sms", "accepted", minutes=9, command="arrives")
    await rows.say("sms", "delivered", minutes=8, command="arrives")
    await rows.say("sms", "accepted", minutes=9, command="is lost")
    await rows.say("sms", "undelivered", minutes=7, command="is lost")
    await rows.say("email", "accepted", minutes=30, command="bounces")
    await rows.say("email", "bounced_hard", minutes=5, command="bounces")
    await rows.say("sms", "unknown", minutes=20, command="timed out")
    await rows.say("sms", "delivered", minutes=1, command="timed out")
    found = await report(company)
    assert counts(found) == {"call": NOTHING, "sms": (2, 1, 0), "email": (0, 1, 0), "webhook": NOTHING}
    assert outcomes(found, "sms") == {"delivered": 2, "undelivered": 1}


async def test_of_two_outcomes_of_one_moment_the_later_decision_counts(town: Any, company: Any) -> None:
    rows = Outcomes(town, company)
    for outcome in ("accepted", "delivered", "undelivered"):
        await rows.say("sms", outcome, command="at once")
    assert outcomes(await report(company), "sms") == {"undelivered": 1}


async def test_channels_are_counted_apart_by_what_their_outcomes_say(town: Any, company: Any) -> None:
    rows = Outcomes(town, company)
    for kind, outcome in (
        *(("call", "busy"), ("call", "not_placed"), ("call", "canceled"), ("call", "expired")),
        *(("sms", "sent"), ("sms", "opted_out"), ("sms", "rejected_at_gate"), ("sms", "unknown")),
        *(("email", "complained"), ("email", "bounced_soft"), ("webhook", "accepted"), ("webhook", "failed")),
    ):
        await rows.say(kind, outcome)
    found = await report(company)
    assert counts(found) == {"call": (1, 1, 2), "sms": (1, 1, 2), "email": (1, 1, 0), "webhook": (1, 1, 0)}
    assert {row["channel"]: row["sent_count"] for row in found["channels"]} == {
        "call": 1,
        "sms": 2,
        "email": 2,
        "webhook": 2,
    }


async def test_a_text_that_was_accepted_and_then_not_delivered_has_failed_once(town: Any, company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    schedule = await company.schedule(steps=[{"id": "text", "kind": "sms", "template": "Hi"}])
    made = await submit(company, schedule, "+12125550187")
    command = await _command_of(town, company, made["id"])
    await _report(town, company, made["id"], command, "accepted", is_final=False)
    await _until(company, {"accepted": 1})
    await _report(town, company, made["id"], command, "undelivered", is_final=True)
    await _until(company, {"undelivered": 1})
    assert counts(await report(company))["sms"] == (0, 1, 0)


async def test_a_span_has_its_first_instant_and_not_its_last(town: Any, company: Any) -> None:
    rows = Outcomes(town, company)
    await rows.say("sms", "accepted", minutes=61, command="earlier")
    await rows.say("sms", "delivered", minutes=59, command="earlier")
    await rows.say("sms", "undelivered", minutes=90, command="long ago")
    assert outcomes(await report(company), "sms") == {"delivered": 1}
    at = rows.now - 61 * MINUTE
    span = {"recorded_at_from": to_rfc3339(at), "recorded_at_to": to_rfc3339(at + SECOND)}
    found = await report(company, **span)
    assert outcomes(found, "sms") == {"accepted": 1}, "what it came to later is not of this span"
    assert (found["recorded_at_from"], found["recorded_at_to"]) == (to_rfc3339(at), to_rfc3339(at + SECOND))
    assert outcomes(await report(company, **{**span, "recorded_at_to": to_rfc3339(at)}), "sms") == {}
    assert outcomes(await report(company, recorded_at_from=to_rfc3339(rows.now - 2 * HOUR)), "sms") == {
        "delivered": 1,
        "undelivered": 1,
    }


async def test_a_span_of_no_dates_is_refused(company: Any) -> None:
    refused = await company.send("GET", PATH, params={"recorded_at_from": "yesterday", "recorded_at_to": "1.1."})
    assert (refused.status_code, set(refused.json()["errors"])) == (400, {"recorded_at_from", "recorded_at_to"})


async def test_the_first_and_last_instants_of_the_calendar_are_answered(company: Any) -> None:
    span = {"recorded_at_from": "0001-01-01T00:00:00Z", "recorded_at_to": "9999-12-31T23:59:59Z"}
    assert counts(await report(company, **span))["sms"] == NOTHING


async def test_only_the_newest_outcomes_of_a_channel_are_looked_at(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.http.reports.outcomes.COUNTED_MAX", 3)
    rows = Outcomes(town, company)
    for minutes, outcome in enumerate(("delivered", "undelivered", "delivered", "failed"), 1):
        await rows.say("sms", outcome, minutes=minutes)
    await rows.say("email", "accepted")
    found = await report(company)
    assert outcomes(found, "sms") == {"delivered": 2, "undelivered": 1}
    assert (found["at_least"], counts(found)["email"]) == (["sms"], (1, 0, 0))


async def test_another_company_counts_none_of_them(town: Any, company: Any, other: Any) -> None:
    await Outcomes(town, company).say("sms", "delivered")
    assert counts(await report(company))["sms"] == (1, 0, 0)
    assert counts(await report(other))["sms"] == NOTHING


async def test_a_team_counts_what_came_of_the_leads_that_it_sees(town: Any, company: Any) -> None:
    mine, theirs = await company.schedule(), await company.schedule(name="Winter")
    rows = Outcomes(town, company)
    hidden, seen = await rows.lead(schedule_id=mine["id"]), await rows.lead(schedule_id=theirs["id"])
    gone = await rows.lead(schedule_id=theirs["id"])
    await rows.delete(gone)
    for about in (hidden, seen, gone):
        await rows.say("sms", "delivered", about=about.id)
        await rows.say("sms", "undelivered", about=about.id)
    await rows.say("call", "busy", about=hidden.id)
    ada = await _reader(town, company, lead_filters={"schedule_ids": [theirs["id"]]})
    found = await report(ada)
    assert counts(found) == {"call": NOTHING, "sms": (1, 1, 0), "email": NOTHING, "webhook": NOTHING}
    assert outcomes(found, "call") == {}
    assert counts(await report(company))["sms"] == (3, 3, 0)


async def test_a_team_reads_where_others_use_up_what_is_looked_at(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.http.reports.outcomes.COUNTED_MAX", 2)
    theirs, rows = await company.schedule(), Outcomes(town, company)
    seen = await rows.lead(schedule_id=theirs["id"])
    await rows.say("sms", "delivered", minutes=9, about=seen.id)
    for minutes in (1, 2):
        await rows.say("sms", "undelivered", minutes=minutes)
    found = await report(await _reader(town, company, lead_filters={"schedule_ids": [theirs["id"]]}))
    assert (counts(found)["sms"], found["at_least"]) == (NOTHING, ["sms"])


@pytest.mark.parametrize(("model", "field"), [("call", "outcome"), ("lead", "sms_count")])
async def test_figures_of_hidden_fields_are_not_shown(town: Any, company: Any, model: str, field: str) -> None:
    actions: dict[str, Any] = {"lead": {"actions": ["read"]}, "call": {"actions": ["read"]}}
    actions[model]["fields"] = {field: "none"}
    ada = await _reader(town, company, permissions=actions)
    found = await report(ada)
    assert [set(row) for row in found["channels"]] == [{"channel"}] * 4
    assert (await ada.get(PATH, recorded_at_from="2026-06-17T17:00:00Z")).status_code == 403


async def _reader(town: Any, company: Any, **team: Any) -> Person:
    granted = {"permissions": {"lead": {"actions": ["read"]}}, **team}
    await company.record("access_control_lists", {"name": "Team", "users_emails": [ADA], **granted})
    return await person_of(town, company)


async def _command_of(town: Any, company: Any, lead_id: int) -> str:
    """Return the command of a lead, once it is under way."""
    asked = "SELECT flight ->> 'command_id' FROM read.leads WHERE company_id = $1 AND id = $2"
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            command: str | None = await town.pool.fetchval(asked, company.id, lead_id)
            if command is not None:
                return command
            await asyncio.sleep(0.02)


async def _report(town: Any, company: Any, lead_id: int, command: str, outcome: str, *, is_final: bool) -> None:
    """Report an outcome as a gateway does."""
    key = await town.pool.fetchval(
        "SELECT contact_key FROM read.leads WHERE company_id = $1 AND id = $2", company.id, lead_id
    )
    message = OutcomeRecorded(
        company_id=company.id, contact_key=key, lead_id=lead_id, command_id=command, kind="sms", outcome=outcome,
        occurred_at=town.context.clock.now(), final=is_final,
    )  # fmt: skip
    await town.requests.submit("contacts.requests", key, message, request_id=f"{command}-{outcome}", company_id=company.id)


async def _until(company: Any, expected: dict[str, int]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while outcomes(await report(company), "sms") != expected:
            await asyncio.sleep(0.02)
