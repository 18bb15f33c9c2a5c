"""Is no number contacted more often than the law allows, for any lead, on any channel, with any outcome?"""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.partition.draft import RefusedError
from schemas.commands import Command, PlaceCall, SendSms
from schemas.contact import Head
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, SECOND, Instant, Millis
from schemas.law import CapRow, RuleRow
from schemas.outcomes import OUTCOMES
from schemas.records import RulePack
from schemas.requests import CallProgressed, CallStartRequested, ReachRequested
from schemas.state import head_key
from schemas.wire import from_pack, to_json, to_pack
from tests.engine.contact.world import KEY, NOON, NUMBER, World, at

FLORIDA = ("FL",)
CAP = 3
OTHER = "1|email:bob@example.com"
CALLS = tuple({"id": f"call-{number}", "kind": "call"} for number in range(1, 9))


def progress(world: World, command: Command, state: str = "initiated") -> None:
    """Let the gateway tell how far a call is."""
    assert isinstance(command, PlaceCall)
    said = CallProgressed(
        company_id=1,
        contact_key=command.contact_key,
        lead_id=command.lead_id,
        command_id=command.command_id,
        state=state,  # type: ignore[arg-type]
        occurred_at=world.now,
        call_id=command.call_id,
    )
    world.ask(said)


# -- from when it counts -----------------------------------------------------------------------------------------------


def test_a_call_counts_from_when_it_was_placed() -> None:
    world = World()
    world.schedule(*CALLS)
    world.submit()
    world.wait(90)
    progress(world, world.commands[-1])

    assert [entry.at for entry in world.head().ledger] == [NOON + 90 * SECOND]


@pytest.mark.parametrize("state", ["ringing", "established"])
def test_what_follows_the_placing_does_not_move_it(state: str) -> None:
    world = World()
    world.schedule(*CALLS)
    world.submit()
    progress(world, world.commands[-1])
    world.wait(20)
    progress(world, world.commands[-1], state)

    assert [entry.at for entry in world.head().ledger] == [NOON]


def test_the_cap_is_released_a_day_after_the_first_call_was_placed_not_ordered() -> None:
    world = World(now=at("2026-07-15 09:00"))
    world.schedule(*CALLS)
    world.submit(states=FLORIDA)
    for number in range(CAP):
        world.wait(120)
        progress(world, world.commands[number])
        world.outcome("no_answer")
        world.wait(HOUR / 1000)

    assert len(world.commands) == CAP
    assert world.lead().next_action_at == at("2026-07-16 09:02")
    assert world.lead().status_wait == "frequency_cap"


def test_calls_that_somebody_starts_by_hand_count_like_all_others() -> None:
    """VICIdial does not count them by default."""
    world = World(now=at("2026-07-15 09:00"))
    world.schedule({"id": "wait", "kind": "wait", "duration": "5h"}, *CALLS)
    lead = world.submit(states=FLORIDA)
    for _ in range(CAP):
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, lead_id=lead.id))
        world.outcome("no_answer")
        world.wait(HOUR / 1000)

    assert [entry.kind for entry in world.head().ledger] == ["call"] * CAP
    world.wait_until(at("2026-07-15 14:00"))
    assert world.lead().next_action_at == at("2026-07-16 09:00")


# -- by which way ------------------------------------------------------------------------------------------------------


def ask_for(world: World, states: tuple[str, ...] = FLORIDA) -> None:
    """Let the lead of an address ask for a text to the number."""
    world.schedule({"id": "mail", "kind": "email", "subject": "S", "template": "B"}, record_id=2)
    lead = world.submit(contact_key=OTHER, caller_id=None, email="bob@example.com", schedule_id=2)
    text = SendSms(
        command_id="text-of-another",
        company_id=1,
        contact_key=KEY,
        lead_id=lead.id,
        lead_uuid=lead.uuid,
        step_id="text",
        enrolment=1,
        attempt=1,
        decided_at=world.now,
        not_before=world.now,
        not_after=world.now + HOUR,
        to=NUMBER,
        body="Hi",
    )
    order = msgspec.Raw(to_json(text))
    asked = ReachRequested(
        company_id=1,
        contact_key=KEY,
        lead_id=lead.id,
        reply_to=OTHER,
        kind="sms",
        command=order,
        states=states,
        countries=("US",),
    )
    world.ask(asked, stream="outbox")


def capped() -> World:
    """Return a world in which a number in Florida was called three times since nine."""
    world = World(now=at("2026-07-15 09:00"))
    world.schedule(*CALLS)
    world.submit(states=FLORIDA)
    for _ in range(CAP):
        world.outcome("no_answer")
        world.wait(HOUR / 1000)
    return world


def test_e40_a_number_that_is_reached_by_another_lead_keeps_its_cap() -> None:
    world = capped()
    ask_for(world)

    assert "text" not in world.steps()
    refused = [fact.data["reason"] for fact in world.facts if fact.type == "reach.refused"]
    assert refused == ["frequency_cap"]
    answer = msgspec.json.decode(world.messages[-1].body)
    assert answer["until"] == at("2026-07-16 09:00")


def test_a_number_that_is_free_is_reached_and_counted() -> None:
    world = World()
    ask_for(world)

    assert world.steps()[-1] == "text"
    assert [entry.kind for entry in world.head().ledger] == ["sms"]


def test_a_place_without_a_cap_lets_it_through() -> None:
    world = capped()
    ask_for(world, states=())

    assert world.steps()[-1] == "text"


# -- the law -----------------------------------------------------------------------------------------------------------


@dataclass
class CountedContact:
    """What a recount would count: when each command was placed, and whether it is known by now not to count."""

    placed: dict[str, Instant] = field(default_factory=dict)
    is_free: set[str] = field(default_factory=set)

    def within(self, period: Millis, now: Instant) -> int:
        return sum(at_ > now - period for command_id, at_ in self.placed.items() if command_id not in self.is_free)


happenings = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sampled_from([{}, {"restart_schedule": True}, {"delete_existing": True}])),
        st.tuples(st.just("outcome"), st.tuples(st.integers(0, 9), st.integers(0, 30), st.booleans())),
        st.tuples(st.just("placed"), st.integers(0, 9)),
        st.tuples(st.just("wait"), st.sampled_from([0, 1, 7, 45, 240, 700, 1500])),
        st.tuples(st.just("callback"), st.integers(0, 600)),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(happenings, st.sampled_from([(), FLORIDA, ("ME", "FL")]))
def test_no_attempt_is_over_a_limit_whatever_comes_of_it_in_whatever_order(
    happened: list[tuple[str, object]], states: tuple[str, ...]
) -> None:
    world = World(now=at("2026-07-13 09:00"))
    text = {"id": "text", "kind": "sms", "template": "Hi"}
    retry = {"busy": {"delay": "10m", "max": 5}, "no_answer": {"delay": "30m", "max": 5}}
    world.schedule(*({**CALLS[0], "id": f"call-{n}", "retry": retry} for n in range(6)), text, duplicate_policy="create")
    recount = CountedContact()
    known = 0
    for kind, what in happened:
        _happen(world, recount, kind, what, states)
        known = _recount(world, recount, known, states)


def _happen(world: World, recount: CountedContact, kind: str, what: object, states: tuple[str, ...]) -> None:
    telephone = [command for command in world.commands if isinstance(command, PlaceCall | SendSms)]
    match kind, what:
        case "submit", dict() as flags:
            world.submit(states=states, **flags)
        case "outcome", (int() as place, int() as outcome, bool() as rang) if telephone:
            command = telephone[place % len(telephone)]
            channel = "call" if isinstance(command, PlaceCall) else "sms"
            names = [name for name, row in OUTCOMES[channel].items() if not row.opts_out and not row.disables_channel]
            name = names[outcome % len(names)]
            row = OUTCOMES[channel][name]
            world.outcome(name, command, rang=rang)
            if not (rang if row.counts_legal is None else row.counts_legal):
                recount.is_free.add(command.command_id)
        case "placed", int() as place if telephone and isinstance(telephone[place % len(telephone)], PlaceCall):
            command = telephone[place % len(telephone)]
            if recount.placed[command.command_id] < world.now and not _was_placed(recount, command):
                progress(world, command)
                recount.placed[command.command_id] = world.now
                recount.placed[f"{command.command_id}/reported"] = EPOCH
        case "wait", int() as minutes:
            world.wait(minutes * 60)
        case "callback", int() as minutes if world.lead_ids():
            with suppress(RefusedError):
                world.update(schedule_callback_at=world.now + minutes * MINUTE)


def _was_placed(recount: CountedContact, command: Command) -> bool:
    return f"{command.command_id}/reported" in recount.placed


def _recount(world: World, recount: CountedContact, known: int, states: tuple[str, ...]) -> int:
    """Check each new attempt against those before it."""
    for command in world.commands[known:]:
        if isinstance(command, PlaceCall | SendSms):
            now = command.decided_at
            if "FL" in states:
                assert recount.within(DAY, now) < CAP, "the fourth attempt within a day in Florida"
            if "ME" in states and isinstance(command, PlaceCall):
                assert recount.within(8 * HOUR, now) < 1 or _only_texts(world, recount, now), (
                    "two calls within 8 hours in Maine"
                )
            recount.placed[command.command_id] = now
    return len(world.commands)


def _only_texts(world: World, recount: CountedContact, now: Instant) -> bool:
    texts = {command.command_id for command in world.commands if isinstance(command, SendSms)}
    recent = {name for name, at_ in recount.placed.items() if at_ > now - 8 * HOUR and name not in recount.is_free}
    return recent <= texts


# -- what is kept of many ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    gaps=st.lists(st.tuples(st.sampled_from([1, 30 * SECOND, HOUR, DAY]), st.sampled_from(["call", "sms"])), max_size=120),
    released=st.sets(st.integers(0, 119), max_size=40),
)
def test_a_long_ledger_is_kept_short_and_tells_every_attempt_to_the_millisecond(
    gaps: list[tuple[Millis, str]], released: set[int]
) -> None:
    world = World()
    person = Person(world._draft(), 1, KEY)
    made: list[tuple[Instant, str, str]] = []
    for number, (gap, kind) in enumerate(gaps):
        person.now += gap
        ledger.reserve(person, kind, f"c{number}")
        made = [entry for entry in (*made, (person.now, kind, f"c{number}")) if entry[0] > person.now - ledger.LEDGER_FOR]
        newest = {name for _, _, name in made[-ledger.LEDGER_WHOLE_MAX :]}
        if number in released and f"c{number}" in newest:
            ledger.release(person, f"c{number}")
            made.pop()
    head = from_pack(to_pack(person.head), Head)
    assert [(entry.at, entry.kind) for entry in ledger.attempts_of(head)] == [(at, kind) for at, kind, _ in made]
    assert len(head.ledger) == min(len(made), ledger.LEDGER_WHOLE_MAX)


def test_a_ledger_of_a_thousand_attempts_has_a_few_kilobytes() -> None:
    world = World()
    person = Person(world._draft(), 1, KEY)
    for number in range(1_200):
        person.now += 40 * MINUTE
        ledger.reserve(person, "call", f"00000000-0000-8000-8000-{number:012}")
    assert len(ledger.attempts_of(person.head)) == ledger.LEDGER_MAX
    assert len(to_json(person.head)) < 11_000


def many(count: int, kinds: tuple[str, ...] = ("call",)) -> Person:
    """Return a person with so many attempts, an hour apart; the newest was just made."""
    person = Person(World()._draft(), 1, KEY)
    for number in range(count):
        person.now += HOUR
        ledger.reserve(person, kinds[number % len(kinds)], f"c{number}")
    return person


WHOLE = ledger.LEDGER_WHOLE_MAX


@pytest.mark.parametrize("count", [WHOLE - 1, WHOLE, WHOLE + 1, 3 * WHOLE])
@pytest.mark.parametrize("place", [-1, -2, -WHOLE + 1])
@pytest.mark.parametrize("kinds", [("call",), ("call", "sms")], ids=["calls", "calls and texts"])
def test_an_attempt_that_reached_nobody_is_released_alone_however_many_came_before(
    count: int, place: int, kinds: tuple[str, ...]
) -> None:
    person = many(count, kinds)
    before = [entry.at for entry in ledger.attempts_of(person.head)]
    released = ledger.attempts_of(person.head)[place]

    ledger.release(person, released.command_id)

    assert [entry.at for entry in ledger.attempts_of(person.head)] == [at for at in before if at != released.at]


@pytest.mark.parametrize("count", [WHOLE, WHOLE + 1, 3 * WHOLE])
def test_a_call_that_was_placed_late_moves_alone_however_many_came_before(count: int) -> None:
    person = many(count)
    before = [entry.at for entry in ledger.attempts_of(person.head)]
    person.now += 20 * SECOND

    ledger.move_to_placement(person, f"c{count - 1}", person.now)

    assert [entry.at for entry in ledger.attempts_of(person.head)] == [*before[:-1], person.now]


@pytest.mark.parametrize("count", [WHOLE - 1, WHOLE, WHOLE + 1, WHOLE + 8])
@pytest.mark.parametrize("most", [WHOLE + 1, WHOLE + 8])
def test_a_cap_of_more_than_the_newest_attempts_counts_all_of_them(count: int, most: int) -> None:
    world = World()
    world.add("rule_pack", 1, _own_cap(most, days=7))
    made = many(count)
    head = made.head
    world.state.set(head_key(KEY), to_pack(head))
    world.state.commit()
    world.now = made.now + HOUR
    world.schedule({"id": "call", "kind": "call"})

    world.submit(states=("GA",))

    assert (world.lead().status_wait == "frequency_cap") == (count >= most), world.lead().reasons
    if count >= most:
        oldest = ledger.attempts_of(head)[count - most].at
        assert (world.lead().next_action_at or EPOCH) >= oldest + 7 * DAY


def _own_cap(most: int, *, days: int) -> RulePack:
    row = RuleRow(
        id="own",
        country="US",
        state="GA",
        purposes=("telemarketing",),
        channels=("call",),
        source_url="https://example.com/memorandum",
        reviewed_at=date(2026, 1, 1),
        cap=CapRow(count=most, period=f"{days}d", unit="number", counts=("call",)),
    )
    return RulePack(name="own", rules=(row,))
