"""How does a company stop all contacting, and let it go on? By buttons behind a typed word; gateways obey in seconds."""

from collections.abc import Mapping
from typing import Any

from adapters.http.console.visits import ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from engine.account.contact_holds import CHANNELS, REASON_LENGTH_MAX
from engine.views.record import record_columns

PATH = "/console/hold"
RELEASE = f"{PATH}/{{record:str}}/release"

STOP, GO_ON = "STOP", "GO ON"
"""What is typed, so that nobody does it by a slip."""

SHOWN = 100
UNPROCESSABLE = 422

DONE = {
    "held": "Contacting is on hold. What was on its way to a provider is not taken back.",
    "released": "The hold is released.",
}


async def show(visit: Visit) -> Reply:
    """Show the holds in force, and what makes one."""
    return await _page(visit, {})


async def hold(visit: Visit) -> Reply:
    """Put contacting on hold."""
    typed, fields = read_hold(visit)
    if visit.form.get("confirm") != STOP:
        return await _page(visit, {"problem": unconfirmed(STOP), "typed": typed}, status=UNPROCESSABLE)
    answer = await visit.call("create_contact_hold", fields)
    if answer.is_refused:
        return await _page(visit, {"problem": answer.content, "typed": typed}, status=answer.status)
    return visit.go_to(f"{PATH}?done=held")


async def release(visit: Visit) -> Reply:
    """Release a hold."""
    if visit.form.get("confirm") != GO_ON:
        return await _page(visit, {"problem": unconfirmed(GO_ON)}, status=UNPROCESSABLE)
    await visit.fetch("delete_contact_hold", path={"id": visit.request.path_params["record"]})
    return visit.go_to(f"{PATH}?done=released")


def read_hold(visit: Visit) -> tuple[dict[str, str], dict[str, Any]]:
    """Return what the form shows again where it is refused, and the fields of the hold that it asks for."""
    typed = {"reason": str(visit.form.get("reason", "")).strip(), "channel": str(visit.form.get("channel", ""))}
    channels = {"channels": [typed["channel"]]} if typed["channel"] else {}
    return typed, {"reason": typed["reason"], "hang_up": bool(visit.form.get("hang_up")), **channels}


def unconfirmed(word: str) -> dict[str, Any]:
    """Return the problem of a form whose word was not typed."""
    return {
        "code": "validation_failed",
        "title": "Nothing was changed",
        "status": UNPROCESSABLE,
        "detail": f"Type {word} to confirm.",
        "errors": {"confirm": [f"must be {word}"]},
    }


async def _page(visit: Visit, more: Mapping[str, Any], *, status: int = 200) -> Reply:
    found = await visit.fetch("list_contact_holds", {"per_page": SHOWN, "order": "id"})
    shown = {
        "title": "Hold",
        "path": PATH,
        "whose": "this company",
        "of_all": False,
        "rows": [filled(row, record_columns("contact_hold")) for row in rows_of(found)],
        "done": DONE.get(str(visit.query.get("done", ""))),
        **more,
    }
    return holds_page(visit, shown, status=status)


def holds_page(visit: Visit, shown: Mapping[str, Any], *, status: int) -> Reply:
    """Return the page of holds: those in force, and the forms that make and release one."""
    return visit.page(
        "holds.html",
        status=status,
        **{
            "channels": CHANNELS,
            "reason_length": REASON_LENGTH_MAX,
            "stop": STOP,
            "go_on": GO_ON,
            "typed": {"reason": "", "channel": ""},
            "problem": None,
            "places": {"channels": "channel"},
            "is_away": False,
            **shown,
        },
    )


_NEEDS = ("list_contact_holds",)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Hold", needs=_NEEDS),
    ConsolePage(path=PATH, handler=hold, needs=(*_NEEDS, "create_contact_hold"), method="POST"),
    ConsolePage(path=RELEASE, handler=release, needs=(*_NEEDS, "delete_contact_hold"), method="POST"),
)
