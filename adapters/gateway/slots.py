"""Who goes next where more orders wait than are carried out at once? Companies take turns, each with its most urgent order.

An order whose endpoint does not answer waits for it without a slot, and for a bounded time.
"""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.fair_slots import FairSlots
from adapters.gateway.channels import Channel
from adapters.gateway.circuit import WAIT_SECONDS_MAX, WAIT_SECONDS_MIN
from schemas.commands import Command


class Slots:
    """The slots of one channel."""

    def __init__(self, channel: Channel) -> None:
        self._slots = FairSlots(channel.concurrent_max)
        self._endpoint_of = channel.endpoint_of

    @asynccontextmanager
    async def taken_for(self, order: Command) -> AsyncIterator[str | None]:
        """Wait for a slot and hold it for the block. Gives None, or why the order is not to be tried.

        Also who is not to be tried takes a slot: its end is written down by the same database as everybody's.
        """
        due_at = order.not_before if order.due_at is None else order.due_at
        rank = order.urgency_class, order.priority, due_at, order.lead_id
        endpoint = None if self._endpoint_of is None else self._endpoint_of(order)
        if endpoint is None:
            async with self._slots.taken_for(order.company_id, rank):
                yield None
            return
        seconds = random.uniform(WAIT_SECONDS_MIN, WAIT_SECONDS_MAX)  # noqa: S311 - spreads what gives up, hides nothing
        while (seconds := await endpoint.wait(seconds)) > 0:
            async with self._slots.taken_for(order.company_id, rank, endpoint):
                if endpoint.begin(order.command_id):
                    try:
                        yield None
                    finally:
                        endpoint.end(order.command_id)
                    return
        async with self._slots.taken_for(order.company_id, rank):
            yield endpoint.refusal()
