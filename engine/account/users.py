"""Who may sign in for a company, who asks, and why does it keep a superuser? Users are account records; one superuser stays.

A superuser is a user who can sign in and whose address is in a team of superusers. Without one, users could change users and
teams no more: the last one is neither deleted, disabled nor taken out of the teams, and keeps the issuer that it signs in
with. A company that has had none may have none.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from engine.account.plans import Errors
from engine.account.teams import TEAM
from engine.partition.draft import Draft, RefusedError
from engine.submission.fields import FieldError
from schemas.account import Referrers, Taken
from schemas.records import (
    AccessControlList,
    AgentMessage,
    Body,
    BuyerGroup,
    Company,
    ContactHold,
    Record,
    UnblockContactJob,
    User,
    body_of,
)
from schemas.state import record_key, referrers_key, taken_key

USER = "user"

SUPERUSER_TEAMS_MAX = 20
"""Teams of superusers in one company: with `MEMBERS_MAX` members each they are looked through at each change of a user."""

HASH_KIBIBYTES_MAX = 256 * 1024
HASH_PASSES_MAX = 16
HASH_THREADS_MAX = 16
"""What a hash may cost to verify; ours (the second choice of RFC 9106) takes 64 MiB, three passes and four threads."""

_HASH = re.compile(
    r"\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,3}),p=(\d{1,3})\$[A-Za-z0-9+/]{11,64}\$[A-Za-z0-9+/]{22,128}", re.ASCII
)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SALT = re.compile(r"[A-Za-z0-9_-]{16,64}", re.ASCII)

_LISTED = "superusers"
"""In the place of a type: the teams of superusers are indexed as what refers to them."""


def password_hash(value: Any) -> str:
    """Return a hash as argon2id's encoded form has it. A password itself has no place in a log, and is refused."""
    match = _HASH.fullmatch(value) if isinstance(value, str) else None
    limits = (HASH_KIBIBYTES_MAX, HASH_PASSES_MAX, HASH_THREADS_MAX)
    if match is None or any(int(cost) > most for cost, most in zip(match.groups(), limits, strict=True)):
        raise FieldError("must be the hash of a password by argon2id, never the password")
    return match[0]


def invitation_sha256(value: Any) -> str:
    """Return the hash of the token of an invitation."""
    if not isinstance(value, str) or _DIGEST.fullmatch(value) is None:
        raise FieldError("must be a SHA-256 in hexadecimal digits, never the token itself")
    return value


def identity_sha256(value: Any) -> str:
    """Return the digest of an identity."""
    if not isinstance(value, str) or _DIGEST.fullmatch(value) is None:
        raise FieldError("must be a SHA-256 in hexadecimal digits")
    return value


def second_factor_salt(value: Any) -> str:
    """Return what a second factor is derived with."""
    if not isinstance(value, str) or _SALT.fullmatch(value) is None:
        raise FieldError("must be 16 to 64 letters, digits, _ or -, made at random")
    return value


def check_user(values: Mapping[str, Any], errors: Errors) -> None:
    """Refuse an active user who could not sign in."""
    has_way_in = values.get("password_hash") is not None or values.get("identity_sha256") is not None
    if values.get("state") == "active" and not has_way_in:
        errors.setdefault("state", []).append("cannot be active before the user has a password or an identity")
    is_half = (values.get("identity_sha256") is None) != (values.get("identity_issuer") is None)
    if is_half and not errors.keys() & {"identity_sha256", "identity_issuer"}:
        errors.setdefault("identity_issuer", []).append("belongs to identity_sha256: both are given, or none")


def acting_user_id(draft: Draft, company_id: int, actor: str | None) -> int | None:
    """Return the id of the user who sent a request, as its `ce_actor` says; None where a key of nobody's did."""
    email = (actor or "").partition(";")[2].rpartition(";")[0]
    taken = draft.get(taken_key(company_id, "user_email", email), Taken) if email else None
    return None if taken is None else taken.record_id


def with_user(body: Body, before: Body | None, user_id: int | None) -> Body:
    """Return a changed body that says who made the record, or who paused it; None where a key of nobody's did.

    A password or identity that is set, and a user who is disabled, use up the user's invitation.
    """
    match body:
        case User() if isinstance(before, User) and _ends_invitation(before, body):
            return structs.replace(body, invitation_sha256=None, invitation_expires_at=None)
        case UnblockContactJob() | AgentMessage() | ContactHold() if before is None:
            return structs.replace(body, user_id=user_id)
        case BuyerGroup(paused=True) if not (isinstance(before, BuyerGroup) and before.paused):
            return structs.replace(body, paused_by_user_id=user_id)
    return body


def _ends_invitation(before: User, body: User) -> bool:
    return before.invitation_sha256 == body.invitation_sha256 and (
        body.password_hash != before.password_hash
        or body.identity_sha256 not in {None, before.identity_sha256}
        or body.state == "disabled"
        or body.email != before.email
    )


def is_of_superusers(record_type: str) -> bool:
    """Return whether a change of such a record may take the last superuser away."""
    return record_type in {USER, TEAM, "company"}


def has_superuser(draft: Draft, company_id: int) -> bool:
    """Return whether a user of the company who can sign in is in a team of superusers."""
    issuer = _issuer_of(draft, company_id)
    teams = draft.get(referrers_key(_LISTED, company_id), Referrers)
    for name in () if teams is None else teams.by:
        record = draft.get(record_key(TEAM, int(name.rpartition("/")[2])), Record)
        team = None if record is None or record.deleted_at is not None else body_of(record)
        if isinstance(team, AccessControlList) and any(
            _can_sign_in(draft, company_id, email, issuer) for email in team.users_emails
        ):
            return True
    return False


def _issuer_of(draft: Draft, company_id: int) -> str | None:
    record = draft.get(record_key("company", company_id), Record)
    company = None if record is None else body_of(record)
    return company.sign_in_issuer if isinstance(company, Company) else None


def _can_sign_in(draft: Draft, company_id: int, email: str, issuer: str | None) -> bool:
    taken = draft.get(taken_key(company_id, "user_email", email), Taken)
    record = None if taken is None else draft.get(record_key(USER, taken.record_id), Record)
    user = None if record is None else body_of(record)
    if not isinstance(user, User) or user.state != "active":
        return False
    return user.password_hash is not None or user.identity_issuer == issuer


def list_superuser_team(draft: Draft, record: Record, body: Body | None) -> None:
    """Enter a changed team among those of superusers, or take it out. Raises `RefusedError` where there are too many."""
    if record.type != TEAM:
        return
    name, key = f"{TEAM}/{record.id}", referrers_key(_LISTED, record.company_id)
    known = draft.get(key, Referrers) or Referrers(company_id=record.company_id)
    is_listed = isinstance(body, AccessControlList) and body.superuser
    if is_listed == (name in known.by):
        return
    known.by = tuple(sorted({*known.by, name} if is_listed else {*known.by} - {name}))
    if len(known.by) > SUPERUSER_TEAMS_MAX:
        sentence = f"is true of {SUPERUSER_TEAMS_MAX} teams already, the most of one company; add the person to one of those"
        raise RefusedError("validation_failed", f"superuser {sentence}.", {"superuser": [sentence]})
    draft.put(key, known)
