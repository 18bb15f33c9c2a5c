"""How long does a certificate hold, of a server or ours? Long enough, or it must be renewed soon."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.x509 import load_pem_x509_certificate

from adapters.clock import wall_now
from adapters.doctor.findings import Finding, failure, ok, warning
from schemas.instant import DAY

CERTIFICATE_DAYS_MIN = 21
"""Certificates of common authorities are renewed 30 days before they end: with less left, the renewal has failed."""


def check_certificate_end(check: str, found: str, certificate: Mapping[str, Any]) -> Finding:
    """Return how many days the certificate of a connection, which `found` describes, still holds.

    `certificate` is what `ssl.SSLSocket.getpeercert` gives.
    """
    return _check_end(check, found, ssl.cert_time_to_seconds(certificate["notAfter"]))


def check_client_certificate(check: str, path: str) -> Finding:
    """Return how many days our certificate in a PEM file still holds, which servers check."""
    try:
        certificate = load_pem_x509_certificate(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        return failure(check, f"{path} cannot be read ({error})", "give a PEM file that this user may read")
    return _check_end(check, f"our certificate in {path}", certificate.not_valid_after_utc.timestamp())


def _check_end(check: str, found: str, ends_seconds: float) -> Finding:
    days = int((ends_seconds - wall_now() / 1000) * 1000 // DAY)
    found = f"{found}, its certificate holds for {days} days"
    return ok(check, found) if days >= CERTIFICATE_DAYS_MIN else warning(check, found, "renew it")
