-- What did the first request under an Idempotency-Key answer? Null until it has; kept with the key.
ALTER TABLE {work}.idempotency_keys ADD COLUMN answer bytea;
