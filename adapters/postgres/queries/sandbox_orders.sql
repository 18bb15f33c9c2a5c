-- begin --
-- Note an order while the claim $3 has its command (null: outside of a delivery). Return whether it does. The lock makes a
-- take-over wait for this statement, or this statement end without an order: a gateway that took a command over and finds no
-- order knows that none will come.
  WITH claimed AS (
      SELECT 1 FROM {work}.deliveries WHERE command_id = $1 AND claim_id = $3 AND state = 'claimed' FOR SHARE
  ), allowed AS (
      SELECT $3::text IS NULL OR EXISTS (SELECT FROM claimed) AS is_allowed
  ), noted AS (
      INSERT INTO {work}.sandbox_orders (command_id, given_at)
      SELECT $1, $2 FROM allowed WHERE is_allowed
          ON CONFLICT (command_id) DO NOTHING
  )
SELECT is_allowed FROM allowed;

-- find --
SELECT given_at FROM {work}.sandbox_orders WHERE command_id = $1;

-- forget --
DELETE FROM {work}.sandbox_orders
 WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM {work}.sandbox_orders WHERE given_at < $1 ORDER BY given_at LIMIT $2 FOR UPDATE SKIP LOCKED
 ));
