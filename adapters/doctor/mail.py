"""Does the mail server take us? EHLO, TLS and login as a gateway does them, and no message."""

import ssl

import aiosmtplib

from adapters.doctor.findings import Finding, failure, is_on_this_machine, ok, warning
from adapters.gateway.unsubscribe_links import PATH
from adapters.roles.mail_server import unsubscribe_fault
from adapters.settings import Settings

ANSWER_SECONDS = 10.0
"""For each step of the dialogue."""


async def check_mail(settings: Settings, *, is_served: bool) -> list[Finding]:
    """Greet the server and log in. `is_served`: some gateway serves e-mails, so one must be set somewhere."""
    if settings.smtp_host is None:
        found = "gateways serve email, but LEADCLOCK_SMTP_HOST is not set here, so no server was tried"
        return [warning("mail server", found, "run this with the settings of a gateway")] if is_served else []
    where = f"{settings.smtp_host}:{settings.smtp_port}"
    server = aiosmtplib.SMTP(
        hostname=settings.smtp_host,
        port=settings.smtp_port,
        username=settings.smtp_username,
        password=settings.smtp_password,
        start_tls=settings.smtp_starttls,
        timeout=ANSWER_SECONDS,
    )
    try:
        async with server:
            await server.noop()
            is_encrypted = server.get_transport_info("ssl_object") is not None
    except aiosmtplib.SMTPAuthenticationError as error:
        cure = "correct LEADCLOCK_SMTP_USERNAME and LEADCLOCK_SMTP_PASSWORD"
        return [failure("mail server", f"{where} refuses the login ({error.code} {error.message})", cure)]
    except (aiosmtplib.SMTPException, ssl.SSLError, OSError) as error:
        cure = "start it, or correct LEADCLOCK_SMTP_HOST, LEADCLOCK_SMTP_PORT and LEADCLOCK_SMTP_STARTTLS"
        return [failure("mail server", f"{where} cannot be used ({error})", cure)]
    return [_protection(settings, where, is_encrypted=is_encrypted), *_sender(settings), _unsubscribe(settings)]


def _protection(settings: Settings, where: str, *, is_encrypted: bool) -> Finding:
    login = "with a login" if settings.smtp_username else "without a login"
    if is_encrypted:
        return ok("mail server", f"{where} takes us {login}, by TLS")
    if settings.smtp_username and not is_on_this_machine(where):
        return warning("mail server", f"{where} takes us {login}, in clear text", "set LEADCLOCK_SMTP_STARTTLS=true")
    return ok("mail server", f"{where} takes us {login}, without TLS")


def _sender(settings: Settings) -> list[Finding]:
    domain = settings.email_from.rpartition("@")[2]
    if domain != "localhost" and not domain.endswith((".localdomain", ".invalid")):
        return []
    cure = "set LEADCLOCK_EMAIL_FROM to an address that the server may send for"
    return [warning("mail server", f"e-mails come from {settings.email_from} where a step names no sender", cure)]


def _unsubscribe(settings: Settings) -> Finding:
    fault = unsubscribe_fault(settings)
    if fault is None:
        return ok("unsubscribe links", f"e-mails have links to {settings.public_url}{PATH}/…")
    cure = "set LEADCLOCK_PUBLIC_URL to the https address of the API, here and at the api role: large mail hosts demand it"
    return warning("unsubscribe links", fault, cure)
