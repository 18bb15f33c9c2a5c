"""Which columns may a team hide, and which others would say the same? A column that follows from a hidden one is hidden too.

Figures are made of fields of other models too: what all calls earned is hidden from who does not see all calls.
Words that a request may send, such as parameters of filters and categories of reports, are names of what they read.
"""

from collections.abc import Collection, Mapping

from engine.account.teams import TEAM
from engine.views.call import CALL_COLUMNS
from engine.views.contact import CONTACT_COLUMNS, REVIEW_COLUMNS, SUPPRESSION_COLUMNS
from engine.views.conversion import COLUMNS as CONVERSION_COLUMNS
from engine.views.impression import IMPRESSION_COLUMNS
from engine.views.lead_columns import LEAD_COLUMNS
from engine.views.record import BASE_COLUMNS, record_columns
from schemas.records import RECORD_BODIES

ALWAYS_SHOWN = frozenset({*BASE_COLUMNS, "metadata", "errors"} - {"external_record_id"})
"""Ids, versions and moments of the record itself: answers, links and cursors are made of them."""

_COLUMNS: Mapping[str, Collection[str]] = {
    "lead": LEAD_COLUMNS,
    "call": CALL_COLUMNS,
    "contact": {*CONTACT_COLUMNS, *(column.name for column in (*SUPPRESSION_COLUMNS, *REVIEW_COLUMNS))},
    "conversion": {column.name for columns in CONVERSION_COLUMNS.values() for column in columns},
    "impression": IMPRESSION_COLUMNS,
    **{name: record_columns(name) for name in RECORD_BODIES if name != TEAM},
}

HIDEABLE: Mapping[str, frozenset[str]] = {model: frozenset(columns) - ALWAYS_SHOWN for model, columns in _COLUMNS.items()}
"""Model -> columns that a team may hide. Who reads teams sees what they hide, so a team hides no field of teams."""

_NUMBERS = ("caller_number", "number_called", "from_number")
_OWN_NUMBER = ("svc_number", "svc_number_plain", "dial_number_id")
_TEXT_NUMBER = ("sms_number", "sms_number_plain", "sms_number_id")
_CONVERTED = ("buyer_converted", "offer_converted")
_RATES = ("converted_count", "conversion_rate")

_OF_OUTCOMES = ("done_count", "failed_count", "open_count", "sent_count", "by_outcome", "recorded_at")
"""Counts of contacts by outcome, and the span that asks for them."""

_OF_CALLBACKS = (
    *("called_at", "late_seconds", "avg_late_seconds", "kept_count", "kept_late_count", "missed_count", "kept_rate"),
    *("overdue_count", "pending_count", "cancelled_count", "callback_status", "promised_by", "agent_id"),
)
"""What says that a callback was promised, by whom, when it was due or how it went: to be hidden with that instant."""

_OF_LEADS: Mapping[str, Collection[str]] = {
    **dict.fromkeys(("name", "context_menu_name"), ("full_name", "caller_id", "email", "name", "context_menu_name")),
    **dict.fromkeys(("css_status", "is_live", "live_count"), ("status",)),
    "status": ("human_status", "css_status"),
    "human_status": ("status", "status_wait", "next_action_at", "time_zone", "state_province"),
    "has_next_action": ("status", "next_action_at"),
    "expires_in": ("expires_at",),
    "expires_at": ("expires_in",),
    **dict.fromkeys(_OWN_NUMBER, _OWN_NUMBER),
    **dict.fromkeys(_TEXT_NUMBER, _TEXT_NUMBER),
    "call_buyer_conversion_id": ("buyer_converted",),
    "call_offer_conversion_id": ("offer_converted",),
    "profit": ("revenue", "payout", "cost"),
    **dict.fromkeys(_RATES, _CONVERTED),
    "opt_out_count": ("opt_out",),
    **dict.fromkeys(("attempted_count", "attempted_call_id"), ("attempted_call_id", "first_action_at")),
    **dict.fromkeys(("connected_count", "connect_rate", "avg_attempts_to_connect"), ("connected_call_id",)),
    "avg_speed_to_first_attempt_seconds": ("first_action_at",),
    **dict.fromkeys(("due_count", "late_count", "due_before"), ("status", "next_action_at")),
    **dict.fromkeys(("in_progress_count", "still_there_count", "ended_count", "endings"), ("status",)),
    **dict.fromkeys(_OF_OUTCOMES, ("outbound_calls_count", "sms_count", "emails_count")),
    # What filters and categories read.
    "number": ("caller_id", "email"),
    "states": ("state_province",),
    "state": ("state_province",),
    "either_converted": _CONVERTED,
    **dict.fromkeys(("buyer_converted_days", "buyer_converted_schedule_action_id"), ("buyer_converted",)),
    **dict.fromkeys(("tag", "token_key", "token_value", "token_values_map", "has_invalid_fields"), ("data",)),
    "fulltext": ("full_name", "email", "external_record_id", "data", "caller_id"),
    "caller_number": ("caller_id", "email"),
    **dict.fromkeys(("schedule_callback_at", "schedule_callback_in_seconds", "promised_at"), ("callback_at",)),
    **dict.fromkeys(_OF_CALLBACKS, ("callback_at",)),
    "end_reason": ("status", "opt_out", "blocked"),
    "move_to_another_schedule_id": ("schedule_id",),
    "recent_call_disposition_id": (),
}
_OF_CALLS: Mapping[str, Collection[str]] = {
    **dict.fromkeys(_NUMBERS, _NUMBERS),
    "profit": ("revenue", "payout", "cost"),
    **dict.fromkeys(("in_progress", "sub_status"), ("status",)),
    "talk_seconds": ("talk_duration",),
    "hold_seconds": ("hold_duration",),
    "has_recording": ("recording_url",),
    "no_buyer": ("buyer_id",),
    "inbound_count": ("direction",),
    **dict.fromkeys(("connected_count", "connect_rate"), ("buyer_answered_at", "outcome", "talk_duration")),
    **dict.fromkeys(_RATES, _CONVERTED),
    "buyer_converted_count": ("buyer_converted",),
    "offer_converted_count": ("offer_converted",),
    "no_buyer_count": ("no_buyer", "buyer_id"),
    **dict.fromkeys(("answered_count", "answer_rate", "abandoned_count", "abandoned_rate"), ("direction", "outcome")),
    "avg_talk_duration": ("talk_duration",),
    **dict.fromkeys(_OF_OUTCOMES, ("outcome",)),
    # What filters and categories read.
    "states": ("state",),
    "either_converted": _CONVERTED,
    **dict.fromkeys(("tag", "token_key", "token_value", "post_call_tokens"), ("token_values",)),
    "fulltext": ("agent_call_disposition_notes", "token_values", *_NUMBERS),
    "disposition_id": ("call_disposition_id",),
    "buyer_group_ids": ("buyer_group_id",),
    "hour_of_day": ("time_zone",),
    "add_revenue": ("revenue",),
    "add_payout": ("payout",),
    "svc_buyer_id": ("buyer_id",),
    "called_agent_id": ("agent_id",),
    "called_buyer_id": ("buyer_id",),
    **dict.fromkeys(("is_reached", "reached_count"), ("outcome",)),
    "svc_traffic_source_id": ("traffic_source_id",),
}
_OF_RECORDS: Mapping[str, Collection[str]] = {
    "buyers_count": ("buyer_ids",),
    "maxed_out": ("concurrency_cap_limit", "concurrency_cap_used"),
    "fulltext": (
        *("name", "description", "number", "external_record_id", "content", "user_email", "users_emails", "email"),
    ),
    **dict.fromkeys(
        ("add_buyer_ids", "remove_buyer_ids", "add_user_buyer_ids", "remove_user_buyer_ids"), ("buyer_ids", "buyers_count")
    ),
    "rotate_lead_token": ("lead_token",),
}
_OF_CONTACTS: Mapping[str, Collection[str]] = {
    "opted_out": ("opted_out_at", "opt_outs"),
    "blocked": ("blocked_at",),
    "suppressed": ("suppressed_at",),
    "in_review": ("review_until",),
    "number": ("caller_id", "email"),
}
_FOLLOWING: Mapping[str, Mapping[str, Collection[str]]] = {
    "lead": _OF_LEADS,
    "call": _OF_CALLS,
    "contact": _OF_CONTACTS,
    **dict.fromkeys(RECORD_BODIES, _OF_RECORDS),
}

_PERIODS = ("hourly", "daily", "monthly", "total")
_CONNECTED = (("call", "buyer_answered_at"), ("call", "outcome"), ("call", "talk_duration"))


def _used(cap: str, sources: Collection[tuple[str, str]]) -> dict[str, Collection[tuple[str, str]]]:
    return {f"{cap}_{period}_used": sources for period in _PERIODS}


_MONEY_OF_BUYERS: Mapping[str, Collection[tuple[str, str]]] = {
    **dict.fromkeys(("epc", "epc_calls_count"), (("call", "revenue"),)),
    **_used("revenue", (("call", "revenue"),)),
    **_used("earned_revenue", (("call", "revenue"), ("call", "payout"))),
}
_COUNTS_OF_BUYERS = {
    **_used("buyer_conversion", (("call", "buyer_converted"), ("lead", "buyer_converted"))),
    **_used("connection", _CONNECTED),
}
_OF_BUYERS = {**_MONEY_OF_BUYERS, **_COUNTS_OF_BUYERS}

ACROSS: Mapping[str, Mapping[str, Collection[tuple[str, str]]]] = {
    "lead": {
        "revenue": (("call", "revenue"),),
        "payout": (("call", "payout"),),
        "cost": (("call", "cost"),),
        "profit": (("call", "revenue"), ("call", "payout"), ("call", "cost")),
    },
    "conversion": {"amount": (("call", "revenue"), ("call", "payout"), ("lead", "revenue"), ("lead", "payout"))},
    "buyer": _OF_BUYERS,
    "buyer_group": _OF_BUYERS,
    "traffic_source": {
        **_used("offer_conversion", (("call", "offer_converted"), ("lead", "offer_converted"))),
        **_used("connection", _CONNECTED),
    },
}
"""Model -> word -> fields of other models that it is made of: it is hidden with each of them."""

MONEY_OF_ALL_CALLS: Mapping[str, Collection[str]] = dict.fromkeys(("buyer", "buyer_group"), frozenset(_MONEY_OF_BUYERS))
"""Model -> words for what all calls of the company earned: hidden from who does not see all of them."""

_SPANS = ("_from", "_to", "_label", "_day", "_month", "_week", "_hour", "_five_minutes")
"""Ends of words that name a span of a column."""

NESTED = "call_limits."
"""In front of the caps of a group that its list is sorted by."""


def with_following(model: str, fields: Collection[str]) -> frozenset[str]:
    """Return the fields of a model, with the words for what would say the same."""
    if not fields:
        return frozenset()
    following = {word for word, sources in _FOLLOWING.get(model, {}).items() if not frozenset(sources).isdisjoint(fields)}
    return frozenset({*fields, *following})


def is_named(word: str, hidden: Collection[str]) -> bool:
    """Return whether a word of a request names a hidden field: by itself, or as a span of it."""
    name = word.removeprefix(NESTED)
    spans = (name.removesuffix(end) for end in _SPANS if name.endswith(end))
    return name in hidden or any(span in hidden for span in spans)
