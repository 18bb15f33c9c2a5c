-- What was said on recordings, where somebody asked to have it written down? One row for each such recording, deleted with it.
-- The text is in no topic, so that nothing of it stays. Times are of the database's clock; nobody else works on a row before
-- `due_at`. Companies take turns (`recording_turns`).
CREATE TABLE {work}.transcriptions (
    recording_id  uuid         NOT NULL PRIMARY KEY REFERENCES {work}.recordings (id) ON DELETE CASCADE,
    company_id    bigint       NOT NULL,
    state         text         NOT NULL DEFAULT 'pending',
    attempts      integer      NOT NULL DEFAULT 0,
    due_at        timestamptz  NOT NULL DEFAULT clock_timestamp(),
    asked_at      timestamptz  NOT NULL DEFAULT clock_timestamp(),
    text          text,
    reason        text
);
CREATE INDEX transcriptions_pending_of ON {work}.transcriptions (company_id, due_at, recording_id) WHERE state = 'pending';
