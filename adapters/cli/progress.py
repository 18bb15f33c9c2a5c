"""How is progress shown? By bars on standard error, only where that is a terminal."""

import sys

from rich.console import Console
from rich.progress import Progress, ProgressColumn


def bars(*columns: ProgressColumn) -> Progress:
    """Return a display with these columns."""
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
