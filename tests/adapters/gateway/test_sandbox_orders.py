"""Does what was given to the sandbox outlive its gateway, and is it forgotten in time? On a real PostgreSQL."""

from typing import Any

import pytest
import pytest_asyncio

from adapters.gateway.ports import SandboxOrders
from adapters.gateway.sandbox import MemoryOrders
from adapters.postgres.sandbox_orders import PostgresSandboxOrders
from schemas.instant import DAY, EPOCH
from tests.adapters.gateway.sandbox_orders_contract import SandboxOrdersContract


class TestMemoryOrders(SandboxOrdersContract):
    @pytest.fixture
    def orders(self) -> SandboxOrders:
        return MemoryOrders()


class TestPostgresSandboxOrders(SandboxOrdersContract):
    @pytest_asyncio.fixture
    async def orders(self, pool: Any) -> SandboxOrders:
        return PostgresSandboxOrders(pool)


async def test_orders_of_before_an_instant_are_forgotten(pool: Any) -> None:
    orders = PostgresSandboxOrders(pool)
    await orders.begin("old", EPOCH + DAY, None)
    await orders.begin("new", EPOCH + 9 * DAY, None)

    assert await orders.forget(EPOCH + 9 * DAY) == 1
    assert [await orders.find(name) for name in ("old", "new")] == [None, EPOCH + 9 * DAY]
