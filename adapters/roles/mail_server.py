"""Which mail server does a process hand e-mails to? That of the settings."""

from adapters.gateway.smtp import SmtpSettings
from adapters.settings import Settings


def mail_server(settings: Settings) -> SmtpSettings:
    """Return how the mail server of the settings is reached; its host is empty where none is set."""
    return SmtpSettings(
        host=settings.smtp_host or "",
        port=settings.smtp_port,
        user=settings.smtp_username,
        password=settings.smtp_password,
        starttls=settings.smtp_starttls,
        sender=settings.email_from,
    )
