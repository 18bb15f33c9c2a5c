"""What is put on `leads.inbox`? Leads for every channel, some sent twice, and some that nobody can use.

The same count gives the same records, except for the time zone: the first in which it is day, so that texts may go.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from adapters.up.noon import zone_at_daytime
from deploy.proof.company import Company
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, Headers, to_headers
from schemas.wire import to_json

BAD_EVERY = 50
REPEATED_EVERY = 100
MAIL_EVERY = 10
CALL_EVERY = 20

ENDINGS = ("11", "11", "00", "11", "11", "05", "11", "11", "06", "11", "11", "08")
"""Of the numbers that are texted (sandbox.md): not taken, which is known at once; delivered, no such number, failed, opted
out, which take a second or two, and a gateway has 100 under way."""

CALL_ENDINGS = ("01", "05", "06", "11")
"""Of the numbers that are called: busy, no such number, no circuit, not taken; all of them at once."""

LOCAL_FIRST = 20_000
LOCAL_COUNT = 70_000
"""Local numbers from 200-00xx to 899-99xx are valid; 555-01xx alone would not be enough."""

AREAS = ("212", "213", "214", "215", "216")


class Sent(Struct, frozen=True, kw_only=True):
    """One record for the inbox: `id` is None where it must end as a dead letter."""

    id: str | None
    record: Outgoing


def submissions(count: int, company: Company, topic: str) -> Iterator[Sent]:
    """Yield `count` leads, the repeats of some, and bad records between them."""
    zone = zone_at_daytime()
    bad = list(_bad(company))
    for index in range(count):
        good = _good(index, company, zone, topic)
        yield good
        if index % REPEATED_EVERY == 0:
            yield good
        if index % BAD_EVERY == 0:
            value, headers = bad[index // BAD_EVERY % len(bad)]
            yield Sent(id=None, record=Outgoing(topic, b"bad-%d" % index, value, headers))


def _good(index: int, company: Company, zone: str, topic: str) -> Sent:
    body: dict[str, Any] = {"first_name": f"Lead {index}", "time_zone": zone, "sub_id": str(index)}
    if index % MAIL_EVERY == 0:
        body |= {"lead_token": company.tokens["mail"], "email": f"lead-{index}@example.com"}
    elif index % CALL_EVERY == 1:
        body |= {"lead_token": company.tokens["call"], "caller_id": number(index, CALL_ENDINGS)}
    else:
        kind = "text" if index % 2 == 0 else "rest"
        body |= {"lead_token": company.tokens[kind], "caller_id": number(index, ENDINGS)}
    request_id = f"proof-{index}"
    headers = to_headers(Envelope(id=request_id, type="lead.submitted", source="/proof"))
    return Sent(id=request_id, record=Outgoing(topic, str(index).encode(), to_json(body), headers))


def number(index: int, endings: tuple[str, ...]) -> str:
    """Return a number of its own for each index, with one of the endings."""
    area, local = divmod(index, LOCAL_COUNT)
    return f"+1{AREAS[area]}{LOCAL_FIRST + local}{endings[index // CALL_EVERY % len(endings)]}"


def _bad(company: Company) -> Iterator[tuple[bytes | None, Headers]]:
    """Yield one record of every way to be unusable."""
    other = to_headers(Envelope(id="bad", type="lead.praised", source="/proof"))
    token = company.tokens["text"]
    yield b"{not json", ()
    yield b"", ()
    yield None, ()
    yield b"[1, 2, 3]", ()
    yield b"\xff\xfe\x00", ()
    yield to_json({"lead_token": token, "caller_id": "+12125550100"}), other
    yield to_json({"lead_token": "lt_unknown", "caller_id": "+12125550100"}), ()
    yield to_json({"lead_token": token, "caller_id": "12"}), ()
    yield to_json({"lead_token": token}), ()
    yield to_json({"lead_token": token, "caller_id": "+12125550100", "hours_to_expire": "soon"}), ()
