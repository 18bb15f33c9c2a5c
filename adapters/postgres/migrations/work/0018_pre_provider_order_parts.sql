-- Which order does a receipt mean that names a part of a text by the carrier's id alone? `reference` is that id, as
-- receipts have it; `part` is the number of the part, from 1. Times are of the database's clock.
CREATE TABLE {work}.provider_order_parts (
    provider_configuration_id  bigint       NOT NULL,
    reference                  text         NOT NULL,
    command_id                 text         NOT NULL,
    part                       integer      NOT NULL,
    placed_at                  timestamptz  NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (provider_configuration_id, reference)
);
CREATE INDEX provider_order_parts_placed ON {work}.provider_order_parts USING brin (placed_at);
