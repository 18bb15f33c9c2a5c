"""What may a submission without a key do? One row for each field and action: on the lead that it makes, and on a stored one.

A lead token stands in every web form, so everybody has it. Without a key a submission makes leads, and changes none. The
documents show this table, and a test walks every parameter through it (`tests/engine/submission/test_public_rights.py`).
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple

from schemas.records import Company, Offer, PublicActions

CallerAction = Literal["opt_out", "remove", "move_to_end"]


class New(StrEnum):
    """The effect of a field or action where no live lead of the token and person is stored."""

    TARGET = "chooses the offer or schedule"
    DIALLED = "is taken where the offer dials"
    SET = "is set"
    CANDIDATE = "is one candidate zone more"
    HONOURED = "is honoured within the law of every candidate zone"
    READ = "says how the body is read"
    MAKES = "makes the lead"
    OFFER = "needs a key, or `public_parameters` of the offer"
    KEY = "needs a key"
    OPTS_OUT = "opts the person out, and makes no lead"
    NOTHING = "changes nothing"
    SIGNS = "lets the fields that it signs count as sent with a key"


class Stored(StrEnum):
    """The effect of a field or action where a live lead of the token and person is stored."""

    TARGET = New.TARGET.value
    FINDS = "finds the lead"
    KEPT = "is kept beside the lead"
    FILLS = "is kept; fills a blank where `public_updates` of the offer names it"
    READ = New.READ.value
    KEY = New.KEY.value
    ANSWERED = "is answered; the lead keeps its own"
    OPTS_OUT = "opts the person out"
    SIGNS = New.SIGNS.value
    ACTS = "acts on the lead"
    ACTS_UNLESS_LINK = "acts on the lead, unless `public_actions` is `link`"


class Right(NamedTuple):
    """One row of the table."""

    new: New
    stored: Stored


SIGNING_FIELDS = ("form_signature", "form_signed_at", "form_nonce", "form_signed_fields")
"""Fields of a signed form (`adapters.http.leads.signed_forms`). They are never tokens of the lead."""

_STEERS_A_NEW_LEAD = Right(New.OFFER, Stored.KEY)
_STEERS = Right(New.KEY, Stored.KEY)

FIELDS: dict[str, Right] = {
    "lead_token": Right(New.TARGET, Stored.TARGET),
    "caller_id": Right(New.DIALLED, Stored.FINDS),
    "email": Right(New.SET, Stored.KEPT),
    "contact_field_type": Right(New.SET, Stored.FILLS),
    "schedule_callback_at": Right(New.HONOURED, Stored.KEPT),
    "schedule_callback_in_seconds": Right(New.HONOURED, Stored.KEPT),
    "time_zone": Right(New.CANDIDATE, Stored.KEPT),
    "country": Right(New.SET, Stored.KEPT),
    "state_province": Right(New.SET, Stored.KEPT),
    "zip_postal_code": Right(New.SET, Stored.KEPT),
    "full_name": Right(New.SET, Stored.FILLS),
    "name": Right(New.SET, Stored.FILLS),
    "sub_id": Right(New.SET, Stored.FILLS),
    "traffic_source_id": Right(New.SET, Stored.KEPT),
    "data": Right(New.SET, Stored.FILLS),
    "any other field": Right(New.SET, Stored.FILLS),
    "auto_format_nested_fields": Right(New.READ, Stored.READ),
    "assign_svc_number": Right(New.SET, Stored.ANSWERED),
    "assign_sms_number": Right(New.SET, Stored.ANSWERED),
    "opt_out": Right(New.OPTS_OUT, Stored.OPTS_OUT),
    **dict.fromkeys(SIGNING_FIELDS, Right(New.SIGNS, Stored.SIGNS)),
    "lead_priority": _STEERS_A_NEW_LEAD,
    "next_action_at": _STEERS_A_NEW_LEAD,
    "hours_to_expire": _STEERS_A_NEW_LEAD,
    "max_contact_attempts": _STEERS_A_NEW_LEAD,
    "external_record_id": _STEERS_A_NEW_LEAD,
    "remote_ip": _STEERS_A_NEW_LEAD,
    "lead_import_id": _STEERS_A_NEW_LEAD,
    "opt_in": _STEERS_A_NEW_LEAD,
    "consent": _STEERS_A_NEW_LEAD,
    "update_only": _STEERS,
    "update_all_matching_leads": _STEERS,
    "expire_existing": _STEERS,
    "delete_existing": _STEERS,
    "restart_schedule": _STEERS,
    "unblock_contact": _STEERS,
    "blocked": _STEERS,
    "apply_to": _STEERS,
    "schedule_start": _STEERS,
    "schedule_stop": _STEERS,
    "move_to_another_schedule_id": _STEERS,
    "revenue": _STEERS,
    "payout": _STEERS,
    "buyer_converted": _STEERS,
    "offer_converted": _STEERS,
}
"""Field of a submission -> its right. `opt_out` is that of true; false lifts a stop, which needs a key elsewhere."""

ACTIONS: dict[str, Right] = {
    "POST /api/v1/leads": Right(New.MAKES, Stored.KEPT),
    "POST /api/v1/leads/create_or_update": Right(New.MAKES, Stored.KEPT),
    "caller_opt_out": Right(New.OPTS_OUT, Stored.OPTS_OUT),
    "caller_remove": Right(New.NOTHING, Stored.ACTS_UNLESS_LINK),
    "caller_move_to_end_of_schedule": Right(New.NOTHING, Stored.ACTS_UNLESS_LINK),
}
"""Action that a lead token suffices for -> its right."""


class CallerProof(StrEnum):
    """What somebody shows who acts on a lead."""

    KEY = "a key"
    TOKEN = "the lead token alone"  # noqa: S105 - in words
    LINK = "the sealed link of an e-mail"


CALLER_ACTIONS: dict[tuple[CallerProof, PublicActions], frozenset[CallerAction]] = {
    (CallerProof.KEY, "token"): frozenset({"opt_out", "remove", "move_to_end"}),
    (CallerProof.KEY, "link"): frozenset({"opt_out", "remove", "move_to_end"}),
    (CallerProof.TOKEN, "token"): frozenset({"opt_out", "remove", "move_to_end"}),
    (CallerProof.TOKEN, "link"): frozenset({"opt_out"}),
    (CallerProof.LINK, "token"): frozenset({"opt_out"}),
    (CallerProof.LINK, "link"): frozenset({"opt_out", "remove", "move_to_end"}),
}
"""What is shown, and `public_actions` -> what may be done. An opt-out is never refused: the law asks for no proof of it
(47 CFR 64.1200(a)(10): by any reasonable means). The link opts out of e-mails, as RFC 8058 says of it."""


def public_actions_of(offer: Offer | None, company: Company | None) -> PublicActions:
    """Return what an offer says of public actions, else its company."""
    if offer is not None and offer.public_actions is not None:
        return offer.public_actions
    return "token" if company is None else company.public_actions


FIELD_ALIASES = {
    "svc_assign_number": "assign_svc_number",
    "assign_trackdrive_number": "assign_svc_number",
    "state": "state_province",
    "zip": "zip_postal_code",
}
"""Other spellings of fields, which have the same right."""

PUBLIC_PARAMETERS: tuple[str, ...] = tuple(name for name, right in FIELDS.items() if right.new is New.OFFER)
"""What an offer may allow without a key: what acts on nothing but the lead that the submission makes."""

CONSENTS = frozenset({"opt_in", "consent"})
"""Tokens that count as consent (`engine.contact.consent.opt_in`), also inside `data`."""

STEERING: frozenset[str] = frozenset(name for name, right in FIELDS.items() if right.new in {New.OFFER, New.KEY})
"""Fields that are not applied without a key, and are named in the warnings."""

FILLABLE_COLUMNS: frozenset[str] = frozenset(
    name for name, right in FIELDS.items() if right.stored is Stored.FILLS and name not in {"data", "any other field"}
)
"""Columns that an offer may let its forms fill where they are blank: not number, e-mail, zone, nor what tells a zone."""

_CONSENT = re.compile(r"consent|opt_?in|tcpa|trusted_?form|jornaya|leadi_?d", re.IGNORECASE | re.ASCII)


def is_fillable(name: str) -> bool:
    """Return whether an offer may let its forms fill a blank field of this name: a token that is no proof of consent."""
    return name in FILLABLE_COLUMNS or (name not in FIELDS and name not in FIELD_ALIASES and not _CONSENT.search(name))


def steering_warning(names: Iterable[str]) -> str:
    """Return the warning that names the fields which were not applied."""
    listed = ", ".join(names)
    return f"Not applied without a key: {listed}. The rest was taken."
