"""What became of a request, which time zones are there, and is this process healthy? The operations about no record."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from adapters.http.calls import calls, texts
from adapters.http.exchange.answers import wants_bare
from adapters.http.exchange.exchange import Exchange, Handler, Operation, Reply
from adapters.http.exchange.exports import CSV, wants_csv, write_csv
from adapters.http.exchange.identity import is_uuid
from adapters.http.exchange.problems import DECIDED, ProblemError
from adapters.http.exchange.writes import Render, accepted_reply, raise_refusal
from adapters.http.leads import submissions
from adapters.http.records import company, records
from adapters.http.schema.shapes import ANY_RECORD, TIME_ZONES
from adapters.reads.ports import Result
from engine.calendar.rails_names import RAILS_NAMES
from engine.calendar.zone_words import WINDOWS_NAMES, place_names
from engine.calendar.zones import zone_names


async def show_request(exchange: Exchange) -> Reply:
    """Answer as the request itself would have been answered, once it is decided; 202 until then.

    A caller without a key sees that it was accepted, whatever was decided.
    """
    request_id = exchange.path["id"]
    services = exchange.services
    if exchange.access is None:
        exchange.enforce_address_limit()
    result = await services.reads.result(request_id) if is_uuid(request_id) else None
    if result is None and services.ids.is_ours(request_id, exchange.now):
        return accepted_reply(request_id)
    if result is None or not _may_see(exchange, result):
        raise ProblemError("not_found", "There is no request with this id, or it is more than 24 hours old.")
    if exchange.access is None:
        return submissions.accepted_by_token()
    about = None if result.answer is None else result.answer.record_type
    raise_refusal(result)
    return await RENDERERS.get(about or "lead", records.render_later)(exchange, result)


def _may_see(exchange: Exchange, result: Result) -> bool:
    """Return whether the caller may see a result: with a key those of its company, without a key only those about a lead.

    A host that serves one company shows no other's.
    """
    if exchange.host_company_id not in {None, result.company_id}:
        return False
    if exchange.access is not None:
        return exchange.access.company_id == result.company_id
    return result.answer is None or result.answer.record_type in {None, "lead"}


RENDERERS: Mapping[str, Render] = {
    "lead": submissions.render,
    "call": calls.render,
    "text": texts.render,
    "company": company.render,
}
"""Entity of a request -> how its result is rendered; any other is an account record."""


async def list_time_zones(exchange: Exchange) -> Reply:
    """Answer with every time zone name that is accepted, and the IANA name that is shown for it."""
    named = {**WINDOWS_NAMES, **RAILS_NAMES}
    rows = [{"name": name, "iana": name} for name in place_names()]
    rows += [{"name": name, "iana": iana} for name, iana in sorted(named.items()) if name not in zone_names()]
    cached = {"Cache-Control": "public, max-age=86400"}
    is_bare = wants_bare(exchange)
    if wants_csv(exchange):
        return Reply(content=write_csv(("name", "iana"), rows), media_type=CSV, headers=cached)
    if is_bare:
        return Reply(content=rows, headers=cached)
    content = {"status": 200, "errors": {}, "time_zones": rows, "metadata": {"root": "time_zones"}}
    return Reply(content=content, headers=cached)


async def live(_exchange: Exchange) -> Reply:
    """Answer that the event loop runs. Kafka and PostgreSQL are not checked: a restart of this process repairs neither."""
    return Reply(content={"status": "live", "version": _version()})


async def ready(exchange: Exchange) -> Reply:
    """Answer whether this process can serve, and what it waits for."""
    # Server names and errors are on the health port only: this port is public.
    waits = dict.fromkeys(await exchange.services.ready(), "not ready")
    try:
        await exchange.services.reads.ping()
    except Exception:  # noqa: BLE001 - whatever it is, this process is not ready
        waits["database"] = "not ready"
    status = 503 if waits else 200
    sandbox = exchange.services.served.last.sandbox
    return Reply(status=status, content={"status": "waiting" if waits else "ready", "waits_for": waits, "sandbox": sandbox})


def _version() -> str:
    try:
        return version("leadclock")
    except PackageNotFoundError:
        return "unknown"


def _probe(name: str, summary: str, handler: Handler) -> Operation:
    return Operation(
        name=name,
        methods=("GET",),
        path=f"/{name}",
        summary=summary,
        handler=handler,
        access="open",
        rate=None,
        extra="ignored",
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="show_request",
        methods=("GET",),
        path="/api/v1/requests/{id}",
        summary="Show what came of a request that was answered with 202",
        handler=show_request,
        access="token",
        rate="read",
        parameters={"root": "false: the bare record"},
        answer=ANY_RECORD,
        created=True,
        problems=tuple(sorted(DECIDED)),
    ),
    Operation(
        name="list_time_zones",
        methods=("GET",),
        path="/api/v1/collections/time_zone",
        summary="List the names of time zones",
        handler=list_time_zones,
        access="open",
        rate=None,
        suffixes=("", ".csv", ".json"),
        parameters={"root": "false: a bare array"},
        answer=TIME_ZONES,
    ),
    _probe("livez", "Is it alive?", live),
    _probe("readyz", "Can it serve?", ready),
    # The port opens when everything is built, so any answer means that the process has started. Metrics are on the health
    # port only: they cover all companies, and no company's key may read them.
    _probe("startupz", "Has it started?", live),
)
