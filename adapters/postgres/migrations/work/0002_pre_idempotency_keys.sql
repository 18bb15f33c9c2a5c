-- Which Idempotency-Keys are in use, for which body, and which request was made of it? Kept 24 h.
CREATE TABLE {work}.idempotency_keys (
    company_id  bigint       NOT NULL,
    key         text         NOT NULL,
    digest      text         NOT NULL,
    request_id  text         NOT NULL,
    created_at  timestamptz  NOT NULL,
    PRIMARY KEY (company_id, key)
);
CREATE INDEX idempotency_keys_created ON {work}.idempotency_keys USING brin (created_at);
