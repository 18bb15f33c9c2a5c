"""How many exports run at once, and how much of this process may they use? A few of each company, one batch at a time.

An export is read and written batch by batch. The whole process works on one batch at a time, for any company. While several
companies use the process, a cooldown of twice the batch's time follows. A slow reader holds an export slot and one batch in
memory, but no database connection and no thread.
"""

from contextlib import AbstractAsyncContextManager
from functools import partial

from adapters.fair_semaphore import FairSemaphore
from adapters.http.exchange.active_companies import ActiveCompanies
from adapters.http.exchange.report_slots import RefusalTexts, acquire_in_time, hold_with_cooldown

EXPORTS_MAX = 20
"""Exports at once, each with a batch of about 100 KB in memory. One company alone may run half of them."""

WAITING_MAX = 40
"""Requests that wait for a slot, of all companies together. One company alone may have half of them."""

COOLDOWN_SHARE = 2.0
"""Cooldown after a batch, as a share of its time, while several companies use the process: exports then use at most a
third of it."""

REFUSAL_TEXTS = RefusalTexts(
    own="This company has {held} exports running. Try again when one is done.",
    others="Exports of other companies are running. Try again soon.",
)


class ExportSlots:
    """The exports of one process."""

    def __init__(self, active: ActiveCompanies) -> None:
        self._active = active
        self._exports = FairSemaphore(EXPORTS_MAX, waiting_max=WAITING_MAX)
        self._batches = FairSemaphore(1)

    def acquire_export(self, company_id: int) -> AbstractAsyncContextManager[None]:
        """Wait for an export slot and hold it for the block. Raises `ProblemError` rate_limited or reports_busy."""
        return acquire_in_time(self._exports, company_id, REFUSAL_TEXTS)

    def acquire_batch(self, company_id: int) -> AbstractAsyncContextManager[None]:
        """Wait for this company's turn to read and write a batch; a cooldown follows the block."""
        return hold_with_cooldown(
            self._batches.acquire(company_id), COOLDOWN_SHARE, partial(self._active.has_others, company_id)
        )
