"""Which command goes next where more wait than there are slots? Companies share fairly, each with its most urgent first.

While a circuit is open, commands to its endpoint wait without a slot, for a bounded time.
"""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.fair_semaphore import FairSemaphore
from adapters.gateway.channels import Channel
from adapters.gateway.circuit import WAIT_SECONDS_MAX, WAIT_SECONDS_MIN
from schemas.commands import Command


class PrioritySemaphore:
    """The slots of one channel."""

    def __init__(self, channel: Channel) -> None:
        self._slots = FairSemaphore(channel.concurrent_max)
        self._endpoint_of = channel.endpoint_of

    @asynccontextmanager
    async def acquire(self, command: Command) -> AsyncIterator[str | None]:
        """Wait for a slot and hold it for the block. Yields None, or why the command must not be attempted.

        A command that must not be attempted takes a slot too: its outcome goes to the same database as all others.
        """
        due_at = command.not_before if command.due_at is None else command.due_at
        rank = command.urgency_class, command.priority, due_at, command.lead_id
        endpoint = None if self._endpoint_of is None else self._endpoint_of(command)
        if endpoint is None:
            async with self._slots.acquire(command.company_id, rank):
                yield None
            return
        seconds = random.uniform(WAIT_SECONDS_MIN, WAIT_SECONDS_MAX)  # noqa: S311 - jitter, no secret
        while (seconds := await endpoint.wait(seconds)) > 0:
            async with self._slots.acquire(command.company_id, rank, endpoint):
                if endpoint.begin(command.command_id):
                    try:
                        yield None
                    finally:
                        endpoint.end(command.command_id)
                    return
        async with self._slots.acquire(command.company_id, rank):
            yield endpoint.refusal()
