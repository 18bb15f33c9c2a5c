"""Outgoing webhooks and subscriptions over HTTP, beside their records: firing one by hand, what became of events."""
