"""Is a cap ever exceeded, and do the account's counters equal a recount of its log?"""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from engine.partition.ports import LogRecord
from schemas.account import CapUsage, Claim, Hold, Slots
from schemas.decisions import REMOVED, Change, Decision
from schemas.records import Record as RuleRecord
from schemas.requests import SlotReleased
from schemas.state import claim_key
from tests.simulation.decided import Decided, envelope_of, records_of

if TYPE_CHECKING:
    from tests.simulation.run import World

RESERVED = ("attempt", "connection")

COUNTED_ONLY = "number/"
"""Promised calls and calls by hand pass the caps of numbers; that steps do not, is held by tests of the account."""


NO_RELEASE = "no release"
"""What another input than a release says of the slots that it ends."""


class CapCount:
    """What the decisions of one partition say of grants: which are open, and how the others ended."""

    def __init__(self) -> None:
        self.limits: dict[str, dict[str, float]] = {}
        self.open: dict[str, Claim] = {}
        self.unknown: dict[str, Claim] = {}
        self.ended: dict[str, dict[str, tuple[Hold, Claim, str]]] = defaultdict(dict)
        self.before: dict[tuple[str, str], float] = {}

    def take(self, decision: Decision, released: SlotReleased | None) -> None:
        """Take in what a decision changed of records and claims; `released` is the slot that its request ends."""
        ended = NO_RELEASE if released is None else released.ended
        for change in decision.changes:
            if change.key.startswith("record/") and change.value != REMOVED:
                record = msgspec.json.decode(change.value, type=RuleRecord)
                self.limits[f"{record.type}/{record.id}"] = record.body.get("caps", {})
            elif change.key.startswith("claim/"):
                self._take_claim(change, ended)
        key = None if released is None or ended == "unknown" else claim_key(released.company_id, released.request_id)
        if key is not None and key in self.unknown:  # known now, whatever the account made of it
            self._end(key, self.unknown.pop(key), ended)

    def _take_claim(self, change: Change, ended: str) -> None:
        if change.value == REMOVED:
            unknown = self.unknown.pop(change.key, None)
            found = self.open.pop(change.key, None) or (unknown if ended != NO_RELEASE else None)
            if found is not None:
                self._end(change.key, found, ended)
            return
        claim = msgspec.json.decode(change.value, type=Claim)
        if claim.wake_at is not None:
            self.open.pop(change.key, None)
            self.unknown[change.key] = claim
            self._end(change.key, claim, "unknown")
        elif claim.granted_at is not None:
            self.open[change.key] = claim

    def _end(self, key: str, claim: Claim, ended: str) -> None:
        for hold in claim.holds:
            self.ended[hold.resource][key] = (hold, claim, ended)

    def faults(self, slots: Slots) -> Iterator[str]:
        """Yield what is wrong with the counters of one record."""
        for period, tally in slots.tallies.items():
            used, reserved = self._recount(slots.resource, tally)
            shown = {metric: tally.used.get(metric, 0) for metric in RESERVED}
            if (shown, {metric: tally.open.get(metric, 0) for metric in RESERVED}) != (used, reserved):
                yield f"{slots.resource} {period}: {tally} is not what the log tells: {used} used, {reserved} reserved"
            for metric in RESERVED:
                cap, amount = f"{metric}_{period}", used[metric] + reserved[metric]
                limit = self.limits.get(slots.resource, {}).get(cap) if not slots.resource.startswith(COUNTED_ONLY) else None
                if limit is not None and amount > max(limit, self.before.get((slots.resource, cap), 0)):
                    yield f"{slots.resource}: {amount} of {cap}, {limit} are allowed"
                self.before[slots.resource, cap] = amount

    def _recount(self, resource: str, tally: CapUsage) -> tuple[dict[str, float], dict[str, int]]:
        """Count what is used and what is reserved in the period of a tally."""
        used, reserved = dict.fromkeys(RESERVED, 0.0), dict.fromkeys(RESERVED, 0)
        for hold, claim, ended in self.ended[resource].values():
            if hold.number > tally.after and ended not in {"unused", NO_RELEASE}:
                used["attempt"] += 1
                used["connection"] += claim.buyer_id is not None and ended != "attempted"
        for claim in self.open.values():
            if any(hold.resource == resource and hold.number > tally.after for hold in claim.holds):
                reserved["attempt"] += 1
                reserved["connection"] += claim.buyer_id is not None
        return used, reserved


def caps_in(world: "World", accounts: list[Decided]) -> Iterator[str]:
    """No cap on attempts and connections is passed after any decision, and each counter is a recount of the log."""
    for decided in accounts:
        count = CapCount()
        requests = {
            record.offset: record for record in records_of(world, decided.aggregate.requests_topic.name, decided.partition)
        }
        for decision in decided.decisions:
            offset = decision.cause.offset
            count.take(decision, _released_in(None if offset is None else requests.get(offset)))
            for change in decision.changes:
                if change.key.startswith("slots/") and change.value != REMOVED:
                    slots = msgspec.json.decode(change.value, type=Slots)
                    yield from (f"{decided.name} #{decision.sequence}: {fault}" for fault in count.faults(slots))


def _released_in(record: LogRecord | None) -> SlotReleased | None:
    """Return the request that ends a slot; None for another."""
    envelope = None if record is None else envelope_of(record)
    if record is None or envelope is None or envelope.type != "slot.released":
        return None
    try:
        return msgspec.json.decode(record.value or b"", type=SlotReleased)
    except msgspec.MsgspecError:
        return None  # junk under the name of a release: it is refused
