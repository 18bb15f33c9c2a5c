"""Are many alike events one line of log?"""

import asyncio

import pytest
import structlog

from adapters.observability import event_counter
from adapters.observability.event_counter import KINDS_MAX, EventCounter


async def test_many_events_are_one_line_with_their_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_counter, "FLUSH_SECONDS", 0.01)
    ended = EventCounter("commands.ended", kind="sms")
    with structlog.testing.capture_logs() as lines:
        for outcome in ("sent", "sent", "failed"):
            ended.note(outcome)
        assert lines == []
        async with asyncio.timeout(60):
            while not lines:
                await asyncio.sleep(0.01)
        ended.flush()
    assert lines == [
        {"event": "commands.ended", "log_level": "info", "kind": "sms", "in_all": 3, "counts": {"failed": 1, "sent": 2}}
    ]


async def test_what_was_counted_last_is_logged_at_the_end_and_counting_goes_on() -> None:
    ended = EventCounter("commands.ended")
    with structlog.testing.capture_logs() as lines:
        ended.note("sent")
        ended.flush()
        ended.note("failed")
        ended.flush()
    assert [line["counts"] for line in lines] == [{"sent": 1}, {"failed": 1}]


async def test_a_line_does_not_grow_without_bound() -> None:
    ended = EventCounter("commands.ended")
    with structlog.testing.capture_logs() as lines:
        for number in range(KINDS_MAX + 1):
            ended.note(f"kind {number}")
    assert [line["in_all"] for line in lines] == [KINDS_MAX + 1]
