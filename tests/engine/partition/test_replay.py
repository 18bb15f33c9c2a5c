"""Does replaying the same inputs give the same decisions and emit no command?"""

from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider, Sealed
from engine.partition.ports import LogRecord
from engine.partition.state import State
from engine.rules import Rules
from schemas.decisions import Position
from schemas.envelope import Envelope, to_headers
from schemas.instant import EPOCH
from schemas.records import Company, Offer, Record, RulePack, Schedule, plain
from schemas.requests import LeadSubmitted, OutcomeRecorded
from schemas.wire import from_builtins, to_json
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER

STEPS = ({"id": "call-1", "kind": "call"}, {"id": "text-1", "kind": "sms", "template": "Hi"})
OWN = {
    "id": "own",
    "country": "US",
    "purposes": ["telemarketing"],
    "channels": ["sms"],
    "windows": [{"days": ["thu"], "open": "10:00", "close": "18:00"}],
    "source_url": "https://example.com/memo",
    "reviewed_at": "2026-11-01",
}


def record(number: int, record_type: str, body: object, version: int = 1) -> Record:
    return Record(
        type=record_type,
        id=1,
        uuid=record_type,
        company_id=1,
        version=version,
        sequence=number,
        created_at=EPOCH,
        updated_at=EPOCH,
        body=plain(body),  # type: ignore[arg-type]
    )


RECORDS = [
    record(1, "company", Company(name="Sunny", time_zone=NEW_YORK)),
    record(2, "offer", Offer(name="Solar", lead_token="offer")),
    record(3, "schedule", from_builtins({"name": "S", "lead_token": "s", "steps": STEPS, "jitter_seconds": 600}, Schedule)),
]
LATER = [record(4, "rule_pack", from_builtins({"name": "Counsel", "rules": [OWN]}, RulePack))]


def decided() -> list[Sealed]:
    """Return what is decided on a lead, its first call, a rule that comes, and the ticks that follow from all of it."""
    state = State()
    decider = Decider(ContactAggregate(), 0, state, Rules(), Position())
    lead = LeadSubmitted(
        company_id=1, contact_key=KEY, schedule_id=1, caller_id=NUMBER, zones=(NEW_YORK,), received_at=NOON, with_key=True,
        zone_source="stated",
    )  # fmt: skip
    found = [decider.adoption([(0, one) for one in RECORDS], {"tzdata": "2026a"}, NOON)]
    found.append(decider.request(_asked(0, "lead.submitted", lead), NOON))
    command_id = found[-1].decision.commands[0].id
    lead_id = found[-1].decision.facts[0].lead_id or 0
    outcome = OutcomeRecorded(
        company_id=1,
        contact_key=KEY,
        lead_id=lead_id,
        command_id=command_id,
        kind="call",
        outcome="no_answer",
        occurred_at=NOON,
    )
    found.append(decider.request(_asked(1, "outcome.recorded", outcome), NOON + 1000))
    found.append(decider.adoption([(0, one) for one in LATER], {"tzdata": "2026b"}, NOON + 2000))
    found += [decider.tick(key, NOON + 2000, NOON + 2000) for key in ("replan/rule_pack/1", "replan/versions")]
    return found


def _asked(offset: int, kind: str, request: LeadSubmitted | OutcomeRecorded) -> LogRecord:
    headers = to_headers(Envelope(id=f"{kind}/{offset}", type=kind, source="/test"))
    return LogRecord("contacts.requests", 0, offset, KEY.encode(), to_json(request), headers, NOON)


def test_e38_deciding_again_gives_the_same_bytes_and_what_it_would_order_stays_a_value() -> None:
    first, again = decided(), decided()

    assert [one.decision.verdict for one in first] == ["done"] * len(first)
    assert [one.value for one in first] == [one.value for one in again]
    # A decider hands out values; an auditor appends none of them (adapters/audit has no appender).
    assert [one.records for one in first] == [one.records for one in again]


def test_a_new_rule_is_named_in_the_decision_that_replans() -> None:
    facts = [fact for one in decided() for fact in one.decision.facts if fact.type == "lead.replanned"]

    assert [fact.data["cause"] for fact in facts] == ["rule_pack/1@1"]
