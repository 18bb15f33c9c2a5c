"""Does a gateway that reports a ringing call get the buyer to connect, under the caps of everybody's calls?"""

import asyncio
from typing import Any

import pytest

from adapters.cli.call_in import play

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12125550150"


async def report(company: Any, person: int, state: str = "ringing", **fields: Any) -> dict[str, Any]:
    """Report a call of a person, and return the answer."""
    given = {"from": f"+130555501{person:02d}", "to": OURS, "call_ref": f"pbx-{person}", "state": state, **fields}
    answer = await company.send("POST", "/api/v1/calls/received", json=given)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def offered(company: Any, *, group: dict[str, Any] | None = None, **offer: Any) -> tuple[list[int], int]:
    """Create two buyers in a group of an offer with a number; return their ids and the group's."""
    fields = ({"name": f"Buyer {index}", "number": f"+1212555016{index}", "timeout_seconds": 20} for index in range(2))
    buyers = [(await company.record("buyers", body))["id"] for body in fields]
    named = await company.record("buyer_groups", {"name": "Roofers", "buyer_ids": buyers, **(group or {})})
    made = await company.record("offers", {"name": "Solar", "buyer_group_ids": [named["id"]], **offer})
    await company.record("numbers", {"number": OURS, "offer_id": made["id"]})
    return buyers, named["id"]


async def shown_group(company: Any, group_id: int) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/buyer_groups/{group_id}")).json()["buyer_group"]
    return found


async def test_a_ringing_call_gets_its_buyer_and_the_next_one_what_the_offer_says_when_all_are_taken(company: Any) -> None:
    buyers, group_id = await offered(
        company,
        group={"concurrency_cap_limit": 1, "attempt_daily_limit": 2},
        no_buyer_action="message",
        no_buyer_message="All lines are busy.",
    )
    first = await report(company, 1)
    route = first["route"]
    assert (route["action"], route["buyer_group_id"], route["reason"]) == ("connect", group_id, None)
    assert route["buyer_id"] in buyers
    assert (route["buyer_number"], route["buyer_timeout_seconds"]) == (f"+1212555016{buyers.index(route['buyer_id'])}", 20)
    assert (first["call"]["buyer_id"], first["call"]["buyer_group_id"]) == (route["buyer_id"], group_id)

    busy = (await report(company, 2))["route"]
    assert (busy["action"], busy["message"], busy["reason"]) == ("message", "All lines are busy.", "concurrency_cap")

    await report(company, 1, "connected", buyer_id=route["buyer_id"])
    ended = await report(company, 1, "ended", talk_seconds=30)
    assert (ended["call"]["outcome"], "route" in ended) == ("connected_buyer", False)
    assert (await report(company, 3))["route"]["action"] == "connect"
    await report(company, 3, "ended", hung_up_by="caller")
    shown = await shown_group(company, group_id)
    assert (shown["attempt_daily_used"], shown["maxed_out"]) == (2, True)

    capped = (await report(company, 4))["route"]
    assert (capped["action"], capped["reason"]) == ("message", "buyer_cap")
    assert capped["until"] is not None


@pytest.mark.parametrize("said", ["anonymous", "Restricted", "sip:alice@example.com", "+266696687", ""])
async def test_a_caller_without_a_number_is_routed_under_the_caps_of_everybody(company: Any, said: str) -> None:
    buyers, group_id = await offered(company, group={"concurrency_cap_limit": 1, "attempt_daily_limit": 9})
    about = {"from": said, "call_ref": "withheld-1"}
    first = await report(company, 1, **about)
    assert (first["route"]["action"], first["route"]["buyer_id"] in buyers) == ("connect", True)
    shown = first["call"]
    assert (shown["caller_number"], shown["from_number"], shown["lead_id"]) == (None, said, None)
    assert (await report(company, 2))["route"]["reason"] == "concurrency_cap"

    await report(company, 1, "connected", buyer_id=first["route"]["buyer_id"], **about)
    ended = await report(company, 1, "ended", talk_seconds=30, **about)
    assert (ended["call"]["id"], ended["call"]["outcome"]) == (shown["id"], "connected_buyer")
    second = await report(company, 1, **about | {"call_ref": "withheld-2"})
    assert (second["route"]["action"], second["call"]["buyer_repeat_caller"]) == ("connect", False)
    assert (await shown_group(company, group_id))["attempt_daily_used"] == 2
    listed = (await company.send("GET", "/api/v1/calls")).json()["calls"]
    assert {shown["id"], second["call"]["id"]} <= {call["id"] for call in listed}


async def test_a_report_that_says_nothing_of_the_caller_is_refused(company: Any) -> None:
    answer = await company.send("POST", "/api/v1/calls/received", json={"to": OURS, "call_ref": "x", "state": "ringing"})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["from"])


async def test_a_buyer_who_does_not_answer_is_followed_by_the_other(company: Any) -> None:
    buyers, group_id = await offered(company, group={"attempt_daily_limit": 9, "connection_daily_limit": 9})
    first = (await report(company, 1))["route"]["buyer_id"]
    second = (await report(company, 1, unanswered_buyer_id=first))["route"]["buyer_id"]
    assert sorted([first, second]) == sorted(buyers)
    assert (await report(company, 1, unanswered_buyer_id=second))["route"]["action"] == "voicemail"
    await report(company, 1, "ended", hung_up_by="caller")
    shown = await shown_group(company, group_id)
    assert (shown["attempt_daily_used"], shown["connection_daily_used"]) == (2, 0)


async def test_nothing_is_reserved_for_a_gateway_that_chooses_the_buyer_itself(company: Any) -> None:
    _, group_id = await offered(company, group={"attempt_daily_limit": 2})
    assert "route" not in await report(company, 1, route=False)
    assert "route" not in await report(company, 1, "connected", route="false")
    assert (await shown_group(company, group_id))["attempt_daily_used"] == 0


async def test_a_call_to_an_offer_without_buyers_is_not_routed(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    assert (await report(company, 1))["route"] is None


async def test_a_person_who_finds_nobody_is_called_back_by_the_offers_buyers(company: Any) -> None:
    await offered(company, group={"paused": True}, no_buyer_action="callback", no_buyer_message="We call you.")
    answer = await report(company, 1)
    assert (answer["route"]["action"], answer["route"]["message"]) == ("callback", "We call you.")
    lead = (await company.send("GET", f"/api/v1/leads/{answer['call']['lead_id']}")).json()["lead"]
    assert lead["callback_at"] is not None


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"unanswered_buyer_id": 99}, "unanswered_buyer_id"), ({"route": "perhaps"}, "route")],
)
async def test_a_report_with_a_bad_route_is_refused_by_field(company: Any, fields: dict[str, Any], field: str) -> None:
    await offered(company)
    given = {"from": "+13055550101", "to": OURS, "call_ref": "pbx-1", "state": "ringing", **fields}
    answer = await company.send("POST", "/api/v1/calls/received", json=given)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"no_buyer_action": "sing"}, "no_buyer_action"), ({"no_buyer_message": "x" * 1_001}, "no_buyer_message")],
)
async def test_an_offer_takes_the_actions_that_there_are(company: Any, fields: dict[str, Any], field: str) -> None:
    answer = await company.send("POST", "/api/v1/offers", json={"name": "Solar", **fields})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field])


@pytest.mark.parametrize(
    ("group", "outcome", "cause", "action"),
    [({}, "connected_buyer", "normal clearing", "connect"), ({"paused": True}, "caller_hung_up", "voicemail", "voicemail")],
)
async def test_a_simulated_call_goes_where_its_route_says(  # noqa: PLR0917 - the call, and what comes of it
    town: Any, company: Any, group: dict[str, Any], outcome: str, cause: str, action: str
) -> None:
    await offered(company, group=group)

    async def pause(_: float) -> None:
        await asyncio.sleep(0)

    town.client.headers.update(company.headers)
    try:
        call = await play(town.client, "+13055550123", OURS, rings=4, talks=20, pause=pause)
    finally:
        for name in company.headers:
            del town.client.headers[name]
    assert (call["outcome"], call["hangup_cause"], call["route"]["action"]) == (outcome, cause, action)


async def test_a_gateway_that_rings_several_gets_their_legs_and_says_who_has_the_call(company: Any) -> None:
    caps = {"attempt_daily_limit": 9, "connection_daily_limit": 9, "concurrency_cap_limit": 1}
    buyers, group_id = await offered(company, group={"dial_buyers_type": "simultaneously", **caps})
    one = (await report(company, 1))["route"]
    assert (one["buyer_id"] in buyers, one["buyer_legs"]) == (True, [])
    await report(company, 1, "ended", hung_up_by="caller")

    several = (await report(company, 2, rings_several=True))["route"]
    assert [leg["buyer_id"] for leg in several["buyer_legs"]] == buyers
    assert [leg["number"] for leg in several["buyer_legs"]] == ["+12125550160", "+12125550161"]
    assert (several["action"], several["buyer_id"], several["buyer_number"]) == ("connect", None, None)

    await report(company, 2, "connected", buyer_id=buyers[1])
    ended = (await report(company, 2, "ended", talk_seconds=30))["call"]
    assert (ended["buyer_id"], ended["buyer_group_id"], ended["outcome"]) == (buyers[1], group_id, "connected_buyer")
    shown = await shown_group(company, group_id)
    assert (shown["attempt_daily_used"], shown["connection_daily_used"]) == (2, 1)
    assert (await report(company, 3, rings_several=True))["route"]["action"] == "connect", "its line is free again"
