"""Do calls and texts go by Telnyx from the command to the outcome, and is nobody called twice where its answer is lost?"""

from collections.abc import AsyncIterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from adapters.gateway.addresses import networks
from adapters.providers.provider_http import GuardedProviderHttp
from schemas.commands import PressKeys
from schemas.instant import Instant
from tests.adapters.http.carrier import NUMBER, PUBLIC, Carrier, delete_accounts
from tests.adapters.providers.fake_telnyx import (
    API_KEY,
    CONNECTION,
    PUBLIC_KEY,
    FakeTelnyx,
    TelnyxRefusal,
    call_event,
    event_of,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

AGENT = "+12125550177"
HANGUP = {"hangup_cause": "normal_clearing", "hangup_source": "callee", "sip_hangup_cause": "200"}


class TelnyxCarrier(Carrier):
    """One company with a fake of Telnyx."""

    provider_name = "telnyx"

    def __init__(self, town: Any, company: Any, telnyx: FakeTelnyx, http: GuardedProviderHttp) -> None:
        super().__init__(town, company, None, http)  # type: ignore[arg-type]
        self.telnyx = telnyx

    async def configure(self, channel: str = "call", **more: Any) -> dict[str, Any]:
        settings = {"public_key": PUBLIC_KEY, "base_url": self.telnyx.url, "agent_number": AGENT}
        fields = {
            "name": f"Telnyx {channel}",
            "channel": channel,
            "provider": "telnyx",
            "settings": settings | ({"connection_id": CONNECTION} if channel == "call" else {}),
            "secrets": {"api_key": API_KEY},
            **more,
        }
        found: dict[str, Any] = await self.company.record("provider_configurations", fields)
        return found


@pytest_asyncio.fixture(loop_scope="session")
async def carrier(town: Any, company: Any) -> AsyncIterator[TelnyxCarrier]:
    async def post(url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        return await town.client.post(url.replace(PUBLIC, "http://10.0.0.7:8080"), content=content, headers=headers)

    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeTelnyx(post) as telnyx:
        yield TelnyxCarrier(town, company, telnyx, http)
    await delete_accounts(company)
    await http.close()


async def called(carrier: TelnyxCarrier, **step: Any) -> tuple[Any, dict[str, Any]]:
    """Have a call placed; return its command and the leg to the person."""
    await carrier.configure()
    command = await carrier.command("call", **step)
    assert await carrier.providers("call").place(command, carrier.report) is None
    return command, carrier.telnyx.leg_to(command.to)


async def test_a_call_is_answered_by_a_person_and_put_through_and_its_outcome_is_reported(carrier: TelnyxCarrier) -> None:
    command, lead = await called(carrier)

    await carrier.telnyx.event(lead, "call.initiated")
    await carrier.telnyx.event(lead, "call.answered")
    detected = await carrier.telnyx.event(lead, "call.machine.detection.ended", result="human")
    buyer = carrier.telnyx.leg_to(AGENT)
    for leg, name, more in (
        (buyer, "call.initiated", {}),
        (buyer, "call.answered", {}),
        (buyer, "call.bridged", {}),
        (lead, "call.bridged", {}),
        (lead, "call.hangup", HANGUP),
        (buyer, "call.hangup", HANGUP),
    ):
        assert (await carrier.telnyx.event(leg, name, **more)).status_code == 200

    assert detected.status_code == 200
    found = await carrier.call(command, outcome="connected_buyer")
    assert (found["provider"], found["provider_sid"]) == ("telnyx", lead["call_control_id"])


async def test_a_webhook_is_confirmed_once_the_vendor_has_done_what_follows(carrier: TelnyxCarrier) -> None:
    _, lead = await called(carrier)
    carrier.telnyx.fails = 1

    failed = await carrier.telnyx.event(lead, "call.machine.detection.ended", result="human")
    again = await carrier.telnyx.event(lead, "call.machine.detection.ended", result="human")
    once_more = await carrier.telnyx.event(lead, "call.machine.detection.ended", result="human")

    assert [failed.status_code, again.status_code, once_more.status_code] == [503, 200, 200]
    assert [action for _, action, _ in carrier.telnyx.actions] == ["transfer"]


async def test_a_call_whose_answer_is_lost_is_known_by_its_first_webhook_and_given_to_nobody_else(
    carrier: TelnyxCarrier,
) -> None:
    await carrier.configure()
    await carrier.configure(name="Fallback", fallback_order=200)
    command = await carrier.command("call")

    async def report(leg: dict[str, Any]) -> None:
        assert (await carrier.telnyx.event(leg, "call.initiated")).status_code == 200

    carrier.telnyx.before_answer, carrier.telnyx.loses = report, 1
    result = await carrier.providers("call").place(command, carrier.report)
    lead = carrier.telnyx.leg_to(command.to)
    await carrier.telnyx.event(lead, "call.hangup", hangup_cause="user_busy", sip_hangup_cause="486")

    assert (result, len(carrier.telnyx.legs)) == (None, 1)
    await carrier.call(command, outcome="busy")


async def test_a_call_that_is_over_before_its_answer_is_lost_has_its_outcome_at_once(carrier: TelnyxCarrier) -> None:
    await carrier.configure()
    command = await carrier.command("call")

    async def report(leg: dict[str, Any]) -> None:
        await carrier.telnyx.event(leg, "call.hangup", hangup_cause="timeout", sip_hangup_cause="487")

    carrier.telnyx.before_answer, carrier.telnyx.loses = report, 1
    result = await carrier.providers("call").place(command, carrier.report)

    assert result is not None
    assert result.outcome == "no_answer"


async def test_a_call_without_answer_or_webhook_is_unknown_until_one_comes(carrier: TelnyxCarrier) -> None:
    await carrier.configure()
    command = await carrier.command("call")
    carrier.telnyx.loses = 1

    result = await carrier.providers("call").place(command, carrier.report)
    lead = carrier.telnyx.leg_to(command.to)
    await carrier.telnyx.event(lead, "call.hangup", hangup_cause="user_busy", sip_hangup_cause="486")

    assert result is not None
    assert (result.outcome, len(carrier.telnyx.legs)) == ("unknown", 1)
    await carrier.call(command, outcome="busy")


async def test_a_receipt_says_what_became_of_a_text_and_what_it_cost(carrier: TelnyxCarrier) -> None:
    await carrier.configure("sms")
    command = await carrier.command("sms")
    assert await carrier.providers("sms").send(command) is None
    text = next(iter(carrier.telnyx.messages))

    await carrier.telnyx.receipt(text, "sent", name="message.sent")
    waiting = await carrier.orders.find(carrier.company.id, command.command_id)
    await carrier.telnyx.receipt(text, "delivered", cost={"amount": "0.0051", "currency": "USD"})

    order = await carrier.orders.find(carrier.company.id, command.command_id)
    assert waiting is not None
    assert order is not None
    assert order.result is not None
    assert (waiting.has_ended, order.result.outcome, order.result.cost) == (False, "delivered", Decimal("0.0051"))


async def test_a_stop_at_the_carrier_opts_out(carrier: TelnyxCarrier) -> None:
    await carrier.configure("sms")
    command = await carrier.command("sms")
    carrier.telnyx.refusals[command.to] = TelnyxRefusal(400, 40300, "Blocked due to STOP message")

    result = await carrier.providers("sms").send(command)

    assert result is not None
    assert result.outcome == "opted_out"


async def test_a_text_of_a_person_opts_out_once(carrier: TelnyxCarrier) -> None:
    made = await carrier.configure("sms")
    command = await carrier.command("sms")
    payload = {"id": f"m-{command.command_id}", "text": "STOP", "from": {"phone_number": command.to}}
    event = event_of("message.received", {**payload, "to": [{"phone_number": NUMBER}]})

    answers = [await carrier.telnyx.report(made["callback_url"], event) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    await carrier.lead(opt_out=True)


async def test_a_forged_webhook_and_one_about_anothers_order_change_nothing(
    carrier: TelnyxCarrier, town: Any, other: Any
) -> None:
    command, lead = await called(carrier)
    theirs = await TelnyxCarrier(town, other, carrier.telnyx, carrier.connections._http).configure()  # type: ignore[arg-type]
    event = call_event(lead, "call.hangup", **HANGUP)

    forged = await carrier.telnyx.report(lead["webhook_url"], event, key=Ed25519PrivateKey.generate())
    replayed = await carrier.telnyx.report(lead["webhook_url"].replace(command.command_id, "another"), event)
    foreign = await carrier.telnyx.report(f"{theirs['callback_url']}?command_id={command.command_id}", event)

    assert [forged.status_code, replayed.status_code, foreign.status_code] == [403, 403, 404]
    assert (await carrier.orders.find(carrier.company.id, command.command_id)).facts == {}  # type: ignore[union-attr]


@pytest.mark.parametrize(("person", "shown"), [("+13055550123", "+13055550123"), ("anonymous", "+12125550188")])
async def test_an_inbound_call_is_put_through_to_its_buyer(carrier: TelnyxCarrier, person: str, shown: str) -> None:
    buyer = await carrier.company.record("buyers", {"name": "B", "number": "+12125550155"})
    offer = await carrier.company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    url = (await carrier.configure())["callback_url"]
    leg = carrier.telnyx.rings(person, "+12125550188", url)

    routed = await carrier.telnyx.event(leg, "call.initiated", direction="incoming")
    answered = await carrier.telnyx.event(leg, "call.answered")
    to_buyer = carrier.telnyx.leg_to("+12125550155")
    connected = await carrier.telnyx.event(to_buyer, "call.bridged")
    over = await carrier.telnyx.event(to_buyer, "call.hangup", **HANGUP)
    ended = await carrier.telnyx.event(leg, "call.hangup", **HANGUP)

    assert [one.status_code for one in (routed, answered, connected, over, ended)] == [200] * 5
    assert [action for _, action, _ in carrier.telnyx.actions] == ["answer", "transfer", "hangup"]
    call = await carrier.inbound(leg["call_control_id"], outcome="connected_buyer")
    assert (call["buyer_id"], call["provider"], call["from_number"]) == (buyer["id"], "telnyx", person)
    assert (to_buyer["from"], call["caller_number"]) == (shown, person if person == shown else None)


async def test_an_inbound_call_to_a_number_of_nobody_is_rejected(carrier: TelnyxCarrier) -> None:
    url = (await carrier.configure())["callback_url"]
    leg = carrier.telnyx.rings("+13055550123", "+12125550100", url)

    answer = await carrier.telnyx.event(leg, "call.initiated", direction="incoming")

    assert answer.status_code == 200
    assert [action for _, action, _ in carrier.telnyx.actions] == ["reject"]


async def test_keys_are_pressed_on_calls_of_both_directions(carrier: TelnyxCarrier) -> None:
    buyer = await carrier.company.record("buyers", {"name": "B", "number": "+12125550155"})
    offer = await carrier.company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    url = (await carrier.configure())["callback_url"]
    leg = carrier.telnyx.rings("+13055550123", "+12125550188", url)
    await carrier.telnyx.event(leg, "call.initiated", direction="incoming")
    await carrier.telnyx.event(leg, "call.answered")
    call = await carrier.inbound(leg["call_control_id"])

    assert await carrier.press(call["id"], "12#") is not None

    assert carrier.telnyx.actions[-1] == (leg["call_control_id"], "send_dtmf", {"digits": "12#"})
    command, lead = await called(carrier)
    await carrier.telnyx.event(lead, "call.initiated")
    assert await carrier.press(command.call_id, "5") is not None
    assert carrier.telnyx.actions[-1] == (lead["call_control_id"], "send_dtmf", {"digits": "5"})


async def test_keys_of_a_persons_call_are_pressed_by_the_account_that_it_came_by(carrier: TelnyxCarrier) -> None:
    await carrier.company.record("numbers", {"number": "+12125550188"})
    url = (await carrier.configure())["callback_url"]
    leg = carrier.telnyx.rings("+13055550123", "+12125550188", url)
    await carrier.telnyx.event(leg, "call.initiated", direction="incoming")
    call = await carrier.inbound(leg["call_control_id"])
    keys = keys_of(call, carrier.company.id)

    for wrong in (replace(keys, company_id=carrier.company.id + 1), replace(keys, provider_configuration_id=None)):
        assert not await carrier.providers("call").press(wrong)
    assert carrier.telnyx.actions[-1][1] != "send_dtmf"


def keys_of(call: dict[str, Any], company_id: int) -> PressKeys:
    about: dict[str, Any] = {"command_id": "keys", "contact_key": "", "lead_uuid": "", "step_id": "(keys)", "digits": "1"}
    about |= {"lead_id": 0, "enrolment": 0, "attempt": 0, "decided_at": Instant(0), "not_before": Instant(0)}
    leg = {"provider_configuration_id": call["provider_configuration_id"], "provider_ref": call["provider_sid"]}
    return PressKeys(company_id=company_id, call_id=call["id"], **about, **leg)
