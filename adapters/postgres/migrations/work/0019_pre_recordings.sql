-- Which recordings of calls are there? A row is written before the report that names the recording is appended: it is owed until
-- its file is stored, or given up. `recording_url` names it at its vendor, as the call does; the file is named by company and
-- `id`, which say nothing of the person. A deleted one is remembered for some days: a vendor may report it again. Times are of
-- the database's clock; nobody else works on a row before `due_at`.
CREATE TABLE {work}.recordings (
    id                         uuid         NOT NULL DEFAULT gen_random_uuid() PRIMARY KEY,
    company_id                 bigint       NOT NULL,
    provider_configuration_id  bigint       NOT NULL,
    contact_key                text         NOT NULL,
    call_id                    bigint,
    recording_url              text         NOT NULL,
    state                      text         NOT NULL DEFAULT 'owed',
    attempts                   integer      NOT NULL DEFAULT 0,
    due_at                     timestamptz  NOT NULL DEFAULT clock_timestamp(),
    reason                     text,
    size                       bigint       NOT NULL DEFAULT 0,
    media_type                 text         NOT NULL DEFAULT '',
    owed_at                    timestamptz  NOT NULL DEFAULT clock_timestamp(),
    deleted_at                 timestamptz,
    UNIQUE (company_id, recording_url)
);
CREATE INDEX recordings_owed ON {work}.recordings (due_at) WHERE state = 'owed';
CREATE INDEX recordings_deleting ON {work}.recordings (due_at) WHERE state = 'deleting';
CREATE INDEX recordings_by_age ON {work}.recordings (owed_at) WHERE state IN ('owed', 'stored', 'failed');
CREATE INDEX recordings_deleted ON {work}.recordings (deleted_at) WHERE state = 'deleted';
