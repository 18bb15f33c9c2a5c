-- begin --
INSERT INTO {work}.sandbox_orders (command_id, given_at) VALUES ($1, $2) ON CONFLICT (command_id) DO NOTHING;

-- find --
SELECT given_at FROM {work}.sandbox_orders WHERE command_id = $1;

-- forget --
DELETE FROM {work}.sandbox_orders
 WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM {work}.sandbox_orders WHERE given_at < $1 ORDER BY given_at LIMIT $2 FOR UPDATE SKIP LOCKED
 ));
