"""What is recorded of a conversion? One record for each conversion of a lead or call, for its buyer or its offer.

The record is a fact of the contact's history that later facts of the same id replace: state that kept every conversion would
grow for ever. The lead or call keeps the ones that hold now, so that they can be changed and taken back.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from engine.contact.facts.person import Person
from engine.identity import uuid_of
from schemas.contact import Call, Conversion, Lead

SIDES = ("buyer", "offer")
"""Who pays or is paid for it: the buyer pays revenue, the traffic source of the offer gets the payout."""

RECORDED, CHANGED, TAKEN_BACK = "conversion.recorded", "conversion.changed", "conversion.taken_back"

CALL_UPDATE, CALLER_UPDATE, LEAD_UPDATE = "call_update", "caller_update", "lead_update"
"""What converts: an update of a call by its id, of the calls of a number, or of a lead."""

ConvertedValues = Mapping[str, Mapping[str, Any] | None]
"""Side -> what a record of its conversion says; None where it did not convert."""


def converted_values(subject: Lead | Call) -> ConvertedValues:
    """Return what the conversions of a lead or call say by now."""
    return {side: _values(subject, side) if getattr(subject, f"{side}_converted") else None for side in SIDES}


def record_change(person: Person, subject: Lead | Call, before: ConvertedValues, source: str) -> None:
    """Record what has changed in the conversions of a lead or call since `before`; write those that hold into it."""
    after = converted_values(subject)
    for side in SIDES:
        known: Conversion | None = getattr(subject, f"{side}_conversion")
        had, has = before[side], after[side]
        if has is not None and had is None:
            known = Conversion(id=person.draft.next_id(), at=person.now, source=source)
            _record(person, RECORDED, subject, known, {"side": side, **has})
        elif known is not None and has is None:
            values = {**(had or _values(subject, side)), "taken_back_at": person.now}
            _record(person, TAKEN_BACK, subject, _revised(known), {"side": side, **values})
            known = None
        elif known is not None and has is not None and has != had:
            known = _revised(known)
            _record(person, CHANGED, subject, known, {"side": side, **has})
        setattr(subject, f"{side}_conversion", known)


def current_id(subject: Lead | Call, side: str) -> int | None:
    """Return the id of the conversion that holds now, or None."""
    known: Conversion | None = getattr(subject, f"{side}_conversion")
    return None if known is None else known.id


def conversion_payload(subject: Lead | Call, side: str) -> dict[str, Any]:
    """Return the conversion that holds now, as a webhook sends it."""
    known: Conversion = getattr(subject, f"{side}_conversion")
    return {
        "id": known.id,
        "uuid": conversion_uuid(known.id),
        "side": side,
        "source": known.source,
        **_values(subject, side),
    }


def conversion_uuid(conversion_id: int) -> str:
    """Return the uuid of a conversion."""
    return uuid_of("conversion", conversion_id)


def _values(subject: Lead | Call, side: str) -> Mapping[str, Any]:
    """Return what a record says of a lead or call. An update of a lead brings no money, so its conversion has no amount."""
    is_call = isinstance(subject, Call)
    if side == "buyer":
        of_side = {"buyer_id": subject.buyer_id, "amount": subject.revenue if is_call else None}
    else:
        source_id = subject.traffic_source_id if isinstance(subject, Call) else _id(subject.columns.get("traffic_source_id"))
        of_side = {"traffic_source_id": source_id, "amount": subject.payout if is_call else None}
    return {"offer_id": subject.offer_id, "schedule_id": subject.schedule_id, **of_side}


def _record(person: Person, kind: str, subject: Lead | Call, known: Conversion, values: Mapping[str, Any]) -> None:
    person.draft.fact(
        kind,
        lead_id=subject.lead_id if isinstance(subject, Call) else subject.id,
        call_id=subject.id if isinstance(subject, Call) else None,
        conversion_id=known.id,
        uuid=conversion_uuid(known.id),
        revision=known.revision,
        converted_at=known.at,
        source=known.source,
        **values,
    )


def _revised(known: Conversion) -> Conversion:
    return structs.replace(known, revision=known.revision + 1)


def _id(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
