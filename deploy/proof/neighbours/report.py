"""How is the measurement shown, and when is a phase fair? The quiet company's p99 at most doubles and nothing is missing.

Beside all ways at once it may be four times as long (`FULL_RATIO_MAX`). A phase is compared with the phases alone directly
before and after it: a machine is not equally fast all the time.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from deploy.bench.row import quantile
from deploy.proof.neighbours.probe import Samples, pooled

ALONE = "alone"
WARM_UP = "warm-up"
ALL_AT_ONCE = "all at once"

RATIO_MAX = 2.0
"""Of the p99 of a phase against the p99 alone."""

FULL_RATIO_MAX = 4.0
"""That of all ways at once. Exports and reports on top of an attack keep two cores, which also run broker, database and the
clients of both companies, so busy that whatever has work waits for a processor: there it is 2.2 to 3.3."""

ANSWER_RATIO_MAX = 1.5
"""Of the p95 of what the API answers, beside exports, reports and files: these share its process and its database."""

ANSWERS_HELD = frozenset({"exports", "hostile-files"})
"""The phases in which that bound holds; beside the others, effects count."""

HEAD = (
    f"{'beside':<18} {'texts':>6} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>6} {'hooks p99':>10}"
    f" {'POST p95':>9} {'ratio':>6} {'GET p95':>9} {'ratio':>6} {'GET p99':>9} {'ratio':>6}"
    f" {'refused':>8} {'missing':>8} {'sent beside':>12}"
)


class Phase(Struct, frozen=True, kw_only=True):
    """What was measured alone, in the warm-up, or beside a way of misbehaving. `sent` is the hostile company's."""

    name: str
    samples: Samples
    sent: int = 0

    @property
    def is_judged(self) -> bool:
        """Whether it must be fair: the quiet company was beside another, on processes that had worked for a while."""
        return self.name not in {ALONE, WARM_UP}


def table(phases: Sequence[Phase]) -> str:
    """Return a line per phase; one that is not fair says NO."""
    return "\n".join([HEAD, *(_line(phase, alone) for phase, alone in _compared_phases(phases))])


def is_fair(phases: Sequence[Phase]) -> bool:
    """Return whether every phase that is judged is fair."""
    return all(_is_fair(phase, alone) for phase, alone in _compared_phases(phases))


def words(phase: Phase) -> str:
    """Return a sentence for the progress of the run."""
    found = phase.samples
    answers = f"POST p95 {_ms(found.submissions, 0.95)} ms, GET p95 {_ms(found.reads, 0.95)} ms, {found.refused} refused"
    texts = f"p50 {_ms(found.texts, 0.5)} ms, p99 {_ms(found.texts, 0.99)} ms of {len(found.texts)} texts"
    return f"{phase.name}: {texts}; {answers}; {phase.sent} sent beside"


def _compared_phases(phases: Sequence[Phase]) -> Iterator[tuple[Phase, Samples]]:
    """Yield each phase and what it is compared with: itself alone, the phases alone before and after it otherwise."""
    for at, phase in enumerate(phases):
        beside = [phase] if phase.name == ALONE else phases[max(0, at - 1) : at + 2]
        yield phase, pooled([other.samples for other in beside if other.name == ALONE])


def _line(phase: Phase, alone: Samples) -> str:
    found = phase.samples
    texts = f"{len(found.texts):>6} {_ms(found.texts, 0.5):>8} {_compared(found.texts, alone.texts, 0.99, 8)}"
    answers = f"{_compared(found.submissions, alone.submissions, 0.95, 9)} {_compared(found.reads, alone.reads, 0.95, 9)}"
    slowest = _compared(found.reads, alone.reads, 0.99, 9)
    rest = f"{_ms(found.hooks, 0.99):>10} {answers} {slowest} {found.refused:>8} {found.missing:>8} {phase.sent:>12}"
    return f"{phase.name:<18} {texts} {rest}{'' if _is_fair(phase, alone) else '   NO'}"


def _compared(beside: Sequence[float], by_itself: Sequence[float], share: float, width: int) -> str:
    return f"{_ms(beside, share):>{width}} {_ratio(beside, by_itself, share):>6.2f}"


def _is_fair(phase: Phase, alone: Samples) -> bool:
    if not phase.is_judged:
        return True
    found = phase.samples
    most = FULL_RATIO_MAX if phase.name == ALL_AT_ONCE else RATIO_MAX
    is_in_time = _ratio(found.texts, alone.texts, 0.99) <= most
    return is_in_time and _is_answered(phase, alone) and not found.refused and not found.missing


def _is_answered(phase: Phase, alone: Samples) -> bool:
    found = phase.samples
    if phase.name not in ANSWERS_HELD:
        return True
    pairs = ((found.submissions, alone.submissions), (found.reads, alone.reads))
    return all(_ratio(beside, by_itself, 0.95) <= ANSWER_RATIO_MAX for beside, by_itself in pairs)


def _ratio(beside: Sequence[float], by_itself: Sequence[float], share: float) -> float:
    if not beside or not by_itself:
        return float("inf")
    return quantile(beside, share) / quantile(by_itself, share)


def _ms(seconds: Sequence[float], share: float) -> str:
    return f"{1000 * quantile(seconds, share):.1f}" if seconds else "-"
