-- Which circuits of its channel are not closed, as the gateway said when it renewed its row? NULL: none. Their seconds count
-- from `renewed_at`.
ALTER TABLE {work}.gateways ADD COLUMN circuits jsonb;
