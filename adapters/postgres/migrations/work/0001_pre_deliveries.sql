-- Which commands did a gateway take on? A command is acted on by whoever inserted its row, and by nobody else.
--
-- claimed: the provider may or may not have been asked. sent: it was, the outcome is to come. done: the outcome is known.
-- unknown: the gateway fell between asking and knowing. dropped: fence or `not_after`, nobody was reached.
CREATE TABLE {work}.deliveries (
    command_id    text         NOT NULL PRIMARY KEY,
    company_id    bigint       NOT NULL,
    channel       text         NOT NULL,
    incarnation   uuid         NOT NULL,
    state         text         NOT NULL DEFAULT 'claimed'
                  CHECK (state IN ('claimed', 'sent', 'done', 'unknown', 'dropped')),
    provider      text,
    provider_ref  text,
    claimed_at    timestamptz  NOT NULL,
    updated_at    timestamptz  NOT NULL
) WITH (fillfactor = 70);  -- claimed, recorded, posted: three versions of each row
CREATE INDEX deliveries_reference ON {work}.deliveries (provider, provider_ref) WHERE provider_ref IS NOT NULL;
CREATE INDEX deliveries_claimed ON {work}.deliveries USING brin (claimed_at);

-- What was said to and by a provider about a command.
CREATE TABLE {work}.send_log (
    id          bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    command_id  text         NOT NULL,
    company_id  bigint       NOT NULL,
    at          timestamptz  NOT NULL,
    event       text         NOT NULL,
    detail      jsonb        NOT NULL
);
CREATE INDEX send_log_command ON {work}.send_log (company_id, command_id, id);
CREATE INDEX send_log_at ON {work}.send_log USING brin (at);

-- Since when does this schema exist? A command from before may have been acted on under claims that were lost with the last.
CREATE TABLE {work}.incarnation (
    one      boolean      NOT NULL PRIMARY KEY DEFAULT true CHECK (one),
    id       uuid         NOT NULL,
    born_at  timestamptz  NOT NULL
);
