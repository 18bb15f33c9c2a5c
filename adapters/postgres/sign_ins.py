"""Who is signed in, and who has tried to? Rows in the `work` schema: none of it is a decision, and no rebuild touches it."""

from collections.abc import Mapping, Sequence

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import SESSION_IDLE, SESSION_LONGEST, SIGN_IN_LIMITS, Row, StoredSession, UserSession
from schemas.instant import SECOND, Instant, from_datetime

SEEN_EVERY_SECONDS = 60.0
"""How exactly it is known when a session was used last: a write a minute, whatever it asks."""

SESSIONS_MAX = 20
"""Sessions of one user at the same time; a further one ends the oldest."""

PURGE_ROWS = 5_000
"""Rows of one statement, so that it holds its locks for milliseconds. What is left is deleted by the next purge."""


class PostgresSignIns:
    """Keeps the promises of `adapters.reads.ports.SignIns`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("sign_ins", schemas)

    async def open(self, session: UserSession) -> StoredSession:
        """Store a session; end the user's oldest ones where there are too many."""
        given = session.id, session.token_sha256, session.company_id, session.user_id, session.credentials
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            created_at = await connection.fetchval(self._sql["open_session"], *given)
            await connection.execute(self._sql["drop_oldest"], session.company_id, session.user_id, SESSIONS_MAX)
        return StoredSession(session=session, created_at=from_datetime(created_at))

    async def find(self, session_id: str) -> StoredSession | None:
        """Return a session that has not expired."""
        return (await self.find_all((session_id,))).get(session_id)

    async def find_all(self, session_ids: Sequence[str]) -> Mapping[str, StoredSession]:
        """Return those of some sessions that have not expired, by id."""
        given = list(session_ids), SESSION_IDLE / SECOND, SESSION_LONGEST / SECOND, SEEN_EVERY_SECONDS
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["find_sessions"], *given)
        return {row["id"]: _stored_session(row) for row in rows}

    async def touch(self, *session_ids: str) -> None:
        """Note that sessions are used."""
        await self._execute("touch_sessions", list(session_ids))

    async def end(self, session_id: str) -> None:
        """End a session."""
        await self._execute("end_session", session_id)

    async def begin_second_factor(self, session_id: str, salt: str) -> None:
        """Remember the second factor that the user of a session sets up."""
        await self._execute("begin_second_factor", session_id, salt)

    async def begin_attempt(self, kind: str, subject: str) -> int | None:
        """Count an attempt to sign in; return the seconds to wait where it is too early, else None."""
        limits = SIGN_IN_LIMITS[kind]
        async with convert_read_errors():
            given = subject, limits.free, limits.wait_seconds_max
            if await self._pool.fetchval(self._sql["begin_attempt"], *given, limits.forget_seconds) is not None:
                return None
            return max(1, await self._pool.fetchval(self._sql["wait_of"], *given) or 1)

    async def forget_attempts(self, subject: str) -> None:
        """Forget the attempts of a user who has signed in."""
        await self._execute("forget_attempts", subject)

    async def take_attempt_back(self, subject: str) -> None:
        """Do not count an attempt from an address that was right."""
        await self._execute("take_attempt_back", subject)

    async def note_use(self, company_id: int, key_id: int) -> None:
        """Note that a key of a person is used."""
        await self._execute("note_use", company_id, key_id)

    async def uses(self, company_id: int, key_ids: Sequence[int]) -> Mapping[int, Instant]:
        """Return when keys were used last."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["uses"], company_id, list(key_ids))
        return {row["key_id"]: from_datetime(row["last_used_at"]) for row in rows}

    async def use_code(self, company_id: int, user_id: int, step: int) -> bool:
        """Use a code of a second factor; False where it was used before."""
        async with convert_read_errors():
            return await self._pool.fetchval(self._sql["use_code"], company_id, user_id, step) is not None

    async def purge(self) -> None:
        """Delete sessions and attempts that are over."""
        await self._execute("purge_sessions", SESSION_IDLE / SECOND, PURGE_ROWS)
        await self._execute("purge_attempts", max(one.forget_seconds for one in SIGN_IN_LIMITS.values()), PURGE_ROWS)

    async def _execute(self, name: str, *given: object) -> None:
        async with convert_read_errors():
            await self._pool.execute(self._sql[name], *given)


def _stored_session(row: Row) -> StoredSession:
    return StoredSession(
        session=UserSession(**{name: row[name] for name in UserSession.__struct_fields__}),
        created_at=from_datetime(row["created_at"]),
        pending_salt=row["pending_salt"],
        is_stale=row["is_stale"],
    )
