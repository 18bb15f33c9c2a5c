"""What ends a lead before its last step? Expiry, attempts, lateness, the length of a preview."""

# ruff: noqa: E501 - a row is a line
from typing import Any

from tests.engine.preview.table.rows import Json, PreviewRow, call, email, hours, sms, step, wait, webhook

DONE = "= completed_connected"
TRIED = "= completed_attempted"
FEDERAL = "quiet_hours_federal"
AT = "2026-07-15 10:00 -0400"


def row(
    case: str,
    steps: list[Json],
    *answer: str,
    at: str = AT,
    lead: Json | None = None,
    asked: Json | None = None,
    **fields: Any,
) -> PreviewRow:
    """A lead with number and address on a Wednesday morning."""
    return PreviewRow(
        case, at, steps, answer, lead={"email": "ada@example.com", **(lead or {})}, fields=fields, asked=asked or {}
    )


def day(clock: str, name: str = "c", number: int | None = None, date: str = "2026-07-15", why: str = "") -> str:
    """One contact on that day."""
    attempt = "" if number is None else f" #{number}"
    return f"{name} {date} {clock} -0400{attempt}{why and ' ' + why}"


TELL: Json = {"end_steps": [webhook()]}
NOBODY: Json = {"outcomes": {"call": "no_answer"}}

ROWS = [
    # Expiry
    row("a lead expires", [call(), wait("2h"), call("d")], day("10:00"), "= expired 2026-07-15 11:00 -0400", hours_to_expire=1),
    row("what is due at that very instant is not done", [call(), wait("2h"), call("d")], day("10:00"), "= expired 2026-07-15 12:00 -0400", hours_to_expire=2),
    row("what is due just before is", [call(), wait("119m"), call("d")], day("10:00"), day("11:59", "d"), DONE, hours_to_expire=2),
    row("hours elapse over a change of the clock", [wait("3h"), email()], "= expired", at="2026-03-08 00:30 -0500", hours_to_expire=2),
    row("the expiry of the submission", [call(), wait("2h"), call("d")], day("10:00"), "= expired 2026-07-15 11:00 -0400", lead={"hours_to_expire": 1}, hours_to_expire=120),
    row("a longer one too", [call(), wait("2h"), call("d")], day("10:00"), day("12:00", "d"), DONE, lead={"hours_to_expire": 100}, hours_to_expire=1),
    row("end steps at the expiry", [call(), wait("2h"), call("d")], day("10:00"), day("11:00", "w"), "= expired", hours_to_expire=1, **TELL),
    row("E11: expired before the next opening", [call()], "= expired", at="2026-07-15 21:30 -0400", hours_to_expire=6),
    row("E11: end steps that reach nobody are done then", [call()], "w 2026-07-16 03:30 -0400", "= expired", at="2026-07-15 21:30 -0400", hours_to_expire=6, end_steps=[webhook(), sms()]),
    row("E11: those that may, in the morning", [call()], "w 2026-07-16 03:30 -0400", f"s 2026-07-16 08:00 -0400 {FEDERAL}", "= expired", at="2026-07-15 21:30 -0400", hours_to_expire=6, end_steps=[webhook(), sms()], end_steps_may_contact=True),
    row("an expiry trigger adds nothing to the answer", [call(), wait("2h"), call("d")], day("10:00"), "= expired", hours_to_expire=1, triggers=[{"on": "exit", "type": "expired", "add_tokens": {"late": "yes"}}]),
    row("end steps after the last step", [call()], day("10:00"), day("10:00", "w"), DONE, **TELL),
    row("end steps may call", [call()], day("10:00"), day("10:00:30", "d", why="min_spacing"), DONE, end_steps=[call("d")]),
    # Attempts
    row("E24: three attempts", [call(), wait("1h"), call("d"), wait("1h", "w2"), sms(), wait("1h", "w3"), call("e")], day("10:00", number=1), day("11:00", "d", 2), day("12:00", "s", 3), "= exceeded_max_calls 2026-07-15 12:00 -0400", max_contact_attempts=3),
    row("as many as there are steps", [call(), wait("1h"), call("d"), wait("1h", "w2"), sms()], day("10:00"), day("11:00", "d"), day("12:00", "s"), DONE, max_contact_attempts=3),
    row("e-mail is none", [email(), email("n"), call()], day("10:00", "m"), day("10:00", "n"), day("10:00"), DONE, max_contact_attempts=1),
    row("an e-mail after the last attempt", [call(), wait("1h"), email()], day("10:00"), day("11:00", "m"), DONE, max_contact_attempts=1),
    row("a limit of the submission", [call(), wait("1h"), call("d")], day("10:00"), "= exceeded_max_calls", lead={"max_contact_attempts": 1}, max_contact_attempts=9),
    row("retries are attempts", [call(retry={"no_answer": {"delay": "1h", "max": 5}})], day("10:00"), day("11:00"), "= exceeded_max_calls", asked=NOBODY, max_contact_attempts=2),
    row("a connected call at the limit", [call(), wait("1h"), call("d")], day("10:00"), "= exceeded_max_calls", max_contact_attempts=1),
    row("congestion gives its attempt back", [call(retry={"congestion": {"max": 2}}), call("d")], day("10:00", number=1), day("11:00", number=1), day("12:00", number=1), day("12:00:30", "d", 1, why="min_spacing"), "= completed", asked={"outcomes": {"call": "congestion"}}, max_contact_attempts=1),
    row("E24: end steps follow the limit", [call(), wait("1h"), call("d")], day("10:00"), day("10:00", "w"), "= exceeded_max_calls", max_contact_attempts=1, **TELL),
    row("a contact past a branch is still to come", [call(), step("branch", "b", rules=[{"if": ["roof:flat"], "goto": "m"}], **{"else": "d"}), email(), call("d")], day("10:00"), "= exceeded_max_calls", max_contact_attempts=1),
    row("no contact is to come on this lead's way", [call(), step("branch", "b", rules=[{"if": ["roof:flat"], "goto": "m"}], **{"else": "d"}), call("d"), email()], day("10:00"), day("10:00", "m"), DONE, max_contact_attempts=1, lead={"data": {"roof": "flat"}}),
    # Lateness and pauses
    row("a paused schedule", [call()], "= waiting schedule_paused", paused=True),
    # Callbacks
    row("a promised call goes before the steps", [call()], "callback 2026-07-15 14:00 -0400", "c 2026-07-15 14:00:30 -0400 callback_pending min_spacing", DONE, lead={"schedule_callback_at": "2026-07-15 14:00:00 -0400"}),
    row("an e-mail is a contact and waits", [email()], "callback 2026-07-15 11:00 -0400", day("11:00", "m", why="callback_pending"), DONE, lead={"schedule_callback_at": "2026-07-15 11:00:00 -0400"}),
    row("in seconds", [webhook()], day("10:00", "w"), "callback 2026-07-15 11:00 -0400", DONE, lead={"schedule_callback_in_seconds": "3600"}),
    row("preferred hours do not hold for it", [webhook()], day("10:00", "w"), "callback 2026-07-15 20:00 -0400", DONE, lead={"schedule_callback_at": "2026-07-15 20:00:00 -0400"}, **hours("call", "09:00", "17:00")),
    row("the law does", [webhook()], day("10:00", "w"), f"callback 2026-07-16 08:00 -0400 {FEDERAL}", DONE, lead={"schedule_callback_at": "2026-07-15 22:00:00 -0400"}),
    row("E3: a promise at night on the day of the change", [webhook()], "w 2026-03-07 12:00 -0500", f"callback 2026-03-08 08:00 -0400 {FEDERAL}", DONE, at="2026-03-07 12:00 -0500", lead={"schedule_callback_at": "2026-03-08 03:30:00 -0400"}),
    row("a step that promises", [step("schedule_callback", "p", **{"in": "2h"}), sms()], day("10:00", "p"), "callback 2026-07-15 12:00 -0400", "s 2026-07-15 12:00 -0400 callback_pending", DONE),
    row("at a local time", [step("schedule_callback", "p", at={"time": "15:00"}), webhook()], day("10:00", "p"), day("10:00", "w"), "callback 2026-07-15 15:00 -0400", DONE),
    # The length of a preview
    row("cut", [call(), wait("1h"), call("d")], day("10:00"), "= waiting limit", asked={"limit": 1}),
    row("not cut at its end", [call(), wait("1h"), call("d")], day("10:00"), day("11:00", "d"), DONE, asked={"limit": 2}),
]  # fmt: skip
