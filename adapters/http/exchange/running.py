"""How does an operation run? Its handler answers what was read, without hidden fields; an error becomes a problem."""

from functools import partial

from adapters.http.exchange.exchange import Exchange, Reply
from adapters.http.exchange.failures import problem_from_exception
from adapters.http.exchange.hidden_fields import hide, refuse_restricted
from adapters.http.exchange.report_slots import COOLDOWN_SHARE, hold_with_cooldown
from adapters.http.exchange.sent_data import refuse_unseen


async def run_operation(exchange: Exchange) -> Reply:
    """Return the answer to a request, also where it is refused or fails."""
    try:
        await exchange.read()
        refuse_unseen(exchange)
        refuse_restricted(exchange)
        return hide(exchange, await _run_handler(exchange))
    except Exception as error:  # noqa: BLE001 - the sender gets an answer to any error, the log gets the trace
        return problem_from_exception(error, exchange.request_id)


async def _run_handler(exchange: Exchange) -> Reply:
    """Return the answer of the operation's handler; reports and forecasts wait for a slot. Raises `ProblemError`."""
    operation, services = exchange.operation, exchange.services
    if operation.rate != "report":
        return await operation.handler(exchange)
    exchange.count_as_long()
    company_id = exchange.company_id
    is_shared = partial(services.active.has_others, company_id)
    async with hold_with_cooldown(services.reports.acquire(company_id), COOLDOWN_SHARE, is_shared):
        return await operation.handler(exchange)
