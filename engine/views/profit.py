"""What is the profit of a call, of a lead, or of a row of a report? One rule for all."""

from decimal import Decimal

from schemas.money import amount


def profit(revenue: Decimal, payout: Decimal, cost: Decimal) -> Decimal:
    """Return what the buyer pays, less what the traffic source is paid and what the provider charges."""
    return amount(revenue - payout - cost)
