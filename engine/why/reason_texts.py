"""How is a reason said to a person? One table for `human_status` and for every answer to `why`: a code, and its words."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from engine.calendar import local_datetime
from engine.submission.states import STATES
from schemas.instant import Instant
from schemas.law import CapRow, RuleRow
from schemas.schedule import Day, Window

LAW_CODES = frozenset({"quiet_hours_federal", "quiet_hours_state", "holiday", "frequency_cap"})
"""Codes that come from rows of the rule pack."""


class ReasonText(Struct, frozen=True):
    """The texts of a code: after `Waiting: `, and as a sentence without its full stop, of now and of the past.

    `rule` is the sentence where the rule is known: `{place}` whose rule it is, `{what}` it limits, `{hours}`, `{most}`.
    """

    waiting: str
    sentence: str
    past: str
    rule: str | None = None
    past_rule: str | None = None


REASON_TEXTS: dict[str, ReasonText] = {
    "quiet_hours_federal": ReasonText(
        "the law allows no contact at this hour",
        "The law allows no contact at this hour",
        "The law allowed no contact at this hour",
        "{place} allows {what} {hours}",
        "{place} allowed {what} {hours}",
    ),
    "quiet_hours_state": ReasonText(
        "the law of the state allows no contact at this hour",
        "The law of the state allows no contact at this hour",
        "The law of the state allowed no contact at this hour",
        "{place} allows {what} {hours}",
        "{place} allowed {what} {hours}",
    ),
    "preferred_window": ReasonText(
        "outside the hours of the schedule",
        "Its time is outside the hours of the schedule",
        "Its time was outside the hours of the schedule",
        "The schedule allows {what} {hours}",
        "The schedule allowed {what} {hours}",
    ),
    "holiday": ReasonText(
        "a holiday",
        "It is a holiday on which no contact is allowed",
        "It was a holiday on which no contact was allowed",
        "{place} allows no {what} on its holidays",
        "{place} allowed no {what} on its holidays",
    ),
    "frequency_cap": ReasonText(
        "this person was contacted as often as the law allows",
        "This person was contacted as often as the law allows",
        "This person had been contacted as often as the law allowed",
        "{place} allows {most}, and they were made",
        "{place} allowed {most}, and they had been made",
    ),
    "min_spacing": ReasonText(
        "the last contact was a moment ago",
        "The last contact with this number was too short a time ago",
        "The last contact with this number had been too short a time before",
    ),
    "max_attempts_pending_outcome": ReasonText(
        "the last allowed attempt has no outcome yet",
        "The last allowed attempt was made, and its outcome is not known yet",
        "The last allowed attempt had been made, and its outcome was not known yet",
    ),
    "schedule_paused": ReasonText(
        "the schedule is paused",
        "The schedule is paused",
        "The schedule was paused",
    ),
    "company_holiday": ReasonText(
        "a holiday of the company",
        "It is a holiday of the company, on which its schedules contact nobody",
        "It was a holiday of the company, on which its schedules contacted nobody",
    ),
    "offer_paused": ReasonText(
        "the offer is paused",
        "The offer is paused",
        "The offer was paused",
    ),
    "on_hold": ReasonText(
        "contacting is on hold",
        "Contacting is on hold: nobody is contacted until that is released",
        "Contacting was on hold: nobody was contacted until that was released",
    ),
    "company_paused": ReasonText(
        "the company is paused",
        "The company is paused",
        "The company was paused",
    ),
    "awaiting_outcome": ReasonText(
        "the outcome of the last action is not known yet",
        "The outcome of the last action with this person is not known yet",
        "The outcome of the last action with this person was not known yet",
    ),
    "awaiting_disposition": ReasonText(
        "the call has no disposition yet",
        "The call has no disposition yet",
        "The call had no disposition yet",
    ),
    "awaiting_event": ReasonText(
        "the schedule waits for something to happen",
        "The schedule waits for something to happen first",
        "The schedule waited for something to happen first",
    ),
    "callback_pending": ReasonText(
        "a callback was promised",
        "A callback was promised, and goes before the steps of the schedule",
        "A callback had been promised, and went before the steps of the schedule",
    ),
    "callback_owner_unavailable": ReasonText(
        "the owner of the callback is not available",
        "The owner of the callback is not available",
        "The owner of the callback was not available",
    ),
    "reply_pause": ReasonText(
        "the person answered by text",
        "The person answered by text, so the schedule pauses for a while",
        "The person had answered by text, so the schedule paused for a while",
    ),
    "inbound_pause": ReasonText(
        "the person called",
        "The person called and was connected, so the schedule pauses for a while",
        "The person had called and been connected, so the schedule paused for a while",
    ),
    "inbound_missed": ReasonText(
        "the person's call was not answered",
        "The call of the person was not answered; they are called back when a line is free",
        "The call of the person had not been answered; they were to be called back when a line was free",
    ),
    "optout_review": ReasonText(
        "somebody must read whether the person opted out",
        "An answer of the person may be an opt-out; somebody must read it",
        "An answer of the person could be an opt-out; somebody had to read it",
    ),
    "text_incomplete": ReasonText(
        "parts of a text of the person are missing",
        "Parts of a text of the person are missing; it may be an opt-out",
        "Parts of a text of the person were missing; it could be an opt-out",
    ),
    "public_cap": ReasonText(
        "the day's contacts for leads without a key are used up",
        "Another lead of this person came without a key today; the contacts that all further ones share are used up",
        "Another lead of this person had come without a key that day; the contacts that all further ones share were used up",
    ),
    "concurrency_cap": ReasonText(
        "all lines are in use",
        "All lines to the buyers are in use",
        "All lines to the buyers were in use",
    ),
    "buyer_cap": ReasonText(
        "the caps of the buyers are used up",
        "The caps of the buyers that may take this call are used up until they are reset",
        "The caps of the buyers that could take this call were used up until they were reset",
    ),
    "traffic_source_cap": ReasonText(
        "the caps of the traffic source are used up",
        "The caps of the traffic source of this lead are used up until they are reset",
        "The caps of the traffic source of this lead were used up until they were reset",
    ),
    "number_cap": ReasonText(
        "the caps of the number are used up",
        "The caps of the number that this lead is called from are used up until they are reset",
        "The caps of the number that was to call this lead were used up until they were reset",
    ),
    "commands_open": ReasonText(
        "as many commands are on their way as may be",
        "As many commands are on their way as may be; it goes when one of them ends",
        "As many commands were on their way as may be; it was to go when one of them ended",
    ),
    "rate_limited": ReasonText(
        "calls are started as fast as allowed",
        "Calls are started as fast as is allowed",
        "Calls were started as fast as is allowed",
    ),
    "no_buyer_available": ReasonText(
        "no buyer is available",
        "No buyer is available to connect the call to",
        "No buyer was available to connect the call to",
    ),
    "no_number_available": ReasonText(
        "no number to contact from is available",
        "No number to contact from is available",
        "No number to contact from was available",
    ),
    "window_never_open": ReasonText(
        "the schedule is never open at an hour that the law allows",
        "The hours of the schedule never meet those that the law allows where this lead may be",
        "The hours of the schedule never met those that the law allowed where this lead could be",
    ),
    "timezone_unknown": ReasonText(
        "nothing tells in which time zone it is; give it a time zone or a zip code",
        "Nothing tells in which time zone this lead is; give it a time zone or a zip code",
        "Nothing said in which time zone this lead was",
    ),
    "number_not_dialled": ReasonText(
        "its number is of a premium, shared-cost, personal or satellite service, which is never dialled",
        "The number is of a premium, shared-cost, personal or satellite service, which is never dialled",
        "The number was of a premium, shared-cost, personal or satellite service, and never dialled",
    ),
    "country_not_dialled": ReasonText(
        "its number is of a country that is not in dial_countries of the offer or company",
        "The number is of a country that is not in dial_countries of the offer or company",
        "The number was of a country that was not in dial_countries of the offer or company",
    ),
    "unreviewed_country": ReasonText(
        "no law of its country is kept, and the company holds telemarketing there",
        "No law of the country is kept here, and the company holds telemarketing there (unreviewed_countries)",
        "No law of the country was kept here, and the company held telemarketing there (unreviewed_countries)",
    ),
    "sector_barred": ReasonText(
        "a law lets nobody be contacted about what its offer sells",
        "A law lets nobody be contacted about what the offer sells (sector of the offer)",
        "A law let nobody be contacted about what the offer sold (sector of the offer)",
    ),
    "refusal_pause": ReasonText(
        "the person refused an offer, and the law has a pause after that",
        "The person refused an offer, and the law has a pause after that",
        "The person had refused an offer, and the law had a pause after that",
    ),
    "consent_missing": ReasonText(
        "there is no consent",
        "There is no consent to contact this person",
        "There was no consent to contact this person",
    ),
    "rnd_pending": ReasonText(
        "it is being checked whether the number has a new owner",
        "It is being checked whether the number has a new owner",
        "It was being checked whether the number had a new owner",
    ),
    "suppression_lookup_failed": ReasonText(
        "the do-not-call list did not answer",
        "The do-not-call list did not answer, and no contact is made without it",
        "The do-not-call list had not answered, and no contact is made without it",
    ),
    "provider_backoff": ReasonText(
        "the provider does not answer",
        "The provider does not answer",
        "The provider did not answer",
    ),
    "move_loop_guard": ReasonText(
        "it loops through steps or schedules",
        "The lead went through too many steps or schedules at once and is held back; look for a loop",
        "The lead had gone through too many steps or schedules at once and was held back",
    ),
    "veto_asked": ReasonText(
        "another system is asked whether it may go on",
        "Another system is asked by its subscription whether this action may be taken",
        "Another system had been asked by its subscription whether this action could be taken",
    ),
    "veto_unanswered": ReasonText(
        "the system that is asked first does not answer",
        "The system that a subscription asks first did not answer, and nothing is done without it",
        "The system that a subscription asks first had not answered, and nothing is done without it",
    ),
    "veto_denied": ReasonText(
        "another system denied it",
        "The system that a subscription asks first denied this action",
        "The system that a subscription asks first had denied this action",
    ),
    "manual_hold": ReasonText(
        "it is held by hand",
        "This lead is held by hand",
        "This lead was held by hand",
    ),
    "decision_failed": ReasonText(
        "deciding on it failed",
        "Deciding on this lead failed; it is tried again, and a dead letter says what happened",
        "Deciding on this lead had failed; it was to be tried again, and a dead letter says what happened",
    ),
    "expires_first": ReasonText(
        "it expires before the step is due",
        "The lead expires before the step is due",
        "The lead was to expire before the step was due",
    ),
}
"""The text of every code of `status_wait` and of reasons."""

FAILURES: dict[str, str] = {
    "no_address": "the lead has no number or address for it",
    "opted_out_of_channel": "the person opted out of its channel",
    "channel_disabled": "its channel is closed for the person",
    "no_webhook": "its webhook is no longer there",
    "too_large": "the message is too large",
    "token_missing": "a token of its text has no value",
}
"""Why a step could not be taken: the `reason` of `step.failed`."""

WHAT: dict[str, str] = {"call": "calls", "sms": "texts", "email": "e-mails"}
"""What a rule limits, by channel."""

ACTIONS: dict[str, str] = {
    "call": "a call",
    "callback": "a promised call",
    "sms": "a text",
    "email": "an e-mail",
    "webhook": "a webhook",
}

_DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""Independent of the process's locale: the API answers in English."""

_RUN = 3
"""Weekdays in a row that are written as a span."""

_WEEK_AHEAD_DAYS = 6
"""Beyond this many days the name of a weekday alone could mean another week."""


def describe_wait(code: str | None) -> str:
    """Return the text after `Waiting: `; an unknown code is its own text."""
    if code is None:
        return "held"
    words = REASON_TEXTS.get(code)
    return code if words is None else words.waiting


def describe_reason(
    code: str, row: RuleRow | None, windows: Iterable[Window], channel: str | None, *, is_past: bool = False
) -> str:
    """Return the sentence of a code without its stop: with the rule where it is known; `windows` are the hours it leaves."""
    words = REASON_TEXTS.get(code)
    if words is None:
        return f"It {'was' if is_past else 'is'} held back ({code})"
    sentence, rule = (words.past, words.past_rule) if is_past else (words.sentence, words.rule)
    hours = hours_text(windows)
    if rule is None or (row is None and code in LAW_CODES) or (not hours and "{hours}" in rule):
        return sentence
    if "{most}" in rule and (row is None or row.cap is None):
        return sentence
    what = WHAT.get(channel or "", "contacts")
    place = "The law" if row is None else describe_jurisdiction(row)
    most = "" if row is None or row.cap is None else cap_text(row.cap)
    return rule.format(place=place, what=what, hours=hours, most=most)


def describe_jurisdiction(row: RuleRow) -> str:
    """Return the name of the rule's jurisdiction."""
    if row.state is not None:
        return STATES.get(row.state, row.state)
    return "US federal law" if row.country == "US" else "The law"


def hours_text(windows: Iterable[Window]) -> str:
    """Return hours as a person reads them: `from 8:00 to 20:00`, `Mon-Fri from 9:00 to 20:00 and Sat from …`."""
    by_hours: dict[tuple[str, str], set[str]] = {}
    for window in windows:
        by_hours.setdefault((window.open, window.close), set()).update(window.days)
    return " and ".join(
        f"{_days(days)}from {_clock(opens)} to {_clock(closes)}" for (opens, closes), days in by_hours.items()
    )


def cap_text(cap: CapRow) -> str:
    """Return the most contacts that a law allows: `3 calls and texts in 24h to one number`."""
    kinds = [kind for kind in ("call", "sms") if kind in cap.counts]
    return f"{cap.count} {' and '.join(WHAT[kind] for kind in kinds)} in {cap.period} to one number"


def clock(at: Instant, now: Instant, zone_name: str) -> str:
    """Return a moment on the wall clock of a zone: `Thu 8:00`, further away `Thu 3 Dec 8:00`, in another year with it."""
    local, today = local_datetime(at, zone_name), local_datetime(now, zone_name)
    days = abs((local.date() - today.date()).days)
    if days <= _WEEK_AHEAD_DAYS:
        return f"{_DAYS[local.weekday()].title()} {_time(local)}"
    year = "" if local.year == today.year else f" {local.year}"
    return f"{_DAYS[local.weekday()].title()} {local.day} {_MONTHS[local.month - 1]}{year} {_time(local)}"


def time_of_day(at: Instant, zone_name: str) -> str:
    """Return the time on the wall clock of a zone: `20:14`."""
    return _time(local_datetime(at, zone_name))


def _time(local: datetime) -> str:
    return f"{local.hour}:{local.minute:02}"


def _clock(text: str) -> str:
    return text.removeprefix("0")


def _days(days: set[str]) -> str:
    """Return weekdays with a space behind, runs of three or more as `Mon-Fri`; nothing for the whole week."""
    places = [place for place, day in enumerate(_DAYS) if day in days]
    if len(places) == len(_DAYS):
        return ""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    names = [
        f"{_DAYS[run[0]].title()}-{_DAYS[run[-1]].title()}"
        if len(run) >= _RUN
        else ", ".join(_DAYS[place].title() for place in run)
        for run in runs
    ]
    return f"{', '.join(names)} "
