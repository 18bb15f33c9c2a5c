"""Does Today name the cause in its first sentences: buyers full, provider down, a pause, a clock, opt-outs, no projector?"""

import asyncio
import re
from html import unescape
from typing import Any

import pytest

from adapters.http.console.dialling_page import find_links, find_verdict
from adapters.http.console.held_leads import HELD_BY, HeldLeads
from adapters.http.console.late_leads import LAG_MAX
from adapters.http.console.money_alarms import questions as questions_of_money
from adapters.http.console.shared_answers import SHARED_SECONDS
from adapters.http.console.staleness import Staleness, explain_unshown
from adapters.http.console.today_page import find_alarms
from adapters.http.exchange.ports import Unshown
from adapters.http.operations import OPERATIONS
from adapters.operator.deployment import LogDeployment
from engine.partition.ports import LogError
from schemas.instant import HOUR, MINUTE, Instant, to_rfc3339
from schemas.requests import OutcomeRecorded
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.console_browser import Browser, visitor
from tests.adapters.http.furnished import OURS, submit
from tests.adapters.postgres.projected_rows import Shown, call

pytestmark = pytest.mark.asyncio(loop_scope="session")

ALARM = re.compile(r'<div class="says (bad|warn)"><p class="any">(.*?)</p></div>', re.DOTALL)
NOW = Instant(1_781_715_600_000)
QUESTIONS = (
    "late",
    "acted",
    "submitted",
    "schedules",
    "buyers",
    "own_company",
    "reviews",
    "recent",
    "statuses",
    "lags",
    "gateways",
    "flood",
    "kept",
    "unreviewed",
    *questions_of_money(NOW),
)
ANYWHERE = "The company dials every country: a lead token lets anybody have any of them called. Set dial_countries."
"""What is said of the companies of these tests, which dial every country, and tried by itself."""


async def alarms(town: Any, company: Any) -> list[str]:
    """Return the sentences of a page that is opened by somebody who may see everything of the company."""
    browser = await visitor(town, company)
    page = await browser.get("/console")
    assert page.status_code == 200, page.text
    assert page.text.index("says ") < page.text.index('class="tiles"'), "before everything else"
    found = [unescape(re.sub(r"<[^>]+>", "", sentence)) for _, sentence in ALARM.findall(page.text)]
    assert ANYWHERE in found
    return [sentence for sentence in found if sentence != ANYWHERE]


def said(**answers: Any) -> list[str]:
    found = {**dict.fromkeys(QUESTIONS), **answers}
    return [alarm.sentence for alarm in find_alarms(found, [], NOW)]


def rows(name: str, *found: dict[str, Any]) -> dict[str, Any]:
    return {name: list(found), "metadata": {"root": name, "total_count": len(found)}}


def report(count: str, **counts: int) -> dict[str, Any]:
    return {"reports": [{"category": name, count: value} for name, value in counts.items()]}


def reports(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"reports": [{"category_label": row["category"], **row} for row in rows]}


async def test_nothing_is_said_of_a_company_where_all_is_well(town: Any, company: Any) -> None:
    await company.record("buyers", {"name": "Bright Roofs", "number": "+12125550160"})
    await submit(company, await company.schedule(), "+12125550177")
    assert await alarms(town, company) == []


async def test_the_countries_of_a_company_are_said_where_they_are_too_many(town: Any, company: Any) -> None:
    await company.send("PUT", "/api/v1/company", json={"dial_countries": ["US"]})
    page = await (await visitor(town, company)).get("/console")
    assert not ALARM.findall(page.text)

    def of(**fields: Any) -> list[str]:
        return said(own_company={"company": {"dial_countries": ["US"], "unreviewed_countries": "floor", **fields}})

    assert of() == of(dial_countries=["US", "GB"]) == of(dial_countries=["JP"], unreviewed_countries="hold") == []
    assert of(dial_countries=[]) == [ANYWHERE]
    assert of(dial_countries=["US", "SE", "JP"])[0].startswith(
        "No law of JP, SE is kept: telemarketing there has 08:00-21:00."
    )
    assert said(unreviewed=rows("leads", {"id": 1})) == []
    held = said(own_company={"company": {"dial_countries": ["US"]}}, unreviewed=rows("leads", {"id": 1}))
    assert held == ["1 leads wait in countries whose law is not kept: add a rule pack for them."]


async def test_all_buyers_are_full(town: Any, company: Any) -> None:
    for last in (160, 161):
        await company.record("buyers", {"name": f"Roofs {last}", "number": f"+12125550{last}", "attempt_daily_limit": 0})
    assert await alarms(town, company) == ["No buyer can take a call: each is paused or has used up a cap."]


async def test_a_schedule_is_paused(town: Any, company: Any) -> None:
    await company.schedule(name="Winter <b>", paused=True)
    assert await alarms(town, company) == ["Paused: Winter <b>. Leads on it wait until somebody resumes it."]


async def test_the_provider_carries_no_call(town: Any, company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    schedule = await company.schedule()
    for last in range(178, 184):
        lead = await submit(company, schedule, f"+12125550{last}")
        started = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead["id"], "from": OURS})
        assert started.status_code == 201, started.text
        await fail_call(town, company, lead, started.json()["call"])
    (sentence,) = await alarms(town, company)
    assert sentence.startswith("6 of 6 calls of the last hour reached no telephone: the provider")


async def fail_call(town: Any, company: Any, lead: dict[str, Any], call: dict[str, Any]) -> None:
    """Let a gateway report that it could not place a call, and wait until that is shown."""
    row = await town.pool.fetchrow("SELECT command_id, contact_key FROM read.calls WHERE id = $1", call["id"])
    message = OutcomeRecorded(
        company_id=company.id, contact_key=row["contact_key"], lead_id=lead["id"], command_id=row["command_id"], kind="call",
        outcome="not_placed", occurred_at=town.context.clock.now(), call_id=call["id"],
    )  # fmt: skip
    await town.requests.submit(
        "contacts.requests", message.contact_key, message, request_id=f"alarm-{call['id']}", company_id=company.id
    )
    async with asyncio.timeout(WAIT_SECONDS):
        while (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["outcome"] is None:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        ([("A", 197, 0)], ["The buyer A answers no call: 197 of the last 24 hours, none was connected."]),
        ([("A", 20, 0), ("B", 19, 0), ("C", 20, 1)], ["The buyer A answers no call: 20 of"]),
        ([(None, 500, 0)], []),
    ],
)
async def test_a_buyer_who_never_answers_is_named(rows: list[tuple[Any, int, int]], sentences: list[str]) -> None:
    names = "category", "calls_count", "connected_count"
    found = said(by_buyer=reports(*({**dict(zip(names, row, strict=True)), "inbound_count": 0} for row in rows)))
    assert [one[: len(sentence)] for one, sentence in zip(found, sentences, strict=True)] == sentences


async def test_what_costs_money_is_on_the_page_with_a_link_by_what_the_api_counts(town: Any, company: Any) -> None:
    buyer = await company.record("buyers", {"name": "Slow Roofs", "number": "+12125550160"})
    schedule = await company.schedule(name="Winter")
    shown, first = Shown(town.pool, topic=f"alarms.{company.id}"), company.id * 100_000
    recent = {"company": company.id, "created_at": town.context.clock.now() - HOUR, "schedule_id": schedule["id"]}
    outcomes = ["no_answer"] * 17 + ["abandoned_by_us"] * 3
    calls = [
        call(first + place, **recent, outcome=outcome, buyer_id=buyer["id"], direction="outbound")
        for place, outcome in enumerate(outcomes)
    ]
    await shown.decide(*calls)
    await shown.store.close()
    page = (await (await visitor(town, company)).get("/console")).text
    assert "The buyer Slow Roofs answers no call: 20 of the last 24 hours, none was connected." in page
    assert f'href="/console/buyers/{buyer["id"]}">See it' in page
    assert "The schedule Winter has abandoned 100.0% of the 3 calls" in page
    assert f'href="/console/schedules/{schedule["id"]}">See it' in page


async def test_nothing_that_is_asked_for_what_costs_money_is_refused(town: Any, company: Any) -> None:
    paths = {one.name: one.path for one in OPERATIONS}
    for name, fields in questions_of_money(town.context.clock.now()).values():
        answer = await company.send("GET", paths[name], params=fields)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("answered", "abandoned", "share"), [(99, 3, "3.0%"), (100, 3, None), (101, 4, "4.0%"), (10, 2, None), (0, 0, None)]
)
async def test_more_abandoned_calls_of_a_campaign_than_may_be_are_said(
    answered: int, abandoned: int, share: str | None
) -> None:
    found = said(by_schedule=reports({"category": "A", "answered_count": answered, "abandoned_count": abandoned}))
    assert [f"has abandoned {share} of the {answered} calls" in one for one in found] == ([] if share is None else [True])


async def test_a_number_whose_calls_are_answered_far_less_than_others_is_named() -> None:
    def of(*numbers: tuple[Any, int, int, int | None]) -> list[str]:
        names = "category", "calls_count", "inbound_count", "answered_count"
        return said(by_number=reports(*(dict(zip(names, one, strict=True)) for one in numbers)))

    (sentence,) = of(("A", 200, 50, 12), ("B", 120, 0, 30), ("C", 80, 0, 20))
    assert sentence.startswith("Calls from A are answered far less than others: 8% of 150 in 7 days, 25% from the other")
    assert of(("A", 200, 50, 19), ("B", 200, 0, 50)) == [], "half as often is not far less"
    assert of(("A", 140, 50, 0), ("B", 200, 0, 50)) == [], "90 calls say nothing"
    assert of(("A", 200, 0, 0), ("B", 90, 0, 50)) == [], "nor do 90 of others"
    assert of(("A", 200, 0, None), (None, 200, 0, 90)) == [], "hidden figures are no figures"


async def test_subscriptions_and_webhooks_that_only_fail_are_named() -> None:
    def of(**fields: Any) -> list[str]:
        return said(subscriptions=rows("subscriptions", {"id": 7, "name": "CRM", "waiting_count": 876, **fields}))

    since = {"failing_since": to_rfc3339(NOW - 2 * HOUR)}
    assert of(**since) == ["The subscription CRM has delivered nothing for 2 h: 876 events wait."]
    assert of(failing_since=to_rfc3339(NOW - HOUR + 1)) == []
    assert of(**since, waiting_count=0) == []
    disabled = {"disabled_at": to_rfc3339(NOW), "disabled_reason": "410 Gone"}
    assert of(**disabled) == ["The subscription CRM is disabled: 410 Gone."]
    circuit = {"channel": "webhook", "endpoint": "crm.example:443", "waiting_count": 9}
    found = said(circuits={"circuits": [circuit, {**circuit, "waiting_count": 0}, {**circuit, "channel": "sms"}]})
    assert found == ["Webhooks to crm.example:443 fail: 9 wait for it."]


@pytest.mark.parametrize(
    ("good", "refused", "rejected", "is_said"), [(40, 10, 0, True), (41, 9, 0, False), (50, 0, 10, True), (51, 0, 10, False)]
)
async def test_an_import_with_many_refusals_is_named(good: int, refused: int, rejected: int, *, is_said: bool) -> None:
    row = {"id": 5, "good_count": good, "refused_count": refused, "rejected_count": rejected}
    assert [f"{refused + rejected} of" in one for one in said(imports=rows("lead_imports", row))] == [True] * is_said


async def test_many_people_opt_out(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    for last in range(100, 112):
        number = f"+12125550{last}"
        lead = await submit(company, schedule, number)
        answer = await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
        assert answer.status_code == 200, answer.text
    (sentence,) = await alarms(town, company)
    assert sentence == (
        "12 people have opted out in the last hour; none did in the day before. All are on the schedule Solar. "
        "Pause what contacts them, and look at its texts and where its leads come from."
    )


async def test_many_people_answer_stop_to_a_text(town: Any, company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    schedule = await company.schedule(
        name="Winter <b>", steps=[{"id": "text-1", "kind": "sms", "template": "Hi <b> {{id}}"}]
    )
    source = await company.record("traffic_sources", {"name": "Acme"})
    for last in range(100, 112):
        person = f"+12125550{last}"
        await submit(company, schedule, person, traffic_source_id=source["id"])
        text = {"from": person, "to": OURS, "text_ref": f"flood-{last}", "body": "STOP"}
        answer = await company.send("POST", "/api/v1/texts/received", json=text)
        assert answer.json()["text"]["meaning"] == "opt_out", answer.text
    (sentence,) = await alarms(town, company)
    assert sentence == (
        "12 people have opted out in the last hour; none did in the day before. All are on the schedule Winter <b>. "
        "All came from the traffic source Acme. Most answered STOP to the text text-1, which reads “Hi <b> {{id}}”. "
        "Pause what contacts them, and look at its texts and where its leads come from."
    )


async def test_a_clock_has_jumped() -> None:
    ahead = rows("leads", {"id": 1, "created_at": to_rfc3339(NOW + 2 * HOUR)})
    (sentence,) = said(submitted=ahead)
    assert sentence.startswith("The newest lead is dated 2 h in the future: the clock of a machine has jumped.")
    assert said(submitted=rows("leads", {"id": 1, "created_at": to_rfc3339(NOW - MINUTE)})) == []
    assert said(submitted=rows("leads")) == []
    assert said(submitted=rows("leads", {"id": 1})) == [], "a team may hide the instant"


async def test_no_projector_runs() -> None:
    stopped = {"role": "projector", "topic": "contacts.decisions", "members": 0, "lag": 7}
    (sentence,) = said(lags={"lags": [stopped], "not_known_here": {}})
    records = "7 records of contacts.decisions wait"
    assert sentence == f"No projector runs: what these pages show is old, {records}. Start `leadclock projector`."
    assert said(lags={"lags": [{**stopped, "lag": 0}], "not_known_here": {}}) == []
    assert said(lags={"lags": [{**stopped, "members": 1}], "not_known_here": {}}) == []
    assert said(lags={"lags": [stopped], "not_known_here": {"owner": "no groups"}}) == [], "without groups nobody knows"
    (sentence,) = said(lags={"lags": [{**stopped, "lag": LAG_MAX + 1}], "not_known_here": {"owner": "no groups"}})
    assert sentence == "The projector role is 1,001 records behind on contacts.decisions."
    (sentence,) = said(lags={"lags": [{**stopped, "role": "intake.bulk"}], "not_known_here": {}})
    assert sentence == f"No intake runs: {records}. Start `leadclock intake`."
    assert said(lags={"lags": [{**stopped, "role": "gateway.call"}], "not_known_here": {}}) == []


async def test_a_page_says_first_of_when_it_is_where_the_projector_stands_still(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = Unshown(decided_at=town.context.clock.now() - 3 * MINUTE, is_standing=True)

    async def unshown(_: LogDeployment) -> Unshown | None:
        return waits

    await company.schedule()
    browser = await visitor(town, company)
    monkeypatch.setattr(LogDeployment, "unshown", unshown)
    page = await until_said(browser, "/console", "What you see is as of ")
    sentence = re.search(r'<div id="staleness"><div class="says bad"><p>(.*?)</p>', page)
    assert sentence is not None
    assert sentence[1].endswith(
        "(3 min ago): the projector stands still: it does not run, or hangs. Leads are decided, called and texted as ever; "
        "the pages show it once <code>leadclock projector</code> runs again."
    )
    assert page.index('id="staleness"') < page.index("<h1>"), "before everything else"
    assert "Nothing needs you" not in page
    part = await browser.get("/console/today", headers={"HX-Request": "true"})
    assert '<div id="staleness" hx-swap-oob="true"><div class="says bad">' in part.text, "an open page learns it"
    dialling = (await browser.get("/console/dialling")).text
    assert "<strong>What holds calls now is not known here" in dialling
    assert dialling.count("What you see is as of ") == 1, "it is said once, also to who is no operator"
    for path in ("/console/leads", "/console/schedules", "/console/reports"):
        assert "the projector stands still" in (await browser.get(path)).text, path
    monkeypatch.undo()
    page = await until_said(browser, "/console", '<div id="staleness"></div>')
    assert "What you see is as of " not in page
    part = await browser.get("/console/today", headers={"HX-Request": "true"})
    assert '<div id="staleness" hx-swap-oob="true"></div>' in part.text, "an open page loses it again"


async def until_said(browser: Browser, path: str, words: str) -> str:
    """Return a page once it says something: what pages say of their age is asked every few seconds."""
    async with asyncio.timeout(WAIT_SECONDS):
        while words not in (page := (await browser.get(path)).text):
            await asyncio.sleep(0.05)
    return page


async def test_the_age_of_a_page_is_said_by_the_clock_of_its_reader() -> None:
    at = NOW - 3 * MINUTE
    assert explain_unshown(None, NOW, "UTC") == ""
    behind = explain_unshown(Unshown(decided_at=at, is_standing=False), NOW, "America/New_York")
    assert behind == (
        "What you see is as of 12:57 EDT (3 min ago): the projector is behind. Leads are decided, called and texted as "
        "ever; the pages catch up by themselves."
    )
    long_ago = explain_unshown(Unshown(decided_at=NOW - 50 * HOUR, is_standing=True), NOW, "UTC")
    assert long_ago.startswith("What you see is as of 15 Jun, 15:00 UTC (2 d 2 h ago): the projector stands still:")


async def test_a_log_that_is_away_keeps_no_page_away() -> None:
    seconds, asked = 0.0, 0

    class Away:
        async def unshown(self) -> Unshown | None:
            nonlocal asked
            asked += 1
            raise LogError("away")

    staleness = Staleness(Away(), lambda: seconds)  # type: ignore[arg-type]
    assert [await staleness.look() for _ in range(3)] == [None] * 3
    assert asked == 1, "pages share the question"
    seconds = SHARED_SECONDS
    assert await staleness.look() is None
    assert asked == 2


async def test_what_makes_a_page_old_is_said_once_and_nothing_on_it_is_late() -> None:
    stopped = {"role": "projector", "topic": "contacts.decisions", "members": 0, "lag": 7}
    lags = {"lags": [stopped, {**stopped, "role": "intake"}], "not_known_here": {}}
    late = rows("leads", {"id": 1, "status_wait": None})
    found = {**dict.fromkeys(QUESTIONS), "lags": lags, "late": late, "acted": rows("leads")}
    old = [alarm.sentence for alarm in find_alarms(found, [], NOW, is_old=True)]
    assert [sentence.partition(":")[0] for sentence in old] == ["1 leads are late", "No intake runs"]


async def test_a_scheduler_does_not_act_on_what_is_late() -> None:
    late, idle = rows("leads", {"id": 1, "status_wait": None}), rows("leads")
    scheduler = {"role": "scheduler", "topic": "contacts.requests", "members": 1, "lag": 0}
    known = {"lags": [scheduler], "not_known_here": {}}
    jumped = "The clock of a machine has probably jumped: nothing holds the lead that waits longest"
    assert said(late=late, acted=idle, lags=known)[0].startswith(jumped), "the cause comes first"
    stopped = {"lags": [{**scheduler, "members": 0}], "not_known_here": {}}
    none_runs = "No scheduler runs: nothing that is due is carried out. Start `leadclock scheduler`."
    assert said(late=late, acted=idle, lags=stopped)[0] == none_runs
    assert said(late=late, acted=idle)[0].startswith("Leads wait that nothing holds: either the clock"), (
        "a manager sees no roles"
    )
    ended = rows("leads", {"id": 1, "status_wait": "quiet_hours_state"})
    assert len(said(late=ended, acted=idle, lags=known)) == 2, "closed hours end at the instant"
    acted = rows("leads", {"id": 2, "last_action_at": to_rfc3339(NOW - MINUTE)})
    long_ago = rows("leads", {"id": 2, "last_action_at": to_rfc3339(NOW - HOUR)})
    assert len(said(late=late, acted=long_ago, lags=known)) == 2
    for explained in (
        {"late": late, "acted": acted, "lags": known},  # it has only much to do
        {"late": rows("leads", {"id": 1, "status_wait": "buyer_cap"}), "acted": idle, "lags": known},
        {"late": rows("leads", {"id": 1}), "acted": idle, "lags": known},  # a team may hide why it waits
        {"late": late, "lags": known},  # or when leads were acted on
    ):
        assert len(said(**explained)) == 1, explained
    behind = {"lags": [{**scheduler, "members": 0, "lag": 7}], "not_known_here": {}}
    (_, of_role) = said(late=late, acted=idle, lags=behind)
    assert of_role.startswith("No scheduler runs: 7 records of contacts.requests wait."), "it is said once"


def verdict(**answers: Any) -> str:
    """Return the first sentence of the page that asks why nothing is dialling."""
    questions = ("calls", "recent", "waiting", "due", "late", "acted", "company", "buyers", "numbers", "lags", "gateways")
    found = {**dict.fromkeys(questions), "ready": {}, "schedules": None, **answers}
    held = {code: HeldLeads(code, code, 0) for codes in HELD_BY.values() for code in codes}
    return find_verdict(found, list(find_links(found, held, NOW)))[1]


async def test_nothing_is_dialling_since_a_process_stands_still_or_no_call_is_carried() -> None:
    stopped = {"role": "projector", "topic": "contacts.decisions", "members": 0, "lag": 7}
    lags = {"lags": [stopped], "not_known_here": {}}
    assert verdict(lags=lags).startswith(
        "Processes that decide and project: No projector runs: what these pages show is old"
    )
    late = rows("leads", {"id": 1, "status_wait": None, "next_action_at": to_rfc3339(NOW - HOUR)})
    lags = {"lags": [{**stopped, "role": "scheduler", "members": 1}], "not_known_here": {}}
    asked = {"late": late, "acted": rows("leads"), "due": late, "waiting": late, "lags": lags}
    assert verdict(**asked).startswith("Leads that are due: The clock of a machine has probably jumped")
    not_placed = report("calls_count", not_placed=6)
    said_of_calls = verdict(recent=not_placed, calls=rows("calls", {"id": 1}))
    assert said_of_calls.startswith("Gateway and provider of calls: 6 of 6 calls of the last hour reached no telephone")
    assert "Calls still began" not in said_of_calls, "they reached nobody"


async def test_a_gateway_has_stopped() -> None:
    gone = {"channel": "call", "provider": "sandbox", "is_live": False}
    (sentence,) = said(gateways={"gateways": [gone]})
    assert sentence == "No gateway for the channel call runs any more: nothing is sent there. Start `leadclock gateway`."
    assert said(gateways={"gateways": [gone, {**gone, "is_live": True}]}) == []


async def test_single_failures_and_opt_outs_are_no_alarm() -> None:
    assert said(recent=report("calls_count", not_placed=4)) == []
    assert said(recent=report("calls_count", not_placed=5, no_answer=6)) == []
    assert len(said(recent=report("calls_count", not_placed=3, congestion=3, no_answer=6))) == 1
    assert said(statuses=report("leads_count", opt_out=9)) == []
    assert said(statuses=report("leads_count", opt_out=10, scheduled=91)) == []
    assert len(said(statuses=report("leads_count", opt_out=10, scheduled=90))) == 1
