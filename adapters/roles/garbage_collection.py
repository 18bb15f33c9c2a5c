"""How often does the garbage collector run? Rarely: our values hold no cycles, and it costs a third of the time of deciding.

Reference counts free what a cycle of a partition created. The collector finds the few cycles that libraries leave behind.
"""

import gc

THRESHOLDS = (100_000, 20, 100)
"""New containers between two looks (700 by default: several looks per decision batch of 2,000 leads), and looks between
those at older ones. 100,000 containers are some 20 MB: what may be left uncollected for a while."""


def configure_garbage_collection() -> None:
    """Collect rarely from now on, and never again what exists now (modules, rules, metrics)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
