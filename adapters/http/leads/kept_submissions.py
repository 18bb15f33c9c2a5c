"""What did senders without a key bring for stored leads? A list; a user accepts a submission, or discards it.

Accepting is an update of the lead by that user. What was accepted, discarded, or dropped for a newer one is no longer found.
"""

from functools import partial

from adapters.http.exchange.answers import PAGING_PARAMETERS, read_columns, read_paging, reply_with_list
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found
from adapters.http.exchange.writes import submit_change
from adapters.http.leads.submissions import render
from adapters.http.schema.inputs import ID
from adapters.http.schema.shapes import LEAD_ANSWER, many_of
from adapters.reads.ports import KeptSubmissionFilter, Paging, Row
from engine.views.kept_submission import KEPT_SUBMISSION_COLUMNS, kept_submission_view
from schemas.requests import KeptSubmissionDecided

WHAT = "kept submission"


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of kept submissions."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, KEPT_SUBMISSION_COLUMNS)
    wanted = KeptSubmissionFilter(lead_id=parameters.id("lead_id"))
    parameters.finish()
    return await reply_with_list(
        exchange,
        "kept_submissions",
        parameters,
        paging=paging,
        columns=columns or KEPT_SUBMISSION_COLUMNS,
        read=partial(exchange.reads.kept_submissions, exchange.company_id, wanted),
        view=lambda row: kept_submission_view(row, columns),
    )


async def decide(exchange: Exchange, *, accept: bool) -> Reply:
    """Accept or discard a kept submission, and answer with its lead."""
    row = await _row(exchange)
    Parameters(exchange.fields).finish()
    message = KeptSubmissionDecided(
        company_id=exchange.company_id,
        contact_key=row["contact_key"],
        submission_id=row["id"],
        lead_id=row["lead_id"],
        accept=accept,
    )
    return await submit_change(exchange, message, render)


async def _row(exchange: Exchange) -> Row:
    """Return the row of the kept submission in the path. Raises `ProblemError` not_found."""
    reference = exchange.path_id(WHAT)
    if not isinstance(reference, int):
        raise not_found(WHAT)
    wanted = KeptSubmissionFilter(ids=(reference,))
    page = await exchange.reads.kept_submissions(exchange.company_id, wanted, Paging(per_page=1, counted=False))
    if not page.rows:
        raise not_found(WHAT)
    return page.rows[0]


_PATH = "/api/v1/kept_submissions"


def _decision(name: str, path: str, summary: str, *, accept: bool) -> Operation:
    return Operation(
        name=name,
        methods=("POST",),
        path=f"{_PATH}/{{id}}/{path}",
        summary=summary,
        handler=partial(decide, accept=accept),
        scope="lead:update",
        leads="visible",
        rate="write",
        safe=False,
        parameters={"root": "false: the bare record"},
        answer=LEAD_ANSWER,
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_kept_submissions",
        methods=("GET",),
        path=_PATH,
        summary="List what came without a key for stored leads",
        handler=index,
        scope="lead:read",
        leads="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in ("page", "per_page", "cursor", "columns", "root")},
            "lead_id": "those beside this lead, by internal id",
        },
        types={"lead_id": ID},
        answer=many_of("kept_submissions", "KeptSubmission"),
        suffixes=("", ".csv", ".json"),
    ),
    _decision("accept_kept_submission", "accept", "Update a lead with a submission that was kept beside it", accept=True),
    _decision("discard_kept_submission", "discard", "Discard a submission that was kept beside its lead", accept=False),
)
