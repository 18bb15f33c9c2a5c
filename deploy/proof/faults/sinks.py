"""What did the outside world get? A mail server and a receiver of webhooks that count what they took, by command."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from pathlib import Path
from typing import cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from adapters.gateway.mailbox import Mailbox
from adapters.local.process import LOCALHOST
from deploy.proof.neighbours.receivers import ANSWER, HEAD_BYTES_MAX, content_length, header

MAILS_KEPT = 10
WORK_SECONDS = 0.1
"""A receiver is slow, so that a kill may come in the middle of a call."""


class CountingMailbox(Mailbox):
    """Counts messages by Message-ID, which names the command."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, messages_max=MAILS_KEPT)
        self.taken: Counter[str] = Counter()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd calls it so
        """Count a message, and take it."""
        await asyncio.sleep(WORK_SECONDS)
        message_id = message_from_bytes(cast("bytes", envelope.content)).get("Message-ID", "")
        self.taken[message_id.strip("<> ").partition("@")[0]] += 1
        return await super().handle_DATA(server, session, envelope)


@asynccontextmanager
async def counting_receiver(taken: Counter[str]) -> AsyncIterator[int]:
    """Answer every request with 204 and count it by its idempotency key; yield the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(content_length(head))
            taken[header(head, b"idempotency-key")] += 1
            await asyncio.sleep(WORK_SECONDS)
            writer.write(ANSWER)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the sender was killed
        finally:
            writer.close()

    async with await asyncio.start_server(serve, LOCALHOST, 0, limit=HEAD_BYTES_MAX) as server:
        yield server.sockets[0].getsockname()[1]
