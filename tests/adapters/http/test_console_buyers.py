"""Does the page of buyers say who can take a call, why the others cannot, and pause exactly what its user may pause?"""

from datetime import UTC, datetime
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from adapters.http.console.buyer_reasons import Standing, find_named_by, standing_of
from adapters.http.console.cap_bars import bars_of
from engine.views.hidden_fields import HIDEABLE
from schemas.instant import HOUR, Instant, from_datetime
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_hidden_fields import hidden

pytestmark = pytest.mark.asyncio(loop_scope="session")

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
CALL = {"id": "call-1", "kind": "call"}
WAIT = {"id": "pause", "kind": "wait", "duration": "2h"}

NOON = from_datetime(datetime(2026, 3, 4, 12, tzinfo=UTC))
"""A Wednesday."""

OPEN: dict[str, Any] = {
    "id": 7, "name": "Bright Roofs", "paused": False, "maxed_out": False, "business_hours": [], "time_zone": "UTC",
}  # fmt: skip


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def said(row: dict[str, Any]) -> list[tuple[str, Any, str]]:
    return [(one.sentence, one.until, one.end if one.until is None else "") for one in standing_of(row, NOON).holdings]


async def test_a_buyer_without_a_pause_a_closed_hour_or_a_full_cap_takes_calls() -> None:
    found = standing_of({**OPEN, "attempt_daily_limit": 5, "attempt_daily_used": 3}, NOON)
    assert (found.level, found.word, found.holdings, found.next_at) == ("good", "takes calls", (), None)
    nearly = standing_of({**OPEN, "attempt_daily_limit": 5, "attempt_daily_used": 4}, NOON)
    assert (nearly.level, nearly.word) == ("warn", "nearly full")


async def test_each_thing_that_holds_is_named_with_what_ends_it() -> None:
    assert said({**OPEN, "paused": True}) == [("It is paused", None, "until somebody resumes it")]
    until = at("2026-03-04T13:00:00+00:00")
    assert said({**OPEN, "paused": True, "unpause_at": "2026-03-04T13:00:00.000Z"}) == [("It is paused", until, "")]
    hours = [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "13:30", "close": "20:00"}]
    assert said({**OPEN, "business_hours": hours}) == [
        ("It is closed: its hours are Mon-Fri from 13:30 to 20:00 (UTC)", at("2026-03-04T13:30:00+00:00"), "")
    ]
    assert said({**OPEN, "attempt_daily_limit": 5, "attempt_daily_used": 5, "time_zone": "America/New_York"}) == [
        ("Its calls a day are used up: 5 of 5", at("2026-03-05T05:00:00+00:00"), "")
    ]
    assert said({**OPEN, "attempt_total_limit": 5, "attempt_total_used": 6}) == [
        ("Its calls in total are used up: 6 of 5", None, "until somebody raises or resets it")
    ]
    assert said({**OPEN, "attempt_daily_limit": 0}) == [
        ("It is closed: its limit of calls a day is 0", None, "until somebody raises it")
    ]
    assert said({**OPEN, "concurrency_cap_limit": 2, "concurrency_cap_used": 2}) == [
        ("All of its 2 lines are in use", None, "until a call ends")
    ]


async def test_a_group_takes_calls_where_one_of_its_buyers_does() -> None:
    group = {**OPEN, "id": 1, "buyer_ids": [7, 8]}
    free = standing_of(OPEN, NOON)
    paused = standing_of({**OPEN, "paused": True}, NOON)
    closing = standing_of({**OPEN, "paused": True, "unpause_at": "2026-03-04T13:00:00.000Z"}, NOON)
    table: list[tuple[dict[int, Standing] | None, str, Instant | None]] = [
        ({7: free, 8: paused}, "takes calls", None),
        ({7: paused, 8: paused}, "gets nothing", None),
        ({7: paused, 8: closing}, "gets nothing", at("2026-03-04T13:00:00+00:00")),
        ({7: paused}, "takes calls", None),  # the other is not shown
        (None, "takes calls", None),
    ]
    for members, word, next_at in table:
        found = standing_of(group, NOON, members)
        assert (found.word, found.next_at) == (word, next_at), members
    empty = standing_of({**group, "buyer_ids": []}, NOON, {})
    assert (empty.word, [one.sentence for one in empty.holdings]) == ("gets nothing", ["It has no buyers"])


async def test_it_is_available_when_all_that_holds_is_over_and_it_is_open() -> None:
    hours = [{"days": ["wed", "thu"], "open": "09:00", "close": "17:00"}]
    row = {**OPEN, "business_hours": hours, "paused": True, "unpause_at": "2026-03-04T18:00:00.000Z"}
    assert standing_of(row, NOON).next_at == at("2026-03-05T09:00:00+00:00")
    assert standing_of({**row, "unpause_at": None}, NOON).next_at is None
    lines = {**row, "concurrency_cap_limit": 1, "concurrency_cap_used": 1}
    assert standing_of(lines, NOON).next_at is None, "nobody knows when a call ends"


async def test_a_limit_of_half_a_call_counts_whole_calls_as_the_account_does() -> None:
    (bar,) = bars_of({**OPEN, "attempt_hourly_limit": 2.5, "attempt_hourly_used": 2}, NOON)
    assert (bar.share, bar.resets_at) == (1.0, at("2026-03-04T13:00:00+00:00"))
    (money,) = bars_of({**OPEN, "revenue_hourly_limit": 2.5, "revenue_hourly_used": 2}, NOON)
    assert money.share == pytest.approx(0.8)


async def test_what_a_team_hides_is_not_guessed() -> None:
    found = standing_of({"id": 7}, NOON)
    assert (found.name, found.level, found.word, found.holdings) == ("7", "", "not shown", ())
    full = standing_of({"id": 7, "maxed_out": True}, NOON)
    assert [one.sentence for one in full.holdings] == ["A cap is used up that no team of yours shows"]


async def test_a_buyer_whom_nothing_names_is_found_only_where_everything_is_shown() -> None:
    group = {**OPEN, "id": 3, "buyer_ids": [7]}
    offer = {"id": 1, "name": "Roofs", "buyer_ids": [], "buyer_group_ids": [3]}
    schedule = {"id": 2, "name": "Winter", "steps": [{"id": "a", "kind": "call", "connect": {"buyer_ids": [7]}}]}

    def found(**more: Any) -> Any:
        lists = {"groups": [group], "offers": [offer], "schedules": [schedule], **more}
        return find_named_by(7, lists, NOON, most=100)

    assert (found().offers, found().schedules, found().is_nobody) == (("Roofs",), ("Winter",), False)
    assert found(offers=[], schedules=[]).is_nobody
    assert not found(offers=None, schedules=[]).is_nobody
    assert not found(offers=[], schedules=[{"id": 2}]).is_nobody, "a team hides the steps"


async def buyer(company: Any, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = await company.record("buyers", {"name": "Bright Roofs", "number": "+12125550160", **fields})
    return made


async def shown_buyer(company: Any, buyer_id: int) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/buyers/{buyer_id}")).json()["buyer"]
    return found


async def test_the_page_lists_buyers_with_their_bars_and_why_they_get_nothing(town: Any, company: Any) -> None:
    full = await buyer(company, attempt_daily_limit=0, concurrency_cap_limit=4)
    free = await buyer(company, name="Solid Walls", number="+12125550161", attempt_daily_limit=5)
    await company.record("buyer_groups", {"name": "West", "buyer_ids": [full["id"], free["id"]], "paused": True})
    browser = await visitor(town, company)
    page = await browser.get("/console/buyers")
    assert page.status_code == 200, page.text
    assert 'aria-current="page">Buyers and caps' in page.text
    for expected in ("Bright Roofs", "Solid Walls", "West", "1 of 2 buyers can take a call now", "It is paused",
                     "its limit of calls a day is 0", "0 of 4", "<meter"):  # fmt: skip
        assert expected in page.text, expected
    assert page.text.index("Bright Roofs") < page.text.index("Solid Walls"), "who gets nothing comes first"
    part = await browser.get("/console/buyers/part", headers={"HX-Request": "true"})
    assert "Solid Walls" in part.text
    assert "<html" not in part.text
    one = await browser.get(f"/console/buyers/{free['id']}")
    for expected in ("calls a day", "0 of 5", "Resets", "takes calls", "West"):
        assert expected in one.text, expected
    group = (await company.send("GET", "/api/v1/buyer_groups")).json()["buyer_groups"][0]
    shown = await browser.get(f"/console/buyer_groups/{group['id']}")
    assert "Bright Roofs" in shown.text
    assert "It is paused" in shown.text


async def test_a_buyer_is_paused_for_as_long_as_was_chosen_and_resumed(town: Any, company: Any) -> None:
    made = await buyer(company, time_zone="America/New_York")
    path = f"/console/buyers/{made['id']}"
    browser = await visitor(town, company)
    assert 'value="pause"' in (await browser.get(path)).text
    begun = town.context.clock.now()
    done = await browser.post(f"{path}/actions", {"action": "pause", "until": "60"})
    assert (done.status_code, done.headers["location"]) == (303, f"{path}?done=pause")
    row = await shown_buyer(company, made["id"])
    assert row["paused"] is True
    assert begun + HOUR <= at(row["unpause_at"]) <= town.context.clock.now() + HOUR
    page = (await browser.get(f"{path}?done=pause")).text
    assert 'value="resume"' in page
    assert 'value="pause"' not in page
    assert "It is paused" in page
    assert (await browser.post(f"{path}/actions", {"action": "resume"})).status_code == 303
    row = await shown_buyer(company, made["id"])
    assert (row["paused"], row["unpause_at"]) == (False, None)
    await browser.post(f"{path}/actions", {"action": "pause", "until": "resumed"})
    row = await shown_buyer(company, made["id"])
    assert (row["paused"], row["unpause_at"]) == (True, None)
    await browser.post(f"{path}/actions", {"action": "resume"})
    await browser.post(f"{path}/actions", {"action": "pause", "until": "day"})
    until = datetime.fromisoformat((await shown_buyer(company, made["id"]))["unpause_at"])
    local = until.astimezone(ZoneInfo("America/New_York"))
    assert (local.hour, local.minute, local.second) == (0, 0, 0)


async def test_a_choice_that_is_not_offered_changes_nothing(town: Any, company: Any) -> None:
    made = await buyer(company)
    browser = await visitor(town, company)
    for fields, status in (
        ({"action": "pause", "until": "1e9"}, 422),
        ({"action": "pause"}, 422),
        ({"action": "explode", "until": "60"}, 404),
    ):
        answer = await browser.post(f"/console/buyers/{made['id']}/actions", fields)
        assert answer.status_code == status, fields
    assert (await shown_buyer(company, made["id"]))["paused"] is False


async def test_a_group_is_paused_and_resumed(town: Any, company: Any) -> None:
    made = await company.record("buyer_groups", {"name": "West"})
    browser = await visitor(town, company)
    path = f"/console/buyer_groups/{made['id']}"
    assert "no call goes to this group" in (await browser.get(path)).text
    for action, is_paused in (("pause", True), ("resume", False)):
        assert (await browser.post(f"{path}/actions", {"action": action, "until": "resumed"})).status_code == 303
        shown = (await company.send("GET", f"/api/v1/buyer_groups/{made['id']}")).json()["buyer_group"]
        assert shown["paused"] is is_paused


async def test_who_may_only_read_buyers_sees_no_button_and_is_refused(town: Any, company: Any) -> None:
    made = await buyer(company)
    browser = await visitor(town, company, permissions={"buyer": {"actions": ["read"]}})
    page = await browser.get(f"/console/buyers/{made['id']}")
    assert page.status_code == 200, page.text
    assert '<button class="danger"' not in page.text
    assert "could take a call of a lead" not in (await browser.get("/console/buyers")).text
    refused = await browser.post(f"/console/buyers/{made['id']}/actions", {"action": "pause", "until": "60"})
    assert refused.status_code == 404
    assert (await browser.get("/console/buyer_groups/1")).status_code == 404
    assert (await shown_buyer(company, made["id"]))["paused"] is False


async def test_a_pause_without_the_token_of_the_page_is_refused(town: Any, company: Any) -> None:
    made = await buyer(company)
    browser = await visitor(town, company)
    path = f"/console/buyers/{made['id']}/actions"
    forged = await browser.post(path, {"action": "pause", "until": "60"}, headers={"X-CSRF-Token": ""})
    assert forged.status_code == 403
    assert (await shown_buyer(company, made["id"]))["paused"] is False


async def test_buyers_and_groups_of_another_company_are_not_there(town: Any, company: Any, other: Any) -> None:
    made = await buyer(company)
    group = await company.record("buyer_groups", {"name": "West"})
    browser = await visitor(town, other)
    assert "Bright Roofs" not in (await browser.get("/console/buyers")).text
    for path in (f"/console/buyers/{made['id']}", f"/console/buyer_groups/{group['id']}"):
        assert (await browser.get(path)).status_code == 404
        assert (await browser.get(f"{path}/part")).status_code == 404
        assert (await browser.post(f"{path}/actions", {"action": "pause", "until": "60"})).status_code == 404
    assert (await shown_buyer(company, made["id"]))["paused"] is False


async def test_pages_of_buyers_render_where_a_team_hides_every_field(town: Any, company: Any) -> None:
    made = await buyer(company, attempt_daily_limit=0)
    group = await company.record("buyer_groups", {"name": "West", "buyer_ids": [made["id"]]})
    team = {model: {"actions": ["read", "update"], "fields": hidden(*HIDEABLE[model])} for model in ("buyer", "buyer_group")}
    browser = await visitor(town, company, permissions=team)
    for path in ("/console/buyers", "/console/buyers/part", f"/console/buyers/{made['id']}",
                 f"/console/buyers/{made['id']}/part", f"/console/buyer_groups/{group['id']}"):  # fmt: skip
        page = await browser.get(path)
        assert page.status_code == 200, (path, page.text)
        assert "Bright Roofs" not in page.text
        assert "5550160" not in page.text
        assert "takes calls" not in page.text, "nobody knows"
        assert 'value="pause"' not in page.text


async def test_a_buyer_is_shown_with_a_note_that_nothing_names_it(town: Any, company: Any) -> None:
    made = await buyer(company)
    browser = await visitor(town, company)
    path = f"/console/buyers/{made['id']}/part"
    assert "no new lead is routed to it" in (await browser.get(path)).text
    named = await buyer(company, name="Solid Walls", number="+12125550161")
    await company.schedule(name="Winter", steps=[{**CALL, "connect": {"buyer_ids": [named["id"]]}}])
    unshared = await visitor(town, company, "bob@example.com", superuser=True, name="Another team")
    page = (await unshared.get(f"/console/buyers/{named['id']}")).text
    assert "Winter" in page
    assert "no new lead is routed to it" not in page


async def test_it_says_which_buyers_could_take_a_call_of_a_lead(town: Any, company: Any, other: Any) -> None:
    paused, free = await buyer(company, paused=True), await buyer(company, name="Solid Walls", number="+12125550161")
    steps = [WAIT, {**CALL, "connect": {"buyer_ids": [paused["id"], free["id"]]}}]
    schedule = await company.schedule(steps=steps)
    sent = {"lead_token": schedule["lead_token"], "caller_id": "+12125550123"}
    lead = (await company.send("POST", "/api/v1/leads", json=sent)).json()["lead"]
    browser = await visitor(town, company)
    shown = await browser.get("/console/buyers/for_lead", params={"lead": lead["id"]})
    assert shown.status_code == 200, shown.text
    text = unescape(shown.text)
    assert f"1 buyer could take a call of lead {lead['id']} now." in " ".join(text.split())
    assert "It is paused, or its group is." in text
    assert "Solid Walls" in text
    assert "Type the id" in (await browser.get("/console/buyers/for_lead", params={"lead": " "})).text
    theirs = await visitor(town, other)
    assert (await theirs.get("/console/buyers/for_lead", params={"lead": lead["id"]})).status_code == 404


async def test_a_company_without_buyers_reads_what_to_do_first(town: Any, company: Any) -> None:
    page = await (await visitor(town, company)).get("/console/buyers")
    assert "There is no buyer yet" in page.text
    assert "POST /api/v1/buyers" in page.text


async def test_names_of_buyers_are_shown_as_text(town: Any, company: Any) -> None:
    made = await buyer(company, name=HOSTILE[:60])
    group = await company.record("buyer_groups", {"name": HOSTILE[:60], "buyer_ids": [made["id"]]})
    browser = await visitor(town, company)
    for path in ("/console/buyers", f"/console/buyers/{made['id']}", f"/console/buyer_groups/{group['id']}"):
        page = await browser.get(path)
        assert "<img src=x" not in page.text, path
        assert "&lt;img src=x" in page.text, path
