"""Would the tests find each planted defect? Plant all of them, one by one, and print what came of each as a table.

`python -m tests.planted [NAME …]`: all patches of this folder, or those; some at once, each in a clone of its own. What was
found is kept, so that `--resume` tries only the rest. Exit status 1: a defect survived, or one of these could not be shown.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

import click
from msgspec import Struct

from tests.planted.found import KEPT, FoundDefects
from tests.planted.patch import ROOT, Patch, patches
from tests.planted.trial import PlantedTrial, check_imports, copy

WORKERS = 2
"""As many as the cores of a small machine: a test that waits for a broker leaves its core to the other."""

MINUTES = 120.0
"""All fifty defects take half of it on two idle cores."""

NOT_TRIED = "not tried: the time is over, --resume goes on"


class TrialResult(Struct, frozen=True):
    """What came of one defect: None where it was found; `was_kept` where an earlier run found it."""

    patch: Patch
    problem: str | None
    seconds: float = 0.0
    was_kept: bool = False

    @property
    def words(self) -> str:
        """Return the first line of what is said of it."""
        return ("found" if self.problem is None else self.problem.partition("\n")[0]) + (" before" if self.was_kept else "")


class PlantedTrials:
    """Tries defects in several clones at once, until the monotonic clock shows `ends_at`."""

    def __init__(self, trials: Sequence[PlantedTrial], ends_at: float) -> None:
        self._workers = len(trials)
        self._ends_at = ends_at
        self._free: SimpleQueue[PlantedTrial] = SimpleQueue()
        self._over = threading.Event()
        for trial in trials:
            self._free.put(trial)

    def run(self, chosen: Sequence[Patch], found: FoundDefects) -> list[TrialResult]:
        """Try each patch; print a line for each as it ends, and keep what was found."""
        results = []
        with ThreadPoolExecutor(self._workers) as threads:
            tried = [threads.submit(self._try, patch) for patch in chosen]
            try:
                for done in as_completed(tried):
                    results.append(done.result())
                    _say(results[-1])
                    if results[-1].problem is None:
                        found.keep(results[-1].patch)
            except BaseException:
                self._over.set()
                raise
        return results

    def _try(self, patch: Patch) -> TrialResult:
        if self._over.is_set() or time.monotonic() > self._ends_at:
            return TrialResult(patch, NOT_TRIED)
        began, trial = time.monotonic(), self._free.get()
        try:
            return TrialResult(patch, trial.attempt(patch), time.monotonic() - began)
        finally:
            self._free.put(trial)


def _say(result: TrialResult) -> None:
    click.echo(f"{result.patch.name}: {result.words} ({result.seconds:.0f} s)")


def clones(folder: Path, count: int) -> list[PlantedTrial]:
    """Copy the checkout so often; the clones share which tests pass without a defect."""
    passing: dict[tuple[str, str], str] = {}
    made = [folder / str(number) / "clone" for number in range(count)]
    for clone in made:
        copy(clone)
        check_imports(clone)
    return [PlantedTrial(clone, passing) for clone in made]


@click.command()
@click.argument("names", nargs=-1)
@click.option("--workers", type=click.IntRange(1, 64), default=WORKERS, show_default=True, help="Defects at once.")
@click.option("--minutes", type=click.FloatRange(0.0), default=MINUTES, show_default=True, help="No defect begins later.")
@click.option("--resume", is_flag=True, help="Leave out what an earlier run found in the same files.")
def main(names: Sequence[str], workers: int, minutes: float, *, resume: bool) -> None:
    """Plant defects, run the tests that should find them, and report survivors."""
    ends_at = time.monotonic() + 60.0 * minutes
    chosen = patches(list(names))
    with tempfile.TemporaryDirectory(prefix="leadclock-planted-") as folder:
        trials = clones(Path(folder).resolve(), min(workers, len(chosen)))
        found = FoundDefects(ROOT / KEPT, trials[0].clone)
        before = [patch for patch in chosen if resume and found.has(patch)]
        rest = [patch for patch in chosen if patch not in before]
        results = PlantedTrials(trials, ends_at).run(rest, found)
    sys.exit(report([*(TrialResult(patch, None, was_kept=True) for patch in before), *results]))


def report(results: Sequence[TrialResult]) -> int:
    """Print a table of all, then at length what is wrong; return the exit status."""
    in_order = sorted(results, key=lambda result: result.patch.name)
    width = max(len(result.patch.name) for result in in_order)
    click.echo(f"\n{'defect':<{width}} {'seconds':>7}  result")
    for result in in_order:
        click.echo(f"{result.patch.name:<{width}} {result.seconds:>7.0f}  {result.words}")
    wrong = [result for result in in_order if result.problem is not None]
    for result in wrong:
        click.echo(f"\n{result.patch.name}: {result.problem}\n    {result.patch.defect}")
    count = len(in_order)
    found = f"All of {count} planted defects were found."
    click.echo(f"\n{len(wrong)} of {count} planted defects were NOT found." if wrong else f"\n{found}")
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
