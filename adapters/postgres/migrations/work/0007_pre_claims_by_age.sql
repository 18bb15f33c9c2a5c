-- Which claims are over their time? A B-tree finds the oldest at once; rows that fill freed space make a BRIN index find all.
CREATE INDEX deliveries_by_age ON {work}.deliveries (claimed_at);
DROP INDEX {work}.deliveries_claimed;
