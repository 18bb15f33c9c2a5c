"""How is the whole deployment, for who operates it? Lag, partitions, projection, gateways, circuits, and dead letters.

A dead letter can be read, edited and sent again, as `leadclock deadletter` does. The projection can be verified and rebuilt:
a projector does it, and the page shows how far it is. All of it needs an operator key.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from adapters.http.console.projection_job import explain_job
from adapters.http.console.served_channels import summarise_channels
from adapters.http.console.spared_endpoints import LEFT_OUT_RULE, SPARED_RULE
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply

PATH = "/console/operations"
LETTER = PATH + "/dead_letters/{place:str}"
PROJECTION = PATH + "/projection"

SHOWN = (
    *("operator_lags", "operator_partitions", "operator_projection", "operator_gateways", "operator_circuits"),
    "operator_event_deliveries",
)
"""Operations whose answers the page shows under their names."""

LETTERS_SHOWN = 20
AUDITS_SHOWN = 20


async def show(visit: Visit) -> Reply:
    """Show the page."""
    return await _page(visit)


async def show_projection(visit: Visit) -> Reply:
    """Show what changes while the projection is verified or rebuilt."""
    return visit.page("projection_part.html", **await _job(visit))


async def verify(visit: Visit) -> Reply:
    """Ask for a verification of the projection."""
    return await _ask(visit, "operator_projection_verify", {"confirm": visit.form.get("confirm", "")})


async def rebuild(visit: Visit) -> Reply:
    """Ask for a rebuild of the projection."""
    typed = {name: visit.form[name] for name in ("confirm", "accept") if visit.form.get(name)}
    return await _ask(visit, "operator_projection_rebuild", typed, typed={"confirm": "", "accept": "", **typed})


async def cancel(visit: Visit) -> Reply:
    """Cancel a verification or rebuild."""
    await visit.fetch("operator_projection_cancel", path={"id": visit.form.get("job", "")})
    return visit.go_to(PATH)


async def _ask(visit: Visit, name: str, fields: Mapping[str, Any], typed: Mapping[str, Any] | None = None) -> Reply:
    answer = await visit.call(name, fields)
    if answer.is_refused:
        return await _page(visit, answer.status, problem=answer.content, typed=typed)
    return visit.go_to(PATH)


async def _job(visit: Visit) -> dict[str, Any]:
    """Return the newest job of the projection; the page is there also where the database does not answer."""
    found = await visit.ask("operator_projection_jobs", {"limit": 1})
    job = next(iter(found["jobs"]), None) if found else None
    return {"job": job, "shown": explain_job(job) if job else None, "typed": None}


async def _page(visit: Visit, status: int = 200, **more: Any) -> Reply:
    answers = await asyncio.gather(*(visit.look(name) for name in SHOWN))
    letters = await visit.fetch("operator_dead_letters", {"limit": LETTERS_SHOWN})
    audits = await visit.fetch("operator_audits", {"limit": AUDITS_SHOWN})
    found: dict[str, Any] = {name.removeprefix("operator_"): answer for name, answer in zip(SHOWN, answers, strict=True)}
    rows = [] if found["gateways"] is None else found["gateways"]["gateways"]
    found |= {"channels": summarise_channels(rows), "spared_rule": SPARED_RULE, "left_out_rule": LEFT_OUT_RULE}
    found |= {"letters": letters["dead_letters"], "audits": audits["audits"], "problem": None, "is_away": False}
    return visit.page("operations.html", status=status, title="Operations", **{**found, **await _job(visit), **more})


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
    ConsolePage(path=PROJECTION, handler=show_projection, access="operator", needs=("operator_projection_jobs",)),
    *(
        ConsolePage(
            path=f"{PROJECTION}/{handler.__name__}",
            handler=handler,
            access="operator",
            needs=(f"operator_projection_{handler.__name__}",),
            method="POST",
        )
        for handler in (verify, rebuild, cancel)
    ),
    ConsolePage(path=LETTER, handler=show_letter, access="operator", needs=("operator_dead_letter",)),
    ConsolePage(path=LETTER, handler=redrive, access="operator", needs=("operator_redrive",), method="POST"),
)
