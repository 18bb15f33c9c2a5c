"""Which path does a lead take, where a step has several?"""

from hashlib import blake2b
from typing import assert_never

from engine.contact.schedule.filters import Lookup, all_hold
from schemas.contact import Lead
from schemas.schedule import BranchStep, SplitStep, WaitForStep


def branch_goto(step: BranchStep, lookup: Lookup) -> str | None:
    """Return the target of the first rule that holds, else of `else`; None means the next step."""
    return next((rule.goto for rule in step.rules if all_hold(rule.when, lookup)), step.otherwise)


def split_goto(step: SplitStep, lead: Lead) -> str:
    """Return the path of a lead, by the hash of its uuid and the step: always the same one."""
    digest = blake2b(f"{lead.uuid}/{step.id}".encode(), digest_size=8).digest()
    left = int.from_bytes(digest) % sum(path.weight for path in step.paths)
    for path in step.paths:
        left -= path.weight
        if left < 0:
            return path.goto
    raise AssertionError("the shares add up to the whole")


def has_happened(step: WaitForStep, lead: Lead, lookup: Lookup) -> bool:
    """Return whether what the step waits for is true of the lead."""
    match step.event:
        case "tokens_match":
            return all_hold(step.filters, lookup)
        case "converted":
            return lead.buyer_converted or lead.offer_converted
        case "buyer_converted":
            return lead.buyer_converted
        case "offer_converted":
            return lead.offer_converted
        case "sms.received" | "call.inbound_received" | "disposition":
            return step.event in lead.heard
        case _:
            assert_never(step.event)
