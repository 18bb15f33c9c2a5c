"""How long did submissions wait after each kind of fault? A table: kind, how often, p50 and most, decided and answered."""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct


class Recovery(Struct, frozen=True, kw_only=True):
    """One fault: seconds until submissions were decided, and answered over HTTP, as before; None: they never were.

    `slowest_answer` are the seconds that one submission over HTTP waited at most until it was answered.
    `late_until` is the last moment at which one was late, also where a process or broker that came back made it so.
    `election` are the seconds until Kafka had elected a leader for every partition, where it had to.
    """

    row: str
    decided: float | None
    answered: float | None
    late_until: float | None
    slowest_answer: float
    election: float | None = None


HEAD = (
    "fault", "count", "decided p50", "max", "answered p50", "max", "late until p50", "max", "slowest answer p50", "max",
    "election p50", "max",
)  # fmt: skip


def table(recoveries: Sequence[Recovery]) -> str:
    """Return the recoveries as text, a row for each kind."""
    rows: list[Sequence[str]] = [HEAD]
    for name in sorted({one.row for one in recoveries}):
        some = [one for one in recoveries if one.row == name]
        elections = [one.election for one in some if one.election is not None]
        rows.append((
            name, str(len(some)), *_pair([one.decided for one in some]), *_pair([one.answered for one in some]),
            *_pair([one.late_until for one in some]), *_pair([one.slowest_answer for one in some]),
            *(_pair(elections) if elections else ("", "")),
        ))  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join("  ".join(map(_put, row, widths, range(len(HEAD)))) for row in rows)


def _pair(seconds: Sequence[float | None]) -> tuple[str, str]:
    known = [one for one in seconds if one is not None]
    return (f"{median(known):.1f}" if known else "-", "never" if len(known) < len(seconds) else f"{max(known):.1f}")


def _put(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column else cell.ljust(width)
