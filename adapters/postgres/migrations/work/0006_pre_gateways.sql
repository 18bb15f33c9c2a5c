-- Which processes carry out commands, on which channels, by which providers? Each renews its rows; times are the database's.
CREATE TABLE {work}.gateways (
    process     text         NOT NULL,
    channel     text         NOT NULL,
    provider    text         NOT NULL,
    renewed_at  timestamptz  NOT NULL,
    stopped_at  timestamptz,
    PRIMARY KEY (process, channel)
);
