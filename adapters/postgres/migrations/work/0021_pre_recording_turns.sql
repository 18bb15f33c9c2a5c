-- When was a recording of a company last fetched, or deleted? Companies take turns. By the database's clock.
CREATE TABLE {work}.recording_turns (
    company_id  bigint       NOT NULL,
    state       text         NOT NULL,
    taken_at    timestamptz  NOT NULL,
    PRIMARY KEY (company_id, state)
);
CREATE INDEX recordings_owed_of ON {work}.recordings (company_id, due_at, id) WHERE state = 'owed';
CREATE INDEX recordings_deleting_of ON {work}.recordings (company_id, due_at, id) WHERE state = 'deleting';
