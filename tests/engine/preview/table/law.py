"""What does the law of the place forbid? Hours, Sundays, holidays and caps of every state."""

# ruff: noqa: E501 - a row is a line
from typing import Any

from tests.engine.preview.table.rows import Json, PreviewRow, call, email, sms, wait

FEDERAL, STATE, HOLIDAY, CAP = "quiet_hours_federal", "quiet_hours_state", "holiday", "frequency_cap"
DONE = "= completed_connected"
SENT = "= completed_attempted"

FL, OK, MD, ME, AL, LA, MS = (
    "+13055550100",
    "+14055550100",
    "+14105550100",
    "+12075550100",
    "+12055550100",
    "+15045550100",
    "+16015550100",
)
MA, CT, KY, TX, RI, VA = "+16175550100", "+12035550100", "+15025550100", "+12145550100", "+14015550100", "+18045550100"


def at_place(case: str, number: str, at: str, answer: str, step: Json | None = None) -> PreviewRow:
    """One contact to a number, whose zone and state the number alone tells."""
    done = SENT if step is not None else DONE
    return PreviewRow(case, at, [step or call()], [answer, done], None, {"caller_id": number})


def after(case: str, number: str, at: str, past: list[str], answer: list[str], *steps: Json, **more: Any) -> PreviewRow:
    """Contacts after earlier ones; `past` is `kind at [outcome]`."""
    history = []
    for line in past:
        kind, day, clock, offset, *outcome = line.split()
        history.append({"kind": kind, "at": f"{day} {clock}:00 {offset}", **({"outcome": outcome[0]} if outcome else {})})
    lead = {"caller_id": number, "email": "ada@example.com"}
    lead |= more.pop("lead", {})
    return PreviewRow(case, at, steps or [call()], answer, None, lead, asked={"history": history}, **more)


THREE = ["call 2026-07-15 09:00 -0400", "call 2026-07-15 12:00 -0400", "call 2026-07-15 15:00 -0400"]

ROWS = [
    at_place("FL closes at 20", FL, "2026-07-15 20:00 -0400", f"c 2026-07-16 08:00 -0400 {STATE}"),
    at_place("FL until 20", FL, "2026-07-15 19:59:59 -0400", "c 2026-07-15 19:59:59 -0400"),
    at_place("FL texts too", FL, "2026-07-15 20:00 -0400", f"s 2026-07-16 08:00 -0400 {STATE}", sms()),
    at_place("OK closes at 20", OK, "2026-07-15 20:00 -0500", f"c 2026-07-16 08:00 -0500 {STATE}"),
    at_place("MD closes at 20", MD, "2026-07-15 20:30 -0400", f"c 2026-07-16 08:00 -0400 {STATE}"),
    at_place("MA closes at 20", MA, "2026-07-15 20:30 -0400", f"c 2026-07-16 08:00 -0400 {STATE}"),
    at_place("ME calls on weekdays from 9 to 17", ME, "2026-07-17 16:59 -0400", "c 2026-07-17 16:59 -0400"),
    at_place("ME calls after them", ME, "2026-07-17 17:00 -0400", f"c 2026-07-20 09:00 -0400 {STATE}"),
    at_place("ME texts have the federal hours", ME, "2026-07-15 20:30 -0400", "s 2026-07-15 20:30 -0400", sms()),
    at_place("VA has the federal hours", VA, "2026-07-15 20:30 -0400", "c 2026-07-15 20:30 -0400"),
    at_place("CT opens at 9", CT, "2026-07-15 08:30 -0400", f"c 2026-07-15 09:00 -0400 {STATE}"),
    at_place("CT closes at 20", CT, "2026-07-15 20:00 -0400", f"c 2026-07-16 09:00 -0400 {STATE}"),
    at_place("CT by its other code", "+18605550100", "2026-07-15 08:30 -0400", f"c 2026-07-15 09:00 -0400 {STATE}"),
    at_place("Houston is in Texas", "+17135550100", "2026-07-15 08:30 -0500", f"c 2026-07-15 09:00 -0500 {STATE}"),
    at_place("KY opens at 10", KY, "2026-07-15 08:30 -0400", f"c 2026-07-15 10:00 -0400 {STATE}"),
    at_place("KY until 21", KY, "2026-07-15 20:30 -0400", "c 2026-07-15 20:30 -0400"),
    at_place("KY: first the federal hours, then the state's", KY, "2026-07-15 21:30 -0400", f"c 2026-07-16 10:00 -0400 {FEDERAL} {STATE}"),
    at_place("TX opens at 9", TX, "2026-07-15 08:00 -0500", f"c 2026-07-15 09:00 -0500 {STATE}"),
    at_place("TX opens at noon on Sundays", TX, "2026-07-19 09:00 -0500", f"c 2026-07-19 12:00 -0500 {STATE}"),
    at_place("TX Sunday until 21", TX, "2026-07-19 20:59 -0500", "c 2026-07-19 20:59 -0500"),
    at_place("TX texts too", TX, "2026-07-19 09:00 -0500", f"s 2026-07-19 12:00 -0500 {STATE}", sms()),
    at_place("TX texts before September 2025 had federal hours", TX, "2025-08-31 09:00 -0500", "s 2025-08-31 09:00 -0500", sms()),
    at_place("TX calls then had their own", TX, "2025-08-31 09:00 -0500", f"c 2025-08-31 12:00 -0500 {STATE}"),
    at_place("E13: AL has no Sundays", AL, "2026-07-18 20:30 -0500", f"c 2026-07-20 08:00 -0500 {STATE}"),
    at_place("AL Sunday noon", AL, "2026-07-19 12:00 -0500", f"c 2026-07-20 08:00 -0500 {STATE}"),
    at_place("AL has no 4th of July, observed on Friday", AL, "2026-07-02 20:30 -0500", f"c 2026-07-06 08:00 -0500 {STATE} {HOLIDAY} {FEDERAL}"),
    at_place("AL at Christmas", AL, "2026-12-25 12:00 -0600", f"c 2026-12-26 08:00 -0600 {HOLIDAY} {FEDERAL}"),
    at_place("LA has no Sundays", LA, "2026-07-19 12:00 -0500", f"c 2026-07-20 08:00 -0500 {STATE}"),
    at_place("LA keeps Mardi Gras", LA, "2026-02-17 12:00 -0600", f"c 2026-02-18 08:00 -0600 {HOLIDAY} {FEDERAL}"),
    at_place("LA keeps Good Friday", LA, "2026-04-03 12:00 -0500", f"c 2026-04-04 08:00 -0500 {HOLIDAY} {FEDERAL}"),
    at_place("MS has no Sundays", MS, "2026-07-19 12:00 -0500", f"c 2026-07-20 08:00 -0500 {STATE}"),
    at_place("MS at Christmas", MS, "2026-12-25 12:00 -0600", f"c 2026-12-26 08:00 -0600 {HOLIDAY} {FEDERAL}"),
    at_place("RI closes at 18", RI, "2026-07-15 18:00 -0400", f"c 2026-07-16 09:00 -0400 {STATE}"),
    at_place("RI opens at 10 on Saturdays", RI, "2026-07-17 18:00 -0400", f"c 2026-07-18 10:00 -0400 {STATE}"),
    at_place("RI closes at 17 on Saturdays", RI, "2026-07-18 17:00 -0400", f"c 2026-07-20 09:00 -0400 {STATE}"),
    at_place("RI keeps Victory Day", RI, "2026-08-10 12:00 -0400", f"c 2026-08-11 09:00 -0400 {HOLIDAY} {FEDERAL} {STATE}"),
    at_place("OR closes at 20", "+15035550100", "2026-12-01 20:30 -0800", f"c 2026-12-02 08:00 -0800 {STATE}"),
    at_place("WA closes at 20", "+12065550100", "2026-12-01 20:30 -0800", f"c 2026-12-02 08:00 -0800 {STATE}"),
    at_place("PA keeps Christmas", "+12155550100", "2026-12-25 12:00 -0500", f"c 2026-12-26 09:00 -0500 {HOLIDAY} {FEDERAL} {STATE}"),
    at_place("RI keeps Election Day", RI, "2026-11-03 12:00 -0500", f"c 2026-11-04 09:00 -0500 {HOLIDAY} {FEDERAL} {STATE}"),
    at_place("UT has no Sundays", "+18015550100", "2026-12-06 12:00 -0700", f"c 2026-12-07 08:00 -0700 {STATE}"),
    PreviewRow("France rests at noon", "2026-12-04 13:30 +0100", [call()], [f"c 2026-12-04 14:00 +0100 {FEDERAL}", DONE], None, {"caller_id": "+33142685300", "consent": {"kind": "form", "url": "https://example.com/form"}}),
    PreviewRow("Germany rests on Sundays", "2026-12-06 12:00 +0100", [call()], [f"c 2026-12-07 08:00 +0100 {FEDERAL}", DONE], None, {"caller_id": "+49301234567", "opt_in": "yes"}),
    PreviewRow("France asks for consent first", "2026-12-04 14:30 +0100", [call()], ["= waiting consent_missing"], None, {"caller_id": "+33142685300"}),
    PreviewRow("and did not before August 2026", "2026-08-05 14:30 +0200", [call()], ["c 2026-08-05 14:30 +0200", DONE], None, {"caller_id": "+33142685300"}),
    PreviewRow("other purposes need none", "2026-12-04 14:30 +0100", [call()], ["c 2026-12-04 14:30 +0100", DONE], None, {"caller_id": "+33142685300"}, {"purpose": "informational"}),
    at_place("NY has no Sundays off", "+12125550100", "2026-07-19 12:00 -0400", "c 2026-07-19 12:00 -0400"),
    PreviewRow("other purposes have federal hours alone", "2026-07-15 20:30 -0400", [call()], ["c 2026-07-15 20:30 -0400", DONE], None, {"caller_id": FL}, {"purpose": "informational"}),
    # States united: stated, zip, number
    PreviewRow("a stated zone moves no state", "2026-07-15 20:00 -0700", [call()], [f"c 2026-07-16 08:00 -0700 {STATE}", DONE], "America/Los_Angeles", {"caller_id": FL}),
    PreviewRow("the zip's state counts", "2026-07-15 20:00 -0400", [call()], [f"c 2026-07-16 08:00 -0400 {STATE}", DONE], lead={"zip_postal_code": "33101"}),
    PreviewRow("the stated state counts", "2026-07-19 09:00 -0400", [call()], [f"c 2026-07-19 12:00 -0400 {STATE}", DONE], lead={"state": "TX"}),
    PreviewRow("the stricter of two states: Texas on a Sunday from noon, Florida until 20", "2026-07-18 20:00 -0400", [call()], [f"c 2026-07-19 12:00 -0400 {STATE}", DONE], lead={"state": "TX", "zip_postal_code": "33101"}),
    PreviewRow("Florida's close holds for a Texan number", "2026-07-15 20:30 -0500", [call()], [f"c 2026-07-16 09:00 -0500 {STATE}", DONE], "America/Chicago", {"caller_id": TX, "state": "FL"}),
    PreviewRow("a zip in two places: Alabama's clock with New York's", "2026-07-15 06:00 -0400", [call()], [f"c 2026-07-15 08:00 -0500 {FEDERAL}", DONE], None, {"zip_postal_code": "35203"}),
    PreviewRow("Alabama's close on New York's clock", "2026-07-15 20:00 -0400", [call()], [f"c 2026-07-16 08:00 -0500 {STATE} {FEDERAL}", DONE], None, {"zip_postal_code": "35203"}),
    PreviewRow("a state's name in full", "2026-07-15 20:00 -0400", [call()], [f"c 2026-07-16 08:00 -0400 {STATE}", DONE], lead={"state_province": "Florida"}),
    # Caps
    after("E12: Florida's fourth call is 24 h after the first", FL, "2026-07-15 15:30 -0400", THREE, [f"c 2026-07-16 09:00 -0400 {CAP}", DONE]),
    after("two calls leave one", FL, "2026-07-15 15:30 -0400", THREE[1:], ["c 2026-07-15 15:30 -0400", DONE]),
    after("the cap ends at its second", FL, "2026-07-16 09:00 -0400", THREE, ["c 2026-07-16 09:00 -0400", DONE]),
    after("texts count as calls do", FL, "2026-07-15 15:30 -0400", ["sms 2026-07-15 09:00 -0400", *THREE[1:]], [f"s 2026-07-16 09:00 -0400 {CAP}", SENT], sms()),
    after("a text that was not accepted does not", FL, "2026-07-15 15:30 -0400", ["sms 2026-07-15 09:00 -0400 failed", *THREE[1:]], ["c 2026-07-15 15:30 -0400", DONE]),
    after("a call to a wrong line was none", FL, "2026-07-15 15:30 -0400", ["call 2026-07-15 09:00 -0400 not_placed", *THREE[1:]], ["c 2026-07-15 15:30 -0400", DONE]),
    after("an unanswered call was one", FL, "2026-07-15 15:30 -0400", ["call 2026-07-15 09:00 -0400 no_answer", *THREE[1:]], [f"c 2026-07-16 09:00 -0400 {CAP}", DONE]),
    after("a cap that ends at night", FL, "2026-07-15 15:30 -0400", ["call 2026-07-14 20:30 -0400", *THREE[1:]], [f"c 2026-07-16 08:00 -0400 {CAP} {STATE}", DONE]),
    after("no cap for e-mail", FL, "2026-07-15 15:30 -0400", THREE, ["m 2026-07-15 15:30 -0400", "= completed"], email()),
    after("Florida's state from the zip brings its cap", "+12125550100", "2026-07-15 15:30 -0400", THREE, [f"c 2026-07-16 09:00 -0400 {CAP}", DONE], lead={"zip_postal_code": "33101"}),
    after("a cap is released for one call at a time", FL, "2026-07-15 15:30 -0400", THREE, [f"c 2026-07-16 09:00 -0400 {CAP}", f"d 2026-07-16 12:00 -0400 {CAP}", DONE], call(), call("d")),
    after("Oklahoma's cap", OK, "2026-07-15 15:30 -0400", THREE, [f"c 2026-07-16 08:00 -0500 {CAP}", DONE]),
    after("Oregon's cap", "+15035550100", "2026-07-15 15:30 -0400", THREE, [f"c 2026-07-16 08:00 -0700 {CAP} {FEDERAL}", DONE]),
    after("Maryland's cap", MD, "2026-07-15 15:30 -0400", THREE, [f"c 2026-07-16 09:00 -0400 {CAP}", DONE]),
    after("Maine's cap is 8 hours", ME, "2026-07-15 15:30 -0400", ["call 2026-07-15 09:00 -0400"], [f"c 2026-07-16 09:00 -0400 {CAP} {STATE}", DONE]),
    after("Maine's cap over night", ME, "2026-07-15 16:30 -0400", ["call 2026-07-15 16:00 -0400"], [f"c 2026-07-16 09:00 -0400 {CAP} {FEDERAL} {STATE}", DONE]),
    after("Maine's cap from the night before", ME, "2026-07-15 09:00 -0400", ["call 2026-07-15 02:30 -0400"], [f"c 2026-07-15 10:30 -0400 {CAP}", DONE]),
    after("Maine counts no texts", ME, "2026-07-15 15:30 -0400", ["sms 2026-07-15 09:00 -0400"], ["c 2026-07-15 15:30 -0400", DONE]),
    after("and stops none", ME, "2026-07-15 15:30 -0400", ["call 2026-07-15 09:00 -0400"], ["s 2026-07-15 15:30 -0400", SENT], sms()),
    after("Maine: two calls of a schedule", ME, "2026-07-15 09:00 -0400", [], ["c 2026-07-15 09:00 -0400", f"d 2026-07-16 09:00 -0400 {CAP} {STATE}", DONE], call(), call("d")),
    after("the cap knows no clock change", FL, "2026-10-31 16:00 -0400", ["call 2026-10-31 13:00 -0400", "call 2026-10-31 14:00 -0400", "call 2026-10-31 15:00 -0400"], [f"c 2026-11-01 12:00 -0500 {CAP}", DONE]),
    after("collections: seven calls in seven days", "+12125550100", "2026-07-15 12:00 -0400", [f"call 2026-07-{day:02} 10:00 -0400" for day in range(9, 16)], [f"c 2026-07-16 10:00 -0400 {CAP}", DONE], fields={"purpose": "collections"}),
    after("six leave one", "+12125550100", "2026-07-15 12:00 -0400", [f"call 2026-07-{day:02} 10:00 -0400" for day in range(10, 16)], ["c 2026-07-15 12:00 -0400", DONE], fields={"purpose": "collections"}),
    after("30 s between two calls", "+12125550100", "2026-07-15 12:00 -0400", [], ["c 2026-07-15 12:00 -0400", "d 2026-07-15 12:00:30 -0400 min_spacing", DONE], call(), call("d")),
    after("a text may follow at once", "+12125550100", "2026-07-15 12:00 -0400", [], ["c 2026-07-15 12:00 -0400", "s 2026-07-15 12:00 -0400", DONE], call(), sms()),
    after("and a call a text", "+12125550100", "2026-07-15 12:00 -0400", [], ["s 2026-07-15 12:00 -0400", "c 2026-07-15 12:00 -0400", DONE], sms(), call()),
    after("four texts a day in Florida", FL, "2026-07-15 12:00 -0400", [], ["a 2026-07-15 12:00 -0400 #1", "b 2026-07-15 12:00 -0400 #2", "c 2026-07-15 12:00 -0400 #3", f"d 2026-07-16 12:00 -0400 #4 {CAP}", SENT], sms("a"), sms("b"), sms("c"), sms("d")),
    after("a restart forgives no cap", FL, "2026-07-15 12:00 -0400", [], ["c 2026-07-15 12:00 -0400 #1", "r 2026-07-15 13:00 -0400", "c 2026-07-15 13:00 -0400 #1", "r 2026-07-15 14:00 -0400", "c 2026-07-15 14:00 -0400 #1", "r 2026-07-15 15:00 -0400", f"c 2026-07-16 12:00 -0400 #1 {CAP}", DONE], call(), wait("1h"), {"id": "r", "kind": "restart", "max_restarts": 3}),
]  # fmt: skip
