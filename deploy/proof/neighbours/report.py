"""How is the measurement shown, and when is a phase fair? The quiet company's p99 at most doubles and nothing is missing."""

from collections.abc import Sequence

from msgspec import Struct

from adapters.bench.row import quantile
from deploy.proof.neighbours.probe import Samples

RATIO_MAX = 2.0
"""Of the p99 of a phase against the p99 alone."""

ANSWER_RATIO_MAX = 1.5
"""Of the p95 of what the API answers, beside exports and reports: these share its process and its database."""

ANSWERS_HELD = frozenset({"exports"})
"""The phases in which that bound holds; beside the others, effects count."""

HEAD = (
    f"{'beside':<18} {'texts':>6} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>6} {'hooks p99':>10}"
    f" {'POST p95':>9} {'ratio':>6} {'GET p95':>9} {'ratio':>6} {'GET p99':>9} {'ratio':>6}"
    f" {'refused':>8} {'missing':>8} {'sent beside':>12}"
)


class Phase(Struct, frozen=True, kw_only=True):
    """What was measured beside one way of misbehaving; the first phase is the one alone. `sent` is the hostile company's."""

    name: str
    samples: Samples
    sent: int = 0


def table(phases: Sequence[Phase]) -> str:
    """Return a line per phase; one that is not fair says NO."""
    return "\n".join([HEAD, *(_line(phase, phases[0]) for phase in phases)])


def is_fair(phases: Sequence[Phase]) -> bool:
    """Return whether every phase is fair beside the first."""
    return all(_is_fair(phase, phases[0]) for phase in phases)


def words(phase: Phase) -> str:
    """Return a sentence for the progress of the run."""
    found = phase.samples
    answers = f"POST p95 {_ms(found.submissions, 0.95)} ms, GET p95 {_ms(found.reads, 0.95)} ms, {found.refused} refused"
    texts = f"p50 {_ms(found.texts, 0.5)} ms, p99 {_ms(found.texts, 0.99)} ms of {len(found.texts)} texts"
    return f"{phase.name}: {texts}; {answers}; {phase.sent} sent beside"


def _line(phase: Phase, alone: Phase) -> str:
    found, before = phase.samples, alone.samples
    texts = f"{len(found.texts):>6} {_ms(found.texts, 0.5):>8} {_compared(found.texts, before.texts, 0.99, 8)}"
    answers = f"{_compared(found.submissions, before.submissions, 0.95, 9)} {_compared(found.reads, before.reads, 0.95, 9)}"
    slowest = _compared(found.reads, before.reads, 0.99, 9)
    rest = f"{_ms(found.hooks, 0.99):>10} {answers} {slowest} {found.refused:>8} {found.missing:>8} {phase.sent:>12}"
    return f"{phase.name:<18} {texts} {rest}{'' if _is_fair(phase, alone) else '   NO'}"


def _compared(beside: Sequence[float], by_itself: Sequence[float], share: float, width: int) -> str:
    return f"{_ms(beside, share):>{width}} {_ratio(beside, by_itself, share):>6.2f}"


def _is_fair(phase: Phase, alone: Phase) -> bool:
    found = phase.samples
    is_in_time = _ratio(found.texts, alone.samples.texts, 0.99) <= RATIO_MAX
    return is_in_time and _is_answered(phase, alone) and not found.refused and not found.missing


def _is_answered(phase: Phase, alone: Phase) -> bool:
    found, before = phase.samples, alone.samples
    if phase.name not in ANSWERS_HELD:
        return True
    pairs = ((found.submissions, before.submissions), (found.reads, before.reads))
    return all(_ratio(beside, by_itself, 0.95) <= ANSWER_RATIO_MAX for beside, by_itself in pairs)


def _ratio(beside: Sequence[float], by_itself: Sequence[float], share: float) -> float:
    if not beside or not by_itself:
        return float("inf")
    return quantile(beside, share) / quantile(by_itself, share)


def _ms(seconds: Sequence[float], share: float) -> str:
    return f"{1000 * quantile(seconds, share):.1f}" if seconds else "-"
