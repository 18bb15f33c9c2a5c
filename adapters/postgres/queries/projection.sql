-- How are decisions written as rows? All rows of a batch at once: one statement per table, partition and batch.
--
-- Decisions of one partition are in order, so its later ones win; between partitions the higher version wins, because it
-- rises through every move. So the rows of a moved lead may come from two partitions in any order, and repeatedly.
-- Rows arrive as arrays of the types of 0008_pre_row_types.sql: instants as milliseconds, jsonb as text, lists with commas.

-- take_position --
-- Raise the epoch: former owners move nothing from now on (fencing).
INSERT INTO {read}.positions AS p (topic, partition, topic_id) VALUES ($1, $2, $3)
ON CONFLICT (topic, partition) DO UPDATE SET epoch = p.epoch + 1
RETURNING topic_id, epoch, next_offset, sequence

-- move_position --
-- 0 rows: there is another owner, or this batch was committed before. The commit need not wait for the disk (synchronous_commit):
-- the position is in the same transaction as the rows, so what a crash loses is projected again.
UPDATE {read}.positions
SET next_offset = $5, sequence = $6, decided_at = coalesce(to_timestamp($7::float8 / 1000), decided_at)
WHERE topic = $1 AND partition = $2 AND epoch = $3 AND next_offset = $4
RETURNING set_config('synchronous_commit', 'off', true)

-- position --
SELECT topic_id, epoch, next_offset, sequence, decided_at FROM {read}.positions WHERE topic = $1 AND partition = $2

-- positions --
SELECT topic, partition, topic_id, epoch, next_offset, sequence, decided_at FROM {read}.positions ORDER BY topic, partition

-- remove_leads --
-- Mark, so that an answer can say that it was deleted; only this partition's row, so that a lead that moved stays.
UPDATE {read}.leads AS t
SET deleted_at = to_timestamp(u.at::float8 / 1000), sequence = u.sequence
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, at)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_calls --
UPDATE {read}.calls AS t
SET deleted_at = to_timestamp(u.at::float8 / 1000), sequence = u.sequence
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, at)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_contacts --
DELETE FROM {read}.contacts AS t
USING unnest($2::text[], $3::bigint[], $4::bigint[]) AS u (contact_key, sequence, at)
WHERE t.contact_key = u.contact_key AND t.partition = $1 AND t.sequence < u.sequence

-- remove_records --
DELETE FROM {read}.records AS t
USING unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS u (company_id, type, id, sequence, at)
WHERE t.company_id = u.company_id AND t.type = u.type AND t.id = u.id AND t.partition = $1 AND t.sequence < u.sequence

-- remove_slots --
DELETE FROM {read}.slots AS t
USING unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[]) AS u (company_id, resource, sequence, at)
WHERE t.company_id = u.company_id AND t.resource = u.resource AND t.partition = $1 AND t.sequence < u.sequence

-- upsert_leads --
INSERT INTO {read}.leads AS t (
    company_id, id, uuid, contact_key, version, partition, sequence, created_at, updated_at, status, status_wait,
    end_status, is_live, offer_id, schedule_id, schedule_version, caller_id, email, name, full_name,
    external_record_id, contact_field_type, country, state_province, zip_postal_code, time_zone, sub_id, remote_ip,
    traffic_source_id, columns, data, zones, zone_source, zone_deciding, states, lead_priority, urgency_class,
    enrolment, step, ending, step_attempts, attempts, attempts_max, flight, next_action_at, planned_at,
    requested_next_action_at, expires_at, callback_at, wake_at, reasons, opt_out, blocked, buyer_converted,
    offer_converted, connected, revenue, payout, buyer_id, svc_number, sms_number, outbound_calls_count, sms_count,
    emails_count, attempted_call_id, connected_call_id, first_queued_at, first_action_at, last_action_at,
    last_call_at, schedule_ended_at, schedule_trigger_type, failed_channels, rest
)
SELECT
    u.company_id, u.id, u.uuid::uuid, u.contact_key, u.version, u.partition, u.sequence,
    to_timestamp(u.created_at::float8 / 1000), to_timestamp(u.updated_at::float8 / 1000), u.status, u.status_wait,
    u.end_status, u.is_live, u.offer_id, u.schedule_id, u.schedule_version, u.caller_id, u.email, u.name, u.full_name,
    u.external_record_id, u.contact_field_type, u.country, u.state_province, u.zip_postal_code, u.time_zone, u.sub_id,
    u.remote_ip, u.traffic_source_id, u.columns::jsonb, u.data::jsonb, string_to_array(u.zones, ','), u.zone_source,
    u.zone_deciding, string_to_array(u.states, ','), u.lead_priority, u.urgency_class, u.enrolment, u.step, u.ending,
    u.step_attempts, u.attempts, u.attempts_max, u.flight::jsonb, to_timestamp(u.next_action_at::float8 / 1000),
    to_timestamp(u.planned_at::float8 / 1000), to_timestamp(u.requested_next_action_at::float8 / 1000),
    to_timestamp(u.expires_at::float8 / 1000), to_timestamp(u.callback_at::float8 / 1000),
    to_timestamp(u.wake_at::float8 / 1000), string_to_array(u.reasons, ','), u.opt_out, u.blocked, u.buyer_converted,
    u.offer_converted, u.connected, u.revenue, u.payout, u.buyer_id, u.svc_number, u.sms_number,
    u.outbound_calls_count, u.sms_count, u.emails_count, u.attempted_call_id, u.connected_call_id,
    to_timestamp(u.first_queued_at::float8 / 1000), to_timestamp(u.first_action_at::float8 / 1000),
    to_timestamp(u.last_action_at::float8 / 1000), to_timestamp(u.last_call_at::float8 / 1000),
    to_timestamp(u.schedule_ended_at::float8 / 1000), u.schedule_trigger_type, string_to_array(u.failed_channels, ','),
    u.rest::jsonb
FROM unnest($1::{read}.lead_row[]) AS u
ON CONFLICT (company_id, id) DO UPDATE SET
    uuid = excluded.uuid, contact_key = excluded.contact_key, version = excluded.version,
    partition = excluded.partition, sequence = excluded.sequence, created_at = excluded.created_at,
    updated_at = excluded.updated_at, status = excluded.status, status_wait = excluded.status_wait,
    end_status = excluded.end_status, is_live = excluded.is_live, offer_id = excluded.offer_id,
    schedule_id = excluded.schedule_id, schedule_version = excluded.schedule_version, caller_id = excluded.caller_id,
    email = excluded.email, name = excluded.name, full_name = excluded.full_name,
    external_record_id = excluded.external_record_id, contact_field_type = excluded.contact_field_type,
    country = excluded.country, state_province = excluded.state_province, zip_postal_code = excluded.zip_postal_code,
    time_zone = excluded.time_zone, sub_id = excluded.sub_id, remote_ip = excluded.remote_ip,
    traffic_source_id = excluded.traffic_source_id, columns = excluded.columns, data = excluded.data,
    zones = excluded.zones, zone_source = excluded.zone_source, zone_deciding = excluded.zone_deciding,
    states = excluded.states, lead_priority = excluded.lead_priority, urgency_class = excluded.urgency_class,
    enrolment = excluded.enrolment, step = excluded.step, ending = excluded.ending,
    step_attempts = excluded.step_attempts, attempts = excluded.attempts, attempts_max = excluded.attempts_max,
    flight = excluded.flight, next_action_at = excluded.next_action_at, planned_at = excluded.planned_at,
    requested_next_action_at = excluded.requested_next_action_at, expires_at = excluded.expires_at,
    callback_at = excluded.callback_at, wake_at = excluded.wake_at, reasons = excluded.reasons,
    opt_out = excluded.opt_out, blocked = excluded.blocked, buyer_converted = excluded.buyer_converted,
    offer_converted = excluded.offer_converted, connected = excluded.connected, revenue = excluded.revenue,
    payout = excluded.payout, buyer_id = excluded.buyer_id, svc_number = excluded.svc_number,
    sms_number = excluded.sms_number, outbound_calls_count = excluded.outbound_calls_count,
    sms_count = excluded.sms_count, emails_count = excluded.emails_count,
    attempted_call_id = excluded.attempted_call_id, connected_call_id = excluded.connected_call_id,
    first_queued_at = excluded.first_queued_at, first_action_at = excluded.first_action_at,
    last_action_at = excluded.last_action_at, last_call_at = excluded.last_call_at,
    schedule_ended_at = excluded.schedule_ended_at, schedule_trigger_type = excluded.schedule_trigger_type,
    failed_channels = excluded.failed_channels, rest = excluded.rest, deleted_at = NULL
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- upsert_calls --
INSERT INTO {read}.calls AS t (
    company_id, id, uuid, contact_key, version, partition, sequence, created_at, updated_at, user_updated_at,
    lead_id, contact_id, offer_id, schedule_id, schedule_action_id, traffic_source_id, buyer_id, buyer_group_id,
    number_id, command_id, provider, provider_sid, direction, origin, status, sub_status, outcome, answered_by,
    caller_number, number_called, from_number, country, state, city, zip, time_zone, token_values, revenue, payout,
    cost, profit, buyer_converted, offer_converted, buyer_conversion_duplicated_call,
    offer_conversion_duplicated_call, buyer_repeat_caller, offer_repeat_caller, no_buyer, placed_on_hold,
    in_progress, hold_duration, ring_duration, talk_duration, total_duration, initiated_at, ringing_at, answered_at,
    buyer_answered_at, ended_at, hangup_cause, hung_up_by, detail, has_recording, recording_url, call_disposition_id,
    agent_call_disposition_notes, attempt_number, is_callback, contact_field_type, ring_pool_id,
    provider_configuration_id, agent_id, scheduled_callback_id, dial_tier, transcription_status
)
SELECT
    u.company_id, u.id, u.uuid::uuid, u.contact_key, u.version, u.partition, u.sequence,
    to_timestamp(u.created_at::float8 / 1000), to_timestamp(u.updated_at::float8 / 1000),
    to_timestamp(u.user_updated_at::float8 / 1000), u.lead_id, u.contact_id, u.offer_id, u.schedule_id,
    u.schedule_action_id, u.traffic_source_id, u.buyer_id, u.buyer_group_id, u.number_id, u.command_id, u.provider,
    u.provider_sid, u.direction, u.origin, u.status, u.sub_status, u.outcome, u.answered_by, u.caller_number,
    u.number_called, u.from_number, u.country, u.state, u.city, u.zip, u.time_zone, u.token_values::jsonb, u.revenue,
    u.payout, u.cost, u.profit, u.buyer_converted, u.offer_converted, u.buyer_conversion_duplicated_call,
    u.offer_conversion_duplicated_call, u.buyer_repeat_caller, u.offer_repeat_caller, u.no_buyer, u.placed_on_hold,
    u.in_progress, u.hold_duration, u.ring_duration, u.talk_duration, u.total_duration,
    to_timestamp(u.initiated_at::float8 / 1000), to_timestamp(u.ringing_at::float8 / 1000),
    to_timestamp(u.answered_at::float8 / 1000), to_timestamp(u.buyer_answered_at::float8 / 1000),
    to_timestamp(u.ended_at::float8 / 1000), u.hangup_cause, u.hung_up_by, u.detail, u.has_recording,
    u.recording_url, u.call_disposition_id, u.agent_call_disposition_notes, u.attempt_number, u.is_callback,
    u.contact_field_type, u.ring_pool_id, u.provider_configuration_id, u.agent_id, u.scheduled_callback_id,
    u.dial_tier, u.transcription_status
FROM unnest($1::{read}.call_row[]) AS u
ON CONFLICT (company_id, id) DO UPDATE SET
    uuid = excluded.uuid, contact_key = excluded.contact_key, version = excluded.version,
    partition = excluded.partition, sequence = excluded.sequence, created_at = excluded.created_at,
    updated_at = excluded.updated_at, user_updated_at = excluded.user_updated_at, lead_id = excluded.lead_id,
    contact_id = excluded.contact_id, offer_id = excluded.offer_id, schedule_id = excluded.schedule_id,
    schedule_action_id = excluded.schedule_action_id, traffic_source_id = excluded.traffic_source_id,
    buyer_id = excluded.buyer_id, buyer_group_id = excluded.buyer_group_id, number_id = excluded.number_id,
    command_id = excluded.command_id, provider = excluded.provider, provider_sid = excluded.provider_sid,
    direction = excluded.direction, origin = excluded.origin, status = excluded.status,
    sub_status = excluded.sub_status, outcome = excluded.outcome, answered_by = excluded.answered_by,
    caller_number = excluded.caller_number, number_called = excluded.number_called,
    from_number = excluded.from_number, country = excluded.country, state = excluded.state, city = excluded.city,
    zip = excluded.zip, time_zone = excluded.time_zone, token_values = excluded.token_values,
    revenue = excluded.revenue, payout = excluded.payout, cost = excluded.cost, profit = excluded.profit,
    buyer_converted = excluded.buyer_converted, offer_converted = excluded.offer_converted,
    buyer_conversion_duplicated_call = excluded.buyer_conversion_duplicated_call,
    offer_conversion_duplicated_call = excluded.offer_conversion_duplicated_call,
    buyer_repeat_caller = excluded.buyer_repeat_caller, offer_repeat_caller = excluded.offer_repeat_caller,
    no_buyer = excluded.no_buyer, placed_on_hold = excluded.placed_on_hold, in_progress = excluded.in_progress,
    hold_duration = excluded.hold_duration, ring_duration = excluded.ring_duration,
    talk_duration = excluded.talk_duration, total_duration = excluded.total_duration,
    initiated_at = excluded.initiated_at, ringing_at = excluded.ringing_at, answered_at = excluded.answered_at,
    buyer_answered_at = excluded.buyer_answered_at, ended_at = excluded.ended_at,
    hangup_cause = excluded.hangup_cause, hung_up_by = excluded.hung_up_by, detail = excluded.detail,
    has_recording = excluded.has_recording, recording_url = excluded.recording_url,
    call_disposition_id = excluded.call_disposition_id,
    agent_call_disposition_notes = excluded.agent_call_disposition_notes, attempt_number = excluded.attempt_number,
    is_callback = excluded.is_callback, contact_field_type = excluded.contact_field_type,
    ring_pool_id = excluded.ring_pool_id, provider_configuration_id = excluded.provider_configuration_id,
    agent_id = excluded.agent_id, scheduled_callback_id = excluded.scheduled_callback_id,
    dial_tier = excluded.dial_tier, transcription_status = excluded.transcription_status, deleted_at = NULL
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- upsert_token_parts --
INSERT INTO {read}.token_parts AS t (owner, number, version, partition, sequence, tokens)
SELECT u.owner, u.number, u.version, u.partition, u.sequence, u.tokens::jsonb
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::integer[], $5::bigint[], $6::text[])
    AS u (owner, number, version, partition, sequence, tokens)
ON CONFLICT (owner, number) DO UPDATE SET
    version = excluded.version, partition = excluded.partition, sequence = excluded.sequence, tokens = excluded.tokens
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- remove_token_parts --
DELETE FROM {read}.token_parts AS t
USING unnest($2::text[], $3::bigint[]) AS u (owner, sequence)
WHERE t.owner = u.owner AND t.partition = $1 AND t.sequence < u.sequence

-- join_leads --
-- Join the tokens of leads that this batch wrote and whose tokens are in parts.
UPDATE {read}.leads AS t
SET data = coalesce(
    (
        SELECT jsonb_object_agg(token.key, token.value)
        FROM {read}.token_parts AS p, jsonb_each(p.tokens) AS token
        WHERE p.owner = 'lead/' || t.id AND p.number < u.count
    ),
    '{}'
)
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, count)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence = u.sequence

-- join_calls --
-- Join the tokens of calls that this batch wrote and whose tokens are in parts.
UPDATE {read}.calls AS t
SET token_values = coalesce(
    (
        SELECT jsonb_object_agg(token.key, token.value)
        FROM {read}.token_parts AS p, jsonb_each(p.tokens) AS token
        WHERE p.owner = 'call/' || t.id AND p.number < u.count
    ),
    '{}'
)
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (company_id, id, sequence, count)
WHERE t.company_id = u.company_id AND t.id = u.id AND t.partition = $1 AND t.sequence = u.sequence

-- upsert_contacts --
INSERT INTO {read}.contacts AS t (
    contact_key, company_id, contact_id, version, partition, sequence, lead_ids, opted_out_at, blocked_at,
    attempts_count, last_attempt_at, last_call_at, disabled_until, moved, rest
)
SELECT
    u.contact_key, u.company_id, u.contact_id, u.version, u.partition, u.sequence, u.lead_ids::jsonb,
    to_timestamp(u.opted_out_at::float8 / 1000), to_timestamp(u.blocked_at::float8 / 1000), u.attempts_count,
    to_timestamp(u.last_attempt_at::float8 / 1000), to_timestamp(u.last_call_at::float8 / 1000),
    u.disabled_until::jsonb, u.moved::jsonb, u.rest::jsonb
FROM unnest($1::{read}.contact_row[]) AS u
ON CONFLICT (contact_key) DO UPDATE SET
    company_id = excluded.company_id, contact_id = excluded.contact_id, version = excluded.version,
    partition = excluded.partition, sequence = excluded.sequence, lead_ids = excluded.lead_ids, opted_out_at = excluded.opted_out_at,
    blocked_at = excluded.blocked_at, attempts_count = excluded.attempts_count,
    last_attempt_at = excluded.last_attempt_at, last_call_at = excluded.last_call_at,
    disabled_until = excluded.disabled_until, moved = excluded.moved, rest = excluded.rest
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- upsert_records --
INSERT INTO {read}.records AS t (
    company_id, type, id, uuid, version, partition, sequence, created_at, updated_at, user_updated_at, deleted_at,
    name, body
)
SELECT
    u.company_id, u.type, u.id, u.uuid::uuid, u.version, u.partition, u.sequence,
    to_timestamp(u.created_at::float8 / 1000), to_timestamp(u.updated_at::float8 / 1000),
    to_timestamp(u.user_updated_at::float8 / 1000), to_timestamp(u.deleted_at::float8 / 1000), u.name, u.body::jsonb
FROM unnest($1::{read}.record_row[]) AS u
ON CONFLICT (company_id, type, id) DO UPDATE SET
    uuid = excluded.uuid, version = excluded.version, partition = excluded.partition, sequence = excluded.sequence,
    created_at = excluded.created_at, updated_at = excluded.updated_at, user_updated_at = excluded.user_updated_at,
    deleted_at = excluded.deleted_at, name = excluded.name, body = excluded.body
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- upsert_slots --
INSERT INTO {read}.slots AS t (
    company_id, resource, version, partition, sequence, in_use, waiting_count, tallies
)
SELECT
    u.company_id, u.resource, u.version, u.partition, u.sequence, u.in_use, u.waiting_count, u.tallies::jsonb
FROM unnest($1::{read}.tallied_slots_row[]) AS u
ON CONFLICT (company_id, resource) DO UPDATE SET
    version = excluded.version, partition = excluded.partition, sequence = excluded.sequence,
    in_use = excluded.in_use, waiting_count = excluded.waiting_count, tallies = excluded.tallies
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END

-- insert_history --
INSERT INTO {read}.history (
    topic, partition, sequence, ordinal, at, type, company_id, contact_key, lead_id, call_id, data
)
SELECT
    u.topic, u.partition, u.sequence, u.ordinal, to_timestamp(u.at::float8 / 1000), u.type, u.company_id,
    u.contact_key, u.lead_id, u.call_id, u.data::jsonb
FROM unnest($1::{read}.history_row[]) AS u
ON CONFLICT (topic, partition, sequence, ordinal) DO NOTHING

-- insert_results --
INSERT INTO {read}.request_results (
    request_id, company_id, verdict, answer, decided_at
)
SELECT
    u.request_id, u.company_id, u.verdict, u.answer::jsonb, to_timestamp(u.decided_at::float8 / 1000)
FROM unnest($1::{read}.result_row[]) AS u
ON CONFLICT (request_id) DO NOTHING

-- insert_faults --
INSERT INTO {read}.faults (
    topic, partition, "offset", sequence, error
)
SELECT
    u.topic, u.partition, u."offset", u.sequence, u.error
FROM unnest($1::{read}.fault_row[]) AS u
ON CONFLICT (topic, partition, "offset") DO NOTHING

