"""Does a report count twice that somebody captured and sends again? Each vendor's, genuine to the last byte."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from adapters.gateway.addresses import networks
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.streams import VendorStreams
from tests.adapters.http.asterisk_carrier import AsteriskCarrier
from tests.adapters.http.carrier import NUMBER, PUBLIC, Carrier, delete_accounts
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.test_bounces import (
    callback_path,
    closed,
    contact,
    lead_with,
    opted_out,
    token_of,
)
from tests.adapters.http.test_provider_callbacks import asked
from tests.adapters.http.test_smpp_orders import SmppGateway, gateways  # noqa: F401 - a fixture
from tests.adapters.http.test_telnyx_orders import HANGUP, TelnyxCarrier
from tests.adapters.providers.asterisk_office import local_http, until
from tests.adapters.providers.fake_asterisk import PASSWORD, FakeAsterisk
from tests.adapters.providers.fake_telnyx import FakeTelnyx, event_of
from tests.adapters.providers.fake_twilio import ACCOUNT, FakeTwilio
from tests.adapters.providers.mail_vendors import (
    SUBSCRIBE_URL,
    FakeSns,
    mailgun_event,
    mailgun_failure,
    mailgun_webhook,
    sendgrid_event,
    sendgrid_webhook,
    ses_bounce,
    ses_complaint,
    sns_message,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALLER = "+13055550123"
OURS = "+12125550188"
TALK = "+12125550155"

Capture = list[tuple[str, bytes, Mapping[str, str]]]


class Wire:
    """Posts the reports of a vendor, and captures each as somebody on the way could."""

    def __init__(self, town: Town) -> None:
        self.town, self.captured = town, Capture()

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        self.captured.append((url, content, headers))
        return await self.send(url, content, headers)

    async def send(self, url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        return await self.town.client.post(url.replace(PUBLIC, "http://10.0.0.7:8080"), content=content, headers=headers)

    async def replay(self) -> None:
        """Send all again, twice, in their order and in the reverse one; no answer is an error of ours."""
        for report in (*self.captured, *reversed(self.captured)):
            assert (await self.send(*report)).status_code < 500


@pytest_asyncio.fixture(loop_scope="session")
async def wire(town: Town) -> Wire:
    return Wire(town)


@pytest_asyncio.fixture(loop_scope="session")
async def twilio(town: Town, company: Company, wire: Wire) -> AsyncIterator[Carrier]:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeTwilio(wire.post) as fake:
        yield Carrier(town, company, fake, http)
    await delete_accounts(company)
    await http.close()


@pytest_asyncio.fixture(loop_scope="session")
async def telnyx(town: Town, company: Company, wire: Wire) -> AsyncIterator[TelnyxCarrier]:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeTelnyx(wire.post) as fake:
        yield TelnyxCarrier(town, company, fake, http)
    await delete_accounts(company)
    await http.close()


class CapturedAsterisk(AsteriskCarrier):
    """A company with an Asterisk, whose events somebody captures between the gateway and the API."""

    def __init__(self, wire: Wire, *given: Any) -> None:
        super().__init__(*given)
        self.wire = wire

    def streams(self, holder: str) -> VendorStreams:
        found = super().streams(holder)
        found._client = self.wire  # type: ignore[assignment]
        return found


@pytest_asyncio.fixture(loop_scope="session")
async def asterisk() -> AsyncIterator[FakeAsterisk]:
    async with FakeAsterisk() as fake:
        yield fake


@pytest_asyncio.fixture(loop_scope="session")
async def pbx(town: Town, company: Company, wire: Wire, asterisk: FakeAsterisk) -> AsyncIterator[CapturedAsterisk]:
    async with local_http() as http:
        carrier = CapturedAsterisk(wire, town, company, http, asterisk.url, PASSWORD)
        await carrier.configure(settings={"records": True, "announcement": "sound:leadclock/recorded"})
        async with carrier.listened():
            await until(lambda: asterisk.listeners, what="a listener")
            yield carrier
        await delete_accounts(company)


async def owed_recordings(company: Company) -> list[tuple[Any, ...]]:
    rows = await company.town.pool.fetch(
        "SELECT id, recording_url, state FROM work.recordings WHERE company_id = $1 ORDER BY id", company.id
    )
    return [tuple(row) for row in rows]


async def counted(company: Company, number: str) -> dict[str, Any]:
    """Return what reports count to: calls with their talk, every fact of the company, and the person's limits."""
    calls = (await company.send("GET", "/api/v1/calls")).json()["calls"]
    shown = (await company.send("GET", f"/api/v1/contacts/{number}")).json()["contact"]
    columns = ("id", "provider_sid", "outcome", "talk_duration", "total_duration", "buyer_id")
    facts = await company.town.pool.fetch(
        "SELECT type, count(*) AS times FROM read.history WHERE company_id = $1 GROUP BY type ORDER BY type", company.id
    )
    limits = {
        name: shown[name] for name in ("attempts_count", "last_attempt_at", "last_call_at", "disabled_until", "opt_outs")
    }
    return {
        "calls": [{name: call.get(name) for name in columns} for call in calls],
        "facts": {fact["type"]: fact["times"] for fact in facts},
        **limits,
    }


async def decided(company: Company, number: str) -> None:
    """Wait until what was reported about a person before is decided: a request about the same person comes behind it."""
    found = await company.send("POST", f"/api/v1/contacts/{number}/caller_unblock")
    assert found.status_code == 200, found.text


async def buyer_of_number(company: Company) -> dict[str, Any]:
    buyer = await company.record("buyers", {"name": "B", "number": TALK})
    offer = await company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    return buyer


async def test_an_inbound_call_of_twilio_that_is_reported_again_is_one_call(
    company: Company, twilio: Carrier, wire: Wire
) -> None:
    await buyer_of_number(company)
    url = (await twilio.configure())["callback_url"]
    form = {"CallSid": "CAin1", "CallStatus": "ringing", "Direction": "inbound", "From": CALLER, "To": OURS}
    said = await asked(twilio, url, form)
    leg = said.partition('statusCallback="')[2].partition('"')[0].replace("&amp;", "&")
    action = said.partition('action="')[2].partition('"')[0].replace("&amp;", "&")
    child = {"CallSid": "CAleg", "ParentCallSid": "CAin1", "CallStatus": "in-progress", "From": CALLER, "To": TALK}
    await twilio.twilio.report(leg, child)
    await twilio.twilio.report(action, {**form, "DialCallStatus": "completed", "DialCallDuration": "30"})
    await twilio.twilio.report(url, {**form, "CallStatus": "completed", "CallDuration": "35"})
    await twilio.inbound("CAin1", outcome="connected_buyer")
    await decided(company, CALLER)

    before = await counted(company, CALLER)
    await wire.replay()
    await decided(company, CALLER)
    assert await counted(company, CALLER) == before
    assert len(before["calls"]) == 1


async def test_a_call_and_a_text_of_twilio_that_are_reported_again_count_once(
    company: Company, twilio: Carrier, wire: Wire
) -> None:
    command, call = await twilio.place()
    await twilio.twilio.status(call["sid"], "busy")
    await twilio.call(command, outcome="busy")
    made = await twilio.configure("sms")
    form = {"MessageSid": "SM1", "From": command.to, "To": NUMBER, "Body": "Tell me more", "AccountSid": ACCOUNT}
    await twilio.twilio.report(made["callback_url"], form)
    await decided(company, command.to)

    before = await counted(company, command.to)
    await wire.replay()
    await decided(company, command.to)
    assert await counted(company, command.to) == before
    await twilio.twilio.report(made["callback_url"], {**form, "MessageSid": "SM2"})
    await decided(company, command.to)
    assert await counted(company, command.to) != before  # the same words again are another text


async def test_an_inbound_call_of_telnyx_that_is_reported_again_is_one_call(
    company: Company, telnyx: TelnyxCarrier, wire: Wire
) -> None:
    await buyer_of_number(company)
    url = (await telnyx.configure())["callback_url"]
    leg = telnyx.telnyx.rings(CALLER, OURS, url)
    await telnyx.telnyx.event(leg, "call.initiated", direction="incoming")
    await telnyx.telnyx.event(leg, "call.answered")
    to_buyer = telnyx.telnyx.leg_to(TALK)
    await telnyx.telnyx.event(to_buyer, "call.bridged")
    await telnyx.telnyx.event(to_buyer, "call.hangup", **HANGUP)
    await telnyx.telnyx.event(leg, "call.hangup", **HANGUP)
    await telnyx.inbound(leg["call_control_id"], outcome="connected_buyer")
    await decided(company, CALLER)

    before = await counted(company, CALLER)
    await wire.replay()
    await decided(company, CALLER)
    assert await counted(company, CALLER) == before
    assert len(before["calls"]) == 1


async def test_a_text_and_a_receipt_of_telnyx_that_are_reported_again_count_once(
    company: Company, telnyx: TelnyxCarrier, wire: Wire
) -> None:
    made = await telnyx.configure("sms")
    command = await telnyx.command("sms")
    assert await telnyx.providers("sms").send(command) is None
    text = next(iter(telnyx.telnyx.messages))
    await telnyx.telnyx.receipt(text, "sent", name="message.sent")
    await telnyx.telnyx.receipt(text, "delivered", cost={"amount": "0.0051", "currency": "USD"})
    payload = {"id": f"m-{command.command_id}", "text": "Tell me more", "from": {"phone_number": command.to}}
    await telnyx.telnyx.report(
        made["callback_url"], event_of("message.received", {**payload, "to": [{"phone_number": NUMBER}]})
    )
    await decided(company, command.to)

    before = await counted(company, command.to)
    order = await telnyx.orders.find(company.id, command.command_id)
    await wire.replay()
    await decided(company, command.to)
    assert await counted(company, command.to) == before
    again = await telnyx.orders.find(company.id, command.command_id)
    assert order is not None
    assert again is not None
    assert (again.result, again.facts) == (order.result, order.facts)


async def test_a_text_and_a_receipt_by_smpp_that_come_again_count_once(
    company: Company,
    gateways: tuple[SmppGateway, SmppGateway],  # noqa: F811
) -> None:
    gateway, _ = gateways
    await gateway.configure()
    command = await gateway.command("sms")
    said = {"source_addr": command.to[1:], "source_addr_ton": 1, "destination_addr": NUMBER[1:]}
    async with gateway.listening() as session:
        assert await gateway.providers("sms").send(command) is None
        message_id = gateway.server.text_to(command.to)
        assert await gateway.server.receipt(message_id) == 0
        result = await gateway.result(command, "delivered")
        assert await session.deliver(**said, short_message=b"Tell me more") == 0
        await decided(company, command.to)
        before = await counted(company, command.to)
        for state, error in (("DELIVRD", "000"), ("UNDELIV", "034"), ("DELIVRD", "000")):
            assert await gateway.server.receipt(message_id, state, error) == 0
        assert await session.deliver(**said, short_message=b"Tell me more") == 0
        await decided(company, command.to)

    assert await counted(company, command.to) == before
    assert await gateway.result(command, "delivered") == result


async def test_a_recorded_talk_by_asterisk_that_is_reported_again_while_and_after_it_goes_on_is_one(
    company: Company, pbx: CapturedAsterisk, wire: Wire, asterisk: FakeAsterisk
) -> None:
    command = await pbx.command("call", machine="continue")
    assert await pbx.providers("call").place(command, pbx.report) is None
    lead = f"lc.{command.command_id}"
    asterisk.rings(lead)
    asterisk.answers(lead)
    await until(lambda: f"{lead}.b0" in asterisk.channels, what="the buyer's leg")
    asterisk.answers(f"{lead}.b0")
    await until(lambda: lead in asterisk._plays, what="the announcement")
    asterisk.played(lead)
    await until(lambda: lead in asterisk.recordings, what="the recording")
    await until(lambda: any(b"RecordingStarted" in content for _, content, _ in wire.captured), what="its report")
    await decided(company, command.to)
    talking = await counted(company, command.to)
    await wire.replay()
    await decided(company, command.to)
    assert await counted(company, command.to) == talking
    assert (asterisk._plays, sorted(asterisk.bridges[f"lct.{command.command_id}"])) == ({}, [lead, f"{lead}.b0"])
    asterisk.ends(lead)
    await pbx.call(command, outcome="connected_buyer", has_recording=True)
    await decided(company, command.to)

    before = await counted(company, command.to), await owed_recordings(company)
    await wire.replay()
    await decided(company, command.to)
    assert (await counted(company, command.to), await owed_recordings(company)) == before
    assert (len(asterisk.originated), len(before[1])) == (2, 1)


async def test_an_inbound_call_of_asterisk_with_a_message_that_is_reported_again_is_one_call_with_one_recording(
    company: Company, pbx: CapturedAsterisk, wire: Wire, asterisk: FakeAsterisk
) -> None:
    await company.record("numbers", {"number": OURS})
    reference = f"pbx-{company.id}.9"
    asterisk.calls_in(reference, CALLER, OURS)
    await until(lambda: asterisk._plays, what="the greeting")
    asterisk.played(next(iter(asterisk._plays)))
    await until(lambda: asterisk.recordings, what="the message")
    (recording,) = asterisk.recordings
    asterisk.recorded(recording, b"RIFF")
    await until(lambda: not asterisk.channels, what="the end of the call")
    await pbx.inbound(reference, has_recording=True)
    await decided(company, CALLER)

    before = await counted(company, CALLER), await owed_recordings(company)
    await wire.replay()
    await decided(company, CALLER)
    assert (await counted(company, CALLER), await owed_recordings(company)) == before
    assert (len(before[0]["calls"]), len(before[1])) == (1, 1)


async def test_a_buyer_of_a_call_by_asterisk_is_rung_once_however_often_the_call_is_reported(
    company: Company, pbx: CapturedAsterisk, wire: Wire, asterisk: FakeAsterisk
) -> None:
    buyers = [
        await company.record("buyers", {"name": name, "number": number, "dtmf_tones": "12"})
        for name, number in BUYERS.items()
    ]
    offer = await company.record("offers", {"name": "O", "buyer_ids": [buyer["id"] for buyer in buyers]})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    reference = f"pbx-{company.id}.7"
    asterisk.calls_in(reference, CALLER, OURS)
    (first,) = await rung(asterisk, 1)
    asterisk.times_out(first)
    _, second = await rung(asterisk, 2)
    await wire.replay()
    assert len(asterisk.originated) == 2

    asterisk.answers(second)
    await until(lambda: second in asterisk.bridges.get(f"lci.{reference}", []), what="the bridge")
    await until(lambda: any(b'"buyer"' in content for _, content, _ in wire.captured), what="the report of the answer")
    await wire.replay()
    assert (len(asterisk.originated), asterisk._plays) == (2, {})
    assert sorted(asterisk.bridges[f"lci.{reference}"]) == sorted([reference, second])
    assert asterisk.tones == [(second, "12")]
    asterisk.ends(second)
    call = await pbx.inbound(reference, outcome="connected_buyer")
    assert f".b{call['buyer_id']}." in second


BUYERS = {"A": "+12125550155", "B": "+12125550156"}


async def rung(asterisk: FakeAsterisk, times: int) -> list[str]:
    """Return the legs of buyers, once so many were rung."""
    await until(lambda: len(asterisk.originated) >= times, what=f"leg {times}")
    return [leg["id"] for leg in asterisk.originated]


async def test_reports_of_ses_through_sns_that_come_again_count_once(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor = FakeSns()
    monkeypatch.setattr(town.app._services.providers.connections, "_http", vendor)
    email = "twice-at-ses@example.org"
    lead = await lead_with(company, email)
    path, token = await callback_path(company, "ses"), token_of(company, lead, email)
    posts = [
        sns_message({}, kind="SubscriptionConfirmation"),
        sns_message(ses_bounce(token)),
        sns_message(ses_complaint(token), MessageId="22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"),
    ]
    for content in posts:
        assert (await town.client.post(path, content=content)).status_code == 200
    await closed(company, email)
    before = await opted_out(company, email)
    for content in (*posts, *reversed(posts)):
        assert (await town.client.post(path, content=content)).status_code == 200
    last = await lead_with(company, email)  # decided behind those
    after = await contact(company, email)
    assert facts_of(after, last["id"]) == facts_of(before, last["id"])
    assert after["disabled_until"] == before["disabled_until"]
    assert vendor.fetched.count(SUBSCRIBE_URL) == 3  # SNS takes a confirmation again, and changes nothing


async def test_reports_of_mailgun_and_sendgrid_that_come_again_count_once(town: Town, company: Company) -> None:
    for vendor in ("mailgun", "sendgrid"):
        email = f"twice-at-{vendor}@example.org"
        lead = await lead_with(company, email)
        path, token = await callback_path(company, vendor), token_of(company, lead, email)
        posts: list[tuple[bytes, dict[str, str]]]
        if vendor == "mailgun":
            posts = [(mailgun_webhook(event), {}) for event in (mailgun_failure(token), mailgun_event(token, "complained"))]
        else:
            signed = sendgrid_webhook([sendgrid_event(token), sendgrid_event(token, "spamreport")])
            posts = [(signed.body, dict(signed.headers))]
        for content, headers in posts:
            assert (await town.client.post(path, content=content, headers=headers)).status_code == 200
        await closed(company, email)
        before = await opted_out(company, email)
        for content, headers in (*posts, *reversed(posts)):
            assert (await town.client.post(path, content=content, headers=headers)).status_code == 200
        last = await lead_with(company, email)  # decided behind those
        after = await contact(company, email)
        assert facts_of(after, last["id"]) == facts_of(before, last["id"])
        assert after["disabled_until"] == before["disabled_until"]


def facts_of(found: Mapping[str, Any], without_lead: int) -> list[str]:
    return [fact["type"] for fact in found["history"] if fact.get("lead_id") != without_lead]
