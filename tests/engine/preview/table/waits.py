"""How long does a lead wait? Durations that elapse, days that keep the wall clock, local times."""

# ruff: noqa: E501 - a row is a line
from tests.engine.preview.table.rows import WEEKDAYS, PreviewRow, call, email, sms, step, until, wait

DONE = "= completed_connected"
MAILED = "= completed"
FEDERAL = "quiet_hours_federal"


def mail(
    case: str, at: str, pause: dict[str, object], answer: str, zone: str = "America/New_York", **fields: object
) -> PreviewRow:
    """An e-mail after a wait: nothing else moves it."""
    return PreviewRow(case, at, [pause, email()], [answer, MAILED], zone, {"email": "ada@example.com"}, fields)


ROWS = [
    mail("E5: a day keeps the clock", "2026-03-07 10:00 -0500", wait("1d"), "m 2026-03-08 10:00 -0400"),
    mail("E5: 24 hours elapse", "2026-03-07 10:00 -0500", wait("24h"), "m 2026-03-08 11:00 -0400"),
    mail("a day that elapses", "2026-03-07 10:00 -0500", wait("1d", mode="elapsed"), "m 2026-03-08 11:00 -0400"),
    mail("hours on the calendar", "2026-03-07 10:00 -0500", wait("24h", mode="calendar"), "m 2026-03-08 10:00 -0400"),
    mail("a day in autumn has 25 hours", "2026-10-31 10:00 -0400", wait("1d"), "m 2026-11-01 10:00 -0500"),
    mail("24 hours in autumn", "2026-10-31 10:00 -0400", wait("24h"), "m 2026-11-01 09:00 -0500"),
    mail("a week over the change", "2026-03-07 10:00 -0500", wait("1w"), "m 2026-03-14 10:00 -0400"),
    mail("168 hours over it", "2026-03-07 10:00 -0500", wait("168h"), "m 2026-03-14 11:00 -0400"),
    mail("seconds", "2026-07-15 10:00 -0400", wait("90s"), "m 2026-07-15 10:01:30 -0400"),
    mail("minutes over the change", "2026-03-08 01:50 -0500", wait("15m"), "m 2026-03-08 03:05 -0400"),
    mail("minutes into the doubled hour", "2026-11-01 01:50 -0400", wait("15m"), "m 2026-11-01 01:05 -0500"),
    mail("a day into the gap: the offset before it", "2026-03-07 02:30 -0500", wait("1d"), "m 2026-03-08 03:30 -0400"),
    mail("a day into the doubled hour: the first", "2026-10-31 01:30 -0400", wait("1d"), "m 2026-11-01 01:30 -0400"),
    mail("a day out of the second doubled hour", "2026-11-01 01:30 -0500", wait("1d"), "m 2026-11-02 01:30 -0500"),
    mail("a day in Lord Howe", "2026-10-03 10:00 +1030", wait("1d"), "m 2026-10-04 10:00 +1100", "Australia/Lord_Howe"),
    mail("a day into the half hour that Lord Howe skips", "2026-10-03 02:15 +1030", wait("1d"), "m 2026-10-04 02:45 +1100", "Australia/Lord_Howe"),
    mail("a day in Troll", "2026-03-28 10:00 +0000", wait("1d"), "m 2026-03-29 10:00 +0200", "Antarctica/Troll"),
    mail("a day in Casablanca", "2026-03-21 10:00 +0000", wait("1d"), "m 2026-03-22 10:00 +0100", "Africa/Casablanca"),
    mail("a day in Sydney", "2028-09-30 10:00 +1000", wait("1d"), "m 2028-10-01 10:00 +1100", "Australia/Sydney"),
    mail("a day in Kathmandu", "2026-07-15 10:00 +0545", wait("1d"), "m 2026-07-16 10:00 +0545", "Asia/Kathmandu"),
    mail("a day in St John's", "2027-11-06 10:00 -0230", wait("1d"), "m 2027-11-07 10:00 -0330", "America/St_Johns"),
    mail("a month ends", "2026-01-31 10:00 -0500", wait("1d"), "m 2026-02-01 10:00 -0500"),
    mail("29 February", "2028-02-28 10:00 -0500", wait("1d"), "m 2028-02-29 10:00 -0500"),
    mail("no 29 February", "2027-02-28 10:00 -0500", wait("1d"), "m 2027-03-01 10:00 -0500"),
    mail("a year of weeks from 29 February", "2028-02-29 10:00 -0500", wait("52w"), "m 2029-02-27 10:00 -0500"),
    mail("a day that Samoa left out is waited for all the same", "2011-12-29 10:00 -1000", wait("2d"), "m 2011-12-31 10:00 +1400", "Pacific/Apia"),
    # Until a local time
    mail("until today's time", "2026-07-15 09:00 -0400", until("10:00"), "m 2026-07-15 10:00 -0400"),
    mail("until exactly now", "2026-07-15 10:00 -0400", until("10:00"), "m 2026-07-15 10:00 -0400"),
    mail("never today's past time", "2026-07-15 10:00:01 -0400", until("10:00"), "m 2026-07-16 10:00 -0400"),
    mail("now if it has passed", "2026-07-15 11:00 -0400", until("10:00", if_passed="now"), "m 2026-07-15 11:00 -0400"),
    mail("on the next of its days", "2026-07-18 09:00 -0400", until("10:00", days=WEEKDAYS), "m 2026-07-20 10:00 -0400"),
    mail("passed on its day", "2026-07-17 11:00 -0400", until("10:00", days=WEEKDAYS), "m 2026-07-20 10:00 -0400"),
    mail("passed on its only day", "2026-07-15 11:00 -0400", until("10:00", days=["wed"]), "m 2026-07-22 10:00 -0400"),
    mail("on a date", "2026-07-15 11:00 -0400", until("10:00", date="2026-08-01"), "m 2026-08-01 10:00 -0400"),
    mail("on 29 February", "2027-07-15 11:00 -0400", until("10:00", date="2028-02-29"), "m 2028-02-29 10:00 -0500"),
    mail("the zone of the lead, not of the schedule", "2026-07-15 05:00 -0700", until("10:00"), "m 2026-07-15 10:00 -0700", "America/Los_Angeles", time_zone="America/New_York"),
    mail("the zone of the schedule", "2026-07-15 05:00 -0700", until("10:00", zone="schedule"), "m 2026-07-15 07:00 -0700", "America/Los_Angeles", time_zone="America/New_York"),
    mail("the weekday of the schedule's zone", "2026-07-17 22:00 -0700", until("09:00", zone="schedule", days=["sat"]), "m 2026-07-18 06:00 -0700", "America/Los_Angeles", time_zone="America/New_York"),
    mail("a zone of its own", "2026-07-15 05:00 -0400", until("10:00", zone="Europe/London"), "m 2026-07-15 05:00 -0400"),
    mail("half past ten in London", "2026-07-15 05:00 -0400", until("10:30", zone="Europe/London"), "m 2026-07-15 05:30 -0400"),
    mail("until a time after the change", "2026-03-07 22:00 -0500", until("10:00"), "m 2026-03-08 10:00 -0400"),
    mail("until a time that comes twice: the first", "2026-11-01 00:30 -0400", until("01:30"), "m 2026-11-01 01:30 -0400"),
    mail("Arizona keeps its clock", "2026-03-07 22:00 -0700", until("10:00"), "m 2026-03-08 10:00 -0700", "America/Phoenix"),
    # What a wait begins at, and hours behind it
    PreviewRow("waits add up", "2026-07-15 10:00 -0400", [call(), wait("1h"), wait("30m", "more"), sms()], ["c 2026-07-15 10:00 -0400", "s 2026-07-15 11:30 -0400", DONE]),
    PreviewRow("a wait begins when the step before was done", "2026-07-14 22:00 -0400", [call(), wait("2h"), sms()], [f"c 2026-07-15 08:00 -0400 {FEDERAL}", "s 2026-07-15 10:00 -0400", DONE]),
    PreviewRow("a wait ends in the night", "2026-07-15 20:00 -0400", [call(), wait("2h"), sms()], ["c 2026-07-15 20:00 -0400", f"s 2026-07-16 08:00 -0400 {FEDERAL}", DONE]),
    PreviewRow("a wait for the morning, then its hours", "2026-07-17 12:00 -0400", [call(), until("07:00"), call("d")], ["c 2026-07-17 12:00 -0400", f"d 2026-07-18 08:00 -0400 {FEDERAL}", DONE]),
    PreviewRow("a wait at the end only ends later", "2026-07-15 10:00 -0400", [call(), wait("1h")], ["c 2026-07-15 10:00 -0400", "= completed_connected 2026-07-15 11:00 -0400"]),
    PreviewRow("waiting for what does not come", "2026-07-15 10:00 -0400", [step("wait_for", "f", event="converted", timeout="2h"), call()], ["c 2026-07-15 12:00 -0400", DONE]),
    PreviewRow("what does not come has its own way", "2026-07-15 10:00 -0400", [step("wait_for", "f", event="sms.received", timeout="1d", on_timeout="d", on_match="c"), call(), call("d")], ["d 2026-07-16 10:00 -0400", DONE]),
    PreviewRow("what is true already is not waited for", "2026-07-15 10:00 -0400", [step("wait_for", "f", event="tokens_match", filters=["roof:flat"], timeout="2h", on_match="d"), call(), call("d")], ["d 2026-07-15 10:00 -0400", DONE], lead={"data": {"roof": "flat"}}),
    PreviewRow("a day of timeout keeps the clock", "2026-03-07 10:00 -0500", [step("wait_for", "f", event="converted", timeout="1d"), call()], ["c 2026-03-08 10:00 -0400", DONE]),
]  # fmt: skip
