"""Contacts over HTTP: what is true of a number or address itself, across its leads."""
