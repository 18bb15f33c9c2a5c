-- What is used of a record's caps, by period? As the account counts it; empty where the record has no caps.
ALTER TABLE {read}.slots ADD COLUMN tallies jsonb NOT NULL DEFAULT '{}';

-- A type of its own: a projector of the release before still writes rows without tallies.
CREATE TYPE {read}.tallied_slots_row AS (
    company_id     bigint,
    resource       text,
    version        bigint,
    partition      integer,
    sequence       bigint,
    in_use         bigint,
    waiting_count  bigint,
    tallies        text
);
