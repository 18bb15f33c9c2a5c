"""How is the deployment? Partitions, lag, the projection, gateways, event deliveries and the operators' own changes."""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.http.exchange.exchange import Exchange, Handler, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.operator.projection_job_row import show_job
from adapters.http.schema.inputs import BOOLEAN
from adapters.reads.ports import OperatorChange, Row
from engine.submission.fields import INTEGER_MAX
from engine.views.cells import cell
from engine.views.circuit import OPERATOR_CIRCUIT_COLUMNS

PREFIX = "/api/v1/operator"

AUDITS_MAX = 1_000
AUDITS_DEFAULT = 100


async def partitions(exchange: Exchange) -> Reply:
    """Answer with each partition of each role."""
    return _reply("partitions", await exchange.services.deployment.partitions())


async def lags(exchange: Exchange) -> Reply:
    """Answer with how far each role is behind."""
    return _reply("lags", await exchange.services.deployment.lags())


async def projection(exchange: Exchange) -> Reply:
    """Answer with how far the projection is."""
    parameters = Parameters(exchange.query)
    with_checksums = parameters.flag("checksums") or False
    parameters.finish()
    newest = await exchange.services.projection_jobs.newest(1)
    shown = await exchange.services.deployment.projection(with_checksums=with_checksums)
    return _reply("projection", {"projection": shown, "job": show_job(newest[0]) if newest else None})


async def gateways(exchange: Exchange) -> Reply:
    """Answer with which process serves which channel."""
    return _reply("gateways", {"gateways": _cells(await exchange.services.operators.gateways())})


async def circuits(exchange: Exchange) -> Reply:
    """Answer with the circuits that are open or half-open, most failures first."""
    page = await exchange.services.circuits.of_all()
    return _reply("circuits", {"circuits": _shown(page.rows, OPERATOR_CIRCUIT_COLUMNS), "left_out_count": page.left_out})


async def event_deliveries(exchange: Exchange) -> Reply:
    """Answer with the subscriptions whose events wait, were given up, or are not sent."""
    return _reply("event_deliveries", {"event_deliveries": _cells(await exchange.services.operators.event_deliveries())})


async def audits(exchange: Exchange) -> Reply:
    """Answer with what operators changed, newest first."""
    parameters = Parameters(exchange.query)
    before = parameters.whole("before", least=1, most=INTEGER_MAX) or INTEGER_MAX
    limit = parameters.whole("limit", least=1, most=AUDITS_MAX) or AUDITS_DEFAULT
    parameters.finish()
    return _reply("audits", {"audits": _cells(await exchange.services.operators.audits(before=before, limit=limit))})


def operator_change(exchange: Exchange, action: str, subject: str, detail: str) -> OperatorChange:
    """Return a change by the sender's operator key, as it is written to the operators' audit log."""
    operator = exchange.operator
    return OperatorChange(
        key_id=operator.key_id,
        actor=operator.name,
        address=exchange.address,
        request_id=exchange.request_id,
        action=action,
        subject=subject,
        detail=detail,
    )


def operator_write(name: str, path: str, summary: str, handler: Handler, **more: Any) -> Operation:
    """Return a request by which an operator changes something; its path begins below `PREFIX`."""
    return Operation(
        name=f"operator_{name}",
        methods=("POST",),
        path=f"{PREFIX}/{path}",
        summary=summary,
        handler=handler,
        access="operator",
        rate="write",
        safe=False,
        leads="none",
        has_result=False,
        **more,
    )


def _reply(root: str, content: Mapping[str, Any]) -> Reply:
    return Reply(content={"status": 200, "errors": {}, **content, "metadata": {"root": root}})


def _cells(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [{name: cell(value) for name, value in dict(row).items()} for row in rows]


def _shown(rows: Iterable[Row], columns: Iterable[str]) -> list[dict[str, Any]]:
    return [{name: cell(row[name]) for name in columns} for row in rows]


def _look(name: str, summary: str, handler: Handler, parameters: Mapping[str, str] | None = None, **more: Any) -> Operation:
    return Operation(
        name=f"operator_{name}",
        methods=("GET",),
        path=f"{PREFIX}/{name}",
        summary=summary,
        handler=handler,
        access="operator",
        leads="none",
        parameters=parameters or {},
        **more,
    )


OPERATIONS: tuple[Operation, ...] = (
    _look("partitions", "List each partition with its owner, its offsets and its lag", partitions),
    _look("lags", "Show how far each role is behind", lags),
    _look(
        "projection",
        "Show how far the projection is, and the job that verifies or rebuilds it, or the last one",
        projection,
        {"checksums": "true: also of the rows, all of which are read"},
        types={"checksums": BOOLEAN},
    ),
    _look("gateways", "List which process serves which channel", gateways),
    _look("circuits", "List endpoints and accounts that gateways spare (circuit breakers)", circuits),
    _look("event_deliveries", "List subscriptions whose events wait, were given up, or are not sent", event_deliveries),
    _look(
        "audits",
        "List what operators changed, newest first",
        audits,
        {"before": "changes with a smaller id", "limit": "so many at most"},
    ),
)
