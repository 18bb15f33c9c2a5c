"""Are the counts of caps the same bytes in memory as after the log? JSON of the decisions gives back fractions."""

from decimal import Decimal

import msgspec
import pytest

from engine.account import caps
from schemas.account import CapUsage, Slots
from schemas.instant import EPOCH


def _slots() -> Slots:
    slots = Slots(company_id=1, resource="buyer/7")
    slots.tallies = {"total": CapUsage(began_at=EPOCH, ends_at=None, after=0)}
    return slots


@pytest.mark.parametrize("ended", ["connected", "attempted", "unused", "unknown"])
@pytest.mark.parametrize("corrected", [None, "connected", "attempted", "unused"])
@pytest.mark.parametrize("conversions", [[], [1], [1, -2]])
def test_what_a_slot_and_its_lead_count_is_read_back_as_it_is_kept(
    ended: caps.Ended, corrected: caps.Ended | None, conversions: list[float]
) -> None:
    slots = _slots()
    number = caps.reserve(slots, is_connected=True)
    caps.settle_reservation(slots, number, ended, is_connected=True)
    if corrected is not None:
        caps.correct_use(slots, number, corrected, is_connected=True)
    for amount in conversions:
        caps.add_amounts(slots, EPOCH, {"buyer_conversion": Decimal(amount)})

    read_back = msgspec.json.decode(msgspec.json.encode(slots), type=Slots)

    assert msgspec.msgpack.encode(read_back) == msgspec.msgpack.encode(slots)
