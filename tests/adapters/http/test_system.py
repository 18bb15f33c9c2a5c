"""Does the process say how it is, which zones it knows, and what its interface looks like?"""

import re
from typing import Any

import msgspec
import pytest
import structlog

from adapters.http.app import OPERATIONS
from schemas.documents import asyncapi
from schemas.problems import PROBLEMS
from tests.adapters.http.conftest import unquoted

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_probes_answer_without_a_key(town: Any) -> None:
    for path in ("/livez", "/readyz", "/startupz"):
        assert (await town.client.get(path)).status_code == 200
    assert 'leadclock_http_requests_total{method="GET",operation="livez",status="200"}' in town.metrics.text().decode()


async def test_the_figures_of_all_companies_are_not_served_on_the_public_port(town: Any, company: Any) -> None:
    assert (await town.client.get("/metrics")).status_code == 404
    assert (await company.send("GET", "/metrics")).status_code == 404


async def test_whatever_was_asked_without_waiting_is_answered_later_as_it_would_have_been(town: Any, company: Any) -> None:
    number = await company.record("numbers", {"number": "+12125550188"})
    schedule = await company.schedule()
    lead = {"lead_token": schedule["lead_token"], "caller_id": "+12125550123"}
    text = {"from": "+12125550123", "to": number["number"], "text_ref": "sms-1", "body": "Yes, call me."}
    call = {"from": "+12125550123", "to": number["number"], "call_ref": "pbx-1", "state": "ringing"}
    offer = {"name": "Solar"}
    webhook = {"name": "CRM", "url": "https://example.com/hook"}
    for method, path, fields, root, status in (
        ("POST", "/api/v1/leads", lead, "lead", 201),
        ("POST", f"/api/v1/leads/{lead['caller_id']}/caller_remove", lead, "lead", 200),
        ("POST", "/api/v1/texts/received", text, "text", 200),
        ("POST", "/api/v1/texts/received", text, "text", 200),  # reported again
        ("POST", "/api/v1/texts/received", {**text, "from": "+12125550124", "text_ref": "sms-2"}, "text", 200),
        ("POST", "/api/v1/calls/received", call, "call", 200),
        ("POST", "/api/v1/offers", offer, "offer", 201),
        ("POST", "/api/v1/outgoing_webhooks", webhook, "outgoing_webhook", 201),
        ("PUT", "/api/v1/company", {"paused": False}, "company", 200),
    ):
        taken = await company.send(method, path, json=fields, headers={"Prefer": "respond-async"})
        assert taken.status_code == 202, (path, taken.text)
        await town.results.wait(taken.json()["request"]["id"], 10)
        shown = await company.send("GET", taken.headers["location"])
        assert (shown.status_code, shown.json()["metadata"]["root"]) == (status, root), (path, shown.text)
        if root == "text":
            assert shown.json()["text"]["contact_id"] > 0
            assert shown.json()["text"]["repeated"] is (shown.json()["text"]["meaning"] is None)
        if root == "outgoing_webhook":
            assert shown.json()[root]["secret"].startswith("whsec_")


async def test_zones_are_listed_under_both_kinds_of_names(town: Any) -> None:
    zones = (await town.client.get("/api/v1/collections/time_zone")).json()["time_zones"]
    by_name = {zone["name"]: zone["iana"] for zone in zones}
    assert by_name["America/New_York"] == "America/New_York"
    assert by_name["Eastern Time (US & Canada)"] == "America/New_York"
    lines = unquoted((await town.client.get("/api/v1/collections/time_zone.csv")).text).splitlines()
    assert (lines[0], "Eastern Time (US & Canada),America/New_York" in lines) == ("name,iana", True)
    assert (await town.client.get("/api/v1/collections/time_zone.json", params={"root": "false"})).json() == zones


async def test_the_document_names_every_operation_once(town: Any) -> None:
    document = (await town.client.get("/api/docs/1.0")).json()
    assert document == (await town.client.get("/api/docs/1.0/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    reference = (await town.client.get("/api/docs/1.0/reference.json")).json()
    named = {(path, method) for path, entry in reference["paths"].items() for method in entry}
    for operation in OPERATIONS:
        if operation.path.startswith("/api/v1") and operation.access != "operator":
            assert {(operation.path, method.lower()) for method in operation.methods} <= named
            (described,) = [one for one in _described(document) if one["operationId"] == operation.name]
            assert tuple(described.get("x-methods", operation.methods)) == operation.methods
    for one in (document, reference):
        ids = [entry["operationId"] for entry in _described(one)]
        assert len(ids) == len(set(ids))


def _described(document: Any) -> list[Any]:
    return [part for entry in document["paths"].values() for method, part in entry.items() if method != "parameters"]


async def test_every_reference_of_the_document_leads_somewhere(town: Any) -> None:
    for name in ("openapi.json", "reference.json"):
        answer = await town.client.get(f"/api/docs/1.0/{name}")
        references = set(re.findall(r'"\$ref":"#/([^"]+)"', answer.text))
        assert len(references) > 50
        document = answer.json()
        for reference in references:
            place = document
            for step in reference.split("/"):
                place = place[step]


@pytest.mark.parametrize(
    "name",
    [
        *("openapi.json", "reference.json", "asyncapi.json", "guides/auditors", "guides", ""),
        *("page.css", "page.js", "try.js", "icon.svg"),
    ],
)
async def test_documents_are_compressed_and_not_sent_again_to_a_client_that_has_them(town: Any, name: str) -> None:
    path = f"/api/docs/1.0/{name}".rstrip("/")
    seen = set()
    for encoding in ("br", "gzip", "identity"):
        headers = {"Accept-Encoding": encoding, "Accept": "*/*" if name else "text/html"}
        first = await town.client.get(path, headers=headers)
        assert (first.status_code, first.headers.get("content-encoding", "identity")) == (200, encoding)
        assert "Accept-Encoding" in first.headers["vary"]
        again = await town.client.get(path, headers={**headers, "If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        assert "content-length" not in again.headers
        other = await town.client.get(path, headers={**headers, "If-None-Match": '"another"'})
        assert (other.status_code, other.content) == (200, first.content)
        seen.add((first.headers["etag"], first.content))
    assert len({etag for etag, _ in seen}) == 3
    assert len({content for _, content in seen}) == 1


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("GZIP;q=1.0, identity; q=0.5", "gzip"),
        ("br;q=0, gzip;q=0.001", "gzip"),
        ("br; q=0.000, gzip; q=0", None),
        ("brotli, x-gzip", None),
        (";;,=, q", None),
    ],
)
async def test_a_document_is_compressed_in_a_coding_that_the_client_takes(
    town: Any, accepted: str, coding: str | None
) -> None:
    answer = await town.client.head("/api/docs/1.0/openapi.json", headers={"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == coding


async def test_the_page_explains_every_problem_that_an_answer_may_point_at(town: Any) -> None:
    page = await town.client.get("/api/docs/1.0", headers={"Accept": "text/html"})
    assert page.headers["content-type"].startswith("text/html")
    assert all(f"id='{code}'" in page.text for code in PROBLEMS)


async def test_the_pages_lead_to_each_other_and_load_nothing_from_elsewhere(town: Any) -> None:
    for path in ("/api/docs/1.0", "/api/docs/1.0/events"):
        text = (await town.client.get(path, headers={"Accept": "text/html"})).text
        assert not re.search(r"<img|@import|url\(|(href|src)='(https?:)?//|XMLHttpRequest|import\(|\.src\b", text)
        anchors = set(re.findall(r"id='([^']+)'", text))
        assert set(re.findall(r"href='#([^']+)'", text)) <= anchors
        for other in set(re.findall(r"href='(/[^'#]*)", text)):
            assert (await town.client.get(other)).status_code == 200, other
        assert len(anchors) == len(re.findall(r" id='", text))
        document = await town.client.get(path)
        assert document.headers["content-type"] == "application/json"


async def test_the_topics_are_described_by_a_document_that_needs_no_other_file(town: Any) -> None:
    answer = await town.client.get("/api/docs/1.0/asyncapi.json")
    document = answer.json()
    assert document["asyncapi"] == "3.0.0"
    assert document == msgspec.json.decode(msgspec.json.encode(asyncapi()))
    targets = re.findall(r'"\$ref":"([^"]+)"', answer.text)
    assert targets
    assert [target for target in targets if not target.startswith("#/")] == []


async def test_the_record_that_the_page_of_the_topics_shows_is_a_lead(town: Any, company: Any) -> None:
    (example,) = asyncapi()["components"]["messages"]["inbox.lead.submitted"]["examples"]
    schedule = await company.schedule()
    fields = {**example["payload"], "lead_token": schedule["lead_token"]}
    made = await company.send("POST", "/api/v1/leads", json=fields)
    assert (made.status_code, made.json()["lead"]["data"]) == (201, example["payload"]["data"]), made.text
    page = (await town.client.get("/api/docs/1.0/events", headers={"Accept": "text/html"})).text
    assert example["payload"]["lead_token"] in page
    assert "ce_id: order-4711" in page


async def test_the_log_line_holds_neither_numbers_nor_tokens_nor_keys(company: Any) -> None:
    schedule = await company.schedule()
    token = schedule["lead_token"]
    with structlog.testing.capture_logs() as lines:
        await company.send("GET", f"/api/v1/leads/{token}/+13055550142/by_caller_number", params={"auth_token": "x.secret"})
        await company.send("PUT", "/api/v1/leads/ann@example.com/caller_opt_out", params={"lead_token": token})
    text = str(lines)
    assert [line["status"] for line in lines if line["event"] == "request.answered"] == [404, 404]
    assert [line["company_id"] for line in lines if line["event"] == "request.answered"] == [company.id] * 2
    for secret in (token, "3055550142", "ann@", "secret", company.private_key):
        assert secret not in text
