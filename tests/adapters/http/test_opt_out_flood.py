"""When are opt-outs far above usual, and what are they said to have in common? By the answers of a list and of events."""

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.http.console.opt_out_flood import PAGES_MAX, find_flood
from adapters.http.console.visits import RECORDS_READ
from engine.contact.requests.replies import CONFIRMATION
from schemas.instant import HOUR, MINUTE, Instant, to_rfc3339

pytestmark = pytest.mark.asyncio

NOW = Instant(1_781_715_600_000)
TEXTED = 3 * MINUTE


class Seen:
    """A visit that is answered from rows and events of a test."""

    def __init__(self, rows: list[dict[str, Any]], events: list[dict[str, Any]], **records: Any) -> None:
        self.rows, self.events, self.records = rows, events, records
        self.asked: list[str] = []

    async def look(self, name: str, fields: Mapping[str, Any] | None = None, *, path: Any = None) -> Any:
        self.asked.append(name)
        if name == "list_leads":
            page = (fields or {})["page"]
            return answer(self.rows[(page - 1) * RECORDS_READ : page * RECORDS_READ])
        if name == "list_lead_events":
            return {"lead": {"events": self.events}}
        return self.records.get(f"{name}/{path['id']}")

    async def flood(self) -> str:
        return await find_flood(self, answer(self.rows[:RECORDS_READ]), NOW)  # type: ignore[arg-type]


def answer(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"leads": rows, "metadata": {"root": "leads"}}


def leads(*ages: int, **more: Any) -> list[dict[str, Any]]:
    """Return leads of people of their own, changed so long ago, the newest first."""
    return [
        {"id": place, "caller_id": f"+1{place:010d}", "updated_at": to_rfc3339(NOW - age), **more}
        for place, age in enumerate(sorted(ages))
    ]


def event(name: str, ago: int, **data: Any) -> dict[str, Any]:
    return {"event": name, "created_at": to_rfc3339(NOW - ago), "data": data}


ENDED = [event("lead.ended", TEXTED, status="opt_out")]
STOPPED = [
    event("command.emitted", HOUR, kind="sms", step_id="text-1"),
    event("command.emitted", HOUR, kind="call", step_id="call-1"),
    event("sms.received", TEXTED, meaning="opt_out"),
    *ENDED,
    event("command.emitted", TEXTED, kind="sms", step_id=CONFIRMATION),
    event("command.emitted", 0, kind="sms", step_id="later"),
]


@pytest.mark.parametrize(
    ("recent", "before", "said"),
    [
        (9, 0, ""),
        (10, 0, "10 people have opted out in the last hour; none did in the day before."),
        (10, 22, "10 people have opted out in the last hour; less than one an hour is usual."),
        (10, 46, "10 people have opted out in the last hour; 2 an hour is usual."),
        (10, 47, ""),
        (14, 69, ""),
        (15, 69, "15 people have opted out in the last hour; 3 an hour is usual."),
    ],
)
async def test_a_flood_is_ten_people_and_five_times_the_usual_rate(recent: int, before: int, said: str) -> None:
    rows = leads(*[MINUTE] * recent, *[5 * HOUR] * before)
    sentence = await Seen(rows, ENDED).flood()
    assert sentence.partition(". ")[0] == said.removesuffix(".")


async def test_several_leads_of_one_person_are_one() -> None:
    rows = [{**row, "caller_id": "+12125550100"} for row in leads(*[MINUTE] * 50)]
    assert await Seen(rows, ENDED).flood() == ""
    by_mail = [{**row, "caller_id": None, "email": "ada@example.org"} for row in rows]
    assert await Seen(by_mail, ENDED).flood() == ""


async def test_what_a_team_hides_is_not_guessed() -> None:
    assert await find_flood(Seen([], []), None, NOW) == ""  # type: ignore[arg-type]
    rows = [{"id": row["id"], "updated_at": row["updated_at"]} for row in leads(*[MINUTE] * 12)]
    assert (await Seen(rows, [{**one, "data": {}} for one in STOPPED]).flood()).startswith("12 people have opted out")
    assert await Seen([{"id": row["id"]} for row in rows], ENDED).flood() == ""


async def test_leads_that_were_only_changed_are_no_opt_outs() -> None:
    rows = leads(*[MINUTE] * 60)
    long_ago = [event("lead.ended", 3 * HOUR), event("lead.updated", MINUTE)]
    assert await Seen(rows, long_ago).flood() == ""


async def test_the_schedule_the_source_and_the_text_are_named_that_most_have_in_common() -> None:
    rows = leads(*[MINUTE] * 12, schedule_id=7, traffic_source_id=3)
    rows[5]["traffic_source_id"] = None
    text = "x" * 100
    schedule = {"schedule": {"name": "Winter", "steps": [{"id": "text-1", "kind": "sms", "template": text}]}}
    seen = Seen(rows, STOPPED, **{"show_schedule/7": schedule})
    assert await seen.flood() == (
        "12 people have opted out in the last hour; none did in the day before. All are on the schedule Winter. "
        "11 of their 12 leads came from the traffic source 3. "
        f"Most answered STOP to the text `text-1`, which reads “{'x' * 79}…”. "
        "Pause what contacts them, and look at its texts and where its leads come from."
    )
    other = Seen(rows, [one for one in STOPPED if one["event"] != "sms.received"])
    assert "Most had last been sent the text `text-1`." in await other.flood(), "its schedule is not shown"


async def test_what_fewer_than_half_have_in_common_is_not_named() -> None:
    rows = leads(*[MINUTE] * 12)
    for place, row in enumerate(rows):
        row["schedule_id"] = place % 3
    assert "schedule" not in await Seen(rows, ENDED).flood()


async def test_more_opt_outs_than_are_read_are_a_flood_whatever_is_usual() -> None:
    seen = Seen(leads(*[MINUTE] * (PAGES_MAX + 1) * RECORDS_READ), ENDED)
    assert (await seen.flood()).startswith("At least 500 people have opted out in the last hour. ")
    assert seen.asked.count("list_leads") == PAGES_MAX - 1, "the first page was read before"


async def test_where_the_rows_do_not_reach_back_a_day_the_rate_is_that_of_their_span() -> None:
    rows = leads(*[MINUTE] * 100, *[HOUR + MINUTE] * 200, *[5 * HOUR] * 500)
    assert await Seen(rows, ENDED).flood() == "", "100 an hour is usual"
