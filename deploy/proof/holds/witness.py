"""What were the sandbox and the mail server given, and when? A witness beside the system: it asks no role.

The sandbox writes each order down before it carries it out (`work.sandbox_orders`); the mail server is our own. Both note
the time of the deployment's clock.
"""

from email import message_from_bytes
from pathlib import Path
from typing import cast

import asyncpg
from aiosmtpd.smtp import SMTP, Envelope, Session
from msgspec import Struct

from adapters.gateway.mailbox import Mailbox
from deploy.proof.evidence import CONNECT_SECONDS
from engine.partition.ports import Clock
from schemas.instant import Instant

MAILS_KEPT = 10

GIVEN = "SELECT command_id, given_at FROM work.sandbox_orders"
COUNT = "SELECT count(*) FROM work.sandbox_orders"


class Given(Struct, frozen=True):
    """One command as a provider got it."""

    command_id: str
    at: Instant


class WitnessMailbox(Mailbox):
    """Notes when it took which message, by Message-ID, which names the command."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        super().__init__(folder, messages_max=MAILS_KEPT)
        self._clock = clock
        self.taken: list[Given] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd calls it so
        """Note a message, and take it."""
        message_id = message_from_bytes(cast("bytes", envelope.content)).get("Message-ID", "")
        self.taken.append(Given(message_id.strip("<> ").partition("@")[0], self._clock.now()))
        return await super().handle_DATA(server, session, envelope)


class Witness:
    """Everything that providers were given."""

    def __init__(self, dsn: str, mailbox: WitnessMailbox) -> None:
        self._dsn = dsn
        self._mailbox = mailbox

    async def count(self) -> int:
        """Return how many commands were given to a provider."""
        connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS)
        try:
            return int(await connection.fetchval(COUNT)) + len(self._mailbox.taken)
        finally:
            await connection.close()

    async def given(self) -> list[Given]:
        """Return all of them, the oldest first."""
        connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS)
        try:
            orders = [Given(row["command_id"], Instant(row["given_at"])) for row in await connection.fetch(GIVEN)]
        finally:
            await connection.close()
        return sorted([*orders, *self._mailbox.taken], key=lambda one: one.at)
