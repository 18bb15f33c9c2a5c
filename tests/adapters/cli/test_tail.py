"""What does a tail of the decisions load? The client of the log and nothing else: many people may watch one."""

import subprocess
import sys
from collections import Counter
from typing import Literal

import msgspec
import pytest

from adapters.cli.tail import of_company
from schemas.decisions import REMOVED, Cause, Change, Decision, Fact
from schemas.topics import CONTACTS_DECISIONS
from schemas.wire import to_json
from tests.engine.contact.world import NOON
from tests.histories.history import HISTORY, log_of
from tests.pace import bound

HEAVY = {
    "litestar",
    "asyncpg",
    "phonenumbers",
    "holidays",
    "granian",
    "engine.contact",
    "engine.preview",
    "adapters.postgres",
}
"""What the roles need; together it costs more memory than all that a tail does."""

PROGRAM = """
import sys
from adapters.cli.main import main
main(["leads", "tail", "--help"])
print(*sys.modules, sep="\\n")
"""
SECONDS = bound(120.0)


def test_a_tail_of_the_decisions_loads_nothing_that_only_the_roles_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=SECONDS, check=True)
    loaded = {*done.stdout.splitlines()}
    assert "adapters.cli.tail" in loaded
    assert not loaded & HEAVY


def change(key: str, **value: object) -> Change:
    return Change(key=key, value=msgspec.Raw(to_json(value)) if value else REMOVED)


def decision(key: str | None, *changes: Change, kind: Literal["request", "tick", "adoption"] = "tick") -> Decision:
    facts = tuple(Fact(type="lead.scheduled", lead_id=number) for number in (1, 2))
    cause = Cause(kind=kind, key=key)
    return Decision(sequence=1, decided_at=NOON, prev="", cause=cause, facts=facts, changes=changes)


LEAD_1, LEAD_2 = change("lead/1", company_id=1), change("lead/2", company_id=2)


@pytest.mark.parametrize(
    ("made", "of_first", "of_second"),
    [
        (decision("1|+13055550123", kind="request"), [1, 2], None),
        (decision("lead/1", LEAD_1), [1, 2], None),
        (decision("lead/2", LEAD_2), None, [1, 2]),
        (decision("asking/1/ab", change("asking/1/ab", company_id=1)), [1, 2], None),
        (decision("asking/1/ab", change("asking/1/ab")), [1, 2], None),
        (decision("head/2|+13055550123", change("head/2|+13055550123")), None, [1, 2]),
        (decision("suppression/9/1|+13055550123"), [1, 2], None),
        (decision("replan/versions", LEAD_1, LEAD_2, change("replan/versions", due_at=1)), [1], [2]),
        (decision("replan/versions", change("replan/versions", due_at=1)), None, None),
        (decision("1|+13055550123", LEAD_1, kind="adoption"), None, None),
    ],
)
def test_a_tail_of_a_company_shows_nothing_of_another_one(
    made: Decision, of_first: list[int] | None, of_second: list[int] | None
) -> None:
    for company_id, expected in ((1, of_first), (2, of_second)):
        found = of_company(made, company_id)
        assert (None if found is None else [fact.lead_id for fact in found.facts]) == expected
        other = f'"company_id":{3 - company_id}'
        assert found is None or other not in to_json(found).decode()


async def test_of_a_recorded_history_each_fact_of_a_lead_is_shown_to_its_company_alone() -> None:
    log = await log_of(HISTORY, lambda: NOON)
    partitions = range(await log.partition_count(CONTACTS_DECISIONS.name))
    records = [record for number in partitions for record in log.partition(CONTACTS_DECISIONS.name, number).records]
    owners: dict[int, int] = {}
    shown: Counter[int] = Counter()
    for made in (msgspec.json.decode(record.value or b"", type=Decision) for record in records):
        for one in made.changes:
            if one.key.startswith("lead/") and one.value != REMOVED:
                owners[int(one.key.removeprefix("lead/"))] = msgspec.json.decode(one.value)["company_id"]
        for company_id in {*owners.values()}:
            found = of_company(made, company_id)
            for fact in () if found is None else found.facts:
                assert owners.get(fact.lead_id or 0, company_id) == company_id, (made.sequence, fact)
                shown[company_id] += 1
    assert len(shown) > 1, "a history of one company shows nothing"
