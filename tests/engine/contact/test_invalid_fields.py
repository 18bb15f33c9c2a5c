"""Does a lead leave the list of those to be corrected once its wrong fields are set, by an update or a submission?"""

from typing import Any

import pytest

from tests.engine.contact.world import World

WRONG = {"email": "nobody", "zip": 7, "data.country": "Narnia", "lead_priority": "high", "plan": ["x"]}


@pytest.fixture
def world() -> World:
    found = World()
    found.schedule({"id": "rest", "kind": "wait", "duration": "1d"})
    found.submit(with_key=True, data={"invalid_fields": dict(WRONG)})
    return found


@pytest.mark.parametrize(
    ("fields", "corrected"),
    [
        ({"email": "ada@example.com"}, "email"),
        ({"columns": {"zip_postal_code": "33101"}}, "zip"),
        ({"columns": {"country": "US"}}, "data.country"),
        ({"lead_priority": 5.0}, "lead_priority"),
        ({"data": {"plan": "gold"}}, "plan"),
    ],
)
@pytest.mark.parametrize("by", ["update", "submission"])
def test_a_field_that_is_set_is_taken_off_the_list(world: World, by: str, fields: dict[str, Any], corrected: str) -> None:
    lead = world.update(**fields) if by == "update" else world.submit(with_key=True, **fields)
    assert lead.data["invalid_fields"] == {name: value for name, value in WRONG.items() if name != corrected}


def test_the_token_goes_with_its_last_field_and_is_emptied_to_accept_the_lead(world: World) -> None:
    world.update(email="ada@example.com", lead_priority=5.0)
    assert set(world.lead().data["invalid_fields"]) == {"zip", "data.country", "plan"}
    last: dict[str, Any] = {"columns": {"zip_postal_code": "33101", "country": "US"}, "data": {"plan": "gold"}}
    assert "invalid_fields" not in world.update(**last).data
    world.submit(with_key=True, data={"invalid_fields": dict(WRONG)})
    assert "invalid_fields" not in world.update(data={"invalid_fields": None}).data


def test_another_field_changes_nothing_on_the_list(world: World) -> None:
    assert world.update(data={"note": "called"}).data["invalid_fields"] == WRONG
