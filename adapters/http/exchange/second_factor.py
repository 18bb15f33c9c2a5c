"""Which codes does a user's authenticator app show? Those of RFC 6238 for a seed that is derived and never stored.

The seed follows from the deployment's own key and a random salt, as the secrets of webhooks do: it can be read from no log,
and is shown once, while the user sets the app up.
"""

import hmac
import secrets
from base64 import b32encode

from pyotp import TOTP

STEP_SECONDS = 30
"""How long a code is shown (RFC 6238)."""

STEPS_OFF = (0, -1, 1)
"""Codes that are taken: those before and after too, since telephones are up to half a minute off (RFC 6238, 5.2)."""

SEED_BYTES = 20
"""As long as the hash of the codes (RFC 4226, 4)."""

ISSUER = "leadclock"
"""What the app calls the account's place."""


def new_salt() -> str:
    """Return what a new second factor is derived with."""
    return secrets.token_urlsafe(24)


def seed_of(deployment_secret: str, company_id: int, user_id: int, salt: str) -> str:
    """Return the seed of a second factor, in base32."""
    text = f"second factor/{company_id}/{user_id}/{salt}"
    return b32encode(hmac.digest(deployment_secret.encode(), text.encode(), "sha256")[:SEED_BYTES]).decode()


def uri_of(seed: str, email: str) -> str:
    """Return what an authenticator app reads, as a QR code or a link."""
    return TOTP(seed).provisioning_uri(name=email, issuer_name=ISSUER)


def step_of(seed: str, code: str, at_seconds: float) -> int | None:
    """Return the number of the step whose code this is, or None where it is none of now."""
    totp, now = TOTP(seed), int(at_seconds)
    found = None
    for off in STEPS_OFF:
        if hmac.compare_digest(totp.at(now, counter_offset=off).encode(), code.encode()):
            found = now // STEP_SECONDS + off
    return found
