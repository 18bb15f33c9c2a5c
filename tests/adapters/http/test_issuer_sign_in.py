"""Does a person get in by the company's identity provider as the user who was linked, and by no answer that is forged?"""

import asyncio
import hmac
import math
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest

from adapters.http.exchange.issuers import AT_ONCE_MAX, CACHED_SECONDS, ISSUERS_MAX, KEYS_AGAIN_SECONDS, IssuerFailedError
from adapters.http.sign_in import issuer_sign_in
from adapters.http.sign_in.issuer_sign_in import NOT_ALLOWED, NOT_BEGUN, NOT_PROVED, NOT_REACHED, NOT_TAKEN, OTHER_DOMAIN
from tests.adapters.http.console_browser import PASSWORD, Browser, invite
from tests.adapters.http.issuer_double import (
    CLIENT,
    PUBLIC,
    SECRET,
    Issuer,
    IssuersHttp,
    begin,
    come_back,
    encoded,
    leads_to,
    new_key,
)
from tests.adapters.http.test_sign_in import ADA, USERS, sign_in, superusers
from tests.adapters.http.test_teams import person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

GRACE = "grace@example.com"
COMPANY = "/api/v1/company"
SESSION = "__Host-leadclock_session"
UNKNOWN = "No user of this company signs in with this identity."


@pytest.fixture(autouse=True)
def http(town: Any) -> Any:
    """The network of the tests: issuers alone are on it."""
    town.issuers._http = IssuersHttp()
    return town.issuers._http


async def issuer_of(company: Any, **fields: Any) -> Issuer:
    """Return the issuer of a company, which it has from now on."""
    made = Issuer(f"https://id-{company.id}.example.com")
    company.town.issuers._http.issuers[made.url] = made
    given = {
        "sign_in_issuer": made.url,
        "sign_in_client_id": CLIENT,
        "sign_in_client_secret": SECRET,
        "sign_in_name": "Acme ID",
        **fields,
    }
    answer = await company.send("PUT", COMPANY, json=given)
    assert answer.status_code == 200, answer.text
    return made


async def invited(company: Any, email: str = ADA) -> str:
    await company.town.pool.execute("DELETE FROM work.sign_in_attempts")  # all tests come from one address
    answer = await company.send("POST", "/api/v1/invitations", json={"email": email})
    assert answer.status_code == 201, answer.text
    token: str = answer.json()["invitation"]["token"]
    return token


async def linked(company: Any, issuer: Issuer, email: str = ADA, subject: str = "subject-1", **claims: Any) -> Browser:
    """Return the browser of a new user who has followed the link of an invitation and signed in there."""
    browser = Browser(company.town)
    url = leads_to(await begin(browser, company, invitation=await invited(company, email)))
    assert leads_to(await come_back(browser, issuer.authorise(url, subject, **claims))) == "/console"
    return browser


async def signed_in(company: Any, issuer: Issuer, subject: str = "subject-1", **claims: Any) -> Any:
    """Return the answer to a new browser that signs in by the issuer."""
    await company.town.pool.execute("DELETE FROM work.sign_in_attempts")
    browser = Browser(company.town)
    url = leads_to(await begin(browser, company))
    return await come_back(browser, issuer.authorise(url, subject, **claims))


def refused(answer: Any, sentence: str) -> None:
    """Hold that an answer gives no session, and says why."""
    assert answer.status_code == 401, answer.text
    assert sentence in answer.text.replace("&#39;", "'")
    assert SESSION not in str(answer.headers.get_list("set-cookie"))


async def test_an_invited_person_links_an_identity_and_signs_in_with_it_from_then_on(town: Any, company: Any) -> None:
    issuer = await issuer_of(company)
    await superusers(company, ADA)
    browser = await linked(company, issuer)
    shown = await browser.get("/console")
    assert (shown.status_code, ADA in shown.text) == (200, True)
    (user,) = (await company.send("GET", USERS)).json()["users"]
    assert (user["state"], user["has_password"], user["identity_issuer"]) == ("active", False, issuer.url)
    assert user["invitation_expires_at"] is None
    assert "sha256" not in (await company.send("GET", USERS)).text

    again = await signed_in(company, issuer)
    assert leads_to(again) == "/console"
    session, flow = (next(one for one in again.headers.get_list("set-cookie") if name in one) for name in (SESSION, "flow"))
    assert {"Path=/", "HttpOnly", "SameSite=Strict", "Secure"} <= set(session.split("; "))
    assert "Max-Age=0" in flow
    assert (await sign_in(town, company, password="")).status_code == 422
    assert (await sign_in(town, company)).status_code == 401  # there is no password
    (logged, *_) = (await company.send("GET", "/api/v1/audit_logs")).json()["audit_logs"]
    assert (logged["actor"], logged["user_email"]) == ("invitation", ADA)


async def test_the_cookie_of_a_flow_outlives_a_redirect_of_another_site_and_is_read_by_us_alone(company: Any) -> None:
    await issuer_of(company)
    (cookie,) = (await begin(Browser(company.town), company)).headers.get_list("set-cookie")
    assert cookie.startswith("__Host-leadclock_flow=v1.")
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure", "Max-Age=600"} <= set(cookie.split("; "))


def unsigned(issuer: Issuer, claims: dict[str, Any]) -> str:
    return f"{encoded({'alg': 'none', 'kid': issuer.signed_by})}.{encoded(claims)}."


def by_public_key(issuer: Issuer, claims: dict[str, Any]) -> str:
    text = f"{encoded({'alg': 'HS256', 'kid': issuer.signed_by})}.{encoded(claims)}"
    return f"{text}.{encoded(hmac.digest(issuer.public_pem(), text.encode(), 'sha256'))}"


def by_stranger(issuer: Issuer, claims: dict[str, Any]) -> str:
    stranger = Issuer(issuer.url)
    return stranger._signed(claims)


def not_one(_issuer: Issuer, _claims: dict[str, Any]) -> str:
    return "not.a.token"


def with_other_claims(issuer: Issuer, claims: dict[str, Any]) -> str:
    honest = Issuer(issuer.url)
    honest.keys = issuer.keys
    head, _, signature = honest._signed({**claims, "sub": "subject-2"}).split(".")
    return f"{head}.{encoded(claims)}.{signature}"


def by_other_algorithm(issuer: Issuer, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, issuer.keys["first"], algorithm="PS256", headers={"kid": "first"})


HOUR = 3_600
FORGED: dict[str, dict[str, Any]] = {
    "of another sign-in": {"nonce": "another"},
    "without a nonce": {"nonce": None},
    "for another client": {"aud": "another"},
    "for others too, and not made for us": {"aud": [CLIENT, "another"]},
    "for us too, and made for another": {"aud": [CLIENT, "another"], "azp": "another"},
    "made for another": {"azp": "another"},
    "of another issuer": {"iss": "https://evil.example.com"},
    "expired": {"exp": int(time.time()) - HOUR},
    "of the future": {"iat": int(time.time()) + HOUR},
    "not good yet": {"nbf": int(time.time()) + HOUR},
    "without an end": {"exp": None},
    "without a beginning": {"iat": None},
    "without a subject": {"sub": None},
    "of an empty subject": {"sub": ""},
    "of a number as its subject": {"sub": 7},
}
FORGERIES: dict[str, Callable[[Issuer, dict[str, Any]], str]] = {
    "not signed (alg none)": unsigned,
    "signed by the public key (HS256)": by_public_key,
    "signed by another key of the same id": by_stranger,
    "with other claims than were signed": with_other_claims,
    "signed by another algorithm than the key's": by_other_algorithm,
    "no token": not_one,
}


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED)
async def test_an_id_token_that_says_something_wrong_signs_no_one_in(company: Any, changes: dict[str, Any]) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    issuer.changes = changes
    refused(await signed_in(company, issuer), NOT_PROVED)
    issuer.changes = {}
    assert leads_to(await signed_in(company, issuer)) == "/console"


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
async def test_an_id_token_that_the_issuer_has_not_signed_signs_no_one_in(company: Any, forge: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    issuer.forge = forge
    refused(await signed_in(company, issuer), NOT_PROVED)


async def test_an_id_token_for_several_clients_that_was_made_for_us_is_taken(company: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    issuer.changes = {"aud": [CLIENT, "another"], "azp": CLIENT}
    assert leads_to(await signed_in(company, issuer)) == "/console"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"state": "another"}, NOT_BEGUN),
        ({"state": ""}, NOT_BEGUN),
        ({"iss": "https://evil.example.com"}, NOT_PROVED),
        ({"iss": ""}, NOT_PROVED),
        ({"code": ""}, NOT_PROVED),
        ({"code": "x" * 5_000}, NOT_PROVED),
        ({"code": "of another"}, NOT_TAKEN),
        ({"error": "access_denied"}, NOT_ALLOWED),
    ],
)
async def test_a_redirect_that_was_changed_signs_no_one_in(company: Any, query: dict[str, str], sentence: str) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    browser = Browser(company.town)
    found = issuer.authorise(leads_to(await begin(browser, company)))
    refused(await come_back(browser, {**found, **query}), sentence)


async def test_a_redirect_is_good_once_and_in_the_browser_that_began(company: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    victim, thief = Browser(company.town), Browser(company.town)
    begun = await begin(victim, company)
    found = issuer.authorise(leads_to(begun))
    refused(await come_back(thief, found), NOT_BEGUN)  # without a cookie
    await begin(thief, company)
    refused(await come_back(thief, found), NOT_BEGUN)  # with one of another flow
    flow = begun.cookies["__Host-leadclock_flow"]
    assert leads_to(await come_back(victim, found)) == "/console"
    refused(await come_back(victim, found), NOT_BEGUN)  # the cookie is gone
    thief.client.cookies.clear()
    thief.client.cookies.set("__Host-leadclock_flow", flow)
    refused(await come_back(thief, found), NOT_BEGUN)  # a copy of it


async def test_a_state_is_good_once_even_where_the_issuer_takes_a_code_twice_or_gives_another(company: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    issuer.takes_codes_again = True
    victim, thieves = Browser(company.town), [Browser(company.town) for _ in range(4)]
    begun = await begin(victim, company)
    url, flow = leads_to(begun), begun.cookies["__Host-leadclock_flow"]
    found = issuer.authorise(url)
    for thief in thieves:
        thief.client.cookies.set("__Host-leadclock_flow", flow)
    answers = await asyncio.gather(*(come_back(browser, found) for browser in (victim, *thieves)))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401, 401]
    assert issuer.asked.count("/token") == 2  # one of them, and the sign-in that linked
    thieves[0].client.cookies.set("__Host-leadclock_flow", flow)
    refused(await come_back(thieves[0], issuer.authorise(url, "subject-2")), NOT_BEGUN)  # another code for the same state


async def test_a_code_that_was_led_to_another_companys_issuer_signs_nobody_in(company: Any, other: Any) -> None:
    """The mix-up of RFC 9207: an issuer that is not honest sends the browser on to an honest one, and gets its code."""
    honest, evil = await issuer_of(company), await issuer_of(other)
    await linked(company, honest)
    victim = Browser(company.town)
    led = urlsplit(leads_to(await begin(victim, other)))
    given = honest.authorise(f"{honest.url}/authorize?{led.query}")
    assert given["iss"] == honest.url
    refused(await come_back(victim, given), NOT_PROVED)
    assert evil.posted == []

    # Where the honest one does not name itself, the code reaches the other, and is of no use to who began another sign-in.
    led = urlsplit(leads_to(await begin(victim, other)))
    evil.document = {"authorization_response_iss_parameter_supported": False}
    company.town.issuers._known.clear()
    given = honest.authorise(f"{honest.url}/authorize?{led.query}")
    refused(await come_back(victim, {name: given[name] for name in ("code", "state")}), NOT_TAKEN)
    assert [form["code"] for form in evil.posted] == [[given["code"]]]
    thief = Browser(company.town)
    own = honest.authorise(leads_to(await begin(thief, company)), "subject-of-the-thief")
    refused(await come_back(thief, {**own, "code": given["code"]}), NOT_TAKEN)


async def test_a_flow_ends_in_time(company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    monkeypatch.setattr(issuer_sign_in, "FLOW_SECONDS", 0)
    browser = Browser(company.town)
    refused(await come_back(browser, issuer.authorise(leads_to(await begin(browser, company)))), NOT_BEGUN)


async def test_keys_that_an_issuer_rotates_are_read_again_and_not_for_every_made_up_id(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    now = float(math.ceil(time.monotonic()))  # whole seconds: sums and differences of others are rounded
    monkeypatch.setattr(town.issuers, "_monotonic", lambda: now)
    issuer.keys["second"] = new_key()
    issuer.signed_by = "second"
    now += KEYS_AGAIN_SECONDS
    assert leads_to(await signed_in(company, issuer)) == "/console"
    issuer.header = {"kid": "made up"}
    asked = issuer.asked.count("/jwks")
    refused(await signed_in(company, issuer), NOT_PROVED)
    assert issuer.asked.count("/jwks") == asked  # read a moment ago
    issuer.header = {}
    issuer.signed_by, issuer.published = "first", ["second"]
    now += CACHED_SECONDS
    refused(await signed_in(company, issuer), NOT_PROVED)  # a key that was withdrawn


async def test_documents_and_keys_are_read_once_and_again_after_a_while(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    await signed_in(company, issuer)
    assert [issuer.asked.count(path) for path in ("/.well-known/openid-configuration", "/jwks", "/token")] == [1, 1, 2]
    now = time.monotonic() + CACHED_SECONDS
    monkeypatch.setattr(town.issuers, "_monotonic", lambda: now)
    await signed_in(company, issuer)
    assert [issuer.asked.count(path) for path in ("/.well-known/openid-configuration", "/jwks", "/token")] == [2, 2, 3]


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example.com"},
        {"token_endpoint": "http://id.example.com/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
    ],
)
async def test_a_document_that_is_not_the_issuers_own_is_refused(company: Any, document: dict[str, Any]) -> None:
    issuer = await issuer_of(company)
    issuer.document = document
    refused(await begin(Browser(company.town), company), NOT_REACHED)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((500, {}), NOT_REACHED),
        ((200, b"<html>"), NOT_REACHED),
        ((200, {}), NOT_REACHED),
        ((200, {"id_token": "x" * 40_000}), NOT_PROVED),
        ((401, {"error": "invalid_client"}), NOT_TAKEN),
    ],
)
async def test_a_token_endpoint_that_fails_signs_no_one_in(company: Any, answer: Any, sentence: str) -> None:
    issuer = await issuer_of(company)
    issuer.token_answer = answer
    refused(await signed_in(company, issuer), sentence)


async def test_an_issuer_that_is_away_is_said_to_be_so(company: Any, http: IssuersHttp) -> None:
    await issuer_of(company)
    http.is_away = True
    refused(await begin(Browser(company.town), company), NOT_REACHED)


async def test_an_unknown_subject_is_refused_with_what_to_do(company: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    refused(await signed_in(company, issuer, "subject-2"), UNKNOWN)
    refused(await signed_in(company, issuer, "subject-2", email=ADA, email_verified=True), UNKNOWN)


async def test_the_same_subject_at_another_companys_issuer_is_somebody_else(company: Any, other: Any) -> None:
    issuer, theirs = await issuer_of(company), await issuer_of(other)
    await linked(company, issuer)
    refused(await signed_in(other, theirs), UNKNOWN)
    # Another company that names the same issuer reaches its own users alone.
    fields = {"sign_in_issuer": issuer.url, "sign_in_client_id": CLIENT, "sign_in_client_secret": SECRET}
    assert (await other.send("PUT", COMPANY, json=fields)).status_code == 200
    refused(await signed_in(other, issuer), UNKNOWN)


async def test_an_invitation_links_one_identity_once(company: Any) -> None:
    issuer = await issuer_of(company)
    token = await invited(company)
    first, second = Browser(company.town), Browser(company.town)
    urls = [leads_to(await begin(browser, company, invitation=token)) for browser in (first, second)]
    assert leads_to(await come_back(first, issuer.authorise(urls[0], "subject-1"))) == "/console"
    late = await come_back(second, issuer.authorise(urls[1], "subject-2"))
    assert late.status_code == 403
    assert "set-cookie" not in late.headers or SESSION not in str(late.headers.get_list("set-cookie"))
    refused(await signed_in(company, issuer, "subject-2"), UNKNOWN)
    assert (await begin(Browser(company.town), company, invitation=token)).status_code == 403


async def test_an_identity_is_linked_to_one_user(company: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    browser = Browser(company.town)
    url = leads_to(await begin(browser, company, invitation=await invited(company, GRACE)))
    refused(await come_back(browser, issuer.authorise(url)), "Another user of this company signs in with this identity.")
    assert leads_to(await signed_in(company, issuer)) == "/console"


async def test_an_invitation_leads_to_the_issuer_of_its_own_company(company: Any, other: Any) -> None:
    issuer, theirs = await issuer_of(company), await issuer_of(other)
    token = await invited(other)
    browser = Browser(company.town)
    url = leads_to(await begin(browser, company, invitation=token, company_id=company.id))
    assert url.startswith(theirs.url)
    # The company changes its issuer meanwhile: the answer of the one before links no one.
    assert (await other.send("PUT", COMPANY, json={"sign_in_issuer": issuer.url})).status_code == 200
    refused(await come_back(browser, theirs.authorise(url)), "no identity provider")


async def test_a_user_who_may_not_sign_in_has_no_way_in(company: Any) -> None:
    issuer = await issuer_of(company)
    browser = await linked(company, issuer)
    (user,) = (await company.send("GET", USERS)).json()["users"]
    path = f"{USERS}/{user['id']}"
    await company.send("PUT", path, json={"state": "disabled"})
    refused(await signed_in(company, issuer), "This user is disabled.")
    assert (await browser.get("/console")).status_code == 303  # the session has ended
    await company.send("PUT", path, json={"state": "active"})
    assert leads_to(await signed_in(company, issuer)) == "/console"
    unlinked = await company.send("PUT", path, json={"remove_identity": True})
    assert (unlinked.json()["user"]["identity_issuer"], unlinked.json()["user"]["state"]) == (None, "invited"), unlinked.text
    refused(await signed_in(company, issuer), UNKNOWN)
    await linked(company, issuer)
    await company.send("DELETE", path)
    refused(await signed_in(company, issuer), UNKNOWN)


async def test_another_identity_takes_an_invitation_and_ends_the_sessions_of_the_one_before(company: Any) -> None:
    issuer = await issuer_of(company)
    browser = await linked(company, issuer)
    await superusers(company, ADA)
    assert (await browser.get("/console")).status_code == 200
    await linked(company, issuer, subject="subject-2")
    assert (await browser.get("/console")).status_code == 303
    refused(await signed_in(company, issuer), UNKNOWN)
    assert leads_to(await signed_in(company, issuer, "subject-2")) == "/console"


@pytest.mark.parametrize(
    ("claims", "is_taken"),
    [
        ({"email": "ada@Example.com", "email_verified": True}, True),
        ({"email": ADA, "email_verified": False}, False),
        ({"email": ADA}, False),
        ({"email": "ada@example.com.evil.org", "email_verified": True}, False),
        ({"email": "ada@sub.example.com", "email_verified": True}, False),
        ({}, False),
    ],
)
async def test_a_domain_keeps_out_whom_the_issuer_does_not_vouch_for(company: Any, claims: Any, is_taken: bool) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    assert (await company.send("PUT", COMPANY, json={"sign_in_email_domain": "example.com"})).status_code == 200
    answer = await signed_in(company, issuer, **claims)
    if is_taken:
        assert leads_to(answer) == "/console"
    else:
        refused(answer, OTHER_DOMAIN)


async def test_a_company_may_take_passwords_of_superusers_alone(town: Any, company: Any) -> None:
    issuer = await issuer_of(company, sign_in_required=True)
    await invite(company, "boss@example.com")
    await company.record("users", {"name": "Bob", "email": "bob@example.com", "password": PASSWORD})
    assert (await sign_in(town, company, email="boss@example.com")).status_code == 201
    assert (await sign_in(town, company, email="bob@example.com")).status_code == 401
    accepted = {"token": await invited(company), "password": PASSWORD}
    answer = await town.client.post("/api/v1/invitations/accept", json=accepted)
    assert (answer.status_code, "identity provider" in answer.json()["detail"]) == (403, True)
    await linked(company, issuer)


async def test_the_page_of_an_invitation_learns_which_ways_there_are(town: Any, company: Any) -> None:
    async def offered(token: str) -> Any:
        return await Browser(town).post("/console/invitation", {"token": token}, headers={"Origin": PUBLIC})

    token = await invited(company)
    assert (await offered(token)).json() == {"issuer_name": None, "takes_password": True}
    await issuer_of(company, sign_in_name=None, sign_in_required=True)
    expected = {"issuer_name": f"id-{company.id}.example.com", "takes_password": False}
    assert (await offered(token)).json() == expected
    assert (await offered(f"{token[:-1]}_")).status_code == 403


async def test_the_button_is_on_the_page_of_a_company_that_has_an_issuer(company: Any) -> None:
    browser = Browser(company.town)
    path = f"/console/sign-in?company_id={company.id}"
    assert "identity provider" not in (await browser.get(path)).text
    await issuer_of(company)
    assert "Sign in with Acme ID" in (await browser.get(path)).text
    assert "Your company number" in (await browser.get("/console/sign-in")).text
    refused(await begin(browser, company, company_id=company.id + 1_000), "no identity provider")
    refused(await begin(browser, company, company_id="seven"), "no identity provider")


async def test_a_sign_in_begins_at_the_address_that_it_leads_back_to(company: Any) -> None:
    await issuer_of(company)
    answer = await Browser(company.town).post("/console/sign-in/issuer", {"company_id": company.id})
    refused(answer, f"Open {PUBLIC}/console/sign-in")
    other_site = {"Origin": "https://evil.example.com"}
    answer = await Browser(company.town).post("/console/sign-in/issuer", {"company_id": company.id}, headers=other_site)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "target",
    [
        *("https://evil.test/", "//evil.test", f"/console/{'x' * 600}", "/console/sign-in", "/console/../api/v1/leads"),
        *(
            "/console/./leads",
            "/console/%2e%2e/api/v1/leads",
            "/console/.%2E/api",
            "/console/%252e%252e/api",
            "/console/..;/api",
        ),
        *("/console//evil.test", "/console/%2fevil.test", "/console/%5c..%5cx", "/console/leads/..", "/console/%73ign-in"),
    ],
)
async def test_a_sign_in_by_an_issuer_leads_to_no_other_site(company: Any, target: str) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    browser = Browser(company.town)
    url = leads_to(await begin(browser, company, next=target))
    assert leads_to(await come_back(browser, issuer.authorise(url))) == "/console"
    url = leads_to(await begin(browser, company, next="/console/leads?states=NY"))
    assert leads_to(await come_back(browser, issuer.authorise(url))) == "/console/leads?states=NY"


async def test_the_secret_of_a_client_is_encrypted_never_shown_and_not_for_another_issuer(town: Any, company: Any) -> None:
    await issuer_of(company)
    shown = await company.send("GET", COMPANY)
    assert shown.json()["company"]["has_sign_in_client_secret"] is True
    assert SECRET not in shown.text
    assert "sealed" not in shown.text
    stored = str([list(row.values()) for row in await town.pool.fetch("SELECT body FROM read.records")])
    assert SECRET not in stored
    same = {name: value for name, value in shown.json()["company"].items() if name != "version"}
    assert (await company.send("PUT", COMPANY, json=same)).json()["company"]["has_sign_in_client_secret"] is True
    in_query = await company.send("PUT", COMPANY, params={"sign_in_client_secret": "x"})
    assert (in_query.status_code, list(in_query.json()["errors"])) == (422, ["sign_in_client_secret"])
    moved = await company.send("PUT", COMPANY, json={"sign_in_issuer": "https://evil.example.com"})
    assert moved.json()["company"]["has_sign_in_client_secret"] is False
    gone = await company.send("PUT", COMPANY, json={"sign_in_issuer": None})
    assert (gone.json()["company"]["sign_in_client_id"], gone.json()["company"]["sign_in_name"]) == (None, None)


async def test_who_may_not_change_users_does_not_say_by_which_issuer_they_sign_in(town: Any, company: Any) -> None:
    await team(company, permissions={"company": {"actions": ["read", "update"]}})
    ada = await person(town, company)
    fields = {"sign_in_issuer": "https://evil.example.com", "sign_in_client_id": CLIENT}
    answer = await ada.send("PUT", COMPANY, json=fields)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert (await ada.send("PUT", COMPANY, json={"name": "Acme"})).status_code == 200
    await issuer_of(company)
    shown = (await ada.send("GET", COMPANY)).json()["company"]
    assert (await ada.send("PUT", COMPANY, json={**shown, "name": "Acme 2"})).status_code == 200
    assert (await ada.send("PUT", COMPANY, json={"sign_in_client_secret": "x"})).status_code == 403


async def test_wrong_answers_are_counted_and_right_ones_are_not(town: Any, company: Any) -> None:
    issuer = await issuer_of(company)
    await linked(company, issuer)
    await town.pool.execute("DELETE FROM work.sign_in_attempts")
    browser = Browser(town)

    async def attempts() -> int:
        return int(await town.pool.fetchval("SELECT coalesce(sum(attempts), 0) FROM work.sign_in_attempts"))

    assert leads_to(await come_back(browser, issuer.authorise(leads_to(await begin(browser, company))))) == "/console"
    assert await attempts() == 0
    for _ in range(2):
        refused(await come_back(browser, {"state": "x", "code": "x"}), NOT_BEGUN)
    assert await attempts() == 2
    await town.pool.execute("UPDATE work.sign_in_attempts SET attempts = 60, last_at = clock_timestamp()")
    assert (await come_back(browser, {"state": "x", "code": "x"})).status_code == 429


async def test_a_company_does_not_wait_for_the_issuer_of_another(town: Any, company: Any) -> None:
    issuers = town.issuers
    turns = [issuers.turn(company.id) for _ in range(AT_ONCE_MAX)]
    for turn in turns:
        await turn.__aenter__()
    with pytest.raises(IssuerFailedError):
        await issuers.turn(company.id).__aenter__()
    async with issuers.turn(company.id + 1):
        pass
    for turn in turns:
        await turn.__aexit__(None, None, None)
    async with issuers.turn(company.id):
        pass
    for number in range(ISSUERS_MAX + 5):
        issuers._of(f"https://{number}.example.com")
    assert len(issuers._known) == ISSUERS_MAX
