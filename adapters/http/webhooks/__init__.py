"""Outgoing webhooks over HTTP, beside their records: firing one by hand."""
