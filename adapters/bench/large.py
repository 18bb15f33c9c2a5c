"""What does a large company look like in the read schema? Leads and calls made by the database itself, in seconds.

The rows are as the projector would have written them: same columns, same indexes, values spread as in a working company.
Columns that matter to nobody here get the plainest value that they can hold.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adapters.postgres.migrate import migrate
from adapters.postgres.pool import Pool
from adapters.postgres.rollups import Rollups

COMPANY_ID = 1
"""That of the bench's other rows: its key is known."""

SPAN_DAYS = 400
"""Leads were created over this many days up to `NEWEST`: the default audit retention."""

NEWEST = "timestamptz '2026-07-15 16:00:00+00'"
"""The bench's noon."""

CALLS_PER_LEAD = 2.5

LEADS_DEFAULT = 300_000
"""With their 750,000 calls they are made in two minutes on two cores; `--leads 2000000` takes a quarter of an hour."""

ROWS_AT_ONCE = 100_000
"""Of one statement: its triggers hold the rows that it wrote."""

STATEMENT_SECONDS = 900.0
"""One statement of the filling, at 2 million leads on a slow machine."""

IDS_APART = 1024
"""As `engine.identity.numbered` spaces them."""

_LEAD_STATUS = (
    "(ARRAY['scheduled','scheduled','waiting','completed_attempted','completed_attempted','completed_connected',"
    "'completed','expired','exceeded_max_calls','opt_out'])[1 + g % 10]"
)
_CREATED = f"{NEWEST} - make_interval(secs => (({{rows}} - g)::float8 / {{rows}}) * {SPAN_DAYS} * 86400)"
_STATE = "(ARRAY['CA','TX','FL','NY','IL','PA','OH','GA','NC','MI'])[1 + g % 10]"

LEAD_VALUES: Mapping[str, str] = {
    "id": f"g * {IDS_APART}",
    "uuid": "md5('lead/' || g)::uuid",
    "contact_key": "'1|+1212' || lpad((g % 10000000)::text, 7, '0')",
    "version": "1",
    "created_at": _CREATED,
    "updated_at": _CREATED,
    "status": _LEAD_STATUS,
    "status_wait": "CASE WHEN g % 10 = 2 THEN 'quiet_hours_state' END",
    "is_live": "g % 10 < 3",
    "offer_id": "1 + g % 5",
    "schedule_id": "1 + g % 12",
    "caller_id": "'+1212' || lpad((g % 10000000)::text, 7, '0')",
    "email": "CASE WHEN g % 3 = 0 THEN 'person' || g || '@example.com' END",
    "full_name": "'Ann' || (g % 5000) || ' Lee' || (g % 20011)",
    "external_record_id": "'crm-' || g",
    "country": "'US'",
    "state_province": _STATE,
    "zip_postal_code": "lpad((g % 40000)::text, 5, '0')",
    "time_zone": "'America/New_York'",
    "sub_id": "'campaign-' || (g % 300)",
    "traffic_source_id": "1 + g % 40",
    "data": "jsonb_build_object('first_name', 'Ann' || (g % 5000), 'roof', (ARRAY['flat','steep','none'])[1 + g % 3],"
    " 'score', g % 100)",
    "states": f"ARRAY[{_STATE}]",
    "zones": "ARRAY['America/New_York']",
    "lead_priority": "100",
    "attempts": "g % 7",
    "step": "'call-' || (1 + g % 6)",
    "next_action_at": f"CASE WHEN g % 10 < 3 THEN {NEWEST} + make_interval(mins => (g % 10000)::int) END",
    "expires_at": f"CASE WHEN g % 10 < 3 THEN {NEWEST} + interval '5 days' END",
    "opt_out": "g % 10 = 9",
    "connected": "g % 10 = 5",
    "buyer_converted": "g % 50 = 0",
    "offer_converted": "g % 25 = 0",
    "revenue": "CASE WHEN g % 50 = 0 THEN 25.5 ELSE 0 END",
    "payout": "CASE WHEN g % 25 = 0 THEN 8.25 ELSE 0 END",
    "buyer_id": "CASE WHEN g % 10 = 5 THEN 1 + g % 30 END",
    "outbound_calls_count": "g % 5",
    "sms_count": "g % 3",
    "first_action_at": f"CASE WHEN g % 7 > 0 THEN {_CREATED} + interval '90 seconds' END",
}
CALL_VALUES: Mapping[str, str] = {
    "id": f"g * {IDS_APART}",
    "uuid": "md5('call/' || g)::uuid",
    "contact_key": "'1|+1212' || lpad((g % 10000000)::text, 7, '0')",
    "contact_id": "1 + g % 10000000",
    "version": "1",
    "created_at": _CREATED,
    "updated_at": _CREATED,
    "lead_id": f"ceil(g / {CALLS_PER_LEAD})::bigint * {IDS_APART}",
    "offer_id": "1 + g % 5",
    "schedule_id": "1 + g % 12",
    "schedule_action_id": "'call-' || (1 + g % 6)",
    "traffic_source_id": "1 + g % 40",
    "buyer_id": "CASE WHEN g % 10 = 5 THEN 1 + g % 30 END",
    "buyer_group_id": "CASE WHEN g % 10 = 5 THEN 1 + g % 6 END",
    "number_id": "1 + g % 20",
    "direction": "CASE WHEN g % 12 = 0 THEN 'inbound' ELSE 'outbound' END",
    "origin": "CASE WHEN g % 12 = 0 THEN 'inbound' ELSE 'schedule' END",
    "status": "(ARRAY['no-answer','no-answer','busy','voicemail','finished'])[1 + g % 5]",
    "outcome": "(ARRAY['no_answer','no_answer','busy','voicemail','connected_human'])[1 + g % 5]",
    "caller_number": "'+1212' || lpad((g % 10000000)::text, 7, '0')",
    "number_called": "'+1212' || lpad((g % 10000000)::text, 7, '0')",
    "from_number": "'+12125550150'",
    "country": "'US'",
    "state": _STATE,
    "time_zone": "'America/New_York'",
    "token_values": "jsonb_build_object('first_name', 'Ann' || (g % 5000), 'score', g % 100)",
    "revenue": "CASE WHEN g % 50 = 4 THEN 25.5 ELSE 0 END",
    "payout": "CASE WHEN g % 50 = 4 THEN 8.25 ELSE 0 END",
    "cost": "0.0125",
    "profit": "CASE WHEN g % 50 = 4 THEN 17.2375 ELSE -0.0125 END",
    "buyer_converted": "g % 50 = 4",
    "offer_converted": "g % 50 = 4",
    "no_buyer": "g % 10 <> 5",
    "in_progress": "false",
    "ring_duration": "g % 30",
    "talk_duration": "CASE WHEN g % 5 = 4 THEN g % 600 ELSE 0 END",
    "total_duration": "g % 630",
    "ended_at": f"{_CREATED} + make_interval(secs => g % 630)",
    "attempt_number": "1 + g % 6",
}
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


async def fill(dsn: str, pool: Pool, leads: int, say: Callable[[str], None]) -> int:
    """Migrate an empty database and fill it with a company's leads and calls; return the number of calls.

    Indexes are made after the rows, as a restore makes them; what text is found by is kept by the tables' own triggers.
    """
    await migrate(dsn)
    calls = int(leads * CALLS_PER_LEAD)
    async with pool.acquire() as connection:
        await connection.execute("SET maintenance_work_mem = '512MB'")
        indexes = await connection.fetch(_INDEXES, ["leads", "calls", "lead_words", "call_words"])
        for index in indexes:
            await connection.execute(f"DROP INDEX read.{index['name']}")
        for table, values, rows in (("leads", LEAD_VALUES, leads), ("calls", CALL_VALUES, calls)):
            await _insert(connection, table, values, rows, say)
        for index in indexes:
            say(f"{index['name']} of {leads:,} leads and {calls:,} calls")
            await connection.execute(index["definition"], timeout=STATEMENT_SECONDS)
        say("hours")
        await connection.execute("VACUUM ANALYZE read.leads, read.calls", timeout=STATEMENT_SECONDS)
    while await Rollups(pool).run():
        pass
    async with pool.acquire() as connection:
        await connection.execute("VACUUM ANALYZE", timeout=STATEMENT_SECONDS)
    return calls


async def _insert(connection: Any, table: str, values: Mapping[str, str], rows: int, say: Callable[[str], None]) -> None:
    columns = await connection.fetch(_COLUMNS, table)
    shown = {column["name"]: _value(column, values) for column in columns}
    names = ", ".join(shown)
    made = ", ".join(shown.values()).replace("{rows}", str(rows))
    for first in range(1, rows + 1, ROWS_AT_ONCE):
        say(f"{table}: {first:,} of {rows:,}")
        last = min(rows, first + ROWS_AT_ONCE - 1)
        statement = f"INSERT INTO read.{table} ({names}) SELECT {made} FROM generate_series({first}::bigint, {last}) AS g"  # noqa: S608
        await connection.execute(statement, timeout=STATEMENT_SECONDS)


def _value(column: Mapping[str, object], values: Mapping[str, str]) -> str:
    name = str(column["name"])
    if name == "company_id":
        return str(COMPANY_ID)
    if name in values:
        return values[name]
    return "NULL" if column["nullable"] else _PLAINEST.get(str(column["type"]), "0")
