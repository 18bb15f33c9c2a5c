"""Which leads are sent, and what will come of their calls? A seed draws both: the sandbox's numbers decide the outcome."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from deploy.proof.caps.company import CapCompany
from deploy.proof.submissions import SentSubmission
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.wire import to_json

PREFIXES = ("+6125550", "+6127010", "+6135550", "+6137010", "+6175550", "+6177010", "+6185550", "+6187010")
"""Australian numbers that are reserved for fiction; four digits follow, of which the last two choose what happens."""

ZONE = "Australia/Brisbane"
ODD: Mapping[str, float] = {
    "01": 0.06, "02": 0.06, "03": 0.06, "04": 0.04, "05": 0.04, "06": 0.04, "07": 0.04, "08": 0.02, "09": 0.04, "10": 0.04,
    "11": 0.04,
}  # fmt: skip
"""Ending (sandbox.md) -> share of the leads that get it; all others are reached."""

REACHED = tuple(f"{ending:02}" for ending in range(20, 100))
LEADS_MAX = 11_000
"""There are 800 numbers of each ending: some more than the greatest share of so many leads."""


def leads(count: int, company: CapCompany, topic: str, seed: int) -> Iterator[SentSubmission]:
    """Yield leads of all ways in turn, with random priorities and numbers."""
    rng = random.Random(seed)  # noqa: S311 - draws outcomes, hides nothing
    numbers = _numbers(rng)
    for index in range(count):
        way = company.ways[index % len(company.ways)]
        ending = rng.choices([*ODD, ""], [*ODD.values(), 1.0 - sum(ODD.values())])[0]
        body: dict[str, Any] = {
            "lead_token": way.token,
            "caller_id": numbers[ending or rng.choice(REACHED)].pop(),
            "first_name": f"Lead {index}",
            "time_zone": ZONE,
            "lead_priority": rng.randrange(100),
        }
        if way.traffic_source_id is not None:
            body["traffic_source_id"] = way.traffic_source_id
        request_id = f"caps-{index}"
        headers = to_headers(Envelope(id=request_id, type="lead.submitted", source="/proof"))
        yield SentSubmission(id=request_id, record=Outgoing(topic, str(index).encode(), to_json(body), headers))


def _numbers(rng: random.Random) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ending in (*ODD, *REACHED):
        found[ending] = [f"{prefix}{place:02}{ending}" for prefix in PREFIXES for place in range(100)]
        rng.shuffle(found[ending])
    return found
