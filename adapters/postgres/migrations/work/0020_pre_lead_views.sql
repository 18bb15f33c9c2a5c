-- Which views of the list of leads has a user saved? `query` is parameter -> text, as the address of the list has them.
CREATE TABLE {work}.lead_views (
    id          bigint       GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    company_id  bigint       NOT NULL,
    user_id     bigint       NOT NULL,
    name        text         NOT NULL,
    query       jsonb        NOT NULL,
    saved_at    timestamptz  NOT NULL,
    UNIQUE (company_id, user_id, name)
);
