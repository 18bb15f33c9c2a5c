"""How does what was sent become a request? One pure normaliser for HTTP bodies and `leads.inbox` alike."""
