"""Who changed which account record, when and from where? The audit log of a company, from the facts of its account."""

from functools import partial

from adapters.http.exchange.answers import PAGING_PARAMETERS, read_columns, read_paging, reply_with_list
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.schema.inputs import ID, choice
from adapters.http.schema.shapes import many_of
from adapters.reads.ports import AuditLogFilter
from engine.views.audit_log import AUDIT_LOG_COLUMNS, audit_log_view
from schemas.records import RECORD_BODIES

_SHARED = ("page", "per_page", "cursor", "created_at_from", "created_at_to", "fulltext", "time_zone", "columns", "root")


async def index(exchange: Exchange) -> Reply:
    """Answer with the changes of account records, newest first."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, AUDIT_LOG_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = AuditLogFilter(
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        record_type=parameters.choice("record_type", tuple(RECORD_BODIES)),
        record_id=parameters.id("record_id"),
        key_id=parameters.id("key_id"),
        fulltext=parameters.text("fulltext"),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "audit_logs",
        parameters,
        paging=paging,
        columns=columns or AUDIT_LOG_COLUMNS,
        read=partial(exchange.services.reads.audit_logs, exchange.company_id, wanted),
        view=lambda row: audit_log_view(row, columns),
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_audit_logs",
        methods=("GET",),
        path="/api/v1/audit_logs",
        summary="List who changed which account record, newest first",
        handler=index,
        scope="audit_log:read",
        leads="none",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in _SHARED},
            "record_type": "changes of records of this type",
            "record_id": "changes of the record with this id",
            "key_id": "changes made with this key",
        },
        types={"record_type": choice(tuple(RECORD_BODIES)), "record_id": ID, "key_id": ID},
        suffixes=("", ".csv", ".json"),
        answer=many_of("audit_logs", "AuditLog"),
    ),
)
