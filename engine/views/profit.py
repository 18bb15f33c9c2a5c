"""What is the profit of a call, of a lead, or of a row of a report? One rule for all."""

AMOUNT_DIGITS = 4
"""Decimal places of an amount of money."""


def profit(revenue: float, payout: float, cost: float) -> float:
    """Return what the buyer pays, less what the traffic source is paid and what the provider charges."""
    return round(revenue - payout - cost, AMOUNT_DIGITS)
