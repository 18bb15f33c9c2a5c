-- incarnation --
-- When was this schema begun?
SELECT born_at FROM {work}.incarnation;

-- claim --
-- Take a command that nobody has, or whose claim ran out, or that an earlier attempt of the same claimant left behind.
-- Returns nothing where it is not to be had. The same attempt asked again gets the same answer.
INSERT INTO {work}.deliveries AS held
       (command_id, company_id, channel, incarnation, claimant, claim_id, claimed_at, updated_at, leased_until)
SELECT $1, $2, $3, incarnation.id, $4, $5, $6, $6, clock_timestamp() + $7 * interval '1 second'
  FROM {work}.incarnation
    ON CONFLICT (command_id) DO UPDATE
   SET claimant = excluded.claimant,
       claim_id = excluded.claim_id,
       taken_over = held.taken_over OR held.claim_id <> excluded.claim_id,
       updated_at = excluded.updated_at,
       leased_until = excluded.leased_until
 WHERE held.state = 'claimed' AND (held.leased_until < clock_timestamp() OR held.claimant = excluded.claimant)
RETURNING taken_over;

-- find --
-- What became of a command that could not be claimed?
SELECT state, outcome, posted_at, leased_until >= clock_timestamp() AND claimant <> $3 AS is_leased
  FROM {work}.deliveries
 WHERE command_id = $1 AND company_id = $2;

-- renew --
UPDATE {work}.deliveries
   SET leased_until = clock_timestamp() + $2 * interval '1 second'
 WHERE claimant = $1 AND posted_at IS NULL;

-- record --
-- The second condition lets a record whose answer was lost be made again.
UPDATE {work}.deliveries
   SET state = $3, outcome = $4, updated_at = $5, provider = $6, provider_ref = $7
 WHERE command_id = $1 AND claimant = $2 AND (state = 'claimed' OR outcome = $4)
RETURNING command_id;

-- release --
DELETE FROM {work}.deliveries WHERE command_id = $1 AND claimant = $2 AND state = 'claimed' AND NOT taken_over;

-- mark_posted --
UPDATE {work}.deliveries SET posted_at = $2, updated_at = $2 WHERE command_id = $1;

-- progress --
SELECT next_offset FROM {work}.delivery_progress WHERE topic = $1 AND topic_id = $2 AND partition = $3;

-- save_progress --
-- Progress of one topic never goes back; a topic that was made anew begins anew.
INSERT INTO {work}.delivery_progress AS saved (topic, topic_id, partition, next_offset)
VALUES ($1, $2, $3, $4)
    ON CONFLICT (topic, partition) DO UPDATE
   SET topic_id = excluded.topic_id, next_offset = excluded.next_offset
 WHERE saved.topic_id <> excluded.topic_id OR saved.next_offset < excluded.next_offset;

-- forget --
-- Rows of commands that no topic holds any more.
DELETE FROM {work}.deliveries
 WHERE command_id IN (SELECT command_id FROM {work}.deliveries WHERE claimed_at < $1 LIMIT $2);
