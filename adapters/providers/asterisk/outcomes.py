"""What became of a call, by all that Asterisk has said? Facts are only added: their order does not matter.

| fact | says |
| --- | --- |
| `ringing`, `answered`, `ended` | when the lead's leg was (milliseconds) |
| `cause`, `sip` | why that leg ended: Q.850 and SIP |
| `by.lead`, `by.us`, `by.b<buyer>` | when that side hung up |
| `machine` | MACHINE, HUMAN or NOTSURE |
| `b<buyer>.answered`, `b<buyer>.turn` | when a buyer's leg was answered, and its place among all events |
| `b<buyer>.bridged`, `b<buyer>.ended`, `b<buyer>.cause` | the same of a buyer's leg as of the lead's |
| `was_up`, `b<buyer>.was_up` | that a look-up found a leg that had been answered and was over |
| `recording` | the name of the recording |
| `lost` | when a look-up found neither the call nor how it ended, and Asterisk had restarted since |
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from adapters.gateway.ports import DeliveryResult
from adapters.providers.ports import Order
from schemas.commands import PlaceCall
from schemas.instant import SECOND, Instant

UNANSWERED: Mapping[int, str] = {
    1: "invalid_number",
    3: "invalid_number",
    17: "busy",
    18: "no_answer",
    19: "no_answer",
    20: "no_answer",
    21: "declined",
    22: "invalid_number",
    28: "invalid_number",
}
"""Q.850 cause of the end of a call that was not answered -> outcome; any other is `congestion`."""

RANG = frozenset({"busy", "no_answer", "declined", "canceled"})

_BUYER = re.compile(r"b([0-9]+)\.(\w+)")

LOST_FOR = 20 * SECOND
"""How long a report of the end is waited for, once a look-up has found nothing."""


def call_outcome(order: Order, recording_url: str | None, *, now: Instant) -> DeliveryResult | None:
    """Return the outcome of a call, None while it lasts."""
    facts = order.facts
    if "ended" not in facts:
        return _lost(order, now)
    outcome, buyer = _outcome(facts)
    command = order.command
    agent_id = command.agent_id if isinstance(command, PlaceCall) else None
    is_connected = outcome == "connected_buyer"
    answered_at = instant(facts, "answered")
    return DeliveryResult(
        # Where an agent of ours talked, no buyer did.
        outcome="connected_human" if is_connected and agent_id is not None else outcome,
        provider_ref=order.provider_ref,
        rang="ringing" in facts or _is_answered(facts) or outcome in RANG,
        answered_by=_answered_by(facts),
        ringing_at=instant(facts, "ringing"),
        answered_at=answered_at,
        buyer_answered_at=instant(facts, f"b{buyer}.bridged") if is_connected and agent_id is None else None,
        buyer_id=buyer if is_connected and isinstance(command, PlaceCall) and command.buyer_legs else None,
        talk_seconds=_talk_seconds(facts, buyer) if is_connected else 0,
        agent_id=agent_id,
        hung_up_by=_hung_up_by(facts, outcome),
        hangup_cause=" ".join(facts[name] for name in ("cause", "sip") if name in facts) or None,
        recording_url=recording_url if "recording" in facts else None,
        detail=_detail(facts),
    )


def winner(facts: Mapping[str, str]) -> int | None:
    """Return the buyer whose leg was the first to be answered."""
    turns = [(turn, buyer) for buyer, fact, turn in _of_buyers(facts) if fact == "turn"]
    return min(turns, key=lambda one: int(one[0]))[1] if turns else None


def buyers_that(facts: Mapping[str, str], fact: str) -> frozenset[int]:
    """Return the buyers that have a fact."""
    return frozenset(buyer for buyer, name, _ in _of_buyers(facts) if name == fact)


def instant(facts: Mapping[str, str], name: str) -> Instant | None:
    """Return when something was, None where that is unknown."""
    text = facts.get(name, "")
    return Instant(int(text)) if text.isdigit() else None


def _of_buyers(facts: Mapping[str, str]) -> list[tuple[int, str, str]]:
    found = ((_BUYER.fullmatch(name), value) for name, value in facts.items())
    return [(int(match[1]), match[2], value) for match, value in found if match is not None]


def _lost(order: Order, now: Instant) -> DeliveryResult | None:
    lost_at = instant(order.facts, "lost")
    if lost_at is None or lost_at > now - LOST_FOR:
        return None
    return DeliveryResult(
        outcome="unknown", provider_ref=order.provider_ref, detail="Asterisk has restarted and does not know the call"
    )


def _outcome(facts: Mapping[str, str]) -> tuple[str, int | None]:
    """Return the outcome, and the buyer that talked."""
    if not _is_answered(facts):
        cause = int(facts["cause"]) if facts.get("cause", "").isdigit() else 0
        return ("canceled" if "by.us" in facts else UNANSWERED.get(cause, "congestion")), None
    talked = buyers_that(facts, "bridged") or buyers_that(facts, "was_up")
    if talked:
        return "connected_buyer", winner(facts) if winner(facts) in talked else min(talked)
    if facts.get("machine") == "MACHINE":
        return "voicemail", None
    # One of which only a look-up tells was answered while no gateway listened: nobody was there to talk.
    return ("caller_hung_up" if "by.lead" in facts else "abandoned_by_us"), None


def _is_answered(facts: Mapping[str, str]) -> bool:
    return "answered" in facts or "was_up" in facts


def _answered_by(facts: Mapping[str, str]) -> Literal["human", "machine", "unknown"] | None:
    if not _is_answered(facts):
        return None
    said = facts.get("machine")
    return "machine" if said == "MACHINE" else "human" if said == "HUMAN" else "unknown"


def _hung_up_by(facts: Mapping[str, str], outcome: str) -> Any:
    """Return the side that hung up first, None where nobody knows."""
    if outcome in {"voicemail", "abandoned_by_us"}:
        return "us"
    sides = {"by.lead": "caller", "by.us": "us", **{f"b{buyer}.by": "buyer" for buyer in buyers_that(facts, "by")}}
    known = [(at, side) for name, side in sides.items() if (at := instant(facts, name)) is not None]
    return min(known)[1] if known else None


def _talk_seconds(facts: Mapping[str, str], buyer: int | None) -> int:
    """Return how long the two were connected: until the first of the legs ended."""
    ends = [end for name in ("ended", f"b{buyer}.ended") if (end := instant(facts, name)) is not None]
    bridged_at = instant(facts, f"b{buyer}.bridged")
    return 0 if bridged_at is None or not ends else max(0, min(ends) - bridged_at) // SECOND


def _detail(facts: Mapping[str, str]) -> str:
    causes = sorted((buyer, cause) for buyer, fact, cause in _of_buyers(facts) if fact == "cause")
    return (
        f"Asterisk: cause {facts.get('cause')}"
        + "".join(
            f", the telephone of buyer {buyer}: {cause}" if buyer else f", the buyer's telephone: {cause}"
            for buyer, cause in causes
        )
        + _heard(facts)
    )


def _heard(facts: Mapping[str, str]) -> str:
    """Return what was played to a machine, or to a buyer before they were connected."""
    if "greeted" in facts and "announced" in facts:
        return ", the machine was left the sound of the account"
    is_whispered = any(fact == "whispered" for _, fact, _ in _of_buyers(facts))
    return ", the sound of the account was played for the whisper" if is_whispered else ""
