"""Are amounts of money exact decimals, from what is sent to what is added up, with a float nowhere?"""

from collections.abc import Iterator
from decimal import Decimal
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from schemas import account, commands, contact, decisions, inbox, outcomes, records, requests, schedule, state
from schemas.contact import Call, Lead
from schemas.money import AMOUNT_MAX, NOTHING, amount, is_amount
from schemas.requests import CallUpdateRequested
from schemas.wire import from_json, from_pack, to_json, to_pack

MODULES = (account, commands, contact, decisions, inbox, outcomes, records, requests, schedule, state)

NO_AMOUNTS = frozenset({"priority", "aging", "lead_priority", "priority_aging"})
"""Fields that are floats: how urgent something is, which nobody adds up or pays."""

AMOUNTS = st.decimals(-AMOUNT_MAX, AMOUNT_MAX, places=4)


def structs() -> Iterator[type[Struct]]:
    for module in MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__ == module.__name__:
                yield kind


def parts(kind: Any) -> Iterator[Any]:
    yield kind
    for part in get_args(kind) if get_origin(kind) is not None or isinstance(kind, UnionType | type(Union)) else ():
        yield from parts(part)


def fields_of(wanted: type) -> set[str]:
    return {
        field.name
        for kind in structs()
        for field in msgspec.structs.fields(kind)
        if any(one is wanted for one in parts(field.type))
    }


def test_no_field_of_money_is_a_float() -> None:
    assert fields_of(float) == NO_AMOUNTS
    assert fields_of(Decimal) == {
        *("revenue", "payout", "cost", "add_revenue", "add_payout", "add_cost", "amounts"),
        *("bid_price", "caps", "used"),
    }


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (b"12.5", "12.5"), (b"12.50", "12.5"), (b"100", "100"), (b"1e2", "100"), (b"0.1", "0.1"), (b"-0.0", "0"),
        (b"999999999.9999", "999999999.9999"), (b"0.00005", "0"), (b"0.00015", "0.0002"),
    ],
)  # fmt: skip
def test_an_amount_has_one_spelling_whatever_number_it_came_as(number: bytes, spelled: str) -> None:
    found = amount(msgspec.json.decode(number, type=Decimal))
    assert str(found) == spelled
    assert to_json({"amount": found}) == b'{"amount":%s}' % spelled.encode()


@given(AMOUNTS)
def test_an_amount_is_read_back_as_it_was_written_down(given_amount: Decimal) -> None:
    found = amount(given_amount)
    assert found == given_amount
    assert is_amount(found)
    sent = CallUpdateRequested(company_id=1, contact_key="1|+13055550123", call_id=1, revenue=found, add_payout=found)
    assert from_json(to_json(sent), CallUpdateRequested) == sent
    assert b'"revenue":%s' % str(found).encode() in to_json(sent)
    at = {"created_at": 0, "updated_at": 0}
    lead = msgspec.convert({"id": 1, "uuid": "u", "company_id": 1, "contact_key": "k", "zones": [], **at}, Lead)
    lead.revenue, lead.cost = found, found
    assert from_pack(to_pack(lead), Lead).revenue == found


@given(st.lists(AMOUNTS, max_size=50))
def test_the_sum_of_any_amounts_is_their_decimal_sum(amounts: list[Decimal]) -> None:
    total = NOTHING
    for one in amounts:
        total = amount(total + amount(one))
    assert total == sum(amounts, NOTHING)


def test_nothing_is_not_written_down() -> None:
    assert b"revenue" not in to_json(
        CallUpdateRequested(company_id=1, contact_key="k", add_revenue=amount(Decimal("0.00001")))
    )
    assert {kind.__name__ for kind in (Lead, Call) if kind.__struct_defaults__.count(NOTHING) >= 3} == {"Lead", "Call"}
