"""Does a company become a file and a file a company, with nothing lost, doubled or given away?"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio
import yaml

from adapters.cli.company import _compared, _exported, _show
from adapters.company_file.api import CompanyApi
from adapters.company_file.apply import apply
from adapters.company_file.document import FILE_BYTES_MAX, CompanyFileError, Document, read_document, write_document
from adapters.http.server import serving
from tests.adapters.http.conftest import company, other, town  # noqa: F401 - fixtures

pytestmark = pytest.mark.asyncio(loop_scope="session")

TEXT = {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}"}


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


def ignore(place: str) -> None:
    del place


def client_of(town: Any, company: Any) -> httpx.AsyncClient:  # noqa: F811
    transport = httpx.ASGITransport(app=town.app)
    key = (company.public_key, company.private_key)
    return httpx.AsyncClient(transport=transport, base_url="http://leadclock.test", auth=key, timeout=30.0)


@pytest_asyncio.fixture(loop_scope="session")
async def source(town: Any, company: Any) -> AsyncIterator[httpx.AsyncClient]:  # noqa: F811
    async with client_of(town, company) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def target(town: Any, other: Any) -> AsyncIterator[httpx.AsyncClient]:  # noqa: F811
    async with client_of(town, other) as made:
        yield made


async def furnish(company: Any) -> dict[str, Any]:  # noqa: F811
    """Make records of every type that a file has, which name each other, some in circles."""
    made: dict[str, Any] = {}

    async def make(collection: str, name: str, **fields: Any) -> int:
        made[name] = await company.record(collection, {"name": name, "external_record_id": name, **fields})
        return int(made[name]["id"])

    complained = await make("suppression_lists", "complained")
    fleet = await make("buyer_fleets", "vip", user_fleet_id="vip")
    center = await make("call_centers", "tampa", description="Second floor: yes")
    await make("agent_statuses", "lunch", key="lunch")
    await make("contact_field_types", "roofs", script="Hello.", fields=[{"key": "roof", "kind": "number"}])
    source_id = await make("traffic_sources", "ads", connection_daily_limit=7)
    hook = await make("outgoing_webhooks", "crm", url="https://crm.example.com/x", headers={"X-Key": "secret-of-the-crm"})
    await make("rule_packs", "counsel")
    suppressed = {"suppression_list_ids": [complained]}
    assert (await company.send("PUT", "/api/v1/company", json=suppressed)).status_code == 200
    buyer = await make(
        "buyers",
        "sunny",
        number="+12125550140",
        buyer_fleet_ids=[fleet],
        filters=["state:FL|GA"],
        **suppressed,
    )
    group = await make("buyer_groups", "roofers", buyer_ids=[buyer], attempt_daily_limit=200, time_zone="America/Denver")
    offer = await make("offers", "solar", buyer_group_ids=[group], buyer_ids=[buyer], hours_to_expire=48)
    number = {"number": "+13055550188", "offer_id": offer, "external_record_id": "main number"}
    shown = await company.record("numbers", {"number": "+13055550189", "external_record_id": "shown number"})
    main = await company.record("numbers", number)
    await make("ring_pools", "website", number_ids=[shown["id"]], default_number_id=main["id"], hold_seconds=600)
    ada = await make("agents", "ada", user_email="ada@example.com", call_center_id=center, buyer_ids=[buyer])
    first = await make("schedules", "first", steps=[TEXT], offer_id=offer, jitter_seconds=60)
    move = {"id": "move", "kind": "move_to_schedule", "schedule_id": first}
    second = await make("schedules", "second", steps=[TEXT, move])
    await make("holidays", "year's end", first_date="2026-12-24", last_date="2027-01-01", schedule_ids=[first])
    action_group = await make("action_groups", "goodbye", steps=[{**TEXT, "id": "bye"}])
    await make("call_dispositions", "sold", code="SOLD", action_group_id=action_group)
    steps = [
        {"id": "call-1", "kind": "call", "connect": {"buyer_group_id": group}},
        {"id": "call-2", "kind": "call", "connect": {"agents": {"agent_ids": [ada], "call_center_ids": [center]}}},
        {"id": "hook", "kind": "webhook", "outgoing_webhook_id": hook},
        {"id": "tokens", "kind": "update_lead", "set": {"call_center_ids": "99"}, "traffic_source_id": source_id},
        {"id": "move", "kind": "move_to_schedule", "schedule_id": second},
    ]
    circle = await company.send("PUT", f"/api/v1/schedules/{first}", json={"steps": steps})
    assert circle.status_code == 200, circle.text
    group_step = {"id": "all", "kind": "action_group", "action_group_id": action_group}
    waiting = await company.send("PUT", f"/api/v1/schedules/{second}", json={"steps": [TEXT, group_step], "draft": True})
    assert waiting.status_code == 200, waiting.text
    await make("schedules", "never published", steps=[TEXT, group_step], draft=True, offer_id=offer)
    await make(
        "access_control_lists",
        "readers",
        users_emails=["ada@example.com"],
        permissions={"buyer": {"actions": ["read"], "scope": [buyer]}, "lead": {"actions": ["read"]}},
        lead_filters={"offer_ids": [offer], "token_filters": [{"key": "roof", "value": "flat"}]},
    )
    return made


async def written(client: httpx.AsyncClient, *, as_json: bool = False) -> str:
    document, _ = await _exported(client, assign=False)
    return write_document(document, as_json=as_json)


async def applied(client: httpx.AsyncClient, document: Document) -> int:
    api = CompanyApi(client)
    found, row, known = await _compared(api, document)
    await apply(api, found, row, known, ignore)
    return len(found.changes)


def saved(tmp_path: Path, text: str) -> Document:
    path = tmp_path / "company.yaml"
    path.write_text(text)
    return read_document(path)


@pytest.mark.parametrize("as_json", [False, True])
async def test_a_company_is_applied_to_an_empty_one_and_exported_from_it_as_the_same_bytes(
    company: Any,  # noqa: F811
    source: httpx.AsyncClient,
    target: httpx.AsyncClient,
    tmp_path: Path,
    *,
    as_json: bool,
) -> None:
    made = await furnish(company)
    text = await written(source, as_json=as_json)

    document = saved(tmp_path, text)
    changed = await applied(target, document)

    assert changed == sum(map(len, document.records.values())) + 1
    assert await written(target, as_json=as_json) == text
    assert await applied(target, document) == 0
    assert await written(source, as_json=as_json) == text
    for secret in ("secret-of-the-crm", made["solar"]["lead_token"], str(made["solar"]["id"]), made["solar"]["uuid"], "_at"):
        assert secret not in text, secret


async def test_the_commands_export_compare_and_apply_as_typed(
    town: Any,  # noqa: F811
    company: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    await furnish(company)
    key, file = tmp_path / "key.json", tmp_path / "company.yaml"
    key.write_text(json.dumps({"public_key": company.public_key, "private_key": company.private_key}))
    async with serving(town.app, host="127.0.0.1", port=0) as port:

        async def typed(*words: str, answer: str = "") -> tuple[int, str, str]:
            process = await asyncio.create_subprocess_exec(
                str(Path(sys.executable).with_name("leadclock")),
                *("company", *words, "--api", f"http://127.0.0.1:{port}", "--key", str(key), "--data-dir", str(tmp_path)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
            )
            output, errors = await process.communicate(answer.encode())
            assert process.returncode is not None
            return process.returncode, output.decode(), errors.decode()

        warned = "outgoing_webhooks/crm: its headers are not in the file, they may hold secrets\n"
        assert await typed("export", "-o", str(file)) == (0, "", warned)
        assert await typed("export") == (0, file.read_text(), warned)
        assert await typed("diff", str(file)) == (0, "0 to change, 23 alike, 0 not in the file\n", "")
        file.write_text(file.read_text().replace("name: sunny", "name: Sunny Roofs"))
        changed = '~ buyers/sunny\n    name: "sunny" -> "Sunny Roofs"\n1 to change, 22 alike, 0 not in the file\n'
        assert await typed("diff", str(file)) == (1, changed, "")
        code, output, asked = await typed("apply", str(file), answer="n\n")
        assert (code, output, asked.startswith("Make these 1 changes?")) == (130, changed, True)
        assert await typed("diff", str(file)) == (1, changed, "")
        code, output, asked = await typed("apply", str(file), answer="y\n")
        assert (code, output, asked.endswith("written: buyers/sunny\n1 changes made\n")) == (0, changed, True)
        alike = "0 to change, 23 alike, 0 not in the file\n"
        assert await typed("apply", str(file), "--yes") == (0, alike, "nothing to change\n")
        missing = await typed("diff", str(tmp_path / "none.yaml"))
        assert (missing[0], "none.yaml cannot be read" in missing[2]) == (1, True)


async def test_what_is_warned_of_records_is_passed_on_once_each(
    target: httpx.AsyncClient,
    other: Any,  # noqa: F811
    tmp_path: Path,
) -> None:
    await other.send("PUT", "/api/v1/company", json={"dial_countries": []})
    file = tmp_path / "company.yaml"
    file.write_text(yaml.safe_dump({"format": 1, "schedules": {"days": {"name": "Days", "steps": [TEXT]}}}))
    document = read_document(file)
    heard: list[tuple[str, str]] = []
    api = CompanyApi(target, lambda place, sentence: heard.append((place, sentence)))
    found, row, known = await _compared(api, document)

    await apply(api, found, row, known, ignore)

    assert [place for place, sentence in heard if sentence.startswith("dial_countries names none")] == ["schedules/days"]
    assert len(set(heard)) == len(heard)


async def test_what_was_stopped_in_the_middle_is_finished_by_applying_it_again(
    company: Any,  # noqa: F811
    source: httpx.AsyncClient,
    target: httpx.AsyncClient,
    tmp_path: Path,
) -> None:
    await furnish(company)
    text = await written(source)
    document = saved(tmp_path, text)
    sent = 0

    def stop(place: str) -> None:
        nonlocal sent
        del place
        sent += 1
        if sent % 3 == 0:
            raise StoppedError

    for _ in range(40):
        api = CompanyApi(target)
        found, row, known = await _compared(api, document)
        try:
            await apply(api, found, row, known, stop)
        except StoppedError:
            continue
        break
    assert sent > 12
    assert await written(target) == text


async def test_a_changed_field_is_shown_and_written_and_one_that_is_left_out_has_its_default_again(
    company: Any,  # noqa: F811
    source: httpx.AsyncClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = await furnish(company)
    plain = yaml.safe_load(await written(source))
    plain["buyers"]["sunny"]["name"] = "Sunny Roofs"
    del plain["buyers"]["sunny"]["filters"]
    del plain["buyer_groups"]["roofers"]["attempt_daily_limit"]
    del plain["numbers"]
    document = saved(tmp_path, yaml.safe_dump(plain))

    found, _, _ = await _compared(CompanyApi(source), document)
    _show(found, as_json=False)
    shown = capsys.readouterr().out

    assert [change.place for change in found.changes] == ["buyers/sunny", "buyer_groups/roofers"]
    assert [change.fields for change in found.changes] == [["name", "filters"], ["attempt_daily_limit"]]
    assert '    name: "sunny" -> "Sunny Roofs"\n' in shown
    assert "  numbers/main number is not in the file; it stays\n" in shown
    assert await applied(source, document) == 2
    buyer = (await company.send("GET", f"/api/v1/buyers/{made['sunny']['id']}")).json()["buyer"]
    group = (await company.send("GET", f"/api/v1/buyer_groups/{made['roofers']['id']}")).json()["buyer_group"]
    webhook = (await company.send("GET", f"/api/v1/outgoing_webhooks/{made['crm']['id']}")).json()["outgoing_webhook"]
    assert (buyer["name"], buyer["filters"], group["attempt_daily_limit"]) == ("Sunny Roofs", [], None)
    assert webhook["headers"] == {"X-Key": "secret-of-the-crm"}
    assert (await company.send("GET", "/api/v1/numbers")).json()["metadata"]["total_count"] == 2


async def test_a_short_file_that_was_applied_changes_nothing_when_it_is_applied_again(
    source: httpx.AsyncClient, tmp_path: Path
) -> None:
    steps = [{"id": "rest", "kind": "wait", "duration": "1d"}]
    records = {
        "offers": {"solar": {"name": "Solar"}},
        "buyers": {"sunny": {"name": "Sunny", "number": "+13055550147"}},
        "schedules": {
            "hello": {"name": "Hello", "offer_id": "solar", "steps": steps},
            "later": {"draft": {"name": "Later", "offer_id": "solar", "steps": steps}},
        },
    }
    # JSON is YAML.
    document = saved(tmp_path, json.dumps({"format": 1, "company": {"name": "First company"}, **records}))

    assert await applied(source, document) == 5
    found, _, _ = await _compared(CompanyApi(source), document)

    assert [(change.place, change.fields) for change in found.changes] == []


async def test_records_without_a_name_are_refused_or_given_one(company: Any, source: httpx.AsyncClient) -> None:  # noqa: F811
    for name in ("Sunny Roofs", "Sunny  roofs!", "Ünï"):
        await company.record("buyers", {"name": name, "number": "+12125550140"})
    with pytest.raises(CompanyFileError, match=r"no external_record_id: buyer \d+ \(Sunny Roofs\)"):
        await written(source)

    document, _ = await _exported(source, assign=True)

    assert {name: fields["name"] for name, fields in document.records["buyer"].items()} == {
        "sunny-roofs": "Sunny Roofs",
        "sunny-roofs-2": "Sunny  roofs!",
        "n": "Ünï",
    }
    assert await written(source) == write_document(document, as_json=False)


async def test_a_change_by_somebody_else_in_between_is_refused(
    company: Any,  # noqa: F811
    source: httpx.AsyncClient,
    tmp_path: Path,
) -> None:
    made = await company.record("buyers", {"name": "A", "number": "+12125550140", "external_record_id": "a"})
    text = await written(source)
    api, document = CompanyApi(source), saved(tmp_path, text.replace("name: A\n", "name: B\n"))
    found, row, known = await _compared(api, document)
    assert len(found.changes) == 1
    await company.send("PUT", f"/api/v1/buyers/{made['id']}", json={"paused": True})
    with pytest.raises(CompanyFileError, match="buyers/a: "):
        await apply(api, found, row, known, ignore)
    assert (await company.send("GET", f"/api/v1/buyers/{made['id']}")).json()["buyer"]["name"] == "A"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"offers": {"solar": {"name": "S", "buyer_ids": ["nobody"]}}},
            r"offers/solar: buyer_ids\[0\] names 'nobody', which is",
        ),
        ({"offers": {"solar": {"name": "S", "buyer_ids": [7]}}}, "names 7, which is the external_record_id of no buyer"),
        ({"schedules": {"first": {"draft": {"name": "F"}}}}, "schedules/first was published, and cannot become a draft"),
        ({"schedules": {"second": {"name": "S"}}}, "schedules/second has a draft of steps: publish it"),
        ({"offers": {"solar": {"name": "S", "bugdet": 7}}}, "offers/solar: .*bugdet"),
    ],
)
async def test_what_cannot_be_applied_is_refused_by_its_place(
    company: Any,  # noqa: F811
    source: httpx.AsyncClient,
    tmp_path: Path,
    change: dict[str, Any],
    sentence: str,
) -> None:
    await furnish(company)
    document = saved(tmp_path, msgspec.json.encode({"format": 1, **change}).decode())
    with pytest.raises(CompanyFileError, match=sentence):
        await applied(source, document)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must hold one object"),
        ("- 1", "must hold one object"),
        ("format: 2", "must be 1, the version of the format; it is 2"),
        ("format: 1\nkeys: {}", "keys: not known"),
        ("format: 1\nbuyers: [1]", "buyers must be an object"),
        ("format: 1\nbuyers: {a: 1}", "buyers/a must be an object"),
        ("a: &x [1]\nb: *x", r"line 2: aliases \(\*x\)"),
        ("a: 1\na: 2", "a stands twice"),
        ("a: " + "[" * 60 + "]" * 60, "more than 40 levels"),
        ("a: !!python/object:os.system {}", "neither YAML nor JSON"),
        ("a: [", "neither YAML nor JSON"),
        ("a: \udc80", "cannot be read"),
    ],
)
async def test_what_is_no_file_of_a_company_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CompanyFileError, match=sentence):
        read_document(path)


async def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    with pytest.raises(CompanyFileError, match="more than"):
        read_document(path)


async def test_a_date_in_a_file_is_text(tmp_path: Path) -> None:
    document = saved(tmp_path, "format: 1\nrule_packs: {a: {reviewed_at: 2026-01-15}}")
    assert document.records["rule_pack"]["a"] == {"reviewed_at": "2026-01-15"}
