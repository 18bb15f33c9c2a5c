-- Which deployment is this the database of? The same identity as on `accounts.rules`; every process compares the two.
CREATE TABLE {work}.deployment (
    one          boolean      NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    id           text         NOT NULL,
    identity     text         NOT NULL,  -- the JSON of schemas/deployment.py
    recorded_at  timestamptz  NOT NULL DEFAULT now()
);
