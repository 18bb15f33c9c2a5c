-- What came of a request? Kept 24 h, for whoever waits for it or asks again.
CREATE TABLE {read}.request_results (
    request_id  text         NOT NULL PRIMARY KEY,
    company_id  bigint,
    verdict     text         NOT NULL,
    answer      jsonb        NOT NULL,
    decided_at  timestamptz  NOT NULL
);
CREATE INDEX request_results_decided ON {read}.request_results USING brin (decided_at);
