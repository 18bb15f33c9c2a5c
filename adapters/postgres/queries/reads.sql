-- The queries of the read API. Each query of a tenant's rows names the company first.
--
-- `{where}`, `{order}` and `{limit}` are put together in reads.py and lists.py from fixed pieces; values are always parameters.

-- lead_by_id --
SELECT * FROM {read}.leads WHERE company_id = $1 AND id = $2

-- lead_by_uuid --
SELECT * FROM {read}.leads WHERE company_id = $1 AND uuid = $2

-- shown_lead_by_id --
SELECT {shown} FROM {read}.leads WHERE company_id = $1 AND id = $2

-- shown_lead_by_uuid --
SELECT {shown} FROM {read}.leads WHERE company_id = $1 AND uuid = $2

-- newest_lead --
SELECT * FROM {read}.leads
WHERE company_id = $1 AND contact_key = $2 AND deleted_at IS NULL AND (offer_id = $3 OR schedule_id = ANY ($4::bigint[]))
ORDER BY is_live DESC, created_at DESC, id DESC
LIMIT 1

-- newest_named --
-- By `external_record_id`, the id in the sender's system.
SELECT * FROM {read}.leads
WHERE company_id = $1 AND external_record_id = $2 AND deleted_at IS NULL
    AND (offer_id = $3 OR schedule_id = ANY ($4::bigint[]))
ORDER BY is_live DESC, created_at DESC, id DESC
LIMIT 1

-- leads --
SELECT {shown}, {ordered} AS ordered_by FROM {read}.leads
WHERE company_id = $1 AND deleted_at IS NULL{where} ORDER BY {order} LIMIT {limit}

-- lead_ids --
SELECT id FROM (
    SELECT id FROM {read}.leads WHERE company_id = $1 AND deleted_at IS NULL{where} LIMIT {limit}
) AS found ORDER BY id

-- leads_gathered --
-- First all ids, which the index of a filter holds beside the creation; then the highest.
SELECT id FROM (SELECT id FROM {read}.leads WHERE company_id = $1 AND deleted_at IS NULL{where} OFFSET 0) AS found
ORDER BY id DESC LIMIT {limit}

-- leads_count --
-- Newest first, like the page: these rows are cached.
SELECT count(*) FROM (
    SELECT 1 FROM {read}.leads WHERE company_id = $1 AND deleted_at IS NULL{where} ORDER BY created_at DESC LIMIT {limit}
) AS found

-- zones --
SELECT array_agg(name) FROM pg_timezone_names

-- leads_grouped --
SELECT {category} AS category, {pivot} AS pivot, {sums}
FROM {read}.leads{joins}
WHERE company_id = $1 AND deleted_at IS NULL{where}
GROUP BY 1, 2
LIMIT {limit}

-- calls_grouped --
SELECT {category} AS category, {pivot} AS pivot, {sums}
FROM {read}.calls{joins}
WHERE company_id = $1 AND deleted_at IS NULL{where}
GROUP BY 1, 2
LIMIT {limit}

-- leads_by_step --
-- What is due, those that are due longest first, and what is under way, each up to a limit.
SELECT kind, schedule_id, schedule_version, step, is_callback, is_running, count(*) AS leads,
    count(*) FILTER (WHERE is_late) AS late
FROM (
    (
        SELECT NULL::text AS kind, schedule_id, schedule_version, step,
            callback_at IS NOT NULL AND urgency_class = $5 AS is_callback, false AS is_running,
            next_action_at < $2::timestamptz - make_interval(secs => $3) AS is_late
        FROM {read}.leads
        WHERE company_id = $1 AND deleted_at IS NULL AND status IN ('scheduled', 'waiting') AND next_action_at < $2{where}
        ORDER BY next_action_at, id LIMIT $4
    )
    UNION ALL
    (
        SELECT flight ->> 'kind', NULL, NULL, NULL, false, true, false
        FROM {read}.leads
        WHERE company_id = $1 AND deleted_at IS NULL AND status = 'running'{where}
        LIMIT $4
    )
) AS found
GROUP BY 1, 2, 3, 4, 5, 6

-- outcomes_by_channel --
-- Each command by its newest outcome, of the newest facts of each channel up to a limit: `facts` are those that were looked
-- at, also of commands that are not visible, so that a rare lead costs no more than a frequent one.
SELECT channel.name AS channel, newest.outcome, count(*) FILTER (WHERE {visible}) AS commands,
    sum(newest.facts)::bigint AS facts
FROM unnest($4::text[]) AS channel (name)
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (command_id) outcome, lead_id, count(*) OVER (PARTITION BY command_id) AS facts
    FROM (
        SELECT data ->> 'command_id' AS command_id, data ->> 'outcome' AS outcome, lead_id, at, partition, sequence, ordinal
        FROM {read}.history
        WHERE company_id = $1 AND type = 'outcome.recorded' AND data ->> 'kind' = channel.name AND at >= $2 AND at < $3
        ORDER BY at DESC LIMIT $5
    ) AS looked_at
    ORDER BY command_id, at DESC, partition DESC, sequence DESC, ordinal DESC
) AS newest
GROUP BY 1, 2

-- lead_paths --
-- Of the newest leads of a filter: where each is, and the visits and entries among its newest facts. What is no visit of a step:
-- webhooks that nobody awaits, which have no source; what the disposition of a call skipped.
SELECT l.status, l.is_live, l.step, coalesce(f.steps, '{}') AS steps, coalesce(f.schedule_ids, '{}') AS schedule_ids
FROM (
    SELECT id, status, is_live, step FROM {read}.leads
    WHERE company_id = $1 AND deleted_at IS NULL{where} ORDER BY created_at DESC, id DESC LIMIT $2
) AS l
LEFT JOIN LATERAL (
    SELECT array_agg(step ORDER BY at, partition, sequence, ordinal) AS steps,
        array_agg(schedule_id ORDER BY at, partition, sequence, ordinal) AS schedule_ids
    FROM (
        SELECT at, partition, sequence, ordinal, type, call_id, data,
            CASE WHEN type = ANY ($4::text[]) THEN data ->> 'step_id' END AS step,
            CASE WHEN type = ANY ($5::text[]) THEN (data ->> 'schedule_id')::bigint END AS schedule_id
        FROM {read}.history
        WHERE company_id = $1 AND lead_id = l.id
        ORDER BY at DESC, partition DESC, sequence DESC, ordinal DESC LIMIT $3
    ) AS newest
    WHERE (step IS NOT NULL OR schedule_id IS NOT NULL)
        AND NOT (type IN ('command.emitted', 'reach.requested') AND data -> 'source' IS NULL)
        AND NOT (type = 'step.skipped' AND call_id IS NOT NULL)
) AS f ON true

-- rows_to_group --
-- Count the rows of a report, up to a limit.
SELECT count(*) FROM (
    SELECT {category} AS category, {pivot} AS pivot FROM {read}.{source}{joins}
    WHERE company_id = $1 AND deleted_at IS NULL{where} LIMIT {limit}
) AS counted

-- rows_sampled --
-- Count the groups of a sample: a report with too many is not computed. Grouping first is faster than counting distinct rows.
SELECT count(*) AS groups, count(DISTINCT category) AS categories, count(DISTINCT pivot) AS pivots
FROM (
    SELECT category, pivot
    FROM (
        SELECT {category} AS category, {pivot} AS pivot FROM {read}.{source}{joins}
        WHERE company_id = $1 AND deleted_at IS NULL{where} LIMIT {limit}
    ) AS looked_at
    GROUP BY 1, 2
) AS grouped

-- calls_by_local_hour --
SELECT CASE WHEN zone = ANY ({category}::text[]) THEN date_part('hour', stretch AT TIME ZONE zone)::bigint END AS category,
    {pivot} AS pivot, {sums_again}
FROM (
    SELECT time_zone AS zone, date_bin('15 minutes', created_at, 'epoch') AS stretch, {sums}
    FROM {read}.calls
    WHERE company_id = $1 AND deleted_at IS NULL{where}
    GROUP BY 1, 2
) AS stretches
GROUP BY 1, 2
LIMIT {limit}

-- rolled_spans --
SELECT tier, start FROM {read}.rolled_spans
WHERE company_id = $1 AND source = $2 AND tier = ANY ($3::text[]) AND start >= $4 AND start < $5 AND NOT is_stale

-- marked_days --
SELECT DISTINCT day FROM {read}.stale_days WHERE company_id = $1 AND source = $2

-- rolled --
-- Spans from their sums, gaps from their rows.
SELECT category, pivot, {sums_again}
FROM (
    SELECT {rolled_category} AS category, {rolled_pivot} AS pivot, {names}
    FROM {spans}
    CROSS JOIN LATERAL (
        SELECT * FROM {read}.{source}_rollup AS r
        WHERE r.company_id = $1 AND r.category = {kept} AND r.tier = s.tier AND r.at >= s.since AND r.at < s.until{filtered}
        OFFSET 0  -- stretch by stretch from the index, of which there are few: the planner would read all of them for each
    ) AS r
    UNION ALL
    SELECT {raw_category} AS category, {raw_pivot} AS pivot, {sums}
    FROM {gaps}
    CROSS JOIN LATERAL (
        SELECT * FROM {read}.{source}
        WHERE company_id = $1 AND deleted_at IS NULL AND created_at >= gap.since AND created_at < gap.until{where}
        OFFSET 0  -- gap by gap from the index
    ) AS {source}{joins}
    GROUP BY 1, 2
) AS parts
GROUP BY 1, 2
LIMIT {limit}

-- leads_created --
SELECT min(created_at) AS first, max(created_at) AS last FROM {read}.leads
WHERE company_id = $1 AND deleted_at IS NULL{where}

-- calls_created --
SELECT min(created_at) AS first, max(created_at) AS last FROM {read}.calls
WHERE company_id = $1 AND deleted_at IS NULL{where}

-- words_estimated --
SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = '{read}.{kind}_words'::regclass

-- sampled --
SELECT asked::text, count(*) AS found
FROM {read}.{kind}_words AS w TABLESAMPLE SYSTEM ($3::float8), unnest($2::text[]) WITH ORDINALITY AS a (asked, place)
JOIN unnest($2::text[]::tsquery[]) WITH ORDINALITY AS q (query, place) USING (place)
WHERE w.company_id = $1 AND w.words @@ q.query
GROUP BY 1

-- matching --
-- `$2` is looked up; `$3` is asked of what it finds, by the function, because the operator would be looked up too.
SELECT id FROM {read}.{kind}_words
WHERE company_id = $1 AND words @@ $2::text::tsquery AND ts_match_vq(words, $3::text::tsquery)
LIMIT $4

-- words --
-- The words of a text, each quoted as a prefix search; the parser leaves no quote within a word.
SELECT ARRAY(SELECT quote_literal(lexeme) || ':*' FROM unnest({read}.words_of($1)))

-- calls --
SELECT *, {ordered} AS ordered_by FROM {read}.calls
WHERE company_id = $1 AND deleted_at IS NULL{where} ORDER BY {order} LIMIT {limit}

-- calls_gathered --
-- First all ids, which the index of a filter holds beside the creation; then the highest.
SELECT id FROM (SELECT id FROM {read}.calls WHERE company_id = $1 AND deleted_at IS NULL{where} OFFSET 0) AS found
ORDER BY id DESC LIMIT {limit}

-- calls_count --
-- Newest first, like the page: these rows are cached.
SELECT count(*) FROM (
    SELECT 1 FROM {read}.calls WHERE company_id = $1 AND deleted_at IS NULL{where} ORDER BY created_at DESC LIMIT {limit}
) AS found

-- impressions --
SELECT found.*,
    (
        SELECT min(c.id) FROM {read}.calls AS c
        WHERE c.company_id = $1 AND c.deleted_at IS NULL AND c.impression_uuid = found.uuid::text
    ) AS converted_call_id
FROM (
    SELECT *, {ordered} AS ordered_by FROM {read}.impressions
    WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}
) AS found
ORDER BY {order}

-- impressions_gathered --
-- First all ids, which the index holds beside the creation; then the highest.
SELECT id FROM (SELECT id FROM {read}.impressions WHERE company_id = $1{where} OFFSET 0) AS found
ORDER BY id DESC LIMIT {limit}

-- impressions_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.impressions WHERE company_id = $1{where} ORDER BY created_at DESC LIMIT {limit}
) AS found

-- impressions_created --
SELECT min(created_at) AS first, max(created_at) AS last FROM {read}.impressions WHERE company_id = $1{where}

-- conversions --
-- With who converted it: the first fact about the conversion says by which key.
SELECT c.*, {ordered} AS ordered_by,
    nullif(split_part(split_part(o.made_by, ';', 1), '/', 2), '')::bigint AS key_id,
    nullif(split_part(o.made_by, ';', 2), '') AS user_email
FROM {read}.conversions AS c
LEFT JOIN LATERAL (
    SELECT h.data ->> 'by' AS made_by FROM {read}.history AS h
    WHERE h.company_id = $1 AND (h.data ->> 'conversion_id')::bigint = c.id
        AND h.type IN ('conversion.recorded', 'conversion.changed', 'conversion.taken_back')
        AND h.type = 'conversion.recorded'
    LIMIT 1
) AS o ON true
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- conversions_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.conversions AS c WHERE company_id = $1{where} ORDER BY created_at DESC LIMIT {limit}
) AS found

-- callbacks --
-- With what the lead says of a callback that is pending, and whom it calls.
SELECT c.*, {ordered} AS ordered_by, l.caller_id, l.full_name, l.zones,
    CASE WHEN l.pending_id = c.id THEN l.due_at END AS callback_at,
    CASE WHEN l.pending_id = c.id AND l.due_at IS NOT NULL THEN l.tries END AS tries_count
FROM {read}.callbacks AS c
LEFT JOIN LATERAL (
    SELECT caller_id, full_name, zones, callback_at AS due_at, (rest ->> 'scheduled_callback_id')::bigint AS pending_id,
        coalesce((rest ->> 'callback_tries')::bigint, 0) AS tries
    FROM {read}.leads AS lead WHERE lead.company_id = $1 AND lead.id = c.lead_id AND lead.deleted_at IS NULL
) AS l ON true
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- callbacks_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.callbacks AS c WHERE company_id = $1{where} ORDER BY created_at DESC LIMIT {limit}
) AS found

-- callbacks_grouped --
SELECT {category} AS category, {pivot} AS pivot, {sums}
FROM {read}.callbacks AS c{joins}
WHERE company_id = $1{where}
GROUP BY 1, 2
LIMIT {limit}

-- manual_fires --
-- With the newest outcome of the delivery: a fact of the same lead or call.
SELECT f.*, {ordered} AS ordered_by, coalesce(
    (SELECT o.data ->> 'outcome' FROM {read}.history AS o
        WHERE o.company_id = $1 AND o.lead_id = f.lead_id AND o.type = 'outcome.recorded'
            AND o.data ->> 'command_id' = f.command_id ORDER BY o.at DESC LIMIT 1),
    (SELECT o.data ->> 'outcome' FROM {read}.history AS o
        WHERE o.company_id = $1 AND o.call_id = f.call_id AND o.type = 'outcome.recorded'
            AND o.data ->> 'command_id' = f.command_id ORDER BY o.at DESC LIMIT 1)
) AS outcome, (SELECT w.name FROM {read}.records AS w
    WHERE w.company_id = $1 AND w.type = 'outgoing_webhook' AND w.id = f.outgoing_webhook_id) AS name
FROM {read}.manual_fires AS f
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- manual_fires_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.manual_fires WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- call_history --
-- The newest facts of a call.
SELECT topic, partition, sequence, ordinal, at, type, lead_id, data
FROM {read}.history
WHERE company_id = $1 AND call_id = $2
ORDER BY at DESC, partition DESC, sequence DESC, ordinal DESC
LIMIT $3

-- lead_history --
-- The newest facts of a lead; `reasons` are the codes that a fact carries, if any.
SELECT topic, partition, sequence, ordinal, at, type, call_id, data, data -> 'reasons' AS reasons
FROM {read}.history
WHERE company_id = $1 AND lead_id = $2
ORDER BY at DESC, partition DESC, sequence DESC, ordinal DESC
LIMIT $3

-- facts_of_lead --
-- As `lead_history`, up to an instant.
SELECT topic, partition, sequence, ordinal, at, type, data, digest
FROM {read}.history
WHERE company_id = $1 AND lead_id = $2 AND at < $3
ORDER BY at DESC, partition DESC, sequence DESC, ordinal DESC
LIMIT $4

-- slot_queue_place --
-- How many leads of a queue for slots go before one of this rank, how many wait, for how many lines, and how many calls of its
-- step began since an instant? Each count up to a limit. A priority with aging is as it is at $9.
WITH queued AS (
    SELECT urgency_class, planned_at, id,
        lead_priority - coalesce((rest ->> 'aging')::float8, 0)
            * greatest(0, extract(epoch FROM $9::timestamptz - planned_at)) / 3600 AS priority
    FROM {read}.leads
    WHERE company_id = $1 AND slot_queue = $2
    LIMIT $11
)
SELECT
    (SELECT count(*) FROM queued WHERE (urgency_class, priority, planned_at, id) < ($3, $4::float8, $5, $6)) AS before,
    (SELECT count(*) FROM queued) AS waiting,
    (SELECT max(lines) FROM {read}.slot_queues WHERE company_id = $1 AND queue = $2) AS lines,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM {read}.calls
            WHERE company_id = $1 AND schedule_id = $7 AND schedule_action_id = $8 AND created_at >= $10
                AND created_at < $9 AND deleted_at IS NULL
            LIMIT $11
        ) AS found
    ) AS calls

-- slot_queues_by_step --
-- The leads that wait or ask for a line, by step and by what they wait for, with the calls of the step since an instant.
SELECT g.schedule_id, g.step, g.status_wait, g.waiting, g.oldest_due_at, g.next_action_at, g.lines, began.calls AS calls_last_hour
FROM (
    SELECT l.schedule_id, l.step, l.status_wait, count(*) AS waiting, min(l.planned_at) AS oldest_due_at,
        min(l.next_action_at) FILTER (WHERE l.status_wait <> 'concurrency_cap') AS next_action_at, max(q.lines) AS lines
    FROM {read}.leads AS l
    LEFT JOIN {read}.slot_queues AS q
        ON q.company_id = l.company_id AND q.queue = l.slot_queue AND q.contact_partition = l.partition
    WHERE l.company_id = $1 AND l.slot_queue IS NOT NULL
    GROUP BY 1, 2, 3
    ORDER BY waiting DESC, 1, 2, 3
    LIMIT $4
) AS g
CROSS JOIN LATERAL (
    SELECT count(*) AS calls FROM {read}.calls AS c
    WHERE c.company_id = $1 AND c.schedule_id = g.schedule_id AND c.schedule_action_id = g.step AND c.created_at >= $2
        AND c.created_at <= $3 AND c.deleted_at IS NULL
) AS began

-- due_leads --
SELECT * FROM {read}.leads
WHERE company_id = $1 AND deleted_at IS NULL AND next_action_at < $2 AND (next_action_at, id) > ($3, $4)
ORDER BY next_action_at, id
LIMIT $5

-- due_leads_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.leads WHERE company_id = $1 AND deleted_at IS NULL AND next_action_at < $2 LIMIT $3
) AS found

-- expiring_leads --
SELECT * FROM {read}.leads
WHERE company_id = $1 AND status = 'waiting' AND deleted_at IS NULL AND next_action_at IS NULL AND expires_at < $2 AND id > $3
ORDER BY id
LIMIT $4

-- waiting_lead_ids --
SELECT id FROM {read}.leads
WHERE company_id = $1 AND schedule_id = $2 AND status IN ('scheduled', 'waiting') AND deleted_at IS NULL AND flight IS NULL
ORDER BY next_action_at NULLS FIRST, id
LIMIT $3

-- waiting_leads_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.leads
    WHERE company_id = $1 AND schedule_id = $2 AND status IN ('scheduled', 'waiting') AND deleted_at IS NULL AND flight IS NULL
    LIMIT $3
) AS found

-- live_leads_of_schedule --
-- The live leads of a schedule by step, up to a limit of leads.
SELECT step, count(*) AS leads, count(*) FILTER (WHERE callback_at IS NOT NULL) AS callbacks
FROM (
    SELECT step, callback_at FROM {read}.leads
    WHERE company_id = $1 AND schedule_id = $2 AND deleted_at IS NULL AND is_live
    LIMIT $3
) AS found
GROUP BY 1

-- live_leads_of_offer --
-- The live leads of an offer that run no schedule, up to a limit of leads.
SELECT NULL::text AS step, count(*) AS leads, count(*) FILTER (WHERE callback_at IS NOT NULL) AS callbacks
FROM (
    SELECT callback_at FROM {read}.leads
    WHERE company_id = $1 AND offer_id = $2 AND schedule_id IS NULL AND deleted_at IS NULL AND is_live
    LIMIT $3
) AS found

-- leads_of_ids --
SELECT * FROM {read}.leads WHERE company_id = $1 AND id = ANY ($2::bigint[]) AND deleted_at IS NULL

-- contacts_by_keys --
SELECT * FROM {read}.contacts WHERE company_id = $1 AND contact_key = ANY ($2::text[])

-- live_leads_of_contact --
SELECT * FROM {read}.leads
WHERE company_id = $1 AND contact_key = $2 AND deleted_at IS NULL AND is_live
ORDER BY id DESC
LIMIT $3

-- call_by_id --
SELECT * FROM {read}.calls WHERE company_id = $1 AND id = $2

-- call_by_uuid --
SELECT * FROM {read}.calls WHERE company_id = $1 AND uuid = $2

-- contact --
SELECT * FROM {read}.contacts WHERE company_id = $1 AND contact_key = $2

-- contacts --
SELECT c.*, {ordered} AS ordered_by,
    ARRAY(SELECT DISTINCT zone FROM {read}.leads AS l, unnest(l.zones) AS zone
        WHERE l.company_id = $1 AND l.contact_key = c.contact_key AND l.deleted_at IS NULL ORDER BY zone) AS time_zones,
    (SELECT h.data ->> 'source' FROM {read}.history AS h
        WHERE h.company_id = $1 AND h.contact_key = c.contact_key AND h.type LIKE 'contact.%'
            AND h.type = 'contact.opted_out' AND (c.opted_out_at IS NOT NULL OR c.rest ? 'opt_outs')
        ORDER BY h.at DESC, h.sequence DESC, h.ordinal DESC LIMIT 1) AS opted_out_source
FROM (SELECT *, contact_id AS id FROM {read}.contacts) AS c
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- contacts_count --
SELECT count(*) FROM (
    SELECT 1 FROM (SELECT *, contact_id AS id FROM {read}.contacts) AS c
    WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- reviews --
SELECT c.contact_key, c.id, c.rest, {ordered} AS ordered_by, t.at AS received_at, t.lead_id, t.data ->> 'body' AS body
FROM (SELECT *, contact_id AS id FROM {read}.contacts) AS c
LEFT JOIN LATERAL (
    SELECT h.at, h.lead_id, h.data FROM {read}.history AS h
    WHERE h.company_id = $1 AND h.contact_key = c.contact_key AND (
        (h.type = 'sms.received' AND h.data ->> 'meaning' = 'unclear')
        OR (h.type = 'contact.optout_review' AND h.data ? 'unread_number')
    )
    ORDER BY h.at DESC, h.sequence DESC, h.ordinal DESC LIMIT 1
) AS t ON true
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- reviews_count --
SELECT count(*) FROM (
    SELECT 1 FROM (SELECT *, contact_id AS id FROM {read}.contacts) AS c
    WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- reviews_by_reason --
-- Count what waits for a review, of all companies.
SELECT CASE WHEN rest ? 'unread_number' THEN 'unread_number' ELSE 'unclear_text' END AS reason, count(*) AS waiting
FROM {read}.contacts WHERE rest ? 'review_until' GROUP BY reason

-- suppressions --
SELECT s.*, {ordered} AS ordered_by FROM (SELECT *, contact_id AS id FROM {read}.suppressions) AS s
WHERE company_id = $1 AND list_id = $2{where} ORDER BY {order} LIMIT {limit}

-- suppressions_count --
SELECT count(*) FROM (
    SELECT 1 FROM (SELECT *, contact_id AS id FROM {read}.suppressions) AS s
    WHERE company_id = $1 AND list_id = $2{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- kept_submissions --
SELECT k.*, {ordered} AS ordered_by FROM {read}.kept_submissions AS k
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- kept_submissions_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.kept_submissions AS k WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- contact_history --
-- The newest facts about a contact itself.
SELECT at, type, lead_id, data FROM {read}.history
WHERE company_id = $1 AND contact_key = $2 AND type LIKE 'contact.%'
ORDER BY at DESC, sequence DESC, ordinal DESC
LIMIT $3

-- record_by_id --
SELECT * FROM {read}.records WHERE company_id = $1 AND type = $2 AND id = $3

-- record_by_uuid --
SELECT * FROM {read}.records WHERE company_id = $1 AND type = $2 AND uuid = $3

-- records --
SELECT *, {ordered} AS ordered_by FROM {read}.records
WHERE company_id = $1 AND type = $2 AND deleted_at IS NULL{where} ORDER BY {order} LIMIT {limit}

-- records_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.records WHERE company_id = $1 AND type = $2 AND deleted_at IS NULL{where} LIMIT {limit}
) AS found

-- audit_logs --
SELECT a.*, {ordered} AS ordered_by FROM {read}.audit_logs AS a
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- audit_logs_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.audit_logs WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- agent_status_timestamps --
SELECT t.*, {ordered} AS ordered_by FROM {read}.agent_status_timestamps AS t
WHERE company_id = $1{where} ORDER BY {order} LIMIT {limit}

-- agent_status_timestamps_count --
SELECT count(*) FROM (
    SELECT 1 FROM {read}.agent_status_timestamps WHERE company_id = $1{where} ORDER BY id DESC LIMIT {limit}
) AS found

-- agent_statuses --
-- The newest entry of each agent.
SELECT t.* FROM unnest($2::bigint[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT * FROM {read}.agent_status_timestamps WHERE company_id = $1 AND collaborator_id = a.id ORDER BY id DESC LIMIT 1
) AS t

-- agent_events --
-- The message of an event about one as it is now: an older version of it helps no page.
SELECT e.*, m.body AS message_body, m.version AS message_version, m.deleted_at AS message_deleted_at
FROM unnest($1::bigint[], $2::bigint[]) AS a (company_id, after)
CROSS JOIN LATERAL (
    SELECT * FROM {read}.agent_events AS f WHERE f.company_id = a.company_id AND f.id > a.after ORDER BY f.id LIMIT $3
) AS e
LEFT JOIN {read}.records AS m
    ON m.company_id = e.company_id AND m.type = 'agent_message' AND m.id = (e.data ->> 'record_id')::bigint
ORDER BY e.company_id, e.id

-- newest_agent_event --
SELECT id FROM {read}.agent_events WHERE company_id = $1 ORDER BY id DESC LIMIT 1

-- lead_marks --
-- Versions never go back, so a text of them differs once any has changed. A lead that moves has another contact.
SELECT l.company_id, l.id, concat_ws('/', l.version, l.contact_key, c.version, (
    SELECT sum(k.version) FROM {read}.calls AS k WHERE k.company_id = l.company_id AND k.lead_id = l.id
)) AS mark
FROM unnest($1::bigint[], $2::bigint[]) AS w (company_id, id)
JOIN {read}.leads AS l ON l.company_id = w.company_id AND l.id = w.id
LEFT JOIN {read}.contacts AS c ON c.contact_key = l.contact_key

-- agent_marks --
-- A call that ends has a higher version; one that begins is another one. The page also shows the leads of the calls.
SELECT w.company_id, w.id, concat_ws('/', (
    SELECT e.id FROM {read}.agent_events AS e WHERE e.company_id = w.company_id ORDER BY e.id DESC LIMIT 1
), (
    SELECT string_agg(concat_ws('.', k.id, k.version, l.version), ',' ORDER BY k.created_at DESC, k.id DESC)
    FROM (
        SELECT id, version, lead_id, created_at FROM {read}.calls
        WHERE company_id = w.company_id AND agent_id = w.id AND deleted_at IS NULL
        ORDER BY created_at DESC, id DESC LIMIT $3
    ) AS k
    LEFT JOIN {read}.leads AS l ON l.company_id = w.company_id AND l.id = k.lead_id
)) AS mark
FROM unnest($1::bigint[], $2::bigint[]) AS w (company_id, id)

-- acknowledged_counts --
SELECT (data ->> 'agent_message_id')::bigint AS message_id, count(DISTINCT data ->> 'agent_id') AS agents
FROM {read}.history
WHERE company_id = $1 AND type = 'agent_message.acknowledged' AND (data ->> 'agent_message_id')::bigint = ANY ($2::bigint[])
GROUP BY 1

-- acknowledged --
SELECT DISTINCT (data ->> 'agent_message_id')::bigint AS message_id
FROM {read}.history
WHERE company_id = $1 AND type = 'agent_message.acknowledged' AND (data ->> 'agent_id')::bigint = $2
    AND (data ->> 'agent_message_id')::bigint = ANY ($3::bigint[])

-- fleet_members --
SELECT fleet.id::bigint AS fleet_id, array_agg(buyer.id ORDER BY buyer.id) AS buyer_ids
FROM {read}.records AS buyer, jsonb_array_elements_text(buyer.body -> 'buyer_fleet_ids') AS fleet (id)
WHERE buyer.company_id = $1 AND buyer.type = 'buyer' AND buyer.deleted_at IS NULL
    AND buyer.body ? 'buyer_fleet_ids' AND fleet.id::bigint = ANY ($2::bigint[])
GROUP BY fleet.id::bigint

-- slots --
SELECT resource, in_use, waiting_count FROM {read}.slots WHERE company_id = $1 AND resource = ANY ($2::text[])

-- tallies --
SELECT resource, tallies::text AS tallies FROM {read}.slots WHERE company_id = $1 AND resource = ANY ($2::text[])

-- last_grants --
SELECT resource, last_granted_at FROM {read}.slots
WHERE company_id = $1 AND resource = ANY ($2::text[]) AND last_granted_at IS NOT NULL

-- ring_pools --
-- `numbers` is a list of [number_id, hash of the visitor, when it is free]; the time is compared in the engine's milliseconds.
SELECT ring_pool_id, overflow_count, last_overflow_at,
    (SELECT count(*) FROM jsonb_array_elements(numbers) AS one WHERE (one ->> 2)::bigint > $3) AS held_count
FROM {read}.ring_pools
WHERE company_id = $1 AND ring_pool_id = ANY ($2::bigint[])

-- ring_pool_holds --
-- The numbers that are held now, and the newest impression that showed each: every one that asks for a number extends its hold.
SELECT pool.ring_pool_id, held.number_id, held.visitor, shown.visitor_id, shown.uuid AS impression_uuid, shown.held_until
FROM {read}.ring_pools AS pool
CROSS JOIN LATERAL (
    SELECT (one ->> 0)::bigint AS number_id, one ->> 1 AS visitor
    FROM jsonb_array_elements(pool.numbers) AS one WHERE (one ->> 2)::bigint > $3
) AS held
LEFT JOIN LATERAL (
    SELECT i.visitor_id, i.uuid, i.held_until FROM {read}.impressions AS i
    WHERE i.company_id = $1 AND i.number_id = held.number_id ORDER BY i.created_at DESC, i.id DESC LIMIT 1
) AS shown ON true
WHERE pool.company_id = $1 AND pool.ring_pool_id = ANY ($2::bigint[])
ORDER BY pool.ring_pool_id, held.number_id

-- unblock_progress --
-- Each partition of contacts adds a row when it adopts a job; the projector has a position in every partition.
SELECT job_id,
    (SELECT max(partition) + 1 FROM {read}.positions WHERE topic = $3) AS partitions,
    count(*) AS partitions_begun,
    count(ended_at) AS partitions_ended,
    sum(unblock_count)::bigint AS unblock_count,
    sum(failed_count)::bigint AS failed_count,
    (array_agg(last_contact_id ORDER BY last_unblocked_at DESC, contact_partition)
        FILTER (WHERE last_contact_id IS NOT NULL))[1] AS last_contact_id,
    max(ended_at) AS ended_at
FROM {read}.unblock_sweeps
WHERE company_id = $1 AND job_id = ANY ($2::bigint[])
GROUP BY job_id

-- results --
SELECT request_id, company_id, verdict, answer::text AS answer, decided_at
FROM {read}.request_results
WHERE request_id = ANY ($1::text[])

-- newest_migration --
SELECT max(number) FROM {read}.migrations
