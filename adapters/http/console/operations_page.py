"""How is the whole deployment, for who operates it? Lag, partitions, projection, gateways, deliveries, and dead letters.

A dead letter can be read, edited and sent again, as `leadclock deadletter` does. All of it needs an operator key.
"""

import asyncio
from typing import Any

from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply

PATH = "/console/operations"
LETTER = PATH + "/dead_letters/{place:str}"

LETTERS_SHOWN = 20
AUDITS_SHOWN = 20


async def show(visit: Visit) -> Reply:
    """Show the page."""
    names = ("operator_lags", "operator_partitions", "operator_projection", "operator_gateways", "operator_event_deliveries")
    answers = await asyncio.gather(*(visit.look(name) for name in names))
    letters = await visit.fetch("operator_dead_letters", {"limit": LETTERS_SHOWN})
    audits = await visit.fetch("operator_audits", {"limit": AUDITS_SHOWN})
    found: dict[str, Any] = {name.removeprefix("operator_"): answer for name, answer in zip(names, answers, strict=True)}
    return visit.page(
        "operations.html", title="Operations", letters=letters["dead_letters"], audits=audits["audits"], **found
    )


async def show_letter(visit: Visit) -> Reply:
    """Show one dead letter in full, with what sends it again."""
    return await _letter(visit, 200, {})


async def redrive(visit: Visit) -> Reply:
    """Send a dead letter again, as it was or as it was edited."""
    place, value = _place(visit), visit.form.get("value", "")
    original = (await visit.fetch("operator_dead_letter", path={"place": place}))["dead_letter"]["value"] or ""
    is_edited = value.replace("\r\n", "\n").strip() != original.strip()
    fields = {"confirm": visit.form.get("confirm", ""), **({"value": value} if is_edited else {})}
    answer = await visit.call("operator_redrive", fields, path={"place": place})
    if answer.is_refused:
        return await _letter(visit, answer.status, {"problem": answer.content, "typed": value})
    return await _letter(visit, 200, {"sent": answer.content["redrive"]})


async def _letter(visit: Visit, status: int, more: dict[str, Any]) -> Reply:
    found = (await visit.fetch("operator_dead_letter", path={"place": _place(visit)}))["dead_letter"]
    shown = {"letter": found, "problem": None, "is_away": False, "sent": None, "typed": found["value"] or "", **more}
    return visit.page("dead_letter.html", status=status, title=f"Dead letter {found['id']}", **shown)


def _place(visit: Visit) -> str:
    return str(visit.request.path_params["place"])


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Operations", access="operator", needs=("operator_lags",)),
    ConsolePage(path=LETTER, handler=show_letter, access="operator", needs=("operator_dead_letter",)),
    ConsolePage(path=LETTER, handler=redrive, access="operator", needs=("operator_redrive",), method="POST"),
)
