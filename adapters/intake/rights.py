"""Does a record of an inbox count as one with a key? Where inboxes are trusted, all do; else those that an import signed.

Who may write to an inbox has a login at the broker, so an inbox is trusted by default. An import was started by somebody
with a right to it: its records are signed under the deployment's secret, over their id and their bytes.
"""

import hmac

from engine.partition.ports import LogRecord

RIGHT_HEADER = "lc_right"
ID_HEADER = "ce_id"
PURPOSE = b"leadclock inbox right\n"
"""Derives the key: a signature of another purpose proves nothing here."""


class InboxRights:
    """The rights of the records of an inbox."""

    def __init__(self, deployment_secret: str, *, trusts_inboxes: bool) -> None:
        self._key = _key(deployment_secret)
        self._trusts_inboxes = trusts_inboxes

    def are_proved(self, record: LogRecord) -> bool:
        """Return whether a record counts as one with a key of the company of its token."""
        if self._trusts_inboxes:
            return True
        headers = dict(record.headers)
        given = headers.get(RIGHT_HEADER)
        if given is None or self._key is None:
            return False
        return hmac.compare_digest(given, _sign(self._key, headers.get(ID_HEADER, b""), record.value or b""))


def right_header(deployment_secret: str, name: str, body: bytes) -> tuple[tuple[str, bytes], ...]:
    """Return the header that proves the right of a record, by its id and its bytes; none without a secret."""
    key = _key(deployment_secret)
    return () if key is None else ((RIGHT_HEADER, _sign(key, name.encode(), body)),)


def _key(deployment_secret: str) -> bytes | None:
    return hmac.digest(deployment_secret.encode(), PURPOSE, "sha256") if deployment_secret else None


def _sign(key: bytes, name: bytes, body: bytes) -> bytes:
    return hmac.digest(key, b"%d\n%b%b" % (len(name), name, body), "sha256").hex().encode()
