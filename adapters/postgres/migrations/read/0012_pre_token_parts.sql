-- Where are the tokens of a large lead or call, of which a decision holds only the parts that changed? Put together in its row.
--
-- `owner` is the key of the lead or call (`lead/17`). A part is written like a row: a later decision of its partition wins,
-- between partitions the higher version. An empty part is one that the decisions removed.
CREATE TABLE {read}.token_parts (
    owner      text     NOT NULL,
    number     integer  NOT NULL,
    version    bigint   NOT NULL,
    partition  integer  NOT NULL,
    sequence   bigint   NOT NULL,
    tokens     jsonb    NOT NULL,
    PRIMARY KEY (owner, number)
);
