"""What does the hostile company do to its neighbours? Each way is one function that goes on until it is cancelled.

Rates are bounded, so that what is measured is how the deployment shares, not how fast this machine can send.
"""

import asyncio
import base64
import contextlib
import io
import secrets
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

import httpx
from msgspec import Struct, field

from adapters.local.process import LOCALHOST
from adapters.roles.context import Context
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.bench.wire import HttpConnection, connect, get, post
from deploy.proof.neighbours.companies import Party
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.topics import LEADS_INBOX
from schemas.wire import to_json

BURST_LEADS = 1_000
BURST_EVERY_SECONDS = 5.0
"""Bulk leads over Kafka: 200 a second on average, a thousand at once."""

OVERSIZED_EVERY_SECONDS = 0.5
OVERSIZED_TOKEN = "x" * 4_000
HUGE_BODY = "y" * 900_000

HANGING_LEADS = 600
HANGING_PRIORITY = -1_000_000

SLOW_READERS = 20
SLOW_READ_BYTES = 256
SLOW_READ_SECONDS = 0.5

EXPORT_READERS = 20
EXPORT_READ_BYTES = 16_384
EXPORT_READ_SECONDS = 0.1
"""Each takes 160 KB/s, as over a slow line: together more than one process can write out beside its other work."""

REPORT_READERS = 20
REPORTS = (
    {"category": "token_values_map"},
    {"category": "created_at_hour", "pivot": "zip_postal_code"},
    {"category": "zip_postal_code", "pivot": "token_values_map"},
)

IMPRESSIONS_BATCH = 50
IMPRESSIONS_EVERY_SECONDS = 0.05
"""Impressions: a thousand a second, as the servers of a busy site send them."""

HOSTILE_ADDRESS = "127.0.0.2"
"""Not the neighbour's address: what a deployment bounds for one address holds back the hostile company alone."""

UPLOADERS = 12
HANG_UP_SECONDS = 0.5
SHEET_ROWS, SHEET_COLUMNS = 20_000, 20
SHEET_PADDING_BYTES = 170_000
"""Hostile files: twelve clients, as many as a browser and its user open in anger; half of them do not wait."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET_HEAD = f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode()
SHEET_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml"'
    ' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml"'
    ' ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    '<sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
"""The least of a workbook (ECMA-376, part 2 and 18.2)."""

HALF_SENT = 200
WRONG_KEY_CLIENTS = 50
WRONG_KEY_PAUSE_SECONDS = 0.2
TIMEOUT_SECONDS = 30.0

_numbers = count(1)

Hostility = Callable[["Hostile"], Awaitable[None]]


class Hostile(Struct, frozen=True, kw_only=True):
    """What every way needs: the deployment from outside, and the company's own credentials.

    `zone` is that of its leads, `sent` counts what went out: leads of bursts, requests of the other ways.
    """

    context: Context
    api_port: int
    party: Party
    zone: str = field(default_factory=zone_at_daytime)
    sent: Counter[str] = field(default_factory=Counter)

    def client(self, auth: httpx.Auth | None = None) -> httpx.AsyncClient:
        """Return a client of the API that asks from the hostile company's own address."""
        transport = httpx.AsyncHTTPTransport(local_address=HOSTILE_ADDRESS)
        url = f"http://{LOCALHOST}:{self.api_port}"
        return httpx.AsyncClient(base_url=url, timeout=TIMEOUT_SECONDS, auth=auth, transport=transport)


async def bursts(hostile: Hostile) -> None:
    """Post bulk leads to the inbox, a thousand at once."""
    context = hostile.context
    topic = context.names.of(LEADS_INBOX.name)
    partitions = await context.log.partition_count(topic)
    appender = await context.log.appender()
    try:
        while True:
            await asyncio.gather(
                *(
                    appender.append(partition, [_bulk_lead(hostile, topic) for _ in range(BURST_LEADS // partitions)])
                    for partition in range(partitions)
                )
            )
            hostile.sent["bursts"] += BURST_LEADS
            await asyncio.sleep(BURST_EVERY_SECONDS)
    finally:
        await appender.close()


def _bulk_lead(hostile: Hostile, topic: str) -> Outgoing:
    number = next(_numbers)
    body = _lead(hostile, "hook", number) | {"lead_priority": HANGING_PRIORITY}
    headers = to_headers(Envelope(id=f"bulk-{number}", type="lead.submitted", source="/neighbours"))
    return Outgoing(topic, b"bulk-%d" % number, to_json(body), headers)


async def oversized(hostile: Hostile) -> None:
    """Submit leads whose text renders to more than a record holds, and bodies that are too large."""
    async with hostile.client() as client:
        while True:
            number = next(_numbers)
            await _ignoring_errors(
                client.post("/api/v1/leads", json=_lead(hostile, "text", number) | {"a": OVERSIZED_TOKEN})
            )
            huge = {**_lead(hostile, "text", number), "b": HUGE_BODY}
            await _ignoring_errors(client.post("/api/v1/leads", files={name: (None, str(huge[name])) for name in huge}))
            hostile.sent["oversized"] += 2
            await asyncio.sleep(OVERSIZED_EVERY_SECONDS)


async def hanging_webhooks(hostile: Hostile) -> None:
    """Submit 600 most urgent leads whose webhook's receiver never answers."""
    async with hostile.client() as client:
        for _ in range(HANGING_LEADS):
            body = _lead(hostile, "hook", next(_numbers)) | {"lead_priority": HANGING_PRIORITY}
            await _ignoring_errors(client.post("/api/v1/leads", json=body, headers={"Prefer": "respond-async"}))
            hostile.sent["hanging-webhooks"] += 1
    await asyncio.Event().wait()


async def slow_readers(hostile: Hostile) -> None:
    """Read exports a few bytes at a time."""
    await asyncio.gather(*(_read_slowly(hostile, "slow-readers", cursor="-1") for _ in range(SLOW_READERS)))


async def _read_slowly(
    hostile: Hostile,
    way: str,
    size: int = SLOW_READ_BYTES,
    pause_seconds: float = SLOW_READ_SECONDS,
    **parameters: str,
) -> None:
    async with hostile.client(hostile.party.auth()) as client:
        while True:
            hostile.sent[way] += 1
            try:
                async with client.stream("GET", "/api/v1/leads.csv", params=parameters) as answer:
                    async for _ in answer.aiter_raw(size):
                        await asyncio.sleep(pause_seconds)
            except httpx.HTTPError:
                pass  # refused or cut off: ask again, as a bad client does
            await asyncio.sleep(SLOW_READ_SECONDS)


async def exports(hostile: Hostile) -> None:
    """Read 20 whole lists over slow lines, and ask for reports 20 at a time."""
    readers = (_read_slowly(hostile, "exports", EXPORT_READ_BYTES, EXPORT_READ_SECONDS) for _ in range(EXPORT_READERS))
    await asyncio.gather(*readers, *(_ask_reports(hostile, place) for place in range(REPORT_READERS)))


async def _ask_reports(hostile: Hostile, place: int) -> None:
    parameters = REPORTS[place % len(REPORTS)]
    async with hostile.client(hostile.party.auth()) as client:
        while True:
            await _ignoring_errors(client.get("/api/v1/leads/reports", params=parameters))
            hostile.sent["exports"] += 1
            await asyncio.sleep(SLOW_READ_SECONDS)


async def half_sent_bodies(hostile: Hostile) -> None:
    """Hold connections open with bodies that never end."""
    await asyncio.gather(*(_half_send(hostile) for _ in range(HALF_SENT)))


async def _half_send(hostile: Hostile) -> None:
    head = f"POST /api/v1/leads HTTP/1.1\r\nHost: {LOCALHOST}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
    while True:
        try:
            reader, writer = await asyncio.open_connection(LOCALHOST, hostile.api_port, local_addr=(HOSTILE_ADDRESS, 0))
        except OSError:
            await asyncio.sleep(1.0)  # refused: try again, as an attacker does
            continue
        try:
            writer.write(head.encode() + b"{")
            hostile.sent["half-sent-bodies"] += 1
            await reader.read()
        except OSError:
            pass  # cut off: come back
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await asyncio.sleep(1.0)


async def wrong_keys(hostile: Hostile) -> None:
    """Ask with keys and lead tokens that do not exist, by prepared bytes: a whole client would use more than the answers."""
    await asyncio.gather(*(_guess(hostile) for _ in range(WRONG_KEY_CLIENTS)))


async def _guess(hostile: Hostile) -> None:
    while True:
        try:
            await _guess_on(await connect(LOCALHOST, hostile.api_port, HOSTILE_ADDRESS), hostile)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(1.0)  # refused or cut off: come back, as an attacker does


async def _guess_on(connection: HttpConnection, hostile: Hostile) -> None:
    try:
        while True:
            guess = secrets.token_hex(16)
            await connection.exchange(get("/api/v1/leads", f"pk_{guess}", guess))
            await connection.exchange(post("/api/v1/leads", {"lead_token": f"lt_{guess}", "caller_id": "+12125550100"}))
            hostile.sent["wrong-keys"] += 2
            await asyncio.sleep(WRONG_KEY_PAUSE_SECONDS)
    finally:
        await connection.close()


async def impressions(hostile: Hostile) -> None:
    """Record a thousand impressions a second, as a busy and honest site does: as many as the rate of a company allows."""
    loop = asyncio.get_running_loop()
    async with hostile.client(hostile.party.auth()) as client, asyncio.TaskGroup() as posts:
        due_at = loop.time()
        while True:
            posts.create_task(_post_impressions(hostile, client))
            due_at += IMPRESSIONS_EVERY_SECONDS
            await asyncio.sleep(max(0.0, due_at - loop.time()))


async def _post_impressions(hostile: Hostile, client: httpx.AsyncClient) -> None:
    batch = [_impression(next(_numbers)) for _ in range(IMPRESSIONS_BATCH)]
    with contextlib.suppress(httpx.HTTPError):
        answer = await client.post("/api/v1/impressions", json={"impressions": batch})
        hostile.sent["impressions"] += IMPRESSIONS_BATCH if answer.is_success else 0


def _impression(number: int) -> dict[str, object]:
    return {
        "visitor_id": f"visitor-{number % 100_000}",
        "page_url": f"https://roofs.example.com/solar?page={number % 500}",
        "referrer": "https://search.example.com/",
        "utm_source": "search",
        "utm_campaign": f"spring {number % 20}",
        "ip": f"192.0.2.{number % 250 + 1}",
        "user_agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
        "tokens": {"variant": "b"},
    }


async def hostile_files(hostile: Hostile) -> None:
    """Upload sheets that unpack to a hundred times their size, and hang up on every second one."""
    sheet = base64.b64encode(hostile_sheet()).decode()
    await asyncio.gather(*(_upload(hostile, sheet, hangs_up=bool(place % 2)) for place in range(UPLOADERS)))


async def _upload(hostile: Hostile, sheet: str, *, hangs_up: bool) -> None:
    body = {"lead_token": hostile.party.tokens["text"], "dry_run": True, "format": "xlsx", "content_base64": sheet}
    async with hostile.client(hostile.party.auth()) as client:
        while True:
            hostile.sent["hostile-files"] += 1
            posted = client.post("/api/v1/lead_imports", json=body, timeout=HANG_UP_SECONDS if hangs_up else TIMEOUT_SECONDS)
            with contextlib.suppress(httpx.HTTPError):
                await posted
            await asyncio.sleep(HANG_UP_SECONDS)


def hostile_sheet() -> bytes:
    """Return a sheet of little size whose cells take long to read: 20,000 rows of 20."""
    row = b"<row>" + b'<c t="inlineStr"><is><t>x</t></is></c>' * SHEET_COLUMNS + b"</row>"
    sheet = SHEET_HEAD + row * SHEET_ROWS + b"</sheetData></worksheet>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in SHEET_PARTS.items():
            archive.writestr(name, content)
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
        # What cannot be packed hides how far the sheet is packed.
        archive.writestr("padding", secrets.token_bytes(SHEET_PADDING_BYTES), zipfile.ZIP_STORED)
    return packed.getvalue()


async def _ignoring_errors(asked: Awaitable[httpx.Response]) -> None:
    """Whatever the deployment answers is its own decision; the quiet company's latency is what counts."""
    try:
        await asked
    except httpx.HTTPError:
        await asyncio.sleep(1.0)


def _lead(hostile: Hostile, kind: str, number: int) -> dict[str, object]:
    return {
        "lead_token": hostile.party.tokens[kind],
        "caller_id": f"+1213{2_000_000 + number:07d}",
        "time_zone": hostile.zone,
    }


WAYS: dict[str, Hostility] = {
    "bursts": bursts,
    "oversized": oversized,
    "hanging-webhooks": hanging_webhooks,
    "slow-readers": slow_readers,
    "exports": exports,
    "half-sent-bodies": half_sent_bodies,
    "wrong-keys": wrong_keys,
    "hostile-files": hostile_files,
}
"""Ways of misbehaving: the phases where none is named."""

ATTACK: Sequence[str] = ("bursts", "oversized", "hanging-webhooks", "slow-readers", "wrong-keys")
"""The ways of one company that misbehaves wherever it can send something: they have a phase together. Exports and reports
are what an honest company asks for as well, and half-sent bodies need no company."""

TRAFFIC: dict[str, Hostility] = {"impressions": impressions}
"""Honest traffic, as much as is allowed: a phase only where it is named."""
