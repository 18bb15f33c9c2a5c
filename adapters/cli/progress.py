"""How is long work shown? By bars on standard error, for as long as it takes; not at all where no person looks."""

import sys

from rich.console import Console
from rich.progress import Progress, ProgressColumn


def bars(*columns: ProgressColumn) -> Progress:
    """Return a display with these columns."""
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
