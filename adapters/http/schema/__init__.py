"""Which type has each field? JSON Schemas of what is sent and what is answered."""
