"""What do vendors of e-mail post? The examples of their own documentation, with our token, signed with keys of the tests.

SES: "Amazon SNS notification examples for Amazon SES"; Mailgun: "Event structure"; SendGrid: "Event Webhook Reference".
"""

import base64
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from adapters.gateway.bounce_tokens import HEADER
from adapters.providers.mail_vendors import sns
from adapters.providers.ports import Callback, HttpAnswer

TOPIC = "arn:aws:sns:us-west-2:123456789012:mail"
CERTIFICATE_URL = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"
SUBSCRIBE_URL = f"https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37"
SIGNING_KEY = "the key of the webhooks"

SNS_KEY = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
SENDGRID_KEY = ec.generate_private_key(ec.SECP256R1())


def certificate(*, key: rsa.RSAPrivateKey = SNS_KEY, days: int = 365) -> bytes:
    """The certificate of SNS; with negative `days` one that has ended."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now + timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


class FakeSns:
    """What the addresses of SNS answer; `fetched` are those that were asked."""

    def __init__(self) -> None:
        self.answers = {CERTIFICATE_URL: HttpAnswer(200, certificate()), SUBSCRIBE_URL: HttpAnswer(200, b"<Confirm/>")}
        self.fetched: list[str] = []

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:
        """Answer a request."""
        assert (method, content) == ("GET", b"")
        self.fetched.append(url)
        return self.answers.get(url, HttpAnswer(404, b""))


def posted(body: bytes, **headers: str) -> Callback:
    """A webhook as it comes."""
    named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return Callback(url="https://leads.example.com/x", headers=named, query={}, form={}, body=body)


def sns_message(
    message: Any, *, key: rsa.RSAPrivateKey = SNS_KEY, version: str = "1", kind: str = "Notification", **changed: Any
) -> bytes:
    """A message of SNS, signed; `changed` are fields that are signed as they are."""
    fields: dict[str, Any] = {
        "Type": kind,
        "MessageId": "da41e39f-ea4d-435a-b922-c6aae3915ebe",
        "TopicArn": TOPIC,
        "Message": message if isinstance(message, str) else json.dumps(message),
        "Timestamp": "2012-04-25T21:49:25.719Z",
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE_URL,
        **({"Subject": "Amazon SES Email Event Notification"} if kind == "Notification" else {}),
        **({"Token": "2336412f37", "SubscribeURL": SUBSCRIBE_URL} if kind != "Notification" else {}),
        **changed,
    }
    text = "".join(f"{name}\n{fields[name]}\n" for name in sns.SIGNED[kind] if name in fields)
    signature = key.sign(text.encode(), padding.PKCS1v15(), sns.HASHES[version])
    return json.dumps({**fields, "Signature": base64.b64encode(signature).decode()}).encode()


def ses_mail(token: str | None) -> dict[str, Any]:
    """The object `mail` of a notification, with the headers of the e-mail."""
    own = [] if token is None else [{"name": HEADER, "value": token}]
    return {
        "timestamp": "2016-01-27T14:59:38.237Z",
        "source": "john@example.com",
        "sourceIp": "127.0.3.0",
        "sendingAccountId": "123456789012",
        "messageId": "00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa0680-000000",
        "destination": ["jane@example.com"],
        "headersTruncated": False,
        "headers": [{"name": "From", "value": '"John Doe" <john@example.com>'}, *own],
    }


def ses_bounce(token: str | None, *, kind: str = "Permanent", subtype: str = "General", status: str = "5.1.1") -> Any:
    """A bounce with a delivery status, or without one."""
    about = {"emailAddress": "jane@example.com"}
    if status:
        about |= {"status": status, "action": "failed", "diagnosticCode": f"smtp; 550 {status} <jane@example.com>... User"}
    bounce = {
        "bounceType": kind,
        "bounceSubType": subtype,
        "reportingMTA": "dns; email.example.com",
        "bouncedRecipients": [about],
        "timestamp": "2016-01-27T14:59:38.237Z",
        "feedbackId": "00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa068a-000000",
        "remoteMtaIp": "127.0.2.0",
    }
    return {"notificationType": "Bounce", "bounce": bounce, "mail": ses_mail(token)}


def ses_complaint(token: str | None, feedback: str | None = "abuse") -> Any:
    """A complaint."""
    complaint = {
        "userAgent": "AnyCompany Feedback Loop (V0.01)",
        "complainedRecipients": [{"emailAddress": "richard@example.com"}],
        **({} if feedback is None else {"complaintFeedbackType": feedback}),
        "timestamp": "2016-01-27T14:59:38.237Z",
        "feedbackId": "000001378603177f-18c07c78-fa81-4a58-9dd1-fedc3cb8f49a-000000",
    }
    return {"notificationType": "Complaint", "complaint": complaint, "mail": ses_mail(token)}


def mailgun_event(token: str | None, event: str = "failed", **more: Any) -> dict[str, Any]:
    """An event of Mailgun, without the envelope of its webhook."""
    variables = {"my_var_1": "Mailgun Variable #1", **({} if token is None else {"leadclock_delivery": token})}
    return {
        "id": "G9Bn5sl1TC6nu79C8C0bwg",
        "timestamp": 1521233195.375624,
        "log-level": "error",
        "event": event,
        "recipient": "alice@example.com",
        "user-variables": variables,
        "message": {"headers": {"to": "Alice <alice@example.com>", "message-id": "20130503192659.13651.20287@example.com"}},
        **more,
    }


def mailgun_failure(token: str | None, *, code: int = 550, enhanced: str = "5.1.1", **more: Any) -> dict[str, Any]:
    """A delivery that failed for good."""
    status = {"attempt-no": 1, "code": code, "enhanced-code": enhanced, "message": "No such mailbox", "description": ""}
    return mailgun_event(token, **{"severity": "permanent", "reason": "bounce", "delivery-status": status, **more})


def mailgun_webhook(event: Mapping[str, Any], *, key: str = SIGNING_KEY, age_seconds: float = 0.0) -> bytes:
    """A webhook of Mailgun, signed."""
    timestamp, token = str(int(time.time() - age_seconds)), "c0ffee" * 8 + "00"
    signature = hmac.digest(key.encode(), f"{timestamp}{token}".encode(), "sha256").hex()
    signed = {"timestamp": timestamp, "token": token, "signature": signature}
    return json.dumps({"signature": signed, "event-data": dict(event)}).encode()


def sendgrid_event(token: str | None, event: str = "bounce", **more: Any) -> dict[str, Any]:
    """One event of SendGrid."""
    about = {
        "email": "example@test.com",
        "timestamp": 1513299569,
        "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>",
        "event": event,
        "category": ["cat facts"],
        "sg_event_id": "6g4ZI7SA-xmRDv57GoPIPw==",
        "sg_message_id": "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
    }
    bounced = {"type": "bounce", "status": "5.1.1", "reason": "550 5.1.1 The email account does not exist"}
    own = {} if token is None else {"leadclock_delivery": token}
    return {**about, **(bounced if event == "bounce" else {}), **own, **more}


def sendgrid_webhook(
    events: Sequence[Mapping[str, Any]], *, key: ec.EllipticCurvePrivateKey = SENDGRID_KEY, age_seconds: float = 0.0
) -> Callback:
    """A post of SendGrid, signed."""
    body = json.dumps(list(events)).encode() + b"\r\n"
    timestamp = str(int(time.time() - age_seconds))
    signature = base64.b64encode(key.sign(timestamp.encode() + body, ec.ECDSA(hashes.SHA256()))).decode()
    return posted(
        body,
        X_Twilio_Email_Event_Webhook_Signature=signature,
        X_Twilio_Email_Event_Webhook_Timestamp=timestamp,
    )


def sendgrid_public_key(key: ec.EllipticCurvePrivateKey = SENDGRID_KEY) -> str:
    """The verification key as the settings of SendGrid show it."""
    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return base64.b64encode(key.public_key().public_bytes(encoding, form)).decode()
