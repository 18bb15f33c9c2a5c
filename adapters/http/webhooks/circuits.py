"""Which of a company's own endpoints do gateways spare now, because they failed several times in a row? With until when.

Circuits of its accounts with providers are among them where the sender may read provider configurations.
"""

from adapters.http.exchange.answers import wants_bare
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.inputs import Schema, ref
from adapters.http.schema.shapes import one_of
from engine.views.circuit import circuit_view

ROOT = "circuits"

ACCOUNTS_SCOPE = "provider_configuration:read"

_IS_COMPLETE: Schema = {
    "type": "boolean",
    "description": "false where gateways spare more endpoints than they report: some may be missing here",
}


async def index(exchange: Exchange) -> Reply:
    """Answer with the circuits of the company that are open or half-open, most failures first."""
    Parameters(exchange.query).finish()
    page = await exchange.services.circuits.of_company(exchange.company_id)
    has_accounts = exchange.key.has_scope(ACCOUNTS_SCOPE)
    shown = [circuit_view(row) for row in page.rows if has_accounts or row["channel"] == "webhook"]
    if wants_bare(exchange):
        return Reply(content=shown)
    more = {"is_complete": page.left_out == 0, "metadata": {"root": ROOT}}
    return Reply(content={"status": 200, "errors": {}, ROOT: shown, **more})


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_circuits",
        methods=("GET",),
        path="/api/v1/circuits",
        summary="List endpoints of the company that are spared now (circuit breakers)",
        handler=index,
        scope="outgoing_webhook:read",
        parameters={"root": "false: the bare list"},
        answer=one_of(ROOT, {"type": "array", "items": ref("Circuit")}, is_complete=_IS_COMPLETE),
    ),
)
