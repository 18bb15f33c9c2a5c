"""How long does the aggregate take to decide one submission? Caches are warm; reading, sealing and writing do not count."""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter_ns

from deploy.bench.row import Row, Runs, row
from deploy.bench.stage import PARTITIONS, Stage
from deploy.bench.submissions import NOON, requests, rule_records
from engine.contact.aggregate import ContactAggregate
from engine.partition.draft import Draft
from engine.partition.state import State
from engine.rules import Rules
from schemas.envelope import Envelope, from_headers
from schemas.requests import LeadSubmitted
from schemas.wire import from_json

SUBMISSIONS = 20_000
RUNS = 5
NANOSECONDS = 1_000
"""In a microsecond."""

Asked = Sequence[tuple[Envelope, LeadSubmitted]]


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `decide`: every submission is another person's, on a schedule whose hours move its call to another day."""
    del stage
    submitted = requests(SUBMISSIONS, PARTITIONS)[0]
    rules = Rules()
    for record in rule_records():
        rules.apply(0, record)
    runs = Runs()
    for number in range(RUNS + 1):
        say(f"decide: run {number} of {RUNS}")
        asked = [(from_headers(one.headers), from_json(one.value or b"", LeadSubmitted)) for one in submitted]
        took = _took(asked, rules)
        if number:  # the first run fills the caches: schedules, laws, hours
            runs.ours.append(took)
    return [row("decide", runs, goal="<= 15", unit="us/submission at the median")]


def _took(asked: Asked, rules: Rules) -> float:
    """Return the median of the decisions, in microseconds."""
    aggregate, state = ContactAggregate(), State()
    took = []
    for number, (envelope, request) in enumerate(asked):
        begins = perf_counter_ns()
        draft = Draft(state, now=NOON, rules=rules, partition=0, ids=number)
        aggregate.decide(draft, request, envelope)
        took.append(perf_counter_ns() - begins)
    return median(took) / NANOSECONDS
