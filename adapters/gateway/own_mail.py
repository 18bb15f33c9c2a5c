"""How does the deployment send an e-mail of its own, such as an invitation? To the mail server of the channel email, once.

It is no command of a contact: no lease, no outcome and no schedule. Its sender hears at once whether the server took it.
"""

from email.message import EmailMessage
from email.utils import make_msgid

import aiosmtplib
import structlog

from adapters.gateway.ports import MailError
from adapters.gateway.smtp import SmtpSettings

SEND_SECONDS = 10.0
"""For the whole dialogue: somebody waits for the answer of the API."""

logger = structlog.get_logger(__name__)


class OwnMail:
    """Implements `adapters.http.exchange.ports.Mail` over SMTP."""

    def __init__(self, settings: SmtpSettings, *, timeout_seconds: float = SEND_SECONDS) -> None:
        self._settings = settings
        self._timeout_seconds = timeout_seconds

    @property
    def is_set_up(self) -> bool:
        """Return whether there is a mail server."""
        return self._settings.host != ""

    async def send(self, to: str, subject: str, body: str) -> None:
        """Send an e-mail; see the port."""
        settings = self._settings
        message = EmailMessage()
        message["From"], message["To"] = settings.sender, to
        message["Subject"] = " ".join(subject.split())
        message["Message-ID"] = make_msgid(domain=settings.message_id_domain)
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(body)
        try:
            await aiosmtplib.send(message, **settings.client_options(), timeout=self._timeout_seconds)
        except (aiosmtplib.SMTPException, OSError) as error:
            logger.warning("mail.refused", error=type(error).__name__)  # without its text, which may have the address
            raise MailError("the mail server did not take the e-mail") from error
