"""What does `buyer_is_available` name: the buyer, what every call of the lead shares, or a pause?"""

from typing import Any

import pytest

from engine.rules import Rules
from engine.views.buyers import Capacity, availability, ways
from schemas.records import Body, Buyer, Company, Number, Offer, TrafficSource
from tests.engine.views.test_caps import NOW, ROW, _rules

BUYER = Buyer(name="Ann", number="+12125550140")


def rules_of(**more: Body) -> Rules:
    given: dict[str, Body] = {"buyer_70": BUYER, "offer_9": Offer(name="Solar", lead_token="lt", buyer_ids=(70,))}
    return _rules(**{**given, **more})


def reasons(rules: Rules, held: dict[str, tuple[int, int]] | None = None, **row: Any) -> dict[str, str]:
    asked = {**ROW, **row}
    found: dict[str, str] = availability(asked, ways(asked, rules), Capacity(rules, held or {}, {}, NOW))["reasons"]
    return found


PAUSES: dict[str, tuple[str, Body, Body]] = {
    "company_paused": ("company_1", Company(name="Sunny", paused=True), Company(name="Sunny", paused=True, inbound="keep")),
    "offer_paused": (
        "offer_9",
        Offer(name="Solar", lead_token="lt", buyer_ids=(70,), paused=True),
        Offer(name="Solar", lead_token="lt", buyer_ids=(70,), paused=True, inbound="keep"),
    ),
}


@pytest.mark.parametrize("reason", PAUSES)
def test_a_pause_is_named_unless_inbound_calls_go_on(reason: str) -> None:
    name, paused, kept = PAUSES[reason]
    assert reasons(rules_of(**{name: paused})) == {"70": reason}
    assert reasons(rules_of(**{name: kept})) == {}


def test_all_lines_of_what_every_call_shares_are_named_as_such() -> None:
    source = rules_of(traffic_source_5=TrafficSource(name="Ads", concurrency_cap_limit=1))
    assert reasons(source, {"traffic_source/5": (1, 0)}, traffic_source_id=5) == {"70": "traffic_source_concurrency"}
    number = rules_of(number_6=Number(number="+12125550150", concurrency_cap_limit=1))
    assert reasons(number, {"number/6": (1, 0)}, svc_number="+12125550150") == {"70": "number_concurrency"}
    own = rules_of(buyer_70=Buyer(name="Ann", number="+12125550140", concurrency_cap_limit=1))
    assert reasons(own, {"buyer/70": (1, 0)}) == {"70": "concurrency"}
