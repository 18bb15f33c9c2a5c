"""May an offer name these agents? Its calls are for agents of the company or for buyers, never for both."""

from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors
from engine.account.steps import AGENTS_NAMED_MAX

AGENT_FIELDS = ("agent_ids", "call_center_ids")
_BUYER_FIELDS = ("buyer_group_ids", "buyer_ids")


def check_agents(given: Mapping[str, Any], values: dict[str, Any], errors: Errors) -> None:
    """Refuse agents beside buyers, and more of them than a step may name."""
    named = [name for name in (*AGENT_FIELDS, *_BUYER_FIELDS) if values.get(name)]
    if sum(len(values.get(name, ())) for name in AGENT_FIELDS) > AGENTS_NAMED_MAX:
        errors.setdefault("agent_ids", []).append(f"and call_center_ids must name at most {AGENTS_NAMED_MAX}")
    if not {*named}.isdisjoint(AGENT_FIELDS) and not {*named}.isdisjoint(_BUYER_FIELDS):
        field = next((name for name in named if name in given), named[0])
        others = "buyers" if field in AGENT_FIELDS else "agents"
        errors.setdefault(field, []).append(
            f"must not stand beside {others}: the calls of an offer are for agents or buyers"
        )
