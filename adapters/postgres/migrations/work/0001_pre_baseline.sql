-- Which tables do processes work with that no topic holds? Claims, deliveries, sessions, jobs, recordings.
--
-- Unlike the schema of the projection, what is lost here is not built again.

-- 1. The deployment

-- Which deployment is this the database of? The same identity as on `accounts.rules`; every process compares the two.
CREATE TABLE {work}.deployment (
    one          boolean      NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    id           text         NOT NULL,
    identity     text         NOT NULL,  -- the JSON of schemas/deployment.py
    recorded_at  timestamptz  NOT NULL DEFAULT now()
);

-- Since when does this schema exist? A command from before may have been acted on under claims that were lost with the last.
CREATE TABLE {work}.incarnation (
    one      boolean      NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    id       uuid         NOT NULL,
    born_at  timestamptz  NOT NULL
);

-- The schema begins with its tables, before any process of this deployment works: on the first day nothing is older.
INSERT INTO {work}.incarnation (id, born_at) VALUES (gen_random_uuid(), now());

-- Which processes carry out commands, on which channels, by which providers? Each renews its rows; times are the database's.
--
-- `circuits` are those of the channel that are not closed, as the gateway said when it renewed its row; null: none. Their
-- seconds count from `renewed_at`.
CREATE TABLE {work}.gateways (
    process     text         NOT NULL,
    channel     text         NOT NULL,
    provider    text         NOT NULL,
    renewed_at  timestamptz  NOT NULL,
    stopped_at  timestamptz,
    circuits    jsonb,
    rules_read  jsonb,
    PRIMARY KEY (process, channel)
);

-- Which Idempotency-Keys are in use, for which body, and which request was made of it? Kept 24 h.
--
-- `answer` is what the first request under the key was answered; null until it was.
CREATE TABLE {work}.idempotency_keys (
    company_id  bigint       NOT NULL,
    key         text         NOT NULL,
    digest      text         NOT NULL,
    request_id  text         NOT NULL,
    created_at  timestamptz  NOT NULL,
    answer      bytea,
    PRIMARY KEY (company_id, key)
);
CREATE INDEX idempotency_keys_created ON {work}.idempotency_keys USING brin (created_at);

-- When was a key of a person used last? To a minute, by the database's clock.
CREATE TABLE {work}.key_uses (
    company_id    bigint       NOT NULL,
    key_id        bigint       NOT NULL,
    last_used_at  timestamptz  NOT NULL,
    PRIMARY KEY (company_id, key_id)
) WITH (fillfactor = 70);

-- 2. Commands: what do gateways carry out?

-- Which commands did a gateway take on? A command is acted on by whoever inserted its row, and by nobody else.
--
-- claimed: the provider may or may not have been asked. sent: it was, the outcome is to come. done: the outcome is known.
-- unknown: the gateway fell between asking and knowing. dropped: fence or `not_after`, nobody was reached.
--
-- A claim runs out unless its claimant renews it. `claim_id` names one attempt to claim, so that a claim whose answer was lost
-- can be asked again. `outcome` is the request for `contacts.requests` as it was recorded; empty where the provider took the
-- order and the outcome comes another way.
CREATE TABLE {work}.deliveries (
    command_id    text         NOT NULL PRIMARY KEY,
    company_id    bigint       NOT NULL,
    channel       text         NOT NULL,
    incarnation   uuid         NOT NULL,
    state         text         NOT NULL DEFAULT 'claimed'
                  CHECK (state IN ('claimed', 'sent', 'done', 'unknown', 'dropped')),
    provider      text,
    provider_ref  text,
    claimed_at    timestamptz  NOT NULL,
    updated_at    timestamptz  NOT NULL,
    claimant      text         NOT NULL,
    claim_id      text         NOT NULL,
    taken_over    boolean      NOT NULL DEFAULT false,
    leased_until  timestamptz  NOT NULL,
    outcome       bytea,
    posted_at     timestamptz
) WITH (fillfactor = 70);  -- claimed, recorded, posted: three versions of each row
CREATE INDEX deliveries_reference ON {work}.deliveries (provider, provider_ref) WHERE provider_ref IS NOT NULL;
CREATE INDEX deliveries_leased ON {work}.deliveries (claimant) WHERE posted_at IS NULL;
-- Which claims are over their time? A B-tree finds the oldest at once; rows that fill freed space make a BRIN index find all.
CREATE INDEX deliveries_by_age ON {work}.deliveries (claimed_at);

-- Before which offset of a commands partition is everything done?
--
-- `epoch` and `sequence` are the highest of the decisions that emitted it; `refused` counts commands whose decision was lower
-- than that of one before them.
CREATE TABLE {work}.delivery_progress (
    topic        text     NOT NULL,
    partition    integer  NOT NULL,
    topic_id     text     NOT NULL,
    next_offset  bigint   NOT NULL,
    epoch        bigint   NOT NULL,
    sequence     bigint   NOT NULL,
    refused      bigint   NOT NULL,
    PRIMARY KEY (topic, partition)
);

-- What was said to and by a provider about a command.
CREATE TABLE {work}.send_log (
    id          bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    command_id  text         NOT NULL,
    company_id  bigint       NOT NULL,
    at          timestamptz  NOT NULL,
    event       text         NOT NULL,
    detail      jsonb        NOT NULL
);
CREATE INDEX send_log_command ON {work}.send_log (company_id, command_id, id);
CREATE INDEX send_log_at ON {work}.send_log USING brin (at);

-- Which attempts to post outgoing webhooks were made? One row each, by the gateway that made it; kept for 30 days.
CREATE TABLE {work}.webhook_logs (
    id                      bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id              bigint       NOT NULL,
    created_at              timestamptz  NOT NULL,
    outgoing_webhook_id     bigint       NOT NULL,
    webhook_manual_fire_id  bigint,
    lead_id                 bigint,
    call_id                 bigint,
    step_id                 text         NOT NULL,
    command_id              text         NOT NULL,
    attempt                 integer      NOT NULL,
    method                  text         NOT NULL,
    host                    text         NOT NULL,
    status                  integer,
    milliseconds            integer      NOT NULL,
    accepted                boolean      NOT NULL,
    detail                  text         NOT NULL
);
CREATE INDEX webhook_logs_listed ON {work}.webhook_logs (company_id, created_at, id);
CREATE INDEX webhook_logs_by_id ON {work}.webhook_logs (company_id, id);
CREATE INDEX webhook_logs_of_webhook ON {work}.webhook_logs (company_id, outgoing_webhook_id, created_at, id);
CREATE INDEX webhook_logs_of_lead ON {work}.webhook_logs (company_id, lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX webhook_logs_of_call ON {work}.webhook_logs (company_id, call_id) WHERE call_id IS NOT NULL;
CREATE INDEX webhook_logs_of_fire ON {work}.webhook_logs (company_id, webhook_manual_fire_id, id)
    WHERE webhook_manual_fire_id IS NOT NULL;
CREATE INDEX webhook_logs_created ON {work}.webhook_logs USING brin (created_at);  -- for retention

-- 3. Providers

-- Which orders were given to which provider configuration? Written before the provider is asked, so that after a crash, and in
-- any process, a callback or a look-up finds the command by its id. `command` is the command as JSON; `facts` are what the
-- provider said about it, the newest of each name; `outcome` is what came of it, as JSON. Times are of the database's clock.
CREATE TABLE {work}.provider_orders (
    command_id                 text         NOT NULL PRIMARY KEY,
    company_id                 bigint       NOT NULL,
    provider_configuration_id  bigint       NOT NULL,
    channel                    text         NOT NULL,
    command                    bytea        NOT NULL,
    provider_ref               text,
    facts                      jsonb        NOT NULL DEFAULT '{}',
    asked_at                   timestamptz  NOT NULL DEFAULT clock_timestamp(),
    check_at                   timestamptz  NOT NULL,
    checks                     integer      NOT NULL DEFAULT 0,
    outcome                    bytea,
    ended_at                   timestamptz
) WITH (fillfactor = 70);  -- asked, placed, reported, ended: several versions of each row
CREATE INDEX provider_orders_open ON {work}.provider_orders (channel, check_at) WHERE ended_at IS NULL;
CREATE INDEX provider_orders_reference ON {work}.provider_orders (provider_configuration_id, asked_at)
    WHERE provider_ref IS NOT NULL;
CREATE INDEX provider_orders_asked ON {work}.provider_orders USING brin (asked_at);

-- What was given to the sandbox? It has no vendor that remembers, and goes on where its gateway ends. `given_at` is in domain
-- time: milliseconds since 1970.
CREATE TABLE {work}.sandbox_orders (
    command_id  text    NOT NULL PRIMARY KEY,
    given_at    bigint  NOT NULL
);
CREATE INDEX sandbox_orders_given ON {work}.sandbox_orders (given_at);  -- for retention

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
CREATE INDEX provider_order_parts_alike ON {work}.provider_order_parts
    (provider_configuration_id, lower(ltrim(reference, '0')));  -- a receipt may spell a reference in another way
CREATE INDEX provider_order_parts_placed ON {work}.provider_order_parts USING brin (placed_at);

-- Which gateway listens to the vendor of which provider configuration, of those that send us nothing? Its lease runs on the
-- database's clock.
CREATE TABLE {work}.stream_leases (
    provider_configuration_id  bigint       NOT NULL PRIMARY KEY,
    holder                     text         NOT NULL,
    held_until                 timestamptz  NOT NULL
);

-- 4. Recordings

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
CREATE INDEX recordings_owed_of ON {work}.recordings (company_id, due_at, id) WHERE state = 'owed';
CREATE INDEX recordings_deleting_of ON {work}.recordings (company_id, due_at, id) WHERE state = 'deleting';

-- When was a recording of a company last fetched, or deleted? Companies take turns. By the database's clock.
CREATE TABLE {work}.recording_turns (
    company_id  bigint       NOT NULL,
    state       text         NOT NULL,
    taken_at    timestamptz  NOT NULL,
    PRIMARY KEY (company_id, state)
);

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

-- 5. Subscriptions: which events are delivered?

-- Which events are to be delivered to which subscriptions, and how far is each? Times are the database's.
--
-- `id` is what lists are read by, `webhook_id` what the receiver gets: a hash of subscription, decision and event, so that an
-- event that is read twice is stored once. `tries` counts since the last start, `attempts` all that were made.
CREATE TABLE {work}.subscription_deliveries (
    id               bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id       text         NOT NULL UNIQUE,
    company_id       bigint       NOT NULL,
    subscription_id  bigint       NOT NULL,
    event            text         NOT NULL,
    lead_id          bigint,
    call_id          bigint,
    occurred_at      timestamptz  NOT NULL,
    created_at       timestamptz  NOT NULL DEFAULT clock_timestamp(),
    body             text         NOT NULL,
    state            text         NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts         integer      NOT NULL DEFAULT 0,
    tries            integer      NOT NULL DEFAULT 0,
    failing_since    timestamptz,
    next_attempt_at  timestamptz  NOT NULL DEFAULT clock_timestamp(),
    last_status      integer,
    last_detail      text,
    ended_at         timestamptz,
    claimant         text,
    leased_until     timestamptz
) WITH (fillfactor = 70);  -- stored, claimed, ended: three versions of each row
CREATE INDEX subscription_deliveries_due ON {work}.subscription_deliveries (subscription_id, next_attempt_at, id)
    WHERE state = 'waiting';
CREATE INDEX subscription_deliveries_of_lead ON {work}.subscription_deliveries (subscription_id, lead_id, id)
    WHERE state = 'waiting';
CREATE INDEX subscription_deliveries_failed ON {work}.subscription_deliveries (subscription_id) WHERE state = 'failed';
CREATE INDEX subscription_deliveries_listed ON {work}.subscription_deliveries (company_id, subscription_id, id);
CREATE INDEX subscription_deliveries_created ON {work}.subscription_deliveries USING brin (created_at);

-- One row per attempt.
CREATE TABLE {work}.subscription_attempts (
    delivery_id   bigint       NOT NULL,
    number        integer      NOT NULL,
    at            timestamptz  NOT NULL DEFAULT clock_timestamp(),
    milliseconds  integer      NOT NULL,
    status        integer,
    detail        text         NOT NULL,
    PRIMARY KEY (delivery_id, number)
);
CREATE INDEX subscription_attempts_at ON {work}.subscription_attempts USING brin (at);

-- How does the receiver of a subscription do? A row from its first attempt on.
CREATE TABLE {work}.subscription_standings (
    subscription_id    bigint       NOT NULL PRIMARY KEY,
    company_id         bigint       NOT NULL,
    last_delivered_at  timestamptz,
    failing_since      timestamptz,
    disabled_at        timestamptz,
    disabled_reason    text,
    dropped_count      bigint       NOT NULL DEFAULT 0,
    dropped_since      timestamptz
);

-- Before which offset of a decisions partition is every event stored?
CREATE TABLE {work}.subscription_progress (
    topic        text     NOT NULL,
    partition    integer  NOT NULL,
    topic_id     text     NOT NULL,
    next_offset  bigint   NOT NULL,
    last_offset  bigint   NOT NULL,  -- of the last record that was read, -1 for none; its digest tells it from another
    last_digest  text     NOT NULL,
    PRIMARY KEY (topic, partition)
);

-- 6. People: who is signed in? Times are the database's.

-- Of a token only the SHA-256 is stored. `credentials` is a digest of what the user signed in with: a session of an earlier
-- password is none. `pending_salt` is that of a second factor which the user has begun to set up.
CREATE TABLE {work}.sessions (
    id            text         PRIMARY KEY,
    token_sha256  text         NOT NULL,
    company_id    bigint       NOT NULL,
    user_id       bigint       NOT NULL,
    credentials   text         NOT NULL,
    created_at    timestamptz  NOT NULL DEFAULT clock_timestamp(),
    seen_at       timestamptz  NOT NULL DEFAULT clock_timestamp(),
    pending_salt  text
) WITH (fillfactor = 70);  -- seen_at moves with use
CREATE INDEX sessions_of_user ON {work}.sessions (company_id, user_id, created_at);
CREATE INDEX sessions_seen ON {work}.sessions (seen_at);

-- How often was a sign-in tried in a row, of a user or from an address? `subject` is a keyed digest of either.
CREATE TABLE {work}.sign_in_attempts (
    subject   text         PRIMARY KEY,
    attempts  integer      NOT NULL,
    last_at   timestamptz  NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX sign_in_attempts_last ON {work}.sign_in_attempts (last_at);

-- Which code of a second factor was used last? A code is good once. `step` is its number in time (RFC 6238).
CREATE TABLE {work}.used_codes (
    company_id  bigint       NOT NULL,
    user_id     bigint       NOT NULL,
    step        bigint       NOT NULL,
    PRIMARY KEY (company_id, user_id)
);

-- Which pages of agents are open? A row per agent from the first heartbeat until the agent is reported silent.
--
-- A process that reports a silent agent holds the row until `leased_until`, so that one does.
CREATE TABLE {work}.agent_heartbeats (
    agent_id      bigint       NOT NULL PRIMARY KEY,
    company_id    bigint       NOT NULL,
    heard_at      timestamptz  NOT NULL DEFAULT clock_timestamp(),
    leased_until  timestamptz
) WITH (fillfactor = 70);  -- rewritten some times a minute
CREATE INDEX agent_heartbeats_heard ON {work}.agent_heartbeats (heard_at);

-- 7. Operators

-- Who operates the whole deployment over HTTP, and what did they change? Times are the database's.
--
-- The keys belong to no company, so no account decides about them, and no decision depends on them: they are no part of the log.
CREATE TABLE {work}.operator_keys (
    id                  bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_key          text         NOT NULL UNIQUE,
    private_key_sha256  text         NOT NULL,
    name                text         NOT NULL,
    created_at          timestamptz  NOT NULL DEFAULT clock_timestamp(),
    revoked_at          timestamptz
);

-- One row per change, stored before it is made; `outcome` is null where the process ended before it was known.
CREATE TABLE {work}.operator_audits (
    id               bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at               timestamptz  NOT NULL DEFAULT clock_timestamp(),
    operator_key_id  bigint,
    actor            text         NOT NULL,
    address          text         NOT NULL,
    request_id       text,
    action           text         NOT NULL,
    subject          text         NOT NULL,
    detail           text         NOT NULL,
    outcome          text
);

-- Which verification or rebuild of the projection did an operator ask for, and what came of it? A projector carries it out.
-- Times are of the database's clock. The newest jobs stay; see adapters/postgres/projection_jobs.py.
CREATE TABLE {work}.projection_jobs (
    id               bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind             text         NOT NULL,
    accept           boolean      NOT NULL,
    operator_key_id  bigint       NOT NULL,
    asked_by         text         NOT NULL,
    asked_at         timestamptz  NOT NULL DEFAULT clock_timestamp(),
    started_at       timestamptz,
    begun_at         timestamptz,  -- since then the second schema is this job's: the next attempt resumes it
    swapped_at       timestamptz,  -- set in the transaction that swaps the schemas
    canceled_at      timestamptz,
    ended_at         timestamptz,
    attempts         integer      NOT NULL DEFAULT 0,
    due_at           timestamptz  NOT NULL DEFAULT clock_timestamp(),
    leased_by        text,
    leased_until     timestamptz,
    stage            text,
    stage_done       bigint       NOT NULL DEFAULT 0,
    stage_total      bigint       NOT NULL DEFAULT 0,
    problem          text,         -- why the last attempt ended
    failure          text,
    result           jsonb
);
-- One job at a time.
CREATE UNIQUE INDEX projection_jobs_open ON {work}.projection_jobs ((ended_at IS NULL)) WHERE ended_at IS NULL;

-- 8. Bulk jobs, imports and views of leads

-- Which bulk jobs change many leads? The leads of a job are fixed when it is made; each row says what came of its request.
CREATE TABLE {work}.lead_bulk_jobs (
    id                           bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id                   bigint       NOT NULL,
    request_id                   text         NOT NULL,
    created_at                   timestamptz  NOT NULL,
    description                  text,
    action                       text         NOT NULL,
    move_to_another_schedule_id  bigint,
    filter                       jsonb        NOT NULL,
    key_id                       bigint,
    user_email                   text,
    address                      text         NOT NULL,
    actor                        text,
    leads_count                  integer,     -- null: its leads are selected once the imports that it awaits have ended
    leads_max                    integer      NOT NULL,
    selects                      jsonb,       -- the filter of leads as it was read, where they are to be selected
    awaited_imports              bigint[]     NOT NULL DEFAULT '{}',
    done_count                   integer      NOT NULL DEFAULT 0,
    refused_count                integer      NOT NULL DEFAULT 0,
    unknown_count                integer      NOT NULL DEFAULT 0,
    started_at                   timestamptz,
    canceled_at                  timestamptz,
    ended_at                     timestamptz,
    failure                      text,
    leased_by                    text,
    leased_until                 timestamptz,  -- of the database's clock, as `advanced_at`
    advanced_at                  timestamptz,
    UNIQUE (company_id, request_id)
);
CREATE INDEX lead_bulk_jobs_by_id ON {work}.lead_bulk_jobs (company_id, id);
CREATE INDEX lead_bulk_jobs_open ON {work}.lead_bulk_jobs (company_id, id) WHERE ended_at IS NULL;
CREATE TABLE {work}.lead_bulk_results (
    job_id       bigint       NOT NULL REFERENCES {work}.lead_bulk_jobs (id) ON DELETE CASCADE,
    lead_id      bigint       NOT NULL,
    state        text         NOT NULL DEFAULT 'waiting',
    contact_key  text,
    sent_at      timestamptz,
    code         text,
    detail       text,
    PRIMARY KEY (job_id, lead_id)
) WITH (fillfactor = 70);
CREATE INDEX lead_bulk_results_open ON {work}.lead_bulk_results (job_id, lead_id) WHERE state IN ('waiting', 'sent');

-- Which files of leads were uploaded, and how far is each import? A file is stored until its last line is sent.
CREATE TABLE {work}.lead_imports (
    id              bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id      bigint       NOT NULL,
    digest          text         NOT NULL,  -- of the file, how it is read, the mapping and the lead token
    number          integer      NOT NULL,  -- 1, and one more each time that the same is imported again on purpose
    dry_run         boolean      NOT NULL,
    created_at      timestamptz  NOT NULL,
    lead_token      text         NOT NULL,
    offer_id        bigint,
    schedule_id     bigint,
    format          text         NOT NULL,
    encoding        text         NOT NULL,
    mapping         jsonb        NOT NULL,
    columns         jsonb        NOT NULL,
    consent         jsonb        NOT NULL DEFAULT '{}',  -- text and URL of the form of all its leads
    lead_import_id  bigint,
    file_bytes      integer      NOT NULL,
    file            bytea,
    key_id          bigint,
    user_email      text,
    address         text         NOT NULL,
    line            integer      NOT NULL DEFAULT 0,
    last_line       integer,
    good_count      integer      NOT NULL DEFAULT 0,
    refused_count   integer      NOT NULL DEFAULT 0,
    warned_count    integer      NOT NULL DEFAULT 0,
    decided_count   integer      NOT NULL DEFAULT 0,
    rejected_count  integer      NOT NULL DEFAULT 0,
    unknown_count   integer      NOT NULL DEFAULT 0,
    inbox_offset    bigint,
    dead_offset     bigint,      -- of the first dead letter that was not looked at
    started_at      timestamptz,
    sent_at         timestamptz,  -- when nothing more was to be sent
    canceled_at     timestamptz,
    ended_at        timestamptz,
    failure         text,
    leased_by       text,
    leased_until    timestamptz,  -- of the database's clock, as `advanced_at`
    advanced_at     timestamptz
);
CREATE UNIQUE INDEX lead_imports_once ON {work}.lead_imports (company_id, digest, number) WHERE NOT dry_run;
CREATE INDEX lead_imports_by_id ON {work}.lead_imports (company_id, id);
CREATE INDEX lead_imports_open ON {work}.lead_imports (id) WHERE ended_at IS NULL;
CREATE TABLE {work}.lead_import_errors (
    id       bigint   GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id   bigint   NOT NULL REFERENCES {work}.lead_imports (id) ON DELETE CASCADE,
    line     integer  NOT NULL,
    severity text     NOT NULL,  -- error: the line became no lead; warning: it was sent
    field    text     NOT NULL,
    problem  text     NOT NULL
);
CREATE TABLE {work}.lead_import_lines (  -- lines that were sent and are not known to be decided
    job_id   bigint       NOT NULL REFERENCES {work}.lead_imports (id) ON DELETE CASCADE,
    line     integer      NOT NULL,
    sent_at  timestamptz  NOT NULL,
    PRIMARY KEY (job_id, line)
);
CREATE INDEX lead_import_errors_listed ON {work}.lead_import_errors (job_id, id);

-- Which views of the list of leads has a user saved? `query` is parameter -> text, as the address of the list has them.
CREATE TABLE {work}.lead_views (
    id          bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id  bigint       NOT NULL,
    user_id     bigint       NOT NULL,
    name        text         NOT NULL,
    query       jsonb        NOT NULL,
    saved_at    timestamptz  NOT NULL,
    UNIQUE (company_id, user_id, name)
);
