"""Which leads are sent? One command each, by text, e-mail or telephone; there are fewer lines than calls."""

from collections.abc import Iterator
from typing import Any

from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import ProofCompany
from deploy.proof.submissions import LOCAL_COUNT, SentSubmission, local_digits
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.wire import to_json

AREA = "212"
LEADS_MAX = LOCAL_COUNT
"""There are so many numbers of one area whose owners are reached at once (sandbox.md)."""

TURN = 50
CALLS, MAILS = 6, 14
"""Of each turn; the others are texts. A sixth of the calls have a line."""


def leads(count: int, company: ProofCompany, topic: str) -> Iterator[SentSubmission]:
    """Yield leads that are contacted once each, and are reached."""
    zone = zone_at_daytime()
    for index in range(count):
        body: dict[str, Any] = {
            "first_name": f"Lead {index}",
            "time_zone": zone,
            "lead_token": company.tokens[kind_of(index)],
        }
        if kind_of(index) == "mail":
            body["email"] = f"lead-{index}@example.com"
        else:
            body["caller_id"] = f"+1{AREA}{local_digits(index)}00"
        name = f"holds-{index}"
        headers = to_headers(Envelope(id=name, type="lead.submitted", source="/proof"))
        yield SentSubmission(id=name, record=Outgoing(topic, name.encode(), to_json(body), headers))


def kind_of(index: int) -> str:
    """Return the kind of the step that a lead begins with."""
    turn = index % TURN
    return "call" if turn < CALLS else "mail" if turn < CALLS + MAILS else "text"


def count_calls(count: int) -> int:
    """Return how many of the leads are called."""
    return sum(kind_of(index) == "call" for index in range(count))


def lines_for(count: int) -> int:
    """Return how many calls there may be at a time: a sixth, so that five sixths wait for a line."""
    return max(1, count_calls(count) // 6)
