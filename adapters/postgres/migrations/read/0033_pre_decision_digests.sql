-- Which record of the log does a fact come from? The digest of its decision, which the next decision repeats as `prev`.
--
-- Null in rows that were projected before; a rebuild fills them where the log still holds the decision.
ALTER TABLE {read}.history ADD COLUMN digest bytea;

-- A type of its own: a projector of the release before still writes rows without it.
CREATE TYPE {read}.digested_history_row AS (
    topic        text,
    partition    integer,
    sequence     bigint,
    ordinal      integer,
    at           bigint,
    type         text,
    company_id   bigint,
    contact_key  text,
    lead_id      bigint,
    call_id      bigint,
    data         text,
    digest       bytea
);
