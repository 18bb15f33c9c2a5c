"""Is the planned instant the first that every rule allows? Compared with an oracle that knows each rule by itself."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.facts.person import Person
from engine.contact.schedule.cadence import cadence_of
from engine.contact.timing.earliest import first_allowed
from engine.partition.draft import Draft
from schemas.contact import Attempt, ContactPause, Lead
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, SECOND, Instant, Millis, to_datetime
from schemas.law import CapRow, RuleRow
from schemas.records import RulePack
from schemas.schedule import Day
from tests.engine.contact.world import KEY, NEW_YORK, NOON, World, at

GRID = 30 * SECOND
"""All instants of the examples lie on it, so that what an opening or a release allows is on it too."""

DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
HORIZON = 4 * DAY
LAW_BEGINS = date(2026, 7, 16)
"""From this day on the company's own cap holds: a plan of the day before can open into it."""


def own_law(count: int, hours: int) -> RulePack:
    """Return a cap on calls and texts that begins with a day."""
    row = RuleRow(
        id="own",
        country="US",
        state="GA",
        purposes=("telemarketing",),
        channels=("call", "sms"),
        source_url="https://example.com/memorandum",
        reviewed_at=date(2026, 1, 1),
        cap=CapRow(count=count, period=f"{hours}h", unit="number", counts=("call", "sms")),
        effective_from=LAW_BEGINS,
    )
    return RulePack(name="own", rules=(row,))


def moments(before: Millis, after: Millis) -> st.SearchStrategy[Instant]:
    """Return instants of the grid around noon."""
    return st.integers(-before // GRID, after // GRID).map(lambda step: NOON + step * GRID)


cases = st.fixed_dictionaries(
    {
        "channel": st.sampled_from(["call", "sms"]),
        "base": moments(0, 12 * HOUR),
        "ledger": st.lists(st.tuples(moments(DAY, 0), st.sampled_from(["call", "sms"])), max_size=4),
        "review_until": st.none() | moments(0, DAY),
        "missed_until": st.none() | moments(0, HOUR),
        "pause": st.none() | moments(0, DAY),
        "spacing": st.sampled_from([{}, {"call": "4h"}, {"any": "50m"}, {"sms": "20m", "any": "90m"}]),
        "window": st.sampled_from([None, ("09:00", "17:30"), ("18:00", "20:00")]),
        "paused": st.sampled_from([None, "2026-07-16"]),
        "law": st.none() | st.tuples(st.integers(1, 3), st.sampled_from([2, 20, 30])),
    }
)


@settings(max_examples=150, deadline=None)
@given(cases)
def test_the_answer_keeps_every_rule_at_once_and_is_the_first_that_does(case: dict[str, Any]) -> None:
    world, lead, person = set_up(case)
    step = cadence_of(world.rules.schedule(1, 1)).step("step")  # type: ignore[arg-type]

    found = first_allowed(person, lead, cadence_of(world.rules.schedule(1, 1)), step, case["base"])  # type: ignore[arg-type]

    expected = expected_of(case)
    assert found.at == expected
    assert all(rule.until is None or rule.until <= (found.at or EPOCH) for rule in found.constraints)
    assert len({rule.code for rule in found.constraints}) == len(found.constraints)
    # What moved it is said: whatever forbids the base, and lasts as long as nothing else does, is among the codes.
    assert bool(found.codes) == (expected != case["base"])


@pytest.mark.parametrize(
    ("channel", "codes"),
    [("call", ("optout_review", "inbound_pause", "min_spacing")), ("sms", ("optout_review", "inbound_pause"))],
)
def test_what_moved_an_instant_first_is_still_said_where_distance_moves_it_on(channel: str, codes: tuple[str, ...]) -> None:
    case = {
        "channel": channel,
        "base": NOON,
        "ledger": [(NOON - 10 * MINUTE, "call")],
        "review_until": NOON + 5 * MINUTE,
        "missed_until": None,
        "pause": NOON + 10 * MINUTE,
        "spacing": {"call": "4h"},
        "window": None,
        "paused": None,
        "law": None,
    }
    world, lead, person = set_up(case)
    cadence = cadence_of(world.rules.schedule(1, 1))  # type: ignore[arg-type]

    assert first_allowed(person, lead, cadence, cadence.step("step"), NOON).codes == codes


def test_a_plan_that_opens_into_a_new_law_keeps_the_caps_of_that_law() -> None:
    case = {
        "channel": "call",
        "base": at("2026-07-15 19:00"),
        "ledger": [(NOON, "call")],
        "review_until": None,
        "missed_until": None,
        "pause": None,
        "spacing": {},
        "window": ("09:00", "17:30"),
        "paused": None,
        "law": (1, 30),
    }
    world, lead, person = set_up(case)
    cadence = cadence_of(world.rules.schedule(1, 1))  # type: ignore[arg-type]

    found = first_allowed(person, lead, cadence, cadence.step("step"), case["base"])  # type: ignore[arg-type]

    # Open again at 09:00, but by then one contact in 30 h is allowed: 18:00, after the close, so the day after.
    assert found.at == at("2026-07-17 09:00")
    assert found.codes == ("quiet_hours_federal", "frequency_cap", "preferred_window")


def set_up(case: dict[str, Any]) -> tuple[World, Lead, Person]:
    """Return a world with the case in it: the lead that is planned, and its person."""
    world = World()
    if case["law"] is not None:
        world.add("rule_pack", 1, own_law(*case["law"]))
    step = {"id": "step", "kind": case["channel"], **({"template": "Hi"} if case["channel"] == "sms" else {})}
    window = case["window"] and {case["channel"]: [{"days": DAYS, "open": case["window"][0], "close": case["window"][1]}]}
    pauses = [{"from": case["paused"], "to": case["paused"]}] if case["paused"] else []
    world.schedule({"id": "later", "kind": "wait", "duration": "5d"}, step, windows=window or {}, pauses=pauses,
                   min_spacing=case["spacing"])  # fmt: skip
    lead = world.submit(states=("GA",))
    draft = Draft(world.state, now=NOON, rules=world.rules, partition=0, ids=99, behind=False)
    person = Person(draft, 1, KEY)
    head = person.head
    head.ledger = tuple(Attempt(at=moment, kind=kind, command_id=f"c{n}") for n, (moment, kind) in enumerate(case["ledger"]))
    head.last_call_at = max((moment for moment, kind in case["ledger"] if kind == "call"), default=None)
    head.review_until, head.inbound_until = case["review_until"], case["missed_until"]
    lead.pause = None if case["pause"] is None else ContactPause(until=case["pause"], code="inbound_pause")
    return world, lead, person


# -- the oracle --------------------------------------------------------------------------------------------------------


def expected_of(case: dict[str, Any]) -> Instant | None:
    """Return the first instant of the grid that no rule forbids."""
    return next(
        (moment for moment in map(Instant, range(case["base"], NOON + HORIZON, GRID)) if is_allowed(case, moment)), None
    )


def is_allowed(case: dict[str, Any], moment: Instant) -> bool:
    """Return whether no rule forbids a contact at an instant."""
    if any(until is not None and moment < until for until in (case["review_until"], case["missed_until"], case["pause"])):
        return False
    local = to_datetime(moment).astimezone(ZoneInfo(NEW_YORK))
    if not is_within(local, ("08:00", "21:00")) or (case["window"] and not is_within(local, case["window"])):
        return False
    if case["paused"] == local.date().isoformat():
        return False
    return keeps_distance(case, moment) and is_under_caps(case, moment, local)


def is_within(local: datetime, window: tuple[str, str]) -> bool:
    """Return whether a clock shows a time within the window."""
    return window[0] <= local.strftime("%H:%M") < window[1]


def keeps_distance(case: dict[str, Any], moment: Instant) -> bool:
    """Return whether every earlier contact is far enough away."""
    hours = {name: span(text) for name, text in case["spacing"].items()}
    for before, kind in case["ledger"]:
        if kind == case["channel"] == "call" and moment < before + 30 * SECOND:
            return False
        if kind == case["channel"] and moment < before + hours.get(kind, 0):
            return False
        if moment < before + hours.get("any", 0):
            return False
    return True


def span(text: str) -> Millis:
    """Return the milliseconds of `4h` or `50m`."""
    return int(text[:-1]) * {"h": HOUR, "m": MINUTE}[text[-1]]


def is_under_caps(case: dict[str, Any], moment: Instant, local: datetime) -> bool:
    """Return whether fewer contacts than the cap allows lie within its period before."""
    if case["law"] is None or local.date() < LAW_BEGINS:
        return True
    count, hours = case["law"]
    since = moment - int(timedelta(hours=hours).total_seconds()) * SECOND
    return len([before for before, _ in case["ledger"] if before > since]) < int(count)
