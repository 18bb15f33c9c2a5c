"""What is put on `leads.inbox`? Leads for every channel, some sent twice, and some that are unusable.

The same count gives the same records, except for the time zone: the first in which it is day, so that texts may go.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import ProofCompany
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, Headers, to_headers
from schemas.wire import to_json

BAD_EVERY = 50
REPEATED_EVERY = 100
MAIL_EVERY = 10
CALL_EVERY = 20

TEXT_ENDINGS = ("04", "06", "08")
"""Of numbers that are texted (sandbox.md): not taken by the telephone, failed, opted out."""

CALL_ENDINGS = ("01", "05", "11")
"""Of numbers that are called: busy, no such number, not taken by the carrier."""

ODD_EVERY = 8
"""Of the leads with a number, how often one behaves by its ending, as long as there are such numbers."""

EXCHANGES = [exchange for exchange in range(200, 900) if not str(exchange).endswith("11")]
LOCAL_COUNT = 100 * len(EXCHANGES)
"""Local numbers from 200-00xx to 899-99xx are valid, but for those of N11 (211 is no exchange); 555-01xx alone would not be
enough."""

AREAS = [
    "212", "213", "215", "216", "209", "310", "323", "408", "415", "510", "530", "559", "562", "619", "626", "650",
    "661", "707", "714", "760", "805", "818", "831", "858", "909", "916", "925", "949", "951", "315", "347", "516",
    "518", "585", "607", "631", "646", "716", "718", "845", "914", "917", "412", "484", "570", "610", "717", "724",
    "814", "330", "419", "440", "513", "614", "740", "937", "217", "309", "312", "618", "630", "708", "773", "815",
    "847", "231", "248", "269", "313", "517", "586", "616", "734", "810", "906", "989", "201", "609", "732", "856",
    "908", "973",
]  # fmt: skip
"""Area codes of states without calling rules of their own in the pack: 555-01xx of each behaves by its last digits."""


class SentSubmission(Struct, frozen=True, kw_only=True):
    """One record for the inbox: `id` is None where it must end as a dead letter."""

    id: str | None
    record: Outgoing


def submissions(count: int, company: ProofCompany, topic: str) -> Iterator[SentSubmission]:
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
            yield SentSubmission(id=None, record=Outgoing(topic, b"bad-%d" % index, value, headers))


def _good(index: int, company: ProofCompany, zone: str, topic: str) -> SentSubmission:
    body: dict[str, Any] = {"first_name": f"Lead {index}", "time_zone": zone, "sub_id": str(index)}
    if index % MAIL_EVERY == 0:
        body |= {"lead_token": company.tokens["mail"], "email": f"lead-{index}@example.com"}
    elif index % CALL_EVERY == 1:
        body |= {"lead_token": company.tokens["call"], "caller_id": number(index, index // CALL_EVERY, CALL_ENDINGS)}
    else:
        kind = "text" if index % 2 == 0 else "rest"
        body |= {"lead_token": company.tokens[kind], "caller_id": number(index, index, TEXT_ENDINGS)}
    request_id = f"proof-{index}"
    headers = to_headers(Envelope(id=request_id, type="lead.submitted", source="/proof"))
    return SentSubmission(id=request_id, record=Outgoing(topic, str(index).encode(), to_json(body), headers))


def number(index: int, turn: int, endings: tuple[str, ...], *, odd_every: int = ODD_EVERY) -> str:
    """Return a number of its own for each index.

    Of each `odd_every` turns one gets a number with one of the endings, as long as there are such; the others are reached.
    """
    odd, rest = divmod(turn, odd_every)
    area, ending = divmod(odd, len(endings))
    if rest == 0 and area < len(AREAS):
        return f"+1{AREAS[area]}55501{endings[ending]}"
    area, local = divmod(index, LOCAL_COUNT)
    return f"+1{AREAS[area]}{local_digits(local)}00"


def local_digits(index: int) -> str:
    """Return the exchange and the next two digits of a local number."""
    exchange, rest = divmod(index, 100)
    return f"{EXCHANGES[exchange]}{rest:02}"


def _bad(company: ProofCompany) -> Iterator[tuple[bytes | None, Headers]]:
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
