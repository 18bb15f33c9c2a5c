"""Is the page of an agent the agent's own, and does it set statuses, judge calls and acknowledge messages?"""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.http.console.agent_page import WRAP_UP, OpenedCalls, _read_local, order_calls
from adapters.postgres.heartbeats import PostgresHeartbeats
from engine.views.hidden_fields import HIDEABLE
from schemas.instant import MINUTE, Instant, to_rfc3339
from tests.adapters.http.console_browser import Browser, visitor
from tests.adapters.http.test_agents import agent, message, status, unread
from tests.adapters.http.test_hidden_fields import hidden
from tests.adapters.postgres.projected_rows import Shown, call, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

AGENT = "/console/agent"
ADA = "ada@example.com"
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
PART = {"HX-Request": "true"}

TALKER = {
    "agent": {"actions": ["read"]},
    "agent_status": {"actions": ["read", "set"]},
    "agent_message": {"actions": ["read", "acknowledge"]},
    "call": {"actions": ["read", "update"]},
    "call_disposition": {"actions": ["read"]},
    "lead": {"actions": ["read"]},
}
"""What somebody needs who only talks to leads."""


@pytest_asyncio.fixture(loop_scope="session")
async def shown(town: Any, company: Any) -> AsyncIterator[Shown]:
    found = Shown(town.pool, topic=f"desk.{company.id}")
    yield found
    await found.store.close()


async def spoken(
    town: Any, company: Any, shown: Shown, agent_id: int, *, lead_zone: str | None = None, **fields: Any
) -> int:
    """Project a lead and a call of an agent; return the id of the call."""
    number, now = int(company.id) * 100_000 + shown.sequence, town.context.clock.now()
    known = {"company": company.id, "created_at": now - MINUTE}
    one = lead(
        number,
        **known,
        columns={"full_name": "Grace Hopper", "time_zone": lead_zone},
        data={"roof": HOSTILE},
        callback_at=now + 60 * MINUTE,
    )
    await shown.decide(one, call(number, **known, lead_id=number, agent_id=agent_id, **{"ended_at": now, **fields}))
    return number


async def status_of(company: Any, agent_id: int) -> Any:
    return (await company.send("GET", f"/api/v1/agents/{agent_id}")).json()["agent"]["agent_status_key"]


NOW = Instant(1_000 * MINUTE)


def row(number: int, *, in_progress: bool | None = False, ended: Instant | None = None, judged: int | None = None) -> Any:
    """A call as the API shows it."""
    ended_at = None if ended is None else to_rfc3339(ended)
    return {"id": number, "in_progress": in_progress, "ended_at": ended_at, "call_disposition_id": judged}


LIVE, OTHER = row(9, in_progress=True), row(8, in_progress=True)
ENDED, EARLIER = row(7, ended=NOW - MINUTE), row(6, ended=NOW - 2 * MINUTE)
JUDGED, OLD = row(5, ended=NOW - MINUTE, judged=70), row(4, ended=NOW - WRAP_UP - 1)
HIDDEN = row(3, in_progress=None)


@pytest.mark.parametrize(
    ("calls", "opened", "shown"),
    [
        pytest.param([ENDED, LIVE], OpenedCalls(), "9 7", id="the call on the line comes first"),
        pytest.param([JUDGED, ENDED], OpenedCalls(), "7", id="a call that was judged does not stay"),
        pytest.param([JUDGED, OLD], OpenedCalls(), "", id="nor one that ended long ago"),
        pytest.param([HIDDEN], OpenedCalls(), "", id="a team hides whether it is on the line"),
        pytest.param([LIVE, ENDED], OpenedCalls(shown="7"), "9 7", id="a page of the call before follows the call"),
        pytest.param([LIVE, JUDGED], OpenedCalls(shown="5"), "9", id="without the call before, once that was judged"),
        pytest.param([LIVE, JUDGED], OpenedCalls(shown="5", typed={"5": {}}), "9 5", id="unless something is typed of it"),
        pytest.param([LIVE, OLD], OpenedCalls(shown="4", typed={"4": {}}), "9 4", id="however long ago it ended"),
        pytest.param(
            [LIVE, OLD], OpenedCalls(asked="4"), "9 4", id="a call that the address names is below the one on the line"
        ),
        pytest.param([ENDED, OLD], OpenedCalls(asked="4"), "4 7", id="and first while none is on the line"),
        pytest.param([ENDED, EARLIER], OpenedCalls(shown="7", asked="6"), "7 6", id="a call stays first when it ends"),
        pytest.param([ENDED, EARLIER], OpenedCalls(shown="6"), "6 7", id="also where a later one was missed"),
        pytest.param([LIVE, OTHER], OpenedCalls(shown="8"), "9 8", id="the newest of two on the line"),
    ],
)
async def test_the_page_shows_the_call_on_the_line_and_below_it_what_is_not_saved(
    calls: Any, opened: OpenedCalls, shown: str
) -> None:
    assert " ".join(order_calls(calls, NOW, opened)) == shown


async def test_a_time_of_the_browser_is_of_the_clock_of_the_visitor() -> None:
    assert _read_local("2026-03-07T18:30", "America/New_York") == "2026-03-07T23:30:00Z"
    assert _read_local("soon", "UTC") == "soon"
    assert _read_local("9999-12-31T23:59", "America/New_York")


CHICAGO, BERLIN, TYPED = "America/Chicago", "Europe/Berlin", "2027-03-07T18:30"


@pytest.mark.parametrize(
    ("stated", "candidate", "own", "clock", "is_known", "stored"),
    [
        pytest.param(CHICAGO, BERLIN, BERLIN, CHICAGO, True, "2027-03-08T00:30:00Z", id="stated of the lead"),
        pytest.param(None, CHICAGO, BERLIN, CHICAGO, True, "2027-03-08T00:30:00Z", id="the first candidate, by the call"),
        pytest.param(None, None, BERLIN, BERLIN, False, "2027-03-07T17:30:00Z", id="that of who reads, where none is known"),
        pytest.param("Nowhere/City", None, BERLIN, BERLIN, False, "2027-03-07T17:30:00Z", id="or it is no zone"),
        pytest.param(None, None, None, "UTC", False, "2027-03-07T18:30:00Z", id="UTC is said"),
    ],
)
async def test_a_callback_is_typed_on_the_clock_of_the_person(  # noqa: PLR0917 - a table
    town: Any, company: Any, shown: Shown, stated: Any, candidate: Any, own: Any, clock: str, is_known: bool, stored: str
) -> None:
    ada = await agent(company, user_email=ADA)
    number = await spoken(town, company, shown, ada, lead_zone=stated, time_zone=candidate)
    browser = await visitor(town, company, permissions=TALKER)
    if own is not None:
        (user,) = [one for one in (await company.send("GET", "/api/v1/users")).json()["users"] if one["email"] == ADA]
        answer = await company.send("PATCH", f"/api/v1/users/{user['id']}", json={"time_zone": own})
        assert answer.is_success, answer.text
    page = (await browser.get(AGENT)).text
    assert f"Call back at, on the clock of {clock}" in page
    assert ("the person's time zone is not known" in page) is not is_known
    assert f'name="callback_zone" value="{clock}"' in page
    part = re.search(r"<dt>Time there</dt><dd[^>]*>(.*?)</dd>", page)
    assert part is not None
    assert part[1].endswith(clock) is is_known
    assert stored == _read_local(TYPED, clock)
    assert f'id="callback-at-{number}"' in page


async def test_an_agent_finds_the_own_page_and_sets_a_status(town: Any, company: Any) -> None:
    available, lunch = await status(company), await status(company, "lunch")
    ada = await agent(company, user_email=ADA)
    browser = await visitor(town, company, permissions=TALKER)
    page = await browser.get(AGENT)
    assert page.status_code == 200, page.text
    assert "No call" in page.text
    assert "none yet" in page.text
    assert 'hx-post="/console/agent/heartbeat"' in page.text
    for status_id, key in ((available, "available"), (lunch, "lunch")):
        done = await browser.post(f"{AGENT}/status", {"agent_status_id": status_id})
        assert (done.status_code, done.headers["location"]) == (303, f"{AGENT}?done=status")
        assert await status_of(company, ada) == key
    after = await browser.get(f"{AGENT}?done=status")
    assert "Your status is set." in after.text
    assert f'value="{lunch}" aria-pressed="true"' in after.text
    wrong = await browser.post(f"{AGENT}/status", {"agent_status_id": "1"})
    assert wrong.status_code == 422
    assert await status_of(company, ada) == "lunch"


async def test_an_open_page_keeps_its_own_agent_present_and_no_other(town: Any, company: Any) -> None:
    ada, grace = await agent(company, user_email=ADA), await agent(company, name="Grace")
    browser = await visitor(town, company)
    await browser.get(AGENT)
    assert (await browser.post(f"{AGENT}/heartbeat")).status_code == 200
    silent = await PostgresHeartbeats(town.pool).claim_silent(0.0, 0.0, 1_000)
    assert [one.agent_id for one in silent if one.company_id == company.id] == [ada]
    page = (await browser.get(AGENT, params={"agent": grace})).text
    assert "heartbeat" not in page.replace("send_agent_heartbeat", "")
    assert (await browser.post(f"{AGENT}/heartbeat", headers={"X-CSRF-Token": ""})).status_code == 403


async def test_the_page_of_another_agent_is_for_those_who_may_change_agents(town: Any, company: Any) -> None:
    await agent(company, user_email=ADA)
    grace, available = await agent(company, name="Grace"), await status(company)
    secret = await message(company, content="For Grace alone", buyer_ids=[])
    ada = await visitor(town, company, permissions=TALKER)
    refused = await ada.post(f"{AGENT}/status", {"agent": grace, "agent_status_id": available})
    assert refused.status_code == 403
    assert await status_of(company, grace) is None
    chief = await visitor(town, company, "chief@example.com", superuser=True)
    page = await chief.get(AGENT)
    assert "You are no agent" in page.text
    assert f'href="{AGENT}?agent={grace}"' in page.text
    theirs = await chief.get(AGENT, params={"agent": grace})
    assert "For Grace alone" in theirs.text
    done = await chief.post(f"{AGENT}/status", {"agent": grace, "agent_status_id": available})
    assert done.headers["location"] == f"{AGENT}?done=status&agent={grace}"
    assert await status_of(company, grace) == "available"
    # What the chief was answered a moment ago is not given to Ada, who may not open the page of Grace.
    part = await ada.get(f"{AGENT}/part", params={"agent": grace}, headers=PART)
    assert "For Grace alone" not in part.text
    assert secret


async def test_messages_are_read_and_acknowledged(town: Any, company: Any) -> None:
    ada = await agent(company, user_email=ADA)
    first, second = await message(company, content=HOSTILE), await message(company, content="Lunch at noon")
    browser = await visitor(town, company, permissions=TALKER)
    page = (await browser.get(AGENT)).text
    assert "Lunch at noon" in page
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page
    done = await browser.post(f"{AGENT}/messages/{first}")
    assert done.headers["location"] == f"{AGENT}?done=message"
    assert await unread(company, ada) == [second]
    part = (await browser.get(f"{AGENT}/part", headers=PART)).text
    assert "Lunch at noon" in part
    assert "onerror" not in part


async def test_the_call_of_the_agent_is_shown_with_its_lead_and_judged(town: Any, company: Any) -> None:
    ada, grace = await agent(company, user_email=ADA), await agent(company, name="Grace")
    sold = (await company.record("call_dispositions", {"name": "Sold", "sortable_order": 1}))["id"]
    schedule = await company.schedule()
    given = {"lead_token": schedule["lead_token"], "caller_id": "+13055550123", "full_name": "Grace Hopper"}
    assert (await company.send("POST", "/api/v1/leads", json=given)).status_code == 201
    number = (await company.record("numbers", {"number": "+12125550188"}))["number"]
    stated = {"from": "+13055550123", "to": number, "call_ref": f"desk-{ada}", "provider": "our pbx", "agent_id": ada}
    received = await company.send("POST", "/api/v1/calls/received", json={**stated, "state": "connected"})
    assert received.is_success, received.text
    (live,) = (await company.send("GET", "/api/v1/calls", params={"agent_id": ada})).json()["calls"]
    browser = await visitor(town, company, permissions=TALKER)
    page = (await browser.get(AGENT)).text
    assert "Call from" in page
    assert "Grace Hopper" in page
    assert f'name="open_call" value="{live["id"]}"' in page
    for open_call in ("", "7", live["id"], "x" * 40):
        part = (await browser.get(f"{AGENT}/part", params={"open_call": open_call}, headers=PART)).text
        assert f'name="open_call" value="{live["id"]}"' in part, open_call
        assert "Grace Hopper" in part
    asked = {"callback": "2027-03-07T18:30", "callback_zone": "America/Chicago"}
    fields = {"call_disposition_id": sold, "notes": "Wants\r\nit", "notes_before": "", **asked}
    done = await browser.post(f"{AGENT}/calls/{live['id']}", fields)
    assert (done.status_code, done.headers["location"]) == (303, f"{AGENT}?done=call"), done.text
    judged = (await company.send("GET", f"/api/v1/calls/{live['id']}")).json()["call"]
    assert judged["call_disposition_id"] == sold
    assert judged["agent_call_disposition_notes"].split() == ["Wants", "it"]
    stored = (await company.send("GET", f"/api/v1/leads/{live['lead_id']}")).json()["lead"]
    assert stored["callback_at"].startswith("2027-03-08T00:30:00"), "as typed on the clock of the person"
    again = (await browser.get(AGENT, params={"call": live["id"]})).text
    assert "checked" in again
    await company.send("POST", "/api/v1/calls/received", json={**stated, "state": "ended"})
    assert "No call" in (await browser.get(AGENT)).text
    assert (await company.send("GET", "/api/v1/calls", params={"agent_id": grace})).json()["calls"] == []


async def test_a_form_in_which_something_is_typed_stays_below_the_call_on_the_line(
    town: Any, company: Any, shown: Shown
) -> None:
    ada = await agent(company, user_email=ADA)
    before = await spoken(town, company, shown, ada, call_disposition_id=7)
    live = await spoken(town, company, shown, ada, ended_at=None)
    browser = await visitor(town, company, permissions=TALKER)
    form = f'id="call-form-{before}"'
    part = (await browser.get(f"{AGENT}/part", params={"open_call": before}, headers=PART)).text
    assert f'name="open_call" value="{live}"' in part
    assert form not in part, "it was judged, and nothing is typed of it"
    part = (await browser.get(f"{AGENT}/part", params={"open_call": before, "typed": f"{before},1,x"}, headers=PART)).text
    assert f'name="open_call" value="{live}"' in part
    assert re.search(form + r"[^>]* hx-preserve", part), "the browser keeps its own"
    assert f'id="call-form-{live}"' in part
    assert part.count("hx-preserve") == 1


async def test_callbacks_of_the_agents_last_calls_are_listed(town: Any, company: Any, shown: Shown) -> None:
    ada = await agent(company, user_email=ADA)
    number = await spoken(town, company, shown, ada)
    page = (await (await visitor(town, company, permissions=TALKER)).get(AGENT)).text
    assert f'id="callback-{number}"' in page
    assert "Call to" in page
    assert "&lt;script&gt;alert(2)" in page
    assert "<script>alert" not in page


async def test_what_is_refused_is_named_and_what_was_typed_is_kept(town: Any, company: Any, shown: Shown) -> None:
    ada = await agent(company, user_email=ADA)
    number = await spoken(town, company, shown, ada)
    browser = await visitor(town, company, permissions=TALKER)
    await browser.get(AGENT)
    fields = {"call_disposition_id": "9", "notes": "typed <b>", "callback": "2001-01-01T00:00"}
    refused = await browser.post(f"{AGENT}/calls/{number}", fields)
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text
    assert "typed &lt;b&gt;</textarea>" in refused.text
    assert 'value="2001-01-01T00:00"' in refused.text


async def test_who_may_only_read_sees_no_button_and_is_refused(town: Any, company: Any, shown: Shown) -> None:
    ada, available = await agent(company, user_email=ADA), await status(company)
    note, number = await message(company), await spoken(town, company, shown, ada)
    reads = {model: {"actions": ["read"]} for model in TALKER}
    browser = await visitor(town, company, permissions=reads)
    page = await browser.get(AGENT)
    assert page.status_code == 200, page.text
    for path in ("status", f"messages/{note}", f"calls/{number}", "heartbeat"):
        assert f"{AGENT}/{path}" not in page.text
        assert (await browser.post(f"{AGENT}/{path}", {"agent_status_id": available})).status_code == 404, path
    assert await status_of(company, ada) is None


async def test_agents_of_another_company_are_not_there(town: Any, company: Any, other: Any) -> None:
    ada = await agent(company, user_email=ADA)
    theirs = await visitor(town, other, ADA)
    assert "You are no agent" in (await theirs.get(AGENT)).text
    assert (await theirs.get(AGENT, params={"agent": ada})).status_code == 404
    assert (await theirs.get(f"{AGENT}/part", params={"agent": ada})).status_code == 404
    assert (await theirs.post(f"{AGENT}/heartbeat")).status_code == 404


async def test_the_page_renders_where_a_team_hides_every_field(town: Any, company: Any, shown: Shown) -> None:
    ada, note = await agent(company, user_email=ADA), await message(company, content="ecret")
    number = await spoken(town, company, shown, ada)
    team = {model: {**granted, "fields": hidden(*HIDEABLE[model])} for model, granted in TALKER.items() if model in HIDEABLE}
    team["agent"] = {"actions": ["read", "update"], "fields": hidden(*HIDEABLE["agent"])}
    browser = await visitor(town, company, permissions=team)
    for path in (AGENT, f"{AGENT}?agent={ada}", f"{AGENT}/part?agent={ada}", f"{AGENT}?agent={ada}&call={number}"):
        page = await browser.get(path)
        assert page.status_code == 200, (path, page.text)
        assert "ecret" not in page.text.replace("secret", "")
        assert "Grace Hopper" not in page.text
    assert note


async def test_a_company_without_agents_reads_what_to_do_first(town: Any, company: Any) -> None:
    page = (await (await visitor(town, company)).get(AGENT)).text
    assert "POST /api/v1/agents" in page
    assert "You are no agent" in page
    assert (await Browser(town).get(AGENT)).status_code == 303
