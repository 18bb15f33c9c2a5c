"""What do requests about bulk jobs and imports share? Whose jobs they show, how they are listed, and too many open ones."""

from collections.abc import Mapping

from adapters.http.exchange.answers import PAGING_PARAMETERS
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.problems import ProblemError

RETRY_SECONDS = "60"

LIST_PARAMETERS: Mapping[str, str] = {
    name: PAGING_PARAMETERS[name]
    for name in ("page", "per_page", "cursor", "ids", "created_at_from", "created_at_to", "time_zone", "columns", "root")
}
"""Of the list of jobs."""

BARE = {"root": "false: the bare record"}


def own_jobs_of(exchange: Exchange) -> str | None:
    """Return the person who sees only the jobs of their own; None for one who sees every lead."""
    limits = exchange.key.visibility(exchange.operation.scope).leads
    return None if limits is None else exchange.key.user_email


def too_many_open(jobs: str) -> ProblemError:
    """Return the refusal of a company that has as many open jobs as it may have."""
    detail = f"The company has as many {jobs} that have not ended as it may have: wait for one, or cancel one."
    return ProblemError("rate_limited", detail, headers={"Retry-After": RETRY_SECONDS})
