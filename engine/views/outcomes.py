"""What have contacts come to on each channel? Commands by their newest outcome: done, failed, or neither."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct

from schemas.outcomes import GATE_OUTCOMES, OUTCOMES

Judgement = Literal["done", "failed", "open"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)

FAILED: Mapping[str, frozenset[str]] = {
    "call": frozenset({"not_placed", "congestion", "invalid_number"}),
    "sms": frozenset({"not_placed", "failed", "undelivered", "invalid_number", "opted_out"}),
    "email": frozenset({"not_placed", "failed", "bounced_hard", "bounced_soft"}),
    "webhook": frozenset({"not_placed", "failed"}),
}
"""Channel -> outcomes by which nobody was reached: no telephone rang, and nothing came to a telephone, mailbox or receiver.

A text whose outcome is an opt-out was refused by the carrier; in a call it was said, and an e-mail had arrived before it.
"""

OPEN = frozenset({"canceled", "unknown"}) | GATE_OUTCOMES
"""Outcomes of what was called off, what a gateway dropped, or what was never reported: neither done nor failed."""


class OutcomeCount(Struct, frozen=True):
    """Commands of a channel with one newest outcome, as many as are visible, and the facts that were looked at for them."""

    channel: str
    outcome: str
    commands: int
    facts: int


class ChannelOutcomes(Struct, frozen=True):
    """Commands of a channel: by judgement, by outcome (the most first), and those that were sent."""

    judged: Mapping[Judgement, int]
    outcomes: Mapping[str, int]
    sent: int


class OutcomesByChannel(Struct, frozen=True):
    """What commands came to, by channel. `at_least`: channels that have more facts than were looked at."""

    channels: Mapping[str, ChannelOutcomes]
    at_least: tuple[str, ...]


def judge(channel: str, outcome: str | None) -> Judgement:
    """Return what an outcome says of its contact; one that is None or not known here is open."""
    if outcome in OPEN or outcome not in OUTCOMES[channel]:
        return "open"
    return "failed" if outcome in FAILED[channel] else "done"


def count_outcomes(found: Iterable[OutcomeCount], limit: int) -> OutcomesByChannel:
    """Return the counts of every channel; `found` are of at most `limit` facts of each."""
    counts: dict[str, dict[str, OutcomeCount]] = {channel: {} for channel in OUTCOMES}
    for one in found:
        counts[one.channel][one.outcome] = one
    facts = {channel: sum(one.facts for one in rows.values()) for channel, rows in counts.items()}
    return OutcomesByChannel(
        {channel: _add_up(channel, rows) for channel, rows in counts.items()},
        tuple(channel for channel in OUTCOMES if facts[channel] >= limit),
    )


def _add_up(channel: str, counts: Mapping[str, OutcomeCount]) -> ChannelOutcomes:
    judged: dict[Judgement, int] = dict.fromkeys(JUDGEMENTS, 0)
    for name, one in counts.items():
        judged[judge(channel, name)] += one.commands
    by_count = sorted((one for one in counts.values() if one.commands), key=lambda one: (-one.commands, one.outcome))
    sent = sum(one.commands for one in by_count if _was_sent(channel, one.outcome))
    return ChannelOutcomes(judged, {one.outcome: one.commands for one in by_count}, sent)


def _was_sent(channel: str, outcome: str) -> bool:
    """Return whether a command with this outcome left for its receiver: then it counts as an attempt."""
    known = OUTCOMES[channel].get(outcome)
    return known is not None and known.counts_attempt
