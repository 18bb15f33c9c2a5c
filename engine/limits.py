"""How large may the records of a decision be? Constants of the version of the decision rules (`engine/decision_rules.py`).

They are no settings and do not depend on a topic's configuration: a replay uses the same ones. Changing a limit changes what
is decided. Sizes are those of the stored key, value and headers of a record.
"""

RECORD_BYTES_MAX = 1_000_000
"""Of each record that a decision writes: its own, a command, a value of the changelog, a message, a published rule.

Below Kafka's default `max.message.bytes` (1,048,588) by the room for the framing of a batch.
"""

DEAD_LETTER_BYTES_MAX = 2_000_000
"""Of a dead letter that holds its record whole, with the reason: `deadletter` takes 2,097,152 bytes."""

EXCERPT_BYTES = 4_096
"""Of the value of a record that no dead letter can hold: its beginning. The origin still has the rest, until retention."""

HEADERS_EXCERPT_BYTES = 4_096
"""Of the headers of such a record: the first ones that fit, whole."""

KEY_BYTES_MAX = 400
"""Of the key of a request: a contact key is at most a company's number and an e-mail address of 254 characters."""

ENTITY_KEY_BYTES_MAX = 1_000
"""Of the key of a value of state: a name before a contact key, an id, or a stream of 200 characters."""

SMS_SEGMENTS_MAX = 10
"""Of a rendered text: the most that carriers join."""

SUBJECT_LENGTH_MAX = 998
"""Of a rendered subject, in characters: the longest line of an e-mail (RFC 5322 section 2.1.1)."""

SPEECH_LENGTH_MAX = 600
"""Of a rendered whisper, in characters: some 40 seconds of speech, which a person waits for."""

RENDERED_BYTES_MAX = 500_000
"""Of a rendered e-mail or webhook body; that of an e-mail as JSON holds it: with its decision it fits into one record."""

OPEN_COMMANDS_MAX = 4_000
"""Commands of one channel that a partition of contacts has open, shared by company: one alone has 2,000. A gateway that
carries out nine texts a second for each partition is through with so many within the eight minutes that a text may take
to go out; what is over waits with its lead, where its priority and its hours are known."""
