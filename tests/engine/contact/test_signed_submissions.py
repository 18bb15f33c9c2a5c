"""What does a form do that signed some fields? Those change the person's lead, and the rest is kept beside it."""

from typing import Any

import pytest

from engine.partition.draft import RefusedError
from schemas.contact import KeptSubmission
from schemas.records import Offer
from schemas.requests import UnsignedFields
from schemas.state import kept_key
from tests.engine.contact.world import World

REST = {"id": "rest", "kind": "wait", "duration": "1h"}
CALL = {"id": "call", "kind": "call"}
BROUGHT = UnsignedFields(
    email="eve@example.com",
    columns={"full_name": "Eve"},
    data={"roof": "flat", "site": "www.example.com/x"},
    zones=("Asia/Tokyo",),
    zone_source="stated",
)


def kept(world: World) -> list[KeptSubmission]:
    found = [world.state.get(kept_key(kept_id), KeptSubmission) for kept_id in world.head().kept_ids]
    return [one for one in found if one is not None]


def made(policy: str = "update") -> World:
    world = World()
    world.schedule(REST, CALL, duplicate_policy=policy)
    return world


@pytest.mark.parametrize("policy", ["update", "create", "reject", "restart"])
def test_a_new_lead_has_what_was_signed_and_the_rest_as_of_any_form(policy: str) -> None:
    world = made(policy)
    lead = world.submit(data={"policy": "A-1"}, lead_priority=-7.0, unsigned=BROUGHT)
    assert (lead.email, lead.columns, lead.lead_priority) == ("eve@example.com", {"full_name": "Eve"}, -7.0)
    assert lead.data == {"policy": "A-1", "roof": "flat", "site": "www.example.com/x"}
    assert (lead.zones, lead.is_capped, lead.withheld, kept(world)) == (("Asia/Tokyo",), False, ("site",), [])


POLICIES: list[tuple[str, str | None, bool]] = [
    ("update", "updated", True), ("restart", "restarted", True), ("create", "created", False), ("reject", None, False)
]  # fmt: skip


@pytest.mark.parametrize(("policy", "action", "is_kept"), POLICIES)
def test_a_stored_lead_gets_what_was_signed_and_no_more(policy: str, action: str | None, is_kept: bool) -> None:
    world = made(policy)
    stored = world.submit(email="ann@example.com", columns={"full_name": "Ann"}, data={"policy": "A-1"})
    if action is None:
        with pytest.raises(RefusedError, match="refuses duplicates"):
            world.submit(data={"policy": "A-2"}, unsigned=BROUGHT)
    else:
        world.submit(data={"policy": "A-2"}, unsigned=BROUGHT)
        assert world.answer is not None
        assert world.answer.dedupe_action == action
    first = world.lead(stored.id)
    assert (first.email, first.columns, first.zones) == ("ann@example.com", {"full_name": "Ann"}, stored.zones)
    assert first.data == {"policy": "A-2" if is_kept else "A-1"}
    assert [(one.lead_id, one.email, one.data) for one in kept(world)] == (
        [(stored.id, BROUGHT.email, BROUGHT.data)] if is_kept else []
    )


def test_what_a_form_brought_unsigned_fills_the_blanks_that_its_offer_names() -> None:
    world = made()
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", public_updates=("roof",)), version=2)
    world.submit()
    world.submit(unsigned=UnsignedFields(data={"roof": "flat", "color": "red"}))
    assert (world.lead().data, kept(world)[0].data) == ({"roof": "flat"}, {"color": "red"})


@pytest.mark.parametrize("fields", [{"blocked": True}, {"update_only": True, "data": {"x": 1}}])
def test_beside_a_lead_that_has_ended_nothing_is_kept(fields: dict[str, Any]) -> None:
    world = made()
    world.submit()
    world.submit(**fields, unsigned=UnsignedFields())
    assert kept(world) == []
    world.submit(blocked=True, unsigned=BROUGHT)
    assert kept(world) == []
