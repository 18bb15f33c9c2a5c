-- What do the readers of topics remember, and how do they go on after a topic was lost?

-- projected --
SELECT topic, partition, topic_id, next_offset, next_offset - 1 AS last_offset, last_digest,
       NULL::bigint AS epoch, NULL::bigint AS sequence
  FROM {read}.positions;

-- followed --
SELECT topic, partition, topic_id, next_offset, last_offset, last_digest, NULL::bigint AS epoch, NULL::bigint AS sequence
  FROM {work}.subscription_progress;

-- carried_out --
SELECT topic, partition, topic_id, next_offset, -1 AS last_offset, '' AS last_digest, epoch, sequence
  FROM {work}.delivery_progress;

-- touched --
-- Who was the subject of a decision that the database knows and the log does not? The topic's newest decisions by partition
-- are $2 and $3.
SELECT DISTINCT h.company_id, h.contact_key
  FROM {read}.history AS h
  JOIN unnest($2::integer[], $3::bigint[]) AS held (partition, sequence) USING (partition)
 WHERE h.topic = $1 AND h.sequence > held.sequence AND h.company_id IS NOT NULL AND h.contact_key IS NOT NULL
 ORDER BY 1, 2
 LIMIT $4;

-- go_on_projected --
-- The epoch fences a projector that still reads the former topic.
UPDATE {read}.positions SET topic_id = $3, next_offset = $4, last_digest = '', epoch = epoch + 1
 WHERE topic = $1 AND partition = $2;

-- go_on_followed --
UPDATE {work}.subscription_progress SET topic_id = $3, next_offset = $4, last_offset = -1, last_digest = ''
 WHERE topic = $1 AND partition = $2;

-- go_on_carried_out --
UPDATE {work}.delivery_progress SET topic_id = $3, next_offset = $4 WHERE topic = $1 AND partition = $2;
