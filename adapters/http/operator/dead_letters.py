"""Which records were refused, and is one sent again? For operators: dead letters hold what any company sent."""

from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.ports import RedriveRefusedError
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.operator.operator import PREFIX, operator_change, operator_write
from engine.limits import RECORD_BYTES_MAX
from engine.submission.fields import INTEGER_MAX, is_blank

LIMIT_MAX = 200
LIMIT_DEFAULT = 50
"""Dead letters of one answer: each may be 2 MB, and is read whole to show its beginning."""

PARTITIONS_MAX = 1_024

ENVELOPE_BYTES = 1_000
"""Of a redrive's body: what is around the edited value."""


async def index(exchange: Exchange) -> Reply:
    """Answer with the newest dead letters."""
    parameters = Parameters(exchange.query)
    limit = parameters.whole("limit", least=1, most=LIMIT_MAX) or LIMIT_DEFAULT
    partition = parameters.whole("partition", least=0, most=PARTITIONS_MAX - 1)
    before = parameters.whole("before", least=0, most=INTEGER_MAX)
    if before is not None and partition is None:
        parameters.refuse("partition", "must be given with before, which is an offset in it")
    parameters.finish()
    rows, read_from = await exchange.services.deployment.dead_letters(limit, partition=partition, before=before)
    metadata = {"root": "dead_letters", "read_from": {str(number): offset for number, offset in read_from.items()}}
    return Reply(content={"status": 200, "errors": {}, "dead_letters": rows, "metadata": metadata})


async def show(exchange: Exchange) -> Reply:
    """Answer with one dead letter in full."""
    found = await exchange.services.deployment.dead_letter(*_place(exchange))
    if found is None:
        raise not_found("dead letter")
    return Reply(content={"status": 200, "errors": {}, "dead_letter": found, "metadata": {"root": "dead_letter"}})


async def redrive(exchange: Exchange) -> Reply:
    """Send a dead letter again, as it was or edited."""
    partition, offset = _place(exchange)
    place = f"{partition}:{offset}"
    parameters = Parameters(exchange.fields)
    if exchange.fields.get("confirm") != place:
        parameters.refuse("confirm", f"must be {place}: a redrive makes something happen, so say of which dead letter")
    parameters.finish()
    value = None if is_blank(exchange.fields.get("value")) else exchange.fields["value"]
    change = operator_change(exchange, "dead_letter.redriven", place, "as it was" if value is None else "edited")
    deployment = exchange.services.deployment
    if await deployment.dead_letter(partition, offset) is None:
        raise not_found("dead letter")
    try:
        async with exchange.services.operators.audited(change) as outcome:
            sent = await deployment.redrive(partition, offset, value)
            if sent is None:
                raise not_found("dead letter")
            outcome.append(f"sent to {sent[0]} at offset {sent[1]}")
    except RedriveRefusedError as error:
        sentence = str(error)
        raise ProblemError("validation_failed", "It was not sent.", {"value" if value else "id": [sentence]}) from error
    shown = {"id": place, "topic": sent[0], "offset": sent[1], "edited": value is not None}
    return Reply(content={"status": 200, "errors": {}, "redrive": shown, "metadata": {"root": "redrive"}})


def _place(exchange: Exchange) -> tuple[int, int]:
    partition, _, offset = exchange.path["place"].partition(":")
    if partition.isdecimal() and offset.isdecimal() and exchange.path["place"].isascii():
        found = int(partition[:6]), int(offset[:17])
        if found[0] < PARTITIONS_MAX and found[1] <= INTEGER_MAX:
            return found
    raise not_found("dead letter")


_PATH = "dead_letters"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="operator_dead_letters",
        methods=("GET",),
        path=f"{PREFIX}/{_PATH}",
        summary="List the newest dead letters, newest first",
        handler=index,
        access="operator",
        leads="none",
        parameters={
            "limit": "so many at most",
            "partition": "of this partition of the topic only",
            "before": "with a smaller offset in that partition",
        },
    ),
    Operation(
        name="operator_dead_letter",
        methods=("GET",),
        path=f"{PREFIX}/{_PATH}/{{place}}",
        summary="Show a dead letter in full",
        handler=show,
        access="operator",
        leads="none",
    ),
    operator_write(
        "redrive",
        f"{_PATH}/{{place}}/redrive",
        "Send a dead letter again, as it was or edited",
        redrive,
        body_bytes_max=RECORD_BYTES_MAX + ENVELOPE_BYTES,
        parameters={"confirm": "the place of the dead letter, once more", "value": "what to send instead: a JSON object"},
        required=("confirm",),
    ),
)
