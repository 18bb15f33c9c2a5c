"""Is the next account asked only where nothing was placed, and does a crash leave nobody called twice?"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs

from adapters.errors import StoreError
from adapters.gateway.configured import ConfiguredProviders
from adapters.gateway.leases import Lease, under
from adapters.gateway.ports import DeliveryResult, LeaseLostError, NotPlacedError, UnwrittenOrderError
from adapters.providers.checks import OrderChecks
from adapters.providers.reports import ProviderReports
from schemas.commands import HangUp
from tests.adapters.http.carrier import NUMBER, Carrier, carried
from tests.adapters.http.conftest import Town

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: a gateway of this file carries out the commands of all companies."""
    return own_town


@pytest_asyncio.fixture(loop_scope="session")
async def carrier(town: Any, company: Any) -> AsyncIterator[Carrier]:
    async with carried(town, company) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def second(town: Any, company: Any) -> AsyncIterator[Carrier]:
    """A second carrier of the same company."""
    async with carried(town, company) as found:
        yield found


async def both(carrier: Carrier, second: Carrier) -> Any:
    """Configure both, the second as the fallback; return a command to call."""
    await carrier.configure()
    await second.configure(name="Fallback", fallback_order=200)
    return await carrier.command("call")


async def test_the_next_account_is_asked_where_the_first_refuses_for_its_own_sake(carrier: Carrier, second: Carrier) -> None:
    command = await both(carrier, second)
    carrier.twilio.refusals[command.to] = (403, 20005)

    result = await carrier.providers("call").place(command, carrier.report)

    assert result is None
    assert (len(carrier.twilio.calls), len(second.twilio.calls)) == (0, 1)


async def test_a_number_that_does_not_exist_is_tried_with_nobody_else(carrier: Carrier, second: Carrier) -> None:
    command = await both(carrier, second)
    carrier.twilio.refusals[command.to] = (400, 21211)

    result = await carrier.providers("call").place(command, carrier.report)

    assert result is not None
    assert (result.outcome, result.provider, len(second.twilio.requests)) == ("invalid_number", "twilio", 0)


async def test_an_account_that_cannot_be_reached_is_passed_over(carrier: Carrier, second: Carrier) -> None:
    await carrier.configure(settings={"account_sid": "AC1", "base_url": "http://127.0.0.1:1", "agent_number": NUMBER})
    await second.configure(name="Fallback", fallback_order=200)
    command = await carrier.command("call")

    assert await carrier.providers("call").place(command, carrier.report) is None
    assert len(second.twilio.calls) == 1


async def test_an_order_whose_answer_is_lost_is_found_and_given_to_nobody_else(carrier: Carrier, second: Carrier) -> None:
    command = await both(carrier, second)
    carrier.twilio.loses = 1

    result = await carrier.providers("call").place(command, carrier.report)

    assert result is None  # it was found: its callbacks say the rest
    assert (len(carrier.twilio.calls), len(second.twilio.requests)) == (1, 0)
    order = await carrier.orders.find(carrier.company.id, command.command_id)
    assert order is not None
    assert order.provider_ref in carrier.twilio.calls


@pytest.mark.parametrize("failures", [1, 4])
async def test_a_5xx_stays_unknown_and_is_given_to_nobody_else(carrier: Carrier, second: Carrier, failures: int) -> None:
    command = await both(carrier, second)
    carrier.twilio.fails = failures

    result = await carrier.providers("call").place(command, carrier.report)

    assert result is not None
    assert (result.outcome, len(carrier.twilio.calls), len(second.twilio.requests)) == ("unknown", 0, 0)


async def test_without_a_configuration_nothing_is_placed_and_the_sentence_says_so(carrier: Carrier) -> None:
    await carrier.configure("sms")
    command = await carrier.command("call")

    with pytest.raises(NotPlacedError, match="no provider configuration for this call"):
        await carrier.providers("call").place(command, carrier.report)


async def test_another_companys_configuration_is_never_used(carrier: Carrier, town: Any, other: Any) -> None:
    async with carried(town, other) as theirs:
        await theirs.configure()
        command = await carrier.command("call")
        with pytest.raises(NotPlacedError):
            await carrier.providers("call").place(command, carrier.report)
        assert theirs.twilio.requests == []


async def test_a_paused_configuration_and_one_without_its_secret_are_not_used(carrier: Carrier) -> None:
    paused = await carrier.configure(paused=True)
    command = await carrier.command("call")
    with pytest.raises(NotPlacedError):
        await carrier.providers("call").place(command, carrier.report)

    path = f"/api/v1/provider_configurations/{paused['id']}"
    await carrier.company.send("PUT", path, json={"paused": False, "secrets": {"auth_token": None}})
    with pytest.raises(NotPlacedError, match="set its secrets auth_token"):
        await carrier.providers("call").place(command, carrier.report)
    assert carrier.twilio.requests == []


async def test_a_configuration_for_the_number_goes_before_one_for_all(carrier: Carrier, second: Carrier) -> None:
    command = await carrier.command("call")
    number = (await carrier.company.send("GET", "/api/v1/numbers")).json()["numbers"][0]
    await carrier.configure(fallback_order=1)
    await second.configure(name="Of the number", fallback_order=500, number_ids=[number["id"]])

    await carrier.providers("call").place(command, carrier.report)

    assert (len(carrier.twilio.calls), len(second.twilio.calls)) == (0, 1)


async def test_a_dead_account_is_spared_after_some_failures_and_the_fallback_takes_all(
    carrier: Carrier, second: Carrier
) -> None:
    await carrier.configure(settings={"account_sid": "AC1", "base_url": "http://127.0.0.1:1", "agent_number": NUMBER})
    await second.configure(name="Fallback", fallback_order=200)
    command, providers = await carrier.command("call"), carrier.providers("call")

    for place in range(8):
        await providers.place(structs.replace(command, command_id=f"{command.command_id}/{place}"), carrier.report)

    assert len(second.twilio.calls) == 8
    dead = (await carrier.configurations())[0]["id"]
    assert not providers.endpoint_of(command.company_id, dead).begin("probe")
    (reported,) = providers.report_circuits().circuits
    assert (reported.company_id, reported.endpoint) == (command.company_id, f"provider_configuration {dead}")


async def test_an_outage_of_our_database_counts_as_no_failure_of_an_account(carrier: Carrier, second: Carrier) -> None:
    command, providers = await both(carrier, second), carrier.providers("call")
    begin = providers._orders.begin

    async def fail(*_: Any, **__: Any) -> bool:
        raise StoreError("the database is away")

    providers._orders.begin = fail  # type: ignore[method-assign]
    for place in range(8):
        with pytest.raises(UnwrittenOrderError, match="could not be written down"):
            await providers.place(structs.replace(command, command_id=f"{command.command_id}/{place}"), carrier.report)
    providers._orders.begin = begin  # type: ignore[method-assign]

    assert await providers.place(command, carrier.report) is None
    assert (len(carrier.twilio.calls), len(second.twilio.requests)) == (1, 0)


async def test_an_order_that_another_gateway_has_taken_over_is_given_to_no_configuration(carrier: Carrier) -> None:
    await carrier.configure()
    command, providers = await carrier.command("call"), carrier.providers("call")
    lease = Lease(command.command_id, "an earlier claim", carrier.town.context.clock)
    lease.ends_at = float("inf")

    with under(lease), pytest.raises(LeaseLostError, match="was taken over"):
        await providers.place(command, carrier.report)

    assert (carrier.twilio.calls, await providers.was_given(command)) == ({}, False)


class Crash(Exception):  # noqa: N818 - the process ends
    pass


POINTS = ("before the order is written down", "before it is sent", "before its answer", "after its answer")


@pytest.mark.parametrize("point", POINTS)
async def test_a_gateway_that_ends_anywhere_leaves_one_call_and_nothing_unknown(carrier: Carrier, point: str) -> None:
    await carrier.configure()
    command = await carrier.command("call")
    crashing = carrier.providers("call")
    await _crash(crashing, carrier, command, point)

    taking_over = carrier.providers("call")
    result: DeliveryResult | None
    if await taking_over.was_given(command):
        result = await taking_over.resume(command)
    else:
        result = await taking_over.place(command, carrier.report)

    placed = list(carrier.twilio.calls.values())
    if point == "before it is sent":  # a search finds nothing, which proves nothing
        assert (result.outcome if result else None, placed) == ("unknown", [])
        return
    assert (result, len(placed)) == (None, 1)
    await carrier.twilio.status(placed[0]["sid"], "busy")
    await carrier.call(command, outcome="busy")


async def _crash(crashing: ConfiguredProviders, carrier: Carrier, command: Any, point: str) -> None:
    orders = crashing._orders
    if point == "before the order is written down":
        return
    if point == "before it is sent":
        await orders.begin(command, "call", (await carrier.configurations())[0]["id"])
        return

    async def crash(_: Any) -> None:
        raise Crash

    if point == "before its answer":
        carrier.twilio.loses = 1
        crashing.resume = crash  # type: ignore[method-assign,assignment]
    else:

        async def placed(*_: Any) -> None:
            raise Crash

        crashing._placed = placed  # type: ignore[method-assign,assignment]
    with pytest.raises(Crash):
        await crashing.place(command, carrier.report)


async def test_an_order_whose_callbacks_are_lost_is_looked_up(carrier: Carrier) -> None:
    command, call = await carrier.place()
    call |= {"status": "completed", "duration": "40", "price": "-0.02"}
    carrier.twilio.leg(call["sid"], "completed", 30)
    town = carrier.town
    await town.pool.execute("UPDATE work.provider_orders SET check_at = clock_timestamp() - interval '1 hour'")
    checks = OrderChecks(
        "call",
        orders=carrier.orders,
        connections=carrier.connections,
        reports=ProviderReports(town.requests, carrier.orders, town.context.clock.now),
        rules=town.context.rules.rules,
    )

    await checks.check()

    found = await carrier.call(command, outcome="connected_buyer")
    assert (found["cost"], found["talk_duration"]) == (0.02, 30)
    assert not [order for order in await carrier.orders.due("call", 100) if order.command.command_id == command.command_id]


async def test_a_call_is_hung_up_by_another_gateway(carrier: Carrier) -> None:
    command, call = await carrier.place()
    hang_up = HangUp(
        **{
            name: getattr(command, name)
            for name in (
                *("company_id", "contact_key", "lead_id", "lead_uuid", "step_id", "enrolment", "attempt"),
                *("decided_at", "not_before"),
            )
        },
        command_id="another",
        call_id=command.call_id,
        call_command_id=command.command_id,
    )

    assert await carrier.providers("call").hang_up(hang_up)
    assert call["status"] == "completed"
    assert not await carrier.providers("call").hang_up(structs.replace(hang_up, company_id=command.company_id + 1))
