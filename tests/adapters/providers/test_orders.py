"""Does a row of an order survive what two gateways, callbacks and look-ups do to it? On a real PostgreSQL."""

from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs

from adapters.gateway.ports import DeliveryResult
from adapters.postgres.provider_orders import PostgresOrders
from adapters.providers.testing import call_command, sms_command

COMPANY = 1


@pytest_asyncio.fixture
async def orders(pool: Any) -> PostgresOrders:
    return PostgresOrders(pool)


async def facts(orders: PostgresOrders, configuration_id: int = 7, company_id: int = COMPANY, **said: str) -> Any:
    return await orders.add_facts(company_id, configuration_id, "c1", facts=said, provider_ref="CA1")


async def test_an_order_is_found_with_its_whole_command(orders: PostgresOrders) -> None:
    await orders.begin(call_command(), "call", 7)

    found = await orders.find(COMPANY, "c1")

    assert found is not None
    assert (found.command.to, found.configuration_id, found.facts, found.has_ended) == ("+12125550101", 7, {}, False)
    assert await orders.find(2, "c1") is None
    assert await orders.find(COMPANY, "c2") is None


async def test_facts_are_added_for_its_company_and_configuration_alone(orders: PostgresOrders) -> None:
    await orders.begin(call_command(), "call", 7)

    assert await facts(orders, configuration_id=8, a="1") is None
    assert await facts(orders, company_id=2, a="1") is None
    await facts(orders, a="1", b="1")
    found = await facts(orders, b="2")

    assert found is not None
    assert (found.facts, found.provider_ref) == ({"a": "1", "b": "2"}, "CA1")


async def test_the_same_configuration_again_erases_nothing_and_another_one_starts_empty(orders: PostgresOrders) -> None:
    await orders.begin(call_command(), "call", 7)
    await facts(orders, a="1")

    await orders.begin(call_command(), "call", 7)
    kept = await orders.find(COMPANY, "c1")
    await orders.begin(call_command(), "call", 8)
    new = await orders.find(COMPANY, "c1")

    assert kept is not None
    assert new is not None
    assert (kept.facts, kept.provider_ref) == ({"a": "1"}, "CA1")
    assert (new.facts, new.provider_ref, new.configuration_id) == ({}, None, 8)


async def test_another_companys_order_of_the_same_id_is_not_taken_over(orders: PostgresOrders) -> None:
    await orders.begin(call_command(), "call", 7)
    await orders.begin(structs.replace(call_command(), company_id=2), "call", 8)

    found = await orders.find(COMPANY, "c1")
    assert found is not None
    assert found.configuration_id == 7
    assert await orders.find(2, "c1") is None


async def test_what_came_of_it_is_kept_and_ends_the_look_ups(orders: PostgresOrders, pool: Any) -> None:
    result = DeliveryResult(outcome="busy", detail="Twilio: busy", provider="twilio")
    await orders.begin(call_command(), "call", 7)
    await pool.execute("UPDATE work.provider_orders SET check_at = clock_timestamp()")

    due = await orders.due("call", 10)
    again = await orders.due("call", 10)
    await pool.execute("UPDATE work.provider_orders SET check_at = clock_timestamp()")
    await orders.end(COMPANY, "c1", result)

    assert [order.command.command_id for order in due] == ["c1"]
    assert list(again) == []  # it was planned for later
    assert list(await orders.due("call", 10)) == []
    found = await orders.find(COMPANY, "c1")
    assert found is not None
    assert (found.result, found.has_ended) == (result, True)


async def test_an_order_of_another_channel_is_not_due(orders: PostgresOrders, pool: Any) -> None:
    await orders.begin(sms_command(), "sms", 7)
    await pool.execute("UPDATE work.provider_orders SET check_at = clock_timestamp()")

    assert list(await orders.due("call", 10)) == []
    assert len(await orders.due("sms", 10)) == 1


async def test_references_of_other_orders_are_known(orders: PostgresOrders) -> None:
    await orders.begin(call_command(), "call", 7)
    await orders.begin(call_command("c2"), "call", 7)
    await orders.begin(call_command("c3"), "call", 8)
    for command_id, configuration_id in (("c2", 7), ("c3", 8)):
        await orders.placed(command_id, configuration_id, f"ref-{command_id}")

    found = await orders.find(COMPANY, "c1")

    assert found is not None
    assert await orders.references(found) == {"ref-c2"}


async def test_old_orders_are_abandoned_and_forgotten(orders: PostgresOrders, pool: Any) -> None:
    await orders.begin(call_command(), "call", 7)
    await pool.execute("UPDATE work.provider_orders SET check_at = asked_at, asked_at = asked_at - interval '6 hours'")

    assert list(await orders.due("call", 10)) == []
    assert await orders.forget(3_600.0) == 1
    assert await orders.find(COMPANY, "c1") is None


async def test_a_part_is_found_by_its_reference_for_its_company_and_configuration_alone(orders: PostgresOrders) -> None:
    await orders.begin(sms_command(), "sms", 7)
    await orders.placed("c1", 7, "1A 1B", ["1A", "1B"])

    assert await orders.find_part(COMPANY, 7, "1B") == ("c1", 2)
    assert await orders.find_part(2, 7, "1B") is None
    assert await orders.find_part(COMPANY, 8, "1B") is None
    assert await orders.find_part(COMPANY, 7, "1C") is None


async def test_a_reference_that_is_used_again_is_the_newest_orders(orders: PostgresOrders) -> None:
    for command_id in ("c1", "c2"):
        await orders.begin(sms_command(command_id), "sms", 7)
        await orders.placed(command_id, 7, "1A", ["1A"])

    assert await orders.find_part(COMPANY, 7, "1A") == ("c2", 1)


@pytest.mark.parametrize(
    ("placed", "receipted"),
    [
        ("1A2B", "1a2b"),
        ("1a2b", "00001A2B"),
        ("0001A2B", "1a2b"),
        ("1A", "26"),  # decimal in the receipt
        ("26", "1A"),  # hexadecimal in the receipt
        ("0000000026", "0000001a"),
        ("4f9c-AB", "4F9C-ab"),
        ("123456789012345678901234567890", "18EE90FF6C373E0EE4E3F0AD2"),
    ],
)
async def test_a_reference_in_another_spelling_fits_the_one_order_that_waits(
    orders: PostgresOrders, placed: str, receipted: str
) -> None:
    await orders.begin(sms_command(), "sms", 7)
    await orders.placed("c1", 7, placed, [placed])

    assert await orders.find_part(COMPANY, 7, receipted) is None
    assert await orders.find_alike(COMPANY, 7, receipted) == ("c1", 1)
    assert await orders.find_alike(2, 7, receipted) is None
    assert await orders.find_alike(COMPANY, 8, receipted) is None


async def test_a_reference_that_fits_two_orders_or_one_that_has_ended_fits_none(orders: PostgresOrders) -> None:
    for command_id, reference in (("c1", "1A"), ("c2", "26")):
        await orders.begin(sms_command(command_id), "sms", 7)
        await orders.placed(command_id, 7, reference, [reference])
    assert await orders.find_alike(COMPANY, 7, "01a") is None, "hexadecimal or decimal"

    await orders.end(COMPANY, "c2", DeliveryResult(outcome="delivered", rang=False))
    assert await orders.find_alike(COMPANY, 7, "01a") == ("c1", 1)
    await orders.end(COMPANY, "c1", DeliveryResult(outcome="sent", rang=False))
    assert await orders.find_alike(COMPANY, 7, "01a") == ("c1", 1), "its receipt is only late"
    await orders.end(COMPANY, "c1", DeliveryResult(outcome="undelivered", rang=False))
    assert await orders.find_alike(COMPANY, 7, "01a") is None


async def test_parts_are_forgotten_with_their_orders(orders: PostgresOrders, pool: Any) -> None:
    await orders.begin(sms_command(), "sms", 7)
    await orders.placed("c1", 7, "1A", ["1A"])

    await orders.forget(3600)
    kept = await pool.fetchval("SELECT count(*) FROM work.provider_order_parts")
    await orders.forget(0)

    assert (kept, await pool.fetchval("SELECT count(*) FROM work.provider_order_parts")) == (1, 0)
