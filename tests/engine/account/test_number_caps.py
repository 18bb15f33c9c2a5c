"""Do caps of a number hold back calls of steps, and count all that are placed from it?"""

from decimal import Decimal
from typing import Any

import pytest

from schemas.decisions import REMOVED
from schemas.instant import HOUR, Instant
from schemas.records import Number
from schemas.requests import SlotAnswered, SlotRequested
from tests.engine.account.conftest import AccountWorld
from tests.engine.contact.world import NEW_YORK, at

EVENING = at("2026-07-15 22:20")


def number_of(account: AccountWorld, last: int = 50, **caps: Any) -> int:
    return account.create("number", number=f"+121255501{last}", time_zone=NEW_YORK, **caps)


def refusals(sent: list[SlotAnswered]) -> list[tuple[str, str | None, Instant | None]]:
    return [(answer.request_id, answer.reason, answer.until) for answer in sent if not answer.granted]


def granted(sent: list[SlotAnswered]) -> list[str]:
    return [answer.request_id for answer in sent if answer.granted]


def place(account: AccountWorld, request_id: str, **fields: Any) -> list[SlotAnswered]:
    return account.want(request_id, is_placed=True, **fields)


def attempts(account: AccountWorld, number_id: int, period: str = "daily") -> tuple[Decimal | int, int]:
    tally = account.slots(f"number/{number_id}").tallies[period]
    return tally.used.get("attempt", 0), tally.open.get("attempt", 0)


@pytest.mark.parametrize(
    ("period", "resets_at"),
    [
        ("hourly", at("2026-07-15 23:00")),
        ("daily", at("2026-07-16 00:00")),
        ("monthly", at("2026-08-01 00:00")),
        ("total", None),
    ],
)
def test_the_call_that_would_pass_a_cap_waits_for_the_reset_on_the_clock_of_the_number(
    account: AccountWorld, period: str, resets_at: Instant | None
) -> None:
    account.now = EVENING
    number_id = number_of(account, **{f"attempt_{period}_limit": 2})
    for request_id in "ab":
        assert granted(account.want(request_id, number_id=number_id)) == [request_id]
        account.release(request_id, ended="attempted")

    assert refusals(account.want("c", number_id=number_id)) == [("c", "number_cap", resets_at)]
    if resets_at is not None:
        account.now = resets_at
        assert granted(account.want("d", number_id=number_id)) == ["d"]


def test_the_total_is_reset_by_request(account: AccountWorld) -> None:
    number_id = number_of(account, attempt_total_limit=1)
    account.want("a", number_id=number_id)
    account.release("a", ended="attempted")
    assert refusals(account.want("b", number_id=number_id)) == [("b", "number_cap", None)]
    account.now += HOUR
    account.update("number", number_id, reset_total_caps=True)
    assert granted(account.want("c", number_id=number_id)) == ["c"]


def test_calls_at_the_same_time_wait_for_one_another(account: AccountWorld) -> None:
    number_id = number_of(account, concurrency_cap_limit=1)
    assert granted(account.want("a", number_id=number_id)) == ["a"]
    assert account.want("b", number_id=number_id) == []
    assert granted(account.release("a", ended="attempted")) == ["b"]
    assert granted(account.changed("number", number_id, concurrency_cap_limit=2)) == []
    assert granted(account.want("c", number_id=number_id)) == ["c"]


def test_a_number_that_is_closed_places_no_call_of_a_step(account: AccountWorld) -> None:
    number_id = number_of(account, concurrency_cap_limit=0)
    assert refusals(account.want("a", number_id=number_id)) == [("a", "number_cap", None)]


def test_a_call_needs_a_line_of_its_buyer_and_of_its_number(account: AccountWorld) -> None:
    number_id, other_id = (number_of(account, last, concurrency_cap_limit=1) for last in (50, 51))
    group_id = account.group(account.buyer(concurrency_cap_limit=2))
    asked = {"buyer_group_id": group_id, "number_id": number_id}
    (answer,) = account.want("a", **asked)
    assert (answer.granted, answer.number_id, answer.buyer_group_id) == (True, number_id, group_id)
    assert account.want("b", **asked) == []
    assert granted(account.want("c", **{**asked, "number_id": other_id})) == ["c"], "another number holds up nobody"
    assert granted(account.release("a", ended="connected")) == ["b"]
    assert account.slots(f"number/{number_id}").in_use == account.slots(f"number/{other_id}").in_use == 1


def test_the_harder_of_two_caps_counts(account: AccountWorld) -> None:
    account.now = EVENING
    number_id = number_of(account, attempt_hourly_limit=1)
    source_id = account.create("traffic_source", name="Ads", time_zone=NEW_YORK, connection_daily_limit=0)
    asked = {"buyer_group_id": account.group(account.buyer()), "number_id": number_id}
    assert granted(account.want("a", **asked)) == ["a"]
    account.release("a", ended="connected")
    assert refusals(account.want("b", **asked)) == [("b", "number_cap", at("2026-07-15 23:00"))]
    assert [answer.reason for answer in account.want("c", traffic_source_id=source_id, **asked)] == ["traffic_source_cap"]


def test_a_promised_call_is_counted_and_not_held_back(account: AccountWorld) -> None:
    number_id = number_of(account, attempt_daily_limit=1)
    group_id = account.group(account.buyer(concurrency_cap_limit=5))
    asked = {"buyer_group_id": group_id, "number_id": number_id, "is_promised": True}
    assert granted(account.want("a", **asked)) == ["a"]
    assert granted(account.want("b", **asked)) == ["b"]
    account.release("a", ended="connected")
    assert attempts(account, number_id) == (1, 1)
    assert account.want("c", number_id=number_id)[0].reason == "number_cap"


@pytest.mark.parametrize(("ended", "used"), [("unused", 0), ("attempted", 1), ("connected", 1), ("unknown", 1)])
def test_a_call_that_is_placed_already_is_counted_until_its_end_and_answered_to_nobody(
    account: AccountWorld, ended: str, used: int
) -> None:
    number_id = number_of(account, attempt_daily_limit=1)
    assert place(account, "a", number_id=number_id) == []
    assert place(account, "a", number_id=number_id) == [], "a repeat is counted once"
    assert attempts(account, number_id) == (0, 1)
    assert account.want("b", number_id=number_id) == [], "it may give its attempt back"
    sent = account.release("a", ended=ended)
    assert (granted(sent), len(refusals(sent))) == ((["b"], 0) if ended == "unused" else ([], 1))
    assert attempts(account, number_id)[0] == used
    assert account.slots(f"number/{number_id}").in_use == (1 if ended == "unused" else 0)


def test_a_deleted_number_holds_nobody_up(account: AccountWorld) -> None:
    number_id = number_of(account, attempt_daily_limit=0)
    assert account.want("a", number_id=number_id)[0].reason == "number_cap"
    account.delete("number", number_id)
    assert granted(account.want("b", number_id=number_id)) == ["b"]


def test_a_cap_that_is_used_up_is_said_once(account: AccountWorld) -> None:
    number_id = number_of(account, attempt_daily_limit=1)
    account.want("a", number_id=number_id)
    account.release("a", ended="attempted")
    (fact,) = [fact for fact in account.facts if fact.type == "cap.reached"]
    assert (fact.data["record_type"], fact.data["record_id"], fact.data["cap"]) == ("number", number_id, "attempt_daily")


def test_a_new_number_has_the_clock_of_its_company(account: AccountWorld) -> None:
    account.update("company", 1, time_zone="America/Chicago")
    body = account.body("number", account.create("number", number="+12125550150"))
    assert isinstance(body, Number)
    assert body.time_zone == "America/Chicago"


@pytest.mark.parametrize("name", ["connection_daily_limit", "revenue_total_limit"])
def test_a_number_has_caps_on_attempts_alone(account: AccountWorld, name: str) -> None:
    given: dict[str, Any] = {"number": "+12125550150", name: 1}
    answer = account.change("create", "number", **given)
    assert (answer.code, list(answer.errors)) == ("validation_failed", [name])


def test_the_queue_of_a_number_is_removed_from_what_it_waited_for(account: AccountWorld) -> None:
    number_id = number_of(account, concurrency_cap_limit=1)
    account.want("a", number_id=number_id)
    account.want("b", number_id=number_id)
    assert account.slots(f"number/{number_id}").wanted_by == (f"by_number/{number_id}",)
    request = SlotRequested(company_id=1, contact_key="1|b", lead_id=7, request_id="b", number_id=number_id)
    assert all(change.value != REMOVED for change in account.ask(request).decision.changes)
    account.release("b")
    assert account.slots(f"number/{number_id}").wanted_by == ()
