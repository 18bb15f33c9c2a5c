"""Do only those who may sign in see the console, from our own pages, and nothing of another company or another's script?"""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import pytest

from adapters.http.console.page_table import PAGES
from adapters.http.console.rendering import show_code
from adapters.http.exchange.session_reads import SHARED_SECONDS
from adapters.reads.ports import ReadsUnavailableError
from tests.adapters.http.console_browser import READER, Browser, invite, visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADA = "ada@example.com"
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}\u202e🦊"
PART = {"HX-Request": "true"}
SHOWN = sorted({page.path for page in PAGES if page.label})


async def test_who_is_not_signed_in_is_sent_to_the_sign_in_and_comes_back(town: Any, company: Any) -> None:
    await invite(company, ADA)
    browser = Browser(town)
    asked = await browser.get("/console?a=1")
    assert (asked.status_code, asked.headers["location"]) == (303, "/console/sign-in?next=%2Fconsole%3Fa%3D1")
    form = await browser.get(asked.headers["location"])
    assert 'name="next" value="/console?a=1"' in form.text
    signed_in = await browser.sign_in(company, ADA, next="/console?a=1")
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/console?a=1")
    shown = await browser.get("/console?a=1")
    assert shown.status_code == 200
    assert f"Company {company.id}" in shown.text
    assert ADA in shown.text


async def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(town: Any, company: Any) -> None:
    await invite(company, ADA)
    (cookie,) = (await Browser(town).sign_in(company, ADA)).headers.get_list("set-cookie")
    assert cookie.startswith("__Host-leadclock_session=ss_")
    assert {"Path=/", "HttpOnly", "SameSite=Strict", "Secure"} <= set(cookie.split("; "))


async def test_a_wrong_password_shows_what_was_typed_but_for_the_secrets(town: Any, company: Any) -> None:
    await invite(company, ADA)
    answer = await Browser(town).sign_in(company, ADA, password="not the right one")
    assert answer.status_code == 401
    assert f'value="{ADA}"' in answer.text
    assert "not the right one" not in answer.text
    assert "set-cookie" not in answer.headers


async def test_a_password_is_not_taken_over_a_network_without_tls(town: Any, company: Any) -> None:
    await invite(company, ADA)
    browser = Browser(town)
    answer = await browser.client.post(
        "http://leadclock.test/console/sign-in",
        data={"company_id": company.id, "email": ADA, "password": "x"},
        headers={"Origin": "http://leadclock.test"},
    )
    assert answer.status_code == 403
    assert "https" in answer.text


@pytest.mark.parametrize(
    "target", ["https://evil.test/", "//evil.test", "/console//evil.test", "/api/v1/leads", "/console\\x", "javascript:1"]
)
async def test_a_sign_in_leads_to_no_other_site(town: Any, company: Any, target: str) -> None:
    await invite(company, ADA)
    answer = await Browser(town).sign_in(company, ADA, next=target)
    assert answer.headers["location"] == "/console"


async def test_signing_out_ends_the_session_itself(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    token = next(iter(browser.client.cookies.values()))
    assert (await town.client.get("/api/v1/leads", headers={"Authorization": f"Bearer {token}"})).status_code == 200
    assert (await browser.post("/console/sign-out")).headers["location"] == "/console/sign-in"
    assert (await town.client.get("/api/v1/leads", headers={"Authorization": f"Bearer {token}"})).status_code == 401
    assert (await browser.get("/console")).status_code == 303


async def test_the_api_reads_no_cookie(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    assert (await browser.client.get("/api/v1/leads")).status_code == 401
    assert (await browser.client.get("/api/v1/sessions/current")).status_code == 401


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Origin": ""}, "no Origin"),
        ({"Origin": "https://evil.test"}, "another site"),
        ({"Origin": "null"}, "a frame without an origin"),
        ({"Sec-Fetch-Site": "same-site"}, "a neighbour of the same domain"),
        ({"X-CSRF-Token": ""}, "no token"),
        ({"X-CSRF-Token": "0" * 64}, "another token without a mask"),
        ({"X-CSRF-Token": "0" * 128}, "another token"),
        ({"X-CSRF-Token": "no digits"}, "no token at all"),
    ],
)
async def test_a_change_that_no_page_of_ours_sends_is_refused(
    town: Any, company: Any, headers: dict[str, str], reason: str
) -> None:
    browser = await visitor(town, company)
    answer = await browser.post("/console/sign-out", headers=headers)
    assert answer.status_code == 403, reason
    assert (await browser.get("/console")).status_code == 200


async def test_the_token_of_one_session_is_not_that_of_another(town: Any, company: Any) -> None:
    first, second = await visitor(town, company), await visitor(town, company, "bob@example.com")
    assert first.csrf != second.csrf
    assert (await first.post("/console/sign-out", headers={"X-CSRF-Token": second.csrf})).status_code == 403


async def test_every_page_has_the_policy_and_loads_only_our_own_files(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    for path in ("/", "/console/sign-in", *SHOWN):
        answer = await browser.get(path)
        assert answer.status_code in {200, 303}, (path, answer.text)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        sources = re.findall(r'(?:src|href)="([^"]*)"', answer.text)
        assert not [source for source in sources if not source.startswith(("/", "#"))], path


async def test_files_are_ours_and_are_cached_for_good(town: Any) -> None:
    browser = Browser(town)
    page = (await browser.get("/console/sign-in")).text + (await browser.get("/")).text
    urls = set(re.findall(r'"(/console/assets/[^"]+)"', page))
    assert len(urls) == 2
    for url in urls:
        answer = await browser.get(url, headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
        assert sha256(answer.content).hexdigest()[:16] in url
    assert (await browser.get("/console/assets/console.0000000000000000.css")).status_code == 404


async def test_a_page_and_its_files_weigh_less_than_300_kilobytes_as_they_are_sent(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    for path in SHOWN:
        page = await browser.get(path)
        assert page.status_code in {200, 303}, path
        assert len(page.content) < 1_000 or page.headers["content-encoding"] == "gzip", path
        urls = set(re.findall(r'"(/console/assets/[^"]+)"', page.text))
        answers = [page, *[await browser.get(url) for url in urls]]
        assert sum(int(answer.headers["content-length"]) for answer in answers) < 300_000, path


async def test_who_takes_no_compressed_page_gets_a_plain_one(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    plain = await browser.get("/console", headers={"Accept-Encoding": "identity"})
    packed = await browser.get("/console", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert int(plain.headers["content-length"]) == len(plain.content)
    assert int(packed.headers["content-length"]) < len(packed.content) / 2
    assert {answer.headers["vary"] for answer in (plain, packed)} == {"Accept-Encoding"}


async def test_each_page_shows_its_token_under_another_mask(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    first = browser.csrf
    await browser.get("/console")
    assert first != browser.csrf
    assert (await browser.post("/console/sign-out", headers={"X-CSRF-Token": first})).status_code == 303


async def test_what_a_stranger_writes_is_shown_as_text(town: Any, company: Any) -> None:
    schedule = await company.schedule(name=HOSTILE[:60])
    sent = await company.send(
        "POST", "/api/v1/leads",
        json={"lead_token": schedule["lead_token"], "caller_id": "+12125550123", "full_name": HOSTILE[:60],
              "sub_id": HOSTILE[:60], "data": {"first_name": HOSTILE}},
    )  # fmt: skip
    assert sent.status_code == 201, sent.text
    await company.record("buyers", {"name": HOSTILE[:60], "number": "+12125550160", "attempt_daily_limit": 0})
    browser = await visitor(town, company)
    for path in SHOWN:
        text = (await browser.get(path, params={"fulltext": HOSTILE})).text
        assert "<img" not in text.replace('<img src="/console/assets/', ""), path
        assert "<script>" not in text, path
        assert ">49" not in text, path


async def test_a_user_whom_no_team_grants_anything_learns_so_and_sees_nothing(town: Any, company: Any) -> None:
    await company.schedule(name="Hidden schedule")
    browser = await visitor(town, company, permissions={"offer": {"actions": ["read"]}})
    shown = await browser.get("/console")
    assert "Hidden schedule" not in shown.text
    assert "No team of yours grants" in shown.text


async def test_pages_that_a_team_lacks_are_not_there(town: Any, company: Any) -> None:
    browser = await visitor(town, company, permissions={"offer": {"actions": ["read"]}})
    page = (await browser.get("/console")).text
    for row in PAGES:
        if row.method == "GET" and row.needs:
            assert f'href="{row.path}"' not in page
            assert (await browser.get(row.path.replace("{id:int}", "1"))).status_code in {303, 404}, row.path


async def test_today_shows_one_company_only(town: Any, company: Any, other: Any) -> None:
    await company.record("buyers", {"name": "Bright Roofs", "number": "+12125550160", "attempt_daily_limit": 5})
    mine, theirs = await visitor(town, company), await visitor(town, other, permissions=READER)
    assert "Bright Roofs" in (await mine.get("/console")).text
    assert "Bright Roofs" not in (await theirs.get("/console")).text


async def test_today_says_what_is_paused_and_who_is_full(town: Any, company: Any) -> None:
    await company.schedule(name="Winter", paused=True)
    await company.record("buyers", {"name": "Bright Roofs", "number": "+12125550160", "attempt_daily_limit": 0})
    text = (await (await visitor(town, company)).get("/console")).text
    assert "Paused: Winter" in text
    assert "No buyer can take a call" in text


async def test_a_disabled_user_is_signed_out_of_open_pages(town: Any, company: Any) -> None:
    browser = await visitor(town, company, permissions=READER)
    (user,) = (await company.send("GET", "/api/v1/users")).json()["users"]
    assert (await company.send("PUT", f"/api/v1/users/{user['id']}", json={"state": "disabled"})).status_code == 200
    part = await browser.get("/console/today", headers={"HX-Request": "true"})
    assert part.status_code == 401
    assert "Sign in" in part.text
    assert (await browser.get("/console")).status_code == 303


async def test_open_pages_share_the_read_of_their_sessions_and_end_with_them(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browsers = [await visitor(town, company, f"{name}@example.com", permissions=READER) for name in ("ada", "bob", "eve")]
    for browser in browsers:
        assert (await browser.get("/console/today", headers=PART)).status_code == 200
    sign_ins, reads = town.app._services.sign_ins, town.app._services.authenticator._session_reads
    read, statements = sign_ins.find_all, []

    async def find_all(names: Sequence[str]) -> Any:
        statements.append(len(names))
        return await read(names)

    monkeypatch.setattr(sign_ins, "find_all", find_all)
    begun, seconds = reads._monotonic(), SHARED_SECONDS
    monkeypatch.setattr(reads, "_monotonic", lambda: begun + seconds)
    for browser in browsers:
        assert (await browser.get("/console/today", headers=PART)).status_code == 200
    assert statements == [3]
    await town.pool.execute("DELETE FROM work.sessions WHERE company_id = $1", company.id)
    assert (await browsers[0].get("/console")).status_code == 303, "a page that is opened reads its own session"
    assert (await browsers[0].get("/console/today", headers=PART)).status_code == 401, "and the open ones learn of it"
    assert (await browsers[1].get("/console/today", headers=PART)).status_code == 200
    seconds = 2 * SHARED_SECONDS
    assert (await browsers[1].get("/console/today", headers=PART)).status_code == 401
    assert (await browsers[2].get("/console/today", headers=PART)).status_code == 401


async def test_a_page_that_was_signed_out_renews_itself_no_more(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    cookies = dict(browser.client.cookies)
    assert (await browser.get("/console/today", headers=PART)).status_code == 200
    assert (await browser.post("/console/sign-out")).status_code == 303
    browser.client.cookies.update(cookies)
    assert (await browser.get("/console/today", headers=PART)).status_code == 401


async def test_no_change_rests_on_a_session_that_was_read_for_another_page(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    assert (await browser.get("/console/today", headers=PART)).status_code == 200
    await town.pool.execute("DELETE FROM work.sessions WHERE company_id = $1", company.id)
    answer = await browser.post("/console/leads/views", {"view_name": "Mine"}, headers=PART)
    assert answer.status_code == 401


async def test_a_page_says_that_the_database_is_away(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = await visitor(town, company)

    async def away(*_: Any) -> None:
        raise ReadsUnavailableError("gone")

    monkeypatch.setattr(town.app._services.sign_ins, "find", away)
    answer = await browser.get("/console")
    assert answer.status_code == 503
    assert "text/html" in answer.headers["content-type"]
    assert answer.headers["retry-after"]


async def test_one_click_signs_in_nobody_where_no_demo_was_made(town: Any) -> None:
    browser = Browser(town)
    assert "demo" not in (await browser.get("/console/sign-in")).text.lower()
    assert (await browser.post("/console/sign-in/demo")).status_code == 404


async def test_the_root_links_to_the_console(town: Any) -> None:
    answer = await Browser(town).get("/")
    assert answer.status_code == 200
    assert 'href="/console"' in answer.text


async def test_the_icon_is_found_where_a_browser_looks_for_one_that_no_page_names(town: Any) -> None:
    answer = await Browser(town).get("/favicon.ico", headers={"Accept-Encoding": "identity"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "public, max-age=86400", "the name has no hash"
    assert answer.text.startswith("<svg")


async def test_a_command_in_a_sentence_is_shown_as_code_and_nothing_becomes_markup() -> None:
    assert show_code("Start `leadclock projector`.") == "Start <code>leadclock projector</code>."
    assert show_code("`<b>` & <i>") == "<code>&lt;b&gt;</code> &amp; &lt;i&gt;"
    assert show_code("one ` alone") == "one ` alone"
    assert show_code("") == ""
