"""How many of a schedule's leads went on from step to step? By the facts of each, in their order."""

import asyncio
from typing import Any

import pytest

from engine.views.step_flow import LEADS_MAX
from schemas.contact import Lead
from schemas.decisions import Cause, Fact
from schemas.instant import MINUTE, Instant, to_rfc3339
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.furnished import OURS, submit
from tests.adapters.http.test_hidden_fields import hidden
from tests.adapters.http.test_teams import ADA, Person
from tests.adapters.http.test_teams import person as person_of
from tests.adapters.postgres.projected_rows import Shown, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/leads/steps"
CALL: dict[str, Any] = {"id": "first", "kind": "call"}
TEXT: dict[str, Any] = {"id": "second", "kind": "sms", "template": "Hi"}
MAIL: dict[str, Any] = {"id": "third", "kind": "email", "subject": "Hi", "template": "Hello"}
STEPS = [CALL, TEXT, MAIL]

Stated = tuple[str, dict[str, Any]]
"""A fact: its type and its data."""


def at(step: str, fact: str = "lead.scheduled", **more: Any) -> Stated:
    return fact, {"step_id": step, **more}


def entered(schedule: dict[str, Any], kind: str = "lead.enrolled") -> Stated:
    return kind, {"schedule_id": schedule["id"]}


class Rows:
    """Leads of a company with their facts, written as they are projected."""

    def __init__(self, town: Any, company: Any) -> None:
        self._shown = Shown(town.pool, topic=f"steps.{company.id}")
        self._company = company.id
        self._number = company.id * 100_000
        self._requests = 0
        self.now: Instant = town.context.clock.now()

    async def add(self, schedule: dict[str, Any], *decisions: Stated, call_id: int | None = None, **fields: Any) -> Lead:
        """Add a lead with a decision for each fact, a minute apart; the first one says that it was created."""
        self._number += 1
        known = {"created_at": self.now, "updated_at": self.now, "schedule_id": schedule["id"], "schedule_version": 1}
        made = lead(self._number, company=self._company, **{**known, **fields})
        for place, (kind, data) in enumerate((entered(schedule, "lead.created"), *decisions)):
            fact = Fact(type=kind, lead_id=made.id, call_id=call_id if place else None, data=data)
            await self.decide(made, fact, at=self.now + place * MINUTE)
        return made

    async def decide(self, made: Lead, *facts: Fact, at: Instant) -> None:
        """Project a decision about a lead."""
        self._requests += 1
        cause = Cause(kind="request", id=f"{made.contact_key}/{self._requests}", key=made.contact_key)
        await self._shown.decide(made, facts=facts, at=at, cause=cause)


async def report(sender: Any, schedule: dict[str, Any], **params: str) -> dict[str, Any]:
    answer = await sender.send("GET", PATH, params={"schedule_id": str(schedule["id"]), **params})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["step_report"]
    return found


def said(found: dict[str, Any]) -> dict[str, str]:
    """Return what became of the leads at each step, in words: `2→second 1 there 1 expired`."""
    return {row["step_id"]: " ".join(_said(row)) for row in found["reached_steps"]}


def _said(row: dict[str, Any]) -> list[str]:
    parts = [f"{one['leads_count']}→{one['step_id']}" for one in row["next_steps"]]
    parts += [f"{row['still_there_count']} there"] if row["still_there_count"] else []
    return parts + [f"{one['leads_count']} {one['status']}" for one in row["endings"]]


async def until(expected: dict[str, str], company: Any, schedule: dict[str, Any]) -> dict[str, Any]:
    """Return the report once it is as expected: the projection follows the decisions."""
    found: dict[str, Any] = {}
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while said(found := await report(company, schedule)) != expected:
                await asyncio.sleep(0.02)
    except TimeoutError:
        assert said(found) == expected
    return found


async def test_a_schedule_without_leads_has_no_row(company: Any) -> None:
    found = await report(company, await company.schedule(steps=STEPS))
    assert found == {"leads_count": 0, "is_complete": True, "at_no_step_count": 0, "cut_count": 0, "reached_steps": []}


async def test_leads_count_where_they_went_are_and_ended(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    await rows.add(schedule, at("first"), at("first", "command.emitted", source="schedule_step"), step="second")
    await rows.add(schedule, at("first"), at("third"), step="third")
    await rows.add(schedule, at("first"), at("second"), status="expired")
    await rows.add(schedule, status="opt_out", step=None)
    found = await report(company, schedule)
    assert said(found) == {"first": "2→second 1→third", "second": "1 there 1 expired", "third": "1 there"}
    assert (found["leads_count"], found["at_no_step_count"], found["is_complete"]) == (4, 1, True)
    first = found["reached_steps"][0]
    counted = {name: count for name, count in first.items() if name.endswith("_count")}
    assert counted == {"reached_count": 3, "went_on_count": 3, "still_there_count": 0, "ended_count": 0}


async def test_the_engine_states_what_the_report_counts(company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    where = {"id": "where", "kind": "branch", "rules": [{"if": ["state:CA"], "goto": "last"}], "else": "tag"}
    tag = {"id": "tag", "kind": "tag", "add": ["new"]}
    steps = [where, tag, MAIL, {"id": "pause", "kind": "wait", "duration": "1d"}, {**TEXT, "id": "last"}]
    schedule = await company.schedule(steps=steps)
    made = await submit(company, schedule, "+12125550187")
    await submit(company, schedule, "+13105550188", state_province="CA")
    expected = {"where": "1→last 1→tag", "tag": "1→third", "third": "1→last", "last": "2 there"}
    await until(expected, company, schedule)
    stopped = await company.send("PATCH", f"/api/v1/leads/{made['id']}", json={"schedule_stop": True})
    assert stopped.status_code == 200, stopped.text
    await until({**expected, "last": "1 there 1 removed"}, company, schedule)
    other = await company.schedule(name="Winter", steps=[{**TEXT, "id": "last"}])
    moved = await company.send("PATCH", f"/api/v1/leads/{made['id']}", json={"move_to_another_schedule_id": other["id"]})
    assert moved.status_code == 200, moved.text
    await until({"last": "1 there"}, company, other)
    await until({"where": "1→last", "last": "1 there"}, company, schedule)


async def test_a_restart_by_the_engine_begins_the_schedule_again(company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    again = {"id": "again", "kind": "restart", "max_restarts": 1}
    schedule = await company.schedule(steps=[{"id": "tag", "kind": "tag", "add": ["new"]}, again, {**TEXT, "id": "last"}])
    await submit(company, schedule, "+12125550187")
    found = await until({"tag": "1→again", "again": "1→last", "last": "1 there"}, company, schedule)
    assert found["cut_count"] == 0


async def test_what_is_no_visit_of_a_step_does_not_count(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=[*STEPS, {**TEXT, "id": "last"}]), Rows(town, company)
    no_visits = (
        at("(callback)", "command.emitted", source="callback"),
        at("(manual)", "command.emitted", source="call_now"),
        at("last", "command.emitted", kind="webhook"),
        at("last", "veto.answered"),
        at("last", "step.skipped", reason="no_webhook"),
        at("of-a-disposition", "step.applied"),
        ("lead.waiting", {"reason": "schedule_paused"}),
    )
    await rows.add(schedule, at("first", "step.chose"), *no_visits, call_id=9, status="expired")
    assert said(await report(company, schedule)) == {"first": "1 expired"}


async def test_each_fact_of_a_visit_counts(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    plain = "lead.scheduled lead.waiting lead.resumed slot.requested veto.asked step.applied step.chose step.failed"
    kinds = (*plain.split(), "step.retried", "step.skipped")
    for kind in kinds:
        await rows.add(schedule, at("second", kind), status="dnc")
    for kind in ("command.emitted", "reach.requested"):
        await rows.add(schedule, at("second", kind, source="retry"), status="dnc")
    assert said(await report(company, schedule)) == {"second": f"{len(kinds) + 2} dnc"}


async def test_facts_of_one_decision_count_in_their_order(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    made = await rows.add(schedule, step="third")
    skipped = tuple(Fact(type="step.skipped", lead_id=made.id, data={"step_id": step}) for step in ("second", "first"))
    await rows.decide(made, *skipped, at=rows.now + MINUTE)
    assert said(await report(company, schedule)) == {"first": "1→third", "second": "1→first", "third": "1 there"}


async def test_steps_of_the_schedule_that_a_lead_was_on_before_do_not_count(town: Any, company: Any) -> None:
    schedule, before = await company.schedule(steps=STEPS), await company.schedule(name="Before", steps=STEPS)
    rows = Rows(town, company)
    moved = (entered(before), at("first"), at("third"), entered(schedule), at("second"))
    await rows.add(schedule, *moved, step="second")
    assert said(await report(company, schedule)) == {"second": "1 there"}
    assert (await report(company, before))["leads_count"] == 0, "it left, and is no lead of that schedule any more"


async def test_the_newest_leads_and_facts_are_looked_at(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LEADS_MAX > 2
    monkeypatch.setattr("adapters.http.reports.steps.LEADS_MAX", 2)
    monkeypatch.setattr("adapters.http.reports.steps.FACTS_MAX", 2)
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    for minutes, status in ((3, "dnc"), (1, "failure"), (2, "expired")):
        created_at = rows.now - minutes * MINUTE
        await rows.add(schedule, at("first"), at("second"), at("third"), status=status, created_at=created_at)
    found = await report(company, schedule)
    assert said(found) == {"second": "2→third", "third": "1 expired 1 failure"}
    assert (found["leads_count"], found["is_complete"], found["cut_count"]) == (2, False, 2)
    monkeypatch.setattr("adapters.http.reports.steps.LEADS_MAX", 3)
    assert (await report(company, schedule))["is_complete"] is True, "as many as there are"


async def test_leads_are_chosen_by_when_they_were_created(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    await rows.add(schedule, at("first"), status="expired", created_at=rows.now - 300 * MINUTE)
    await rows.add(schedule, at("first"), status="dnc", created_at=rows.now)
    between = to_rfc3339(rows.now - 5 * MINUTE)
    assert said(await report(company, schedule, created_at_from=between)) == {"first": "1 dnc"}
    assert said(await report(company, schedule, created_at_to=between)) == {"first": "1 expired"}
    assert said(await report(company, schedule, created_at_label="Last 4 Hours")) == {"first": "1 dnc"}


async def test_a_report_without_a_schedule_of_the_company_is_refused(company: Any, other: Any) -> None:
    theirs = await other.schedule(steps=STEPS)
    for params in ({}, {"schedule_id": ""}, {"schedule_id": "solar"}, {"schedule_id": theirs["id"]}, {"schedule_id": 9}):
        answer = await company.send("GET", PATH, params=params)
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["schedule_id"]), answer.text


async def test_a_team_counts_the_leads_that_it_sees(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    source = await company.record("traffic_sources", {"name": "Search"})
    await rows.add(schedule, at("first"), status="expired", columns={"traffic_source_id": source["id"]})
    await rows.add(schedule, at("second"), status="expired")
    ada = await _reader(town, company, lead_filters={"traffic_source_ids": [source["id"]]})
    assert said(await report(ada, schedule)) == {"first": "1 expired"}


async def test_figures_of_hidden_fields_are_not_shown(town: Any, company: Any) -> None:
    schedule, rows = await company.schedule(steps=STEPS), Rows(town, company)
    await rows.add(schedule, at("first"), at("second"), status="expired")
    ada = await _reader(town, company, permissions={"lead": {"actions": ["read"], "fields": hidden("status")}})
    rows_shown = (await report(ada, schedule))["reached_steps"]
    shown = [{name for name in row if name.startswith(("end", "still"))} for row in rows_shown]
    assert shown == [set(), set()]


async def test_a_hidden_schedule_is_not_asked_about(town: Any, company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    ada = await _reader(town, company, permissions={"lead": {"actions": ["read"], "fields": hidden("schedule_id")}})
    assert (await ada.get(PATH, schedule_id=str(schedule["id"]))).status_code == 403


async def _reader(town: Any, company: Any, **team: Any) -> Person:
    granted = {"permissions": {"lead": {"actions": ["read"]}}, **team}
    await company.record("access_control_lists", {"name": "Team", "users_emails": [ADA], **granted})
    return await person_of(town, company)
