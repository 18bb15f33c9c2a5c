-- When did a buyer or group with a spacing get its last call? Null where it had none since it has a spacing.
ALTER TABLE {read}.slots ADD COLUMN last_granted_at timestamptz;

-- A type of its own: a projector of the release before still writes rows without it.
CREATE TYPE {read}.granted_slots_row AS (
    company_id       bigint,
    resource         text,
    version          bigint,
    partition        integer,
    sequence         bigint,
    in_use           bigint,
    waiting_count    bigint,
    tallies          text,
    last_granted_at  bigint
);
