"""Is it noticed that the machine stood still, or that its clock was set?"""

import pytest

from tests.machine_watch import MachineWatch, judge


@pytest.mark.parametrize(
    ("wall_seconds", "seconds", "notes"),
    [
        (0.5, 0.5, []),
        (3.4, 3.4, []),
        (4.0, 4.0, ["00:00:01: nothing ran for 4.0 s"]),
        (60.5, 0.5, ["00:00:01: the clock jumped by +60.0 s"]),
        (-1.5, 0.5, ["00:00:01: the clock jumped by -2.0 s"]),
        (0.0, 9.0, ["00:00:01: nothing ran for 9.0 s", "00:00:01: the clock jumped by -9.0 s"]),
    ],
)
def test_a_pause_and_a_jump_of_the_clock_are_noted(wall_seconds: float, seconds: float, notes: list[str]) -> None:
    assert judge(1.0, wall_seconds, seconds) == notes


def test_a_watch_ends_when_it_is_stopped() -> None:
    watch = MachineWatch()
    watch.stop()
    assert not watch._thread.is_alive()
