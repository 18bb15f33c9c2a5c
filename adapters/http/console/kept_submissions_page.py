"""What did senders without a key bring for stored leads, and what is to become of it? A user accepts or discards each.

Nothing of it has changed its lead. Accepting is an update of the lead by the user.
"""

from adapters.http.console.visits import ApiRefusedError, ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.problems import ProblemError
from engine.views.kept_submission import KEPT_SUBMISSION_COLUMNS

PATH = "/console/submissions"

SUBMISSIONS_SHOWN = 50
"""Submissions of one page: as many as somebody decides before looking again."""

NOT_FOUND = 404

DECIDED = {
    "accept": "Accepted: the lead has what the submission brought.",
    "discard": "Discarded: the lead is as it was.",
    "gone": "Somebody else has decided that submission, or a newer one took its place.",
}


async def show(visit: Visit) -> Reply:
    """Show the submissions that wait, the newest first."""
    answer = await visit.fetch("list_kept_submissions", {"page": 1, "per_page": SUBMISSIONS_SHOWN})
    return visit.page(
        "kept_submissions.html",
        title="Submissions",
        submissions=[filled(row, list(KEPT_SUBMISSION_COLUMNS)) for row in rows_of(answer)],
        total=answer["metadata"].get("total_count"),
        done=DECIDED.get(str(visit.query.get("done", ""))),
        can_decide=visit.may("accept_kept_submission"),
    )


async def decide(visit: Visit) -> Reply:
    """Accept or discard a submission, and show the others."""
    decision = str(visit.form.get("decision", ""))
    if decision not in {"accept", "discard"}:
        raise ProblemError("validation_failed", "Accept it or discard it.", {"decision": ["must be accept or discard"]})
    try:
        await visit.fetch(f"{decision}_kept_submission", path={"id": visit.request.path_params["submission"]})
    except ApiRefusedError as error:
        if error.reply.status != NOT_FOUND:
            raise
        return visit.go_to(f"{PATH}?done=gone")
    return visit.go_to(f"{PATH}?done={decision}")


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, needs=("list_kept_submissions",)),
    ConsolePage(
        path=f"{PATH}/{{submission:str}}",
        handler=decide,
        needs=("list_kept_submissions", "accept_kept_submission"),
        method="POST",
    ),
)
