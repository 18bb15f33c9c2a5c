-- What does a lead look like now? `partition` and `sequence` name the decision that wrote the row.
--
-- What reports add up stands first: a row is read only as far as its last column that is asked for.
-- No foreign keys: the rows of a call, a contact and a schedule come from other partitions, earlier or later.
CREATE TABLE {read}.leads (
    company_id                bigint            NOT NULL,
    id                        bigint            NOT NULL,
    created_at                timestamptz       NOT NULL,
    outbound_calls_count      bigint            NOT NULL,
    sms_count                 bigint            NOT NULL,
    emails_count              bigint            NOT NULL,
    revenue                   double precision  NOT NULL,
    payout                    double precision  NOT NULL,
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

-- Without this the planner thinks that one lead of two hundred has any given value, and walks where it should look up.
CREATE STATISTICS {read}.leads_by_completed_calls ON (least(outbound_calls_count, 2)) FROM {read}.leads;
