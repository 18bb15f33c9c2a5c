"""What does an error code of a vendor mean for a lead? A row of its table, which `deploy/docs/providers.md` publishes."""

from collections.abc import Collection

from msgspec import Struct

from adapters.gateway.ports import DeliveryResult
from adapters.providers.ports import RefusedOrderError


class ErrorMeaning(Struct, frozen=True, kw_only=True):
    """The outcome of a code (`not_placed`: nobody was reached), and what it says.

    `tries_next`: another provider configuration may do better.
    """

    outcome: str
    says: str
    tries_next: bool = False


def result_of_refusal(
    meaning: ErrorMeaning | None, code: object, detail: str, *, known: Collection[str], is_busy: bool
) -> DeliveryResult:
    """Return the outcome of an order that a vendor refused, where it is one of `known`.

    Raises `RefusedOrderError` for any other. `is_busy`: it refused too many at once, so another account may do better.
    """
    if meaning is not None and meaning.outcome in known:
        return DeliveryResult(outcome=meaning.outcome, rang=False, detail=detail, hangup_cause=str(code))
    raise RefusedOrderError(detail, tries_next=is_busy or (meaning is not None and meaning.tries_next))


def number_to_use(of_command: str | None, of_account: str | None) -> str:
    """Return the number to call or text from. Raises `RefusedOrderError` where neither names one."""
    found = of_command or of_account
    if found is None:
        raise RefusedOrderError("no number to call or text from: give the company one, or set from_number", tries_next=True)
    return found
