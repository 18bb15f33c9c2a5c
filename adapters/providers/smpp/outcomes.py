"""What became of a text, by the receipts of its parts? Facts are only added: their order does not matter.

The facts are those of `adapters.providers.ports.ReceiptReport`. The text is as good as its worst part.
"""

from collections.abc import Collection, Mapping

from adapters.gateway.ports import DeliveryResult
from adapters.providers.ports import Order
from adapters.providers.smpp.errors import RECEIPT_STATES
from schemas.instant import MINUTE, Instant

SENT_FOR = 5 * MINUTE
"""A text that its carrier took and gave no receipt for: many give none. The contact waits ten minutes."""

NO_ERROR = frozenset({"", "0", "00", "000"})
"""What receipts have for an error code that says nothing."""

OPTED_OUT = "opted_out"
_WORST_FIRST = (OPTED_OUT, "failed", "undelivered", "unknown")


def text_outcome(order: Order, *, now: Instant, opt_out_codes: Collection[str] = ()) -> DeliveryResult | None:
    """Return the outcome of a text, or None while receipts are waited for.

    `opt_out_codes` are errors by which the carrier says that the person has opted out there.
    """
    if order.provider_ref is None:
        return None
    numbers = range(1, len(order.provider_ref.split()) + 1)
    parts = [_outcome_of_part(order.facts, number, opt_out_codes) for number in numbers]
    ended = [part for part in parts if part is not None]
    for outcome in _WORST_FIRST:
        for said, detail in ended:
            if said == outcome:
                return _result(order, outcome, detail)
    if len(ended) == len(parts):
        return _result(order, "delivered", "DELIVRD")
    return _result(order, "sent", "no receipt") if order.asked_at <= now - SENT_FOR else None


def _outcome_of_part(facts: Mapping[str, str], number: int, opt_out_codes: Collection[str]) -> tuple[str, str] | None:
    """Return the outcome of a part with the carrier's words; one that was delivered stays delivered."""
    for state, outcome in RECEIPT_STATES.items():
        error = facts.get(f"{number}.{state}")
        if error is not None and outcome != "delivered" and error in opt_out_codes:
            return OPTED_OUT, f"{state}, error {error}"
        if error is not None:
            return outcome, state if error in NO_ERROR else f"{state}, error {error}"
    return None


def _result(order: Order, outcome: str, detail: str) -> DeliveryResult:
    return DeliveryResult(outcome=outcome, provider_ref=order.provider_ref, rang=False, detail=f"SMPP: {detail}")
