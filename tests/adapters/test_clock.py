"""Is a clock that was set found out, and a night's sleep of the machine not taken for that?"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters import clock as clocks
from adapters.clock import SystemClock
from adapters.partitions.host import PartitionHost
from adapters.roles.group import CLOCK_SET, GroupRole
from schemas.instant import Instant
from schemas.topics import CONTACTS_REQUESTS, LEADS_INBOX

BEGUN_AT = Instant(1_781_715_600_000)
"""17 June 2026, 17:00 UTC."""


class Machine:
    """Wall time in milliseconds and the seconds since the machine was started, as a test sets them."""

    wall = BEGUN_AT
    elapsed = 100.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(clocks, "wall_now", lambda: machine.wall)
    monkeypatch.setattr(clocks, "_elapsed", lambda: machine.elapsed)
    return machine


@pytest.mark.parametrize(("set_by", "was_set"), [(0, False), (30, False), (31, True), (-30, False), (-31, True)])
def test_a_clock_that_was_set_is_not_trusted_until_it_is_put_right_and_the_role_says_so(
    machine: Machine, set_by: int, was_set: bool
) -> None:
    clock = SystemClock()
    role = GroupRole("intake", LEADS_INBOX, cast("Any", SimpleNamespace(clock=clock)), cast("Any", None))
    role._problem = None
    machine.wall += set_by * 1000
    assert clock.was_set() is was_set
    assert (role.problems() == {"clock": CLOCK_SET}) is was_set
    machine.wall -= set_by * 1000
    assert not clock.was_set()
    assert "clock" not in role.problems()


def test_a_role_is_not_ready_while_the_time_of_one_of_its_partitions_is_ahead() -> None:
    role = GroupRole("scheduler", CONTACTS_REQUESTS, cast("Any", SimpleNamespace(clock=SystemClock())), cast("Any", None))
    role._problem = None
    host = PartitionHost("scheduler", cast("Any", None), cast("Any", None))
    host.workers = {0: cast("Any", SimpleNamespace(problem=None)), 1: cast("Any", SimpleNamespace(problem="it is ahead"))}
    host.ready = {0, 1}
    host._tasks = {0: cast("Any", None), 1: cast("Any", None)}
    host._unassigned = None
    role._host = host
    assert role.problems() == {"partition 1": "it is ahead"}


def test_a_machine_that_slept_for_a_night_goes_on(machine: Machine) -> None:
    clock = SystemClock()
    machine.wall += 8 * 3_600_000
    machine.elapsed += 8 * 3_600
    assert not clock.was_set()
    assert clock.now() == BEGUN_AT + 8 * 3_600_000
