"""Does what a vendor reports become an outcome, once, of the right company, and is nothing else believed?"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs

from adapters.gateway.addresses import networks
from adapters.gateway.ports import NotPlacedError
from adapters.providers.provider_http import GuardedProviderHttp
from tests.adapters.http.carrier import NUMBER, PUBLIC, Carrier, carried, seen_in_time
from tests.adapters.http.conftest import Town
from tests.adapters.providers.fake_twilio import ACCOUNT, read_twiml

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: a gateway of this file carries out the commands of all companies."""
    return own_town


@pytest_asyncio.fixture(loop_scope="session")
async def carrier(town: Any, company: Any) -> AsyncIterator[Carrier]:
    async with carried(town, company) as found:
        yield found


async def test_a_call_is_placed_answered_and_put_through_and_its_outcome_is_reported(carrier: Carrier) -> None:
    command, call = await carrier.place()
    sid = call["sid"]

    await carrier.twilio.status(sid, "ringing")
    answered = await carrier.twilio.report(
        call["url"], {"CallSid": sid, "CallStatus": "in-progress", "AnsweredBy": "human", "Direction": "outbound-api"}
    )
    action = answered.text.partition('action="')[2].partition('"')[0].replace("&amp;", "&")
    ended = await carrier.twilio.report(action, {"CallSid": sid, "DialCallStatus": "completed", "DialCallDuration": "42"})
    completed = await carrier.twilio.status(sid, "completed", CallDuration="50")

    assert "+12125550177" in answered.text
    assert (answered.headers["content-type"], ended.status_code, completed.status_code) == ("text/xml", 200, 200)
    found = await carrier.call(command, outcome="connected_buyer")
    assert (found["provider"], found["provider_sid"], found["talk_duration"]) == ("twilio", sid, 42)
    assert [one.state for one in carrier.reported] == ["initiated"]
    assert (await carrier.orders.find(carrier.company.id, command.command_id)).has_ended  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("status", "more", "outcome"),
    [
        ("busy", {}, "busy"),
        ("no-answer", {}, "no_answer"),
        ("failed", {"SipResponseCode": "404"}, "invalid_number"),
        ("failed", {"SipResponseCode": "503"}, "congestion"),
        ("failed", {"SipResponseCode": "603"}, "declined"),
        ("canceled", {}, "canceled"),
        ("completed", {"AnsweredBy": "machine_start", "CallDuration": "4"}, "voicemail"),
        ("completed", {}, "caller_hung_up"),
    ],
)
async def test_each_end_of_a_call_is_an_outcome(carrier: Carrier, status: str, more: dict[str, str], outcome: str) -> None:
    command, call = await carrier.place()

    await carrier.twilio.status(call["sid"], status, **more)

    await carrier.call(command, outcome=outcome)


@pytest.mark.parametrize(("said", "hears"), [("machine_end_beep", True), ("machine_end_silence", True), ("fax", False)])
async def test_a_machine_is_left_a_message_at_the_end_of_its_greeting(carrier: Carrier, said: str, hears: bool) -> None:
    await carrier.configure()
    words = "We will call again tomorrow."
    command = await carrier.command("call", machine="voicemail_drop", voicemail_message=words)
    await carrier.providers("call").place(command, carrier.report)
    call = list(carrier.twilio.calls.values())[-1]

    form = {"CallSid": call["sid"], "CallStatus": "in-progress", "AnsweredBy": said}
    answer = (await carrier.twilio.report(call["url"], form)).text
    await carrier.twilio.status(call["sid"], "completed", CallDuration="21", AnsweredBy=said)

    assert call["machine_detection"] == "DetectMessageEnd"
    assert (f"<Say>{words}</Say>" in answer) is hears
    assert "<Hangup" in answer
    assert "<Dial" not in answer
    shown = await carrier.call(command, outcome="voicemail")
    assert (shown["answered_by"], shown["talk_duration"]) == ("machine", 21)
    assert ("was left a message" in shown["detail"]) is hears


async def test_a_person_is_connected_where_machines_are_left_a_message(carrier: Carrier) -> None:
    await carrier.configure()
    command = await carrier.command("call", machine="voicemail_drop", voicemail_message="Hello")
    await carrier.providers("call").place(command, carrier.report)
    call = list(carrier.twilio.calls.values())[-1]

    form = {"CallSid": call["sid"], "CallStatus": "in-progress", "AnsweredBy": "human"}
    answer = (await carrier.twilio.report(call["url"], form)).text

    assert "<Dial" in answer
    assert "<Say" not in answer


async def test_an_answering_machine_is_hung_up_on(carrier: Carrier) -> None:
    _, call = await carrier.place()

    answered = await carrier.twilio.report(
        call["url"], {"CallSid": call["sid"], "CallStatus": "in-progress", "AnsweredBy": "machine_start"}
    )

    assert "<Hangup" in answered.text
    assert "<Dial" not in answered.text


async def test_a_forged_callback_is_refused_and_changes_nothing(carrier: Carrier) -> None:
    command, call = await carrier.place()
    form = {"CallSid": call["sid"], "CallStatus": "busy"}

    wrong = await carrier.twilio.report(call["status_callback"], form, token="another account's token")
    none = await carrier.twilio.report(call["status_callback"], form, signature="")
    signed_for_the_host = await carrier.twilio.report(call["status_callback"].replace(PUBLIC, "http://10.0.0.7:8080"), form)

    assert [wrong.status_code, none.status_code, signed_for_the_host.status_code] == [403, 403, 403]
    assert (await carrier.orders.find(carrier.company.id, command.command_id)).facts == {}  # type: ignore[union-attr]


async def test_a_made_up_token_or_provider_is_not_found(carrier: Carrier) -> None:
    _, call = await carrier.place()
    url, form = call["status_callback"], {"CallSid": call["sid"], "CallStatus": "busy"}

    for changed in (url.replace("/twilio/", "/other/"), url.replace("/callback/", "/callback/9"), url.replace("-", "-0", 1)):
        assert (await carrier.twilio.report(changed, form)).status_code == 404


async def test_an_order_of_another_company_or_configuration_is_not_found(carrier: Carrier, town: Any, other: Any) -> None:
    command, _ = await carrier.place()
    second = await carrier.configure("sms")
    foreign = Carrier(town, other, carrier.twilio, GuardedProviderHttp(allowed=networks(["127.0.0.1"])))
    theirs = await foreign.configure()

    for url in (second["callback_url"], theirs["callback_url"]):
        answer = await carrier.twilio.report(
            f"{url}?command_id={command.command_id}&event=status", {"CallSid": "CA1", "CallStatus": "busy"}
        )
        assert answer.status_code == 404
    assert (await carrier.orders.find(carrier.company.id, command.command_id)).facts == {}  # type: ignore[union-attr]


async def test_a_callback_that_comes_twice_is_one_outcome(carrier: Carrier) -> None:
    command, call = await carrier.place()

    for _ in range(3):
        assert (await carrier.twilio.status(call["sid"], "busy")).status_code == 200

    await carrier.call(command, outcome="busy")
    events = (await carrier.company.send("GET", f"/api/v1/calls/{command.call_id}/events")).text
    assert events.count('"call.ended"') <= 1


async def test_callbacks_out_of_order_end_in_the_same_outcome(carrier: Carrier) -> None:
    command, call = await carrier.place()
    sid = call["sid"]

    await carrier.twilio.report(call["url"], {"CallSid": sid, "CallStatus": "in-progress", "AnsweredBy": "human"})
    dialled = call["url"].replace("event=answer", "event=dial")
    await carrier.twilio.status(sid, "completed", CallDuration="50")
    early = await carrier.orders.find(carrier.company.id, command.command_id)
    await carrier.twilio.report(dialled, {"CallSid": sid, "DialCallStatus": "completed", "DialCallDuration": "42"})
    await carrier.twilio.status(sid, "ringing")

    assert early is not None
    assert not early.has_ended  # it waits for the report about the buyer's leg
    await carrier.call(command, outcome="connected_buyer")


async def test_a_callback_before_the_answer_to_the_order_finds_it(carrier: Carrier) -> None:
    await carrier.configure()
    command = await carrier.command("call")
    answers = []

    async def busy(call: dict[str, Any]) -> None:
        answers.append(await carrier.twilio.status(call["sid"], "busy"))

    carrier.twilio.before_answer = busy
    await carrier.providers("call").place(command, carrier.report)

    assert [answer.status_code for answer in answers] == [200]
    await carrier.call(command, outcome="busy")


async def test_a_late_callback_corrects_an_unknown_outcome(carrier: Carrier) -> None:
    await carrier.configure()
    command = await carrier.command("call")
    carrier.twilio.loses, carrier.twilio.fails = 0, 0

    async def lose(_: dict[str, Any]) -> None:
        carrier.twilio.loses, carrier.twilio.fails = 1, 2

    carrier.twilio.before_answer = lose
    result = await carrier.providers("call").place(command, carrier.report)
    carrier.twilio.before_answer = None
    call = next(iter(carrier.twilio.calls.values()))
    await carrier.twilio.status(call["sid"], "no-answer")

    assert result is not None
    assert result.outcome == "unknown"
    await carrier.call(command, outcome="no_answer")


async def test_a_receipt_ends_the_wait_for_a_text(carrier: Carrier) -> None:
    await carrier.configure("sms")
    command = await carrier.command("sms")
    assert await carrier.providers("sms").send(command) is None
    text = next(iter(carrier.twilio.messages.values()))

    await carrier.twilio.receipt(text["sid"], "sent")
    waiting = await carrier.orders.find(carrier.company.id, command.command_id)
    await carrier.twilio.receipt(text["sid"], "delivered")

    assert text["body"] == "Hello"
    assert waiting is not None
    assert not waiting.has_ended
    order = await carrier.orders.find(carrier.company.id, command.command_id)
    assert order is not None
    assert order.result is not None
    assert order.result.outcome == "delivered"


@pytest.mark.parametrize(
    ("status", "error", "outcome"),
    [("undelivered", "30005", "invalid_number"), ("undelivered", "21610", "opted_out"), ("failed", "", "failed")],
)
async def test_a_failed_receipt_says_why(carrier: Carrier, status: str, error: str, outcome: str) -> None:
    await carrier.configure("sms")
    command = await carrier.command("sms")
    await carrier.providers("sms").send(command)

    await carrier.twilio.receipt(next(iter(carrier.twilio.messages)), status, ErrorCode=error)

    order = await carrier.orders.find(carrier.company.id, command.command_id)
    assert order is not None
    assert order.result is not None
    assert order.result.outcome == outcome
    if outcome == "opted_out":
        await carrier.lead(opt_out=True)


async def test_a_text_of_a_person_opts_out_once(carrier: Carrier) -> None:
    made = await carrier.configure("sms")
    command = await carrier.command("sms")
    form = {"MessageSid": "SM1", "From": command.to, "To": NUMBER, "Body": "STOP", "AccountSid": ACCOUNT}

    first = await carrier.twilio.report(made["callback_url"], form)
    second = await carrier.twilio.report(made["callback_url"], form)

    assert (first.status_code, second.status_code) == (200, 200)
    await carrier.lead(opt_out=True)


async def test_a_stop_to_a_number_that_the_company_has_not_entered_opts_out(carrier: Carrier) -> None:
    made = await carrier.configure("sms")
    command = await carrier.command("sms")

    answer = await carrier.twilio.report(
        made["callback_url"], {"MessageSid": "SM2", "From": command.to, "To": "+12125550100", "Body": "STOP"}
    )

    assert answer.status_code == 200
    await carrier.lead(opt_out=True)


async def test_a_deleted_configuration_takes_reports_of_its_orders_and_texts_and_no_calls(carrier: Carrier) -> None:
    command, call = await carrier.place()
    made = (await carrier.configurations())[0]
    path = f"/api/v1/provider_configurations/{made['id']}"
    assert (await carrier.company.send("DELETE", path)).status_code == 200

    callback_url = call["status_callback"].partition("?")[0]
    text = {"MessageSid": "SM9", "From": command.to, "To": NUMBER, "Body": "STOP"}
    stop = await carrier.twilio.report(callback_url, text)
    await carrier.lead(opt_out=True)
    rings = await carrier.twilio.report(callback_url, inbound("CAin9", NUMBER))
    ended = await carrier.twilio.status(call["sid"], "busy")

    assert (stop.status_code, rings.status_code, ended.status_code) == (200, 404, 200)
    await carrier.call(command, outcome="busy")


async def test_a_deleted_configuration_is_asked_about_its_orders_and_given_no_more(carrier: Carrier) -> None:
    command, call = await carrier.place()
    made = (await carrier.configurations())[0]
    await carrier.company.send("DELETE", f"/api/v1/provider_configurations/{made['id']}")
    call["status"] = "busy"

    resumed = await carrier.providers("call").resume(command)
    with pytest.raises(NotPlacedError, match="no provider configuration"):
        await carrier.providers("call").place(structs.replace(command, command_id=f"{command.command_id}/2"), carrier.report)

    assert resumed is not None
    assert (resumed.outcome, len(carrier.twilio.calls)) == ("busy", 1)


async def test_a_text_from_no_telephone_number_is_confirmed_and_ignored(carrier: Carrier) -> None:
    made = await carrier.configure("sms")
    await carrier.command("sms")

    answer = await carrier.twilio.report(
        made["callback_url"], {"MessageSid": "SM3", "From": "32665", "To": NUMBER, "Body": "STOP"}
    )

    assert answer.status_code == 200
    assert (await carrier.lead())["opt_out"] is False


async def test_nothing_is_confirmed_that_was_not_appended(carrier: Carrier, town: Any) -> None:
    command, call = await carrier.place()

    town.outage.topics = {"contacts.requests"}
    try:
        failed = await carrier.twilio.status(call["sid"], "busy")
    finally:
        town.outage.topics = set()
    again = await carrier.twilio.status(call["sid"], "busy")

    assert (failed.status_code, again.status_code) == (503, 200)
    await carrier.call(command, outcome="busy")


def inbound(sid: str, number: str) -> dict[str, str]:
    """What Twilio says about a call of a person."""
    about = {"CallSid": sid, "CallStatus": "ringing", "Direction": "inbound"}
    return {**about, "From": "+13055550123", "To": number}


async def asked(carrier: Carrier, url: str, form: dict[str, str]) -> str:
    """Return what Twilio is to do with a call, once it is decided."""
    said: str = (await carrier.twilio.report(url, form)).text
    for _ in range(5):
        if "<Redirect" not in said:
            break
        await asyncio.sleep(1)  # as Twilio does: after five the caller gets the alternative
        again = said.partition("<Redirect")[2].partition(">")[2].partition("<")[0].replace("&amp;", "&")
        said = (await carrier.twilio.report(again, form)).text
    return said


@pytest.mark.parametrize(("person", "shown"), [("+13055550123", "+13055550123"), ("+266696687", "+12125550188")])
async def test_an_inbound_call_asks_for_its_route_and_is_put_through(carrier: Carrier, person: str, shown: str) -> None:
    buyer = await carrier.company.record("buyers", {"name": "B", "number": "+12125550155"})
    offer = await carrier.company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    url = (await carrier.configure())["callback_url"]
    form = {
        "CallSid": "CAin1",
        "CallStatus": "ringing",
        "Direction": "inbound",
        "From": person,
        "To": "+12125550188",
    }

    said = await asked(carrier, url, form)
    leg = said.partition('statusCallback="')[2].partition('"')[0].replace("&amp;", "&")
    action = said.partition('action="')[2].partition('"')[0].replace("&amp;", "&")
    child = {
        "CallSid": "CAleg",
        "ParentCallSid": "CAin1",
        "CallStatus": "in-progress",
        "From": shown,
        "To": "+12125550155",
    }
    connected = await carrier.twilio.report(leg, child)
    refused = await carrier.press((await carrier.inbound("CAin1"))["id"], "1")
    ended = await carrier.twilio.report(action, {**form, "DialCallStatus": "completed", "DialCallDuration": "30"})
    await carrier.twilio.report(url, {**form, "CallStatus": "completed", "CallDuration": "35"})

    assert ">+12125550155<" in said
    assert f'callerId="{shown}"' in said
    assert (connected.status_code, ended.status_code) == (200, 200)
    assert (refused.status_code, refused.json()["code"]) == (422, "not_supported")
    assert "twilio" in refused.json()["detail"]
    call = await carrier.inbound("CAin1", outcome="connected_buyer")
    assert (call["buyer_id"], call["talk_duration"], call["provider"]) == (buyer["id"], 30, "twilio")
    assert (call["from_number"], call["caller_number"]) == (person, person if person == shown else None)


async def test_an_inbound_call_rings_several_buyers_at_twilio_and_is_the_winners(carrier: Carrier) -> None:
    numbers = ["+12125550155", "+12125550156", "+12125550157"]
    buyers = [
        (await carrier.company.record("buyers", {"name": "B", "number": one, "dtmf_tones": "1"}))["id"] for one in numbers
    ]
    fields = {"name": "G", "buyer_ids": buyers, "dial_buyers_type": "simultaneously", "connection_daily_limit": 9}
    group = await carrier.company.record("buyer_groups", fields)
    offer = await carrier.company.record("offers", {"name": "O", "buyer_group_ids": [group["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    url = (await carrier.configure())["callback_url"]
    form = inbound("CAseveral", "+12125550188")

    dial = read_twiml(await asked(carrier, url, form)).find("Dial")
    assert dial is not None
    legs = {leg.text: leg.attrib for leg in dial}
    assert [*legs] == numbers
    assert {leg["sendDigits"] for leg in legs.values()} == {"1"}
    child = {"CallSid": "CAleg", "ParentCallSid": "CAseveral", "CallStatus": "in-progress", "From": form["From"]}
    for number in numbers[1:]:  # the second answers; what comes late of the third changes nothing
        answered = await carrier.twilio.report(legs[number]["statusCallback"], {**child, "To": number})
        assert answered.status_code == 200
    await carrier.twilio.report(dial.attrib["action"], {**form, "DialCallStatus": "completed", "DialCallDuration": "30"})

    call = await carrier.inbound("CAseveral", outcome="connected_buyer")
    assert (call["buyer_id"], call["buyer_group_id"], call["talk_duration"]) == (buyers[1], group["id"], 30)

    async def used() -> int:
        shown = (await carrier.company.send("GET", f"/api/v1/buyer_groups/{group['id']}")).json()["buyer_group"]
        return int(shown["connection_daily_used"])

    assert await seen_in_time(used, lambda count: count == 1) == 1


@pytest.mark.parametrize(("count", "connections"), [(1, [1]), (3, [1, 1, 1])])
async def test_a_call_whose_report_of_the_answer_was_lost_counts_a_connection_of_those_who_may_have_it(
    carrier: Carrier, count: int, connections: list[int]
) -> None:
    buyers = [
        (
            await carrier.company.record(
                "buyers", {"name": "B", "number": f"+1212555015{number}", "connection_daily_limit": 9}
            )
        )["id"]
        for number in range(count)
    ]
    group = await carrier.company.record(
        "buyer_groups", {"name": "G", "buyer_ids": buyers, "dial_buyers_type": "simultaneously"}
    )
    offer = await carrier.company.record("offers", {"name": "O", "buyer_group_ids": [group["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    url = (await carrier.configure())["callback_url"]
    form = inbound(f"CAlost{count}", "+12125550188")
    dial = read_twiml(await asked(carrier, url, form)).find("Dial")
    assert dial is not None
    assert len(dial) == count

    await carrier.twilio.report(dial.attrib["action"], {**form, "DialCallStatus": "completed", "DialCallDuration": "30"})

    call = await carrier.inbound(f"CAlost{count}", outcome="connected_buyer")
    assert (call["buyer_id"], call["talk_duration"]) == (buyers[0] if count == 1 else None, 30)

    async def used() -> list[int]:
        shown = [(await carrier.company.send("GET", f"/api/v1/buyers/{one}")).json()["buyer"] for one in buyers]
        return [int(one["connection_daily_used"]) for one in shown]

    assert await seen_in_time(used, lambda found: found == connections) == connections


async def test_an_inbound_call_that_none_of_several_buyers_answers_goes_on(carrier: Carrier) -> None:
    numbers = ["+12125550155", "+12125550156"]
    buyers = [(await carrier.company.record("buyers", {"name": "B", "number": one}))["id"] for one in numbers]
    group = await carrier.company.record(
        "buyer_groups", {"name": "G", "buyer_ids": buyers, "dial_buyers_type": "simultaneously"}
    )
    offer = await carrier.company.record("offers", {"name": "O", "buyer_group_ids": [group["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    url = (await carrier.configure())["callback_url"]
    form = inbound("CAnone", "+12125550188")
    dial = read_twiml(await asked(carrier, url, form)).find("Dial")
    assert dial is not None
    assert [leg.text for leg in dial] == numbers

    said = await asked(carrier, dial.attrib["action"], {**form, "DialCallStatus": "no-answer"})

    assert read_twiml(said).find("Record") is not None, said


async def test_an_inbound_call_to_a_number_of_nobody_is_rejected(carrier: Carrier) -> None:
    url = (await carrier.configure())["callback_url"]
    form = {
        "CallSid": "CAin2",
        "CallStatus": "ringing",
        "Direction": "inbound",
        "From": "+13055550123",
        "To": "+12125550100",
    }

    assert "<Reject" in (await carrier.twilio.report(url, form)).text


async def test_of_several_buyers_the_one_that_answers_is_the_calls(carrier: Carrier) -> None:
    buyers = [
        await carrier.company.record("buyers", {"name": name, "number": f"+1212555016{place}"})
        for place, name in enumerate("AB")
    ]
    ids = [buyer["id"] for buyer in buyers]
    group = await carrier.company.record(
        "buyer_groups", {"name": "G", "buyer_ids": ids, "dial_buyers_type": "simultaneously"}
    )
    await carrier.configure()
    command = await carrier.command("call", connect={"buyer_group_id": group["id"]})
    await carrier.providers("call").place(command, carrier.report)
    call = next(iter(carrier.twilio.calls.values()))
    answer = {"CallSid": call["sid"], "CallStatus": "in-progress", "AnsweredBy": "human"}

    said = (await carrier.twilio.report(call["url"], answer)).text
    legs = [part.partition('"')[0].replace("&amp;", "&") for part in said.split('statusCallback="')[1:]]
    second = next(leg for leg in legs if f"buyer_id={ids[1]}" in leg)
    await carrier.twilio.report(second, {"CallSid": "CAleg", "ParentCallSid": call["sid"], "CallStatus": "in-progress"})
    action = said.partition('action="')[2].partition('"')[0].replace("&amp;", "&")
    await carrier.twilio.report(action, {"CallSid": call["sid"], "DialCallStatus": "completed", "DialCallDuration": "9"})
    await carrier.twilio.status(call["sid"], "completed")

    assert len(legs) == 2
    assert (await carrier.call(command, outcome="connected_buyer"))["buyer_id"] == ids[1]
