"""How are many leads changed at once? By a job over a filter of leads: counted first, then made, watched and canceled.

The filter is that of the list of leads, and is read by it. Which leads a job is for is fixed when it is made; where it names
an import that has not ended, once that has.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import structs

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.problems import not_found
from adapters.http.exchange.writes import claim_key
from adapters.http.leads.bulk_runner import BULK
from adapters.http.leads.job_requests import BARE, LIST_PARAMETERS, own_jobs_of, too_many_open
from adapters.http.leads.leads import FILTER_PARAMETERS, read_filter
from adapters.http.leads.sent_queries import add_faults, read_query, select_known
from adapters.http.schema.inputs import BOOLEAN, ID, PARAMETERS, choice, text, whole
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import (
    LeadBulkJobFilter,
    LeadBulkResultFilter,
    LeadFilter,
    NewLeadBulkJob,
    Paging,
    Row,
    TooManyJobsError,
)
from engine.submission.fields import TEXT_LENGTH_MAX
from engine.views.lead_bulk_job import (
    ACTIONS,
    LEAD_BULK_JOB_COLUMNS,
    LEAD_BULK_RESULT_COLUMNS,
    RESULT_STATES,
    lead_bulk_job_view,
    lead_bulk_result_view,
)
from engine.views.periods import LABELS

LEADS_MAX = 100_000
"""Leads of one job. Its results are some 20 MB until 30 days after its end, and it runs for some minutes."""

SCHEDULE = "move_to_another_schedule_id"
CHANGED_BY_JOB = "lead_bulk_job_id"

_OF_LISTS = ("ids", "created_at_from", "created_at_to", "fulltext", "time_zone")
FILTERS: Mapping[str, str] = {
    **{name: PAGING_PARAMETERS[name] for name in _OF_LISTS},
    **{name: sentence for name, sentence in FILTER_PARAMETERS.items() if name != "serializer"},
}
"""By what the list of leads is filtered: a filter may name all of it."""

KNOWN: Mapping[str, str] = {**FILTERS, CHANGED_BY_JOB: "leads that this bulk job changed"}
"""What a filter may name: leads that a job changed as well, so that another one can undo it."""


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of jobs."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, LEAD_BULK_JOB_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = LeadBulkJobFilter(
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        action=parameters.choice("action", ACTIONS),
        user_email=own_jobs_of(exchange),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "lead_bulk_jobs",
        parameters,
        paging=paging,
        columns=columns or LEAD_BULK_JOB_COLUMNS,
        read=partial(exchange.services.bulk_jobs.jobs, exchange.company_id, wanted),
        view=lambda row: lead_bulk_job_view(row, columns),
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one job."""
    return reply_with_record(exchange, "lead_bulk_job", lead_bulk_job_view(await _job(exchange)))


async def results(exchange: Exchange) -> Reply:
    """Answer with what came of the leads of a job."""
    job = await _job(exchange)
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, LEAD_BULK_RESULT_COLUMNS)
    wanted = LeadBulkResultFilter(
        job_id=job["id"], ids=parameters.ids("ids"), state=parameters.choice("state", RESULT_STATES)
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "lead_bulk_results",
        parameters,
        paging=paging,
        columns=columns or LEAD_BULK_RESULT_COLUMNS,
        read=partial(exchange.services.bulk_jobs.results, exchange.company_id, wanted),
        view=lambda row: lead_bulk_result_view(row, columns),
    )


async def create(exchange: Exchange) -> Reply:
    """Make a job, or count the leads that it would be for."""
    parameters = Parameters(exchange.fields)
    is_dry = parameters.flag("dry_run") is True
    job, wanted = _new_job(exchange, parameters), await _filter(exchange, parameters)
    leads_max = parameters.whole("leads_max", least=1, most=LEADS_MAX)
    if not is_dry:
        parameters.require("leads_max", sentence="must be given: the most leads that you mean to change")
    parameters.finish()
    claim = None if is_dry else await claim_key(exchange, exchange.company_id)
    known = None if claim is None else await exchange.services.bulk_jobs.of_request(job.company_id, claim.request_id)
    if known is not None:
        return _shown(exchange, known, status=201)
    awaited = await _open_imports(exchange, wanted)
    lead_ids = () if awaited else await exchange.reads.lead_ids(exchange.company_id, wanted, LEADS_MAX + 1)
    _check_count(parameters, len(lead_ids), None if is_dry else leads_max)
    if is_dry:
        return _shown(exchange, _unborn(job, None if awaited else len(lead_ids)))
    job = structs.replace(job, leads_max=leads_max, selects=wanted if awaited else None, awaited_imports=awaited)
    try:
        row = await exchange.services.bulk_jobs.create(job if claim is None else _named(job, claim.request_id), lead_ids)
    except TooManyJobsError:
        raise too_many_open("bulk jobs") from None
    return _shown(exchange, row, status=201)


async def cancel(exchange: Exchange) -> Reply:
    """Send no further lead of a job."""
    job = await _job(exchange)
    Parameters(exchange.fields).finish()
    await exchange.services.bulk_jobs.cancel(exchange.company_id, job["id"], exchange.now)
    return _shown(exchange, await _job(exchange))


def _new_job(exchange: Exchange, parameters: Parameters) -> NewLeadBulkJob:
    """Read what a job does; faults are added to the parameters."""
    parameters.require("action")
    action, schedule_id = parameters.choice("action", ACTIONS), parameters.id(SCHEDULE)
    if action == "move":
        parameters.require(SCHEDULE, sentence="must be given where the action is move")
    elif action is not None and schedule_id is not None:
        parameters.refuse(SCHEDULE, "goes with action move")
    if schedule_id is not None and not exchange.services.source.rules.owns(exchange.company_id, "schedule", schedule_id):
        parameters.refuse(SCHEDULE, f"names no schedule: {schedule_id}")
    return NewLeadBulkJob(
        company_id=exchange.company_id,
        request_id=exchange.request_id,
        created_at=exchange.now,
        description=parameters.text("description"),
        action=action or "",
        move_to_another_schedule_id=schedule_id,
        filter=read_query(exchange.fields.get("filter")) or {},
        key_id=exchange.key.key_id,
        user_email=exchange.key.user_email,
        address=exchange.address,
        actor=exchange.actor,
    )


async def _filter(exchange: Exchange, parameters: Parameters) -> LeadFilter:
    """Read which leads a job is for; faults are added to the parameters."""
    given = read_query(exchange.fields.get("filter"))
    if not given:
        parameters.refuse("filter", 'must be an object that names the leads, such as {"schedule_id": 70002}')
        return LeadFilter()
    inner = select_known(parameters, "filter", given, KNOWN)
    wanted = await _of_job(exchange, inner, read_filter(exchange, inner))
    add_faults(parameters, "filter", inner.errors)
    if wanted == LeadFilter() and "filter" not in parameters.errors:
        parameters.refuse("filter", "names no leads: each of its fields is blank")
    return wanted


async def _of_job(exchange: Exchange, inner: Parameters, wanted: LeadFilter) -> LeadFilter:
    """Return the filter for the leads alone that a job changed, if one is named; faults are added to the parameters."""
    job_id = inner.id(CHANGED_BY_JOB)
    if job_id is None:
        return wanted
    job = await _find_job(exchange, job_id)
    if job is None:
        inner.refuse(CHANGED_BY_JOB, f"names no bulk job: {job_id}")
        return wanted
    if job["ended_at"] is None:
        inner.refuse(CHANGED_BY_JOB, "names a bulk job that has not ended: cancel it, or wait for its end")
    changed = frozenset(await exchange.services.bulk_jobs.changed_leads(exchange.company_id, job_id))
    return structs.replace(wanted, ids=tuple(changed if wanted.ids is None else changed.intersection(wanted.ids)))


async def _open_imports(exchange: Exchange, wanted: LeadFilter) -> tuple[int, ...]:
    """Return the imports that a filter names and that have not ended: some of their leads are not there yet."""
    if wanted.lead_import_id is None:
        return ()
    return tuple(await exchange.services.imports.open_ids(exchange.company_id, wanted.lead_import_id))


def _check_count(parameters: Parameters, count: int, leads_max: int | None) -> None:
    """Refuse a job for more leads than one may have, or than its sender means."""
    if count > LEADS_MAX:
        parameters.refuse("filter", f"matches more than {LEADS_MAX} leads; make several jobs, such as one for each month")
    elif leads_max is not None and count > leads_max:
        parameters.refuse("leads_max", f"is {leads_max}, but {count} leads match; nothing was changed")
    parameters.finish()


def _named(job: NewLeadBulkJob, request_id: str) -> NewLeadBulkJob:
    return structs.replace(job, request_id=request_id)


def _unborn(job: NewLeadBulkJob, count: int | None) -> dict[str, Any]:
    """Return the row of a job that is only counted; None: the import that it names has not ended."""
    counts = {"leads_count": count, **dict.fromkeys(("done_count", "refused_count", "unknown_count"), 0)}
    moments = dict.fromkeys(("created_at", "started_at", "canceled_at", "ended_at", "failure"))
    return {**structs.asdict(job), "id": None, **counts, **moments}


async def _job(exchange: Exchange) -> Row:
    """Return the job in the path. Raises `ProblemError` not_found."""
    reference = read_id(exchange.path["id"])
    job = await _find_job(exchange, reference) if isinstance(reference, int) else None
    if job is None:
        raise not_found("bulk job")
    return job


async def _find_job(exchange: Exchange, job_id: int) -> Row | None:
    """Return a job that the sender may see, or None."""
    wanted = LeadBulkJobFilter(ids=(job_id,), user_email=own_jobs_of(exchange))
    page = await exchange.services.bulk_jobs.jobs(exchange.company_id, wanted, Paging(per_page=1, counted=False))
    return page.rows[0] if page.rows else None


def _shown(exchange: Exchange, row: Mapping[str, Any], *, status: int = 200) -> Reply:
    return reply_with_record(exchange, "lead_bulk_job", lead_bulk_job_view(row), status=status)


_PATH = "/api/v1/lead_bulk_jobs"
_ONE = one_of("lead_bulk_job", "LeadBulkJob")
_FILTER_TYPES = {**PARAMETERS, "created_at_label": choice(LABELS), CHANGED_BY_JOB: ID}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_lead_bulk_jobs",
        methods=("GET",),
        path=_PATH,
        summary="List bulk jobs",
        handler=index,
        scope="lead_bulk_job:read",
        leads="visible",
        parameters={**LIST_PARAMETERS, "action": "jobs that do this"},
        types={"action": choice(ACTIONS)},
        answer=many_of("lead_bulk_jobs", "LeadBulkJob"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="create_lead_bulk_job",
        methods=("POST",),
        path=_PATH,
        summary="Stop, move, opt out or restart all leads of a filter, or count them",
        handler=create,
        scope=BULK,
        leads="visible",
        rate="write",
        safe=False,
        parameters={
            "action": "what to do to each lead; restart leaves live ones as they are",
            "filter": "which leads: an object with filters of the list of leads; lead_bulk_job_id: those that a job changed",
            "leads_max": "the most leads that you mean to change, such as the count of a dry run; more are refused",
            "dry_run": "true: count the leads and change none",
            SCHEDULE: "with action move: schedule to move to",
            "description": "what you want to say of it",
        },
        types={
            "action": choice(ACTIONS),
            "filter": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": {name: _FILTER_TYPES.get(name, {}) for name in KNOWN},
            },
            "leads_max": whole(1, LEADS_MAX),
            "dry_run": BOOLEAN,
            SCHEDULE: ID,
            "description": text(TEXT_LENGTH_MAX),
        },
        required=("action", "filter"),
        answer=_ONE,
        created=True,
        problems=("idempotency_conflict", "rate_limited"),
        has_result=False,
    ),
    Operation(
        name="show_lead_bulk_job",
        methods=("GET",),
        path=f"{_PATH}/{{id}}",
        summary="Show a bulk job and how far it is",
        handler=show,
        scope="lead_bulk_job:read",
        leads="visible",
        parameters=BARE,
        answer=_ONE,
    ),
    Operation(
        name="list_lead_bulk_results",
        methods=("GET",),
        path=f"{_PATH}/{{id}}/results",
        summary="List what came of each lead of a bulk job",
        handler=results,
        scope="lead_bulk_job:read",
        leads="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in ("page", "per_page", "cursor", "columns", "root")},
            "ids": "leads to return, by internal id",
            "state": "state of the leads to return",
        },
        types={"state": choice(RESULT_STATES)},
        answer=many_of("lead_bulk_results", "LeadBulkResult"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="cancel_lead_bulk_job",
        methods=("POST",),
        path=f"{_PATH}/{{id}}/cancel",
        summary="Cancel a bulk job",
        handler=cancel,
        scope="lead_bulk_job:cancel",
        leads="visible",
        rate="write",
        safe=False,
        parameters=BARE,
        answer=_ONE,
        has_result=False,
    ),
)
