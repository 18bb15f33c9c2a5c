-- renew_incarnation --
-- Is what was carried out up to an instant unknown to this incarnation, although it is older? Then begin a new one.
UPDATE {work}.incarnation SET id = gen_random_uuid(), born_at = clock_timestamp() WHERE born_at <= $1 RETURNING true;

-- claim --
-- Claim commands that are unclaimed, whose lease expired, or that an earlier attempt of the same claimant left behind.
-- Return the claimed ones. Idempotent: a repeated attempt gets the same answer. Sorted against deadlocks: two processes
-- lock the same commands in the same order.
INSERT INTO {work}.deliveries AS held
       (command_id, company_id, channel, incarnation, claimant, claim_id, claimed_at, updated_at, leased_until)
SELECT asked.command_id, asked.company_id, asked.channel, incarnation.id, asked.claimant, asked.claim_id, asked.claimed_at,
       asked.claimed_at, clock_timestamp() + asked.lease_seconds * interval '1 second'
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::float8[])
       AS asked (command_id, company_id, channel, claimant, claim_id, claimed_at, lease_seconds)
 CROSS JOIN {work}.incarnation
 ORDER BY asked.command_id
    ON CONFLICT (command_id) DO UPDATE
   SET claimant = excluded.claimant,
       claim_id = excluded.claim_id,
       taken_over = held.taken_over OR held.claim_id <> excluded.claim_id,
       updated_at = excluded.updated_at,
       leased_until = excluded.leased_until
 WHERE held.state = 'claimed' AND (held.leased_until < clock_timestamp() OR held.claimant = excluded.claimant)
RETURNING command_id, taken_over, (SELECT born_at FROM {work}.incarnation) AS born_at;

-- find --
-- The state of commands that could not be claimed.
SELECT found.command_id, state, outcome, posted_at,
       leased_until >= clock_timestamp() AND found.claimant <> asked.claimant AS is_leased
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS asked (command_id, company_id, claimant)
  JOIN {work}.deliveries AS found USING (command_id, company_id);

-- renew --
-- Extend the named attempts of the claimant only. Return those that still belong to it. As every statement on several
-- commands it locks them sorted, against deadlocks with another process.
  WITH locked AS (
      SELECT command_id FROM {work}.deliveries WHERE command_id = ANY($1) ORDER BY command_id FOR UPDATE
  )
UPDATE {work}.deliveries AS held
   SET leased_until = clock_timestamp() + $4 * interval '1 second'
  FROM unnest($1::text[], $2::text[]) AS kept (command_id, claim_id)
  JOIN locked USING (command_id)
 WHERE held.command_id = kept.command_id
   AND held.claim_id = kept.claim_id
   AND held.claimant = $3
   AND held.posted_at IS NULL
RETURNING held.command_id;

-- record --
-- The second condition lets a record be repeated whose answer was lost. Return the recorded commands.
  WITH locked AS (
      SELECT command_id FROM {work}.deliveries WHERE command_id = ANY($1) ORDER BY command_id FOR UPDATE
  )
UPDATE {work}.deliveries AS held
   SET state = said.state,
       outcome = said.outcome,
       updated_at = said.recorded_at,
       provider = said.provider,
       provider_ref = said.provider_ref
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::timestamptz[], $7::text[], $8::text[])
       AS said (command_id, claimant, claim_id, state, outcome, recorded_at, provider, provider_ref)
  JOIN locked USING (command_id)
 WHERE held.command_id = said.command_id
   AND held.claimant = said.claimant
   AND held.claim_id = said.claim_id
   AND (held.state = 'claimed' OR held.outcome = said.outcome)
RETURNING held.command_id;

-- release --
-- Delete a fresh claim. One that was taken over stays, expired: what its first claimant did is unknown.
WITH given_up AS (
    UPDATE {work}.deliveries SET leased_until = clock_timestamp() - interval '1 second'
     WHERE command_id = $1 AND claimant = $2 AND claim_id = $3 AND state = 'claimed' AND taken_over
)
DELETE FROM {work}.deliveries
 WHERE command_id = $1 AND claimant = $2 AND claim_id = $3 AND state = 'claimed' AND NOT taken_over;

-- mark_posted --
  WITH locked AS (
      SELECT command_id FROM {work}.deliveries WHERE command_id = ANY($1) ORDER BY command_id FOR UPDATE
  )
UPDATE {work}.deliveries AS held
   SET posted_at = done.posted_at, updated_at = done.posted_at
  FROM unnest($1::text[], $2::timestamptz[]) AS done (command_id, posted_at)
  JOIN locked USING (command_id)
 WHERE held.command_id = done.command_id;

-- progress --
SELECT next_offset, epoch, sequence, refused FROM {work}.delivery_progress WHERE topic = $1 AND topic_id = $2 AND partition = $3;

-- save_progress --
-- Progress of a topic never goes back; a topic that was created again starts again.
INSERT INTO {work}.delivery_progress AS saved (topic, topic_id, partition, next_offset, epoch, sequence, refused)
VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (topic, partition) DO UPDATE
   SET topic_id = excluded.topic_id, next_offset = excluded.next_offset, epoch = excluded.epoch,
       sequence = excluded.sequence, refused = excluded.refused
 WHERE saved.topic_id <> excluded.topic_id OR saved.next_offset < excluded.next_offset;

-- refused --
-- In which topics were commands refused because their decision was lower than one before it?
SELECT topic, sum(refused)::bigint AS refused FROM {work}.delivery_progress WHERE refused > 0 GROUP BY topic ORDER BY topic;

-- forget --
-- Delete rows of commands that topics no longer hold: the oldest first, without those that another gateway is deleting.
DELETE FROM {work}.deliveries
 WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM {work}.deliveries WHERE claimed_at < $1 ORDER BY claimed_at LIMIT $2 FOR UPDATE SKIP LOCKED
 ));
