"""How many leads are at one step? A row of counts, which the reads return and the sums by channel take."""

from msgspec import Struct


class StepLeads(Struct, frozen=True):
    """Leads that wait, due, at one step of a schedule's version, or whose command of a `kind` is under way.

    `late`: how many of them are late. `is_callback`: a promised call comes before the step.
    """

    leads: int
    late: int = 0
    kind: str | None = None
    schedule_id: int | None = None
    schedule_version: int | None = None
    step: str | None = None
    is_callback: bool = False
    is_running: bool = False
