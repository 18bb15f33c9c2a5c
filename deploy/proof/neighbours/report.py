"""How is the measurement shown, and when is a phase fair? The quiet company's p99 at most doubles and nothing is missing."""

from collections.abc import Sequence

from msgspec import Struct

from adapters.bench.row import quantile
from deploy.proof.neighbours.probe import Samples

RATIO_MAX = 2.0
"""Of the p99 of a phase against the p99 alone."""

HEAD = (
    f"{'beside':<18} {'texts':>6} {'p50 ms':>8} {'p99 ms':>8} {'ratio':>6} {'hooks p99':>10} {'refused':>8} {'missing':>8}"
)


class Phase(Struct, frozen=True, kw_only=True):
    """What was measured beside one way of misbehaving; the first phase is the one alone."""

    name: str
    samples: Samples


def table(phases: Sequence[Phase]) -> str:
    """Return a line per phase; one that is not fair says NO."""
    return "\n".join([HEAD, *(_line(phase, phases[0]) for phase in phases)])


def is_fair(phases: Sequence[Phase]) -> bool:
    """Tell whether every phase is fair beside the first."""
    return all(_is_fair(phase, phases[0]) for phase in phases)


def words(phase: Phase) -> str:
    """Return a sentence for the progress of the run."""
    texts = phase.samples.texts
    return f"{phase.name}: p50 {_ms(texts, 0.5)} ms, p99 {_ms(texts, 0.99)} ms of {len(texts)} texts"


def _line(phase: Phase, alone: Phase) -> str:
    found = phase.samples
    texts = f"{len(found.texts):>6} {_ms(found.texts, 0.5):>8} {_ms(found.texts, 0.99):>8} {_ratio(phase, alone):>6.2f}"
    rest = f"{_ms(found.hooks, 0.99):>10} {found.refused:>8} {found.missing:>8}"
    return f"{phase.name:<18} {texts} {rest}{'' if _is_fair(phase, alone) else '   NO'}"


def _is_fair(phase: Phase, alone: Phase) -> bool:
    return _ratio(phase, alone) <= RATIO_MAX and not phase.samples.refused and not phase.samples.missing


def _ratio(phase: Phase, alone: Phase) -> float:
    if not phase.samples.texts or not alone.samples.texts:
        return float("inf")
    return quantile(phase.samples.texts, 0.99) / quantile(alone.samples.texts, 0.99)


def _ms(seconds: Sequence[float], share: float) -> str:
    return f"{1000 * quantile(seconds, share):.1f}" if seconds else "-"
