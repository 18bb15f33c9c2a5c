"""Which submissions does a bench use? Leads of one company, normalised as by intake, on a schedule with local hours."""

from hashlib import sha256
from itertools import count
from typing import Any

from adapters.partitions.routing import partition_of
from engine.partition.ports import Outgoing
from engine.rules import Rules
from engine.submission.normalise import normalise
from schemas.envelope import Envelope, to_headers
from schemas.instant import EPOCH, Instant
from schemas.records import Record
from schemas.requests import LeadSubmitted
from schemas.topics import CONTACTS_REQUESTS, LEADS_INBOX
from schemas.wire import to_json

NOON = Instant(1_784_131_200_000)
"""2026-07-15 16:00 UTC, a Wednesday: noon in New York, and inside the legal hours of every zone below."""

COMPANY_ID = 1
CALL_TOKEN, TEXT_TOKEN = "bench-call", "bench-text"
"""The first schedule waits for Friday's opening hours; the second texts as soon as it may."""

PUBLIC_KEY, PRIVATE_KEY = "bench", "bench-private"
"""The deployment lives for minutes and listens on this machine alone."""

_PLACES = (("America/New_York", "NY", "212"), ("America/Chicago", "IL", "312"), ("America/Los_Angeles", "CA", "213"))
_NUMBERS_PER_AREA = 8_000_000


def rule_records() -> list[Record]:
    """Return the account records of the company, in order."""
    windows = {"call": [{"days": ["fri"], "open": "09:00", "close": "20:00"}]}
    steps = [{"id": "call-1", "kind": "call", "retry": {"busy": {"delay": "15m", "max": 3}, "no_answer": {"delay": "2h"}}}]
    text = [{"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}, we will call you from {{svc_number}}."}]
    schedule = {"offer_id": 1, "time_zone": "America/New_York", "hours_to_expire": 120, "max_contact_attempts": 6}
    calls = {**schedule, "name": "Calls", "lead_token": CALL_TOKEN, "windows": windows, "steps": [*steps, *text]}
    texts = {**schedule, "name": "Texts", "lead_token": TEXT_TOKEN, "steps": text}
    digest = sha256(PRIVATE_KEY.encode()).hexdigest()
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("company", {"name": "Bench"}),
        ("offer", {"name": "Solar", "lead_token": "bench-offer"}),
        ("number", {"number": "+12125550150", "offer_id": 1}),
        ("schedule", calls),
        ("schedule", texts),
        ("api_key", {"name": "Bench", "public_key": PUBLIC_KEY, "private_key_sha256": digest}),
    ]
    ids = {"schedule": count(1)}
    return [
        Record(
            type=kind,
            id=next(ids.setdefault(kind, count(1))),
            uuid=f"{kind}-{sequence}",
            company_id=COMPANY_ID,
            version=1,
            sequence=sequence,
            created_at=EPOCH,
            updated_at=EPOCH,
            body=body,
        )
        for sequence, (kind, body) in enumerate(bodies, start=1)
    ]


def submission(number: int, token: str = CALL_TOKEN, **fields: Any) -> dict[str, Any]:
    """Return what a producer sends; every number is another person."""
    zone, state, area = _PLACES[number % len(_PLACES)]
    return {
        "lead_token": token,
        "caller_id": f"+1{area}{2_000_000 + number % _NUMBERS_PER_AREA:07d}",
        "email": f"ada.lovelace.{number}@example.com",
        "first_name": "Ada",
        "last_name": "Lovelace",
        "time_zone": zone,
        "state": state,
        "source": "bench",
        **fields,
    }


def requests(number_of: int, partitions: int, *, token: str = CALL_TOKEN, **fields: Any) -> dict[int, list[Outgoing]]:
    """Return submissions as intake appends them to `contacts.requests`, by partition."""
    rules = Rules()
    for record in rule_records():
        rules.apply(partition_of(str(COMPANY_ID).encode(), partitions), record)
    found: dict[int, list[Outgoing]] = {}
    for number in range(number_of):
        request = normalise(submission(number, token, **fields), rules, received_at=NOON).request
        partition = partition_of(request.contact_key.encode(), partitions)
        found.setdefault(partition, []).append(_outgoing(number, request, rules, partitions))
    return found


def _outgoing(number: int, request: LeadSubmitted, rules: Rules, partitions: int) -> Outgoing:
    stream = f"{LEADS_INBOX.name}/e2b1a0c2-4d53-4a35-9f5e-7f6d8c9b0a11/0"
    rules_partition = partition_of(str(COMPANY_ID).encode(), partitions)
    envelope = Envelope(
        id=f"{stream}/{number}",
        type="lead.submitted",
        source="/intake",
        stream=stream,
        number=number,
        rules_partition=rules_partition,
        rules_sequence=rules.positions[rules_partition],
    )
    return Outgoing(CONTACTS_REQUESTS.name, request.contact_key.encode(), to_json(request), to_headers(envelope))
