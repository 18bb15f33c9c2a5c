"""Does the size of a contact matter? Its head stays small, and it can always be opted out."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.aggregate import ContactAggregate
from engine.contact.facts import ledger
from engine.contact.facts.call_record import add_call, delete_call, new_inbound_call
from engine.contact.facts.person import Person, wake_at
from engine.contact.lifecycle import moving, stop
from engine.contact.lifecycle.stop import is_opted_out_of, stop_reason
from engine.limits import DEAD_LETTER_BYTES_MAX, RECORD_BYTES_MAX
from engine.partition import parts
from engine.partition.aggregate import Timer
from engine.partition.decider import Decider, Sealed
from engine.partition.ports import LogRecord
from engine.partition.state import State, unpack_any
from schemas.contact import LIVE_STATUSES, Attempt, Call, Flight, Head, Lead
from schemas.decisions import Position
from schemas.envelope import Envelope, to_headers
from schemas.instant import DAY, HOUR, MINUTE, Instant
from schemas.records import CallDisposition, Company, OutgoingWebhook
from schemas.requests import (
    REQUEST_TYPES,
    CallerActed,
    CallUpdateRequested,
    ContactRequest,
    LeadDeleteRequested,
    LeadSubmitted,
    LeadUpdateRequested,
    OutcomeRecorded,
    SmsReceived,
)
from schemas.state import call_key, head_key, lead_key
from schemas.wire import Entity, to_json, to_pack
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

HEAD_BYTES_MAX = 32 * 1024
"""As JSON, of a head whose every list is full, with the longest addresses; a person with a few leads has some 300."""

REST = {"id": "rest", "kind": "wait", "duration": "1h"}
CALL = {"id": "call", "kind": "call"}


def test_a_head_stays_small_whatever_happens_to_the_person() -> None:
    world = World()
    world.add("company", 1, Company(name="Sunny", optout_scope="offer"), version=2)
    world.schedule(REST, CALL, duplicate_policy="create")
    for _ in range(240):
        lead = world.submit()
        if len(world.head().lead_ids) % 3 == 0:
            world.update(lead, schedule_stop=True)
    person = Person(world._draft(), 1, KEY)
    for number in range(1_200):
        person.now += MINUTE
        ledger.reserve(person, "call" if number % 2 else "sms", f"00000000-0000-8000-8000-{number:012}")
        if number < 150:
            call = new_inbound_call(person, None, from_number=NUMBER, number_called="+13055550100")
            call.gateway_ref = f"{number}" * 60
            add_call(person, call)
        if number < 60:
            delete_call(person, call)
            moving.move_out(person, next(person.leads(lambda _: True)), f"1|email:{number:064}@{'x' * 189}")
            stop.opt_out(person, "sms", offer_id=2**52 + number)
    for channel in ("call", "sms", "email", "webhook"):
        person.head.disabled_until[channel] = person.now
    sizes = {name: len(to_json(getattr(person.head, name))) for name in person.head.__struct_fields__}
    assert len(to_json(person.head)) <= HEAD_BYTES_MAX, sizes


# -- a contact with large state can be stopped ------------------------------------------------------------------------------

HOOK = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 3}
LARGEST = 985_000
"""Of a lead or call as JSON: what was stored before tokens were bounded, almost a whole record."""

LEAD_ID = 1_024
CALL_ID = 2_048


class HeavyPartition:
    """One partition of contacts that decides through the real `Decider`; a heavy person was put into its state."""

    def __init__(self, scope: str) -> None:
        self.now = NOON
        self.world = World()
        company = Company(name="Sunny", optout_scope=scope)  # type: ignore[arg-type]
        self.world.add("company", 1, company, version=2)
        self.world.add("outgoing_webhook", 3, OutgoingWebhook(name="crm", url="https://example.com"))
        self.world.add("call_disposition", 5, CallDisposition(name="Never again", sets_opt_out=True))
        self.world.schedule(REST, CALL, {"id": "text", "kind": "sms", "template": "Hi"}, end_steps=[HOOK])
        self.state = State()
        self.decider = Decider(ContactAggregate(), 0, self.state, self.world.rules, Position(ids=1_000_000))
        self.offset = 0

    def put(self, key: str, entity: Entity) -> None:
        self.state.set(key, to_pack(entity))
        self.state.commit()

    def ask(self, request: ContactRequest) -> Sealed:
        """Decide a request; everything that comes of it can be written."""
        name = REQUEST_TYPES[type(request)]
        headers = to_headers(Envelope(id=f"request-{self.offset}", type=name, source="/test"))
        record = LogRecord("contacts.requests", 0, self.offset, KEY.encode(), to_json(request), headers, self.now)
        self.offset += 1
        return self._committed(self.decider.request(record, self.now))

    def run(self, until: Instant) -> list[Sealed]:
        """Fire every timer that is due, as the runner does: one that leaves the same timer rests."""
        decided: list[Sealed] = []
        resting: set[str] = set()
        while True:
            timers = [timer for timer in map(self._timer, self._keys()) if timer is not None and timer.due_at <= until]
            due = min((timer for timer in timers if timer.key not in resting), default=None)
            if due is None:
                return decided
            self.now = max(self.now, due.due_at)
            decided.append(self._committed(self.decider.tick(due.key, due.due_at, self.now)))
            again = self._timer(due.key)
            if again is not None and again.due_at <= due.due_at:
                resting.add(due.key)

    def _keys(self) -> list[str]:
        return [key for key, _ in self.state.items() if key.startswith(("lead/", "head/"))]

    def _timer(self, key: str) -> Timer | None:
        packed = self.state.packed(key)
        return None if packed is None else self.decider.aggregate.timer(key, unpack_any(key, packed))

    def _committed(self, sealed: Sealed) -> Sealed:
        for outgoing in sealed.records:
            limit = DEAD_LETTER_BYTES_MAX if outgoing.topic == "deadletter" else RECORD_BYTES_MAX
            assert len(outgoing.value or b"") <= limit
        self.state.commit()
        return sealed

    def head(self) -> Head:
        found = self.state.get(head_key(KEY), Head)
        assert found is not None
        return found


def tokens(size: int, kind: str) -> dict[str, Any]:
    """Return tokens of about so many bytes as JSON: of numbers, of text, or of text that JSON writes six times as long."""
    match kind:
        case "numbers":
            return {"n": [1e15] * (size // 19)}
        case "escapes":
            return {"n": "\x01" * (size // 6)}
        case _:
            return {"n": "x" * size}


def heavy(  # noqa: PLR0917 - what a person may have
    scope: str, leads: list[tuple[int, str, bool]], call: int, listed: int, seen: int, attempts: int, kind: str
) -> HeavyPartition:
    """Return a partition with a person of whom as much is kept as older versions allowed."""
    partition = HeavyPartition(scope)
    ids = []
    for number, (size, status, flies) in enumerate(leads):
        lead_id = LEAD_ID + number * 4_096
        ids.append(lead_id)
        flight = Flight(command_id=f"c{number}", kind="sms", step_id="text", emitted_at=NOON, due_at=NOON + DAY)
        lead = Lead(
            id=lead_id, uuid=f"u{lead_id}", company_id=1, contact_key=KEY, created_at=NOON, updated_at=NOON, status=status,  # type: ignore[arg-type]
            offer_id=1, schedule_id=1, schedule_version=1, caller_id=NUMBER, data=tokens(size, kind), zones=(NEW_YORK,),
            step="rest", base_at=NOON, step_entered=1, step_attempts=1, wake_at=NOON + HOUR,
            flight=flight if flies else None,
        )  # fmt: skip
        lead.next_action_at = NOON + HOUR
        lead.wake_at = wake_at(lead)
        partition.put(lead_key(lead_id), lead)
    made = Call(
        id=CALL_ID, uuid="c", company_id=1, contact_key=KEY, created_at=NOON, updated_at=NOON, number_called=NUMBER,
        lead_id=LEAD_ID, offer_id=1, schedule_id=1, schedule_action_id="call", command_id="call-1",
        token_values=tokens(call, kind),
    )  # fmt: skip
    partition.put(call_key(CALL_ID), made)
    head = Head(
        company_id=1, contact_key=KEY, lead_ids=(*range(2**50, 2**50 + listed), *ids), call_ids=(CALL_ID,),
        seen={f"{number:016x}": NOON for number in range(seen)},
        ledger=tuple(Attempt(NOON - DAY, "call", f"{number:036}") for number in range(attempts)),
        moved={str(2**50 + number): f"1|+1305555{number:04}" for number in range(seen)},
    )  # fmt: skip
    assert len(to_json(head)) < RECORD_BYTES_MAX, "it was written once"
    partition.put(head_key(KEY), head)
    return partition


ABOUT: dict[str, Any] = {"company_id": 1, "contact_key": KEY}
MORE = {"more": "y" * 4_000}
WAYS: dict[str, ContactRequest] = {
    "link": CallerActed(**ABOUT, action="opt_out", schedule_id=1),
    "link for all": CallerActed(**ABOUT, action="opt_out", offer_id=1, update_all_matching_leads=True),
    "update": LeadUpdateRequested(**ABOUT, lead_id=LEAD_ID, opt_out=True),
    "update with tokens": LeadUpdateRequested(**ABOUT, lead_id=LEAD_ID, opt_out=True, data=MORE, apply_to="calls"),
    "update that moves": LeadUpdateRequested(**ABOUT, lead_id=LEAD_ID, opt_out=True, caller_id="+13055550177"),
    "block": LeadUpdateRequested(**ABOUT, lead_id=LEAD_ID, blocked=True),
    "blocked submission": LeadSubmitted(**ABOUT, schedule_id=1, caller_id=NUMBER, blocked=True, data=MORE, with_key=True),
    "text": SmsReceived(**ABOUT, body="STOP", received_at=NOON),
    "outcome": OutcomeRecorded(**ABOUT, lead_id=LEAD_ID, command_id="c0", kind="sms", outcome="opted_out", occurred_at=NOON),
    "disposition": CallUpdateRequested(**ABOUT, call_id=CALL_ID, call_disposition_id=5, data=MORE),
}


@settings(deadline=None, max_examples=200)
@given(
    way=st.sampled_from([*WAYS]),
    scope=st.sampled_from(["company", "company", "offer", "channel"]),
    leads=st.lists(
        st.tuples(
            st.sampled_from([0, 10, 3_000, 60_000, 255_000, 600_000, LARGEST]),
            st.sampled_from(["queue", "scheduled", "waiting", "removed"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    ),
    call=st.sampled_from([0, 3_000, 380_000, LARGEST]),
    listed=st.sampled_from([0, 0, 200, 2_000, 40_000]),
    seen=st.sampled_from([0, 1, 1_000]),
    attempts=st.sampled_from([0, 3, 1_000]),
    kind=st.sampled_from(["numbers", "text", "escapes"]),
)
def test_an_opt_out_never_fails_for_what_is_kept_of_the_person_and_nothing_is_ordered_after_it(  # noqa: PLR0917
    way: str,
    scope: str,
    leads: list[tuple[int, str, bool]],
    call: int,
    listed: int,
    seen: int,
    attempts: int,
    kind: str,
) -> None:
    partition = heavy(scope, leads, call, listed, seen, attempts, kind)
    sealed = partition.ask(WAYS[way])
    head = partition.head()
    assert sealed.decision.verdict == "done", sealed.decision.error
    channel = is_opted_out_of(head, "sms") and not is_opted_out_of(head, "call")
    assert channel or stop_reason(head, 1) is not None, sealed.decision
    fenced = {one.topic for one in sealed.decision.commands if one.id.startswith("fence/")}
    flown = any(flies for _, _, flies in leads)
    assert len(fenced) == 4 or ((scope != "company" or way == "update that moves") and not flown)
    for later in [sealed, *partition.run(NOON + 30 * DAY)]:
        emitted = {one.topic for one in later.decision.commands if not one.id.startswith("fence/")}
        assert emitted <= ({"commands.webhook", "commands.call"} if channel else {"commands.webhook"}), later.decision.facts
    if not channel and listed <= 2_000:
        for number in range(len(leads)):
            lead = partition.state.get(lead_key(LEAD_ID + number * 4_096), Lead)
            assert lead is None or lead.status not in LIVE_STATUSES


@pytest.mark.parametrize("size", [10, 255_000, LARGEST])
def test_a_lead_can_be_deleted_however_much_is_kept_of_it(size: int) -> None:
    partition = heavy("company", [(size, "queue", True)], size, 40_000, 1_000, 1_000, "numbers")
    sealed = partition.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=LEAD_ID))
    assert (sealed.decision.verdict, partition.state.packed(lead_key(LEAD_ID))) == ("done", None)
    assert len(sealed.decision.commands) == 4


def test_the_answer_to_more_than_a_stop_says_that_the_rest_was_not_done() -> None:
    partition = heavy("company", [(250_000, "queue", False)], 0, 0, 0, 0, "text")
    request = WAYS["update with tokens"]
    assert isinstance(request, LeadUpdateRequested)
    more = msgspec.structs.replace(request, data={f"t{number}": "y" * 4_000 for number in range(5)})
    answer = partition.ask(more).decision.answer
    assert answer is not None
    assert (answer.status, answer.code, list(answer.errors)) == (413, "too_large", ["data"])
    assert answer.detail is not None
    assert answer.detail.startswith("The person is not contacted any more")
    assert partition.head().opted_out_at == NOON
    blocked = partition.ask(LeadUpdateRequested(company_id=1, contact_key=KEY, lead_id=LEAD_ID, blocked=True)).decision
    assert blocked.answer is not None
    assert (blocked.answer.status, blocked.verdict) == (200, "done")


def test_an_opt_out_that_raises_stops_the_person_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.contact.requests.caller.mark", lambda *_: 1 / 0)
    partition = heavy("company", [(10, "queue", False)], 0, 0, 0, 0, "text")
    sealed = partition.ask(WAYS["link"])
    assert (sealed.decision.verdict, sealed.decision.error) == ("done", "ZeroDivisionError: division by zero")
    assert sealed.decision.answer is not None
    assert (sealed.decision.answer.status, partition.head().opted_out_at) == (200, NOON)
    assert [one.topic for one in sealed.records if one.topic == "deadletter"] == ["deadletter"]


@pytest.mark.parametrize(
    ("policy", "fields", "count"),
    [
        ("create", {}, 0),
        ("reject", {}, 0),
        ("restart", {}, 1),
        ("update", {}, 1),
        ("update", {"update_only": True}, 1),
        ("create", {"columns": {"external_record_id": "crm-2"}}, 1),
    ],
)
def test_a_submission_reads_the_data_of_no_lead_that_it_does_not_change(
    monkeypatch: pytest.MonkeyPatch, policy: Any, fields: dict[str, Any], count: int
) -> None:
    """200 leads of one person may have 50 MB, and other companies wait while they are read."""
    partition = HeavyPartition("company")
    partition.world.schedule(REST, duplicate_policy="create", version=2)
    for number in range(4):
        data, named = {f"t{place}": "x" * 4_000 for place in range(10)}, {"external_record_id": f"crm-{number}"}
        partition.ask(LeadSubmitted(**ABOUT, schedule_id=1, caller_id=NUMBER, data=data, columns=named, with_key=True))
    assert len([key for key, _ in partition.state.items() if key.startswith("part/")]) >= 4
    partition.world.schedule(REST, duplicate_policy=policy, version=3)
    read: list[str] = []

    def join(key: str, *others: Any) -> None:
        read.append(key)
        parts.join(key, *others)

    monkeypatch.setattr("engine.partition.draft.join", join)
    partition.ask(LeadSubmitted(**ABOUT, schedule_id=1, caller_id=NUMBER, **fields, with_key=True))

    assert len(read) == count


def test_a_submission_that_blocks_and_expires_ends_each_lead_once() -> None:
    world = World()
    world.schedule(REST, duplicate_policy="create")
    leads = [world.submit(), world.submit()]

    world.submit(blocked=True, expire_existing=True)

    assert [world.lead(lead.id).status for lead in leads] == ["blocked", "blocked"]
