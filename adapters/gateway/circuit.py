"""May another delivery go to this endpoint now? A bulkhead bounds those in flight; a circuit breaker spares a dead endpoint.

The circuit opens after several failures in a row. A while later it is half-open: one delivery, the probe, goes out. It
closes the circuit or opens it for twice as long. Deliveries wait for that without a slot, and for a bounded time.

Own code: purgatory and aiobreaker let every delivery through a half-open circuit, know one fixed pause, and only raise where
deliveries here have to wait.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable

import structlog
from msgspec import Struct

FAILURES_MAX = 5
"""Failed attempts in a row that open a circuit: more than the three of one delivery."""

PAUSE_SECONDS_MIN = 5.0
"""For a receiver that restarts."""

PAUSE_SECONDS_MAX = 30.0
"""Not longer than a delivery waits at most. With the first pause of 5 s nearly every one sees a probe's result."""

WAIT_SECONDS_MIN = 15.0
WAIT_SECONDS_MAX = 30.0
"""At most about as long as three attempts on an endpoint that hangs. A lead waits two minutes for a webhook's outcome.
Each delivery waits for a random time between these, so that a thousand that came together do not give up together."""

GIVE_UP_STEP_SECONDS = 0.25
"""Deliveries give up at multiples of this, so that those of a step share a commit to the database, an append and a
transaction of their partition: 200 a second one by one took half a core more."""

LEFT_SECONDS_MIN = 0.001
"""Left of the wait of a delivery that the circuit lets pass at the last moment: it may be the probe, and 0 would drop it."""

IN_FLIGHT_MAX = 25
"""To one endpoint: a quarter of what one company alone can hold, so that its other endpoints go on beside a dead one."""

ENDPOINTS_MAX = 10_000
"""The least recently used endpoint is forgotten beyond this, which closes its circuit."""

CIRCUITS_REPORTED_MAX = 100
"""Circuits of one channel that a process reports: 20 kB of its row, and more than somebody reads."""

logger = structlog.get_logger(__name__)


class OpenCircuit(Struct, frozen=True, kw_only=True):
    """A circuit that is open or half-open, as it is reported.

    Seconds are before and after the report, as the clock of this machine may be wrong. 0 seconds to the
    probe: it is half-open. `waiting` are the deliveries that wait for it without a slot.
    """

    company_id: int
    endpoint: str
    failures: int
    open_seconds: float
    probe_in_seconds: float
    waiting: int


class CircuitReport(Struct, frozen=True):
    """The circuits of a channel that are not closed, at most `CIRCUITS_REPORTED_MAX`, and how many more there are."""

    circuits: tuple[OpenCircuit, ...] = ()
    left_out: int = 0


def report_circuits(circuits: Iterable[OpenCircuit]) -> CircuitReport:
    """Return the report of these circuits: companies take turns, each with its most failures first."""
    turns = Counter[int]()
    ranked = []
    for circuit in sorted(circuits, key=lambda one: (-one.failures, one.company_id, one.endpoint)):
        ranked.append((turns[circuit.company_id], circuit))
        turns[circuit.company_id] += 1
    chosen = sorted(ranked, key=lambda one: one[0])[:CIRCUITS_REPORTED_MAX]
    return CircuitReport(tuple(circuit for _, circuit in chosen), len(ranked) - len(chosen))


class Circuit:
    """The state of one circuit. Instants are seconds of a monotonic clock; a delivery is known by its command id."""

    def __init__(self) -> None:
        self.failures = 0
        self.opened_at = 0.0
        """When it opened; probes that fail do not change that."""
        self.opens_at = 0.0
        """When it becomes half-open."""
        self._pause_seconds = 0.0
        self._probe: str | None = None

    @property
    def is_closed(self) -> bool:
        """Return whether every delivery may go."""
        return self._pause_seconds == 0

    def allows(self, at: float) -> bool:
        """Return whether a delivery may go now, as the probe where the circuit is half-open."""
        return self.is_closed or (at >= self.opens_at and self._probe is None)

    def begin(self, command_id: str) -> None:
        """Let a delivery go."""
        if not self.is_closed:
            self._probe = command_id

    def end(self, command_id: str) -> bool:
        """End a delivery; return whether it was a probe that posted nothing (fence, paused webhook): the next probes."""
        is_undecided = self._probe == command_id
        if is_undecided:
            self._probe = None
        return is_undecided

    def succeeded(self) -> None:
        """Note that the endpoint answered."""
        self.failures, self._pause_seconds, self._probe = 0, 0.0, None

    def failed(self, command_id: str, at: float) -> bool:
        """Count a failed attempt; return whether it opened the circuit."""
        self.failures += 1
        has_opened = self._probe == command_id or (self.is_closed and self.failures >= FAILURES_MAX)
        if has_opened:  # else it is still closed, or open already: an attempt of an earlier delivery
            self.opened_at = at if self.is_closed else self.opened_at
            self._pause_seconds = min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, 2 * self._pause_seconds))
            self.opens_at = at + self._pause_seconds
            self._probe = None
        return has_opened


class Endpoint:
    """One endpoint of one company: a `Bulkhead` for its slots, and a circuit."""

    def __init__(self, company_id: int, name: str) -> None:
        self.company_id = company_id
        self.name = name
        self._circuit = Circuit()
        self._in_flight = 0
        self._waiting: dict[asyncio.Future[None], None] = {}

    @property
    def has_capacity(self) -> bool:
        """Return whether one more delivery may be in flight."""
        return self._in_flight < IN_FLIGHT_MAX

    def enter(self) -> None:
        """Count a delivery in."""
        self._in_flight += 1

    def leave(self) -> None:
        """Count a delivery out."""
        self._in_flight -= 1

    async def wait(self, seconds: float) -> float:
        """Wait until the circuit lets a delivery pass, at most `seconds`; return how many are left, 0 where it did not."""
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        while not self._circuit.allows(loop.time()):
            deadline = _step_before(loop.time() + seconds) if deadline is None else deadline
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting[waiter] = None
            try:
                async with asyncio.timeout_at(deadline):
                    await waiter
            except (TimeoutError, asyncio.CancelledError) as error:
                del self._waiting[waiter]
                if waiter.done() and not waiter.cancelled():  # woken in the same moment: wake the next one
                    self._wake_one()
                if isinstance(error, TimeoutError):
                    return 0.0
                raise
            del self._waiting[waiter]
        return seconds if deadline is None else max(LEFT_SECONDS_MIN, deadline - loop.time())

    def begin(self, command_id: str) -> bool:
        """Begin a delivery; False where the circuit has opened meanwhile."""
        if not self._circuit.allows(asyncio.get_running_loop().time()):
            return False
        self._circuit.begin(command_id)
        return True

    def end(self, command_id: str) -> None:
        """End a delivery that was begun."""
        if self._circuit.end(command_id):
            self._wake_one()

    def succeeded(self) -> None:
        """Note that the endpoint answered, whatever it said of the delivery."""
        if not self._circuit.is_closed:
            logger.info("circuit.closed", company_id=self.company_id, endpoint=self.name)
        self._circuit.succeeded()
        for waiter in self._waiting:
            _wake(waiter)

    def failed(self, command_id: str) -> None:
        """Note that the endpoint did not answer, or said that it cannot at present."""
        loop = asyncio.get_running_loop()
        if self._circuit.failed(command_id, loop.time()):
            logger.warning(
                "circuit.opened",
                company_id=self.company_id,
                endpoint=self.name,
                failures=self._circuit.failures,
                pause_seconds=round(self._circuit.opens_at - loop.time(), 1),
            )
            loop.call_at(self._circuit.opens_at, self._wake_one)

    def open_circuit(self) -> OpenCircuit | None:
        """Return the circuit as it is reported; None where it is closed."""
        if self._circuit.is_closed:
            return None
        at = asyncio.get_running_loop().time()
        return OpenCircuit(
            company_id=self.company_id,
            endpoint=self.name,
            failures=self._circuit.failures,
            open_seconds=round(at - self._circuit.opened_at, 3),
            probe_in_seconds=round(max(0.0, self._circuit.opens_at - at), 3),
            waiting=len(self._waiting),
        )

    def refusal(self) -> str:
        """Return why a delivery that waited was not tried, for people to read."""
        return f"not tried: {self.name} has failed {self._circuit.failures} times in a row, and did not recover in time"

    def _wake_one(self) -> None:
        """Wake the delivery that has waited longest; it checks again."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
                return


class Endpoints:
    """The endpoints of one process."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, str], Endpoint] = OrderedDict()

    def of(self, company_id: int, name: str) -> Endpoint:
        """Return an endpoint of a company. Companies never share one: the failures of one do not stop another."""
        endpoint = self._known.get((company_id, name))
        if endpoint is None:
            endpoint = self._known[company_id, name] = Endpoint(company_id, name)
            if len(self._known) > ENDPOINTS_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end((company_id, name))
        return endpoint

    def report(self) -> CircuitReport:
        """Return the circuits that are not closed."""
        found = (endpoint.open_circuit() for endpoint in self._known.values())
        return report_circuits(circuit for circuit in found if circuit is not None)


def _step_before(at: float) -> float:
    """Return the last moment up to an instant of the loop at which deliveries give up."""
    return at // GIVE_UP_STEP_SECONDS * GIVE_UP_STEP_SECONDS


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
