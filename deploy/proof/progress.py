"""How does a proof report its progress? Through a function that takes a sentence; these make one, or use it."""

import time
from collections.abc import Callable

import click

Say = Callable[[str], None]


def since_now() -> Say:
    """Return what prints words behind the seconds since this call."""
    begun = time.monotonic()

    def say(words: str) -> None:
        click.echo(f"{time.monotonic() - begun:7.1f} s  {words}")

    return say


def lap(say: Say, what: str, started: float) -> float:
    """Say what was done since an instant of the monotonic clock; return the seconds that it took."""
    seconds = time.monotonic() - started
    say(f"{what} ({seconds:.1f} s)")
    return round(seconds, 1)


def sparingly(say: Say, *, gap_seconds: float = 10.0) -> Say:
    """Say something only every so often."""
    said_at = float("-inf")

    def sparingly(words: str) -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= gap_seconds:
            said_at = time.monotonic()
            say(words)

    return sparingly
