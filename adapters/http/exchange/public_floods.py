"""Does somebody without a key try one number after another? A log line names whose token, from where, and by which form.

Forms bring a person now and then. A hundred persons in a minute by one token come from a program: it fishes for who is a
lead, opts strangers out, or fills a schedule. Opt-outs are taken all the same, so somebody must hear of it.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable

import structlog
from msgspec import Struct, field

WINDOW_SECONDS = 60.0
PERSONS_LEAST = 100
"""Persons within a window that are a flood; every doubling is said again."""

TARGETS_MAX = 1_000
"""Tokens that are watched; the one that was used longest ago is dropped."""

PERSONS_MAX = 10_000
"""Persons that are counted of a window, at some 100 bytes."""

NAMED_MAX = 5
"""Addresses and forms that one line names, those of the most requests first."""

logger = structlog.get_logger(__name__)


class FloodWindow(Struct):
    """What came by one token since a moment of the monotonic clock."""

    begun_at: float
    persons: set[str] = field(default_factory=set)
    addresses: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    said_at_count: int = PERSONS_LEAST


class PublicFloods:
    """The requests without a key of one process, by token."""

    def __init__(self, count: Callable[[], None] = lambda: None) -> None:
        """`count` is called with each line, for a metric."""
        self._count = count
        self._windows: OrderedDict[tuple[int, str], FloodWindow] = OrderedDict()

    def record(self, company_id: int, target: str, contact_key: str, *, address: str, form: str, at: float) -> None:
        """Record a request about a person at a moment of the monotonic clock; log where it makes a flood.

        `target` is the offer or schedule of the token: the token itself is no log's to know.
        """
        name = (company_id, target)
        window = self._windows.pop(name, None)
        if window is None or at - window.begun_at > WINDOW_SECONDS:
            window = FloodWindow(begun_at=at)
        self._windows[name] = window
        if len(self._windows) > TARGETS_MAX:
            self._windows.popitem(last=False)
        if len(window.persons) < PERSONS_MAX:
            window.persons.add(contact_key)
        window.addresses[address] += 1
        window.forms[form] += 1
        if len(window.addresses) > PERSONS_MAX:
            window.addresses = Counter(dict(window.addresses.most_common(NAMED_MAX)))
        if len(window.persons) >= window.said_at_count:
            window.said_at_count *= 2
            self._count()
            _say(company_id, target, window, at)


def _say(company_id: int, target: str, window: FloodWindow, at: float) -> None:
    logger.warning(
        "public_requests.flood",
        company_id=company_id,
        target=target,
        what=f"{len(window.persons)} numbers in {max(1, round(at - window.begun_at))} s",
        addresses=[address for address, _ in window.addresses.most_common(NAMED_MAX)],
        forms=[form for form, _ in window.forms.most_common(NAMED_MAX)],
    )
