-- begin --
-- Write down that a provider configuration is about to be asked. Another configuration than before starts without facts; for
-- the same one the row stays: a suspended gateway must not erase what another one has learnt since. Only while the claim $7
-- has the command (null: outside of a delivery); return whether it does. The lock makes a take-over wait for this
-- statement, or this statement end without an order: a gateway that took a command over and finds none knows that none will come.
  WITH claimed AS (
      SELECT 1 FROM {work}.deliveries WHERE command_id = $1 AND claim_id = $7 AND state = 'claimed' FOR SHARE
  ), allowed AS (
      SELECT $7::text IS NULL OR EXISTS (SELECT FROM claimed) AS is_allowed
  ), noted AS (
      INSERT INTO {work}.provider_orders AS known
             (command_id, company_id, provider_configuration_id, channel, command, check_at)
      SELECT $1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 second' FROM allowed WHERE is_allowed
          ON CONFLICT (command_id) DO UPDATE
         SET provider_configuration_id = excluded.provider_configuration_id,
             provider_ref = NULL,
             facts = '{}',
             asked_at = clock_timestamp(),
             check_at = excluded.check_at,
             checks = 0,
             outcome = NULL,
             ended_at = NULL
       WHERE known.company_id = excluded.company_id
         AND known.provider_configuration_id <> excluded.provider_configuration_id
  )
SELECT is_allowed FROM allowed;

-- placed --
UPDATE {work}.provider_orders SET provider_ref = $3
 WHERE command_id = $1 AND provider_configuration_id = $2;

-- placed_parts --
-- A carrier may use an id again after some time: the newest order has it.
INSERT INTO {work}.provider_order_parts AS known (provider_configuration_id, reference, command_id, part)
SELECT $1, named.reference, $2, max(named.part)
  FROM unnest($3::text[]) WITH ORDINALITY AS named (reference, part)
 GROUP BY named.reference
    ON CONFLICT (provider_configuration_id, reference) DO UPDATE
   SET command_id = excluded.command_id, part = excluded.part, placed_at = excluded.placed_at;

-- find_part --
SELECT parts.command_id, parts.part
  FROM {work}.provider_order_parts AS parts
  JOIN {work}.provider_orders AS orders
    ON orders.command_id = parts.command_id AND orders.provider_configuration_id = parts.provider_configuration_id
 WHERE orders.company_id = $1 AND parts.provider_configuration_id = $2 AND parts.reference = $3;

-- find_alike --
-- Parts whose reference has one of these spellings, of orders for which a receipt may still come: two rows are one too many.
SELECT parts.command_id, parts.part
  FROM {work}.provider_order_parts AS parts
  JOIN {work}.provider_orders AS orders
    ON orders.command_id = parts.command_id AND orders.provider_configuration_id = parts.provider_configuration_id
 WHERE orders.company_id = $1 AND parts.provider_configuration_id = $2
   AND lower(ltrim(parts.reference, '0')) = ANY ($3::text[])
   AND (orders.ended_at IS NULL OR convert_from(orders.outcome, 'UTF8')::jsonb ->> 'outcome' = 'sent')
 LIMIT 2;

-- find --
SELECT * FROM {work}.provider_orders WHERE company_id = $1 AND command_id = $2;

-- add_facts --
-- Add what a provider said, and look again within $6 seconds (null: as planned). Facts of a name are replaced.
UPDATE {work}.provider_orders
   SET facts = facts || $5::jsonb,
       provider_ref = COALESCE($4, provider_ref),
       check_at = LEAST(check_at, clock_timestamp() + $6 * interval '1 second')
 WHERE company_id = $1 AND provider_configuration_id = $2 AND command_id = $3
RETURNING *;

-- end --
-- A later outcome replaces the one before.
UPDATE {work}.provider_orders SET outcome = $3, ended_at = COALESCE(ended_at, clock_timestamp())
 WHERE company_id = $1 AND command_id = $2;

-- due --
-- Take open orders that are due for a look-up, the longest due first, and plan the next one: each waits twice as long.
  WITH due AS (
      SELECT command_id FROM {work}.provider_orders
       WHERE ended_at IS NULL AND channel = $1 AND check_at <= clock_timestamp()
       ORDER BY check_at LIMIT $2 FOR UPDATE SKIP LOCKED
  )
UPDATE {work}.provider_orders AS known
   SET checks = known.checks + 1,
       check_at = clock_timestamp() + LEAST($4, $3 * 2 ^ LEAST(known.checks, 10)) * interval '1 second'
  FROM due
 WHERE known.command_id = due.command_id
RETURNING known.*;

-- references --
-- References of other orders of a configuration since an instant.
SELECT provider_ref FROM {work}.provider_orders
 WHERE provider_configuration_id = $1 AND provider_ref IS NOT NULL AND asked_at >= $2 AND command_id <> $3;

-- abandon --
-- End open orders that were given so long ago that nobody waits for them.
UPDATE {work}.provider_orders SET ended_at = clock_timestamp()
 WHERE ended_at IS NULL AND channel = $1 AND asked_at < clock_timestamp() - $2 * interval '1 second';

-- forget --
DELETE FROM {work}.provider_orders
 WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM {work}.provider_orders WHERE asked_at < clock_timestamp() - $1 * interval '1 second'
      ORDER BY asked_at LIMIT $2 FOR UPDATE SKIP LOCKED
 ));

-- forget_parts --
DELETE FROM {work}.provider_order_parts
 WHERE ctid = ANY (ARRAY(
     SELECT ctid FROM {work}.provider_order_parts WHERE placed_at < clock_timestamp() - $1 * interval '1 second'
      ORDER BY placed_at LIMIT $2 FOR UPDATE SKIP LOCKED
 ));
