"""What do the pages of the console cost on a large company? The server for each open one, and who waits for one to open.

Fifty pages are open, as in browsers: each follows changes by a stream, and asks for its part once that has changed, by a
session of its own. Their users are of two teams. Submissions go on beside. The processor time is that of the whole process
of the API, with the fifty clients in it, beyond what it takes without pages. Statements are what PostgreSQL logs of the
API's connections; the baseline is one open page of each kind and team, so that a ratio near 1 says that they do not depend
on the number of pages.

A page that is opened is asked for under another host name each time, so that no answer is shared with the one before.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import count, cycle, islice
from pathlib import Path

import asyncpg
import msgspec
from msgspec import Struct, structs

from adapters.http.agents.events import EVENT_STREAM
from adapters.http.console.cookies import SESSION
from adapters.http.console.visits import CHANGES
from adapters.http.exchange.page_changes import TICK_SECONDS
from adapters.observability.metrics import Metrics
from adapters.roles.api import ApiRole
from deploy.bench.console_company import TEAMS, furnish, sign_in
from deploy.bench.dataset_cache import count_other_leads, open_data_set, server_log
from deploy.bench.large import COMPANY_ID, IDS_APART, IDS_REST
from deploy.bench.latency import serving_roles
from deploy.bench.peers import run_program
from deploy.bench.row import BenchError, Row, Runs, quantile, row
from deploy.bench.stage import Stage, deployment
from deploy.bench.wire import KeptConnection, connect
from deploy.bench.writing import SUBMISSIONS_PER_SECOND, background_submissions

TABS = 50
OPENING_SECONDS = 5.0
"""In which the pages are opened one after the other, as people do."""

WATCH_SECONDS = 2 * TICK_SECONDS
"""Two renewals of each page at least."""

LEADS_WATCHED = 5

LIST_RUNS = 25
PAINT_RUNS = 10
BROWSER_RUNS = 3
P95 = 0.95

SUBMISSIONS_MAX = 30_000
"""Five minutes of them, prepared beforehand; the measurement takes one or two."""

PROJECTED_MIN = 0.8
"""Share of the submissions beside; the others may not be projected yet when the bench ends."""

ANSWER_SECONDS = 30.0
BROWSER_SECONDS = 120.0
SUBMITTED_SECONDS = 60.0

LIST_PAGES = (  # without Compliance, whose first page is reports and a map
    "/console/leads",
    "/console/leads?page=150",
    "/console/leads?fulltext=lee1999",
    "/console/leads?fulltext=0000077",
    "/console/leads?status=scheduled",
    "/console/leads?status=expired&offer_id=5",
    "/console/leads?states=CA",
    "/console/leads?has_next_action=true&order=next_action_at&order_dir=asc",
    "/console/leads?order=status&page=100",
    "/console/leads?created_at_label=Last+Month",
    "/console/buyers",
    "/console/schedules",
    "/console/bulk-jobs",
    "/console/compliance/reviews",
)
FIRST_PAGES = ("/console", "/console/leads")

_BROWSER = Path(__file__).parents[1] / "browser.sh"
_STATEMENTS = (b"LOG:  execute ", b"LOG:  statement: ")


class _Cost(Struct):
    """What the API took a second while pages were open: processor seconds, and statements of PostgreSQL."""

    processor: float
    statements: float


class _Tab(Struct, frozen=True):
    """What an open page sends: for its stream, and for its part."""

    stream: bytes
    part: bytes


class _Bench(Struct, frozen=True):
    port: int
    tokens: Sequence[str]
    """Tokens of sessions, of one team and the other in turn."""
    log: Path
    hosts: Iterator[int] = count(1)


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `console_first_paint`, `console_lists` and `console_tabs` during background submissions."""
    async with (
        open_data_set(stage, say) as (dsn, _),
        deployment(stage, f"{dsn}?log_statement=all") as context,  # a setting of the API's connections alone
    ):
        await furnish(context, dsn)
        api, settings = ApiRole(context, Metrics()), structs.replace(context.settings, postgres_dsn=dsn)
        submissions = background_submissions(settings, stage.folder / "console-submissions.log", SUBMISSIONS_MAX)
        async with serving_roles(api), submissions as beside:
            say("console: the first submissions")
            leads = await _first_leads(dsn)
            bench = _Bench(api.port, await sign_in(context, dsn, TABS), server_log(stage))
            size = f"of {stage.leads:,} leads, {SUBMISSIONS_PER_SECOND} submissions/s beside"
            rows = [
                await _lists(bench, size, say),
                *await _first_paint(bench, size, say),
                *await _tabs(bench, leads, size, say),
            ]
    if beside.submitted >= SUBMISSIONS_MAX or await count_other_leads(dsn) < PROJECTED_MIN * beside.submitted:
        raise BenchError(f"{beside.submitted} submissions beside ended early, or few of them were projected")
    return rows


async def _first_leads(dsn: str) -> list[int]:
    """Wait until submissions are projected; return the ids of some of these leads, which have a history."""
    async with asyncio.timeout(SUBMITTED_SECONDS):
        while await count_other_leads(dsn) < LEADS_WATCHED:  # noqa: ASYNC110 - another process writes them
            await asyncio.sleep(0.2)
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT id FROM read.leads WHERE company_id = $1 AND id % $2 <> $3 ORDER BY id LIMIT $4",
            COMPANY_ID, IDS_APART, IDS_REST, LEADS_WATCHED,
        )  # fmt: skip
    finally:
        await connection.close()
    return [found["id"] for found in rows]


# -- pages that are opened ---------------------------------------------------------------------------------------------


async def _lists(bench: _Bench, size: str, say: Callable[[str], None]) -> Row:
    """Return the 95th percentile of the list that is slowest by it."""
    found: dict[str, float] = {}
    for path in LIST_PAGES:
        say(f"console_lists: {path}")
        await _open(bench, path)  # not counted: the disk of this machine is not what is measured
        found[path] = quantile([await _open(bench, path) for _ in range(LIST_RUNS)], P95)
    slowest = max(found, key=lambda path: found[path])
    unit = f"ms p95 of the slowest list, {slowest}, {size}"
    return row("console_lists", Runs(ours=[found[slowest]]), goal="<= 200", unit=unit)


async def _first_paint(bench: _Bench, size: str, say: Callable[[str], None]) -> list[Row]:
    say("console_first_paint: HTML")
    taken = [await _open(bench, path) for _ in range(PAINT_RUNS) for path in FIRST_PAGES]
    whole = f"ms p95 to the whole HTML of Today and Leads, {size}"
    rows = [row("console_first_paint", Runs(ours=[quantile(taken, P95)]), goal="<= 1000", unit=whole)]
    browser = await _find_browser()
    if browser:
        say("console_first_paint: Chromium")
        program = [sys.executable, "-m", "deploy.bench.painting", browser, f"http://127.0.0.1:{bench.port}"]
        cookie = f"{SESSION}={bench.tokens[0]}"
        output = await run_program([*program, cookie, str(BROWSER_RUNS), *FIRST_PAGES], seconds=BROWSER_SECONDS)
        painted = msgspec.json.decode(output.strip().splitlines()[-1], type=list[float])
        unit = f"ms p95 to the first contentful paint of Today and Leads in Chromium, {size}"
        rows.append(row("console_first_paint_browser", Runs(ours=[quantile(painted, P95)]), goal="<= 1000", unit=unit))
    return rows


async def _find_browser() -> str:
    """Return the path of a Chromium that can be driven here, or nothing."""
    if find_spec("playwright") is None or shutil.which("bash") is None:
        return ""
    try:
        return (await run_program([str(_BROWSER), "--find"], seconds=ANSWER_SECONDS)).strip()
    except BenchError:
        return ""


def _page(path: str, token: str, *headers: str, host: str = "bench") -> bytes:
    """Return the bytes by which a browser asks for a page, a part of one, or a stream."""
    # Of another host than this machine the cookie has the prefix by which browsers protect it.
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}", f"Cookie: __Host-{SESSION}={token}", "Accept-Encoding: gzip, br")
    return "\r\n".join((*lines, *headers, "", "")).encode()


async def _open(bench: _Bench, path: str) -> float:
    """Return the milliseconds until a page that is opened was there; none of its answers is one of an earlier page."""
    request = _page(path, bench.tokens[0], host=f"bench-{next(bench.hosts)}")
    connection = await connect("127.0.0.1", bench.port)
    try:
        started = time.perf_counter()
        async with asyncio.timeout(ANSWER_SECONDS):
            await connection.ask(request)
        return (time.perf_counter() - started) * 1000
    finally:
        await connection.close()


# -- pages that are open -----------------------------------------------------------------------------------------------


async def _tabs(bench: _Bench, leads: Sequence[int], size: str, say: Callable[[str], None]) -> list[Row]:
    """Return the rows of what open pages cost."""
    kinds = ["/console/today", "/console/buyers/part?page=1", *(f"/console/leads/{lead}/part" for lead in leads)]
    each = len(kinds) * TEAMS
    say("console_tabs: without pages")
    idle = await _watch(bench, [])
    say(f"console_tabs: {each} pages, one of each kind and team")
    single = await _watch(bench, list(_tabs_of(bench, kinds, each)))
    say(f"console_tabs: {TABS} pages")
    open_ones = await _watch(bench, list(_tabs_of(bench, kinds, TABS)))
    share = 100 * (open_ones.processor - idle.processor) / TABS
    statements = Runs(ours=[open_ones.statements - idle.statements], baseline=[single.statements - idle.statements])
    unit = f"statements/s of {TABS} pages against {each}, one of each kind and team, {size}"
    return [
        row("console_tabs", Runs(ours=[share]), goal="<= 1", unit=f"% of a core for each of {TABS} pages, {size}"),
        row("console_tabs_statements", statements, goal="<= 1.5", unit=unit),
    ]


def _tabs_of(bench: _Bench, kinds: Sequence[str], number: int) -> Iterator[_Tab]:
    """Yield so many pages: each kind by each team in turn, each by a session of its own."""
    wanted = cycle([(kind, team) for kind in kinds for team in range(TEAMS)])
    sessions = [iter(bench.tokens[team::TEAMS]) for team in range(TEAMS)]
    for kind, team in islice(wanted, number):
        token = next(sessions[team])
        stream = _page(kind.partition("?")[0] + CHANGES, token, f"Accept: {EVENT_STREAM}")
        yield _Tab(stream, _page(kind, token, "HX-Request: true"))


async def _watch(bench: _Bench, pages: Sequence[_Tab]) -> _Cost:
    """Return what pages cost that renew themselves, once each has been there."""
    tabs = [
        asyncio.create_task(_follow(bench.port, page, number * OPENING_SECONDS / len(pages)))
        for number, page in enumerate(pages)
    ]
    try:
        await asyncio.sleep(2 * OPENING_SECONDS if tabs else 0)
        begun, processor, offset = time.monotonic(), time.process_time(), bench.log.stat().st_size
        await asyncio.sleep(WATCH_SECONDS)
        seconds, processor = time.monotonic() - begun, time.process_time() - processor
        statements = await asyncio.to_thread(_count_statements, bench.log, offset)
        for tab in tabs:
            if tab.done():
                tab.result()  # a page that failed
    finally:
        for tab in tabs:
            tab.cancel()
        await asyncio.gather(*tabs, return_exceptions=True)
    return _Cost(processor / seconds, statements / seconds)


async def _follow(port: int, page: _Tab, after_seconds: float) -> None:
    """Ask for the part of a page whenever it has changed, as its script does, until cancelled."""
    await asyncio.sleep(after_seconds)
    connection = KeptConnection("127.0.0.1", port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(page.stream)
        await reader.readuntil(b"event: ready")
        while True:
            await reader.readuntil(b"event: changed")
            async with asyncio.timeout(ANSWER_SECONDS):
                await connection.ask(page.part)
    finally:
        writer.close()
        await connection.close()


def _count_statements(log: Path, offset: int) -> int:
    """Return how many statements the server has logged since its log was so long."""
    with log.open("rb") as written:
        written.seek(offset)
        return sum(any(mark in line for mark in _STATEMENTS) for line in written)
