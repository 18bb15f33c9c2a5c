"""How does a receiver know that a webhook is ours? By a signature of Standard Webhooks; its key is derived, never stored."""

import base64
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook

from schemas.instant import DAY, Instant
from schemas.records import Subscription

ROTATION = DAY
"""How long events are signed with the former secret, too: time to change it at the receiver."""

SIGNED_TYPES = {"outgoing_webhook": "webhook", "subscription": "subscription"}
"""Type of a record that has a secret -> the first part of what its key is derived from."""


def signing_key(deployment_secret: str, record_type: str, company_id: int, record_id: int, generation: int) -> bytes:
    """Return the 32-byte key of one generation of an outgoing webhook or a subscription."""
    text = f"{SIGNED_TYPES[record_type]}/{company_id}/{record_id}/{generation}"
    return hmac.digest(deployment_secret.encode(), text.encode(), "sha256")


def keys_of_subscription(
    deployment_secret: str, company_id: int, subscription_id: int, body: Subscription, now: Instant
) -> list[bytes]:
    """Return the key of a subscription's secret, and for a day after a rotation that of the secret before."""
    generations = [body.secret_generation]
    rotated_at = body.secret_rotated_at
    if rotated_at is not None and body.secret_generation > 1 and now < rotated_at + ROTATION:
        generations.append(body.secret_generation - 1)
    of_record = deployment_secret, "subscription", company_id, subscription_id
    return [signing_key(*of_record, generation) for generation in generations]


def shown_secret(key: bytes) -> str:
    """Return a key as its owner sees it: `whsec_` and base64, which every Standard Webhooks library reads."""
    return f"whsec_{base64.b64encode(key).decode()}"


def signature_headers(keys: Sequence[bytes], webhook_id: str, body: bytes, *, at: datetime | None = None) -> dict[str, str]:
    """Return the three headers of a delivery, signed with each key: a receiver takes it if it knows one of them.

    `at` is wall time: receivers refuse what is more than 5 min off theirs.
    """
    moment = at or datetime.now(UTC)
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(Webhook(key).sign(webhook_id, moment, body.decode()) for key in keys),
    }
