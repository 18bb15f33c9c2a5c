"""How often does the garbage collector run? Rarely: it would take a third of the time of deciding.

Reference counts free what a partition allocates: our values hold no reference cycles. The collector frees the few that
libraries make.
"""

import gc

THRESHOLDS = (100_000, 20, 100)
"""New containers between two collections, and collections between those of older generations (`gc.set_threshold`).

The default of 700 collects several times in a batch of 2,000 leads. 100,000 containers are some 20 MB: what may be left
uncollected for a while."""


def configure_garbage_collection() -> None:
    """Collect rarely from now on; never examine again what exists now (modules, rules, metrics)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
