"""How are ids made? All are derived, so that deciding again gives the same ones."""

import re
from hashlib import blake2b
from operator import itemgetter

PARTITIONS_MAX = 1024
"""Ids carry their partition in the low digits; 2**53 / 1024 leaves 8.8e12 ids to each partition."""

CONTACT_ID_SECRET_BYTES = 32
"""Of the secret of contact ids: 256 bits, which nobody tries out."""


WITHHELD_PREFIX = "withheld:"
"""Behind the company of a contact's key: what follows stands for a call of somebody without a number."""

_FORMS = (
    (re.compile(r"\+521([2-9][0-9]{9})"), "+52{}"),  # IFT, Plan Técnico Fundamental de Numeración, since 2019-08-03
    (re.compile(r"\+55([1-9]{2})([6-9][0-9]{7})"), "+55{}9{}"),  # Anatel, resolution 553 of 2010: nine digits in 2016
    (re.compile(r"\+549([1-9][0-9]{9})"), "+54{}"),  # ITU, national numbering plan of Argentina
)
"""Form of a number -> the one that stands for its person. Each with the plan that says so."""


def numbered(counter: int, partition: int) -> int:
    """Return the internal id of the n-th thing of a partition: positive, below 2**53, unique over all partitions."""
    return counter * PARTITIONS_MAX + partition


def uuid_of(kind: str, internal_id: int) -> str:
    """Return the uuid (version 8, RFC 9562) of a record of a kind."""
    return _uuid(f"{kind}/{internal_id}")


def impression_uuid(request_id: str, index: int) -> str:
    """Return the uuid of an impression without one of its own: a request's n-th, so that a repeat gives the same."""
    return _uuid(f"impression/{request_id}/{index}")


def identity_number(e164: str) -> str:
    """Return the form by which a number is one person's, however it was sent.

    The 1 behind Mexico's 52 and Brazilian mobiles of eight digits are abolished; Argentina has a 9 before mobiles that are
    called from abroad.
    """
    for form, current in _FORMS:
        found = form.fullmatch(e164)
        if found is not None:
            return current.format(*found.groups())
    return e164


def contact_key(company_id: int, caller_id: str | None, email: str | None) -> str | None:
    """Return the key of a person at a company: by E.164 number, else by e-mail address, else None."""
    if caller_id is not None:
        return f"{company_id}|{identity_number(caller_id)}"
    return None if email is None else f"{company_id}|email:{email.lower()}"


def withheld_key(company_id: int, gateway_ref: str) -> str:
    """Return the key of a call whose person is not known: each such call is somebody of its own."""
    return f"{company_id}|{WITHHELD_PREFIX}{blake2b(gateway_ref.encode(), digest_size=16).hexdigest()}"


def is_withheld(contact_key: str) -> bool:
    """Return whether a contact is a call of somebody without a number."""
    return contact_key.partition("|")[2].startswith(WITHHELD_PREFIX)


class ContactIds:
    """The numbers by which a deployment knows people outside: positive, below 2**53, for ever the same.

    Each is a hash of the contact's key, so that no partition has to give it out, under a secret of the deployment: a
    telephone number has so few digits that anyone could find it by trying them all on a hash without one.
    Two of a million people of one company share a number with a chance of 1 in 18,000; nothing is decided by it, it only
    narrows lists, which are of one company each.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) != CONTACT_ID_SECRET_BYTES:
            msg = f"the secret of contact ids has {len(secret)} bytes; {CONTACT_ID_SECRET_BYTES} are needed"
            raise ValueError(msg)
        self._secret = secret

    def id_of(self, contact_key: str) -> int:
        """Return the id of a contact."""
        digest = blake2b(f"contact/{contact_key}".encode(), digest_size=8, key=self._secret).digest()
        return (int.from_bytes(digest) >> 11) or 1


def contact_uuid(known_as: int) -> str:
    """Return the uuid (version 8, RFC 9562) of a contact; it ends in the `contact_id`, which can be read back."""
    digits = f"{(0b10 << 62) | known_as:016x}"
    return f"{_CONTACTS}-{digits[:4]}-{digits[4:]}"


def contact_of_uuid(uuid: str) -> int | None:
    """Return the `contact_id` in the uuid of a contact; None for any other uuid."""
    family, _, rest = uuid.lower().rpartition("-")
    family, _, clock = family.rpartition("-")
    known_as = int(clock + rest, 16) & ((1 << 62) - 1)
    return known_as if contact_uuid(known_as) == uuid.lower() else None


def command_id(lead_uuid: str, enrolment: int, step_entered: int, step_id: str, attempt: int) -> str:
    """Return the id of one command: the same lead, enrolment, step and attempt always give the same id.

    `step_entered` counts entries into steps within the enrolment, so that a repeated step gives another command.
    """
    return _uuid(f"command/{lead_uuid}/{enrolment}/{step_entered}/{step_id}/{attempt}")


def _uuid(name: str) -> str:
    low, mid, high, variant, clock, node = _PARTS(blake2b(name.encode(), digest_size=16).hexdigest())
    return f"{low}-{mid}-8{high}-{_VARIANT[variant]}{clock}-{node}"


_CONTACTS = "636f6e74-6163-8074"
"""How the uuid of each contact begins: `contact` in ASCII, around the digit of the version."""

_PARTS = itemgetter(slice(8), slice(8, 12), slice(13, 16), 16, slice(17, 20), slice(20, None))
"""The version is the 13th digit, the variant the two highest bits of the 17th (RFC 9562)."""

_VARIANT = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def share_of(name: str, room: int) -> int:
    """Return a share of `room` (0 to below it) that is always the same for a name, and even over many names."""
    return (int.from_bytes(blake2b(f"share/{name}".encode(), digest_size=8).digest()) * room) >> 64
