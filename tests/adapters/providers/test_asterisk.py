"""Does the provider `asterisk` keep the promises of every provider, and its own?"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs

from adapters.clock import wall_now
from adapters.gateway.ports import NotPlacedError
from adapters.providers.asterisk import PROVIDER
from adapters.providers.asterisk.events import AriChannel, AriEvent, AriNamed, callback_of, event_key
from adapters.providers.asterisk.legs import InboundThing, OrderLeg, read_name
from adapters.providers.asterisk.listening import silent_leads
from adapters.providers.asterisk.outcomes import UNANSWERED
from adapters.providers.ports import (
    Callback,
    EventSource,
    ForgedCallbackError,
    HttpAnswer,
    InboundRoute,
    Order,
    Placed,
    Provider,
    ProviderFailedError,
    RefusedOrderError,
)
from adapters.providers.registry import settings_faults
from adapters.providers.testing import CALLBACK_URL, ProviderContract, ScriptedHttp, call_command, sms_command
from schemas.commands import BuyerLeg, PlaceCall
from schemas.instant import MINUTE
from schemas.outcomes import OUTCOMES
from tests.adapters.providers.asterisk_office import Office, connect, local_http, until
from tests.adapters.providers.fake_asterisk import PASSWORD, FakeAsterisk, now
from tests.adapters.providers.mail_host import certified, trusting

LEAD, BUYER, TALK = "lc.c1", "lc.c1.b0", "lct.c1"
SETTINGS: Mapping[str, Any] = {
    "url": "http://127.0.0.1:8088", "user": "leadclock", "endpoint": "PJSIP/{number}@carrier", "detects_machines": True,
}  # fmt: skip


def event(kind: str, channel: str = LEAD, *, turn: int = 1, state: str = "Up", key: str = PASSWORD, **more: Any) -> Callback:
    """An event as it is handed to the API."""
    about = AriEvent(type=kind, timestamp=now(), channel=AriChannel(id=channel, state=state), **more)
    return callback_of(about, turn, key=event_key(key), url=CALLBACK_URL)


class TestContract(ProviderContract):
    name = "asterisk"
    settings: Mapping[str, Any] = SETTINGS
    secrets: Mapping[str, str] = {"password": PASSWORD}

    def provider(self) -> Provider:
        return PROVIDER

    def placed(self) -> HttpAnswer:
        return HttpAnswer(200, json.dumps({"id": LEAD, "state": "Down"}).encode())

    def refused(self) -> HttpAnswer:
        return HttpAnswer(400, json.dumps({"message": "Invalid endpoint specified"}).encode())

    def callbacks(self) -> Sequence[tuple[Callback, str]]:
        return (
            (event("ChannelStateChange", state="Ringing"), ""),
            (event("StasisStart", args=("lead",)), ""),
            (event("StasisStart", BUYER, turn=2, args=("buyer",)), ""),
            (event("ChannelEnteredBridge", BUYER, turn=3, bridge=AriNamed(id=TALK)), ""),
            (event("ChannelDestroyed", cause=16), "connected_buyer"),
        )


@pytest_asyncio.fixture
async def asterisk() -> AsyncIterator[FakeAsterisk]:
    async with FakeAsterisk() as fake:
        yield fake


@pytest_asyncio.fixture
async def office(asterisk: FakeAsterisk) -> AsyncIterator[Office]:
    async with local_http() as http, opened(asterisk, http) as found:
        yield found


def opened(asterisk: FakeAsterisk, http: Any, **settings: Any) -> Any:
    return Office(connect(asterisk.url, http, password=PASSWORD, **settings)).open()


async def heard(asterisk: FakeAsterisk, times: int = 1) -> None:
    await until(lambda: asterisk.listeners >= times, what="a listener")


async def called(asterisk: FakeAsterisk, office: Office, **fields: Any) -> PlaceCall:
    """An order whose lead's leg is answered."""
    await heard(asterisk)
    command = call_command(**{"machine": "continue", **fields})
    lead = await office.place(command)
    asterisk.rings(lead)
    asterisk.answers(lead)
    return command


async def test_a_call_is_placed_answered_and_put_through_and_ends_with_the_talk(
    asterisk: FakeAsterisk, office: Office
) -> None:
    command = await called(asterisk, office, buyer_dtmf_tones="12w#")
    await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
    asterisk.answers(BUYER)
    await until(lambda: asterisk.bridges.get(TALK) == [LEAD, BUYER], what="the bridge")
    await until(lambda: asterisk.tones == [(BUYER, "12w#")], what="the tones")

    assert await office.connection.press(LEAD, "5#")
    asterisk.ends(BUYER)
    result = await office.outcome(command)

    assert (result.outcome, result.hung_up_by, result.answered_by) == ("connected_buyer", "buyer", "unknown")
    assert result.ringing_at is not None
    assert result.buyer_answered_at is not None
    assert asterisk.tones[-1] == (LEAD, "5#")
    assert [one["endpoint"] for one in asterisk.originated] == ["PJSIP/+12125550101@carrier", "PJSIP/+12125550177@carrier"]
    assert asterisk.originated[0]["callerId"] == "+12125550199"
    assert {report.state for report in office.reports} >= {"ringing", "established"}
    await until(lambda: not asterisk.channels and not asterisk.bridges, what="an end of every leg")


async def test_an_extension_is_pressed_once_the_switchboard_answers(asterisk: FakeAsterisk, office: Office) -> None:
    await called(asterisk, office, to_dtmf_tones="ww123")

    await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
    assert asterisk.tones == [(LEAD, "ww123")]


async def test_of_three_buyers_at_once_the_first_that_answers_is_connected_and_the_others_end(
    asterisk: FakeAsterisk, office: Office
) -> None:
    legs = tuple(BuyerLeg(buyer_id=number, number=f"+1212555017{number}", dtmf_tones=f"{number}") for number in (7, 8, 9))
    command = await called(asterisk, office, buyer_legs=legs)
    await until(lambda: len(asterisk.channels) == 4, what="three legs")

    asterisk.answers("lc.c1.b9")
    asterisk.answers("lc.c1.b7")
    await until(lambda: asterisk.bridges.get(TALK) == [LEAD, "lc.c1.b9"], what="the bridge")
    await until(lambda: set(asterisk.channels) == {LEAD, "lc.c1.b9"}, what="the end of the others")
    asterisk.ends(LEAD)
    result = await office.outcome(command)

    assert (result.outcome, result.buyer_id, result.hung_up_by) == ("connected_buyer", 9, "caller")
    assert [report.buyer_id for report in office.reports if report.buyer_id is not None] == [9]
    assert asterisk.tones == [("lc.c1.b9", "9")]
    await until(lambda: not asterisk.channels, what="the end of the buyer's leg")


async def test_a_lead_whose_buyers_do_not_answer_is_hung_up_on(asterisk: FakeAsterisk, office: Office) -> None:
    legs = tuple(BuyerLeg(buyer_id=number, number=f"+1212555017{number}") for number in (7, 8))
    command = await called(asterisk, office, buyer_legs=legs)
    await until(lambda: len(asterisk.channels) == 3, what="two legs")

    asterisk.ends("lc.c1.b7", 17)
    asterisk.times_out("lc.c1.b8")
    result = await office.outcome(command)

    assert (result.outcome, result.hung_up_by) == ("abandoned_by_us", "us")
    assert result.detail == "Asterisk: cause 16, the telephone of buyer 7: 17, the telephone of buyer 8: 19"


async def test_a_lead_whose_buyer_cannot_be_dialled_is_hung_up_on(asterisk: FakeAsterisk) -> None:
    async with local_http() as http, opened(asterisk, http, sip_endpoint="PJSIP/unknown/{uri}") as office:
        command = await called(asterisk, office, buyer_id=4)
        office.orders["c1"] = structs.replace(
            office.orders["c1"], command=structs.replace(command, buyer_number="sip:a@b.c")
        )
        result = await office.outcome(command)
    assert result.outcome == "abandoned_by_us"


async def test_a_person_who_hangs_up_ends_the_legs_that_ring(asterisk: FakeAsterisk, office: Office) -> None:
    command = await called(asterisk, office)
    await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")

    asterisk.ends(LEAD)

    assert (await office.outcome(command)).outcome == "caller_hung_up"
    await until(lambda: not asterisk.channels, what="the end of the buyer's leg")


@pytest.mark.parametrize(
    ("said", "outcome"), [("MACHINE", "voicemail"), ("HUMAN", "caller_hung_up"), ("NOTSURE", "caller_hung_up")]
)
async def test_a_machine_is_hung_up_on_and_a_person_is_connected(
    asterisk: FakeAsterisk, office: Office, said: str, outcome: str
) -> None:
    command = await called(asterisk, office, machine="hangup")
    await until(lambda: not asterisk.channels[LEAD]["stasis"], what="the detection")
    assert BUYER not in asterisk.channels

    asterisk.enters(LEAD, "machine", said)
    if said != "MACHINE":
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
        asterisk.ends(LEAD)

    assert (await office.outcome(command)).outcome == outcome


DROPS: dict[str, Any] = {"drop_sound": "sound:leadclock/message"}
DROP: dict[str, Any] = {"machine": "voicemail_drop", "voicemail_message": "We call again."}


@pytest.mark.parametrize(("state", "was_left"), [("done", True), ("failed", False)])
async def test_a_machine_hears_the_sound_of_the_account_once_its_greeting_is_over(
    asterisk: FakeAsterisk, state: str, *, was_left: bool
) -> None:
    async with local_http() as http, opened(asterisk, http, **DROPS) as office:
        command = await called(asterisk, office, **DROP)
        await until(lambda: asterisk.channels[LEAD].get("extension") == "machine", what="the detection")
        asterisk.enters(LEAD, "machine", "MACHINE")
        await until(lambda: asterisk.channels[LEAD]["extension"] == "greeting", what="the greeting")
        assert asterisk._plays == {}
        asterisk.enters(LEAD, "greeting")
        await until(lambda: asterisk._plays == {LEAD: f"channel:{LEAD}"}, what="the sound")
        asterisk.played(LEAD, state)
        result = await office.outcome(command)

    assert (result.outcome, result.hung_up_by) == ("voicemail", "us")
    assert ("was left the sound" in (result.detail or "")) is was_left


async def test_a_person_is_connected_where_machines_hear_a_sound(asterisk: FakeAsterisk) -> None:
    async with local_http() as http, opened(asterisk, http, **DROPS) as office:
        await called(asterisk, office, **DROP)
        await until(lambda: not asterisk.channels[LEAD]["stasis"], what="the detection")
        asterisk.enters(LEAD, "machine", "HUMAN")
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")

    assert asterisk._plays == {}


@pytest.mark.parametrize("cause", [*UNANSWERED, 34, 38, 127])
async def test_each_cause_of_an_unanswered_call_is_an_outcome(asterisk: FakeAsterisk, office: Office, cause: int) -> None:
    await heard(asterisk)
    command = call_command()
    asterisk.ends(await office.place(command), cause, sip=480)

    result = await office.outcome(command)

    assert result.outcome == UNANSWERED.get(cause, "congestion")
    assert result.outcome in OUTCOMES["call"]
    assert result.hangup_cause == f"{cause} 480"


async def test_a_call_that_rings_is_ended_by_hand(asterisk: FakeAsterisk, office: Office) -> None:
    await heard(asterisk)
    command = call_command()
    lead = await office.place(command)

    assert await office.connection.hang_up(lead)
    assert (await office.outcome(command)).outcome == "canceled"
    assert not await office.connection.hang_up(lead)
    assert not await office.connection.press(lead, "1")


async def test_a_call_is_canceled_only_before_it_is_answered(asterisk: FakeAsterisk, office: Office) -> None:
    await heard(asterisk)
    command = call_command()
    lead = await office.place(command)
    asterisk.rings(lead)
    assert await office.connection.cancel(lead)
    assert (await office.outcome(command)).outcome == "canceled"
    assert not await office.connection.cancel(lead)

    other = await office.place(call_command(command_id="command-2"))
    asterisk.answers(other)
    assert not await office.connection.cancel(other)
    assert other in asterisk.channels


WHISPERED = {"whisper_sound": "sound:leadclock/whisper"}


async def test_a_buyer_hears_the_sound_of_the_account_before_they_are_connected(asterisk: FakeAsterisk) -> None:
    legs = tuple(BuyerLeg(buyer_id=number, number=f"+1212555017{number}") for number in (1, 2))
    async with local_http() as http, opened(asterisk, http, **WHISPERED) as office:
        command = await called(asterisk, office, whisper="Ann", buyer_legs=legs)
        first, second = f"{LEAD}.b1", f"{LEAD}.b2"
        await until(lambda: {first, second} <= set(asterisk.channels), what="the buyers' legs")
        asterisk.answers(first)
        await until(lambda: first in asterisk._plays, what="the sound")
        assert second not in asterisk.channels, "nobody else is rung while it is heard"
        assert asterisk.bridges == {}
        asterisk.enters(first, "buyer")  # an event may come twice

        asterisk.played(first)
        await until(lambda: asterisk.bridges.get(TALK) == [LEAD, first], what="the bridge")
        asterisk.ends(first)
        result = await office.outcome(command)

    assert (result.outcome, result.buyer_id) == ("connected_buyer", 1)
    assert "the sound of the account was played for the whisper" in (result.detail or "")


async def test_a_person_whose_buyer_goes_during_the_sound_is_hung_up_on(asterisk: FakeAsterisk) -> None:
    async with local_http() as http, opened(asterisk, http, **WHISPERED) as office:
        command = await called(asterisk, office, whisper="Ann")
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
        asterisk.answers(BUYER)
        await until(lambda: BUYER in asterisk._plays, what="the sound")
        asterisk.ends(BUYER)

        assert (await office.outcome(command)).outcome == "abandoned_by_us"


async def test_the_sound_is_for_steps_with_a_whisper(asterisk: FakeAsterisk) -> None:
    async with local_http() as http, opened(asterisk, http, **WHISPERED) as office:
        await called(asterisk, office)
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
        asterisk.answers(BUYER)
        await until(lambda: BUYER in asterisk.bridges.get(TALK, []), what="the bridge")

    assert asterisk._plays == {}


async def test_a_talk_is_recorded_once_its_announcement_was_played(asterisk: FakeAsterisk) -> None:
    async with local_http() as http, opened(asterisk, http, records=True, announcement="sound:leadclock/recorded") as office:
        command = await called(asterisk, office)
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
        asterisk.answers(BUYER)
        await until(lambda: LEAD in asterisk._plays, what="the announcement")
        assert asterisk.recordings == {}

        asterisk.played(LEAD)
        await until(lambda: asterisk.recordings == {LEAD: f"bridge:{TALK}"}, what="the recording")
        await until(lambda: "recording" in office.orders["c1"].facts, what="the report of the recording")
        asterisk.ends(BUYER)

        assert (await office.outcome(command)).recording_url == f"{asterisk.url}/ari/recordings/stored/{LEAD}/file"


async def test_a_talk_whose_announcement_nobody_heard_is_not_recorded(asterisk: FakeAsterisk) -> None:
    async with local_http() as http, opened(asterisk, http, records=True, announcement="sound:missing") as office:
        command = await called(asterisk, office)
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
        asterisk.answers(BUYER)
        await until(lambda: LEAD in asterisk._plays, what="the announcement")
        asterisk.played(LEAD, "failed")
        asterisk.ends(BUYER)

        assert (await office.outcome(command)).recording_url is None
    assert asterisk.recordings == {}


async def test_a_talk_that_asterisk_cannot_record_goes_on_and_has_no_link(asterisk: FakeAsterisk) -> None:
    asterisk.cannot_record = True
    async with local_http() as http, opened(asterisk, http, records=True, announcement="sound:beep") as office:
        command = await called(asterisk, office)
        await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
        asterisk.answers(BUYER)
        await until(lambda: LEAD in asterisk._plays, what="the announcement")
        asterisk.played(LEAD)
        asterisk.ends(BUYER)

        result = await office.outcome(command)
        assert (result.outcome, result.recording_url) == ("connected_buyer", None)
        await until(lambda: not asterisk.channels, what="the end of the call")


async def test_a_talk_without_recording_has_no_link_to_one(asterisk: FakeAsterisk, office: Office) -> None:
    command = await called(asterisk, office)
    await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
    asterisk.answers(BUYER)
    await until(lambda: BUYER in asterisk.bridges.get(TALK, []), what="the bridge")
    asterisk.ends(LEAD)

    assert (await office.outcome(command)).recording_url is None
    assert asterisk._plays == {}


async def test_a_doubled_order_is_refused_by_asterisk_and_was_placed(asterisk: FakeAsterisk, office: Office) -> None:
    command = call_command()
    first = await office.place(command)

    assert await office.connection.place(command) == Placed(provider_ref=first)
    assert len(asterisk.originated) == 1


async def test_a_lost_answer_is_found_by_the_name_of_the_channel(asterisk: FakeAsterisk, office: Office) -> None:
    asterisk.loses = 1
    command = call_command()
    order = Order(command=command, asked_at=wall_now())
    with pytest.raises(ProviderFailedError):
        await office.connection.place(command)

    found = await office.connection.find(order)

    assert found is not None
    assert found.provider_ref == LEAD
    assert office.connection.conclude(structs.replace(order, facts=found.facts)) is None


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [(("Ringing", 17), "busy"), (("Up", 16), "abandoned_by_us"), (("Down", 38), "congestion")],
)
async def test_a_call_that_ended_unheard_is_found_in_what_the_dialplan_wrote(
    asterisk: FakeAsterisk, ends: tuple[str, int], outcome: str
) -> None:
    async with local_http() as http:
        connection = connect(asterisk.url, http, password=PASSWORD)
        command = call_command()
        await connection.place(command)
        asterisk.channels[LEAD]["state"] = ends[0]
        asterisk.ends(LEAD, ends[1])
        order = Order(command=command, asked_at=wall_now(), provider_ref=LEAD)

        found = await connection.find(order)

        assert found is not None
        result = connection.conclude(structs.replace(order, facts=found.facts))
        assert result is not None
        assert result.outcome == outcome
        assert asterisk.channels == {}


async def test_a_talk_that_ended_unheard_names_the_buyer_that_answered(asterisk: FakeAsterisk) -> None:
    legs = tuple(BuyerLeg(buyer_id=number, number=f"+1212555017{number}") for number in (7, 8))
    async with local_http() as http:
        async with opened(asterisk, http) as office:
            command = await called(asterisk, office, buyer_legs=legs)
            await until(lambda: len(asterisk.channels) == 3, what="two legs")
            order = office.orders["c1"]
        asterisk.answers("lc.c1.b8")
        asterisk.ends("lc.c1.b7", 26)
        asterisk.ends("lc.c1.b8")
        asterisk.ends(LEAD)

        found = await office.connection.find(order)

    assert found is not None
    result = office.connection.conclude(structs.replace(order, facts={**order.facts, **found.facts}))
    assert result is not None
    assert (result.outcome, result.buyer_id, command.buyer_legs) == ("connected_buyer", 8, legs)


async def test_an_order_that_asterisk_never_took_is_known_not_to_be_placed(office: Office) -> None:
    assert await office.connection.find(Order(command=call_command(), asked_at=wall_now())) is None


async def test_after_a_crash_of_asterisk_nobody_believes_that_nothing_was_placed(asterisk: FakeAsterisk) -> None:
    clock = [wall_now()]
    async with local_http() as http:
        connection = connect(asterisk.url, http, password=PASSWORD, now=lambda: clock[0])
        command = call_command()
        order = Order(command=command, asked_at=wall_now())
        await connection.place(command)
        asterisk.crashes()

        found = await connection.find(order)

        assert found is not None
        lost = structs.replace(order, facts=found.facts)
        assert connection.conclude(lost) is None
        clock[0] = clock[0] + MINUTE
        result = connection.conclude(lost)
        assert result is not None
        assert result.outcome == "unknown"


async def test_an_order_that_was_taken_and_left_no_row_is_unknown(office: Office) -> None:
    found = await office.connection.find(Order(command=call_command(), asked_at=wall_now(), provider_ref=LEAD))

    assert found is not None
    assert "lost" in found.facts


async def test_without_its_dialplan_asterisk_is_not_believed(asterisk: FakeAsterisk, office: Office) -> None:
    asterisk.has_dialplan = False

    with pytest.raises(ProviderFailedError, match="no extension find"):
        await office.connection.find(Order(command=call_command(), asked_at=wall_now()))
    with pytest.raises(ProviderFailedError, match="no extension find"):
        await office.connection.test()


async def test_the_account_is_tried_by_its_version_and_its_dialplan(asterisk: FakeAsterisk, office: Office) -> None:
    assert await office.connection.test() == "Asterisk 22.10.1, with the dialplan of leadclock"
    assert asterisk.channels == {}


@pytest.mark.parametrize(
    ("settings", "fields", "said", "tries_next"),
    [
        ({"detects_machines": False}, {}, "does not listen for machines", True),
        ({}, {"machine": "voicemail_drop"}, "speaks no texts", True),
        ({}, {"whisper": "Ann from Tampa"}, "set whisper_sound", True),
        ({}, {"stream": "wss://bot.example.com"}, "no media streams", True),
        ({}, {"buyer_number": None}, "nobody would talk", True),
        ({"sip_endpoint": None}, {"buyer_number": "sip:desk@example.com"}, "dials no SIP addresses", True),
        ({}, {"buyer_number": "sip:a@b&PJSIP/1@other"}, "cannot be dialled", False),
        ({}, {"to": "+1212&Local/x@y"}, "cannot be dialled", False),
        ({"endpoint": "PJSIP/{number}@gone"}, {}, "no such endpoint", True),
    ],
)
async def test_what_could_not_be_done_as_ordered_is_refused_by_name(
    asterisk: FakeAsterisk, settings: dict[str, Any], fields: dict[str, Any], said: str, *, tries_next: bool
) -> None:
    command = structs.replace(call_command(), **fields)
    async with local_http() as http:
        connection = connect(asterisk.url, http, password=PASSWORD, **settings)
        with pytest.raises(RefusedOrderError, match=said) as refused:
            await connection.place(command)
    assert refused.value.tries_next is tries_next
    assert asterisk.originated == []


async def test_a_wrong_password_places_nothing_and_another_account_is_tried(asterisk: FakeAsterisk) -> None:
    async with local_http() as http:
        connection = connect(asterisk.url, http, password="wrong")
        with pytest.raises(RefusedOrderError) as refused:
            await connection.place(call_command())
        assert refused.value.tries_next
        with pytest.raises(ProviderFailedError):
            await connection.test()
        with pytest.raises(RefusedOrderError, match="calls only"):
            await connection.send(sms_command())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"endpoint": "PJSIP/carrier"}, "endpoint must say"),
        ({"sip_endpoint": "PJSIP/carrier"}, "sip_endpoint must say"),
        ({"drop_sound": "sound:beep", "detects_machines": False}, "drop_sound needs detects_machines"),
        ({"records": True}, "records needs an announcement"),
        ({"announcement": "sound:beep"}, "announcement needs records"),
    ],
)
async def test_settings_that_contradict_each_other_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        connect("http://127.0.0.1:1", None, password=PASSWORD, **settings)


@pytest.mark.parametrize(
    "setting", [{"endpoint": "PJSIP/{number}@a&PJSIP/9@b"}, {"app": "a,b"}, {"url": "ftp://x"}, {"from_number": "911"}]
)
def test_a_setting_that_would_dial_something_else_is_refused(setting: dict[str, str]) -> None:
    assert list(settings_faults(PROVIDER, {**SETTINGS, **setting})) == [f"settings.{name}" for name in setting]


async def test_a_call_of_a_person_is_connected_once_a_buyer_is_chosen(asterisk: FakeAsterisk, office: Office) -> None:
    await heard(asterisk)
    office.routes.append(
        InboundRoute(
            action="connect", buyer_id=4, buyer_number="+12125550177", buyer_timeout_seconds=9, buyer_dtmf_tones="7#"
        )
    )
    asterisk.calls_in("1764.1", "+12125550123", "+12125550199")
    leg = "lci.12125550123.12125550199.b4.1764.1"
    await until(lambda: leg in asterisk.channels, what="the buyer's leg")
    assert asterisk.channels["1764.1"]["state"] == "Ring"

    asterisk.answers(leg)
    await until(lambda: asterisk.bridges.get("lci.1764.1") == ["1764.1", leg], what="the bridge")
    await until(lambda: asterisk.tones == [(leg, "7#")], what="the tones")
    asterisk.ends(leg)

    await until(lambda: not asterisk.channels, what="the end of the call")
    await until(lambda: len(office.inbound) == 3, what="three reports")
    assert [(one.state, one.asks) for one in office.inbound] == [("ringing", True), ("connected", False), ("ended", False)]
    assert {(one.from_number, one.to_number, one.call_ref) for one in office.inbound} == {
        ("+12125550123", "+12125550199", "1764.1")
    }
    assert office.inbound[1].report["buyer_id"] == 4
    assert (asterisk.originated[0]["callerId"], asterisk.originated[0]["timeout"]) == ("+12125550123", 9)


async def test_another_buyer_is_asked_for_when_one_does_not_answer_and_then_a_message_is_taken(
    asterisk: FakeAsterisk, office: Office
) -> None:
    await heard(asterisk)
    office.routes += [
        InboundRoute(action="connect", buyer_id=4, buyer_number="+12125550177"),
        InboundRoute(action="voicemail"),
    ]
    asterisk.calls_in("1764.1", "+12125550123", "+12125550199")
    leg, message = (f"lci.12125550123.12125550199.{what}.1764.1" for what in ("b4", "voicemail"))
    await until(lambda: leg in asterisk.channels, what="the buyer's leg")

    asterisk.times_out(leg)
    await until(lambda: message in asterisk._plays, what="the words before a message")
    asterisk.played(message)

    await until(lambda: list(asterisk.recordings.values()) == ["channel:1764.1"], what="the message")
    assert office.inbound[1].report == {"unanswered_buyer_id": 4}
    assert asterisk.channels["1764.1"]["state"] == "Up"
    (name,) = asterisk.recordings
    assert name.startswith("lcm."), name
    assert "12125550123" not in name, "a folder of messages is no list of callers"


async def test_a_person_who_gives_up_ends_the_buyers_leg_and_no_other_is_rung(
    asterisk: FakeAsterisk, office: Office
) -> None:
    await heard(asterisk)
    office.routes.append(InboundRoute(action="connect", buyer_id=4, buyer_number="+12125550177"))
    asterisk.calls_in("1764.1", "+12125550123", "+12125550199")
    await until(lambda: len(asterisk.channels) == 2, what="the buyer's leg")

    asterisk.ends("1764.1")

    await until(lambda: not asterisk.channels, what="the end of the buyer's leg")
    await until(lambda: len(office.callbacks) >= 5, what="every event")
    assert [one.state for one in office.inbound] == ["ringing", "ended", "ended"]
    assert len({one.event_id for one in office.inbound}) == 2
    assert office.inbound[1].report == {"hangup_cause": "16", "hung_up_by": "caller"}


@pytest.mark.parametrize("action", ["message", "callback"])
async def test_a_call_that_nobody_takes_hears_so_and_ends(asterisk: FakeAsterisk, office: Office, action: str) -> None:
    await heard(asterisk)
    office.routes.append(InboundRoute(action=action, message="We are closed."))
    asterisk.calls_in("1764.1", "+12125550123", "+12125550199")
    sound = "lci.12125550123.12125550199.sorry.1764.1"
    await until(lambda: sound in asterisk._plays, what="the words")

    asterisk.played(sound)

    await until(lambda: not asterisk.channels, what="the end of the call")


async def test_a_rejected_call_is_never_answered(asterisk: FakeAsterisk, office: Office) -> None:
    await heard(asterisk)
    office.routes.append(InboundRoute(action="reject"))
    asterisk.calls_in("1764.1", "+12125550123", "+12125550199")

    await until(lambda: not asterisk.channels, what="the end of the call")
    await until(lambda: len(office.inbound) == 2, what="the report of the end")
    assert (office.inbound[-1].state, office.inbound[-1].report) == ("ended", {})


async def test_a_lead_that_was_answered_while_nobody_listened_does_not_wait_in_silence(
    asterisk: FakeAsterisk, office: Office
) -> None:
    await heard(asterisk)
    command = call_command(machine="continue")
    lead = await office.place(command)
    listeners = asterisk.listeners
    asterisk.drop_listeners()
    asterisk.answers(lead)

    await heard(asterisk, listeners + 1)

    assert (await office.outcome(command)).outcome != "connected_buyer"
    assert asterisk.channels == {}


async def test_over_tls_events_come_from_the_host_of_the_certificate_alone() -> None:
    async with FakeAsterisk(certified()) as asterisk:
        url = asterisk.url.replace("http://127.0.0.1", "https://localhost")
        http = ScriptedHttp(HttpAnswer(200, b"[]"))
        events = connect(url, http, password=PASSWORD, tls=trusting()).events()
        hearing = asyncio.create_task(anext(events, None))
        await heard(asterisk)
        asterisk.calls_in("1764.1", "+12125550123", "+12125550199")
        assert (await hearing).key == "1764.1"  # type: ignore[union-attr]
        await events.aclose()

        for wrong, tls in ((url, ssl.create_default_context()), (url.replace("localhost", "127.0.0.1"), trusting())):
            with pytest.raises(ProviderFailedError, match="certificate verify failed"):
                await anext(connect(wrong, ScriptedHttp(), password=PASSWORD, tls=tls).events())


async def test_events_are_not_listened_for_at_a_private_address_that_the_operator_does_not_allow() -> None:
    connection = connect("http://10.255.255.1:8088", ScriptedHttp(), password=PASSWORD)

    with pytest.raises(NotPlacedError, match="cannot be reached"):
        await anext(connection.events())


async def test_a_listener_that_another_one_replaces_does_not_stay_deaf(asterisk: FakeAsterisk) -> None:
    async with local_http() as http:
        first, second = (connect(asterisk.url, http, password=PASSWORD).events() for _ in range(2))
        hearing = asyncio.create_task(anext(first, None))
        await heard(asterisk)
        replacing = asyncio.create_task(anext(second, None))

        assert await hearing is None

        await heard(asterisk, 2)
        asterisk.calls_in("1764.1", "+12125550123", "+12125550199")
        assert (await replacing).key == "1764.1"  # type: ignore[union-attr]
        await second.aclose()


def test_a_lead_that_rings_or_talks_or_is_listened_for_is_left_alone() -> None:
    def channel(name: str, *, state: str = "Up", data: str = "leadclock,lead") -> dict[str, Any]:
        return {"id": name, "state": state, "dialplan": {"app_data": data}}

    channels = [
        channel("lc.silent"), channel("lc.rings", state="Ringing"), channel("lc.talks"), channel("lc.talks.b3"),
        channel("lc.detected", data=""), channel("lc.theirs", data="other,lead"), channel("1764.1"),
    ]  # fmt: skip

    assert silent_leads(channels, "leadclock") == ["lc.silent"]


async def test_events_that_come_twice_change_nothing(asterisk: FakeAsterisk, office: Office) -> None:
    command = await called(asterisk, office)
    await until(lambda: BUYER in asterisk.channels, what="the buyer's leg")
    asterisk.answers(BUYER)
    await until(lambda: BUYER in asterisk.bridges.get(TALK, []), what="the bridge")

    for callback in list(office.callbacks):
        await office.take(callback)

    assert len(asterisk.originated) == 2
    assert sorted(asterisk.bridges[TALK]) == [LEAD, BUYER]
    asterisk.ends(LEAD)
    assert (await office.outcome(command)).outcome == "connected_buyer"


async def test_an_event_is_not_confirmed_while_asterisk_is_away(asterisk: FakeAsterisk, office: Office) -> None:
    await heard(asterisk)
    await office.place(call_command(machine="continue"))
    asterisk.channels[LEAD] |= {"state": "Up", "stasis": True}
    asterisk.fails = 1

    with pytest.raises(ProviderFailedError):
        await office.take(event("StasisStart", args=("lead",)))
    await office.take(event("StasisStart", args=("lead",)))

    assert BUYER in asterisk.channels


def test_an_event_with_the_secret_of_another_is_forged() -> None:
    connection = connect("http://127.0.0.1:1", None, password=PASSWORD)
    assert isinstance(connection, EventSource)
    with pytest.raises(ForgedCallbackError):
        connection.read_callback(event("ChannelDestroyed", key="another"))
    for garbage in ("v1", "v1,###", "x y,z", ""):
        callback = event("ChannelDestroyed")
        with pytest.raises(ForgedCallbackError):
            connection.read_callback(structs.replace(callback, headers={**callback.headers, "webhook-signature": garbage}))


@pytest.mark.parametrize(
    "thing",
    [
        OrderLeg("0190-ab"), OrderLeg("0190-ab", 0), OrderLeg("0190-ab", 77),
        InboundThing("+12125550123", "+12125550199", "b5", "pbx-1764.12"),
        InboundThing("+4930123456", "+12125550199", "sorry", "1"),
    ],
)  # fmt: skip
def test_the_name_of_a_channel_says_whose_it_is(thing: OrderLeg | InboundThing) -> None:
    assert read_name(thing.name) == thing


@pytest.mark.parametrize("name", ["", "lc.", "lc.a.b", "lc.a.b1.b2", "1764078000.12", "lci.1.2.b3", "lc.a/b", "lcf.12"])
def test_another_name_says_nothing(name: str) -> None:
    assert read_name(name) is None
