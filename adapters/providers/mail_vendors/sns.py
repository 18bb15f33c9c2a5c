"""Is a message Amazon SNS's, of one topic? By its signature, with the key of a certificate that SNS itself publishes.

The certificate, and the address that confirms a subscription, are fetched from the SNS of the topic's own region alone: who
could name another host could sign with another key.
https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
"""

import base64
import binascii
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from schemas.instant import Instant, to_datetime

TOPIC_ARN = r"^arn:(aws|aws-cn|aws-us-gov):sns:[a-z0-9-]{1,32}:[0-9]{12}:[A-Za-z0-9_-]{1,256}$"

HASHES: dict[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303 - the default of a topic
"""Of the versions of signatures."""

SIGNED = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    "UnsubscribeConfirmation": ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
}
"""Which fields of each type are signed, in this order; one that is missing is left out."""

_CERTIFICATE_PATH = re.compile(r"/SimpleNotificationService-[A-Za-z0-9]{1,64}\.pem")


def host_of(topic_arn: str) -> str:
    """Return the host of SNS in the region of a topic."""
    _, partition, _, region, *_ = topic_arn.split(":")
    return f"sns.{region}.amazonaws.com{'.cn' if partition == 'aws-cn' else ''}"


def is_certificate_url(url: Any, topic_arn: str) -> bool:
    """Return whether a certificate is published by the SNS of a topic's region."""
    path = _path_at_sns(url, topic_arn)
    return path is not None and _CERTIFICATE_PATH.fullmatch(path) is not None and not urlsplit(url).query


def is_subscribe_url(url: Any, topic_arn: str) -> bool:
    """Return whether an address confirms a subscription to the topic, at the SNS of its region."""
    if _path_at_sns(url, topic_arn) != "/":
        return False
    query = parse_qs(urlsplit(url).query)
    return (query.get("Action"), query.get("TopicArn")) == (["ConfirmSubscription"], [topic_arn])


def _path_at_sns(url: Any, topic_arn: str) -> str | None:
    """Return the path of an HTTPS URL at the SNS of a topic's region, None of any other URL."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable():
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.path if (parts.scheme, parts.netloc) == ("https", host_of(topic_arn)) else None


def read_certificate(content: bytes, *, now: Instant) -> rsa.RSAPublicKey:
    """Return the key of a certificate. Raises `ValueError` for one that is none, or not valid now."""
    certificate = x509.load_pem_x509_certificate(content)
    if not certificate.not_valid_before_utc <= to_datetime(now) <= certificate.not_valid_after_utc:
        raise ValueError("the certificate of SNS is not valid at present")
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        raise ValueError("the certificate of SNS has no RSA key")  # noqa: TRY004 - of what was fetched
    return key


def is_signed(key: rsa.RSAPublicKey, message: dict[str, Any]) -> bool:
    """Return whether a message was signed with a key."""
    algorithm, names = HASHES.get(str(message.get("SignatureVersion"))), SIGNED.get(str(message.get("Type")))
    if algorithm is None or names is None:
        return False
    text = "".join(f"{name}\n{message[name]}\n" for name in names if message.get(name) is not None)
    try:
        signature = base64.b64decode(str(message.get("Signature", "")), validate=True)
        key.verify(signature, text.encode(), padding.PKCS1v15(), algorithm)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True
