-- Which tables does the projection write, and which indexes, views and functions are they read by?
--
-- Everything here follows from the topics: a dropped schema is built again from them.
-- No foreign keys: the rows of a call, a contact and a schedule come from other partitions, earlier or later.
-- `partition` and `sequence` of a row name the decision that wrote it.

-- 1. How far is the projection?

-- One row per partition of each decisions topic, moved on in the transaction of its rows.
--
-- `epoch` counts the owners: who moves a position names the epoch that it took, so an earlier owner moves nothing any more.
-- `topic_id` is the id that the broker gave the topic: offsets of a topic that was created again mean nothing here.
CREATE TABLE {read}.positions (
    topic        text        NOT NULL,
    partition    integer     NOT NULL,
    topic_id     text        NOT NULL,
    epoch        bigint      NOT NULL DEFAULT 1,
    next_offset  bigint      NOT NULL DEFAULT 0,
    sequence     bigint      NOT NULL DEFAULT 0,
    decided_at   timestamptz,
    last_digest  text        NOT NULL DEFAULT '',  -- of the record before next_offset: tells another topic with as many
    PRIMARY KEY (topic, partition)
) WITH (fillfactor = 50);  -- updated with every batch: room for the new version on the same page

-- Decisions that could not be shown, and why: the partition went on without them.
CREATE TABLE {read}.faults (
    topic      text        NOT NULL,
    partition  integer     NOT NULL,
    "offset"   bigint      NOT NULL,
    sequence   bigint,
    error      text        NOT NULL,
    PRIMARY KEY (topic, partition, "offset")
);

-- What came of a request? Kept 24 h, for whoever waits for it or asks again.
CREATE TABLE {read}.request_results (
    request_id  text         NOT NULL PRIMARY KEY,
    company_id  bigint,
    verdict     text         NOT NULL,
    answer      jsonb        NOT NULL,
    decided_at  timestamptz  NOT NULL
);
CREATE INDEX request_results_decided ON {read}.request_results USING brin (decided_at);

-- 2. Leads: what does one look like now?

-- What reports add up stands first: a row is read only as far as its last column that is asked for.
CREATE TABLE {read}.leads (
    company_id                bigint            NOT NULL,
    id                        bigint            NOT NULL,
    created_at                timestamptz       NOT NULL,
    outbound_calls_count      bigint            NOT NULL,
    sms_count                 bigint            NOT NULL,
    emails_count              bigint            NOT NULL,
    revenue                   numeric           NOT NULL,
    payout                    numeric           NOT NULL,
    cost                      numeric           NOT NULL,
    is_live                   boolean           NOT NULL,
    opt_out                   boolean           NOT NULL,
    connected                 boolean           NOT NULL,
    buyer_converted           boolean           NOT NULL,
    offer_converted           boolean           NOT NULL,
    deleted_at                timestamptz,
    first_action_at           timestamptz,
    offer_id                  bigint,
    schedule_id               bigint,
    traffic_source_id         bigint,
    buyer_id                  bigint,
    status                    text              NOT NULL,
    uuid                      uuid              NOT NULL,
    contact_key               text              NOT NULL,
    version                   bigint            NOT NULL,
    partition                 integer           NOT NULL,
    sequence                  bigint            NOT NULL,
    updated_at                timestamptz       NOT NULL,
    status_wait               text,
    end_status                text,
    schedule_version          bigint,
    caller_id                 text,
    email                     text,
    name                      text,
    full_name                 text,
    external_record_id        text,
    contact_field_type        text,
    country                   text,
    state_province            text,
    zip_postal_code           text,
    time_zone                 text,
    sub_id                    text,
    remote_ip                 text,
    columns                   jsonb             NOT NULL,
    data                      jsonb             NOT NULL,
    zones                     text[]            NOT NULL,
    zone_source               text              NOT NULL,
    zone_deciding             text,
    states                    text[]            NOT NULL,
    lead_priority             double precision  NOT NULL,
    urgency_class             integer           NOT NULL,
    enrolment                 bigint            NOT NULL,
    step                      text,
    ending                    boolean           NOT NULL,
    step_attempts             bigint            NOT NULL,
    attempts                  bigint            NOT NULL,
    attempts_max              bigint,
    flight                    jsonb,
    next_action_at            timestamptz,
    planned_at                timestamptz,
    requested_next_action_at  timestamptz,
    expires_at                timestamptz,
    callback_at               timestamptz,
    wake_at                   timestamptz,
    reasons                   text[]            NOT NULL,
    blocked                   boolean           NOT NULL,
    svc_number                text,
    sms_number                text,
    attempted_call_id         bigint,
    connected_call_id         bigint,
    first_queued_at           timestamptz,
    last_action_at            timestamptz,
    last_call_at              timestamptz,
    schedule_ended_at         timestamptz,
    schedule_trigger_type     text,
    failed_channels           text[]            NOT NULL,
    slot_queue                text,  -- the queue for slots that it waits in, or asks from (table slot_queues)
    rest                      jsonb             NOT NULL,  -- what else the engine knows of it: enough to go on from here
    PRIMARY KEY (company_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);  -- every change of a lead leaves a dead row behind

-- Newest first, alone or behind the filter that cuts deepest; the others are checked on the rows found. What few leads are
-- (converted, opted out, ...) has an index of these alone, or the newest page would be looked for among all the others.
CREATE INDEX leads_uuid ON {read}.leads (uuid);
CREATE INDEX leads_created ON {read}.leads (company_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX leads_status ON {read}.leads (company_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX leads_status_wait ON {read}.leads (company_id, status_wait, created_at, id)
    WHERE deleted_at IS NULL AND status_wait IS NOT NULL;
CREATE INDEX leads_schedule ON {read}.leads (company_id, schedule_id, created_at, id)
    WHERE deleted_at IS NULL AND schedule_id IS NOT NULL;
CREATE INDEX leads_offer ON {read}.leads (company_id, offer_id, created_at, id)
    WHERE deleted_at IS NULL AND offer_id IS NOT NULL;
CREATE INDEX leads_buyer ON {read}.leads (company_id, buyer_id, created_at, id)
    WHERE deleted_at IS NULL AND buyer_id IS NOT NULL;
CREATE INDEX leads_traffic_source ON {read}.leads (company_id, traffic_source_id, created_at, id)
    WHERE deleted_at IS NULL AND traffic_source_id IS NOT NULL;
CREATE INDEX leads_next_action ON {read}.leads (company_id, next_action_at, id) WHERE deleted_at IS NULL;
CREATE INDEX leads_pending ON {read}.leads (company_id, created_at, id)
    WHERE deleted_at IS NULL AND status IN ('scheduled', 'waiting') AND next_action_at IS NOT NULL;
CREATE INDEX leads_slot_queue ON {read}.leads (company_id, slot_queue, schedule_id, step) WHERE slot_queue IS NOT NULL;
CREATE INDEX leads_converted ON {read}.leads (company_id, created_at, id) INCLUDE (buyer_converted, offer_converted)
    WHERE deleted_at IS NULL AND (buyer_converted OR offer_converted);
CREATE INDEX leads_opted_out ON {read}.leads (company_id, created_at, id) WHERE deleted_at IS NULL AND opt_out;
CREATE INDEX leads_completed ON {read}.leads (company_id, least(outbound_calls_count, 2), created_at, id)
    INCLUDE (outbound_calls_count)
    WHERE deleted_at IS NULL AND status IN ('completed', 'completed_attempted', 'completed_connected', 'completed_converted');
CREATE INDEX leads_contact ON {read}.leads (contact_key) WHERE deleted_at IS NULL;
CREATE INDEX leads_caller ON {read}.leads (company_id, caller_id) WHERE deleted_at IS NULL AND caller_id IS NOT NULL;
CREATE INDEX leads_email ON {read}.leads (company_id, lower(email)) WHERE deleted_at IS NULL AND email IS NOT NULL;
CREATE INDEX leads_external ON {read}.leads (company_id, external_record_id)
    WHERE deleted_at IS NULL AND external_record_id IS NOT NULL;
CREATE INDEX leads_import ON {read}.leads (company_id, ((rest ->> 'lead_import_id')::bigint), created_at, id)
    WHERE deleted_at IS NULL AND (rest ->> 'lead_import_id')::bigint IS NOT NULL;

-- To which leads is a call promised? Few at a time: an index for their list, and for one by its id.
CREATE INDEX leads_with_callback ON {read}.leads (company_id, id)
    WHERE deleted_at IS NULL AND callback_at IS NOT NULL;

-- How is a sorted list read in its order? An index for each column that lists are sorted by, where no filter's index serves.
--
-- What most rows share (an amount of 0, the usual priority) is not in the index: those rows stand together, newest first. A
-- row without a value comes last and needs no place either. Of equal rows the few that a page shows are sorted as they come.
CREATE INDEX leads_updated ON {read}.leads (company_id, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX leads_first_action ON {read}.leads (company_id, first_action_at)
    WHERE deleted_at IS NULL AND first_action_at IS NOT NULL;
CREATE INDEX leads_last_action ON {read}.leads (company_id, last_action_at)
    WHERE deleted_at IS NULL AND last_action_at IS NOT NULL;
CREATE INDEX leads_last_call ON {read}.leads (company_id, last_call_at) WHERE deleted_at IS NULL AND last_call_at IS NOT NULL;
CREATE INDEX leads_expires ON {read}.leads (company_id, expires_at) WHERE deleted_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX leads_revenue ON {read}.leads (company_id, revenue, created_at, id) WHERE deleted_at IS NULL AND revenue <> 0;
CREATE INDEX leads_payout ON {read}.leads (company_id, payout, created_at, id) WHERE deleted_at IS NULL AND payout <> 0;
CREATE INDEX leads_priority ON {read}.leads (company_id, lead_priority, created_at, id)
    WHERE deleted_at IS NULL AND lead_priority <> 100;

-- Without this the planner thinks that one lead of two hundred has any given value, and walks where it should look up.
CREATE STATISTICS {read}.leads_by_completed_calls ON (least(outbound_calls_count, 2)) FROM {read}.leads;

-- 3. Calls: what came of each?

-- The columns of the interface, those that follow from others as well, so that lists and reports filter by them as they
-- are. `impression_uuid` is that of the impression to which a call is attributed: text, as a site may give uuids of its own.
CREATE TABLE {read}.calls (
    company_id                        bigint            NOT NULL,
    id                                bigint            NOT NULL,
    created_at                        timestamptz       NOT NULL,
    revenue                           numeric           NOT NULL,
    payout                            numeric           NOT NULL,
    cost                              numeric           NOT NULL,
    talk_duration                     bigint            NOT NULL,
    total_duration                    bigint            NOT NULL,
    attempt_number                    bigint            NOT NULL,
    buyer_converted                   boolean           NOT NULL,
    offer_converted                   boolean           NOT NULL,
    no_buyer                          boolean           NOT NULL,
    in_progress                       boolean           NOT NULL,
    deleted_at                        timestamptz,
    offer_id                          bigint,
    schedule_id                       bigint,
    traffic_source_id                 bigint,
    buyer_id                          bigint,
    buyer_group_id                    bigint,
    call_disposition_id               bigint,
    status                            text              NOT NULL,
    direction                         text              NOT NULL,
    origin                            text              NOT NULL,
    outcome                           text,
    state                             text,
    schedule_action_id                text,
    time_zone                         text,
    uuid                              uuid              NOT NULL,
    contact_key                       text              NOT NULL,
    version                           bigint            NOT NULL,
    partition                         integer           NOT NULL,
    sequence                          bigint            NOT NULL,
    updated_at                        timestamptz       NOT NULL,
    user_updated_at                   timestamptz,
    lead_id                           bigint,
    contact_id                        bigint            NOT NULL,
    number_id                         bigint,
    command_id                        text,
    provider                          text,
    provider_sid                      text,
    sub_status                        text,
    answered_by                       text              NOT NULL,
    caller_number                     text,
    number_called                     text              NOT NULL,
    from_number                       text,
    country                           text,
    city                              text,
    zip                               text,
    token_values                      jsonb             NOT NULL,
    profit                            numeric           NOT NULL,
    buyer_conversion_duplicated_call  boolean           NOT NULL,
    offer_conversion_duplicated_call  boolean           NOT NULL,
    buyer_repeat_caller               boolean           NOT NULL,
    offer_repeat_caller               boolean           NOT NULL,
    placed_on_hold                    boolean           NOT NULL,
    hold_duration                     bigint            NOT NULL,
    ring_duration                     bigint            NOT NULL,
    initiated_at                      timestamptz,
    ringing_at                        timestamptz,
    answered_at                       timestamptz,
    buyer_answered_at                 timestamptz,
    ended_at                          timestamptz,
    hangup_cause                      text,
    hung_up_by                        text,
    detail                            text,
    has_recording                     boolean           NOT NULL,
    recording_url                     text,
    agent_call_disposition_notes      text,
    is_callback                       boolean           NOT NULL,
    contact_field_type                text,
    ring_pool_id                      bigint,
    provider_configuration_id         bigint,
    agent_id                          bigint,
    scheduled_callback_id             bigint,
    dial_tier                         integer,
    transcription_status              text,
    impression_uuid                   text,
    PRIMARY KEY (company_id, id)
);

-- As for leads. A column that nothing fills has an empty index: to find nothing, nothing is read.
CREATE INDEX calls_uuid ON {read}.calls (uuid);
CREATE INDEX calls_created ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_lead ON {read}.calls (company_id, lead_id);
CREATE INDEX calls_caller ON {read}.calls (company_id, caller_number, created_at) WHERE deleted_at IS NULL;
CREATE INDEX calls_in_progress ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND in_progress;
CREATE INDEX calls_status ON {read}.calls (company_id, status, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_ended ON {read}.calls (company_id, ended_at) WHERE deleted_at IS NULL AND ended_at IS NOT NULL;
CREATE INDEX calls_offer ON {read}.calls (company_id, offer_id, created_at, id)
    WHERE deleted_at IS NULL AND offer_id IS NOT NULL;
CREATE INDEX calls_schedule ON {read}.calls (company_id, schedule_id, created_at, id)
    WHERE deleted_at IS NULL AND schedule_id IS NOT NULL;
CREATE INDEX calls_traffic_source ON {read}.calls (company_id, traffic_source_id, created_at, id)
    WHERE deleted_at IS NULL AND traffic_source_id IS NOT NULL;
CREATE INDEX calls_buyer ON {read}.calls (company_id, buyer_id, created_at, id)
    WHERE deleted_at IS NULL AND buyer_id IS NOT NULL;
CREATE INDEX calls_buyer_group ON {read}.calls (company_id, buyer_group_id, created_at, id)
    WHERE deleted_at IS NULL AND buyer_group_id IS NOT NULL;
CREATE INDEX calls_company_number ON {read}.calls (company_id, number_id, created_at, id)
    WHERE deleted_at IS NULL AND number_id IS NOT NULL;
CREATE INDEX calls_contact ON {read}.calls (company_id, contact_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_ring_pool ON {read}.calls (company_id, ring_pool_id, created_at, id)
    WHERE deleted_at IS NULL AND ring_pool_id IS NOT NULL;
CREATE INDEX calls_provider ON {read}.calls (company_id, provider_configuration_id, created_at, id)
    WHERE deleted_at IS NULL AND provider_configuration_id IS NOT NULL;
CREATE INDEX calls_disposition ON {read}.calls (company_id, call_disposition_id, created_at, id)
    WHERE deleted_at IS NULL AND call_disposition_id IS NOT NULL;
CREATE INDEX calls_agent ON {read}.calls (company_id, agent_id, created_at, id)
    WHERE deleted_at IS NULL AND agent_id IS NOT NULL;
CREATE INDEX calls_of_impressions ON {read}.calls (company_id, impression_uuid)
    WHERE deleted_at IS NULL AND impression_uuid IS NOT NULL;
CREATE INDEX calls_converted ON {read}.calls (company_id, created_at, id) INCLUDE (buyer_converted, offer_converted)
    WHERE deleted_at IS NULL AND (buyer_converted OR offer_converted);
CREATE INDEX calls_duplicated ON {read}.calls (company_id, created_at, id)
    INCLUDE (buyer_conversion_duplicated_call, offer_conversion_duplicated_call)
    WHERE deleted_at IS NULL AND (buyer_conversion_duplicated_call OR offer_conversion_duplicated_call);
CREATE INDEX calls_repeated ON {read}.calls (company_id, created_at, id) INCLUDE (buyer_repeat_caller, offer_repeat_caller)
    WHERE deleted_at IS NULL AND (buyer_repeat_caller OR offer_repeat_caller);
CREATE INDEX calls_with_buyer ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND NOT no_buyer;
CREATE INDEX calls_held ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND placed_on_hold;
CREATE INDEX calls_recorded ON {read}.calls (company_id, created_at, id) WHERE deleted_at IS NULL AND has_recording;
CREATE INDEX calls_converting ON {read}.calls (company_id, lead_id, created_at) WHERE deleted_at IS NULL AND buyer_converted;
CREATE INDEX calls_disposed ON {read}.calls (company_id, lead_id, created_at)
    WHERE deleted_at IS NULL AND call_disposition_id IS NOT NULL;

-- For sorted lists, as for leads.
CREATE INDEX calls_total_duration ON {read}.calls (company_id, total_duration, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_attempt_number ON {read}.calls (company_id, attempt_number, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX calls_talk_duration ON {read}.calls (company_id, talk_duration, created_at, id)
    WHERE deleted_at IS NULL AND talk_duration <> 0;
CREATE INDEX calls_revenue ON {read}.calls (company_id, revenue, created_at, id) WHERE deleted_at IS NULL AND revenue <> 0;
CREATE INDEX calls_payout ON {read}.calls (company_id, payout, created_at, id) WHERE deleted_at IS NULL AND payout <> 0;

-- Where are the tokens of a large lead or call, of which a decision holds only the parts that changed? Put together in its row.
--
-- `owner` is the key of the lead or call (`lead/17`). A part is written like a row: a later decision of its partition wins,
-- between partitions the higher version. An empty part is one that the decisions removed.
CREATE TABLE {read}.token_parts (
    owner      text     NOT NULL,
    number     integer  NOT NULL,
    version    bigint   NOT NULL,
    partition  integer  NOT NULL,
    sequence   bigint   NOT NULL,
    tokens     jsonb    NOT NULL,
    PRIMARY KEY (owner, number)
);

-- 4. Contacts

-- What is true of a number or address itself? `attempts_count` is the length of its legal ledger, which stands in `rest`.
CREATE TABLE {read}.contacts (
    contact_key      text         NOT NULL PRIMARY KEY,
    company_id       bigint       NOT NULL,
    contact_id       bigint       NOT NULL,
    version          bigint       NOT NULL,
    partition        integer      NOT NULL,
    sequence         bigint       NOT NULL,
    lead_ids         jsonb        NOT NULL,
    opted_out_at     timestamptz,
    blocked_at       timestamptz,
    attempts_count   bigint       NOT NULL,
    last_attempt_at  timestamptz,
    last_call_at     timestamptz,
    disabled_until   jsonb        NOT NULL,
    moved            jsonb        NOT NULL,
    rest             jsonb        NOT NULL
);

-- Lists of contacts go by descending id.
CREATE INDEX contacts_id ON {read}.contacts (company_id, contact_id);
CREATE INDEX contacts_opted_out ON {read}.contacts (company_id, contact_id)
    WHERE opted_out_at IS NOT NULL OR rest ? 'opt_outs';
CREATE INDEX contacts_blocked ON {read}.contacts (company_id, contact_id) WHERE blocked_at IS NOT NULL;
CREATE INDEX contacts_suppressed ON {read}.contacts (company_id, contact_id) WHERE rest ? 'suppressed_at';
-- Which doubtful texts wait for somebody to read them? The newest unclear text of each contact that is held for one.
CREATE INDEX contacts_in_review ON {read}.contacts (company_id, contact_id) WHERE rest ? 'review_until';

-- Who is on which suppression list, from where, and until when?
CREATE TABLE {read}.suppressions (
    company_id   bigint       NOT NULL,
    list_id      bigint       NOT NULL,
    contact_key  text         NOT NULL,
    contact_id   bigint       NOT NULL,
    version      bigint       NOT NULL,
    partition    integer      NOT NULL,
    sequence     bigint       NOT NULL,
    created_at   timestamptz  NOT NULL,
    updated_at   timestamptz  NOT NULL,
    source       text,
    expires_at   timestamptz,
    PRIMARY KEY (company_id, list_id, contact_key)
);
CREATE INDEX suppressions_id ON {read}.suppressions (company_id, list_id, contact_id);

-- What did senders without a key bring for stored leads, which nobody has accepted or discarded yet?
CREATE TABLE {read}.kept_submissions (
    company_id            bigint       NOT NULL,
    id                    bigint       NOT NULL,
    lead_id               bigint       NOT NULL,
    contact_key           text         NOT NULL,
    version               bigint       NOT NULL,
    partition             integer      NOT NULL,
    sequence              bigint       NOT NULL,
    created_at            timestamptz  NOT NULL,
    email                 text,
    columns               jsonb        NOT NULL,
    data                  jsonb        NOT NULL,
    schedule_callback_at  timestamptz,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX kept_submissions_lead ON {read}.kept_submissions (company_id, lead_id);

-- How far has each partition of contacts come with an unblock contact job? A partition adds its row when it adopts the job.
CREATE TABLE {read}.unblock_sweeps (
    company_id         bigint   NOT NULL,
    job_id             bigint   NOT NULL,
    contact_partition  integer  NOT NULL,
    version            bigint   NOT NULL,
    partition          integer  NOT NULL,
    sequence           bigint   NOT NULL,
    unblock_count      bigint   NOT NULL,
    failed_count       bigint   NOT NULL,
    last_contact_id    bigint,
    last_unblocked_at  timestamptz,
    ended_at           timestamptz,
    canceled_at        timestamptz,
    PRIMARY KEY (company_id, job_id, contact_partition)
) WITH (fillfactor = 70);

-- 5. Accounts

-- What does a company manage? The newest version of each account record; deleted ones keep their last body.
CREATE TABLE {read}.records (
    company_id       bigint       NOT NULL,
    type             text         NOT NULL,
    id               bigint       NOT NULL,
    uuid             uuid         NOT NULL,
    version          bigint       NOT NULL,
    partition        integer      NOT NULL,
    sequence         bigint       NOT NULL,
    created_at       timestamptz  NOT NULL,
    updated_at       timestamptz  NOT NULL,
    user_updated_at  timestamptz,
    deleted_at       timestamptz,
    name             text,
    body             jsonb        NOT NULL,
    PRIMARY KEY (company_id, type, id)
);
CREATE INDEX records_uuid ON {read}.records (uuid);
CREATE INDEX records_created ON {read}.records (company_id, type, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX records_paused ON {read}.records (company_id, type, (coalesce((body->>'paused')::boolean, false)), created_at, id)
    WHERE deleted_at IS NULL;
CREATE INDEX records_external ON {read}.records (company_id, type, (body->>'external_record_id'))
    WHERE deleted_at IS NULL AND body ? 'external_record_id';

-- How many slots of a limited resource (`buyer_group/7`) are held, and how many contacts wait for one?
--
-- `tallies` is what is used of a record's caps, by period, as the account counts it; empty where the record has no caps.
-- `last_granted_at` is when a buyer or group with a spacing got its last call; null where it had none since it has a spacing.
CREATE TABLE {read}.slots (
    company_id       bigint       NOT NULL,
    resource         text         NOT NULL,
    version          bigint       NOT NULL,
    partition        integer      NOT NULL,
    sequence         bigint       NOT NULL,
    in_use           bigint       NOT NULL,
    waiting_count    bigint       NOT NULL,
    tallies          jsonb        NOT NULL DEFAULT '{}',
    last_granted_at  timestamptz,
    PRIMARY KEY (company_id, resource)
) WITH (fillfactor = 70);

-- What does a queue for slots wait for? One row for each queue of leads in a partition of contacts that asks, or is closed;
-- a queue without a row is open. `lines` is how many of its leads may ask at once.
CREATE TABLE {read}.slot_queues (
    company_id         bigint   NOT NULL,
    queue              text     NOT NULL,
    contact_partition  integer  NOT NULL,
    version            bigint   NOT NULL,
    partition          integer  NOT NULL,
    sequence           bigint   NOT NULL,
    lines              integer  NOT NULL,
    open_count         integer  NOT NULL,
    closed_at          timestamptz,
    closed_reason      text,
    opens_at           timestamptz,
    resets_at          timestamptz,
    PRIMARY KEY (company_id, queue, contact_partition)
) WITH (fillfactor = 70);

-- What does each lead that waits in a queue for slots wait for, and when is that over? For a line, or for the end of what has
-- closed its queue: null where nobody knows when, or where the lead expires before. A lead that asks has a `slot_id`.
CREATE VIEW {read}.waiting_leads AS
SELECT
    l.company_id, l.id, l.partition, l.slot_queue, coalesce(q.closed_reason, 'concurrency_cap') AS reason,
    CASE
        WHEN q.closed_reason IS NULL THEN l.planned_at
        WHEN q.resets_at IS NULL OR (NOT l.ending AND q.resets_at >= l.expires_at) THEN NULL
        ELSE greatest(q.resets_at, l.planned_at)
    END AS next_at
FROM {read}.leads AS l
LEFT JOIN {read}.slot_queues AS q
    ON q.company_id = l.company_id AND q.queue = l.slot_queue AND q.contact_partition = l.partition
WHERE l.slot_queue IS NOT NULL AND NOT l.rest ? 'slot_id';

-- Which numbers of a ring pool are held, and how many visitors found none? One row per pool, as its aggregate has it.
--
-- `numbers` is a list of [number_id, hash of the visitor, when it is free, in milliseconds].
CREATE TABLE {read}.ring_pools (
    company_id        bigint       NOT NULL,
    ring_pool_id      bigint       NOT NULL,
    version           bigint       NOT NULL,
    partition         integer      NOT NULL,
    sequence          bigint       NOT NULL,
    numbers           jsonb        NOT NULL,
    overflow_count    bigint       NOT NULL,
    last_overflow_at  timestamptz,
    PRIMARY KEY (company_id, ring_pool_id)
);

-- 6. Impressions: what did visitors see?

-- One row per impression, of the first record with its uuid; deleted when its time is over.
--
-- All impressions of a visitor come from one partition, in the order of their offsets, so a repeat is known by uuid and
-- partition, and by id where a record is read again. `number_shown` is the number that the page showed, held until `held_until`.
CREATE TABLE {read}.impressions (
    company_id         bigint       NOT NULL,
    id                 bigint       NOT NULL,
    uuid               uuid         NOT NULL,
    partition          integer      NOT NULL,
    "offset"           bigint       NOT NULL,
    created_at         timestamptz  NOT NULL,
    visitor_id         text         NOT NULL,
    session_id         text,
    offer_id           bigint,
    traffic_source_id  bigint,
    page_url           text,
    referrer           text,
    landing_url        text,
    utm_source         text,
    utm_medium         text,
    utm_campaign       text,
    utm_term           text,
    utm_content        text,
    gclid              text,
    fbclid             text,
    sub_id             text,
    ip                 text,
    user_agent         text,
    device             text,
    country            text,
    state              text,
    city               text,
    tokens             jsonb        NOT NULL,
    ring_pool_id       bigint,
    number_id          bigint,
    number_shown       text,
    held_until         timestamptz,
    PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX impressions_uuid ON {read}.impressions (company_id, uuid, partition);
CREATE INDEX impressions_created ON {read}.impressions (company_id, created_at, id);
CREATE INDEX impressions_expiring ON {read}.impressions (created_at);  -- for the purge, of all companies together
-- For whom is a number of a ring pool held? The newest impression that showed it says so.
CREATE INDEX impressions_of_numbers ON {read}.impressions (company_id, number_id, created_at DESC, id DESC)
    WHERE number_id IS NOT NULL;

-- 7. History: what happened, in order?

-- The facts of every decision, under the position of the decision and the place within it.
--
-- `company_id` is empty for facts of the partition itself (an adoption): no tenant sees them. `digest` is that of the
-- decision, which the next decision repeats as `prev`.
CREATE TABLE {read}.history (
    topic        text         NOT NULL,
    partition    integer      NOT NULL,
    sequence     bigint       NOT NULL,
    ordinal      integer      NOT NULL,
    at           timestamptz  NOT NULL,
    type         text         NOT NULL,
    company_id   bigint,
    contact_key  text,
    lead_id      bigint,
    call_id      bigint,
    data         jsonb        NOT NULL,
    digest       bytea        NOT NULL,
    PRIMARY KEY (topic, partition, sequence, ordinal)
);
CREATE INDEX history_lead ON {read}.history (company_id, lead_id, at) WHERE lead_id IS NOT NULL;
CREATE INDEX history_call ON {read}.history (company_id, call_id, at) WHERE call_id IS NOT NULL;
CREATE INDEX history_at ON {read}.history USING brin (at);  -- for retention: a block range costs nothing to keep
-- Few facts are about a contact: an index of all facts by contact would cost every decision a page.
CREATE INDEX history_contact ON {read}.history (company_id, contact_key, at) WHERE type LIKE 'contact.%';
CREATE INDEX history_texts ON {read}.history (company_id, contact_key, at) WHERE type = 'sms.received';
-- What did the newest contacts on a channel come to? The facts that say so; the index holds no other fact.
CREATE INDEX history_outcomes ON {read}.history (company_id, (data ->> 'kind'), at) WHERE type = 'outcome.recorded';

-- Which webhooks were fired by hand? The facts that say so, as rows; an index that holds no other fact.
CREATE INDEX history_manual_fires ON {read}.history (company_id, ((data ->> 'fire_id')::bigint))
    WHERE type = 'webhook.fired_by_hand';
CREATE VIEW {read}.manual_fires AS
SELECT company_id,
    (data ->> 'fire_id')::bigint AS id,
    (data ->> 'uuid')::uuid AS uuid,
    at AS fired_at,
    coalesce(to_timestamp((data ->> 'created_at')::float8 / 1000), at) AS created_at,
    coalesce(to_timestamp((data ->> 'updated_at')::float8 / 1000), at) AS updated_at,
    (data ->> 'outgoing_webhook_id')::bigint AS outgoing_webhook_id,
    lead_id,
    call_id,
    data ->> 'command_id' AS command_id,
    (data ->> 'buyer_conversion_id')::bigint AS buyer_conversion_id,
    (data ->> 'offer_conversion_id')::bigint AS offer_conversion_id
FROM {read}.history
WHERE type = 'webhook.fired_by_hand';

-- Which statuses did agents have, and who has read a message? The facts that say so; each index holds them alone.
CREATE INDEX history_agent_statuses ON {read}.history (company_id, ((data ->> 'timestamp_id')::bigint))
    WHERE type = 'agent.status_changed';
CREATE INDEX history_statuses_of_agent
    ON {read}.history (company_id, ((data ->> 'agent_id')::bigint), ((data ->> 'timestamp_id')::bigint))
    WHERE type = 'agent.status_changed';
CREATE INDEX history_acknowledged_messages
    ON {read}.history (company_id, ((data ->> 'agent_message_id')::bigint), ((data ->> 'agent_id')::bigint))
    WHERE type = 'agent_message.acknowledged';
CREATE VIEW {read}.agent_status_timestamps AS
SELECT company_id,
    (data ->> 'timestamp_id')::bigint AS id,
    (data ->> 'user_id')::bigint AS user_id,
    (data ->> 'agent_id')::bigint AS collaborator_id,
    (data ->> 'agent_widget_id')::bigint AS agent_widget_id,
    (data ->> 'agent_status_id')::bigint AS agent_status_id,
    at AS created_at,
    at AS updated_at,
    data ->> 'key' AS key
FROM {read}.history
WHERE type = 'agent.status_changed';

-- What does the page of an agent follow? The facts about agents and messages for them, in the order of their decisions.
--
-- A company's records and agents are in one partition, so the place of a decision there rises with time; a decision has few
-- facts.
CREATE INDEX history_agent_events ON {read}.history (company_id, ((sequence * 1000 + ordinal)))
    WHERE starts_with(type, 'agent.') OR type = 'agent_message.acknowledged'
        OR (starts_with(type, 'record.') AND data ->> 'record_type' = 'agent_message');
CREATE VIEW {read}.agent_events AS
SELECT company_id, sequence * 1000 + ordinal AS id, at, type, data
FROM {read}.history
WHERE starts_with(type, 'agent.') OR type = 'agent_message.acknowledged'
    OR (starts_with(type, 'record.') AND data ->> 'record_type' = 'agent_message');

-- Who changed which account record? The facts that say so, by the same place.
CREATE INDEX history_audit_logs ON {read}.history (company_id, ((sequence * 1000 + ordinal)))
    WHERE type IN ('record.created', 'record.updated', 'record.deleted');
CREATE VIEW {read}.audit_logs AS
SELECT company_id,
    sequence * 1000 + ordinal AS id,
    at AS created_at,
    substr(type, 8) AS action,
    data ->> 'record_type' AS record_type,
    (data ->> 'record_id')::bigint AS record_id,
    (data ->> 'version')::bigint AS version,
    data -> 'fields' AS fields,
    nullif(split_part(split_part(data ->> 'by', ';', 1), '/', 1), '') AS actor,
    nullif(split_part(split_part(data ->> 'by', ';', 1), '/', 2), '')::bigint AS key_id,
    nullif(split_part(data ->> 'by', ';', 2), '') AS user_email,
    nullif(split_part(data ->> 'by', ';', 3), '') AS address
FROM {read}.history
WHERE type IN ('record.created', 'record.updated', 'record.deleted');

-- Which leads and calls converted, for a buyer or an offer? Of the facts about each conversion, the one of the highest revision.
CREATE INDEX history_conversions ON {read}.history
    (company_id, ((data ->> 'conversion_id')::bigint), ((data ->> 'revision')::integer))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE INDEX history_conversions_created ON {read}.history
    (company_id, (to_timestamp((data ->> 'converted_at')::float8 / 1000)), ((data ->> 'conversion_id')::bigint))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE INDEX history_conversions_of_buyer ON {read}.history
    (company_id, ((data ->> 'buyer_id')::bigint), ((data ->> 'conversion_id')::bigint))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE INDEX history_conversions_of_source ON {read}.history
    (company_id, ((data ->> 'traffic_source_id')::bigint), ((data ->> 'conversion_id')::bigint))
    WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back');
CREATE VIEW {read}.conversions AS
SELECT company_id,
    (data ->> 'conversion_id')::bigint AS id,
    (data ->> 'uuid')::uuid AS uuid,
    data ->> 'side' AS side,
    to_timestamp((data ->> 'converted_at')::float8 / 1000) AS created_at,
    at AS updated_at,
    (data ->> 'revision')::integer AS revision,
    data ->> 'source' AS source,
    (data ->> 'amount')::numeric AS amount,
    lead_id,
    call_id,
    (data ->> 'buyer_id')::bigint AS buyer_id,
    (data ->> 'traffic_source_id')::bigint AS traffic_source_id,
    (data ->> 'offer_id')::bigint AS offer_id,
    (data ->> 'schedule_id')::bigint AS schedule_id,
    data ? 'taken_back_at' AS taken_back,
    to_timestamp((data ->> 'taken_back_at')::float8 / 1000) AS taken_back_at
FROM {read}.history AS f
WHERE type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back')
    AND NOT EXISTS (
        SELECT 1 FROM {read}.history AS later
        WHERE later.company_id = f.company_id
            AND later.type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back')
            AND (later.data ->> 'conversion_id')::bigint = (f.data ->> 'conversion_id')::bigint
            AND (later.data ->> 'revision')::integer > (f.data ->> 'revision')::integer
    );

-- How did each callback go? Of the facts about it, the one of the highest revision. The owner is who it belongs to.
CREATE INDEX history_callbacks ON {read}.history
    (company_id, ((data ->> 'callback_id')::bigint), ((data ->> 'revision')::integer))
    WHERE type = 'callback.recorded';
CREATE INDEX history_callbacks_created ON {read}.history
    (company_id, (to_timestamp((data ->> 'made_at')::float8 / 1000)), ((data ->> 'callback_id')::bigint))
    WHERE type = 'callback.recorded';
CREATE INDEX history_callbacks_promised ON {read}.history
    (company_id, (to_timestamp((data ->> 'promised_at')::float8 / 1000)), ((data ->> 'callback_id')::bigint))
    WHERE type = 'callback.recorded';
CREATE VIEW {read}.callbacks AS
SELECT company_id,
    (data ->> 'callback_id')::bigint AS id,
    (data ->> 'revision')::integer AS revision,
    data ->> 'state' AS callback_status,
    to_timestamp((data ->> 'made_at')::float8 / 1000) AS created_at,
    at AS updated_at,
    lead_id,
    call_id,
    to_timestamp((data ->> 'promised_at')::float8 / 1000) AS promised_at,
    data ->> 'promised_by' AS promised_by,
    (data ->> 'promised_agent_id')::bigint AS promised_agent_id,
    data -> 'owner' AS owner,
    (data -> 'owner' ->> 'agent_id')::bigint AS owner_agent_id,
    (data -> 'owner' ->> 'buyer_id')::bigint AS owner_buyer_id,
    (data -> 'owner' ->> 'buyer_group_id')::bigint AS owner_buyer_group_id,
    to_timestamp((data ->> 'called_at')::float8 / 1000) AS called_at,
    (data ->> 'called_agent_id')::bigint AS called_agent_id,
    (data ->> 'called_buyer_id')::bigint AS called_buyer_id,
    (data ->> 'late_seconds')::bigint AS late_seconds,
    (data ->> 'is_reached')::boolean AS is_reached,
    data ->> 'reason' AS end_reason,
    (data ->> 'offer_id')::bigint AS offer_id,
    (data ->> 'schedule_id')::bigint AS schedule_id
FROM {read}.history AS f
WHERE type = 'callback.recorded'
    AND NOT EXISTS (
        SELECT 1 FROM {read}.history AS later
        WHERE later.company_id = f.company_id
            AND later.type = 'callback.recorded'
            AND (later.data ->> 'callback_id')::bigint = (f.data ->> 'callback_id')::bigint
            AND (later.data ->> 'revision')::integer > (f.data ->> 'revision')::integer
    );

-- 8. Words: how is text found in leads and calls?

-- The words of a text, as both sides of a search see them: folded to lower case, cut at everything that is no letter or
-- digit. What separates is blanked first, or the parser would keep an address or a number with dashes as one word.
CREATE FUNCTION {read}.words_of(told text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN strip(to_tsvector('pg_catalog.simple'::regconfig, translate(left(told, 100000), '@._-+/\:;,()<>&''"', repeat(' ', 17))));

-- A number is found by all its digits, without its country code, and by its last seven and four.
CREATE FUNCTION {read}.number_words(told text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN array_to_tsvector(CASE WHEN length(told) > 10 THEN
    ARRAY[substr(told, 2), right(told, 10), right(told, 7), right(told, 4)] ELSE '{}'::text[] END);

-- What text is found by: a row for each lead and call that is not deleted, written only when its text changes, because a
-- lead changes some forty times and is named once.
CREATE TABLE {read}.lead_words (
    company_id  bigint    NOT NULL,
    id          bigint    NOT NULL,
    words       tsvector  NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE TABLE {read}.call_words (LIKE {read}.lead_words INCLUDING ALL);
CREATE INDEX lead_words_words ON {read}.lead_words USING gin (words);
CREATE INDEX call_words_words ON {read}.call_words USING gin (words);

-- Kept by triggers on whole statements, so that it is true whoever writes the rows; the schema is that of the table, since a
-- rebuilt projection takes the place of the old one by its name.
--
-- A statement with ON CONFLICT calls the triggers of both INSERT and UPDATE, mostly one of them without a row; and most
-- updates of a lead or call change no text. To plan the statements takes longer than to write a lead, so each trigger looks
-- first whether it has anything to do.
CREATE FUNCTION {read}.keep_lead_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed text := '';
    is_changed boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF EXISTS (SELECT FROM written WHERE deleted_at IS NOT NULL) THEN
            EXECUTE format('
                DELETE FROM %1$I.lead_words AS w USING written AS n
                WHERE w.company_id = n.company_id AND w.id = n.id AND n.deleted_at IS NOT NULL', TG_TABLE_SCHEMA);
        END IF;
        changed := ' JOIN former AS f ON f.company_id = n.company_id AND f.id = n.id
            AND (f.name, f.full_name, f.email, f.external_record_id, f.data, f.caller_id, f.deleted_at IS NULL)
                IS DISTINCT FROM (n.name, n.full_name, n.email, n.external_record_id, n.data, n.caller_id, true)';
        -- Not a statement of the function itself: its plan would be kept, and one for a row takes the square of 500.
        EXECUTE 'SELECT EXISTS (SELECT FROM written AS n' || changed || ')' INTO is_changed;
        IF NOT is_changed THEN
            RETURN NULL;
        END IF;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.lead_words AS w (company_id, id, words)
        SELECT n.company_id, n.id,
            %1$I.words_of(concat_ws('' '', n.name, n.full_name, n.email, n.external_record_id,
                (SELECT string_agg(shown, '' '') FROM jsonb_each_text(n.data) AS token (key, shown))))
            || %1$I.number_words(n.caller_id)
        FROM written AS n' || changed || '
        WHERE n.deleted_at IS NULL
        ON CONFLICT (company_id, id) DO UPDATE SET words = excluded.words', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_written AFTER INSERT ON {read}.leads
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_lead_words();
CREATE TRIGGER leads_rewritten AFTER UPDATE ON {read}.leads
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_lead_words();

-- Tokens of a call are also found exactly: `=key` and `=key:value`, cut to what a word may be; no other word begins with `=`.
CREATE FUNCTION {read}.keep_call_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed text := '';
    is_changed boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF EXISTS (SELECT FROM written WHERE deleted_at IS NOT NULL) THEN
            EXECUTE format('
                DELETE FROM %1$I.call_words AS w USING written AS n
                WHERE w.company_id = n.company_id AND w.id = n.id AND n.deleted_at IS NOT NULL', TG_TABLE_SCHEMA);
        END IF;
        changed := ' JOIN former AS f ON f.company_id = n.company_id AND f.id = n.id
            AND (f.agent_call_disposition_notes, f.token_values, f.caller_number, f.deleted_at IS NULL)
                IS DISTINCT FROM (n.agent_call_disposition_notes, n.token_values, n.caller_number, true)';
        EXECUTE 'SELECT EXISTS (SELECT FROM written AS n' || changed || ')' INTO is_changed;
        IF NOT is_changed THEN
            RETURN NULL;
        END IF;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.call_words AS w (company_id, id, words)
        SELECT n.company_id, n.id,
            %1$I.words_of(concat_ws('' '', n.agent_call_disposition_notes,
                (SELECT string_agg(shown, '' '') FROM jsonb_each_text(n.token_values) AS token (key, shown))))
            || %1$I.number_words(n.caller_number)
            || array_to_tsvector(ARRAY(
                SELECT tag FROM jsonb_each_text(n.token_values) AS token (key, shown),
                    unnest(ARRAY[''='' || left(key, 200), ''='' || left(key || '':'' || shown, 200)]) AS tag
                WHERE tag IS NOT NULL))
        FROM written AS n' || changed || '
        WHERE n.deleted_at IS NULL
        ON CONFLICT (company_id, id) DO UPDATE SET words = excluded.words', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER calls_written AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_call_words();
CREATE TRIGGER calls_rewritten AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.keep_call_words();

-- 9. Rollups: what did leads and calls come to, day by day?

-- Sums that reports over long spans add up instead of every row.
--
-- Whoever writes a row marks the day (UTC) of its creation in the same transaction; a day without a mark may be added up from
-- its sums, one with a mark, or not rolled up yet, is added up from its rows. Marks are only ever appended: two writers never
-- wait for each other, and whoever rolls up takes away the marks that it sees, not those that are still to be committed.
--
-- Five tiers: `quarter` of an hour and `hour` (all rows as one group, hours by value of a few categories as well: every clock
-- of the world changes its date at a quarter, most at an hour), `day`, `month` and `year` (by category and value, months and
-- years by pairs of categories as well, named with a space between, with their values in `value` and `other`). A month or
-- year holds only while none of its days is marked or was rolled up since: `is_stale`.
CREATE TABLE {read}.stale_days (
    company_id  bigint       NOT NULL,
    source      text         NOT NULL,
    day         timestamptz  NOT NULL
) WITH (autovacuum_vacuum_threshold = 1000);  -- emptied all the time, and looked at by every report
CREATE INDEX stale_days_day ON {read}.stale_days (source, company_id, day);
CREATE TABLE {read}.rolled_spans (
    company_id  bigint       NOT NULL,
    source      text         NOT NULL,
    tier        text         NOT NULL CHECK (tier IN ('day', 'month', 'year')),
    start       timestamptz  NOT NULL,
    rolled_at   timestamptz  NOT NULL,
    is_stale    boolean      NOT NULL,
    PRIMARY KEY (source, company_id, tier, start)
);
CREATE INDEX rolled_spans_stale ON {read}.rolled_spans (tier, rolled_at) WHERE is_stale;

CREATE TABLE {read}.leads_rollup (
    company_id              bigint            NOT NULL,
    at                      timestamptz       NOT NULL,
    leads_count             bigint            NOT NULL,
    live_count              bigint            NOT NULL,
    attempted_count         bigint            NOT NULL,
    connected_count         bigint            NOT NULL,
    converted_count         bigint            NOT NULL,
    opt_out_count           bigint            NOT NULL,
    outbound_calls_count    bigint            NOT NULL,
    sms_count               bigint            NOT NULL,
    emails_count            bigint            NOT NULL,
    revenue                 numeric           NOT NULL,
    payout                  numeric           NOT NULL,
    cost                    numeric           NOT NULL,
    connected_calls_count   bigint            NOT NULL,
    first_attempts_count    bigint            NOT NULL,
    first_attempts_seconds  double precision  NOT NULL,
    tier                    text              NOT NULL,
    category                text              NOT NULL,
    value                   text,
    other                   text
);
CREATE INDEX leads_rollup_category ON {read}.leads_rollup (company_id, category, tier, at);
CREATE INDEX leads_rollup_at ON {read}.leads_rollup (company_id, tier, at);
CREATE TABLE {read}.calls_rollup (
    company_id               bigint            NOT NULL,
    at                       timestamptz       NOT NULL,
    calls_count              bigint            NOT NULL,
    inbound_count            bigint            NOT NULL,
    connected_count          bigint            NOT NULL,
    converted_count          bigint            NOT NULL,
    buyer_converted_count    bigint            NOT NULL,
    offer_converted_count    bigint            NOT NULL,
    no_buyer_count           bigint            NOT NULL,
    answered_count           bigint            NOT NULL,
    abandoned_count          bigint            NOT NULL,
    talk_duration            bigint            NOT NULL,
    total_duration           bigint            NOT NULL,
    revenue                  numeric           NOT NULL,
    payout                   numeric           NOT NULL,
    cost                     numeric           NOT NULL,
    connected_talk_duration  bigint            NOT NULL,
    tier                     text              NOT NULL,
    category                 text              NOT NULL,
    value                    text,
    other                    text
);
CREATE INDEX calls_rollup_category ON {read}.calls_rollup (company_id, category, tier, at);
CREATE INDEX calls_rollup_at ON {read}.calls_rollup (company_id, tier, at);

CREATE FUNCTION {read}.mark_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT company_id, %2$L, date_bin(''1 day'', created_at, ''epoch'') FROM written'
        || CASE TG_OP WHEN 'UPDATE' THEN '
        UNION SELECT company_id, %2$L, date_bin(''1 day'', created_at, ''epoch'') FROM former' ELSE '' END,
        TG_TABLE_SCHEMA, TG_TABLE_NAME);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_marked AFTER INSERT ON {read}.leads
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();
CREATE TRIGGER leads_remarked AFTER UPDATE ON {read}.leads
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();
CREATE TRIGGER calls_marked AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();
CREATE TRIGGER calls_remarked AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days();

-- What a lead is grouped by may stand in its calls: the disposition of one, that it converted, or its agent. The lead's own
-- row comes before its calls in every batch, so it is there to be marked.
CREATE FUNCTION {read}.mark_days_of_leads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM written) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('
        INSERT INTO %1$I.stale_days (company_id, source, day)
        SELECT DISTINCT l.company_id, ''leads'', date_bin(''1 day'', l.created_at, ''epoch'')
        FROM (
            SELECT company_id, lead_id FROM written
            WHERE call_disposition_id IS NOT NULL OR buyer_converted OR agent_id IS NOT NULL'
        || CASE TG_OP WHEN 'UPDATE' THEN '
            UNION SELECT company_id, lead_id FROM former
            WHERE call_disposition_id IS NOT NULL OR buyer_converted OR agent_id IS NOT NULL' ELSE '' END
        || ') AS c
        JOIN %1$I.leads AS l ON l.company_id = c.company_id AND l.id = c.lead_id', TG_TABLE_SCHEMA);
    RETURN NULL;
END $$;
CREATE TRIGGER leads_marked_by_calls AFTER INSERT ON {read}.calls
    REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days_of_leads();
CREATE TRIGGER leads_remarked_by_calls AFTER UPDATE ON {read}.calls
    REFERENCING OLD TABLE AS former NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION {read}.mark_days_of_leads();

-- 10. Row types: in which shape do rows arrive?

-- Arrays of these types: asyncpg encodes, and the server reads, a row as a tuple three times as fast as the same values as
-- one array a column.
--
-- Instants are milliseconds, jsonb is text, lists are joined by commas. A running projector knows the types as they were
-- when it connected: once 0.1.0 is released, change none, add a second one beside it.
CREATE TYPE {read}.lead_row AS (
    company_id                bigint,
    id                        bigint,
    uuid                      text,
    contact_key               text,
    version                   bigint,
    partition                 integer,
    sequence                  bigint,
    created_at                bigint,
    updated_at                bigint,
    status                    text,
    status_wait               text,
    end_status                text,
    is_live                   boolean,
    offer_id                  bigint,
    schedule_id               bigint,
    schedule_version          bigint,
    caller_id                 text,
    email                     text,
    name                      text,
    full_name                 text,
    external_record_id        text,
    contact_field_type        text,
    country                   text,
    state_province            text,
    zip_postal_code           text,
    time_zone                 text,
    sub_id                    text,
    remote_ip                 text,
    traffic_source_id         bigint,
    columns                   text,
    data                      text,
    zones                     text,
    zone_source               text,
    zone_deciding             text,
    states                    text,
    lead_priority             double precision,
    urgency_class             integer,
    enrolment                 bigint,
    step                      text,
    ending                    boolean,
    step_attempts             bigint,
    attempts                  bigint,
    attempts_max              bigint,
    flight                    text,
    next_action_at            bigint,
    planned_at                bigint,
    requested_next_action_at  bigint,
    expires_at                bigint,
    callback_at               bigint,
    wake_at                   bigint,
    reasons                   text,
    opt_out                   boolean,
    blocked                   boolean,
    buyer_converted           boolean,
    offer_converted           boolean,
    connected                 boolean,
    revenue                   numeric,
    payout                    numeric,
    cost                      numeric,
    buyer_id                  bigint,
    svc_number                text,
    sms_number                text,
    outbound_calls_count      bigint,
    sms_count                 bigint,
    emails_count              bigint,
    attempted_call_id         bigint,
    connected_call_id         bigint,
    first_queued_at           bigint,
    first_action_at           bigint,
    last_action_at            bigint,
    last_call_at              bigint,
    schedule_ended_at         bigint,
    schedule_trigger_type     text,
    failed_channels           text,
    slot_queue                text,
    rest                      text
);
CREATE TYPE {read}.call_row AS (
    company_id                        bigint,
    id                                bigint,
    uuid                              text,
    contact_key                       text,
    version                           bigint,
    partition                         integer,
    sequence                          bigint,
    created_at                        bigint,
    updated_at                        bigint,
    user_updated_at                   bigint,
    lead_id                           bigint,
    contact_id                        bigint,
    offer_id                          bigint,
    schedule_id                       bigint,
    schedule_action_id                text,
    traffic_source_id                 bigint,
    buyer_id                          bigint,
    buyer_group_id                    bigint,
    number_id                         bigint,
    command_id                        text,
    provider                          text,
    provider_sid                      text,
    direction                         text,
    origin                            text,
    status                            text,
    sub_status                        text,
    outcome                           text,
    answered_by                       text,
    caller_number                     text,
    number_called                     text,
    from_number                       text,
    country                           text,
    state                             text,
    city                              text,
    zip                               text,
    time_zone                         text,
    token_values                      text,
    revenue                           numeric,
    payout                            numeric,
    cost                              numeric,
    profit                            numeric,
    buyer_converted                   boolean,
    offer_converted                   boolean,
    buyer_conversion_duplicated_call  boolean,
    offer_conversion_duplicated_call  boolean,
    buyer_repeat_caller               boolean,
    offer_repeat_caller               boolean,
    no_buyer                          boolean,
    placed_on_hold                    boolean,
    in_progress                       boolean,
    hold_duration                     bigint,
    ring_duration                     bigint,
    talk_duration                     bigint,
    total_duration                    bigint,
    initiated_at                      bigint,
    ringing_at                        bigint,
    answered_at                       bigint,
    buyer_answered_at                 bigint,
    ended_at                          bigint,
    hangup_cause                      text,
    hung_up_by                        text,
    detail                            text,
    has_recording                     boolean,
    recording_url                     text,
    call_disposition_id               bigint,
    agent_call_disposition_notes      text,
    attempt_number                    bigint,
    is_callback                       boolean,
    contact_field_type                text,
    ring_pool_id                      bigint,
    provider_configuration_id         bigint,
    agent_id                          bigint,
    scheduled_callback_id             bigint,
    dial_tier                         integer,
    transcription_status              text,
    impression_uuid                   text
);
CREATE TYPE {read}.contact_row AS (
    contact_key      text,
    company_id       bigint,
    contact_id       bigint,
    version          bigint,
    partition        integer,
    sequence         bigint,
    lead_ids         text,
    opted_out_at     bigint,
    blocked_at       bigint,
    attempts_count   bigint,
    last_attempt_at  bigint,
    last_call_at     bigint,
    disabled_until   text,
    moved            text,
    rest             text
);
CREATE TYPE {read}.suppression_row AS (
    company_id   bigint,
    list_id      bigint,
    contact_key  text,
    contact_id   bigint,
    version      bigint,
    partition    integer,
    sequence     bigint,
    created_at   bigint,
    updated_at   bigint,
    source       text,
    expires_at   bigint
);
CREATE TYPE {read}.kept_submission_row AS (
    company_id            bigint,
    id                    bigint,
    lead_id               bigint,
    contact_key           text,
    version               bigint,
    partition             integer,
    sequence              bigint,
    created_at            bigint,
    email                 text,
    columns               text,
    data                  text,
    schedule_callback_at  bigint
);
CREATE TYPE {read}.unblock_sweep_row AS (
    company_id         bigint,
    job_id             bigint,
    contact_partition  integer,
    version            bigint,
    partition          integer,
    sequence           bigint,
    unblock_count      bigint,
    failed_count       bigint,
    last_contact_id    bigint,
    last_unblocked_at  bigint,
    ended_at           bigint,
    canceled_at        bigint
);
CREATE TYPE {read}.record_row AS (
    company_id       bigint,
    type             text,
    id               bigint,
    uuid             text,
    version          bigint,
    partition        integer,
    sequence         bigint,
    created_at       bigint,
    updated_at       bigint,
    user_updated_at  bigint,
    deleted_at       bigint,
    name             text,
    body             text
);
CREATE TYPE {read}.slots_row AS (
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
CREATE TYPE {read}.slot_queue_row AS (
    company_id         bigint,
    queue              text,
    contact_partition  integer,
    version            bigint,
    partition          integer,
    sequence           bigint,
    lines              integer,
    open_count         integer,
    closed_at          bigint,
    closed_reason      text,
    opens_at           bigint,
    resets_at          bigint
);
CREATE TYPE {read}.ring_pool_row AS (
    company_id        bigint,
    ring_pool_id      bigint,
    version           bigint,
    partition         integer,
    sequence          bigint,
    numbers           text,
    overflow_count    bigint,
    last_overflow_at  bigint
);
CREATE TYPE {read}.impression_row AS (
    company_id         bigint,
    id                 bigint,
    uuid               text,
    partition          integer,
    "offset"           bigint,
    created_at         bigint,
    visitor_id         text,
    session_id         text,
    offer_id           bigint,
    traffic_source_id  bigint,
    page_url           text,
    referrer           text,
    landing_url        text,
    utm_source         text,
    utm_medium         text,
    utm_campaign       text,
    utm_term           text,
    utm_content        text,
    gclid              text,
    fbclid             text,
    sub_id             text,
    ip                 text,
    user_agent         text,
    device             text,
    country            text,
    state              text,
    city               text,
    tokens             text,
    ring_pool_id       bigint,
    number_id          bigint,
    number_shown       text,
    held_until         bigint
);
CREATE TYPE {read}.history_row AS (
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
CREATE TYPE {read}.result_row AS (
    request_id  text,
    company_id  bigint,
    verdict     text,
    answer      text,
    decided_at  bigint
);
CREATE TYPE {read}.fault_row AS (
    topic      text,
    partition  integer,
    "offset"   bigint,
    sequence   bigint,
    error      text
);
