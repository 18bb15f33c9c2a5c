"""Whom do the pages of a bench show, and to whom? The records of the large company, and users of two teams with sessions."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import asyncpg
import msgspec

from adapters.http.exchange.session_tokens import new_session
from adapters.partitions.routing import partition_of
from adapters.postgres.pool import open_pool
from adapters.postgres.sign_ins import PostgresSignIns
from adapters.roles.context import Context
from deploy.bench.large import COMPANY_ID
from deploy.bench.stage import PARTITIONS, write_rules
from deploy.bench.submissions import rule_records
from schemas.instant import EPOCH
from schemas.records import Record

USERS = 50
TEAMS = 2
BUYERS, GROUPS, OFFERS, SCHEDULES = 30, 6, 5, 12
"""As many as the leads and calls of the data set name."""

_READ = ("lead", "call", "contact", "buyer", "buyer_group", "schedule", "offer")
"""What the second team grants. The first is of superusers, so no answer for one is for the other."""

_ROW = """
INSERT INTO read.records (company_id, type, id, uuid, version, partition, sequence, created_at, updated_at, name, body)
VALUES ($1, $2, $3, md5($4)::uuid, 1, $5, $6, 'epoch', 'epoch', $7, $8::text::jsonb)
ON CONFLICT DO NOTHING
"""


def _bodies() -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield type, id and body of the records that the company has beside those of every bench."""
    for number in range(2, OFFERS + 1):
        yield "offer", number, {"name": f"Offer {number}", "lead_token": f"bench-offer-{number}"}
    steps = [{"id": f"call-{number}", "kind": "call"} for number in range(1, 7)]
    for number in range(3, SCHEDULES + 1):
        named = {"name": f"Schedule {number}", "offer_id": 1 + number % OFFERS, "lead_token": f"bench-schedule-{number}"}
        yield "schedule", number, {**named, "time_zone": "America/New_York", "hours_to_expire": 120, "steps": steps}
    for number in range(1, BUYERS + 1):
        limits = {"attempt_daily_limit": 100 * number, "concurrency_cap_limit": number}
        yield "buyer", number, {"name": f"Buyer {number}", "number": f"+1212555{100 + number:04d}", **limits}
    for number in range(1, GROUPS + 1):
        buyers = list(range(number, BUYERS + 1, GROUPS))
        yield "buyer_group", number, {"name": f"Group {number}", "buyer_ids": buyers, "concurrency_cap_limit": 10}
    for number in range(1, USERS + 1):
        yield "user", number, {"name": f"User {number}", "email": _email(number), "state": "active"}
    for team in range(TEAMS):
        members = [_email(number) for number in range(1, USERS + 1) if (number - 1) % TEAMS == team]
        granted = {"superuser": True} if team == 0 else {"permissions": {name: {"actions": ["read"]} for name in _READ}}
        yield "access_control_list", team + 1, {"name": f"Team {team + 1}", "users_emails": members, **granted}


def _email(number: int) -> str:
    return f"user{number}@example.com"


def _records() -> list[Record]:
    sequence = count(len(rule_records()) + 1)
    return [
        Record(
            type=kind,
            id=record_id,
            uuid=f"{kind}-{record_id}",
            company_id=COMPANY_ID,
            version=1,
            sequence=next(sequence),
            created_at=EPOCH,
            updated_at=EPOCH,
            body=body,
        )
        for kind, record_id, body in _bodies()
    ]


async def furnish(context: Context, dsn: str) -> None:
    """Write the records of the company to the rules and to the read schema, as its roles would have."""
    more = _records()
    await write_rules(context, more)
    partition = partition_of(str(COMPANY_ID).encode(), PARTITIONS)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.executemany(
            _ROW,
            [
                (one.company_id, one.type, one.id, one.uuid, partition, one.sequence, one.body.get("name"), _json(one.body))
                for one in (*rule_records(), *more)
            ],
        )
    finally:
        await connection.close()


def _json(body: dict[str, Any]) -> str:
    return msgspec.json.encode(body).decode()


async def sign_in(context: Context, dsn: str, number: int) -> list[str]:
    """Return the tokens of sessions, each of another user; the teams take turns."""
    pool = await open_pool(dsn, size=1)
    try:
        tokens = []
        for user in range(1, number + 1):
            found = context.rules.rules.user_named(COMPANY_ID, _email(user))
            assert found is not None  # noqa: S101 - it was just written
            session, token = new_session(*found)
            await PostgresSignIns(pool).open(session)
            tokens.append(token)
        return tokens
    finally:
        await pool.close()
