"""How does a receiver know that a webhook is ours? By a signature of Standard Webhooks; its key is derived, never stored."""

import base64
import hmac
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook


def signing_key(deployment_secret: str, company_id: int, webhook_id: int, generation: int) -> bytes:
    """Return the 32-byte key of one generation of an outgoing webhook."""
    return hmac.digest(deployment_secret.encode(), f"webhook/{company_id}/{webhook_id}/{generation}".encode(), "sha256")


def shown_secret(key: bytes) -> str:
    """Return a key as its owner sees it: `whsec_` and base64, which every Standard Webhooks library reads."""
    return f"whsec_{base64.b64encode(key).decode()}"


def signature_headers(key: bytes, webhook_id: str, body: bytes, *, at: datetime | None = None) -> dict[str, str]:
    """Return the three headers of a delivery. `at` is wall time: receivers refuse what is more than 5 min off theirs."""
    moment = at or datetime.now(UTC)
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(key).sign(webhook_id, moment, body.decode()),
    }
