"""Does the cache of openings change an answer? Any sequence of openings is compared with each computed alone."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.facts.person import Person
from engine.contact.schedule.cadence import cadence_of
from engine.contact.timing import earliest
from engine.partition.draft import Draft
from schemas.instant import DAY, MINUTE, Instant
from tests.engine.contact.test_earliest_laws import own_law
from tests.engine.contact.world import KEY, World, at

AROUND = (at("2026-07-15 12:00"), at("2026-11-01 01:30"), at("2027-03-14 02:00"), at("2026-12-24 18:00"))
"""A plain day on the eve of a new law, both changes of the clock, and holidays."""

WINDOWS = (
    None,
    [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "17:30"}],
    [{"days": ["sat", "sun"], "open": "20:00", "close": "02:00"}, {"days": ["wed"], "open": "12:00", "close": "12:01"}],
    [{"days": ["sun"], "open": "01:00", "close": "03:00"}],
)
ZONES = (("America/New_York",), ("America/New_York", "America/Los_Angeles"), ("Australia/Lord_Howe",), ("Asia/Kathmandu",))

cases = st.fixed_dictionaries(
    {
        "window": st.sampled_from(WINDOWS),
        "zones": st.sampled_from(ZONES),
        "states": st.sampled_from([(), ("GA",), ("AL", "LA")]),
        "paused": st.sampled_from([None, "2026-07-16", "2026-11-01"]),
        "law": st.none() | st.just((1, 30)),
        "from": st.sampled_from(AROUND),
        "bases": st.lists(st.integers(-3 * DAY // MINUTE, 12 * DAY // MINUTE), min_size=2, max_size=12),
    }
)


@settings(max_examples=150, deadline=None)
@given(cases)
def test_a_cached_opening_is_the_one_that_would_be_found_again(case: dict[str, Any]) -> None:
    world = World()
    if case["law"] is not None:
        world.add("rule_pack", 1, own_law(*case["law"]))
    pauses = [{"from": case["paused"], "to": case["paused"]}] if case["paused"] else []
    windows = {"call": case["window"]} if case["window"] else {}
    world.schedule({"id": "later", "kind": "wait", "duration": "5d"}, {"id": "step", "kind": "call"},
                   windows=windows, pauses=pauses)  # fmt: skip
    lead = world.submit(states=case["states"], zones=case["zones"])
    cadence = cadence_of(world.rules.schedule(1, 1))  # type: ignore[arg-type]

    def asked(base: Instant) -> earliest.Earliest:
        draft = Draft(world.state, now=base, rules=world.rules, partition=0, ids=99)
        return earliest.first_allowed(Person(draft, 1, KEY), lead, cadence, cadence.step("step"), base)

    bases = [case["from"] + step * MINUTE for step in case["bases"]]
    warm = [asked(base) for base in bases]
    for base, found in zip(bases, warm, strict=True):
        earliest._OPENINGS.clear()
        assert found == asked(base)
