-- When was a key of a person used last? To a minute, by the database's clock.
CREATE TABLE {work}.key_uses (
    company_id    bigint       NOT NULL,
    key_id        bigint       NOT NULL,
    last_used_at  timestamptz  NOT NULL,
    PRIMARY KEY (company_id, key_id)
) WITH (fillfactor = 70);
