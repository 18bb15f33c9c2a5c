-- What did the newest contacts on a channel come to? The facts of the history that say so; the index holds no other fact.
CREATE INDEX history_outcomes ON {read}.history (company_id, (data ->> 'kind'), at) WHERE type = 'outcome.recorded';
