"""Which vendors carry e-mails by SMTP, and report by webhooks what became of them? `ses`, `mailgun` and `sendgrid`."""
