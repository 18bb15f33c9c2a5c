"""How does a session of a user prove itself? By a token of which only the hash is stored, shown once at the sign-in.

A session holds for what the user signs in with: another password, second factor or identity ends it, and so does a disabled
user.
"""

import hmac
import secrets
from hashlib import sha256

from adapters.http.exchange.identity import hash_private_key
from adapters.reads.ports import UserSession
from engine.rules import Rules
from schemas.records import Record, User

SESSION_PREFIX = "ss_"
"""Of the public half of a session token, so that it is not looked up among keys."""


def new_session(record: Record, user: User) -> tuple[UserSession, str]:
    """Return a session of a user, and its token."""
    session_id, secret = f"{SESSION_PREFIX}{secrets.token_urlsafe(15)}", secrets.token_urlsafe(32)
    session = UserSession(
        id=session_id,
        token_sha256=hash_private_key(secret),
        company_id=record.company_id,
        user_id=record.id,
        credentials=credentials_of(user),
    )
    return session, f"{session_id}.{secret}"


def user_of(session: UserSession, rules: Rules) -> tuple[Record, User] | None:
    """Return the record and body of the user of a session; None where the user must sign in again."""
    record, user = rules.record("user", session.user_id), rules.body(User, "user", session.user_id)
    if record is None or user is None or record.company_id != session.company_id or user.state != "active":
        return None
    return (record, user) if hmac.compare_digest(credentials_of(user), session.credentials) else None


def credentials_of(user: User) -> str:
    """Return a digest of what a user signs in with."""
    identity = "" if user.identity_sha256 is None else f"\0{user.identity_sha256}"
    return sha256(f"{user.email}\0{user.password_hash}\0{user.second_factor_salt}{identity}".encode()).hexdigest()
