"""What does an error code of Telnyx mean for a lead? A code that is not in the table refuses an order for good.

Sources of the codes: https://developers.telnyx.com/development/api-fundamentals/api-errors and
https://developers.telnyx.com/docs/messaging/messages/error-codes/index.
"""

from collections.abc import Mapping
from typing import Any

from adapters.providers.error_meanings import ErrorMeaning

ORDER_ERRORS: Mapping[int, ErrorMeaning] = {
    10001: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to call or text from is not active"),
    10002: ErrorMeaning(outcome="invalid_number", says="the number to reach is invalid"),
    10009: ErrorMeaning(outcome="not_placed", tries_next=True, says="the API key is wrong"),
    10010: ErrorMeaning(outcome="not_placed", tries_next=True, says="the API key may not do this"),
    10011: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many requests"),
    10016: ErrorMeaning(outcome="invalid_number", says="the number to reach is in no valid format"),
    20100: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account has no funds"),
    40100: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from cannot send texts"),
    40300: ErrorMeaning(outcome="opted_out", says="the person has opted out of texts from this number at the carrier"),
    40301: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to reach takes no such messages"),
    40302: ErrorMeaning(outcome="not_placed", says="the text is too long"),
    40305: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from is on no messaging profile"),
    40309: ErrorMeaning(outcome="not_placed", tries_next=True, says="the messaging profile may not text this region"),
    40310: ErrorMeaning(outcome="invalid_number", says="the number to text is invalid"),
    40312: ErrorMeaning(outcome="not_placed", tries_next=True, says="the messaging profile is disabled"),
    40314: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account may not send texts"),
    40315: ErrorMeaning(outcome="not_placed", tries_next=True, says="carriers distrust the number to text from"),
    40316: ErrorMeaning(outcome="not_placed", says="a text needs a body"),
    40318: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many texts wait for this sender"),
    40319: ErrorMeaning(outcome="not_placed", tries_next=True, says="this kind of number cannot text that one"),
    40320: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from is not ready yet"),
    40321: ErrorMeaning(outcome="not_placed", tries_next=True, says="the messaging profile has no number to text from"),
    40322: ErrorMeaning(outcome="not_placed", says="the words of the text are blocked"),
}
"""Code of an answer that refuses an order -> what it means. In every case nothing was placed."""

OF_ONE_END = frozenset({10002, 10016})
"""Codes that are about the number to reach only where their source says so; else about the one to call or text from."""

TO = "/to"

STOP_BLOCK = 40300
"""A number that texted STOP, where title or detail says so: in a receipt the code alone says no such thing."""

RECEIPT_ERRORS: Mapping[int, ErrorMeaning] = {
    40001: ErrorMeaning(outcome="invalid_number", says="a landline, or a number that takes no texts"),
    40002: ErrorMeaning(outcome="undelivered", says="a carrier took the text for spam, for now"),
    40003: ErrorMeaning(outcome="undelivered", says="a carrier blocks the number to text from as spam"),
    40004: ErrorMeaning(outcome="undelivered", says="the carrier rejects the text and gave no reason"),
    40005: ErrorMeaning(outcome="undelivered", says="the text expired on its way"),
    40006: ErrorMeaning(outcome="undelivered", says="the carrier cannot be reached"),
    40008: ErrorMeaning(outcome="undelivered", says="the carrier did not take the text"),
    40009: ErrorMeaning(outcome="failed", says="the carrier refuses the body of the text"),
    40010: ErrorMeaning(outcome="failed", says="the number to text from is not registered (10DLC)"),
    40011: ErrorMeaning(outcome="failed", says="too many texts for the carrier"),
    40012: ErrorMeaning(outcome="invalid_number", says="the carrier says that the number is invalid"),
    40013: ErrorMeaning(outcome="failed", says="the carrier refuses the number to text from"),
    40014: ErrorMeaning(outcome="failed", says="the text waited too long to be sent"),
    40015: ErrorMeaning(outcome="undelivered", says="Telnyx took the text for spam"),
    40300: ErrorMeaning(outcome="opted_out", says="the person has opted out of texts from this number at the carrier"),
}
"""Code of a receipt `sending_failed` or `delivery_failed` -> what it means; another leaves it at the receipt's own word."""


def refusal_of(error: Mapping[str, Any]) -> ErrorMeaning | None:
    """Return what the first error of an answer means, None for a code that is not in the table."""
    code = code_of(error)
    meaning = ORDER_ERRORS.get(code)
    source = error.get("source")
    pointer = source.get("pointer") if isinstance(source, Mapping) else None
    if code in OF_ONE_END and pointer != TO:
        return ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to call or text from is invalid")
    if code == STOP_BLOCK and not says_stop(error):
        return None
    return meaning


def says_stop(error: Mapping[str, Any]) -> bool:
    """Return whether an error says that the person texted STOP."""
    return "STOP" in f"{error.get('title')} {error.get('detail')}"


def code_of(error: Mapping[str, Any]) -> int:
    """Return the code of an error, 0 where it has none."""
    text = str(error.get("code", ""))
    return int(text) if text.isascii() and text.isdigit() else 0
