"""Where do the e-mails of a proof go? Into a mailbox beside the deployment, which starts and ends with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from adapters.gateway.mailbox import Mailbox
from adapters.local.process import LOCALHOST
from adapters.settings import Settings
from deploy.proof.processes import ProcessGroup


@asynccontextmanager
async def deployment_with_mailbox(
    folder: Path, settings: Settings, mailbox: Mailbox | None = None
) -> AsyncIterator[ProcessGroup]:
    """Yield a deployment, not started, whose e-mails a mailbox takes, by default one in its folder.

    Kill it when the block ends.
    """
    mailbox = mailbox or Mailbox(folder / "mail")
    await mailbox.start()
    deployment = ProcessGroup(folder, replace(settings, smtp_host=LOCALHOST, smtp_port=mailbox.port, smtp_starttls=False))
    try:
        yield deployment
    finally:
        deployment.kill()
        await mailbox.stop()
