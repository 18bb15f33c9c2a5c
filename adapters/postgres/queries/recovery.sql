-- What do the readers of topics remember, and how do they go on after a topic was lost?

-- projected --
SELECT topic, partition, topic_id, next_offset, next_offset - 1 AS last_offset, last_digest FROM {read}.positions;

-- followed --
SELECT topic, partition, topic_id, next_offset, last_offset, last_digest FROM {work}.subscription_progress;

-- carried_out --
SELECT topic, partition, topic_id, next_offset, -1 AS last_offset, '' AS last_digest FROM {work}.delivery_progress;

-- go_on_projected --
-- The epoch fences a projector that stands before the loss.
UPDATE {read}.positions SET topic_id = $3, next_offset = $4, last_digest = '', epoch = epoch + 1
 WHERE topic = $1 AND partition = $2;

-- go_on_followed --
UPDATE {work}.subscription_progress SET topic_id = $3, next_offset = $4, last_offset = -1, last_digest = ''
 WHERE topic = $1 AND partition = $2;

-- go_on_carried_out --
UPDATE {work}.delivery_progress SET topic_id = $3, next_offset = $4 WHERE topic = $1 AND partition = $2;
