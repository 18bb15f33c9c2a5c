"""Do the clock of a process, at both speeds, and the simulation's keep the promises of `Clock`?"""

import asyncio
from typing import cast

import pytest

from adapters.clock import Origin, SystemClock, wall_now
from engine.partition.ports import Clock
from schemas.instant import Instant
from tests.adapters.clock_contract import ClockContract
from tests.engine.partition.runner_world import HandClock
from tests.simulation.virtual import Era, VirtualClock, VirtualLoop

DOMAIN_AT = Instant(1_781_715_600_000)


class TestWallTime(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return SystemClock()


class TestFastDomainTime(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return SystemClock(Origin(wall_now(), DOMAIN_AT, 60.0))


class TestHand(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return HandClock()


class TestSimulated(ClockContract):
    @pytest.fixture
    async def clock(self) -> Clock:
        loop = cast("VirtualLoop", asyncio.get_running_loop())  # only its time is read
        return VirtualClock(Era(loop, DOMAIN_AT, 30.0))
