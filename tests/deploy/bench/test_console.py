"""Does the bench of the console ask as fifty people do, and count what it says? No test here measures anything."""

import re
from pathlib import Path

from deploy.bench.console import TABS, _Bench, _count_statements, _tabs_of
from deploy.bench.console_company import TEAMS, USERS, _records
from deploy.bench.submissions import COMPANY_ID, rule_records
from engine.rules import Rules
from schemas.records import body_of

KINDS = ["/console/today", "/console/buyers/part?page=1", "/console/leads/1/part"]
LOG = b"""\
2026-11-25 23:00:00.000 UTC [7] LOG:  execute __asyncpg_stmt_1__: SELECT 'LOG:'
\tFROM read.leads
2026-11-25 23:00:00.001 UTC [7] DETAIL:  Parameters: $1 = '1'
2026-11-25 23:00:00.002 UTC [7] LOG:  statement: BEGIN;
2026-11-25 23:00:00.003 UTC [8] ERROR:  canceling statement due to user request
"""


def test_each_open_page_has_a_session_of_its_own_and_teams_take_turns() -> None:
    bench = _Bench(0, [f"ss_{number}" for number in range(TABS)], Path("nowhere"))
    tabs = list(_tabs_of(bench, KINDS, TABS))
    asked = [tab.part for tab in tabs]
    sessions = [re.search(rb"leadclock_session=ss_(\d+)", one) for one in asked]
    numbers = [int(found[1]) for found in sessions if found is not None]
    assert sorted(numbers) == list(range(TABS))
    assert [number % TEAMS for number in numbers[: 2 * TEAMS]] == [*range(TEAMS), *range(TEAMS)]
    each = asked[: len(KINDS) * TEAMS]
    assert len({(one.partition(b" HTTP")[0], number % TEAMS) for one, number in zip(each, numbers, strict=False)}) == len(
        each
    )
    assert all(b"HX-Request: true" in one for one in asked)
    assert [tab.stream.split(b" ")[1] for tab in tabs[: len(each) : TEAMS]] == [
        b"/console/today/changes", b"/console/buyers/part/changes", b"/console/leads/1/part/changes"
    ]  # fmt: skip
    assert [re.search(rb"leadclock_session=ss_\d+", tab.stream)[0] for tab in tabs] == [  # type: ignore[index]
        found[0] for found in sessions if found is not None
    ]


def test_statements_are_counted_from_an_offset_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(LOG)
    assert _count_statements(log, 0) == 2
    assert _count_statements(log, len(LOG)) == 0
    assert _count_statements(log, LOG.index(b"statement") - 60) == 1


def test_the_records_of_the_company_are_as_its_roles_store_them() -> None:
    rules = Rules()
    for record in (*rule_records(), *_records()):
        body_of(record)
        rules.apply(0, record)
    members = [rules.teams_of(COMPANY_ID, f"user{number}@example.com") for number in range(1, USERS + 1)]
    assert all(len(teams) == 1 for teams in members)
    assert [teams[0].superuser for teams in members[:TEAMS]] == [True, False]
    assert len({(record.type, record.id) for record in (*rule_records(), *_records())}) == len(rule_records() + _records())
