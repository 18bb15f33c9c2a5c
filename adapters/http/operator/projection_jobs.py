"""Is the projection what was decided, and is it built again? Operators ask here, and a projector does the work."""

from collections.abc import Mapping
from typing import Any

from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.operator.operator import PREFIX, operator_change, operator_write
from adapters.http.operator.projection_job_row import show_job
from adapters.http.schema.inputs import BOOLEAN
from adapters.reads.ports import NewProjectionJob, ProjectionJobOpenError, Row
from engine.views.cells import cell

JOBS_MAX = 100
JOBS_DEFAULT = 20

NAMES: Mapping[str, str] = {"verify": "verification", "rebuild": "rebuild"}
"""Kind of a job -> what a sentence calls it."""


async def index(exchange: Exchange) -> Reply:
    """Answer with the newest jobs."""
    parameters = Parameters(exchange.query)
    limit = parameters.whole("limit", least=1, most=JOBS_MAX) or JOBS_DEFAULT
    parameters.finish()
    rows = await exchange.services.projection_jobs.newest(limit)
    return _reply("jobs", [show_job(row) for row in rows])


async def verify(exchange: Exchange) -> Reply:
    """Ask for a verification."""
    return await _ask(exchange, "verify")


async def rebuild(exchange: Exchange) -> Reply:
    """Ask for a rebuild."""
    return await _ask(exchange, "rebuild")


async def cancel(exchange: Exchange) -> Reply:
    """Cancel a job; one that has ended, or has swapped, stays as it is."""
    job_id = read_id(exchange.path["id"])
    if not isinstance(job_id, int):
        raise not_found("job")
    change = operator_change(exchange, "projection.job_canceled", f"job {job_id}", "")
    async with exchange.services.operators.audited(change) as outcome:
        row = await exchange.services.projection_jobs.cancel(job_id)
        if row is None:
            raise not_found("job")
        shown = show_job(row)
        outcome.append(shown["state"])
    return _reply("job", shown)


async def _ask(exchange: Exchange, kind: str) -> Reply:
    """Store a job. A verification has no field `accept`: it is false."""
    parameters = Parameters(exchange.fields)
    if exchange.fields.get("confirm") != kind:
        parameters.refuse("confirm", f"must be {kind}: this reads every decision and writes a second projection")
    accept = parameters.flag("accept") or False
    parameters.finish()
    job = NewProjectionJob(kind=kind, accept=accept, key_id=exchange.operator.key_id, asked_by=exchange.operator.name)
    detail = "swap although rows differ" if accept else ""
    change = operator_change(exchange, f"projection.{NAMES[kind]}_requested", "projection", detail)
    async with exchange.services.operators.audited(change) as outcome:
        try:
            row = await exchange.services.projection_jobs.create(job)
        except ProjectionJobOpenError as error:
            raise _open(error.job) from error
        outcome.append(f"job {row['id']}")
    return _reply("job", show_job(row))


def _open(row: Row) -> ProblemError:
    """Return the refusal of a second job: which one is open, who asked for it, and since when."""
    what = f"Job {row['id']}, a {NAMES[row['kind']]} that {row['asked_by']} asked for at {cell(row['asked_at'])}"
    return ProblemError(
        "projection_job_open", f"{what}, has not ended: wait for it, or cancel it.", extra={"job": show_job(row)}
    )


def _reply(root: str, shown: Any) -> Reply:
    return Reply(content={"status": 200, "errors": {}, root: shown, "metadata": {"root": root}})


_PATH = "projection"


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="operator_projection_jobs",
        methods=("GET",),
        path=f"{PREFIX}/{_PATH}/jobs",
        summary="List the newest verifications and rebuilds of the projection, newest first",
        handler=index,
        access="operator",
        leads="none",
        parameters={"limit": "so many at most"},
    ),
    operator_write(
        "projection_verify",
        f"{_PATH}/verify",
        "Compare the projection with all decisions",
        verify,
        parameters={"confirm": "the word verify"},
        required=("confirm",),
        problems=("projection_job_open",),
    ),
    operator_write(
        "projection_rebuild",
        f"{_PATH}/rebuild",
        "Build the projection again from all decisions, and swap",
        rebuild,
        parameters={"confirm": "the word rebuild", "accept": "true: swap although rows differ"},
        types={"accept": BOOLEAN},
        required=("confirm",),
        problems=("projection_job_open",),
    ),
    operator_write("projection_cancel", f"{_PATH}/jobs/{{id}}/cancel", "Cancel a verification or rebuild", cancel),
)
