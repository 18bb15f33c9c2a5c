"""What became of orders whose reports did not come? Their vendors are asked, each after a while that doubles.

A callback may be lost: this deployment was away, or its public URL was wrong. Several gateways may check: each takes other
orders, and an outcome that two report arrives once.
"""

import asyncio
from contextlib import suppress

import structlog

from adapters.errors import StoreError
from adapters.gateway.ports import NotPlacedError
from adapters.providers.connections import Connections, look_up
from adapters.providers.orders import Orders, StoredOrder
from adapters.providers.ports import ProviderFailedError
from adapters.providers.reports import ProviderReports
from engine.rules import Rules
from schemas.errors import DependencyError
from schemas.records import ProviderChannel

CHECK_SECONDS = 10.0

CHECKED_MAX = 50
"""Orders in one round: a vendor that limits requests to some tens a second has room for new orders beside."""

logger = structlog.get_logger(__name__)


class OrderChecks:
    """Looks up the open orders of one channel."""

    def __init__(
        self, channel: ProviderChannel, *, orders: Orders, connections: Connections, reports: ProviderReports, rules: Rules
    ) -> None:
        self._channel = channel
        self._orders = orders
        self._connections = connections
        self._reports = reports
        self._rules = rules

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            with suppress(StoreError):  # the gateway reports it
                await self.check()

    async def check(self) -> int:
        """Look up the orders that are due; return how many. Raises `StoreError`."""
        due = await self._orders.due(self._channel, CHECKED_MAX)
        await asyncio.gather(*(self._check(order) for order in due))
        return len(due)

    async def _check(self, order: StoredOrder) -> None:
        command_id = order.command.command_id
        try:
            opened = self._connections.open_stored(self._rules, order)
            if await self._reports.settle(opened, order) is not None:
                return
            found = await look_up(opened, order, self._orders)
            if found is not None:
                await self._reports.settle(opened, found)
        except (NotPlacedError, ProviderFailedError, StoreError, DependencyError) as error:
            logger.info("order.unchecked", command_id=command_id, channel=self._channel, reason=str(error))
        except Exception:  # another package's code: the other orders go on
            logger.exception("order.check_failed", command_id=command_id, channel=self._channel)
