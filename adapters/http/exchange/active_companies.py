"""Does another company use this process now? The rests between one company's reports and files are there for the others.

A company that is alone needs no rest: its reports follow each other at once.
"""

from collections import OrderedDict
from collections.abc import Callable

ACTIVE_SECONDS = 10.0
"""A company counts as active for so long after its last request: longer than people pause between two clicks."""

COMPANIES_MAX = 1_000
"""Companies remembered; only the latest two decide."""


class ActiveCompanies:
    """The companies of the latest requests of this process."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._asked_at: OrderedDict[int, float] = OrderedDict()
        """By company, the latest request last."""

    def note(self, company_id: int) -> None:
        """Note a request of a company."""
        self._asked_at[company_id] = self._monotonic()
        self._asked_at.move_to_end(company_id)
        if len(self._asked_at) > COMPANIES_MAX:
            self._asked_at.popitem(last=False)

    def has_others(self, company_id: int) -> bool:
        """Tell whether another company asked within `ACTIVE_SECONDS`."""
        latest = next((other for other in reversed(self._asked_at) if other != company_id), None)
        return latest is not None and self._monotonic() - self._asked_at[latest] < ACTIVE_SECONDS
