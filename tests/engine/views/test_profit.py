"""Is a profit revenue less payout less cost, in every place that shows one?"""

from decimal import Decimal

import pytest

from engine.views.hidden_fields import ACROSS, with_following
from engine.views.profit import profit
from engine.views.report import CALLS, LEADS, Measure, metrics

AMOUNTS = [
    tuple(map(Decimal, row.split()))
    for row in ("0.3 0.1 0 0.2", "45 8.25 0.0125 36.7375", "0 0 0.02 -0.02", "-10 -4 0.5 -6.5", "1.1 1 0.1 0")
]


@pytest.mark.parametrize(("revenue", "payout", "cost", "left"), AMOUNTS)
@pytest.mark.parametrize("measure", [LEADS, CALLS])
def test_a_row_of_a_report_has_the_profit_of_its_sums(
    measure: Measure, revenue: Decimal, payout: Decimal, cost: Decimal, left: Decimal
) -> None:
    sums = {**dict.fromkeys(measure.sums, 0), "revenue": revenue, "payout": payout, "cost": cost}
    shown = metrics(sums, measure)
    assert (shown["profit"], profit(revenue, payout, cost)) == (left, left)
    assert (shown["revenue"], shown["payout"], shown["cost"]) == (revenue, payout, cost)


@pytest.mark.parametrize("model", ["lead", "call"])
@pytest.mark.parametrize("field", ["revenue", "payout", "cost"])
def test_who_does_not_see_a_part_of_a_profit_does_not_see_it(model: str, field: str) -> None:
    assert "profit" in with_following(model, {field})
    assert ("call", field) in ACROSS["lead"]["profit"]
    assert ("call", field) in ACROSS["lead"][field]
