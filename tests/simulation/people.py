"""Were people treated as promised? No command twice, no attempt too many, no contact after an opt-out or at night."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from engine.contact.aggregate import ContactAggregate
from engine.contact.commands.emission import CALLBACK, MANUAL
from engine.contact.consent.opt_in import CONSENT_MISSING
from engine.contact.consent.opt_out import meaning_of
from engine.contact.facts.ledger import row_of
from engine.contact.facts.person import PAUSES
from engine.partition.ports import LogRecord
from engine.partition.state import unpack_any
from schemas.account import Claim, Slots
from schemas.commands import Command, Fence
from schemas.contact import LIVE_STATUSES, Flight, Head, Lead
from schemas.decisions import REMOVED, Decision
from schemas.instant import Instant, to_datetime
from schemas.records import Record as RuleRecord
from schemas.requests import (
    CONTACT_REQUESTS,
    CallerActed,
    ContactRequest,
    LeadMoved,
    LeadSubmitted,
    LeadUpdateRequested,
    OutcomeRecorded,
    SmsReceived,
)
from schemas.state import head_key
from schemas.topics import COMMAND_TOPICS, CONTACTS_REQUESTS
from schemas.wire import digest
from tests.simulation.decided import Decided, all_records_of, envelope_of, records_of, values_of
from tests.simulation.providers import COMMAND_RECORDS, kind_of_command, order_in

if TYPE_CHECKING:
    from tests.simulation.run import World

CONTACT_KINDS = ("call", "sms", "email")
COUNTED_KINDS = ("call", "sms")
FIRST_HOUR, LAST_HOUR = 8, 21


def commands_in(world: "World", contacts: list[Decided]) -> Iterator[str]:
    """Each order is there once, and exactly as its decision says."""
    ids: Counter[str] = Counter()
    written: Counter[tuple[str, int, str]] = Counter()
    for topic in COMMAND_TOPICS.values():
        for record in all_records_of(world, topic.name):
            written[record.topic, record.partition, digest(record.value or b"")] += 1
            order = COMMAND_RECORDS.decode(record.value or b"")
            if not isinstance(order, Fence):
                ids[order.command_id] += 1
    yield from (f"command {command_id} is there {times} times" for command_id, times in ids.items() if times > 1)
    emitted = Counter((one.topic, d.partition, one.digest) for d in contacts for dec in d.decisions for one in dec.commands)
    if emitted != written:
        yield f"orders were decided and not written: {list(emitted - written)[:3]}"
        yield f"orders were written and not decided: {list(written - emitted)[:3]}"


def attempts_in(world: "World", contacts: list[Decided]) -> Iterator[str]:
    """No lead is called or texted more often in a run than its schedule allows.

    A callback may go one beyond; a call that somebody starts by hand counts, and is asked for by no schedule.
    """
    reached, beyond = _reached(world)
    limits: dict[tuple[int, int], int] = {}
    for lead in (lead for decided in contacts for lead in values_of(decided, "lead/", Lead)):
        limit = _limit(world, lead)
        if limit is None:
            continue
        run = lead.id, lead.enrolment
        limits[run] = limit
        if lead.attempts > limit + beyond[run]:
            yield f"lead {lead.id} has {lead.attempts} attempts of {limit}"
    for run, times in reached.items():
        if run in limits and times > limits[run] + beyond[run]:
            yield f"lead {run[0]} was contacted {times} times in run {run[1]}, {limits[run]} are allowed"


def _reached(world: "World") -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Return how often the gateways reached whom in a run of a lead, and how often that may be beyond its limit."""
    reached: Counter[tuple[int, int]] = Counter()
    beyond: Counter[tuple[int, int]] = Counter()
    called_back = set()
    for command, outcome in world.providers.carried_out.values():
        row = row_of(kind_of_command(command), outcome)
        run = command.lead_id, command.enrolment
        is_counted = row is not None and row.counts_attempt and outcome != "unknown"  # a later report may replace that
        reached[run] += kind_of_command(command) in COUNTED_KINDS and is_counted
        beyond[run] += command.step_id == MANUAL
        if command.step_id == CALLBACK:
            called_back.add(run)
    beyond.update(called_back)
    return reached, beyond


def _limit(world: "World", lead: Lead) -> int | None:
    if lead.attempts_max is not None or lead.schedule_id is None:
        return lead.attempts_max
    schedule = world.traffic.rules.rules.schedule(lead.schedule_id, lead.schedule_version or 0)
    return None if schedule is None else schedule.max_contact_attempts


def opt_outs_in(world: "World", contacts: list[Decided]) -> Iterator[str]:
    """From an opt-out or a block on, nothing is ordered that would reach the person, as far as it reaches."""
    whom = _orders_to_people(world)
    offers = {lead.id: lead.offer_id for decided in contacts for lead in values_of(decided, "lead/", Lead)}
    for decided in contacts:
        heads: dict[str, Head] = {}
        for decision in decided.decisions:
            for change in decision.changes:
                if change.key.startswith("head/") and change.value != REMOVED:
                    head = msgspec.json.decode(change.value, type=Head)
                    heads[head.contact_key] = head
            for command in (whom[emitted.id] for emitted in decision.commands if emitted.id in whom):
                if _is_forbidden(heads.get(command.contact_key), command, offers.get(command.lead_id)):
                    yield f"{decided.name} #{decision.sequence} contacts {command.contact_key}, who is opted out or blocked"


def stops_in(world: "World", contacts: list[Decided]) -> Iterator[str]:
    """An opt-out or a block holds at once and whole, however much is stored of the person."""
    for decided in contacts:
        records = records_of(world, CONTACTS_REQUESTS.name, decided.partition)
        asked = {record.offset: request for record in records if (request := _asked(record)) is not None}
        for decision in decided.decisions:
            request = None if decision.cause.offset is None else asked.get(decision.cause.offset)
            if request is None or not _asks_for_a_stop(request) or decision.verdict == "repeated":
                continue
            code = None if decision.answer is None else decision.answer.code
            what = f"{decided.name} #{decision.sequence}: the stop of {type(request).__name__}"
            if decision.verdict == "failed" or (decision.verdict == "refused" and code in {"too_large", "too_many_leads"}):
                yield f"{what} was not carried out: {decision.error or code}"
            elif decision.verdict == "done" and decision.error is not None:
                yield f"{what} was carried out alone: {decision.error}"


def outcomes_that_opt_out_in(world: "World", contacts: list[Decided]) -> Iterator[str]:
    """An outcome that is an opt-out opts the person out, however late it comes and whatever became of the lead."""
    for decided in contacts:
        records = records_of(world, CONTACTS_REQUESTS.name, decided.partition)
        asked = {record.offset: request for record in records if (request := _asked(record)) is not None}
        heads: dict[str, Head] = {}
        for decision in decided.decisions:
            _follow(decision, "head/", Head, heads)
            request = None if decision.cause.offset is None else asked.get(decision.cause.offset)
            if not isinstance(request, OutcomeRecorded) or not _asks_for_a_stop(request) or decision.verdict != "done":
                continue
            head = heads.get(head_key(request.contact_key))
            if head is None or (head.opted_out_at is None and not head.opt_outs):
                yield f"{decided.name} #{decision.sequence}: {request.contact_key} is not opted out by {request.outcome}"


def recalls_in(contacts: list[Decided]) -> Iterator[str]:
    """An opt-out of a channel recalls what other contacts were asked to send on it."""
    for decided in contacts:
        heads: dict[str, Head] = {}
        leads: dict[str, Lead] = {}
        for decision in decided.decisions:
            sent = {message.key for message in decision.messages if message.type == "reach.withdrawn"}
            leads_before, heads_before = dict(leads), dict(heads)
            _follow(decision, "head/", Head, heads)
            _follow(decision, "lead/", Lead, leads)
            for key, head in heads.items():
                known = heads_before.get(key)
                for scope in head.opt_outs.keys() - (set() if known is None else known.opt_outs.keys()):
                    yield from (
                        f"{decided.name} #{decision.sequence}: what {flight.reached_by} was asked to send is not recalled"
                        for flight in _flights(leads, head.contact_key, scope)
                        if flight in _flights(leads_before, head.contact_key, scope) and flight.reached_by not in sent
                    )


def _flights(leads: dict[str, Lead], contact_key: str, scope: str) -> list[Flight]:
    """Return what other contacts were asked to send for these leads of a contact, on the channel of an opt-out."""
    flights = (lead.flight for lead in leads.values() if lead.contact_key == contact_key)
    return [flight for flight in flights if flight and flight.reached_by and scope == f"channel/{flight.kind}"]


def _follow(decision: Decision, prefix: str, kind: type[Any], values: dict[str, Any]) -> None:
    """Keep the last value of each key of a kind, by key."""
    for change in decision.changes:
        if change.key.startswith(prefix):
            values.pop(change.key, None)
            if change.value != REMOVED:
                values[change.key] = msgspec.json.decode(change.value, type=kind)


def _asked(record: LogRecord) -> ContactRequest | None:
    envelope = envelope_of(record)
    kind = None if envelope is None else CONTACT_REQUESTS.get(envelope.type)
    try:
        return None if kind is None else msgspec.json.decode(record.value or b"", type=kind)
    except msgspec.MsgspecError:
        return None


def _asks_for_a_stop(request: ContactRequest) -> bool:
    match request:
        case CallerActed():
            return request.action == "opt_out"
        case LeadUpdateRequested() | LeadSubmitted() | LeadMoved():
            return request.blocked is True or getattr(request, "opt_out", False) is True
        case SmsReceived():
            return meaning_of(request.body) == "opt_out"
        case OutcomeRecorded():
            row = row_of(request.kind, request.outcome)
            return row is not None and row.opts_out
        case _:
            return False


def _orders_to_people(world: "World") -> dict[str, Command]:
    found: dict[str, Command] = {}
    for kind in CONTACT_KINDS:
        for record in all_records_of(world, COMMAND_TOPICS[kind].name):
            order = order_in(record)  # keys and the end of a call that lasts are no contact
            if order is not None:
                found[order.command_id] = order
    return found


def _is_forbidden(head: Head | None, command: Command, offer_id: int | None) -> bool:
    if head is None:
        return False
    is_stopped = head.opted_out_at is not None or head.blocked_at is not None
    return is_stopped or not head.opt_outs.keys().isdisjoint({f"offer/{offer_id}", f"channel/{kind_of_command(command)}"})


def hours_in(contacts: list[Decided], world: "World") -> Iterator[str]:
    """Nobody whose zone is known is called or texted before 8 or after 21 o'clock where they live."""
    zones: dict[str, tuple[str, ...]] = {}
    for decided in contacts:
        for lead in values_of(decided, "lead/", Lead):
            if lead.flight is not None:
                zones.setdefault(lead.flight.command_id, lead.zones)  # as they were when it was ordered
    for command, _ in world.providers.carried_out.values():
        if kind_of_command(command) in COUNTED_KINDS:
            for zone in zones.get(command.command_id, ()):
                hour = to_datetime(command.decided_at).astimezone(ZoneInfo(zone)).hour
                if not FIRST_HOUR <= hour < LAST_HOUR:
                    yield f"command {command.command_id} is for {hour} o'clock in {zone}"


def timers_in(contacts: list[Decided]) -> Iterator[str]:
    """Every lead that is on its way says when it goes on, after each decision, or waits for a pause to be lifted."""
    aggregate = ContactAggregate()
    for decided in contacts:
        for lead in values_of(decided, "lead/", Lead):
            is_paused = lead.held_at is not None and lead.status_wait in PAUSES
            is_waiting = lead.status_wait == CONSENT_MISSING and lead.expires_at is None
            is_resting = (lead.status == "captured" and lead.flight is None) or is_paused or is_waiting
            if lead.status in LIVE_STATUSES and not is_resting and aggregate.timer(f"lead/{lead.id}", lead) is None:
                yield f"lead {lead.id} is {lead.status} ({lead.status_wait}) for ever, at version {lead.version}"


def turns_in(contacts: list[Decided]) -> Iterator[str]:
    """Between two due timers of a company that were there at the beginning of a cycle, no other company has two.

    What a decision of the same instant has changed may be of an earlier cycle or of this one: where the clock is in doubt,
    all cycles have the instant of the last one.
    """
    for decided in contacts:
        companies: dict[str, int] = {}
        cycle: list[tuple[int, bool]] = []
        began_at, changed = Instant(-1), set[str]()
        for decision in decided.decisions:
            key = decision.cause.key or ""
            if decision.cause.kind != "tick" or decision.decided_at != began_at:
                yield from _unfair(decided, cycle)
                cycle = []
            if decision.decided_at != began_at:
                changed, began_at = set(), decision.decided_at
            if decision.cause.kind == "tick" and key in companies:
                cycle.append((companies[key], key not in changed))
            for change in decision.changes:
                changed.add(change.key)
                if change.value != REMOVED:
                    companies[change.key] = msgspec.json.decode(change.value, type=dict[str, Any]).get("company_id") or 0
        yield from _unfair(decided, cycle)


def _unfair(decided: Decided, cycle: list[tuple[int, bool]]) -> Iterator[str]:
    """Look through the companies of the ticks of one cycle, and whether each tick was due from its beginning."""
    for place, (company_id, was_there) in enumerate(cycle):
        if not was_there:
            continue
        before: Counter[int] = Counter()
        for other, _ in reversed(cycle[:place]):
            if other == company_id:
                break
            before[other] += 1
        if max(before.values(), default=0) > 1:
            yield f"{decided.name}: a company had {max(before.values())} turns while company {company_id} waited for one"


# -- slots -------------------------------------------------------------------------------------------------------------


def slots_in(accounts: list[Decided]) -> Iterator[str]:
    """Never more slots are given than there are, and all of them come back."""
    for decided in accounts:
        yield from _grants(decided)
        for key, packed in decided.fold.items():
            entity = unpack_any(key, packed)
            if isinstance(entity, Claim) and entity.wake_at is None:  # else it was given back, and its end is unknown
                yield f"{key} of lead {entity.lead_id} was never given back"
            if isinstance(entity, Slots) and (entity.in_use or entity.waiting):
                yield f"{key}: {entity.in_use} in use and {entity.waiting} waiting at the end"


def _grants(decided: Decided) -> Iterator[str]:
    caps: dict[str, int | None] = {}
    before: Counter[str] = Counter()
    for decision in decided.decisions:
        for change in decision.changes:
            if change.value == REMOVED:
                continue
            if change.key.startswith(("record/buyer_group/", "record/buyer/")):
                record = msgspec.json.decode(change.value, type=RuleRecord)
                caps[f"{record.type}/{record.id}"] = record.body.get("concurrency_cap_limit")
        for change in decision.changes:
            if change.key.startswith("slots/") and change.value != REMOVED:
                slots = msgspec.json.decode(change.value, type=Slots)
                cap = caps.get(slots.resource)
                if cap is not None and slots.in_use > max(cap, before[slots.resource]):
                    yield f"{decided.name} #{decision.sequence}: {slots.in_use} slots of {slots.resource}, {cap} are allowed"
                if slots.in_use < 0:
                    yield f"{decided.name} #{decision.sequence}: {slots.in_use} slots of {slots.resource} are in use"
                before[slots.resource] = slots.in_use
