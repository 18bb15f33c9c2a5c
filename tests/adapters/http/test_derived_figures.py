"""Does a member learn by a figure what a field says that is hidden? Each source and each figure, by every way out."""

import csv
import io
from typing import Any

import pytest

from adapters.http.operations import documented_operations
from engine.account.teams import PERMISSIONS
from engine.views.hidden_fields import ACROSS, MONEY_OF_ALL_CALLS
from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_hidden_fields import LISTS, hidden
from tests.adapters.http.test_teams import Person, lead_of, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

LISTS_OF: dict[str, tuple[str, ...]] = {
    **{model: (path,) for model, path in LISTS.items()},
    "conversion": ("/api/v1/buyer_conversions", "/api/v1/offer_conversions"),
}
REPORTS = {"lead": "/api/v1/leads/reports"}
"""Model -> the report of it, whose figures have the same words."""

MADE_OF: dict[tuple[str, str], dict[str, set[str]]] = {}
"""Source (model and field) -> model -> the words for what is made of it."""
for _model, _words in ACROSS.items():
    for _word, _sources in _words.items():
        for _source in _sources:
            MADE_OF.setdefault(_source, {}).setdefault(_model, set()).add(_word)

MONEY = 41.25
"""What the call of these tests earned: in no other number of an answer."""


async def furnished(company: Company) -> dict[str, Any]:
    """Give a company one call that earned something, of a buyer in a group with caps."""
    buyer = await company.record(
        "buyers", {"name": "B", "number": "+12125550155", "revenue_daily_limit": 900, "connection_daily_limit": 9}
    )
    group = await company.record("buyer_groups", {"name": "G", "buyer_ids": [buyer["id"]], "revenue_daily_limit": 900})
    source = await company.record("traffic_sources", {"name": "S", "connection_daily_limit": 9})
    offer = await company.record("offers", {"name": "O", "buyer_ids": [buyer["id"]]})
    await company.record("numbers", {"number": "+12125550188", "offer_id": offer["id"]})
    call = {"from": "+13055550123", "to": "+12125550188", "call_ref": f"derived-{company.id}"}
    for state in ("ringing", "connected", "ended"):
        answer = await company.send(
            "POST", "/api/v1/calls/received", json={**call, "state": state, "buyer_id": buyer["id"], "talk_seconds": 30}
        )
        assert answer.status_code < 300, answer.text
    made = (await company.send("GET", "/api/v1/calls")).json()["calls"][0]
    changes = {"buyer_converted": True, "offer_converted": True, "revenue": MONEY, "payout": 1.5}
    changed = await company.send("POST", f"/api/v1/calls/{made['id']}", json=changes)
    assert changed.status_code == 200, changed.text
    await lead_of(company, await company.schedule(), "+13055550124")
    return {"buyer": buyer["id"], "buyer_group": group["id"], "traffic_source": source["id"]}


async def member(town: Town, company: Company, **limits: Any) -> Person:
    """Return a person who may read everything; `limits` restrict fields of a model, or `lead_filters` the leads."""
    filters = {"lead_filters": limits.pop("lead_filters")} if "lead_filters" in limits else {}
    without = limits.pop("without", ())
    permissions = {
        model: {"actions": [action for action in actions if action == "read"], "fields": limits.get(model, {})}
        for model, actions in PERMISSIONS.items()
        if "read" in actions and model not in without
    }
    await team(company, permissions=permissions, **filters)
    return await person(town, company)


def names_in(content: Any) -> set[str]:
    """Return the names of an answer at any depth."""
    if isinstance(content, list):
        return set[str]().union(*map(names_in, content))
    if not isinstance(content, dict):
        return set()
    return set(content).union(*map(names_in, content.values()))


async def nothing_said(ada: Person, company: Company, model: str, words: set[str], ids: dict[str, Any]) -> None:
    """Hold that no list, file, record, column, order or report of a model says any of the words."""
    for path in LISTS_OF[model]:
        shown = (await company.send("GET", path)).json()
        assert words & names_in(shown), (path, "the company itself sees them")
        listed = await ada.get(path)
        assert listed.status_code == 200, listed.text
        assert not words & names_in(listed.json()), path
        for form in (f"{path}.json", f"{path}.csv"):
            file = await ada.send("GET", form)
            assert file.status_code == 200, file.text
            if form.endswith(".csv"):
                (header, *_) = csv.reader(io.StringIO(file.text))
                assert words.isdisjoint(header), form
            else:
                assert not words & names_in(file.json()), form
        for word in sorted(words & names_in(shown)):
            for named, refusals in (({"columns": f"id,{word}"}, {403}), ({"order": word}, {403, 422})):
                answer = await ada.get(path, **named)  # 422: a list that is not ordered by anything
                assert answer.status_code in refusals, (path, named, answer.text)
        if model in ids:
            record = await ada.get(f"{path}/{ids[model]}")
            assert record.status_code == 200, record.text
            assert not words & names_in(record.json()), path
    if model in REPORTS:
        report = await ada.get(REPORTS[model], category="status")
        assert report.status_code == 200, report.text
        assert not words & names_in(report.json())
        table = await ada.send("GET", f"{REPORTS[model]}.csv?category=status")
        assert words.isdisjoint(next(csv.reader(io.StringIO(table.text))))


@pytest.mark.parametrize("source", sorted(MADE_OF), ids=".".join)
async def test_what_is_made_of_a_hidden_field_is_hidden_with_it(
    town: Town, company: Company, source: tuple[str, str]
) -> None:
    ids = await furnished(company)
    ada = await member(town, company, **{source[0]: hidden(source[1])})
    for model, words in MADE_OF[source].items():
        shown = words - {"profit"} if model == "lead" else words
        await nothing_said(ada, company, model, shown, ids)
    refused = await ada.send(
        "POST", "/api/v1/subscriptions", json={"name": "S", "url": "https://x.example.com", "events": ["buyer_converted"]}
    )
    assert refused.status_code == 403, refused.text


@pytest.mark.parametrize("limit", ["some leads", "no calls"])
async def test_what_all_calls_earned_is_hidden_from_who_does_not_see_all_of_them(
    town: Town, company: Company, limit: str
) -> None:
    ids = await furnished(company)
    offer = await company.record("offers", {"name": "Theirs"})
    limits = {"lead_filters": {"offer_ids": [offer["id"]]}} if limit == "some leads" else {"without": ("call",)}
    ada = await member(town, company, **limits)
    for model, words in MONEY_OF_ALL_CALLS.items():
        await nothing_said(ada, company, model, set(words), ids)


async def test_who_sees_all_calls_and_their_revenue_sees_what_they_earned(town: Town, company: Company) -> None:
    ids = await furnished(company)
    ada = await member(town, company)
    for model in MONEY_OF_ALL_CALLS:
        path = LISTS[model]
        shown = (await ada.get(f"{path}/{ids[model]}")).json()
        assert shown == (await company.send("GET", f"{path}/{ids[model]}")).json()


async def test_a_limited_member_finds_the_money_of_hidden_calls_by_no_address(town: Town, company: Company) -> None:
    """A crawl of every GET without an id, each with its files, for the amount itself."""
    await furnished(company)
    offer = await company.record("offers", {"name": "Theirs"})
    ada = await member(
        town, company, lead_filters={"offer_ids": [offer["id"]]}, call=hidden("revenue", "payout"), lead=hidden("revenue")
    )
    crawled = 0
    for operation in documented_operations():
        if operation.methods != ("GET",) or "{" in operation.path or operation.name in STREAMS:
            continue
        asked = {name: value for name, value in ASKED.items() if name in operation.parameters}
        for path in (operation.path, *(f"{operation.path}.{form}" for form in ("csv", "json"))):
            answer = await ada.send("GET", path, params=asked)
            assert answer.status_code < 500, (path, answer.text)
            assert str(MONEY) not in answer.text, path
            crawled += answer.status_code == 200
    assert crawled > 100


STREAMS = frozenset({"follow_agent"})
"""It ends with its reader; what it sends is cut where it is written, and names no money."""

ASKED = {"category": "status", "created_at_from": "2000-01-01", "created_at_to": "2999-01-01", "group_by": "status"}


@pytest.mark.parametrize("page", ["/console/buyers", "/console/buyers/{buyer}"])
async def test_the_page_of_a_buyer_is_shown_without_the_money_of_hidden_calls(
    town: Town, company: Company, page: str
) -> None:
    ids = await furnished(company)
    whole = await company.send("GET", f"/api/v1/buyers/{ids['buyer']}")
    assert whole.json()["buyer"]["revenue_daily_used"] == MONEY
    permissions = {
        model: {"actions": ["read"], "fields": hidden("revenue") if model == "call" else {}}
        for model, actions in PERMISSIONS.items()
        if "read" in actions
    }
    browser = await visitor(town, company, permissions=permissions)
    shown = await browser.get(page.format(**ids))
    assert shown.status_code == 200, shown.text
    assert str(MONEY) not in shown.text
