"""How does an operator stop all contacting over HTTP, and let it go on? As `leadclock hold` and `release` do."""

from typing import Any

from adapters.http.exchange.access import sender_of
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.ports import HoldAnswer, HoldRefusedError
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.operator.operator import PREFIX, operator_change, operator_write
from adapters.http.schema.inputs import BOOLEAN

CONFIRM_HOLD, CONFIRM_RELEASE = "hold", "release"
"""What is typed, so that nobody does it by a slip."""

DONE, UNDECIDED = 200, 202


async def index(exchange: Exchange) -> Reply:
    """Answer with the holds in force."""
    rows = list(await exchange.services.deployment.contact_holds())
    return Reply(content={"status": DONE, "errors": {}, "contact_holds": rows, "metadata": {"root": "contact_holds"}})


async def hold(exchange: Exchange) -> Reply:
    """Hold the contacting of all companies, or of one."""
    parameters = Parameters(exchange.fields)
    company_id = parameters.id("company_id")
    fields: dict[str, Any] = {
        "reason": parameters.text("reason"),
        "channels": list(parameters.words("channels") or ()),
        "hang_up": parameters.flag("hang_up") or False,
    }
    _require_confirmation(parameters, CONFIRM_HOLD)
    parameters.finish()
    whose = "every company" if company_id is None else f"company {company_id}"
    change = operator_change(exchange, "contact_hold.created", whose, str(fields["reason"] or ""))
    try:
        async with exchange.services.operators.audited(change) as outcome:
            answer = await exchange.services.deployment.hold(company_id, fields, actor=_actor(exchange))
            outcome.append(_outcome(answer))
    except HoldRefusedError as error:
        raise ProblemError("validation_failed", "Correct the fields listed in errors and resend.", error.errors) from error
    return _reply(answer)


async def release(exchange: Exchange) -> Reply:
    """Release a hold."""
    parameters = Parameters(exchange.fields)
    _require_confirmation(parameters, CONFIRM_RELEASE)
    parameters.finish()
    hold_id = read_id(exchange.path["id"])
    if not isinstance(hold_id, int):
        raise not_found("contact hold")
    change = operator_change(exchange, "contact_hold.released", str(hold_id), "")
    async with exchange.services.operators.audited(change) as outcome:
        answer = await exchange.services.deployment.release(hold_id, actor=_actor(exchange))
        if answer is None:
            raise not_found("contact hold")
        outcome.append(_outcome(answer))
    return _reply(answer)


def _require_confirmation(parameters: Parameters, word: str) -> None:
    if parameters.fields.get("confirm") != word:
        parameters.refuse("confirm", f"must be {word}: it is obeyed at once")


def _actor(exchange: Exchange) -> str:
    return f"operator/{exchange.operator.key_id};;{sender_of(exchange.address)}"


def _outcome(answer: HoldAnswer) -> str:
    if answer.hold is None:
        return answer.detail
    return f"hold {answer.hold['id']}; {len(answer.obeying)} gateways obey, {len(answer.silent)} have not confirmed"


def _reply(answer: HoldAnswer) -> Reply:
    status = UNDECIDED if answer.hold is None else DONE
    content = {
        "status": status,
        "errors": {},
        "contact_hold": answer.hold,
        "obeying": list(answer.obeying),
        "silent": list(answer.silent),
        "detail": answer.detail or None,
        "metadata": {"root": "contact_hold"},
    }
    return Reply(content=content, status=status)


_PATH = "contact_holds"


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="operator_contact_holds",
        methods=("GET",),
        path=f"{PREFIX}/{_PATH}",
        summary="List the holds on contacting, of all companies",
        handler=index,
        access="operator",
        leads="none",
    ),
    operator_write(
        "contact_hold",
        _PATH,
        "Stop all contacting, of every company or of one",
        hold,
        parameters={
            "reason": "why: everybody whose leads wait reads it",
            "company_id": "of this company alone; without it of every one, those made meanwhile included",
            "channels": "of these alone: call, sms, email, webhook; without it of the first three",
            "hang_up": "true: end the calls under way as well",
            "confirm": "the word hold",
        },
        required=("reason", "confirm"),
        types={"hang_up": BOOLEAN},
    ),
    operator_write(
        "contact_hold_release",
        f"{_PATH}/{{id}}/release",
        "Release one hold",
        release,
        parameters={"confirm": "the word release"},
        required=("confirm",),
    ),
)
