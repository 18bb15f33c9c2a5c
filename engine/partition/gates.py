"""Which gate does a key name? That of open commands, of an open queue for slots, or an entity that admits timers itself."""

from typing import cast

from engine.partition.places import GATE_PREFIX
from engine.partition.state import State, unpack_any
from engine.partition.timers import TimerGate
from schemas.contact import OpenSlotRequests
from schemas.state import ASKING_PREFIX, OPEN_QUEUE_PREFIX

NEW_QUEUE = OpenSlotRequests(company_id=0)
"""A queue without open requests: it admits one lead, whose request sets how many more may enter."""


def gate_of(state: State, key: str) -> TimerGate | None:
    """Return the gate of a key as the state knows it now; None where it admits everything."""
    if key.startswith(GATE_PREFIX):
        return state.places.gate(key)
    if key.startswith(OPEN_QUEUE_PREFIX):
        asking = state.get(ASKING_PREFIX + key.removeprefix(OPEN_QUEUE_PREFIX), OpenSlotRequests) or NEW_QUEUE
        return None if asking.closed_reason is not None else asking
    packed = state.packed(key)
    if packed is None:
        return NEW_QUEUE if key.startswith(ASKING_PREFIX) else None
    return cast("TimerGate", unpack_any(key, packed))
