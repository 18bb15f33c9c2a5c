"""Does the console say the clock of each time that is shown or typed, and never show UTC without a word?"""

import re
from datetime import datetime
from pathlib import Path

import pytest

from adapters.http.console.rendering import environment
from schemas.instant import from_datetime, to_rfc3339

TEMPLATES = Path(__file__).parents[3] / "adapters/http/console/templates"

LABELLED = re.compile(r"<label for=\"[^\"]*\">([^<]*)</label>(?:<input type=\"hidden\"[^>]*>)?<(?:input|select)([^>]*)>")
TYPED = re.compile(r'type="(?:datetime-local|date|time)"|name="(?:at|created_at_label)"')
SHOWN_PLAIN = re.compile(r"\{\{\s*(?!trial|typed)[\w.]*(?:_at|\.at|\.from|_from|_until|until)\s*\}\}")
"""An instant that is printed without a filter, and so as the API writes it."""

WINTER = from_datetime(datetime.fromisoformat("2026-03-07T23:30:00+00:00"))


@pytest.mark.parametrize(
    ("zone", "other", "shown"),
    [
        ("America/New_York", "", "7 Mar, 18:30 EST"),
        ("America/New_York", "America/Chicago", "7 Mar, 17:30 CST"),
        ("Europe/Berlin", "", "8 Mar, 00:30 CET"),
        ("America/Sao_Paulo", "", "7 Mar, 20:30 UTC-03"),
        ("Asia/Kathmandu", "", "8 Mar, 05:15 UTC+0545"),
        ("UTC", "", "7 Mar, 23:30 UTC"),
    ],
)
def test_an_instant_has_the_zone_of_its_clock_beside_it(zone: str, other: str, shown: str) -> None:
    values = {"zone": zone, "now": WINTER, "at": to_rfc3339(WINTER), "other": other}
    text = environment().from_string("{{ at | moment(other) }}").render(values)
    assert f">{shown}</time>" in text
    assert (other or zone) in text, "the pointer shows it in full"
    clock = environment().from_string("{{ at | clock(other) }}").render(values)
    assert shown.rpartition(" ")[2] in clock


def test_each_field_for_a_time_says_its_clock() -> None:
    found = {}
    for template in sorted(TEMPLATES.glob("*.html")):
        for label, attributes in LABELLED.findall(template.read_text("utf-8")):
            if TYPED.search(attributes):
                found[template.name] = label
    assert set(found) == {"agent_form.html", "compliance.html", "leads.html", "reports.html", "trial_fields.html"}
    assert [name for name, label in found.items() if "on the clock of" not in label] == []


def test_no_instant_is_shown_as_the_api_writes_it() -> None:
    for template in TEMPLATES.glob("*.html"):
        assert SHOWN_PLAIN.findall(template.read_text("utf-8")) == [], template
