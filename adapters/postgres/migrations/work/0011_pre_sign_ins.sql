-- Who is signed in, and who has tried to? Times are the database's.
--
-- Of a token only the SHA-256 is stored. `credentials` is a digest of what the user signed in with: a session of an earlier
-- password is none. `pending_salt` is that of a second factor which the user has begun to set up.
CREATE TABLE {work}.sessions (
    id            text         PRIMARY KEY,
    token_sha256  text         NOT NULL,
    company_id    bigint       NOT NULL,
    user_id       bigint       NOT NULL,
    credentials   text         NOT NULL,
    created_at    timestamptz  NOT NULL DEFAULT clock_timestamp(),
    seen_at       timestamptz  NOT NULL DEFAULT clock_timestamp(),
    pending_salt  text
) WITH (fillfactor = 70);  -- seen_at moves with use
CREATE INDEX sessions_of_user ON {work}.sessions (company_id, user_id, created_at);
CREATE INDEX sessions_seen ON {work}.sessions (seen_at);

-- How often was a sign-in tried in a row, of a user or from an address? `subject` is a keyed digest of either.
CREATE TABLE {work}.sign_in_attempts (
    subject   text         PRIMARY KEY,
    attempts  integer      NOT NULL,
    last_at   timestamptz  NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX sign_in_attempts_last ON {work}.sign_in_attempts (last_at);

-- Which code of a second factor was used last? A code is good once. `step` is its number in time (RFC 6238).
CREATE TABLE {work}.used_codes (
    company_id  bigint       NOT NULL,
    user_id     bigint       NOT NULL,
    step        bigint       NOT NULL,
    PRIMARY KEY (company_id, user_id)
);
