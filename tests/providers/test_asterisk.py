"""Do telephones ring, talk and stop by a real Asterisk 22 that is configured as our page says? sipp is each telephone."""

import asyncio
import io
import wave
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.gateway.ports import DeliveryResult
from adapters.providers.account_trials import accounts_with, try_account
from schemas.commands import HangUp, PlaceCall, PressKeys
from tests.adapters.http.asterisk_carrier import AsteriskCarrier
from tests.adapters.providers.asterisk_office import local_http, until
from tests.providers.asterisk import PASSWORD, RealAsterisk, run_asterisk
from tests.providers.telephones import free_port

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANNOUNCEMENT = "sound:beep"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def asterisk() -> AsyncIterator[RealAsterisk]:
    async with run_asterisk() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def carrier(town: Any, company: Any, asterisk: RealAsterisk) -> AsyncIterator[AsteriskCarrier]:
    """A company with that Asterisk; nobody listens yet, and each company's events are its own application's."""
    async with local_http() as http:
        found = AsteriskCarrier(town, company, http, asterisk.url, PASSWORD)
        yield found
        for configuration in await found.configurations():  # else the next company's gateway listens for this one, too
            await company.send("DELETE", f"/api/v1/provider_configurations/{configuration['id']}")


async def configured(carrier: AsteriskCarrier, **settings: Any) -> None:
    given = {"sip_endpoint": "PJSIP/carrier/{uri}", **settings}
    await carrier.configure(settings={name: value for name, value in given.items() if value is not None})


async def listened(asterisk: RealAsterisk) -> None:
    """Wait until somebody listens."""
    async with httpx.AsyncClient(auth=("leadclock", PASSWORD)) as client, asyncio.timeout(60):
        while not (await client.get(f"{asterisk.url}/ari/applications/leadclock")).is_success:
            await asyncio.sleep(0.05)


async def placed(carrier: AsteriskCarrier, **step: Any) -> PlaceCall:
    command: PlaceCall = await carrier.command("call", **{"machine": "continue", **step})
    assert await carrier.providers("call").place(command, carrier.report) is None
    return command


async def facts(carrier: AsteriskCarrier, command: PlaceCall, *names: str) -> None:
    """Wait until something has been reported of a call."""
    known: set[str] = set()
    try:
        async with asyncio.timeout(60):
            while not set(names) <= known:
                order = await carrier.orders.find(carrier.company.id, command.command_id)
                known = set() if order is None else set(order.facts)
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not reported: {set(names) - known}, only {known}") from None


def of_call(command: PlaceCall) -> dict[str, Any]:
    named = (
        "company_id",
        "contact_key",
        "lead_id",
        "lead_uuid",
        "step_id",
        "enrolment",
        "attempt",
        "decided_at",
        "not_before",
    )
    about = {name: getattr(command, name) for name in named}
    return {**about, "command_id": "by-hand", "call_id": command.call_id, "call_command_id": command.command_id}


async def test_a_lead_is_called_put_through_keys_are_pressed_it_is_recorded_and_hung_up_on(
    carrier: AsteriskCarrier, asterisk: RealAsterisk
) -> None:
    port = free_port()
    buyer = await carrier.company.record(
        "buyers", {"name": "B", "number": f"sip:buyer@127.0.0.1:{port}", "dtmf_tones": "7w9"}
    )
    await configured(carrier, records=True, announcement=ANNOUNCEMENT)
    sipp = asterisk.sipp
    async with carrier.listened(), sipp.telephone(asterisk.carrier_port) as lead, sipp.telephone(port) as desk:
        await listened(asterisk)
        command = await placed(carrier, connect={"buyer_ids": [buyer["id"]]})
        await facts(carrier, command, "ringing", "answered", f"b{buyer['id']}.bridged", "recording")
        await until(lambda: desk.sounds.keys == "79", what="the buyer's tones")
        assert await carrier.providers("call").press(PressKeys(**of_call(command), digits="42#"))
        await until(lambda: lead.sounds.keys == "42#", what="the keys")
        await until(lambda: desk.sounds.heard > 25 and lead.sounds.heard > 25, what="half a second of each other")

        assert await carrier.providers("call").hang_up(HangUp(**of_call(command)))
        await asyncio.gather(lead.has_ended(), desk.has_ended())

        call = await carrier.call(command, outcome="connected_buyer")
    assert (call["provider"], call["hung_up_by"]) == ("asterisk", "us")
    async with httpx.AsyncClient(auth=("leadclock", PASSWORD)) as client:
        recording = await client.get(call["recording_url"])
    with wave.open(io.BytesIO(recording.content)) as sound:
        assert sound.getframerate() == 8_000
        assert any(sound.readframes(sound.getnframes()))


async def test_of_three_buyers_that_ring_at_once_one_is_connected(carrier: AsteriskCarrier, asterisk: RealAsterisk) -> None:
    ports = [free_port() for _ in range(3)]
    buyers = [
        await carrier.company.record("buyers", {"name": f"B{port}", "number": f"sip:buyer@127.0.0.1:{port}"})
        for port in ports
    ]
    ids = [buyer["id"] for buyer in buyers]
    group = await carrier.company.record(
        "buyer_groups", {"name": "G", "buyer_ids": ids, "dial_buyers_type": "simultaneously"}
    )
    await configured(carrier)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(carrier.listened())
        lead = await stack.enter_async_context(asterisk.sipp.telephone(asterisk.carrier_port))
        first = await stack.enter_async_context(asterisk.sipp.rings_in_vain(ports[0]))
        second = await stack.enter_async_context(asterisk.sipp.telephone(ports[1], rings=1, talks=1))
        third = await stack.enter_async_context(asterisk.sipp.rings_in_vain(ports[2]))
        await listened(asterisk)
        command = await placed(carrier, connect={"buyer_group_id": group["id"]})
        await asyncio.gather(*(telephone.has_ended() for telephone in (lead, first, second, third)))

        call = await carrier.call(command, outcome="connected_buyer")
    assert (call["buyer_id"], call["hung_up_by"]) == (ids[1], "buyer")
    assert second.sounds.heard
    assert lead.sounds.heard


async def test_a_persons_call_is_routed_to_a_buyer(carrier: AsteriskCarrier, asterisk: RealAsterisk) -> None:
    port = free_port()
    buyer = await carrier.company.record("buyers", {"name": "B", "number": f"sip:buyer@127.0.0.1:{port}"})
    offer = await carrier.company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    await configured(carrier)
    sipp = asterisk.sipp
    async with carrier.listened(), sipp.telephone(port) as desk:
        await listened(asterisk)
        async with sipp.call("+13055550123", "+12125550188", free_port(), talks=1) as person:
            await asyncio.gather(person.has_ended(), desk.has_ended())
        calls = await inbound_calls(carrier)

    assert [(call["outcome"], call["buyer_id"]) for call in calls] == [("connected_buyer", buyer["id"])]
    assert desk.sounds.heard
    assert person.sounds.heard


async def inbound_calls(carrier: AsteriskCarrier) -> list[dict[str, Any]]:
    async with asyncio.timeout(60):
        while True:
            calls = (await carrier.company.send("GET", "/api/v1/calls")).json()["calls"]
            if calls and all(call["outcome"] for call in calls):
                return list(calls)
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (486, "busy"),
        (404, "invalid_number"),
        (603, "declined"),
        (480, "no_answer"),
        (484, "invalid_number"),
        (503, "congestion"),
    ],
)
async def test_each_answer_of_a_carrier_is_an_outcome(
    carrier: AsteriskCarrier, asterisk: RealAsterisk, code: int, outcome: str
) -> None:
    await configured(carrier, agent_number="+12125550177")
    async with carrier.listened(), asterisk.sipp.refuses(asterisk.carrier_port, code) as lead:
        await listened(asterisk)
        command = await placed(carrier)
        await lead.has_ended()
        await carrier.call(command, outcome=outcome)


async def test_a_telephone_that_nobody_answers_stops_ringing(carrier: AsteriskCarrier, asterisk: RealAsterisk) -> None:
    await configured(carrier)
    async with carrier.listened(), asterisk.sipp.rings_in_vain(asterisk.carrier_port) as lead:
        await listened(asterisk)
        command = await carrier.command("call", machine="continue", ring_timeout_seconds=5)
        await carrier.providers("call").place(command, carrier.report)
        await lead.has_ended()
        await carrier.call(command, outcome="no_answer")


async def test_a_telephone_that_talks_on_and_on_is_taken_for_a_machine(
    carrier: AsteriskCarrier, asterisk: RealAsterisk
) -> None:
    await configured(carrier, detects_machines=True)
    async with carrier.listened(), asterisk.sipp.telephone(asterisk.carrier_port) as lead:
        await listened(asterisk)
        command = await placed(carrier, machine="hangup")
        await lead.has_ended()
        call = await carrier.call(command, outcome="voicemail")
    assert call["answered_by"] == "machine"


async def test_a_machine_hears_the_sound_of_the_account_once_it_is_silent(
    carrier: AsteriskCarrier, asterisk: RealAsterisk
) -> None:
    await configured(carrier, detects_machines=True, drop_sound=ANNOUNCEMENT)
    async with carrier.listened(), asterisk.sipp.telephone(asterisk.carrier_port) as lead:
        await listened(asterisk)
        command = await placed(carrier, machine="voicemail_drop", voicemail_message="We call again.")
        await facts(carrier, command, "machine")
        assert not lead.sounds.heard
        lead.sounds.is_silent = True
        await lead.has_ended()
        call = await carrier.call(command, outcome="voicemail")
    assert lead.sounds.heard
    assert "was left the sound" in call["detail"]


async def test_a_buyer_hears_the_sound_of_the_account_before_they_are_connected(
    carrier: AsteriskCarrier, asterisk: RealAsterisk
) -> None:
    port = free_port()
    buyer = await carrier.company.record("buyers", {"name": "B", "number": f"sip:buyer@127.0.0.1:{port}"})
    await configured(carrier, whisper_sound=ANNOUNCEMENT)
    sipp = asterisk.sipp
    async with carrier.listened(), sipp.telephone(asterisk.carrier_port) as lead, sipp.telephone(port) as desk:
        await listened(asterisk)
        command = await placed(carrier, connect={"buyer_ids": [buyer["id"]], "whisper": "Ann"})
        await facts(carrier, command, f"b{buyer['id']}.whispered", f"b{buyer['id']}.bridged")
        await until(lambda: desk.sounds.heard > 25 and lead.sounds.heard > 25, what="half a second of each other")
        assert await carrier.providers("call").hang_up(HangUp(**of_call(command)))
        await asyncio.gather(lead.has_ended(), desk.has_ended())

        call = await carrier.call(command, outcome="connected_buyer")
    assert "was played for the whisper" in call["detail"]


async def test_a_call_that_ended_while_no_gateway_lived_is_found(carrier: AsteriskCarrier, asterisk: RealAsterisk) -> None:
    await configured(carrier)
    async with asterisk.sipp.refuses(asterisk.carrier_port, 486) as lead:
        command = await placed(carrier)
        await lead.has_ended()
        assert (await found(carrier, command)).outcome == "busy"


async def test_a_person_who_answers_while_no_gateway_lives_is_hung_up_on(
    carrier: AsteriskCarrier, asterisk: RealAsterisk
) -> None:
    await configured(carrier)
    async with asterisk.sipp.telephone(asterisk.carrier_port) as lead:
        command = await placed(carrier)
        await lead.has_ended()
        assert (await found(carrier, command)).outcome == "abandoned_by_us"


async def found(carrier: AsteriskCarrier, command: PlaceCall) -> DeliveryResult:
    """What a gateway that starts again finds."""
    async with asyncio.timeout(60):
        while (result := await carrier.providers("call").resume(command)) is None:
            await asyncio.sleep(0.1)
    return result


async def test_a_doubled_order_is_refused_by_asterisk(carrier: AsteriskCarrier, asterisk: RealAsterisk) -> None:
    await configured(carrier)
    async with carrier.listened(), asterisk.sipp.rings_in_vain(asterisk.carrier_port) as lead:
        await listened(asterisk)
        command = await placed(carrier)
        await carrier.providers("call").place(command, carrier.report)
        assert await channels_of(asterisk) == [f"lc.{command.command_id}"]
        assert await carrier.providers("call").hang_up(HangUp(**of_call(command)))
        await lead.has_ended()
        await carrier.call(command, outcome="canceled")


async def test_the_account_is_tried_by_its_version_and_its_dialplan(
    carrier: AsteriskCarrier, asterisk: RealAsterisk
) -> None:
    await configured(carrier)
    found = await tried(carrier)
    assert found["works"], found
    assert found["said"].startswith("Asterisk 22.")
    assert await channels_of(asterisk) == []


async def tried(carrier: AsteriskCarrier) -> dict[str, Any]:
    of_company = [
        configuration
        for configuration in accounts_with(carrier.town.context.rules.rules, "asterisk")
        if configuration.record.company_id == carrier.company.id
    ]
    return await try_account(carrier.connections, of_company[0])


async def channels_of(asterisk: RealAsterisk) -> list[str]:
    async with httpx.AsyncClient(auth=("leadclock", PASSWORD)) as client:
        channels = (await client.get(f"{asterisk.url}/ari/channels")).json()
    return [channel["id"] for channel in channels]
