"""What does an error code of Twilio mean for a lead? A code that is not in the table refuses an order for good.

Source of the codes: https://www.twilio.com/docs/api/errors.
"""

from collections.abc import Mapping

from adapters.providers.error_meanings import ErrorMeaning

ORDER_ERRORS: Mapping[int, ErrorMeaning] = {
    20003: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account's credentials are wrong"),
    20005: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account is not active"),
    20008: ErrorMeaning(outcome="not_placed", tries_next=True, says="test credentials cannot do this"),
    20429: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many requests"),
    10001: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account is not active"),
    10004: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many calls at once"),
    13227: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account may not call this country"),
    21210: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to call from is not verified"),
    21211: ErrorMeaning(outcome="invalid_number", says="the number to reach is invalid"),
    21212: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to call from is invalid"),
    21214: ErrorMeaning(outcome="invalid_number", says="the number cannot be reached"),
    21215: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account may not call this number's region"),
    21216: ErrorMeaning(outcome="not_placed", says="the account must not call this number"),
    21217: ErrorMeaning(outcome="invalid_number", says="the number is in no valid format"),
    21219: ErrorMeaning(outcome="not_placed", tries_next=True, says="a trial account calls verified numbers only"),
    21408: ErrorMeaning(outcome="not_placed", tries_next=True, says="the account may not text this region"),
    21602: ErrorMeaning(outcome="not_placed", says="a text needs a body"),
    21603: ErrorMeaning(outcome="not_placed", tries_next=True, says="a number to text from is missing"),
    21604: ErrorMeaning(outcome="invalid_number", says="a number to text is missing"),
    21606: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from cannot send texts"),
    21608: ErrorMeaning(outcome="not_placed", tries_next=True, says="a trial account texts verified numbers only"),
    21610: ErrorMeaning(outcome="opted_out", says="the person has opted out of texts from this number at the carrier"),
    21611: ErrorMeaning(outcome="not_placed", tries_next=True, says="too many texts wait for this sender"),
    21612: ErrorMeaning(outcome="not_placed", tries_next=True, says="this number cannot text that one"),
    21614: ErrorMeaning(outcome="invalid_number", says="the number is no mobile number"),
    21617: ErrorMeaning(outcome="not_placed", says="the text is too long"),
    21659: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from is not the account's"),
    21660: ErrorMeaning(outcome="not_placed", tries_next=True, says="the number to text from is another account's"),
    21703: ErrorMeaning(outcome="not_placed", tries_next=True, says="the messaging service has no number to text from"),
}
"""Code of an answer that refuses an order -> what it means. In every case nothing was placed."""

RECEIPT_ERRORS: Mapping[int, ErrorMeaning] = {
    21610: ErrorMeaning(outcome="opted_out", says="the person has opted out of texts from this number at the carrier"),
    30001: ErrorMeaning(outcome="failed", says="too many texts waited"),
    30002: ErrorMeaning(outcome="failed", says="the account was suspended"),
    30003: ErrorMeaning(outcome="undelivered", says="the telephone is switched off or out of reach"),
    30004: ErrorMeaning(outcome="undelivered", says="the telephone or carrier blocks the text"),
    30005: ErrorMeaning(outcome="invalid_number", says="the number does not exist any more"),
    30006: ErrorMeaning(outcome="invalid_number", says="a landline, or a carrier that takes no texts"),
    30007: ErrorMeaning(outcome="undelivered", says="a carrier took the text for spam"),
    30008: ErrorMeaning(outcome="undelivered", says="the carrier gave no reason"),
    30034: ErrorMeaning(outcome="failed", says="the number to text from is not registered (A10DLC)"),
}
"""Code of a receipt `failed` or `undelivered` -> what it means; any other code leaves it at the receipt's own word."""

NOT_IN_SERVICE = frozenset({404, 410, 484, 604})
"""SIP codes of a failed call that say that there is no such number (RFC 3261, 21.4 to 21.6; RFC 3398, 8.2.6.1)."""

DECLINED = frozenset({603, 607, 608})
"""SIP codes by which a person or an analytics engine declines a call (RFC 3261, 21.6.2; RFC 8197; RFC 8688)."""
