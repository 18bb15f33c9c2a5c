"""What does a vendor charge for a call or text? The amount that it says, rounded to the places of an amount."""

from decimal import Decimal, InvalidOperation

from schemas.money import amount


def read_charge(text: str | None) -> Decimal | None:
    """Return what a vendor says that it charges, None where it says no number; some say it as a negative amount."""
    try:
        found = Decimal(text or "")
    except InvalidOperation:
        return None
    return amount(abs(found)) if found.is_finite() else None
