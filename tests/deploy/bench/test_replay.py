"""Does the baseline of `replay` decide what was decided? No test here measures anything."""

from deploy.bench.replay import DecidedInput, decide_in_memory
from deploy.bench.submissions import NOON, requests, rule_records
from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider
from engine.partition.ports import LogRecord
from engine.partition.state import State
from engine.rules import Rules
from schemas.contact import Lead
from schemas.decisions import Position
from schemas.instant import DAY

ARRIVED = NOON + 100 * DAY
"""The broker's clock is not that of the domain: by it, every lead of the bench has expired before it arrives."""


def test_the_baseline_decides_at_the_recorded_instants() -> None:
    rules = [(0, record) for record in rule_records()]
    decider = Decider(ContactAggregate(), 0, State(), Rules(), Position())
    turns = [DecidedInput(decider.adoption(rules, {"leadclock": "1"}, NOON).decision.cause, NOON)]
    for offset, one in enumerate(requests(5, 1)[0]):
        record = LogRecord(one.topic, 0, offset, one.key, one.value, one.headers, ARRIVED)
        is_behind = offset < 2
        decision = decider.request(record, NOON + offset, behind=is_behind).decision
        turns.append(DecidedInput(decision.cause, decision.decided_at, record))
    leads = [decider.state.get(key, Lead) for key in decider.state.pending() if key.startswith("lead/")]
    assert [lead and lead.status for lead in leads] == ["waiting"] * 5
    assert decide_in_memory(turns, rules) == decider.position.chain
