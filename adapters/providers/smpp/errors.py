"""What does a status of a carrier mean for a text? One that is not in the table refuses a text for good.

Source: SMPP Protocol Specification v3.4, Issue 1.2, section 5.1.3. In every case of the table nothing was placed.
"""

from collections.abc import Mapping

from adapters.providers.error_meanings import ErrorMeaning

ORDER_ERRORS: Mapping[int, ErrorMeaning] = {
    0x01: ErrorMeaning(outcome="not_placed", says="the text is too long (ESME_RINVMSGLEN)"),
    0x04: ErrorMeaning(outcome="not_placed", tries_next=True, says="the session may send nothing (ESME_RINVBNDSTS)"),
    0x0A: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from is invalid (ESME_RINVSRCADR)"),
    0x0B: ErrorMeaning(outcome="invalid_number", says="the number to text is invalid (ESME_RINVDSTADR)"),
    0x14: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many texts wait (ESME_RMSGQFUL)"),
    0x15: ErrorMeaning(outcome="not_placed", tries_next=True, says="the service type is invalid (ESME_RINVSERTYP)"),
    0x43: ErrorMeaning(outcome="not_placed", tries_next=True, says="long texts are not taken in parts (ESME_RINVESMCLASS)"),
    0x45: ErrorMeaning(outcome="not_placed", tries_next=True, says="the carrier cannot take the text (ESME_RSUBMITFAIL)"),
    0x48: ErrorMeaning(outcome="not_placed", tries_next=True, says="source_ton is wrong (ESME_RINVSRCTON)"),
    0x49: ErrorMeaning(outcome="not_placed", tries_next=True, says="source_npi is wrong (ESME_RINVSRCNPI)"),
    0x50: ErrorMeaning(outcome="not_placed", tries_next=True, says="it takes no international numbers (ESME_RINVDSTTON)"),
    0x51: ErrorMeaning(outcome="not_placed", tries_next=True, says="it takes no E.164 numbers (ESME_RINVDSTNPI)"),
    0x58: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many texts at once (ESME_RTHROTTLED)"),
    0xC1: ErrorMeaning(outcome="not_placed", tries_next=True, says="it takes no message_payload (ESME_ROPTPARNOTALLWD)"),
}

THROTTLED = frozenset({0x14, 0x58})
"""Statuses that say to send the same text again a little later: it was not taken."""

UNCLEAR = frozenset({0x08, 0xFF})
"""ESME_RSYSERR and ESME_RUNKNOWNERR: carriers also answer so when they took a text and failed afterwards."""

RECEIPT_STATES: Mapping[str, str] = {
    "DELIVRD": "delivered",
    "EXPIRED": "undelivered",
    "DELETED": "undelivered",
    "UNDELIV": "undelivered",
    "REJECTD": "failed",
    "UNKNOWN": "unknown",
}
"""State of a receipt -> outcome. ENROUTE, ACCEPTD and whatever else a carrier writes say that the text is on its way."""

STATE_NUMBERS: Mapping[int, str] = {
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
}
"""`message_state` of a receipt or of the answer to `query_sm` -> the word that receipts have for it (section 5.2.28)."""
