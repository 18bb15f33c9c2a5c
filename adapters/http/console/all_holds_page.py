"""How does an operator stop all contacting of every company? As a company does its own, with an operator key."""

from collections.abc import Mapping
from typing import Any

from adapters.http.console.holds_page import DONE, GO_ON, STOP, UNPROCESSABLE, holds_page, read_hold, unconfirmed
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply
from adapters.http.operator.contact_holds import CONFIRM_HOLD, CONFIRM_RELEASE

PATH = "/console/operations/holds"
RELEASE = f"{PATH}/{{record:str}}/release"


async def show(visit: Visit) -> Reply:
    """Show the holds in force of all companies, and what makes one of every company."""
    return await _page(visit, {})


async def hold(visit: Visit) -> Reply:
    """Put the contacting of every company on hold."""
    typed, fields = read_hold(visit)
    if visit.form.get("confirm") != STOP:
        return await _page(visit, {"problem": unconfirmed(STOP), "typed": typed}, status=UNPROCESSABLE)
    answer = await visit.call("operator_contact_hold", {**fields, "confirm": CONFIRM_HOLD})
    if answer.is_refused:
        return await _page(visit, {"problem": answer.content, "typed": typed}, status=answer.status)
    return await _said(visit, answer.content, DONE["held"])


async def release(visit: Visit) -> Reply:
    """Release a hold."""
    if visit.form.get("confirm") != GO_ON:
        return await _page(visit, {"problem": unconfirmed(GO_ON)}, status=UNPROCESSABLE)
    path = {"id": visit.request.path_params["record"]}
    answer = await visit.call("operator_contact_hold_release", {"confirm": CONFIRM_RELEASE}, path=path)
    if answer.is_refused:
        return await _page(visit, {"problem": answer.content}, status=answer.status)
    return await _said(visit, answer.content, DONE["released"])


async def _said(visit: Visit, content: Mapping[str, Any], done: str) -> Reply:
    """Show what was decided, and which gateways have not confirmed: somebody stops these by hand."""
    silent = ", ".join(content["silent"])
    warning = f"Not confirmed, stop these gateways by hand: {silent}." if silent else (content["detail"] or "")
    return await _page(visit, {"done": None if warning else done, "warning": warning})


async def _page(visit: Visit, more: Mapping[str, Any], *, status: int = 200) -> Reply:
    found = await visit.fetch("operator_contact_holds")
    shown = {
        "title": "Hold everything",
        "path": PATH,
        "whose": "every company",
        "of_all": True,
        "rows": found["contact_holds"],
        "done": None,
        **more,
    }
    return holds_page(visit, shown, status=status)


_NEEDS = ("operator_contact_holds",)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Hold everything", access="operator", needs=_NEEDS),
    ConsolePage(path=PATH, handler=hold, access="operator", needs=(*_NEEDS, "operator_contact_hold"), method="POST"),
    ConsolePage(
        path=RELEASE, handler=release, access="operator", needs=(*_NEEDS, "operator_contact_hold_release"), method="POST"
    ),
)
