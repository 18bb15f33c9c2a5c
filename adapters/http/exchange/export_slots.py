"""How many files are sent at once, and how much of this process may they use? A few of each company; batches take turns.

A file is read and written out a batch at a time. One batch at a time is worked on in the whole process, whichever company
it is for. While several companies use the process, it then belongs to the others for twice as long as the batch took. A
slow reader holds a place among the files and one batch in memory: no connection to the database, no thread.
"""

from contextlib import AbstractAsyncContextManager
from functools import partial

from adapters.fair_semaphore import FairSemaphore
from adapters.http.exchange.active_companies import ActiveCompanies
from adapters.http.exchange.report_slots import Waits, rested, taken_in_time

EXPORTS_MAX = 20
"""Files that are sent at once, each with a batch of some 100 KB in memory. One company alone sends half of them."""

WAITING_MAX = 40
"""Requests that wait for a place, of all companies together; one company alone has half of these places."""

REST_SHARE = 2.0
"""Of the time that a batch took, how long the next one waits while several companies use the process: exports use a third of
it at most then."""

WAITS = Waits(
    own="{held} files are being sent to this company; ask again when one is done.",
    others="Files of other companies are being sent; ask again soon.",
)


class ExportSlots:
    """The exports of one process."""

    def __init__(self, active: ActiveCompanies) -> None:
        self._active = active
        self._files = FairSemaphore(EXPORTS_MAX, waiting_max=WAITING_MAX)
        self._batches = FairSemaphore(1)

    def file_for(self, company_id: int) -> AbstractAsyncContextManager[None]:
        """Wait for a place among the files and hold it for the block. Raises `ProblemError` rate_limited or reports_busy."""
        return taken_in_time(self._files, company_id, WAITS)

    def batch_for(self, company_id: int) -> AbstractAsyncContextManager[None]:
        """Wait until it is this company's turn to read and write out a batch; the next one begins some time after it."""
        return rested(self._batches.acquire(company_id), REST_SHARE, partial(self._active.has_others, company_id))
