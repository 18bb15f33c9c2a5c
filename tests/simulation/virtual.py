"""Where does the simulation run? On an event loop whose time jumps to the next thing that is due: no sockets, no threads."""

import asyncio
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import structlog

from schemas.instant import EPOCH, Instant

BEGUN_AT = Instant(1_780_000_000_000)
"""Some day of 2026: the right wall time at the beginning of a run. Domain time begins at another hour, of it or later."""

TURNS_MAX = 150_000
"""Of the loop in one run: some thirty times what a run takes. More is a busy loop that virtual time would hide."""


def wall_at(seconds: float) -> Instant:
    """Return the right wall time at a time of the loop: the broker's."""
    return BEGUN_AT + int(seconds * 1000)


class NothingLeftError(Exception):
    """Everything waits and no time is set: the run would wait for ever."""


class TooManyTurnsError(Exception):
    """The run does not come to an end: something turns without waiting."""


class _NoSelector:
    """Stands where sockets are waited for: to wait is to move the clock on."""

    def __init__(self, loop: "VirtualLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.turn(timeout)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """asyncio's own loop on virtual time; `on_turn` is called before each turn, which is where anything may be killed.

    What is ready runs in the order that asyncio promises; chance comes in by the delays of the network (network.py).
    """

    def __init__(self, on_turn: Callable[[int], None]) -> None:
        super().__init__()
        self._seconds = 0.0
        self._selector = _NoSelector(self)
        self._on_turn = on_turn
        self.turns = 0
        self.set_task_factory(_owned_task)

    def time(self) -> float:
        """Return the virtual seconds since the start."""
        return self._seconds

    def turn(self, timeout: float | None) -> None:
        """Let the time pass until the next thing is due."""
        self.turns += 1
        if self.turns > TURNS_MAX:
            raise TooManyTurnsError(f"{TURNS_MAX} turns in {self._seconds:.1f} virtual seconds")
        if timeout is None:
            raise NothingLeftError(f"at {self._seconds:.3f} s")
        self._seconds += timeout
        self._on_turn(self.turns)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Run it here: there are no threads."""
        future = self.create_future()
        future.set_result(func(*args))
        return future

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody is asleep."""


class Process:
    """One process of the deployment: it may be frozen and thawed, and killed for good."""

    def __init__(self, name: str, faults: list[str]) -> None:
        self.name = name
        self.faults = faults
        self.is_alive = True
        self.running = asyncio.Event()
        self.running.set()
        self.tasks: dict[asyncio.Task[Any], None] = {}

    def check(self) -> None:
        """A dead process does nothing more, whatever its code would still do while it is taken down."""
        if not self.is_alive:
            raise asyncio.CancelledError

    def freeze(self) -> None:
        """Stop it as a long pause does: it does not notice."""
        self.running.clear()

    def thaw(self) -> None:
        """Let it go on where it was."""
        self.running.set()

    def kill(self) -> None:
        """End it here and now: what it had not sent is never sent."""
        self.is_alive = False
        self.running.set()
        for task in list(self.tasks):
            task.cancel()

    async def gone(self) -> None:
        """Wait until nothing of it is left."""
        while self.tasks:
            await asyncio.wait(list(self.tasks))


PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)

EXPECTED: list[type[BaseException]] = []
"""Errors that a task may end with, because who awaits it deals with them; any other is a finding."""


def _owned_task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
    # What the broker has begun to finish, it finishes, even if the process that asked is dead.
    process = None if getattr(coro, "__qualname__", "").startswith("EmbeddedLog.") else PROCESS.get()
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    if process is not None:
        process.tasks[task] = None
        task.add_done_callback(lambda done: _ended(process, done))
    return task


def _ended(process: Process, task: asyncio.Task[Any]) -> None:
    process.tasks.pop(task, None)
    error = None if task.cancelled() else task.exception()
    if error is not None and process.is_alive and not isinstance(error, tuple(EXPECTED)):
        process.faults.append(f"{process.name}: a task ended with {type(error).__name__}: {error}")


class Era:
    """The right domain time: it runs `speed` times as fast as the loop, and the world may let it skip idle hours."""

    def __init__(self, loop: VirtualLoop, begun_at: Instant, speed: float) -> None:
        self._loop = loop
        self._begun_at = begun_at
        self._seconds = loop.time()
        self.speed = speed
        self._past: list[tuple[float, Instant, float]] = []

    @property
    def speed_max(self) -> float:
        """The highest speed that there was."""
        return max(self.speed, *(speed for _, _, speed in self._past), 0.0)

    def was_at(self, wall: Instant) -> Instant:
        """Return the domain time at a wall time of the past."""
        seconds = (wall - BEGUN_AT) / 1000
        eras = [*self._past, (self._seconds, self._begun_at, self.speed)]
        began, begun_at, speed = next(era for era in reversed(eras) if era[0] <= seconds or era is eras[0])
        return begun_at + int((seconds - began) * 1000 * speed)

    def at(self, seconds: float) -> Instant:
        """Return the domain time at a time of the loop."""
        return self._begun_at + int((seconds - self._seconds) * 1000 * self.speed)

    def now(self) -> Instant:
        """Return the domain time."""
        return self.at(self._loop.time())

    def go_on(self, speed: float, at: Instant = EPOCH) -> None:
        """Run at another speed from here, or from a later time on."""
        self._past.append((self._seconds, self._begun_at, self.speed))
        self._begun_at, self._seconds, self.speed = max(at, self.now()), self._loop.time(), speed


class VirtualClock:
    """The clock of one machine; `skew_seconds` is how far it is wrong."""

    def __init__(self, era: Era) -> None:
        self._era = era
        self.skew_seconds = 0.0

    def now(self) -> Instant:
        """Return the domain time, as far as this machine knows it."""
        return self._era.at(self.monotonic() + self.skew_seconds)

    def monotonic(self) -> float:
        """Return the time of the loop."""
        return asyncio.get_running_loop().time()

    def seconds_until(self, instant: Instant) -> float:
        """Return the seconds until a domain instant."""
        return (instant - self.now()) / 1000 / self._era.speed

    def wall(self) -> Instant:
        """Return the wall time, as far as this machine knows it."""
        return wall_at(self.monotonic() + self.skew_seconds)

    def elapsed(self) -> float:
        """Return the time of the loop: no machine sleeps."""
        return self.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop's time."""
        await asyncio.sleep(seconds)


class Silence:
    """Turns the logs of the code off while a run lasts."""

    def __enter__(self) -> None:
        self._before = structlog.get_config()
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    def __exit__(self, *_: object) -> None:
        structlog.configure(**self._before)
