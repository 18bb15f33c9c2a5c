"""Is a request of somebody whose teams show some leads refused, where what it is about is not among them any more?"""

from typing import Any

import msgspec
import pytest

from engine.contact.requests.visibility import fits
from engine.partition.draft import RefusedError
from schemas.records import LeadFilters, TokenFilter
from schemas.requests import CallDeleteRequested, LeadDeleteRequested, LeadUpdateRequested
from tests.engine.contact.world import KEY, World

FLAT = LeadFilters(token_filters=(TokenFilter("roof", "flat"),))
STEEP = LeadFilters(token_filters=(TokenFilter("roof", "steep"),))


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule({"id": "rest", "kind": "wait", "duration": "1d"}, {"id": "call", "kind": "call"})
    return made


@pytest.mark.parametrize("visible", [(STEEP,), ()])
def test_a_lead_that_no_team_shows_is_neither_changed_nor_deleted(world: World, visible: tuple[LeadFilters, ...]) -> None:
    lead = world.submit(data={"roof": "flat"})
    before = msgspec.structs.asdict(lead)
    about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": lead.id, "visible": visible}
    for request in (
        LeadUpdateRequested(**about, data={"roof": "new"}),
        LeadUpdateRequested(**about, opt_out=True),
        LeadDeleteRequested(**about),
    ):
        with pytest.raises(RefusedError) as refused:
            world.ask(request)
        assert refused.value.code == "not_found"
        assert msgspec.structs.asdict(world.lead()) == before


def test_a_lead_that_one_team_shows_is_changed(world: World) -> None:
    lead = world.submit(data={"roof": "flat"})
    about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": lead.id, "visible": (STEEP, FLAT)}
    world.ask(LeadUpdateRequested(**about, data={"roof": "steep"}))
    assert world.lead().data["roof"] == "steep"
    world.ask(LeadUpdateRequested(**about, data={"roof": "round"}))
    with pytest.raises(RefusedError):
        world.ask(LeadUpdateRequested(**about, data={"roof": "flat"}))
    assert world.lead().data["roof"] == "round"  # no team shows that


def test_what_does_not_exist_is_refused_as_before(world: World) -> None:
    world.submit()
    with pytest.raises(RefusedError, match="no such call"):
        world.ask(CallDeleteRequested(company_id=1, contact_key=KEY, call_id=99, visible=(FLAT,)))


@pytest.mark.parametrize(
    ("wanted", "is_fitting"),
    [
        (LeadFilters(), True),
        (LeadFilters(schedule_ids=(7,)), True),
        (LeadFilters(schedule_ids=(8,)), False),
        (LeadFilters(schedule_ids=(8, 7), offer_ids=(2,)), False),
        (LeadFilters(traffic_source_ids=(1,)), False),
        (LeadFilters(buyer_ids=(1,)), False),
        (LeadFilters(token_filters=(TokenFilter("age", "41"),)), True),
        (LeadFilters(token_filters=(TokenFilter("age", "41.0"),)), False),
        (LeadFilters(token_filters=(TokenFilter("owner", "true"),)), True),
        (LeadFilters(token_filters=(TokenFilter("none", "null"),)), False),
        (LeadFilters(token_filters=(TokenFilter("roof", "flat"), TokenFilter("age", "41"))), True),
        (LeadFilters(token_filters=(TokenFilter("roof", "flat"), TokenFilter("age", "42"))), False),
    ],
)
def test_a_lead_fits_where_every_list_holds(world: World, wanted: LeadFilters, *, is_fitting: bool) -> None:
    lead = world.submit(data={"roof": "flat", "age": 41, "owner": True})
    lead.schedule_id = 7
    assert fits(lead, wanted) is is_fitting
