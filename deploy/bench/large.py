"""What does a large company look like in the read schema? The database generates its leads and calls, in minutes.

The rows are as the projector would have written them: same columns, same indexes. They cover five years, more with each
year; few offers, sources and campaigns have most of the leads; old leads have ended; people come back. Values are
deterministic, by the number of the row, so that every bench sees the same company. Small companies share the tables.
Columns that no measurement uses get the simplest value that they can hold.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import asyncpg

from adapters.postgres.migrate import migrate
from adapters.postgres.pool import Pool
from adapters.postgres.rollups import Rollups

COMPANY_ID = 1
"""The company of the bench's other rows, because its key is known."""

SMALL_COMPANIES = (2,)
SMALL_SHARE = 0.05
"""Of the large company's rows, for each of the small ones."""

SPAN_DAYS = 1826
"""Leads were created over five years up to `NEWEST`."""

NEWEST = "timestamptz '2026-07-15 16:00:00+00'"
"""The bench's noon."""

CALLS_PER_LEAD = 2.5

LEADS_DEFAULT = 300_000
"""With their 750,000 calls they take two minutes on two cores."""

LEADS_LARGE = 2_000_000
"""The size of the goals; its 5 million calls take half an hour, so the data set is kept."""

ROWS_AT_ONCE = 100_000
"""Rows of one statement: its triggers hold them in memory."""

DAYS_AT_ONCE = 40
"""Days that one transaction rolls up: some 100,000 calls."""

STATEMENT_SECONDS = 1_800.0
"""One statement of the filling, at 2 million leads on a slow machine."""

IDS_APART = 1024
IDS_REST = 1000
"""As `engine.identity.numbered` spaces them, of a partition that no deployment of a bench has."""


def _share(kind: int, of: str = "n") -> str:
    """Return a number from 0 to 1 that follows from the number of a row, another one for each kind."""
    return f"((hashint8extended({of}, {kind}) & 1048575)::float8 / 1048576)"


def _skewed(kind: int, count: int, power: float = 2) -> str:
    """Return a whole number from 1 to `count`, low ones much more often."""
    return f"(1 + floor({count} * {_share(kind)} ^ {power}))::bigint"


def _chosen(kind: int, *choices: tuple[float, str], of: str = "n") -> str:
    """Return one of some values, each as far as its bound goes."""
    bounds = " ".join(f"WHEN {_share(kind, of)} < {bound} THEN '{value}'" for bound, value in choices[:-1])
    return f"(CASE {bounds} ELSE '{choices[-1][1]}' END)"


_LIVE = f"(n > {{live_from}} AND {_share(1)} < 0.6)"
"""Most of the newest leads are live: schedules run for days, not for years."""
_ENDED = _chosen(
    2, (0.34, "expired"), (0.52, "exceeded_max_calls"), (0.71, "completed_attempted"), (0.85, "completed_connected"),
    (0.88, "completed_converted"), (0.93, "completed"), (0.97, "opt_out"), (0.99, "removed"), (1, "failure"),
)  # fmt: skip
_STATUS = f"(CASE WHEN {_LIVE} THEN {_chosen(3, (0.7, 'scheduled'), (1, 'waiting'))} ELSE {_ENDED} END)"
_CONNECTED = f"(NOT {_LIVE} AND {_share(2)} >= 0.71 AND {_share(2)} < 0.88)"
_CONVERTED = f"(NOT {_LIVE} AND {_share(2)} >= 0.85 AND {_share(2)} < 0.88)"
_OPTED_OUT = f"(NOT {_LIVE} AND {_share(2)} >= 0.93 AND {_share(2)} < 0.97)"
# More leads each year: the root of the place among all rows is the place in time.
_CREATED = (
    f"date_trunc('milliseconds', {NEWEST} - make_interval(secs => (1 - sqrt(n::float8 / {{leads}})) * {SPAN_DAYS} * 86400))"
)
_STATE = f"(ARRAY['CA','TX','FL','NY','IL','PA','OH','GA','NC','MI','WA','AZ','MA','TN','IN'])[{_skewed(4, 15)}]"
_ZONE = f"(ARRAY['America/New_York','America/Chicago','America/Los_Angeles','America/Denver'])[{_skewed(5, 4)}]"
_PERSON = "((hashint8extended(n, 6) & 9223372036854775807) % ({leads} * 7 / 10))"
_NUMBER = f"'+1' || (2120000000 + {_PERSON})::text"
_CALLS_COUNT = f"(CASE WHEN {_LIVE} THEN {_skewed(7, 4)} - 1 ELSE {_skewed(7, 6)} - 1 END)"
_BUYER = f"CASE WHEN {_CONNECTED} THEN {_skewed(8, 30)} END"

LEAD_VALUES: Mapping[str, str] = {
    "id": f"n * {IDS_APART} + {IDS_REST}",
    "uuid": "md5('lead/{company}/' || n)::uuid",
    "contact_key": f"'{{company}}|' || {_NUMBER}",
    "version": "1",
    "created_at": _CREATED,
    "updated_at": f"{_CREATED} + make_interval(hours => {_skewed(9, 120)}::int)",
    "status": _STATUS,
    "status_wait": f"CASE WHEN {_LIVE} AND {_share(3)} >= 0.7 THEN"
    f" {_chosen(10, (0.6, 'quiet_hours_state'), (0.9, 'preferred_window'), (1, 'buyer_capped'))} END",
    "is_live": _LIVE,
    "offer_id": _skewed(11, 5),
    "schedule_id": _skewed(12, 12),
    "caller_id": _NUMBER,
    "email": f"CASE WHEN {_share(13)} < 0.4 THEN 'person' || {_PERSON} || '@example.com' END",
    "full_name": f"'Ann' || {_skewed(14, 5000)} || ' Lee' || {_skewed(15, 20000)}",
    "external_record_id": "'crm-' || n",
    "country": _chosen(16, (0.93, "US"), (1, "CA")),
    "state_province": _STATE,
    "zip_postal_code": f"lpad({_skewed(17, 40000)}::text, 5, '0')",
    "time_zone": _ZONE,
    "sub_id": f"'campaign-' || {_skewed(18, 3000, 3)}",
    "traffic_source_id": _skewed(19, 40),
    "data": f"jsonb_build_object('first_name', 'Ann' || {_skewed(14, 5000)}, 'roof',"
    f" (ARRAY['flat','steep','none'])[{_skewed(20, 3)}], 'score', floor(100 * {_share(21)})::int)",
    "states": f"ARRAY[{_STATE}]",
    "zones": f"ARRAY[{_ZONE}]",
    "lead_priority": "100",
    "attempts": _CALLS_COUNT,
    "step": f"'call-' || {_skewed(22, 6)}",
    "next_action_at": f"CASE WHEN {_LIVE} THEN {NEWEST} + make_interval(mins => (n % 10000)::int) END",
    "expires_at": f"{_CREATED} + interval '5 days'",
    "opt_out": _OPTED_OUT,
    "connected": _CONNECTED,
    "buyer_converted": _CONVERTED,
    "offer_converted": f"{_CONVERTED} AND {_share(23)} < 0.8",
    "revenue": f"CASE WHEN {_CONVERTED} THEN 25.5 ELSE 0 END",
    "payout": f"CASE WHEN {_CONVERTED} AND {_share(23)} < 0.8 THEN 8.25 ELSE 0 END",
    "cost": f"0.0125 * {_CALLS_COUNT}",
    "buyer_id": _BUYER,
    "outbound_calls_count": _CALLS_COUNT,
    "sms_count": f"{_skewed(24, 3)} - 1",
    "first_queued_at": _CREATED,
    "first_action_at": f"CASE WHEN {_share(25)} < 0.9"
    f" THEN {_CREATED} + make_interval(secs => 5 + {_skewed(25, 9000, 4)}) END",
    "last_action_at": f"CASE WHEN {_share(25)} < 0.9 THEN {_CREATED} + make_interval(hours => {_skewed(9, 120)}::int) END",
    "last_call_at": f"CASE WHEN {_share(25)} < 0.9 AND {_CALLS_COUNT} > 0"
    f" THEN {_CREATED} + make_interval(hours => {_skewed(9, 120)}::int) END",
    "schedule_ended_at": f"CASE WHEN NOT {_LIVE} THEN {_CREATED} + make_interval(hours => {_skewed(9, 120)}::int) END",
    "schedule_trigger_type": _chosen(26, (0.9, "api"), (1, "import")),
}
"""`n` is the number of the lead."""

_OUTCOME = (
    f"(CASE WHEN {_CONNECTED} AND {_share(32, 'g')} < 0.5 THEN 'connected_buyer' ELSE"
    f" {_chosen(31, (0.45, 'no_answer'), (0.6, 'busy'), (1, 'voicemail'), of='g')} END)"
)
_AT = f"({_CREATED} + make_interval(secs => floor({_share(33, 'g')} ^ 3 * 432000)))"
_WON = f"({_CONVERTED} AND g = ceil(n * {CALLS_PER_LEAD}))"
"""The last call of a converted lead converted."""
_INBOUND = f"({_share(34, 'g')} < 0.08)"

CALL_VALUES: Mapping[str, str] = {
    "id": f"g * {IDS_APART} + {IDS_REST}",
    "uuid": "md5('call/{company}/' || g)::uuid",
    "contact_key": f"'{{company}}|' || {_NUMBER}",
    "contact_id": f"1 + {_PERSON}",
    "version": "1",
    "created_at": _AT,
    "updated_at": f"{_AT} + interval '3 minutes'",
    "lead_id": f"n * {IDS_APART} + {IDS_REST}",
    "offer_id": _skewed(11, 5),
    "schedule_id": _skewed(12, 12),
    "schedule_action_id": f"'call-' || {_skewed(22, 6)}",
    "traffic_source_id": _skewed(19, 40),
    "buyer_id": _BUYER,
    "buyer_group_id": f"CASE WHEN {_CONNECTED} THEN {_skewed(8, 6)} END",
    "number_id": _skewed(35, 20),
    "direction": f"CASE WHEN {_INBOUND} THEN 'inbound' ELSE 'outbound' END",
    "origin": f"CASE WHEN {_INBOUND} THEN 'inbound' ELSE 'schedule' END",
    "status": f"(CASE {_OUTCOME} WHEN 'connected_buyer' THEN 'forwarded' WHEN 'no_answer' THEN 'no-answer'"
    f" WHEN 'busy' THEN 'busy' ELSE 'voicemail' END)",
    "outcome": _OUTCOME,
    "caller_number": _NUMBER,
    "number_called": _NUMBER,
    "from_number": "'+12125550150'",
    "country": "'US'",
    "state": _STATE,
    "time_zone": _ZONE,
    "token_values": LEAD_VALUES["data"],
    "revenue": f"CASE WHEN {_WON} THEN 25.5 ELSE 0 END",
    "payout": f"CASE WHEN {_WON} THEN 8.25 ELSE 0 END",
    "cost": "0.0125",
    "profit": f"CASE WHEN {_WON} THEN 17.2375 ELSE -0.0125 END",
    "buyer_converted": _WON,
    "offer_converted": f"{_WON} AND {_share(23)} < 0.8",
    "no_buyer": f"NOT {_CONNECTED}",
    "in_progress": "(g > {calls} - 40)",
    "has_recording": f"{_CONNECTED} AND {_share(36, 'g')} < 0.5",
    "placed_on_hold": f"{_share(37, 'g')} < 0.01",
    "buyer_repeat_caller": f"{_share(38, 'g')} < 0.02",
    "offer_repeat_caller": f"{_share(38, 'g')} < 0.05",
    "buyer_conversion_duplicated_call": f"{_WON} AND {_share(39, 'g')} < 0.05",
    "ring_duration": "g % 30",
    "talk_duration": f"CASE WHEN {_OUTCOME} = 'connected_buyer' THEN {_skewed(40, 900)} ELSE 0 END",
    "total_duration": f"{_skewed(40, 900)} + 20",
    "ended_at": f"{_AT} + make_interval(secs => {_skewed(40, 900)} + 20)",
    "call_disposition_id": f"CASE WHEN {_CONNECTED} AND {_share(41, 'g')} < 0.7 THEN {_skewed(42, 8)} END",
    "attempt_number": _skewed(43, 6),
}
"""`g` is the number of the call, `n` that of its lead."""

_CONTACTS = """
INSERT INTO read.contacts (
    contact_key, company_id, contact_id, version, partition, sequence, lead_ids, attempts_count, disabled_until, moved, rest
)
SELECT {company} || '|+1' || (2120000000 + n), {company}, 1 + n, 1, 0, 0, '[]', 0, '{{}}', '{{}}', '{{}}'
FROM generate_series({first}::bigint, {last}) AS n
"""
_COLUMNS = """
SELECT column_name AS name, is_nullable = 'YES' AS nullable, data_type AS type
FROM information_schema.columns WHERE table_schema = 'read' AND table_name = $1
ORDER BY ordinal_position
"""
_PLAINEST = {
    "text": "''", "jsonb": "'{}'::jsonb", "ARRAY": "'{}'::text[]", "boolean": "false", "uuid": "md5('' || g)::uuid",
    "timestamp with time zone": NEWEST,
}  # fmt: skip
_INDEXES = """
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
WHERE schemaname = 'read' AND tablename = ANY ($1::text[]) AND indexname NOT LIKE '%\\_pkey'
"""

Say = Callable[[str], None]


async def fill(dsn: str, pool: Pool, leads: int, say: Say) -> int:
    """Migrate an empty database and fill it with companies' leads and calls; return the number of the large one's calls.

    Indexes are created after the rows, as by a restore; the tables' own triggers write the full-text rows.
    """
    await migrate(dsn)
    async with pool.acquire() as connection:
        indexes = await connection.fetch(_INDEXES, ["leads", "calls", "lead_words", "call_words", "contacts"])
        for index in indexes:
            await connection.execute(f"DROP INDEX read.{index['name']}")
    sizes = {COMPANY_ID: leads, **{company: int(leads * SMALL_SHARE) for company in SMALL_COMPANIES}}
    await asyncio.gather(
        *(
            _fill_table(dsn, table, sizes, [i for i in indexes if f".{table[:-1]}" in i["definition"]], say)
            for table in TABLES
        )
    )
    say("hours")
    rollups = Rollups(pool, days_at_once=DAYS_AT_ONCE)
    while await rollups.run():
        pass
    async with pool.acquire() as connection:
        await connection.execute("VACUUM ANALYZE", timeout=STATEMENT_SECONDS)
    return int(leads * CALLS_PER_LEAD)


TABLES = ("leads", "calls", "contacts")


async def _fill_table(dsn: str, table: str, sizes: Mapping[int, int], indexes: list[Any], say: Say) -> None:
    """Fill a table and its word table, on a connection of its own: the other core fills another table."""
    connection = await asyncpg.connect(dsn, server_settings={"jit": "off", "maintenance_work_mem": "1GB"})
    try:
        for company, leads in sizes.items():
            await _insert(connection, table, company, leads, say)
        for index in indexes:
            say(index["name"])
            await connection.execute(index["definition"], timeout=STATEMENT_SECONDS)
        await connection.execute(f"VACUUM ANALYZE read.{table}", timeout=STATEMENT_SECONDS)
    finally:
        await connection.close()


async def _insert(connection: Any, table: str, company: int, leads: int, say: Say) -> None:
    calls = int(leads * CALLS_PER_LEAD)
    rows = {"leads": leads, "calls": calls, "contacts": leads * 7 // 10}[table]
    text = _CONTACTS if table == "contacts" else await _statement(connection, table)
    known = {"company": company, "leads": leads, "calls": calls, "live_from": leads - leads // 50}
    for first in range(1, rows + 1, ROWS_AT_ONCE):
        say(f"{table} of company {company}: {first:,} of {rows:,}")
        last = min(rows, first + ROWS_AT_ONCE - 1)
        statement = text.format(**known, first=first, last=last)
        await connection.execute(statement, timeout=STATEMENT_SECONDS)


async def _statement(connection: Any, table: str) -> str:
    columns = await connection.fetch(_COLUMNS, table)
    values = LEAD_VALUES if table == "leads" else CALL_VALUES
    shown = {column["name"]: _value(column, values) for column in columns}
    lead = "g" if table == "leads" else f"ceil(g / {CALLS_PER_LEAD})::bigint"
    return f"""
INSERT INTO read.{table} ({", ".join(shown)})
SELECT {", ".join(shown.values())}
FROM (SELECT g, {lead} AS n FROM generate_series({{first}}::bigint, {{last}}) AS g OFFSET 0) AS numbered
"""  # noqa: S608 - pieces of this file


def _value(column: Mapping[str, object], values: Mapping[str, str]) -> str:
    name = str(column["name"])
    if name == "company_id":
        return "{company}"
    if name in values:
        return values[name]
    plainest = _PLAINEST.get(str(column["type"]), "0").replace("{", "{{").replace("}", "}}")
    return "NULL" if column["nullable"] else plainest
