"""Does another company use this process now? Only then do reports and exports of one company pause between two (cooldown).

The reports of a company that is alone follow each other at once.
"""

from collections import OrderedDict
from collections.abc import Callable

ACTIVE_SECONDS = 10.0
"""A company counts as active for this long after its last request: longer than people pause between two clicks."""

COMPANIES_MAX = 1_000
"""Companies remembered; only the latest two matter."""


class ActiveCompanies:
    """The companies of the latest requests of this process."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._last_requests: OrderedDict[int, float] = OrderedDict()
        """Company -> monotonic seconds of its last request, the latest last."""

    def record_request(self, company_id: int) -> None:
        """Record a request of a company."""
        self._last_requests[company_id] = self._monotonic()
        self._last_requests.move_to_end(company_id)
        if len(self._last_requests) > COMPANIES_MAX:
            self._last_requests.popitem(last=False)

    def has_others(self, company_id: int) -> bool:
        """Return whether another company sent a request within `ACTIVE_SECONDS`."""
        latest = next((other for other in reversed(self._last_requests) if other != company_id), None)
        return latest is not None and self._monotonic() - self._last_requests[latest] < ACTIVE_SECONDS
