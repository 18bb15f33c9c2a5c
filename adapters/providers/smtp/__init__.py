"""How are a company's e-mails carried by a mail account of its own? Entry point `smtp`."""

from adapters.providers.smtp.provider import SmtpProvider

PROVIDER = SmtpProvider()
