"""Which gate does a key name? That of open commands, or an entity that admits timers itself."""

from typing import cast

from engine.partition.places import GATE_PREFIX
from engine.partition.state import State, unpack_any
from engine.partition.timers import TimerGate
from schemas.contact import OpenSlotRequests
from schemas.state import ASKING_PREFIX

NEW_QUEUE = OpenSlotRequests(company_id=0)
"""A queue without open requests: it admits one lead, whose request sets how many more may enter."""


def gate_of(state: State, key: str) -> TimerGate | None:
    """Return the gate of a key as the state knows it now; None where it admits everything."""
    if key.startswith(GATE_PREFIX):
        return state.places.gate(key)
    packed = state.packed(key)
    if packed is None:
        return NEW_QUEUE if key.startswith(ASKING_PREFIX) else None
    return cast("TimerGate", unpack_any(key, packed))
