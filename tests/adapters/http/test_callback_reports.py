"""Do reports of callbacks count by agent and day what became of each, as a recount in plain Python does?"""

import csv
import io
import random
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from schemas.decisions import Cause, Fact
from schemas.instant import DAY, HOUR, MINUTE, Instant, from_datetime, to_datetime
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_agents import agent
from tests.adapters.http.test_hidden_fields import hidden, hiding
from tests.adapters.postgres.projected_rows import Shown, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/scheduled_callbacks/reports"
NEW_YORK = ZoneInfo("America/New_York")
SPRING = datetime(2026, 3, 6, tzinfo=NEW_YORK)  # the clock loses an hour on the 8th
STATES = ("pending", "kept", "late", "missed", "cancelled")
FIGURES = {state: "kept_late_count" if state == "late" else f"{state}_count" for state in STATES}
COUNT = 120


class Promised:
    """A company with callbacks of three agents around a change of the clock; `facts` are the newest of each."""

    def __init__(self, company: Any, agents: list[int | None], facts: list[dict[str, Any]]) -> None:
        self.company, self.agents, self.facts = company, agents, facts

    async def report(self, **query: str) -> Any:
        answer = await self.company.send("GET", PATH, params={"time_zone": "America/New_York", "per_page": "100", **query})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def day(self, fact: dict[str, Any]) -> str:
        return to_datetime(fact["promised_at"]).astimezone(NEW_YORK).date().isoformat()

    def agent(self, fact: dict[str, Any]) -> int | None:
        found: int | None = (fact.get("owner") or {}).get("agent_id") or fact.get("promised_agent_id")
        return found


def fact_of(number: int, agents: list[int | None], draw: random.Random) -> dict[str, Any]:
    begin = from_datetime(SPRING.astimezone(UTC))
    promised_at = begin + draw.randrange(5 * DAY // MINUTE) * MINUTE
    state = draw.choice(STATES)
    owner, promiser = draw.choice(agents), draw.choice(agents)
    found: dict[str, Any] = {
        "callback_id": number,
        "revision": 1,
        "state": state,
        "made_at": promised_at - draw.randrange(3) * DAY,
        "promised_at": promised_at,
        "promised_by": "api" if promiser is None else "agent",
        "is_reached": state in {"kept", "late"} and draw.random() < 0.5,
    }
    if promiser is not None:
        found["promised_agent_id"] = promiser
    if owner is not None:
        found["owner"] = {"agent_id": owner, "grace_minutes": 15}
    if state in {"kept", "late"}:
        late = draw.randrange(300) if state == "kept" else 301 + draw.randrange(3_000)
        found |= {"called_at": promised_at + late * 1000, "late_seconds": late}
    return found


def cause_of(company: Any) -> Cause:
    """The facts of a decision are of the company of its key."""
    return Cause(kind="request", id="callbacks", key=f"{company.id}|+13055550100")


@pytest_asyncio.fixture(loop_scope="session")
async def promised(town: Any, company: Any) -> AsyncIterator[Promised]:
    draw = random.Random(company.id)
    agents = [await agent(company, name="Ada"), await agent(company, name="Grace"), None]
    first = company.id * 100_000
    facts = [fact_of(first + number, agents, draw) for number in range(COUNT)]
    shown = Shown(town.pool, topic=f"callbacks.{company.id}")
    one = lead(first, company=company.id)
    # Of each an earlier state came before, and of some after it: the revision decides, not the sequence.
    earlier = [{**fact, "state": "pending", "revision": 1} for fact in facts]
    newest = [{**fact, "revision": 2} for fact in facts]
    for batch in (newest[: COUNT // 2], earlier, newest[COUNT // 2 :]):
        facts_of_batch = tuple(Fact(type="callback.recorded", lead_id=first, data=data) for data in batch)
        await shown.decide(one, facts=facts_of_batch, cause=cause_of(company))
    yield Promised(company, agents, newest)
    await shown.store.close()


async def test_callbacks_are_counted_by_agent_and_day_across_a_change_of_the_clock(promised: Promised) -> None:
    answer = await promised.report(category="agent_id", pivot="promised_at_day")

    expected = Counter((promised.agent(fact), promised.day(fact), fact["state"]) for fact in promised.facts)
    shown: Counter[tuple[int | None, str, str]] = Counter()
    for row in answer["reports"]:
        for day, cell in row["pivots"].items():
            for state in STATES:
                shown[row["category"], day, state] += cell[FIGURES[state]]
    assert +shown == expected
    labels = {row["category"]: row["category_label"] for row in answer["reports"]}
    assert labels == dict(zip(promised.agents, ("Ada", "Grace", "(none)"), strict=True))


async def test_the_totals_say_what_a_manager_asks(promised: Promised) -> None:
    totals = (await promised.report())["totals"]

    states = Counter(fact["state"] for fact in promised.facts)
    assert {state: totals[FIGURES[state]] for state in STATES} == {state: states[state] for state in STATES}
    late = [fact["late_seconds"] for fact in promised.facts if fact["state"] == "late"]
    judged = sum(states[state] for state in ("kept", "late", "missed"))
    assert totals["promised_count"] == COUNT
    assert totals["kept_rate"] == round(states["kept"] / judged, 4)
    assert totals["avg_late_seconds"] == round(sum(late) / len(late), 4)
    assert totals["reached_count"] == sum(fact["is_reached"] for fact in promised.facts)


async def test_filters_choose_by_the_promised_instant_and_the_agent(promised: Promised) -> None:
    since, until = SPRING + timedelta(days=1), SPRING + timedelta(days=3)
    span = {
        "promised_at_from": since.strftime("%Y-%m-%d 00:00:00"),
        "promised_at_to": until.strftime("%Y-%m-%d 00:00:00"),
    }
    ada = promised.agents[0]
    totals = (await promised.report(agent_id=str(ada), **span))["totals"]

    bounds = from_datetime(since.astimezone(UTC)), from_datetime(until.astimezone(UTC))
    within = [fact for fact in promised.facts if bounds[0] <= fact["promised_at"] < bounds[1]]
    assert totals["promised_count"] == sum(promised.agent(fact) == ada for fact in within) > 0


async def test_a_pending_callback_is_overdue_five_minutes_after_its_instant(town: Any, company: Any) -> None:
    now, first = town.context.clock.now(), company.id * 100_000
    shown = Shown(town.pool, topic=f"overdue.{company.id}")
    facts = [
        Fact(type="callback.recorded", lead_id=first, data={
            "callback_id": first + number, "revision": 1, "state": "pending", "made_at": now - HOUR,
            "promised_at": Instant(now + at), "promised_by": "api", "is_reached": False,
        })
        for number, at in enumerate((-6 * MINUTE, -4 * MINUTE, HOUR))
    ]  # fmt: skip
    await shown.decide(lead(first, company=company.id), facts=tuple(facts), cause=cause_of(company))
    totals = (await company.send("GET", PATH)).json()["totals"]
    await shown.store.close()

    assert (totals["pending_count"], totals["overdue_count"]) == (3, 1)


async def test_a_report_is_a_file_too(promised: Promised) -> None:
    answer = await promised.company.send(
        "GET", f"{PATH}.csv", params={"category": "callback_status", "columns": "category,promised_count"}
    )

    rows = {row["category"]: int(row["promised_count"]) for row in csv.DictReader(io.StringIO(answer.text))}
    assert rows == Counter(fact["state"] for fact in promised.facts)


async def test_the_console_shows_callbacks_by_agent(town: Any, promised: Promised) -> None:
    browser = await visitor(town, promised.company, superuser=True)
    page = (await browser.get("/console/reports", params={"of": "callbacks", "created_at_from": "2026-01-01"})).text

    assert "Ada" in page
    assert "missed" in page
    assert "Missed callbacks by agent and day" in page
    files = await browser.get("/console/reports.csv", params={"of": "callbacks", "created_at_from": "2026-01-01"})
    assert files.text.replace('"', "").startswith("category,category_label,promised_count")


@pytest.mark.parametrize(
    ("model", "field", "gone"),
    [
        ("lead", "callback_at", {"kept_late_count", "missed_count", "kept_rate", "overdue_count"}),
        ("call", "outcome", {"reached_count"}),
    ],
)
async def test_a_hidden_field_hides_the_figures_that_it_makes(
    town: Any, promised: Promised, model: str, field: str, gone: set[str]
) -> None:
    ada = await hiding(town, promised.company, {"lead": hidden(), "call": hidden(), model: hidden(field)})
    totals = (await ada.get(PATH)).json()["totals"]

    assert gone.isdisjoint(totals)
    assert "promised_count" in totals
