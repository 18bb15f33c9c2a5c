"""When may a buyer or a group get its next call? `spacing_seconds` after the slot of the one before was granted."""

from schemas.instant import SECOND, Instant


def next_call_at(spacing_seconds: int, last_granted_at: Instant | None) -> Instant | None:
    """Return the first instant of the next call, None where there is no spacing or was no call."""
    if not spacing_seconds or last_granted_at is None:
        return None
    return last_granted_at + spacing_seconds * SECOND
