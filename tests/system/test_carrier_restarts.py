"""Does the judge of `make prove-carriers` see what is wrong? Of calls and texts that were under way at a restart."""

from collections import Counter

from msgspec.structs import replace

from deploy.proof.carriers.judgement import CarrierLog, Reached, judge_carriers

ADA, BOB, EVE = "+12125550101", "+12125550102", "+12125550103"
LOG = CarrierLog(
    commands={"c1": ("call", ADA), "c2": ("sms", BOB)}, outcomes={"c1": {"busy"}, "c2": {"delivered"}}, details={}
)
ORDERS: Counter[Reached] = Counter({("call", ADA): 1, ("sms", BOB): 1})


def broken(log: CarrierLog = LOG, orders: Counter[Reached] = ORDERS, *, nameless: set[str] | None = None) -> set[str]:
    return {row.promise for row in judge_carriers(log, orders, people=2, nameless=nameless) if not row.holds}


def test_orders_given_once_with_one_outcome_each_break_nothing() -> None:
    assert broken() == set()


def test_a_person_who_is_called_twice_is_found() -> None:
    assert broken(orders=ORDERS + Counter({("call", ADA): 1})) == {"people reached twice"}


def test_an_order_without_a_command_is_found() -> None:
    assert broken(orders=ORDERS + Counter({("sms", EVE): 1})) == {"people reached without a command"}


def test_a_command_that_is_lost_is_found() -> None:
    orders, outcomes = Counter({("call", ADA): 1}), {"c1": {"busy"}, "c2": set()}
    lost = {"commands that no vendor was given", "commands without one outcome"}
    assert broken(replace(LOG, outcomes=outcomes), orders) == lost


def test_two_outcomes_of_one_command_are_found() -> None:
    outcomes = {"c1": {"busy", "no_answer"}, "c2": {"delivered"}}
    assert broken(replace(LOG, outcomes=outcomes)) == {"commands without one outcome"}


def test_an_unknown_outcome_is_found_unless_a_gateway_was_killed_and_no_vendor_can_say() -> None:
    log = replace(LOG, outcomes={"c1": {"busy"}, "c2": {"unknown"}})
    unasked = Counter({("call", ADA): 1})

    assert broken(log) == {"commands that stay unknown"}
    assert broken(log, nameless=set()) == {"commands that stay unknown"}
    assert broken(log, nameless={BOB}) == set()
    assert broken(log, unasked, nameless=set()) == set()
