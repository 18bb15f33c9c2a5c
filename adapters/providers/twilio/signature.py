"""Is a callback Twilio's? By `X-Twilio-Signature`: HMAC-SHA1 over the URL that we gave it and the sorted form fields.

Own code: the vendor's package does this in twenty lines, and brings aiohttp, requests, PyJWT and a client for 40 products
(some 60 MB) into every image. A test holds this against that package's own RequestValidator.
https://www.twilio.com/docs/usage/webhooks/webhooks-security
"""

import base64
import hmac
from collections.abc import Mapping
from hmac import compare_digest
from urllib.parse import urlsplit

HEADER = "x-twilio-signature"

_DEFAULT_PORTS = {"https": 443, "http": 80}


def is_signed(auth_token: str, url: str, form: Mapping[str, str], signature: str) -> bool:
    """Return whether a signature is that of a URL and its form fields; Twilio signs with or without the port."""
    spelled = (compute_signature(auth_token, one, form) for one in (_without_port(url), _with_port(url)))
    return any(compare_digest(one.encode(), signature.encode()) for one in spelled)


def compute_signature(auth_token: str, url: str, form: Mapping[str, str]) -> str:
    """Return the signature of a URL and its form fields."""
    text = url + "".join(f"{name}{form[name]}" for name in sorted(form))
    return base64.b64encode(hmac.digest(auth_token.encode(), text.encode(), "sha1")).decode()


def _without_port(url: str) -> str:
    parts = urlsplit(url)
    return url if parts.port is None else parts._replace(netloc=parts.netloc.rpartition(":")[0]).geturl()


def _with_port(url: str) -> str:
    parts = urlsplit(url)
    if parts.port is not None or parts.scheme not in _DEFAULT_PORTS:
        return url
    return parts._replace(netloc=f"{parts.netloc}:{_DEFAULT_PORTS[parts.scheme]}").geturl()
