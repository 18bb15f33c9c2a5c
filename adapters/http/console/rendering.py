"""How does a page become HTML? By Jinja2 templates that escape every value, with filters for instants and counts.

Every instant is shown with the zone of its clock beside it: the reader's, or the one that the template names.

A field that a team hides is not in an answer, so a template shows what is missing as nothing.

No template has a script or a style of its own: the content security policy of every page forbids them.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, Undefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from adapters.http.console.assets import url_of
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant, from_datetime, to_datetime

HTML = "text/html; charset=utf-8"

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every page: it runs our own files only, is in no frame, and stays in no cache. With `no-referrer` a browser would send
`Origin: null` with a form, and the form would be refused."""

NONE = "-"
"""Shown where there is no value."""

_CODE = re.compile(r"`([^`]+)`")

UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"))


@cache
def environment() -> Environment:
    """Return the templates of the console."""
    made = Environment(
        loader=PackageLoader("adapters.http.console"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["asset"] = url_of
    made.filters |= {"moment": show_moment, "clock": show_clock, "away": show_away, "count": show_count, "words": show_words}
    made.filters["code"] = show_code
    return made


def render(template: str, values: Mapping[str, Any]) -> bytes:
    """Return a template filled with values."""
    return environment().get_template(template).render(values).encode()


def instant_of(value: Any) -> Instant | None:
    """Return an instant as the API shows it, or None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Instant(value)
    return from_datetime(datetime.fromisoformat(value)) if isinstance(value, str) and value else None


@pass_context
def show_moment(context: Context, value: Any, zone: str = "") -> Markup | str:
    """Return an instant as a `time` element with date, time and zone, and the year where it is another than now."""
    at = instant_of(value)
    is_this_year = at is not None and to_datetime(at).year == to_datetime(context["now"]).year
    return _element(at, zone or context["zone"], "%-d %b, %H:%M" if is_this_year else "%-d %b %Y, %H:%M")


@pass_context
def show_clock(context: Context, value: Any, zone: str = "") -> Markup | str:
    """Return an instant as a `time` element with the time of day and its zone."""
    return _element(instant_of(value), zone or context["zone"], "%H:%M:%S")


def _element(at: Instant | None, zone: str, form: str) -> Markup | str:
    if at is None:
        return NONE
    local = datetime.fromtimestamp(at / SECOND, UTC).astimezone(ZoneInfo(zone))
    shown, full = f"{local.strftime(form)} {short_zone(local)}", local.strftime("%A %-d %B %Y, %H:%M:%S ")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(local.isoformat(), full + zone, shown)


def short_zone(local: datetime) -> str:
    """Return the zone of a local time as people write it: `EST`, where it has no letters `UTC-03`."""
    name = str(local.tzname())
    return f"UTC{name}" if name[:1] in {"+", "-"} else name


@pass_context
def show_away(context: Context, value: Any) -> str:
    """Return how far an instant is from now: `in 5 min`, `3 h ago`."""
    at = instant_of(value)
    if at is None:
        return NONE
    span = at - context["now"]
    shown = show_span(abs(span))
    return "now" if abs(span) < SECOND else f"in {shown}" if span > 0 else f"{shown} ago"


def show_span(milliseconds: int) -> str:
    """Return a span in its two largest units: `2 h 5 min`."""
    for place, (unit, name) in enumerate(UNITS):
        if milliseconds >= unit:
            rest, smaller = milliseconds % unit, UNITS[place + 1 : place + 2]
            more = [f"{rest // size} {label}" for size, label in smaller if rest >= size and unit > MINUTE]
            return " ".join([f"{milliseconds // unit} {name}", *more])
    return "0 s"


def show_count(value: Any) -> str:
    """Return a count with thousands apart, a dash where it is not known."""
    return NONE if value is None or isinstance(value, Undefined) else f"{value:,}"


def show_code(sentence: Any) -> Markup:
    """Return a sentence in which what stands between two backticks is code, such as a command to type; all is escaped."""
    parts = _CODE.split(str(sentence))  # text and code take turns
    return Markup("").join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts))


def show_words(value: Any) -> str:
    """Return a name such as `quiet_hours_state` as words."""
    return str(value).replace("_", " ")
