"""Agents over HTTP, beside their records: statuses and their log, messages and who has read them."""
