-- Which gateway listens to the vendor of which provider configuration, of those that send us nothing? Its lease runs on the
-- database's clock.
CREATE TABLE {work}.stream_leases (
    provider_configuration_id  bigint       NOT NULL PRIMARY KEY,
    holder                     text         NOT NULL,
    held_until                 timestamptz  NOT NULL
);
