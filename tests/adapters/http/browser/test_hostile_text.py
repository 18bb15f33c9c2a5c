"""Does what strangers write stay text in a real browser, whatever it is: markup, scripts, other directions, emoji?

They write by submissions, files, texts, names of records and records on the broker. A script that runs, a dialog, an element
that no template has, and anything that the policy had to block fail a test.
"""

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from adapters.gateway.ports import DeliveryResult
from adapters.gateway.signing import shown_secret
from adapters.http.console.page_table import PAGES
from adapters.observability.metrics import Metrics
from adapters.postgres.webhook_logs import PostgresWebhookLog
from adapters.roles.intake import IntakeRole
from schemas.records import OutgoingWebhook
from schemas.requests import OutcomeRecorded
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.test_webhook import KEY, Book, Local, record_of
from tests.adapters.gateway.world import command_of
from tests.adapters.http.browser.conftest import DESK, TELEPHONE, Window, Windows
from tests.adapters.http.conftest import WAIT_SECONDS, Company, Town
from tests.adapters.http.furnished import OURS, Furnished, furnish, submit
from tests.adapters.http.test_lead_imports import runner
from tests.adapters.http.test_operator import dead_letter

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

CORPUS = (
    "<script>window.ran=1</script>",
    "<img src=x onerror=window.ran=1>",
    '"><svg onload=window.ran=1>',
    "' onmouseover='window.ran=1' autofocus onfocus='window.ran=1",
    "</textarea></title></style></script><b id=out>out</b>",
    "<template hx-get=/console hx-trigger=load></template>",
    "<form action=//evil.test><input name=password>",
    "<base href=//evil.test/><!--",
    "{{ 7 * 7 }}{% raw %}${7*7}#{7*7}",
    "javascript:window.ran=1//",
    "&lt;script&gt;window.ran=1&lt;/script&gt;",
    "\u202eeman desrever\u2066\u2067",
    "שלום עולם مرحبا بالعالم",
    "🦊👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈é̂̃̄̅",
    "W" * 200,
)

PRINTED = "<img src=x onerror=window.ran=1>'\"🦊 مرحبا"
"""For fields that must be printable."""

FOREIGN = """
() => {
  const every = [...document.querySelectorAll("*")];
  const ours = (url) => /^([/#]|https?:)/.test(url);
  const isForeign = (one) =>
    one.matches("script:not([src]), style, base, template, iframe, object, #out, img:not([src^='/console/'])") ||
    [...one.attributes].some((found) => found.name.startsWith("on")) ||
    (one.matches("a[href]") && !ours(one.getAttribute("href"))) ||
    (one.matches("form[action]") && !ours(one.getAttribute("action")));
  return every.filter(isForeign).map((one) => one.outerHTML.slice(0, 200));
}
"""
"""Elements that no template of ours has."""


async def check(window: Window, page: Page, path: str) -> None:
    """Open what is folded and rest on each link: nothing of a stranger runs or is an element."""
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert await page.evaluate(FOREIGN) == [], path
    assert await page.evaluate("window.ran") is None, path
    assert await window.violations() == [], path
    assert window.dialogs == [], path


class Stranger:
    """A company full of hostile text, and somebody of it."""

    def __init__(self, company: Company, window: Window, made: Furnished) -> None:
        self.company, self.window, self.made = company, window, made


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile(town: Town, windows: Windows) -> AsyncIterator[Stranger]:
    company = await town.company()
    made = await furnish(town, company, lambda text: f"{text} {PRINTED}")
    async with windows.of(company) as window:
        await window.sign_in_as_operator(town)
        yield Stranger(company, window, made)


async def test_names_and_texts_of_strangers_are_text_on_every_page(hostile: Stranger) -> None:
    window = hostile.window
    for row in PAGES:
        if row.method != "GET" or row.path.endswith(".csv"):
            continue
        path = hostile.made.path(row.path)
        page = await window.open(f"{path}?{urlencode({'done': PRINTED, 'fulltext': PRINTED, PRINTED: 'x'})}")
        await check(window, page, path)
        window.faults.clear()  # a part refuses a query that it does not know


@pytest.mark.parametrize("text", CORPUS, ids=[str(place) for place in range(len(CORPUS))])
async def test_whatever_a_submission_holds_is_shown_as_it_was_written(hostile: Stranger, text: str) -> None:
    window, company = hostile.window, hostile.company
    schedule = await company.schedule()
    fields = {"full_name": text[:60], "sub_id": text[:60], "data": {"first_name": text, text[:40]: text}}
    lead = await submit(company, schedule, "+12125550188", **fields)
    page = await window.open(f"/console/leads/{lead['id']}")
    await check(window, page, text)
    assert text[:60].strip() in (await page.get_by_role("heading", level=1).text_content() or "")
    await page.set_viewport_size(TELEPHONE)
    widths = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    await page.set_viewport_size(DESK)
    assert widths[0] <= widths[1], "it makes the page scroll sideways"
    await page.goto(f"{window.base}/console/leads?{urlencode({'fulltext': text, 'schedule_id': schedule['id']})}")
    await check(window, page, text)
    await expect(page.get_by_role("searchbox")).to_have_value(text)


async def test_a_name_of_another_direction_turns_nothing_beside_it_around(hostile: Stranger) -> None:
    lead = await submit(hostile.company, await hostile.company.schedule(), "+12125550189", full_name="\u202eabc مرحبا")
    page = await hostile.window.open(f"/console/leads/{lead['id']}")
    isolated = await page.get_by_role("heading", level=1).evaluate("(one) => getComputedStyle(one).unicodeBidi")
    assert isolated == "isolate"


async def test_names_of_an_imported_file_are_text(town: Any, hostile: Stranger) -> None:
    schedule = await hostile.company.schedule()
    rows = [
        ["phone", "full_name", "roof", CORPUS[1]],
        *([f"+1212555{200 + place:04d}", text[:60], text, text] for place, text in enumerate(CORPUS)),
    ]
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    mapping = {"phone": "caller_id"}
    given = {"lead_token": schedule["lead_token"], "content": file.getvalue(), "mapping": mapping}
    made = await hostile.company.send("POST", "/api/v1/lead_imports", json=given)
    assert made.status_code == 201, made.text
    while await runner(town).advance_once():
        pass
    window = hostile.window
    path = f"/console/leads?schedule_id={schedule['id']}"
    async with taken_in(town):
        page = await window.open(path)
        async with asyncio.timeout(WAIT_SECONDS):
            # Not until their number is shown: rows are read before they are counted, and some may be projected between.
            while await page.locator("#rows tbody tr").count() < len(CORPUS):
                await page.reload()
    await check(window, page, path)
    shown = await page.locator("#rows tbody a.any").all_text_contents()
    assert {" ".join(text[:60].split()) for text in CORPUS} <= {" ".join(text.split()) for text in shown}
    for text in CORPUS:
        await page.goto(f"{window.base}/console/leads?{urlencode({'fulltext': text[:60], 'schedule_id': schedule['id']})}")
        await check(window, page, text)
    lead = (await hostile.company.send("GET", "/api/v1/leads", params={"number": "+12125550201"})).json()["leads"][0]
    page = await window.open(f"/console/leads/{lead['id']}")
    await check(window, page, "a lead of a file")
    tokens = page.locator("details", has_text="Tokens").locator("dd")
    assert CORPUS[1] in await tokens.all_text_contents(), "a column that a stranger named is a token"


async def test_texts_of_strangers_are_text_where_they_wait_for_a_review(hostile: Stranger) -> None:
    company, window = hostile.company, hostile.window
    schedule = await company.schedule()
    written: dict[str, str] = {}
    for place, text in enumerate(CORPUS):
        person = f"+1212555{300 + place:04d}"
        written[person] = f"Stop by tomorrow? {text}"
        lead = await submit(company, schedule, person)
        given = {"from": person, "to": OURS, "text_ref": f"hostile-{company.id}-{place}", "body": written[person]}
        answer = await company.send("POST", "/api/v1/texts/received", json=given)
        assert answer.status_code < 300, answer.text
        assert answer.json()["text"]["meaning"] == "unclear", answer.text
        page = await window.open(f"/console/leads/{lead['id']}")
        await check(window, page, text)
        assert await page.get_by_text("Text to review").count() == 1
    page = await window.open("/console/compliance/reviews")
    await check(window, page, "the queue")
    shown = [" ".join(text.split()) for text in await page.locator("blockquote").all_text_contents()]
    assert {" ".join(text.split()) for text in written.values()} <= set(shown)
    for size in (TELEPHONE, DESK):
        await page.set_viewport_size(size)
        widths = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert widths[0] <= widths[1], "it makes the page scroll sideways"
    await check(window, await window.open("/console/compliance"), "the page that counts them")


async def test_what_a_receiver_of_webhooks_answers_is_text_in_its_log_and_on_the_timeline(
    town: Any, hostile: Stranger
) -> None:
    company, window = hostile.company, hostile.window
    name = f"CRM {CORPUS[0]}"
    webhook = await company.record("outgoing_webhooks", {"name": name, "url": "https://crm.example.com/x"})
    steps = [
        {"id": "tell", "kind": "webhook", "outgoing_webhook_id": webhook["id"]},
        {"id": "rest", "kind": "wait", "duration": "1d"},
    ]
    schedule = await company.schedule(steps=steps)
    log = PostgresWebhookLog(town.pool)
    answered = [text for text in CORPUS if text.encode().strip()]
    async with receiving() as local:
        local.receiver.answers = [400]
        for place, text in enumerate(answered):
            lead = await submit(company, schedule, f"+1212555{400 + place:04d}")
            command = await posted(town, company, lead)
            local.receiver.body = text.encode()
            book = Book(record_of(OutgoingWebhook(name=name, url=local.url), company_id=company.id))
            given = {"company_id": company.id, "lead_id": lead["id"], "command_id": command}
            result = await local.with_book(book, log=log).post(command_of("webhook", **given))
            await report(town, company, lead, command, result)
            page = await window.open(f"/console/leads/{lead['id']}")
            await check(window, page, text)
            await expect(page.get_by_role("cell", name="Webhook: failed").first).to_be_visible()
    page = await window.open("/console/deliveries?accepted=false")
    await check(window, page, "the log")
    shown = " ".join(" ".join(text.split()) for text in await page.locator("td[data-name=Answer]").all_text_contents())
    for text in answered:
        assert " ".join(text.split()) in shown, text
    await page.set_viewport_size(TELEPHONE)
    widths = await page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    await page.set_viewport_size(DESK)
    assert widths[0] <= widths[1], "it makes the page scroll sideways"


async def test_what_a_carrier_reports_is_text_on_the_timeline(town: Any, hostile: Stranger) -> None:
    company = hostile.company
    schedule = await company.schedule()
    lead = await submit(company, schedule, "+12125550190")
    started = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead["id"], "from": OURS})
    assert started.status_code == 201, started.text
    call = started.json()["call"]
    row = await town.pool.fetchrow("SELECT command_id, contact_key FROM read.calls WHERE id = $1", call["id"])
    message = OutcomeRecorded(
        company_id=company.id, contact_key=row["contact_key"], lead_id=lead["id"], command_id=row["command_id"], kind="call",
        outcome="no_answer", occurred_at=town.context.clock.now(), call_id=call["id"], provider=CORPUS[0],
        provider_ref=CORPUS[1], hung_up_by=CORPUS[2], hangup_cause=CORPUS[4],
    )  # fmt: skip
    await town.requests.submit(
        "contacts.requests", message.contact_key, message, request_id=f"hostile-{call['id']}", company_id=company.id
    )
    async with asyncio.timeout(WAIT_SECONDS):
        while (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["outcome"] is None:
            await asyncio.sleep(0.02)
    page = await hostile.window.open(f"/console/leads/{lead['id']}")
    await check(hostile.window, page, "a lead that was called")
    await expect(page.get_by_role("cell", name="Call: no answer").last).to_be_visible()


async def test_a_record_of_a_stranger_is_text_in_the_field_where_it_is_corrected(town: Any, hostile: Stranger) -> None:
    for text in CORPUS:
        letter = await dead_letter(town, text.encode(), key=f"1/{text}".encode())
        page = await hostile.window.open(f"/console/operations/dead_letters/{letter['id']}")
        await check(hostile.window, page, text)
        await expect(page.get_by_label("Value")).to_have_value(text)


@asynccontextmanager
async def receiving() -> AsyncIterator[Local]:
    """A server of a stranger, to which webhooks are posted."""
    receiver = Receiver(shown_secret(KEY))
    await receiver.start()
    try:
        yield Local(receiver)
    finally:
        await receiver.stop()


async def posted(town: Any, company: Company, lead: dict[str, Any]) -> str:
    """Return the command by which the step of a lead posts its webhook."""
    asked = (
        "SELECT data ->> 'command_id' FROM read.history WHERE company_id = $1 AND lead_id = $2 AND type = 'command.emitted'"
    )
    async with asyncio.timeout(WAIT_SECONDS):
        while (found := await town.pool.fetchval(asked, company.id, lead["id"])) is None:
            await asyncio.sleep(0.02)
    return str(found)


async def report(town: Any, company: Company, lead: dict[str, Any], command: str, result: DeliveryResult) -> None:
    """Report what came of a webhook as the gateway does, and wait until the lead has it."""
    key = await town.pool.fetchval("SELECT contact_key FROM read.leads WHERE id = $1", lead["id"])
    message = OutcomeRecorded(
        company_id=company.id, contact_key=key, lead_id=lead["id"], command_id=command, kind="webhook",
        outcome=result.outcome, detail=result.detail, occurred_at=town.context.clock.now(),
    )  # fmt: skip
    await town.requests.submit("contacts.requests", key, message, request_id=f"hostile-{command}", company_id=company.id)
    asked = "SELECT count(*) FROM read.history WHERE company_id = $1 AND lead_id = $2 AND type = 'outcome.recorded'"
    async with asyncio.timeout(WAIT_SECONDS):
        while not await town.pool.fetchval(asked, company.id, lead["id"]):
            await asyncio.sleep(0.02)


@asynccontextmanager
async def taken_in(town: Town) -> AsyncIterator[None]:
    """Run intake, which turns the lines of files into leads."""
    stop = asyncio.Event()
    role = asyncio.create_task(IntakeRole(town.context, Metrics()).run(stop))
    try:
        yield
    finally:
        stop.set()
        await role
