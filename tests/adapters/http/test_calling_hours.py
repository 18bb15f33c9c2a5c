"""Does the API say when each state is open on a day, by the law of the company that asks, to who may read law?"""

from datetime import datetime
from typing import Any

import pytest

from tests.adapters.http.console_browser import visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/calling_hours"
SPRING = {"at": "2026-03-08 12:30:00", "time_zone": "America/New_York"}
NIGHT = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "open": "10:00", "close": "12:00"}


async def asked(company: Any, **query: str) -> dict[str, Any]:
    answer = await company.send("GET", PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["calling_hours"]
    return found


def moments(span: dict[str, Any]) -> tuple[str, str]:
    """Return when a span begins and ends, each instant in one spelling."""
    return tuple(datetime.fromisoformat(span[name]).isoformat() for name in ("from", "to"))  # type: ignore[return-value]


def state(found: dict[str, Any], code: str) -> dict[str, Any]:
    (one,) = [one for one in found["states"] if one["state"] == code]
    return dict(one)


async def test_the_hours_of_each_state_are_shown_for_the_day_on_which_clocks_change(company: Any) -> None:
    found = await asked(company, **SPRING)
    assert moments(found) == ("2026-03-08T05:00:00+00:00", "2026-03-09T04:00:00+00:00")
    assert (found["channel"], found["purpose"], len(found["states"])) == ("call", "telemarketing", 51)
    new_york = state(found, "NY")
    assert [moments(span) for span in new_york["open"]] == [("2026-03-08T12:00:00+00:00", "2026-03-09T01:00:00+00:00")]
    assert (new_york["is_open"], new_york["name"], new_york["time_zones"]) == (True, "New York", ["America/New_York"])
    assert new_york["rules"] == ["us-federal"]
    assert all(source.startswith("https://") for source in new_york["sources"])
    assert state(found, "HI")["is_open"] is False
    assert new_york["rules_until"] is None
    autumn = await asked(company, at="2026-10-10 12:00:00", time_zone="America/New_York")
    assert datetime.fromisoformat(state(autumn, "PA")["rules_until"]).isoformat() == "2026-10-18T04:00:00+00:00"


async def test_the_day_is_today_where_none_is_asked_for(company: Any) -> None:
    found = await asked(company)
    begins, at, ends = (datetime.fromisoformat(found[name]) for name in ("from", "at", "to"))
    assert begins <= at < ends


async def test_what_a_preview_of_a_lead_shades_is_what_is_closed(company: Any) -> None:
    schedule = {"steps": [{"id": "call-1", "kind": "call"}]}
    lead = {"caller_id": "+13055550123", "state": "FL"}
    body = {"schedule": schedule, "lead": lead, "at": "2026-03-08 12:30:00 -0400", "closed_hours": True}
    preview = (await company.send("POST", "/api/v1/schedules/preview", json=body)).json()["preview"]
    closed = [one for one in preview["closed_hours"] if one["by"] == "law"]
    (opens,) = state(await asked(company, **SPRING), "FL")["open"]
    assert moments(opens) == (moments(closed[0])[1], moments(closed[1])[0])


async def test_a_wrong_choice_is_refused_by_name(company: Any) -> None:
    wrong = {"channel": "email", "purpose": "fun", "at": "soon", "state": "NY"}
    for name, value in wrong.items():
        refused = await company.send("GET", PATH, params={name: value})
        assert refused.status_code == (400 if name == "at" else 422), refused.text
        assert list(refused.json()["errors"]) == [name]


@pytest.mark.parametrize(
    "at", ["0001-01-01T00:00:00Z", "1969-12-30 00:00:00", "2200-01-02 00:00:00", "9999-12-31T23:59:59Z"]
)
async def test_a_year_of_which_no_holidays_are_known_is_refused(company: Any, at: str) -> None:
    for zone in ("America/New_York", "Pacific/Kiritimati"):
        refused = await company.send("GET", PATH, params={"at": at, "time_zone": zone})
        assert (refused.status_code, list(refused.json()["errors"])) == (400, ["at"]), refused.text
    for edge in ("1970-01-02 00:00:00", "2199-12-31 12:00:00"):
        assert len((await asked(company, at=edge, time_zone="UTC"))["states"]) == 51


async def test_a_companys_own_law_is_in_its_hours_alone(company: Any, other: Any) -> None:
    rule = {
        "id": "own-ny", "country": "US", "state": "NY", "purposes": ["telemarketing"], "channels": ["call"],
        "windows": [NIGHT], "source_url": "https://example.com/law", "reviewed_at": "2026-01-01",
    }  # fmt: skip
    await company.record("rule_packs", {"name": "Own", "rules": [rule]})
    own = state(await asked(company, **SPRING), "NY")
    assert [moments(span) for span in own["open"]] == [("2026-03-08T14:00:00+00:00", "2026-03-08T16:00:00+00:00")]
    assert "own-ny" in own["rules"]
    assert "own-ny" not in state(await asked(other, **SPRING), "NY")["rules"]
    assert state(await asked(company, **SPRING, channel="sms"), "NY")["rules"] == ["us-federal"]


async def test_the_page_of_compliance_has_the_map_for_who_may_read_law(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    chosen = {"day": "2026-03-08", "channel": "sms", "purpose": "collections"}
    page = await browser.get("/console/compliance", params=chosen)
    assert page.status_code == 200, page.text
    assert "Texts allowed by law" in page.text
    assert page.text.count('id="hours-wide-title"') == 1
    assert "<td>New York (NY)</td>" in page.text
    assert 'value="2026-03-08"' in page.text
    assert "GET /api/v1/calling_hours?channel=sms" in page.text
    for strange in ({"day": "<b>"}, {"day": "0001-01-01"}, {"day": "9999-12-31"}, {"channel": "<b>", "purpose": "x"}):
        page = await browser.get("/console/compliance", params=strange)
        assert page.status_code == 200
        assert "Calls allowed by law" in page.text, strange
        assert "<b>" not in page.text
    blind = await visitor(town, company, "blind@example.com", permissions={"contact": {"actions": ["read"]}})
    page = await blind.get("/console/compliance")
    assert page.status_code == 200
    assert "allowed by law" not in page.text
