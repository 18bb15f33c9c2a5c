-- Which attempts to post outgoing webhooks were made? One row each, by the gateway that made it; kept for 30 days.
CREATE TABLE {work}.webhook_logs (
    id                      bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id              bigint       NOT NULL,
    created_at              timestamptz  NOT NULL,
    outgoing_webhook_id     bigint       NOT NULL,
    webhook_manual_fire_id  bigint,
    lead_id                 bigint,
    call_id                 bigint,
    step_id                 text         NOT NULL,
    command_id              text         NOT NULL,
    attempt                 integer      NOT NULL,
    method                  text         NOT NULL,
    host                    text         NOT NULL,
    status                  integer,
    milliseconds            integer      NOT NULL,
    accepted                boolean      NOT NULL,
    detail                  text         NOT NULL
);
CREATE INDEX webhook_logs_listed ON {work}.webhook_logs (company_id, created_at, id);
CREATE INDEX webhook_logs_by_id ON {work}.webhook_logs (company_id, id);
CREATE INDEX webhook_logs_of_webhook ON {work}.webhook_logs (company_id, outgoing_webhook_id, created_at, id);
CREATE INDEX webhook_logs_of_lead ON {work}.webhook_logs (company_id, lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX webhook_logs_of_call ON {work}.webhook_logs (company_id, call_id) WHERE call_id IS NOT NULL;
CREATE INDEX webhook_logs_of_fire ON {work}.webhook_logs (company_id, webhook_manual_fire_id, id)
    WHERE webhook_manual_fire_id IS NOT NULL;
CREATE INDEX webhook_logs_created ON {work}.webhook_logs USING brin (created_at);  -- for retention
