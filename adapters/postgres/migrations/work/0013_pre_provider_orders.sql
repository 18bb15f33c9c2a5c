-- Which orders were given to which provider configuration? Written before the provider is asked, so that after a crash, and in
-- any process, a callback or a look-up finds the command by its id. `command` is the command as JSON; `facts` are what the
-- provider said about it, the newest of each name; `outcome` is what came of it, as JSON. Times are of the database's clock.
CREATE TABLE {work}.provider_orders (
    command_id                 text         NOT NULL PRIMARY KEY,
    company_id                 bigint       NOT NULL,
    provider_configuration_id  bigint       NOT NULL,
    channel                    text         NOT NULL,
    command                    bytea        NOT NULL,
    provider_ref               text,
    facts                      jsonb        NOT NULL DEFAULT '{}',
    asked_at                   timestamptz  NOT NULL DEFAULT clock_timestamp(),
    check_at                   timestamptz  NOT NULL,
    checks                     integer      NOT NULL DEFAULT 0,
    outcome                    bytea,
    ended_at                   timestamptz
) WITH (fillfactor = 70);  -- asked, placed, reported, ended: several versions of each row
CREATE INDEX provider_orders_open ON {work}.provider_orders (channel, check_at) WHERE ended_at IS NULL;
CREATE INDEX provider_orders_reference ON {work}.provider_orders (provider_configuration_id, asked_at)
    WHERE provider_ref IS NOT NULL;
CREATE INDEX provider_orders_asked ON {work}.provider_orders USING brin (asked_at);
