"""Which mail server does a process hand e-mails to, and with which unsubscribe links? Those of the settings."""

from adapters.gateway.smtp import SmtpSettings
from adapters.gateway.unsubscribe_links import UnsubscribeLinks
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


def unsubscribe_links(settings: Settings) -> UnsubscribeLinks | None:
    """Return the links that e-mails have; None where the API has no public address."""
    return UnsubscribeLinks(settings.secret_key, settings.public_url) if settings.public_url else None


def unsubscribe_fault(settings: Settings) -> str | None:
    """Return what is wrong with the unsubscribe links of e-mails; None where nothing is."""
    if not settings.public_url:
        return "e-mails have no List-Unsubscribe: LEADCLOCK_PUBLIC_URL is not set"
    if not settings.public_url.startswith("https://"):
        return "mail programs cannot unsubscribe by one click: LEADCLOCK_PUBLIC_URL is not https"
    return None
