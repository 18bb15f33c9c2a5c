"""Does a call by a company's Asterisk become an outcome, and a person's call to it one of a buyer? With the API between."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.gateway.ports import NotPlacedError
from tests.adapters.http.asterisk_carrier import AsteriskCarrier
from tests.adapters.http.carrier import delete_accounts
from tests.adapters.providers.asterisk_office import local_http, until
from tests.adapters.providers.fake_asterisk import PASSWORD, FakeAsterisk

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTINUE = {"machine": "continue"}


@pytest_asyncio.fixture(loop_scope="session")
async def asterisk() -> AsyncIterator[FakeAsterisk]:
    async with FakeAsterisk() as fake:
        yield fake


@pytest_asyncio.fixture(loop_scope="session")
async def carrier(town: Any, company: Any, asterisk: FakeAsterisk) -> AsyncIterator[AsteriskCarrier]:
    """A company that has an Asterisk, which a gateway listens to."""
    async with local_http() as http:
        found = AsteriskCarrier(town, company, http, asterisk.url, PASSWORD)
        await found.configure()
        async with found.listened():
            await until(lambda: asterisk.listeners, what="a listener")
            yield found
        await delete_accounts(company)


async def placed(carrier: AsteriskCarrier, **step: Any) -> tuple[Any, str]:
    command = await carrier.command("call", **CONTINUE, **step)
    assert await carrier.providers("call").place(command, carrier.report) is None
    return command, f"lc.{command.command_id}"


def bridge_of(lead: str) -> str:
    return lead.replace("lc.", "lct.", 1)


async def test_a_call_is_answered_and_put_through_and_its_outcome_is_reported(
    carrier: AsteriskCarrier, asterisk: FakeAsterisk
) -> None:
    command, lead = await placed(carrier)
    asterisk.rings(lead)
    asterisk.answers(lead)
    await until(lambda: f"{lead}.b0" in asterisk.channels, what="the buyer's leg")
    asterisk.answers(f"{lead}.b0")
    await until(lambda: f"{lead}.b0" in asterisk.bridges.get(bridge_of(lead), []), what="the bridge")

    asterisk.ends(lead)

    found = await carrier.call(command, outcome="connected_buyer")
    assert (found["provider"], found["provider_sid"], found["hung_up_by"]) == ("asterisk", lead, "caller")
    assert [one.state for one in carrier.reported] == ["initiated"]
    await until(lambda: not asterisk.channels, what="the end of the buyer's leg")
    assert (await carrier.orders.find(carrier.company.id, command.command_id)).has_ended  # type: ignore[union-attr]


async def test_of_several_buyers_the_first_that_answers_is_the_calls(
    carrier: AsteriskCarrier, asterisk: FakeAsterisk
) -> None:
    buyers = [
        await carrier.company.record("buyers", {"name": name, "number": f"+1212555016{place}"})
        for place, name in enumerate("ABC")
    ]
    ids = [buyer["id"] for buyer in buyers]
    group = await carrier.company.record(
        "buyer_groups", {"name": "G", "buyer_ids": ids, "dial_buyers_type": "simultaneously"}
    )
    command, lead = await placed(carrier, connect={"buyer_group_id": group["id"]})
    asterisk.answers(lead)
    legs = [f"{lead}.b{buyer_id}" for buyer_id in ids]
    await until(lambda: set(legs) <= set(asterisk.channels), what="three legs")

    asterisk.answers(legs[1])
    asterisk.answers(legs[2])
    await until(lambda: asterisk.bridges.get(bridge_of(lead)) == [lead, legs[1]], what="the bridge")
    await until(lambda: set(asterisk.channels) == {lead, legs[1]}, what="the end of the others")
    asterisk.ends(legs[1])

    assert (await carrier.call(command, outcome="connected_buyer"))["buyer_id"] == ids[1]


@pytest.mark.parametrize(("person", "shown"), [("+13055550123", "+13055550123"), ("", "+12125550188")])
async def test_a_persons_call_is_routed_to_a_buyer(
    carrier: AsteriskCarrier, asterisk: FakeAsterisk, person: str, shown: str
) -> None:
    buyer = await carrier.company.record("buyers", {"name": "B", "number": "+12125550155"})
    offer = await carrier.company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await carrier.company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    reference = f"pbx-{carrier.company.id}.1"

    asterisk.calls_in(reference, person, "+12125550188")
    leg = f"lci.{person.lstrip('+') or '0'}.12125550188.b{buyer['id']}.{reference}"
    await until(lambda: leg in asterisk.channels, what="the buyer's leg")
    asterisk.answers(leg)
    await until(lambda: asterisk.bridges.get(f"lci.{reference}") == [reference, leg], what="the bridge")
    assert await carrier.press((await carrier.inbound(reference))["id"], "12#") is not None
    assert asterisk.tones[-1] == (reference, "12#")
    asterisk.ends(leg)

    call = await carrier.inbound(reference, outcome="connected_buyer")
    assert (call["buyer_id"], call["provider"], call["caller_number"]) == (buyer["id"], "asterisk", person or None)
    assert asterisk.originated[-1]["callerId"] == shown
    await until(lambda: not asterisk.channels, what="the end of the call")


@pytest.mark.usefixtures("carrier")
async def test_a_persons_call_to_a_number_of_nobody_is_rejected(asterisk: FakeAsterisk) -> None:
    asterisk.calls_in("pbx.2", "+13055550123", "+12125550100")

    await until(lambda: not asterisk.channels, what="the end of the call")
    assert asterisk.originated == []


async def test_the_next_account_is_asked_only_where_asterisk_made_no_channel(
    carrier: AsteriskCarrier, asterisk: FakeAsterisk
) -> None:
    first = {"endpoint": "PJSIP/{number}@gone"}
    await carrier.configure(name="Gone", settings=first, fallback_order=0)
    _, lead = await placed(carrier)
    assert [one["id"] for one in asterisk.originated] == [lead]

    command = await carrier.command("call", **CONTINUE)
    asterisk.fails = 1
    await carrier.providers("call").place(command, carrier.report)

    assert [one["id"] for one in asterisk.originated] == [lead], "after a 503 nobody knows: no other account is asked"


async def test_an_order_whose_answer_was_lost_goes_on_and_is_placed_once(
    carrier: AsteriskCarrier, asterisk: FakeAsterisk
) -> None:
    asterisk.loses = 1
    command, lead = await placed(carrier)
    asterisk.ends(lead, 17, sip=486)

    await carrier.call(command, outcome="busy")
    assert len(asterisk.originated) == 1


async def test_one_gateway_listens_and_another_takes_over_when_it_ends(
    town: Any, company: Any, asterisk: FakeAsterisk
) -> None:
    async with local_http() as http:
        carrier = AsteriskCarrier(town, company, http, asterisk.url, PASSWORD)
        await carrier.configure()
        first, second = carrier.streams("first"), carrier.streams("second")
        async with first.running():
            await until(lambda: asterisk.listeners == 1, what="the first listener")
            await second.turn()
            assert not second.listens_to(await configuration_of(carrier))
        async with second.running():
            await until(lambda: asterisk.listeners == 2, what="the second listener")


async def test_a_deleted_account_is_listened_to_no_more(town: Any, company: Any, asterisk: FakeAsterisk) -> None:
    async with local_http() as http:
        carrier = AsteriskCarrier(town, company, http, asterisk.url, PASSWORD)
        await carrier.configure()
        async with carrier.listened():
            await until(lambda: asterisk.listeners == 1, what="a listener")
            number = await configuration_of(carrier)
            await company.send("DELETE", f"/api/v1/provider_configurations/{number}")
            await until(lambda: not asterisk.is_listened_to, what="an end of the listening")


async def configuration_of(carrier: AsteriskCarrier) -> int:
    (configuration,) = await carrier.configurations()
    number: int = configuration["id"]
    return number


async def test_a_call_that_needs_more_than_the_account_has_is_not_placed(carrier: AsteriskCarrier) -> None:
    command = await carrier.command("call")  # it asks for the detection of machines, which this account has not

    with pytest.raises(NotPlacedError, match="does not listen for machines"):
        await carrier.providers("call").place(command, carrier.report)
