"""How many leads are due, late and in progress on each channel? By the step of each, in the version that it is on."""

import asyncio
from typing import Any

import pytest

from engine.contact.timing.plan import CLASS_CALLBACK
from engine.views.channels import COUNTED_MAX
from schemas.contact import Flight, Lead
from schemas.instant import MINUTE, SECOND, Instant, to_rfc3339
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.furnished import OURS, submit
from tests.adapters.http.test_teams import ADA, Person
from tests.adapters.http.test_teams import person as person_of
from tests.adapters.postgres.projected_rows import Shown, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/leads/channels"
STEPS: list[dict[str, Any]] = [
    {"id": "first", "kind": "call"},
    {"id": "second", "kind": "sms", "template": "Hi"},
    {"id": "third", "kind": "email", "subject": "Hi", "template": "Hello"},
    {"id": "reply", "kind": "wait_for", "event": "sms.received", "timeout": "1d"},
]
CHANGED: list[dict[str, Any]] = [{"id": "first", "kind": "sms", "template": "Hi"}, *STEPS[1:]]
"""The first step is a text since."""


class Rows:
    """Leads of a company, written as they are projected."""

    def __init__(self, town: Any, company: Any) -> None:
        self._shown = Shown(town.pool, topic=f"channels.{company.id}")
        self._company = company.id
        self._number = company.id * 100_000
        self.now: Instant = town.context.clock.now()

    async def add(self, **fields: Any) -> Lead:
        self._number += 1
        known = {"created_at": self.now, "updated_at": self.now, "schedule_version": 1}
        made = lead(self._number, company=self._company, **{**known, **fields})
        await self._shown.decide(made)
        return made

    async def wait_at(self, schedule: dict[str, Any], step: str, *, minutes: int, **more: Any) -> Lead:
        """Add a lead whose next action was due so many minutes ago."""
        due_at = self.now - minutes * MINUTE
        return await self.add(schedule_id=schedule["id"], step=step, next_action_at=due_at, **more)


async def report(sender: Any, **params: str) -> dict[str, Any]:
    answer = await sender.send("GET", PATH, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["channel_report"]
    return found


def counts(report_: dict[str, Any]) -> dict[str | None, tuple[int, int, int]]:
    """Return channel -> due, late, in progress."""
    return {row["channel"]: (row["due_count"], row["late_count"], row["in_progress_count"]) for row in report_["channels"]}


def flight(kind: str, at: Instant) -> Flight:
    return Flight(command_id="c", kind=kind, step_id="first", emitted_at=at, due_at=at + MINUTE)


async def test_a_company_without_a_schedule_has_no_channel(company: Any) -> None:
    found = await report(company)
    assert (found["channels"], found["at_least"]) == ([], [])
    assert found["totals"] == {"due_count": 0, "late_count": 0, "in_progress_count": 0}


async def test_a_lead_counts_on_the_channel_of_its_step(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    for step, minutes in (("first", 1), ("first", 6), ("second", 4), ("third", 90), ("third", 6), ("reply", 1)):
        await rows.wait_at(schedule, step, minutes=minutes)
    await rows.wait_at(schedule, "first", minutes=-1)
    await rows.wait_at(schedule, "first", minutes=9, status="completed")
    found = await report(company)
    assert counts(found) == {"call": (2, 1, 0), "sms": (1, 0, 0), "email": (2, 2, 0), None: (1, 0, 0)}
    assert found["totals"] == {"due_count": 6, "late_count": 3, "in_progress_count": 0}
    assert found["at_least"] == []


async def test_a_lead_counts_by_the_version_that_it_is_on(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    changed = await company.send("PUT", f"/api/v1/schedules/{schedule['id']}", json={"steps": CHANGED})
    assert changed.status_code == 200, changed.text
    await town.context.rules.refresh()
    await rows.wait_at(schedule, "first", minutes=1)
    await rows.wait_at(schedule, "first", minutes=1, schedule_version=2)
    await rows.wait_at(schedule, "gone", minutes=1)
    assert counts(await report(company)) == {"sms": (1, 0, 0), "email": (0, 0, 0), "call": (1, 0, 0), None: (1, 0, 0)}


async def test_a_promised_call_counts_as_a_call(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    promised = {"callback_at": rows.now, "status": "waiting"}
    await rows.wait_at(schedule, "second", minutes=1, urgency_class=CLASS_CALLBACK, **promised)
    await rows.wait_at(schedule, "second", minutes=1, urgency_class=4, **promised)
    assert counts(await report(company)) == {"call": (1, 0, 0), "sms": (1, 0, 0), "email": (0, 0, 0)}


async def test_what_is_under_way_counts_on_the_channel_of_its_command(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS[:1]), Rows(town, company)
    for kind in ("call", "call", "email", "webhook"):
        about = {"schedule_id": schedule["id"], "step": "first", "next_action_at": rows.now - MINUTE}
        await rows.add(status="running", flight=flight(kind, rows.now), **about)
    assert counts(await report(company)) == {"call": (0, 0, 2), "email": (0, 0, 1), "webhook": (0, 0, 1)}


async def test_a_text_that_was_just_ordered_is_in_progress(company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    schedule = await company.schedule(steps=STEPS[1:2])
    await submit(company, schedule, "+12125550187")
    async with asyncio.timeout(WAIT_SECONDS):
        while counts(await report(company)) != {"sms": (0, 0, 1)}:
            await asyncio.sleep(0.02)


async def test_due_is_what_is_due_before_an_instant(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS[:1]), Rows(town, company)
    await rows.wait_at(schedule, "first", minutes=1)
    at = rows.now - MINUTE
    assert counts(await report(company, due_before=to_rfc3339(at))) == {"call": (0, 0, 0)}
    assert counts(await report(company, due_before=to_rfc3339(at + SECOND))) == {"call": (1, 0, 0)}
    found = await report(company, due_before=to_rfc3339(at + 5 * MINUTE + SECOND))
    assert (counts(found), found["due_before"]) == ({"call": (1, 1, 0)}, to_rfc3339(at + 5 * MINUTE + SECOND))
    refused = await company.send("GET", PATH, params={"due_before": "yesterday"})
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["due_before"]), refused.text


async def test_the_first_and_last_instants_of_the_calendar_are_answered(company: Any) -> None:
    for at in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        answer = await company.send("GET", PATH, params={"due_before": at})
        assert answer.status_code == 200, (at, answer.text)


async def test_of_a_backlog_the_longest_due_are_counted(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("engine.views.channels", "adapters.http.reports.channels"):
        monkeypatch.setattr(f"{module}.COUNTED_MAX", 3)
    assert COUNTED_MAX > 3
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    for step, minutes in (("first", 1), ("second", 9), ("third", 3), ("first", 8)):
        await rows.wait_at(schedule, step, minutes=minutes)
    found = await report(company)
    assert counts(found) == {"call": (1, 1, 0), "sms": (1, 1, 0), "email": (1, 0, 0)}
    assert found["at_least"] == ["due_count"], "the late ones are due longest, and are all of them"


async def test_a_team_counts_the_leads_that_it_sees(town: Any, company: Any, other: Any) -> None:
    mine, theirs = await company.schedule(steps=STEPS[:1]), await company.schedule(name="Winter", steps=STEPS[1:2])
    rows = Rows(town, company)
    await rows.wait_at(mine, "first", minutes=1)
    await rows.wait_at(theirs, "second", minutes=6)
    ada = await _reader(town, company, lead_filters={"schedule_ids": [theirs["id"]]})
    assert (await report(ada))["totals"] == {"due_count": 1, "late_count": 1, "in_progress_count": 0}
    assert (await report(other))["totals"]["due_count"] == 0, "nor does another company see any"


async def test_figures_of_hidden_fields_are_not_shown(town: Any, company: Any) -> None:
    await company.schedule(steps=STEPS[:1])
    hidden = {"lead": {"actions": ["read"], "fields": {"next_action_at": "none"}}}
    ada = await _reader(town, company, permissions=hidden)
    found = await report(ada)
    assert found["channels"] == [{"channel": "call", "in_progress_count": 0}]
    assert found["totals"] == {"in_progress_count": 0}
    assert (await ada.get(PATH, due_before="2026-06-17T17:00:00Z")).status_code == 403


async def _reader(town: Any, company: Any, **team: Any) -> Person:
    granted = {"permissions": {"lead": {"actions": ["read"]}}, **team}
    await company.record("access_control_lists", {"name": "Team", "users_emails": [ADA], **granted})
    return await person_of(town, company)
