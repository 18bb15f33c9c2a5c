"""Did this machine stand still, or change its clock, while the tests ran? Said at the end of a run that failed.

A bound in real time that was not kept says nothing of our code then.
"""

import threading
import time

LOOK_SECONDS = 0.5
STILL_SECONDS = 3.0
"""A thread that sleeps for half a second and wakes so late was not let run: no test keeps a bound of a second then."""

CLOCK_SECONDS = 1.0
"""By so much the wall clock may drift from the monotonic one between two looks."""

NOTES_MAX = 20


class MachineWatch:
    """Looks twice a second, from a thread of its own, until it is stopped."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="machine watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        last_wall, last = time.time(), time.monotonic()
        while not self._over.wait(LOOK_SECONDS):
            wall, now = time.time(), time.monotonic()
            self.notes += judge(last_wall, wall - last_wall, now - last)
            del self.notes[NOTES_MAX:]
            last_wall, last = wall, now


def judge(began_at: float, wall_seconds: float, seconds: float) -> list[str]:
    """Return what was odd between two looks, the first at `began_at` of the wall clock."""
    at = time.strftime("%H:%M:%S", time.gmtime(began_at))
    notes = []
    if seconds > LOOK_SECONDS + STILL_SECONDS:
        notes.append(f"{at}: nothing ran for {seconds:.1f} s")
    if abs(wall_seconds - seconds) > CLOCK_SECONDS:
        notes.append(f"{at}: the clock jumped by {wall_seconds - seconds:+.1f} s")
    return notes
