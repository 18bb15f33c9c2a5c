"""What will be due, where and when, and what expires first? The forecast of the API as heat maps.

Thousands of leads are simulated for it, which takes seconds: the page is there at once, and asks for the forecast itself.
"""

from functools import partial
from typing import Any

from adapters.http.console import what_if_page
from adapters.http.console.shown_pictures import show_picture
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply
from adapters.pictures.forecast import describe_forecast, draw_forecast
from adapters.pictures.picture import Picture
from engine.why.reason_texts import describe_wait

PATH = "/console/forecast"

SPANS = {"24": "24 hours", "72": "3 days", "168": "7 days"}
"""What one may look ahead, in hours."""

DEFAULT = "24"

EXPIRING_SHOWN = 20


async def show(visit: Visit) -> Reply:
    """Show the page, with the form that asks what a change would change."""
    may_ask = all(visit.may(name) for name in what_if_page.NEEDS)
    form = await what_if_page.form_of(visit, what_if_page.FIRST_TRIED) if may_ask else {}
    return visit.page("forecast.html", title="Forecast", may_ask=may_ask, spans=SPANS, hours=_hours(visit), **form)


async def show_part(visit: Visit) -> Reply:
    """Show the part that depends on the span."""
    return visit.page("forecast_part.html", **await _found(visit))


def _hours(visit: Visit) -> str:
    hours = str(visit.query.get("hours", ""))
    return hours if hours in SPANS else DEFAULT


async def _found(visit: Visit) -> dict[str, Any]:
    found = (await visit.fetch("forecast_leads", {"hours": _hours(visit)}))["forecast"]
    return {
        "forecast": found,
        "sentence": describe_forecast(found),
        "by_day": show_picture(partial(_draw, found, visit.zone, 0), "day"),
        "by_state": show_picture(partial(_draw, found, visit.zone, 1), "state"),
        "expiring": found["expiring"]["leads"][:EXPIRING_SHOWN],
        "describe": describe_wait,
    }


def _draw(found: dict[str, Any], zone: str, place: int, width: float, name: str) -> Picture:
    return draw_forecast(found, zone=zone, width=width, name=name)[place]


_NEEDS = ("forecast_leads",)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Forecast", needs=_NEEDS),
    ConsolePage(path=f"{PATH}/part", handler=show_part, needs=_NEEDS),
)
