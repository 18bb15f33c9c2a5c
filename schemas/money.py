"""What is an amount of money? A decimal number of four places, never a float: what is added up is exact.

JSON has it as a number (`12.5`), MessagePack as its text, PostgreSQL as `numeric`. All amounts of a company are in its own
currency. Counts that stand beside amounts, as in caps, are decimals as well.
"""

from decimal import Decimal

AMOUNT_MAX = 1_000_000_000
"""An amount lies between minus this and this, however it is set or corrected. A sum of amounts may lie beyond."""

AMOUNT_DIGITS = 4
"""Decimal places: providers charge in ten-thousandths."""

NOTHING = Decimal(0)

_UNIT = Decimal(1).scaleb(-AMOUNT_DIGITS)
_WHOLE = Decimal(1)


def amount(value: Decimal | int) -> Decimal:
    """Return an amount rounded to its places (half to even), in its one spelling: no zeros at its end, no exponent.

    One spelling, because decisions are compared byte by byte.
    """
    rounded = Decimal(value).quantize(_UNIT)
    plain = rounded.normalize()
    if not plain:
        return NOTHING
    return plain if plain.as_tuple().exponent <= 0 else plain.quantize(_WHOLE)  # type: ignore[operator]  # it is finite


def is_amount(value: Decimal) -> bool:
    """Return whether a number has no more places than an amount."""
    return value == value.quantize(_UNIT)
