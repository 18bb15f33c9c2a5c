"""What follows from an outcome? Retries and their delays, closed channels, opt-outs, late steps."""

# ruff: noqa: E501 - a row is a line
from typing import Any

from tests.engine.preview.table.rows import Json, PreviewRow, call, email, hours, sms, wait, webhook

DONE = "= completed_connected"
TRIED = "= completed_attempted"
FEDERAL = "quiet_hours_federal"
AT = "2026-07-15 10:00 -0400"


def row(case: str, steps: list[Json], outcomes: dict[str, str], *answer: str, at: str = AT, **more: Any) -> PreviewRow:
    """A lead with number and address on a Wednesday morning."""
    lead = {"email": "ada@example.com", **more.pop("lead", {})}
    return PreviewRow(case, at, steps, answer, lead=lead, asked={"outcomes": outcomes}, **more)


def again(outcome: str, **rule: Any) -> Json:
    """A call that is tried again after an outcome."""
    return call(retry={outcome: rule})


def day(clock: str, name: str = "c", number: int | None = None, date: str = "2026-07-15", why: str = "") -> str:
    """One contact on that day."""
    attempt = "" if number is None else f" #{number}"
    return f"{name} {date} {clock} -0400{attempt}{why and ' ' + why}"


ROWS = [
    row("no retry without a row for it", [call(), sms()], {"call": "no_answer"}, day("10:00"), day("10:00", "s"), TRIED),
    row("no_answer: 2 h, once", [again("no_answer")], {"call": "no_answer"}, day("10:00", number=1), day("12:00", number=2), TRIED),
    row("voicemail: 4 h", [again("voicemail")], {"call": "voicemail"}, day("10:00"), day("14:00"), TRIED),
    row("busy: 15 min, three times", [again("busy")], {"call": "busy"}, day("10:00"), day("10:15"), day("10:30"), day("10:45"), TRIED),
    row("declined: 4 h", [again("declined")], {"call": "declined"}, day("10:00"), day("14:00"), TRIED),
    row("abandoned_by_us: 72 h", [again("abandoned_by_us")], {"call": "abandoned_by_us"}, day("10:00"), day("10:00", date="2026-07-18"), TRIED),
    row("congestion: 1 h, no attempt", [again("congestion")], {"call": "congestion"}, day("10:00", number=1), day("11:00", number=1), "= completed"),
    row("a delay of one's own", [again("no_answer", delay="30m", max=2)], {"call": "no_answer"}, day("10:00"), day("10:30"), day("11:00"), TRIED),
    row("a maximum of one's own", [again("no_answer", max=3)], {"call": "no_answer"}, day("10:00"), day("12:00"), day("14:00"), day("16:00"), TRIED),
    row("a delay in days keeps the clock", [again("no_answer", delay="1d")], {"call": "no_answer"}, "c 2026-03-07 10:00 -0500", "c 2026-03-08 10:00 -0400", TRIED, at="2026-03-07 10:00 -0500"),
    row("a delay in hours elapses", [again("no_answer", delay="24h")], {"call": "no_answer"}, "c 2026-03-07 10:00 -0500", "c 2026-03-08 11:00 -0400", TRIED, at="2026-03-07 10:00 -0500"),
    row("a retry waits for the hours", [again("no_answer")], {"call": "no_answer"}, day("20:00"), day("08:00", date="2026-07-16", why=FEDERAL), TRIED, at="2026-07-15 20:00 -0400"),
    row("another outcome is not retried", [again("no_answer"), sms()], {"call": "voicemail"}, day("10:00"), day("10:00", "s"), TRIED),
    row("what went well is not", [again("no_answer"), sms()], {}, day("10:00"), day("10:00", "s"), DONE),
    row("after the retries the next step", [again("no_answer"), sms()], {"call": "no_answer"}, day("10:00"), day("12:00"), day("12:00", "s"), TRIED),
    row("each step has retries of its own", [again("busy", max=1), call("d", retry={"busy": {"max": 1}})], {"call": "busy"}, day("10:00"), day("10:15"), day("10:15:30", "d", why="min_spacing"), day("10:30:30", "d"), TRIED),
    row("an outcome by the id of its step", [call(), call("d", retry={"busy": {"max": 1}})], {"d": "busy"}, day("10:00"), day("10:00:30", "d", why="min_spacing"), day("10:15:30", "d"), DONE),
    row("the id goes before the kind", [call(), sms()], {"call": "no_answer", "c": "connected_buyer"}, day("10:00"), day("10:00", "s"), DONE),
    row("a text that was not delivered: 1 h", [sms(retry={"undelivered": {}})], {"sms": "undelivered"}, day("10:00", "s", 1), day("11:00", "s", 2), TRIED),
    row("a text that failed is no attempt", [sms(retry={"failed": {}})], {"sms": "failed"}, day("10:00", "s", 1), day("11:00", "s", 1), "= completed"),
    row("an e-mail that bounced softly", [email(retry={"bounced_soft": {"delay": "2h", "max": 1}})], {"email": "bounced_soft"}, day("10:00", "m"), day("12:00", "m"), "= completed"),
    row("a webhook that failed", [webhook(retry={"failed": {"delay": "5m", "max": 2}}), call()], {"webhook": "failed"}, day("10:00", "w"), day("10:05", "w"), day("10:10", "w"), day("10:10"), DONE),
    row("E37: a hard bounce closes the address alone", [email(), wait("1h"), email("n"), call()], {"email": "bounced_hard"}, day("10:00", "m"), day("11:00"), DONE),
    row("a wrong number: the address is left", [call(), wait("1h"), call("d"), email()], {"call": "invalid_number"}, day("10:00"), day("11:00", "m"), "= completed"),
    row("a wrong number and nothing left", [call(), wait("1h"), call("d")], {"call": "invalid_number"}, day("10:00"), "= failure"),
    row("a wrong number on the last step", [call()], {"call": "invalid_number"}, day("10:00"), "= failure"),
    row("no number to call", [call(), email()], {}, "m 2026-07-15 10:00 +0000", "= completed", lead={"caller_id": None, "time_zone": "Atlantic/Reykjavik"}, at="2026-07-15 10:00 +0000"),
    row("an opt-out ends it", [call(), wait("1h"), call("d")], {"call": "opted_out"}, day("10:00"), "= opt_out"),
    row("a STOP to a text ends it", [sms(), email()], {"sms": "opted_out"}, day("10:00", "s"), "= opt_out"),
    row("an unsubscription ends it", [email(), call()], {"email": "unsubscribed"}, day("10:00", "m"), "= opt_out"),
    row("after an opt-out the end steps reach nobody", [call()], {"call": "opted_out"}, day("10:00"), day("10:00", "w"), "= opt_out", fields={"end_steps": [webhook(), email("bye")]}),
    row("unknown goes on", [call(), sms()], {"call": "unknown"}, day("10:00"), day("10:00", "s"), TRIED),
    row("who hangs up is not tried again", [call(), sms()], {"call": "caller_hung_up"}, day("10:00"), day("10:00", "s"), TRIED),
    row("a buyer was connected", [call()], {"call": "connected_buyer"}, day("10:00"), DONE),
    row("nobody says what the agent thought", [call(await_disposition="30m"), sms()], {}, day("10:00"), day("10:30", "s"), DONE),
    row("nobody was spoken to: nothing to be said", [call(await_disposition="30m"), sms()], {"call": "no_answer"}, day("10:00"), day("10:00", "s"), TRIED),
    row("a retry in preferred hours", [again("no_answer")], {"call": "no_answer"}, day("16:30"), day("09:00", date="2026-07-16", why="preferred_window"), TRIED, at="2026-07-15 16:30 -0400", fields=hours("call", "09:00", "17:00")),
    row("a distance between calls", [call(), call("d")], {}, day("10:00"), day("14:00", "d", why="min_spacing"), DONE, fields={"min_spacing": {"call": "4h"}}),
    row("a distance between any two", [call(), sms()], {}, day("10:00"), day("10:30", "s", why="min_spacing"), DONE, fields={"min_spacing": {"any": "30m"}}),
    row("a written delay is not stretched", [again("no_answer", delay="15m", max=1), call("d")], {"call": "no_answer"}, day("10:00"), day("10:15"), day("14:15", "d", why="min_spacing"), TRIED, fields={"min_spacing": {"call": "4h"}}),
    row("the default delay is", [again("no_answer")], {"call": "no_answer"}, day("10:00"), day("14:00", why="min_spacing"), TRIED, fields={"min_spacing": {"call": "4h"}}),
]  # fmt: skip
