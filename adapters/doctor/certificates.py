"""How long does a server's certificate hold? Long enough, or it must be renewed soon."""

import ssl
from collections.abc import Mapping
from typing import Any

from adapters.clock import wall_now
from adapters.doctor.findings import Finding, ok, warning
from schemas.instant import DAY

CERTIFICATE_DAYS_MIN = 21
"""Certificates of common authorities are renewed 30 days before they end: with less left, the renewal has failed."""


def check_certificate_end(check: str, found: str, certificate: Mapping[str, Any]) -> Finding:
    """Return how many days the certificate of a connection, which `found` describes, still holds.

    `certificate` is what `ssl.SSLSocket.getpeercert` gives.
    """
    left_seconds = ssl.cert_time_to_seconds(certificate["notAfter"]) - wall_now() / 1000
    days = int(left_seconds * 1000 // DAY)
    found = f"{found}, its certificate holds for {days} days"
    return ok(check, found) if days >= CERTIFICATE_DAYS_MIN else warning(check, found, "renew it")
