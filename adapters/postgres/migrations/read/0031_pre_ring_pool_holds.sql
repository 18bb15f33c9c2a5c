-- For whom is a number of a ring pool held? The newest impression that showed it says so.
CREATE INDEX impressions_of_numbers ON {read}.impressions (company_id, number_id, created_at DESC, id DESC)
    WHERE number_id IS NOT NULL;
