"""When does a contact happen that waits for hours? Legal floor, preferred hours, nights, clock changes, several zones."""

# ruff: noqa: E501 - a row is a line
from tests.engine.preview.table.rows import WEEKDAYS, PreviewRow, call, email, hours, sms, wait, webhook

FEDERAL = "quiet_hours_federal"
DONE = "= completed_connected"
SENT = "= completed_attempted"
MAILED = "= completed"
"""An e-mail is no contact attempt (3.1)."""


def mail(  # noqa: PLR0917 - a row of the table
    case: str, at: str, opens: str, closes: str, answer: str, zone: str = "America/New_York", **more: list[str]
) -> PreviewRow:
    """An e-mail, which no law holds, in preferred hours."""
    return PreviewRow(
        case, at, [email()], [answer, MAILED], zone, {"email": "ada@example.com"}, hours("email", opens, closes, **more)
    )


ROWS = [
    PreviewRow("in hours a call is made at once", "2026-07-15 12:34 -0400", [call()], ["c 2026-07-15 12:34 -0400 #1", DONE]),
    PreviewRow("the floor opens at 08:00", "2026-07-15 07:59 -0400", [call()], [f"c 2026-07-15 08:00 -0400 {FEDERAL}", DONE]),
    PreviewRow("08:00 is open", "2026-07-15 08:00 -0400", [call()], ["c 2026-07-15 08:00 -0400", DONE]),
    PreviewRow("20:59:59 is open", "2026-07-15 20:59:59 -0400", [call()], ["c 2026-07-15 20:59:59 -0400", DONE]),
    PreviewRow("21:00 is closed", "2026-07-15 21:00 -0400", [call()], [f"c 2026-07-16 08:00 -0400 {FEDERAL}", DONE]),
    PreviewRow("the floor holds for texts", "2026-07-15 22:00 -0400", [sms()], [f"s 2026-07-16 08:00 -0400 {FEDERAL}", SENT]),
    PreviewRow(
        "e-mail has no legal hours",
        "2026-07-15 03:00 -0400",
        [email()],
        ["m 2026-07-15 03:00 -0400", MAILED],
        lead={"email": "ada@example.com"},
    ),
    PreviewRow("a webhook has none either", "2026-07-15 03:00 -0400", [webhook()], ["w 2026-07-15 03:00 -0400", "= completed"]),
    # Clock changes, as 3.10 has them
    PreviewRow("E1", "2026-03-07 21:30 -0500", [call()], [f"c 2026-03-08 08:00 -0400 {FEDERAL}", DONE]),
    PreviewRow("E2", "2026-10-31 21:30 -0400", [call()], [f"c 2026-11-01 08:00 -0500 {FEDERAL}", DONE]),
    PreviewRow("the spring of 2027", "2027-03-13 21:30 -0500", [call()], [f"c 2027-03-14 08:00 -0400 {FEDERAL}", DONE]),
    PreviewRow("the autumn of 2028", "2028-11-04 21:30 -0400", [call()], [f"c 2028-11-05 08:00 -0500 {FEDERAL}", DONE]),
    PreviewRow("29 February is a day", "2028-02-28 21:00 -0500", [call()], [f"c 2028-02-29 08:00 -0500 {FEDERAL}", DONE]),
    PreviewRow("1 March follows 28 February", "2027-02-28 21:00 -0500", [call()], [f"c 2027-03-01 08:00 -0500 {FEDERAL}", DONE]),
    PreviewRow("a year ends", "2026-12-31 21:00 -0500", [call()], [f"c 2027-01-01 08:00 -0500 {FEDERAL}", DONE]),
    mail("E6b: an opening in the gap", "2026-03-08 01:00 -0500", "02:30", "05:00", "m 2026-03-08 03:00 -0400 preferred_window"),
    mail("E6c: an opening that comes twice", "2026-11-01 00:00 -0400", "01:30", "05:00", "m 2026-11-01 01:30 -0500 preferred_window"),
    mail("E6c: a close that comes twice", "2026-11-01 01:30 -0400", "00:00", "01:30", "m 2026-11-02 00:00 -0500 preferred_window"),
    mail("open until the first close", "2026-11-01 01:29 -0400", "00:00", "01:30", "m 2026-11-01 01:29 -0400"),
    mail("hours within the doubled hour do not open", "2026-11-01 00:00 -0400", "01:15", "01:45", "m 2026-11-02 01:15 -0500 preferred_window"),
    mail("hours within the gap do not open", "2026-03-08 00:00 -0500", "02:10", "02:50", "m 2026-03-09 02:10 -0400 preferred_window"),
    mail("a close in the gap is where it begins", "2026-03-08 01:59 -0500", "00:30", "02:30", "m 2026-03-08 01:59 -0500"),
    mail("and closed behind it", "2026-03-08 03:00 -0400", "00:30", "02:30", "m 2026-03-09 00:30 -0400 preferred_window"),
    mail("E6d: Lord Howe, half an hour", "2026-10-04 01:00 +1030", "02:15", "05:00", "m 2026-10-04 02:30 +1100 preferred_window", "Australia/Lord_Howe"),
    mail("Lord Howe in autumn", "2026-04-05 01:00 +1100", "01:45", "05:00", "m 2026-04-05 01:45 +1030 preferred_window", "Australia/Lord_Howe"),
    mail("Sydney in spring", "2027-10-03 01:00 +1000", "02:30", "05:00", "m 2027-10-03 03:00 +1100 preferred_window", "Australia/Sydney"),
    mail("Sydney in autumn", "2027-04-04 01:00 +1100", "02:30", "05:00", "m 2027-04-04 02:30 +1000 preferred_window", "Australia/Sydney"),
    mail("St John's in spring", "2028-03-12 01:00 -0330", "02:15", "05:00", "m 2028-03-12 03:00 -0230 preferred_window", "America/St_Johns"),
    mail("St John's in autumn", "2026-11-01 00:00 -0230", "01:30", "05:00", "m 2026-11-01 01:30 -0330 preferred_window", "America/St_Johns"),
    mail("Troll skips two hours", "2026-03-29 00:30 +0000", "02:00", "05:00", "m 2026-03-29 03:00 +0200 preferred_window", "Antarctica/Troll"),
    mail("Troll has two hours twice", "2026-10-25 00:30 +0200", "02:00", "05:00", "m 2026-10-25 02:00 +0000 preferred_window", "Antarctica/Troll"),
    mail("Casablanca begins Ramadan", "2026-02-15 01:00 +0100", "02:30", "05:00", "m 2026-02-15 02:30 +0000 preferred_window", "Africa/Casablanca"),
    mail("Casablanca ends it", "2026-03-22 01:00 +0000", "02:30", "05:00", "m 2026-03-22 03:00 +0100 preferred_window", "Africa/Casablanca"),
    PreviewRow("Casablanca by day in Ramadan", "2026-02-14 21:30 +0100", [call()], [f"c 2026-02-15 08:00 +0000 {FEDERAL}", DONE], "Africa/Casablanca"),
    PreviewRow("Troll by day", "2026-03-28 22:00 +0000", [call()], [f"c 2026-03-29 08:00 +0200 {FEDERAL}", DONE], "Antarctica/Troll"),
    PreviewRow("Kathmandu", "2026-07-15 21:00 +0545", [call()], [f"c 2026-07-16 08:00 +0545 {FEDERAL}", DONE], "Asia/Kathmandu"),
    PreviewRow("E7: Phoenix in summer", "2026-07-15 05:00 -0700", [call()], [f"c 2026-07-15 08:00 -0700 {FEDERAL}", DONE], "America/Phoenix"),
    PreviewRow("Phoenix does not change in March", "2026-03-07 21:00 -0700", [call()], [f"c 2026-03-08 08:00 -0700 {FEDERAL}", DONE], "America/Phoenix"),
    PreviewRow("Lord Howe by day", "2028-09-30 21:00 +1030", [call()], [f"c 2028-10-01 08:00 +1100 {FEDERAL}", DONE], "Australia/Lord_Howe"),
    # Preferred hours
    PreviewRow("preferred hours open later than the law", "2026-07-15 08:30 -0400", [call()], ["c 2026-07-15 09:00 -0400 preferred_window", DONE], fields=hours("call", "09:00", "20:00", WEEKDAYS)),
    PreviewRow("and close sooner", "2026-07-15 20:00 -0400", [call()], ["c 2026-07-16 09:00 -0400 preferred_window", DONE], fields=hours("call", "09:00", "20:00", WEEKDAYS)),
    PreviewRow("a weekend is waited out", "2026-07-17 20:00 -0400", [call()], ["c 2026-07-20 09:00 -0400 preferred_window", DONE], fields=hours("call", "09:00", "20:00", WEEKDAYS)),
    PreviewRow("first the law, then the preference", "2026-07-15 22:00 -0400", [call()], [f"c 2026-07-16 09:00 -0400 {FEDERAL} preferred_window", DONE], fields=hours("call", "09:00", "20:00")),
    PreviewRow("E14: the weekday is the local one", "2026-07-17 20:00 +0900", [call()], ["c 2026-07-20 08:00 +0900 preferred_window", DONE], "Asia/Tokyo", fields=hours("call", "08:00", "20:00", WEEKDAYS)),
    PreviewRow("E15 at the next opening", "2026-07-18 17:00 -0400", [call()], ["c 2026-07-20 08:00 -0400 preferred_window", DONE], fields=hours("call", "08:00", "20:00", WEEKDAYS)),
    PreviewRow("E15 at the same time", "2026-07-18 17:00 -0400", [call()], ["c 2026-07-20 17:00 -0400 preferred_window", DONE], fields={**hours("call", "08:00", "20:00", WEEKDAYS), "window_miss": "same_time_next_allowed_day"}),
    PreviewRow("hours missed skip the step", "2026-07-18 17:00 -0400", [call(), wait("2d"), call("d")], ["d 2026-07-20 17:00 -0400", DONE], fields={**hours("call", "08:00", "20:00", WEEKDAYS), "window_miss": "skip_step"}),
    PreviewRow("a step's own rule goes before", "2026-07-18 17:00 -0400", [call(window_miss="next_open"), wait("1d"), call("d")], ["c 2026-07-20 08:00 -0400 preferred_window", "d 2026-07-21 08:00 -0400", DONE], fields={**hours("call", "08:00", "20:00", WEEKDAYS), "window_miss": "skip_step"}),
    PreviewRow("each channel has its own hours", "2026-07-15 08:30 -0400", [sms(), call()], ["s 2026-07-15 08:30 -0400", "c 2026-07-15 09:00 -0400 preferred_window", DONE], fields=hours("call", "09:00", "20:00")),
    PreviewRow("two windows a day", "2026-07-15 12:00 -0400", [call()], ["c 2026-07-15 14:00 -0400 preferred_window", DONE], fields={"windows": {"call": [{"days": ["wed"], "open": "09:00", "close": "12:00"}, {"days": ["wed"], "open": "14:00", "close": "18:00"}]}}),
    PreviewRow("the law cuts a wide preference", "2026-07-15 21:30 -0400", [call()], [f"c 2026-07-16 08:00 -0400 {FEDERAL}", DONE], fields=hours("call", "00:00", "24:00")),
    PreviewRow("hours one day a week", "2026-07-15 12:00 -0400", [call()], ["c 2026-07-21 10:00 -0400 preferred_window", DONE], fields=hours("call", "10:00", "11:00", ["tue"])),
    mail("24:00 is the end of the day", "2026-07-15 23:59:59 -0400", "20:00", "24:00", "m 2026-07-15 23:59:59 -0400"),
    mail("and midnight is outside", "2026-07-16 00:00 -0400", "20:00", "24:00", "m 2026-07-16 20:00 -0400 preferred_window"),
    mail("two days touch at midnight", "2026-07-16 00:00 -0400", "00:00", "24:00", "m 2026-07-16 00:00 -0400"),
    mail("a night opens on its day", "2026-07-15 21:00 -0400", "22:00", "02:00", "m 2026-07-15 22:00 -0400 preferred_window"),
    mail("a night belongs to the day on which it opens", "2026-07-18 01:00 -0400", "22:00", "02:00", "m 2026-07-18 01:00 -0400", days=["fri"]),
    mail("the morning of its own day is closed", "2026-07-17 01:00 -0400", "22:00", "02:00", "m 2026-07-17 22:00 -0400 preferred_window", days=["fri"]),
    mail("a night ends at its close", "2026-07-18 02:00 -0400", "22:00", "02:00", "m 2026-07-24 22:00 -0400 preferred_window", days=["fri"]),
    mail("a night over the doubled hour closes first", "2026-11-01 01:00 -0500", "22:00", "01:30", "m 2026-11-01 22:00 -0500 preferred_window"),
    mail("a night over the gap closes behind it", "2026-03-08 01:59 -0500", "22:00", "02:30", "m 2026-03-08 01:59 -0500"),
    mail("a night of Santiago in which midnight is missing", "2026-09-06 01:00 -0300", "00:00", "06:00", "m 2026-09-06 01:00 -0300", "America/Santiago"),
    mail("E6: a day that begins at one o'clock", "2026-09-05 23:30 -0400", "00:00", "06:00", "m 2026-09-06 01:00 -0300 preferred_window", "America/Santiago", days=["sun"]),
    PreviewRow("a close margin shortens the day", "2026-07-15 20:59 -0400", [call()], [f"c 2026-07-16 08:00 -0400 {FEDERAL}", DONE], fields={"close_margin_seconds": 60}),
    PreviewRow("up to its second", "2026-07-15 20:58:59 -0400", [call()], ["c 2026-07-15 20:58:59 -0400", DONE], fields={"close_margin_seconds": 60}),
    PreviewRow("a margin holds for preferred hours", "2026-07-15 19:50 -0400", [call()], ["c 2026-07-16 09:00 -0400 preferred_window", DONE], fields={**hours("call", "09:00", "20:00"), "close_margin_seconds": 600}),
    PreviewRow("dates on which nobody is contacted", "2026-12-23 21:00 -0500", [call()], [f"c 2026-12-27 08:00 -0500 {FEDERAL} schedule_paused", DONE], fields={"pauses": [{"from": "2026-12-24", "to": "2026-12-26"}]}),
    PreviewRow("a pause of one day", "2026-12-24 12:00 -0500", [call()], [f"c 2026-12-25 08:00 -0500 schedule_paused {FEDERAL}", DONE], fields={"pauses": [{"from": "2026-12-24", "to": "2026-12-24"}]}),
    # Where the lead is: zip, state, number
    PreviewRow("a number tells its zone", "2026-07-15 07:00 -0700", [call()], [f"c 2026-07-15 08:00 -0700 {FEDERAL}", DONE], None, {"caller_id": "+12135550100"}),
    PreviewRow("E9: a zip in the mountains, a number in the east", "2026-07-15 06:00 -0400", [call()], [f"c 2026-07-15 08:00 -0600 {FEDERAL}", DONE], None, {"zip_postal_code": "80202"}),
    PreviewRow("E9: still open", "2026-07-15 20:59 -0400", [call()], ["c 2026-07-15 18:59 -0600", DONE], None, {"zip_postal_code": "80202"}),
    PreviewRow("E9: closed in the east", "2026-07-15 21:00 -0400", [call()], [f"c 2026-07-16 08:00 -0600 {FEDERAL}", DONE], None, {"zip_postal_code": "80202"}),
    PreviewRow("a stated zone is trusted alone", "2026-07-15 08:00 -0400", [call()], ["c 2026-07-15 08:00 -0400", DONE], lead={"zip_postal_code": "80202"}),
    PreviewRow("E8: a toll-free number is anywhere", "2026-07-15 06:00 -0400", [call()], [f"c 2026-07-15 08:00 -1000 {FEDERAL}", DONE], None, {"caller_id": "+18005550100"}),
    PreviewRow("E8: closed in the east", "2026-07-15 21:00 -0400", [call()], [f"c 2026-07-16 08:00 -1000 {FEDERAL}", DONE], None, {"caller_id": "+18005550100"}),
    PreviewRow("an unknown place waits where the schedule says so", "2026-07-15 12:00 -0400", [call()], ["= waiting timezone_unknown"], None, {"caller_id": "+18005550100"}, {"unknown_zone": "hold"}),
    PreviewRow("or is taken for the schedule's", "2026-07-15 07:00 -0500", [call()], [f"c 2026-07-15 08:00 -0500 {FEDERAL}", DONE], None, {"caller_id": "+18005550100"}, {"unknown_zone": "default_zone", "time_zone": "America/Chicago"}),
    PreviewRow("London", "2026-07-15 21:00 +0100", [call()], [f"c 2026-07-16 08:00 +0100 {FEDERAL}", DONE], None, {"caller_id": "+442071838750"}),
    PreviewRow("Nepal by its number", "2026-07-15 07:00 +0545", [call()], [f"c 2026-07-15 08:00 +0545 {FEDERAL}", DONE], None, {"caller_id": "+97714412345"}),
    PreviewRow("Newfoundland or Labrador by its number", "2026-07-15 07:00 -0230", [call()], [f"c 2026-07-15 09:00 -0300 {FEDERAL}", DONE], None, {"caller_id": "+17095550100"}),
    PreviewRow("an Australian mobile may be in Perth", "2026-07-16 08:00 +1000", [call()], [f"c 2026-07-16 09:00 +0800 {FEDERAL}", DONE], None, {"caller_id": "+61412345678"}),
    PreviewRow("or on Lord Howe", "2026-07-16 19:40 +1000", [call()], [f"c 2026-07-17 09:00 +0800 {FEDERAL}", DONE], None, {"caller_id": "+61412345678"}),
    PreviewRow("an Australian landline is where it is", "2026-07-16 09:00 +1000", [call()], ["c 2026-07-16 09:00 +1000", DONE], None, {"caller_id": "+61293744000"}),
    PreviewRow("a Russian mobile may be in Kaliningrad", "2026-07-15 08:00 +0300", [call()], [f"c 2026-07-15 08:00 +0200 {FEDERAL}", DONE], None, {"caller_id": "+79161234567"}),
    PreviewRow("or in Kamchatka", "2026-07-15 21:00 +1200", [call()], [f"c 2026-07-16 08:00 +0200 {FEDERAL}", DONE], None, {"caller_id": "+79161234567"}),
    PreviewRow("a Spanish mobile may be on the Canaries", "2026-07-15 08:00 +0200", [call()], [f"c 2026-07-15 09:00 +0100 {FEDERAL}", DONE], None, {"caller_id": "+34612345678", "opt_in": "yes"}),
    PreviewRow("a Canadian toll-free number may be anywhere in Canada", "2026-07-15 10:00 -0400", [call()], [f"c 2026-07-15 09:00 -0700 {FEDERAL}", DONE], None, {"caller_id": "+18005550100", "country": "CA"}),
    PreviewRow("an unknown place abroad waits where the schedule says so", "2026-07-15 12:00 +1000", [call()], ["= waiting timezone_unknown"], None, {"caller_id": "+61412345678"}, {"unknown_zone": "hold"}),
    PreviewRow("E10: hours that never meet", "2026-07-15 12:00 -0400", [call()], ["= waiting window_never_open"], None, {"zip_postal_code": "90210"}, hours("call", "09:00", "10:00")),
    PreviewRow("E10: and it still expires", "2026-07-15 12:00 -0400", [call()], ["= expired"], None, {"zip_postal_code": "90210"}, {**hours("call", "09:00", "10:00"), "hours_to_expire": 2}),
    PreviewRow("preferred hours in both places of a lead", "2026-07-15 06:00 -0400", [call()], [f"c 2026-07-15 09:00 -0600 {FEDERAL} preferred_window", DONE], None, {"zip_postal_code": "80202"}, hours("call", "09:00", "17:00")),
    PreviewRow("E35: an instant that was asked for waits for the hours", "2026-07-15 12:00 -0400", [call()], [f"c 2026-07-16 08:00 -0400 {FEDERAL}", DONE], lead={"next_action_at": "2026-07-15 22:00:00 -0400"}),
    PreviewRow("an instant that was asked for", "2026-07-15 12:00 -0400", [call()], ["c 2026-07-15 15:30 -0400", DONE], lead={"next_action_at": "2026-07-15 15:30:00 -0400"}),
    PreviewRow("one in the past is now", "2026-07-15 12:00 -0400", [call()], ["c 2026-07-15 12:00 -0400", DONE], lead={"next_action_at": "2026-07-01 15:30:00 -0400"}),
]  # fmt: skip
