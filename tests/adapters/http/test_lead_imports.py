"""Does an uploaded file become leads, each line once, with its errors by line, whatever happens to the process?"""

import asyncio
import io
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from openpyxl import Workbook

from adapters.audit.recorded import batches
from adapters.http.exchange.access import Authenticator
from adapters.http.exchange.makers import MakerAccess
from adapters.http.leads import import_decisions, import_runner
from adapters.http.leads.import_runner import LeadImportRunner
from adapters.observability.metrics import Metrics
from adapters.partitions.routing import partition_of
from adapters.postgres.lead_imports import OPEN_IMPORTS_MAX, PostgresLeadImports
from adapters.roles.intake import IntakeRole
from schemas.topics import LEADS_INBOX_BULK
from tests.adapters.http.conftest import Company, Town, basic, unquoted
from tests.adapters.http.test_teams import person, team
from tests.pace import bound

PATH = "/api/v1/lead_imports"
HEAD = "phone,First Name,roof\n"

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Died(Exception):  # noqa: N818 - a process that is killed, which no code expects
    """A process is killed."""


class Dying(PostgresLeadImports):
    """Kills its process when it is to store a batch: the lines are on the inbox by then, and nobody knows."""

    saves = 0

    async def save(self, *given: Any, **more: Any) -> bool:
        self.saves += 1
        if self.saves == 3:
            raise Died
        return await super().save(*given, **more)


def runner(town: Town, imports: PostgresLeadImports | None = None) -> LeadImportRunner:
    makers = MakerAccess(town.context.rules, Authenticator(town.context.rules))
    return LeadImportRunner(imports or PostgresLeadImports(town.pool), town.context, makers, town.requests.wait)


@asynccontextmanager
async def intake(town: Town) -> AsyncIterator[None]:
    """Pass on what is on the inboxes."""
    role, stop = IntakeRole(town.context, Metrics()), asyncio.Event()
    running = asyncio.create_task(role.run(stop))
    try:
        yield
    finally:
        stop.set()
        await running


async def run(town: Town) -> None:
    """Advance all imports until each has ended."""
    process = runner(town)
    async with asyncio.timeout(bound(60.0)), intake(town):
        while await town.pool.fetchval("SELECT count(*) FROM work.lead_imports WHERE ended_at IS NULL"):
            await process.advance_once()


async def upload(company: Company, status: int = 201, **fields: Any) -> dict[str, Any]:
    """Upload a file; return the answer."""
    answer = await company.send("POST", PATH, json=fields)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def shown(company: Company, job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"{PATH}/{job['id']}")).json()["lead_import"]
    return found


async def errors(company: Company, job: dict[str, Any]) -> list[tuple[int, str]]:
    answer = await company.send("GET", f"{PATH}/{job['id']}/errors", params={"cursor": "-1", "columns": "line,field"})
    return [(one["line"], one["field"]) for one in answer.json()["lead_import_errors"][::-1]]


async def inbox(town: Town, lead_import_id: int) -> list[str]:
    """Return the submissions of an import that are on the inbox, in order."""
    context = town.context
    topic = context.names.of(LEADS_INBOX_BULK.name)
    found = []
    for partition in range(await context.log.partition_count(topic)):
        reader = await context.log.reader(topic, [partition])
        records = [record async for some in batches(reader, partition) for record in some]
        await reader.close()
        mark = f'"lead_import_id":{lead_import_id}'.encode()
        found += [(record.value or b"").decode() for record in records if mark in (record.value or b"")]
    return found


def numbers(count: int) -> list[str]:
    return [f"+1212555{number:04d}" for number in range(count)]


async def test_good_lines_are_sent_and_bad_ones_are_listed_with_what_to_correct(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    content = f"{HEAD}+12125550101,Ada,flat\n12,Bob,flat\n+12125550102,,steep\n+12125550103,Eve,flat,new\n"
    fields = {"lead_token": schedule["lead_token"], "content": content, "mapping": {"phone": "caller_id", "roof": None}}

    checked = await upload(company, **fields, dry_run=True)
    assert checked["first_lead"] == {"caller_id": "+12125550101", "data": {"first_name": "Ada"}}
    dry = checked["lead_import"]
    assert dry["columns"] == {"phone": "caller_id", "First Name": "data.first_name", "roof": None}
    assert (dry["state"], dry["lead_import_id"], dry["schedule_id"]) == ("pending", None, schedule["id"])
    made = (await upload(company, **fields))["lead_import"]
    await run(town)

    for job in (dry, made):
        done = await shown(company, job)
        assert (done["state"], done["good_count"], done["refused_count"], done["line"]) == ("succeeded", 2, 2, 5)
        assert done["last_line"] == 5
        assert await errors(company, job) == [(3, "caller_id"), (5, "")]
    sent = await inbox(town, made["lead_import_id"])
    assert len(sent) == 2
    assert '"caller_id":"+12125550102"' in sent[1]
    assert "roof" not in "".join(sent)
    table = await company.send("GET", f"{PATH}/{made['id']}/errors.csv", params={"columns": "line,field"})
    assert unquoted(table.text).splitlines() == ["line,field", "5,", "3,caller_id"]
    files = await town.pool.fetch("SELECT file FROM work.lead_imports WHERE company_id = $1", company.id)
    assert [row["file"] for row in files] == [None, None]


async def test_lines_that_are_sent_with_a_warning_are_listed_beside_the_refused_ones(town: Town, company: Company) -> None:
    token = (await company.schedule())["lead_token"]
    content = "phone,Zip Code,timezone\n+12125550101,2134,\n12,10001,\n+12125550102,10001,Mars\n"
    named = "Other names were taken: phone as caller_id, zip_code as zip_postal_code."
    job = (await upload(company, lead_token=token, content=content))["lead_import"]

    await run(town)

    done = await shown(company, job)
    assert (done["good_count"], done["refused_count"], done["warned_count"]) == (2, 1, 2)
    path, columns = f"{PATH}/{job['id']}/errors", "line,severity,field,problem"
    rows = (await company.send("GET", path, params={"root": "false", "columns": columns})).json()[::-1]
    warned = [(one["line"], one["problem"]) for one in rows if one["severity"] == "warning"]
    zone = next(problem for _, problem in warned if problem.startswith("timezone was not taken as time_zone: it must be"))
    assert warned == [(2, named), (2, "The zip 2134 was read as 02134."), (4, zone), (4, named)]
    assert [(one["line"], one["field"]) for one in rows if one["severity"] == "error"] == [(3, "phone")]
    for severity, count in (("error", 1), ("warning", 4)):
        listed = await company.send("GET", path, params={"severity": severity, "root": "false"})
        assert len(listed.json()) == count
    assert (await company.send("GET", path, params={"severity": "worse"})).status_code == 422


async def test_the_same_file_again_is_the_same_import_unless_that_is_meant(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "content": "caller_id\n+12125550111\n"}
    first = (await upload(company, **fields))["lead_import"]
    refused = await company.send("POST", PATH, json={**fields, "again": True})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["again"])
    await run(town)
    same = (await upload(company, 200, **fields))["lead_import"]
    assert (same["id"], same["state"]) == (first["id"], "succeeded")
    again = (await upload(company, **fields, again=True))["lead_import"]
    other_mapping = (await upload(company, **fields, mapping={"caller_id": "caller_id"}))["lead_import"]
    assert len({one["lead_import_id"] for one in (first, again, other_mapping)}) == 3
    await run(town)
    assert [len(await inbox(town, one["lead_import_id"])) for one in (first, again, other_mapping)] == [1, 1, 1]


async def test_uploads_of_one_file_at_once_are_one_import(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "content": "caller_id\n+12125550112\n"}
    answers = await asyncio.gather(*(company.send("POST", PATH, json=fields) for _ in range(4)))
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert len({answer.json()["lead_import"]["id"] for answer in answers}) == 1
    await run(town)


async def test_an_import_whose_process_is_killed_loses_no_line_and_sends_none_twice(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_runner, "BATCH_LINES", 4)
    schedule = await company.schedule()
    content = "caller_id\n" + "\n".join([*numbers(5), "12", *numbers(11)[5:]]) + "\n"
    job = (await upload(company, lead_token=schedule["lead_token"], content=content))["lead_import"]
    with pytest.raises(Died):
        await runner(town, Dying(town.pool)).advance_once()
    assert len(await inbox(town, job["lead_import_id"])) == 7
    assert (await shown(company, job))["good_count"] == 4
    await run(town)
    done = await shown(company, job)
    assert (done["state"], done["good_count"], done["refused_count"]) == ("succeeded", 11, 1)
    assert await errors(company, job) == [(7, "caller_id")]
    sent = await inbox(town, job["lead_import_id"])
    assert [text.count(number) for number, text in zip(numbers(11), sent, strict=True)] == [1] * 11


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send two lines at a time, and no more than four before some are decided."""
    monkeypatch.setattr(import_runner, "BATCH_LINES", 2)
    monkeypatch.setattr(import_runner, "UNDECIDED_MAX", 4)
    monkeypatch.setattr(import_runner, "DECIDED_WITHIN_SECONDS", 0.2)


async def decisions(company: Company, job: dict[str, Any]) -> tuple[Any, ...]:
    """Return the state of an import and its counts: good, waiting, decided, rejected, unknown."""
    found = await shown(company, job)
    return found["state"], *(found[f"{name}_count"] for name in ("good", "waiting", "decided", "rejected", "unknown"))


async def leads_of(company: Company, job: dict[str, Any]) -> int:
    answer = await company.send("GET", "/api/v1/leads", params={"lead_import_id": str(job["lead_import_id"])})
    return len(answer.json()["leads"])


async def test_an_import_has_succeeded_once_its_leads_are_decided_and_sends_few_before(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch)
    token = (await company.schedule())["lead_token"]
    job = (await upload(company, lead_token=token, content="caller_id\n" + "\n".join(numbers(9))))["lead_import"]

    assert not await runner(town).advance_once(), "no intake runs: the import waits, and others come next"
    assert await decisions(company, job) == ("running", 4, 4, 0, 0, 0)
    assert not await runner(town).advance_once()
    assert len(await inbox(town, job["lead_import_id"])) == 4
    await run(town)

    assert await decisions(company, job) == ("succeeded", 9, 0, 9, 0, 0)
    assert await leads_of(company, job) == 9
    assert await town.pool.fetchval("SELECT count(*) FROM work.lead_import_lines") == 0


async def test_a_line_that_is_refused_after_it_was_sent_is_listed_with_the_reason(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch)
    monkeypatch.setattr(import_decisions, "DEAD_AFTER", 0)
    schedule = await company.schedule()
    content = "caller_id\n" + "\n".join(numbers(3))
    job = (await upload(company, lead_token=schedule["lead_token"], content=content))["lead_import"]
    assert not await runner(town).advance_once()
    gone = await company.send("DELETE", f"/api/v1/schedules/{schedule['id']}")
    assert gone.status_code == 200, gone.text

    await run(town)

    assert await decisions(company, job) == ("succeeded", 3, 0, 0, 3, 0)
    listed = await company.send("GET", f"{PATH}/{job['id']}/errors", params={"root": "false"})
    assert [(one["line"], one["severity"]) for one in listed.json()[::-1]] == [(2, "error"), (3, "error"), (4, "error")]
    assert all("lead token" in one["problem"] for one in listed.json()), listed.json()


async def test_lines_of_which_nothing_is_known_after_a_day_are_counted_and_the_import_ends(
    town: Town, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch)
    token = (await company.schedule())["lead_token"]
    job = (await upload(company, lead_token=token, content="caller_id\n" + "\n".join(numbers(3))))["lead_import"]
    assert not await runner(town).advance_once()
    await town.pool.execute("UPDATE work.lead_import_lines SET sent_at = sent_at - interval '25 hours' WHERE line < 4")
    assert not await runner(town).advance_once()
    assert await decisions(company, job) == ("running", 3, 1, 0, 0, 2)
    await run(town)
    assert await decisions(company, job) == ("succeeded", 3, 0, 1, 0, 2)


async def test_a_canceled_import_sends_nothing_more(town: Town, company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "content": "caller_id\n" + "\n".join(numbers(6))}
    waiting = (await upload(company, **fields))["lead_import"]
    canceled = await company.send("POST", f"{PATH}/{waiting['id']}/cancel")
    assert canceled.json()["lead_import"]["state"] == "canceled"
    await run(town)
    assert (await shown(company, waiting))["ended_at"]
    assert await inbox(town, waiting["lead_import_id"]) == []

    monkeypatch.setattr(import_runner, "BATCH_LINES", 2)
    running = (await upload(company, **fields, again=True))["lead_import"]

    class Canceling(PostgresLeadImports):
        async def save(self, *given: Any, **more: Any) -> bool:
            await self.cancel(company.id, running["id"], town.context.clock.now())
            return await super().save(*given, **more)

    await runner(town, Canceling(town.pool)).advance_once()
    assert len(await inbox(town, running["lead_import_id"])) == 2
    await run(town)
    assert await decisions(company, running) == ("canceled", 2, 0, 2, 0, 0)


async def test_an_import_runs_by_what_its_maker_may_do_now(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    key = await company.record("keys", {"name": "import", "scopes": ["lead_import:create"]})
    fields = {"lead_token": schedule["lead_token"], "content": "caller_id\n+12125550113\n"}
    made = await town.client.post(PATH, headers=basic(key["public_key"], key["private_key"]), json=fields)
    job = made.json()["lead_import"]
    assert job["key_id"] == key["id"]
    assert (await company.send("DELETE", f"/api/v1/keys/{key['id']}")).status_code == 200
    await run(town)
    ended = await shown(company, job)
    assert (ended["state"], ended["failure"]) == ("failed", "who made it may not do this any more")
    assert await inbox(town, job["lead_import_id"]) == []


def sheet(*rows: tuple[Any, ...]) -> str:
    book, data = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(data)
    return b64encode(data.getvalue()).decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "xlsx", "content_base64": sheet(("caller_id", "name"), (12125550114, "Zoë"))},
        {
            "content_base64": b64encode("caller_id;name\n+12125550114;Zoë\n".encode("latin-1")).decode(),
            "encoding": "latin-1",
        },
        {"format": "ndjson", "content": '{"caller_id": "+12125550114", "name": "Zoë"}\n'},
        {"content": "\ufeffcaller_id,name\n'+12125550114,Zoë\n"},
        {"content": "number,name\n+12125550114,Zoë\n", "mapping": '{"number": "caller_id"}'},
    ],
)
async def test_files_of_every_format_become_the_same_lead(town: Town, company: Company, fields: dict[str, Any]) -> None:
    schedule = await company.schedule()
    job = (await upload(company, lead_token=schedule["lead_token"], **fields))["lead_import"]
    await run(town)
    assert (await shown(company, job))["refused_count"] == 0
    (sent,) = await inbox(town, job["lead_import_id"])
    assert "2125550114" in sent
    assert "Zoë" in sent


async def test_a_form_uploads_a_file_as_a_field(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    parts = {
        "lead_token": schedule["lead_token"],
        "content": f"{HEAD}+12125550115,Ada,flat\n",
        "mapping[phone]": "caller_id",
    }
    answer = await company.send("POST", PATH, files={name: (None, value) for name, value in parts.items()})
    assert answer.status_code == 201, answer.text
    await run(town)
    assert len(await inbox(town, answer.json()["lead_import"]["lead_import_id"])) == 1


async def test_nothing_is_sent_of_a_file_that_was_cut_off(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    content = 'caller_id,name\n+12125550116,Ann\n+12125550117,"Ad'
    job = (await upload(company, lead_token=schedule["lead_token"], content=content))["lead_import"]
    await run(town)
    ended = await shown(company, job)
    assert ended["state"] == "failed"
    assert "it was cut off there" in ended["failure"]
    assert await inbox(town, job["lead_import_id"]) == []


async def test_a_file_of_too_many_lines_is_not_begun(town: Town, company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_runner, "LINES_MAX", 3)
    schedule = await company.schedule()
    content = "caller_id\n" + "\n".join(numbers(4))
    job = (await upload(company, lead_token=schedule["lead_token"], content=content))["lead_import"]
    await run(town)
    assert "3 is the most" in (await shown(company, job))["failure"]
    assert await inbox(town, job["lead_import_id"]) == []


GOOD = "caller_id\n+12125550118\n"
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"content": None}, "content", "must be the text of the file"),
    ({"content_base64": "YQ=="}, "content", "must be the text of the file"),
    ({"content": None, "content_base64": "%%%"}, "content_base64", "must be the file in base64"),
    ({"content": None, "content_base64": 7}, "content_base64", "must be text"),
    ({"content": {"a": 1}}, "content", "must be text"),
    ({"content_base64": {"a": 1}}, "content_base64", "must be text"),
    ({"content": "name\nAnn\n"}, "content", "no column is a telephone number or an e-mail address: send mapping"),
    ({"content": "caller_id,caller_id\n1,2\n"}, "content", "two columns of one name"),
    ({"content": ",".join(f"c{n}" for n in range(3000))}, "content", "3000 columns; 500 is the most"),
    ({"content": None, "content_base64": b64encode(b"caller_id\n\xff\xfe").decode()}, "encoding", "is not that of the file"),
    ({"encoding": "klingon"}, "encoding", "is not that of the file"),
    ({"format": "pdf"}, "format", "must be one of"),
    ({"format": "xlsx"}, "content", "is no XLSX file"),
    ({"mapping": ["phone"]}, "mapping", "must be an object"),
    ({"mapping": {"caller_id": 7}}, "mapping", "by its name"),
    ({"mapping": {"caller_id": "lead_import_id"}}, "mapping", "choose another field"),
    ({"mapping": {"fone": "caller_id"}}, "content", "names the column fone, which the file does not have"),
    ({"dry_run": True, "again": True}, "again", "does nothing in a dry run"),
    ({"dry_run": "perhaps"}, "dry_run", "must be"),
    ({"file": "x"}, "file", "is not a parameter"),
    ({"lead_token": ""}, "lead_token", "must be given"),
]


@pytest.mark.parametrize(("fields", "field", "sentence"), BAD)
async def test_a_bad_field_is_named_and_nothing_is_stored(
    company: Company, fields: dict[str, Any], field: str, sentence: str
) -> None:
    schedule = await company.schedule()
    given = {"lead_token": schedule["lead_token"], "content": GOOD, **fields}
    answer = await company.send("POST", PATH, json=given)
    assert answer.status_code == 422, answer.text
    assert any(sentence in one for one in answer.json()["errors"][field]), answer.text
    assert (await company.send("GET", PATH)).json()["lead_imports"] == []


async def test_another_companys_token_import_and_errors_are_those_of_nobody(
    town: Town, company: Company, other: Company
) -> None:
    theirs = await other.schedule()
    refused = await company.send("POST", PATH, json={"lead_token": theirs["lead_token"], "content": GOOD})
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_lead_token")
    job = (await upload(other, lead_token=theirs["lead_token"], content=GOOD))["lead_import"]
    for path in (f"{PATH}/{job['id']}", f"{PATH}/{job['id']}/errors"):
        assert (await company.send("GET", path)).status_code == 404
    assert (await company.send("POST", f"{PATH}/{job['id']}/cancel")).status_code == 404
    assert (await company.send("GET", PATH)).json()["lead_imports"] == []
    await run(town)


async def test_a_person_who_sees_some_leads_sees_their_own_imports(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    actions = {"lead": {"actions": ["read"]}, "lead_import": {"actions": ["read", "create", "cancel"]}}
    await team(company, permissions=actions, lead_filters={"schedule_ids": [schedule["id"]]})
    ada = await person(town, company)
    theirs = (await upload(company, lead_token=schedule["lead_token"], content=GOOD))["lead_import"]
    made = await ada.send("POST", PATH, json={"lead_token": schedule["lead_token"], "content": f"{GOOD}\n"})
    own = made.json()["lead_import"]
    assert [one["id"] for one in (await ada.get(PATH)).json()["lead_imports"]] == [own["id"]]
    assert (await ada.get(f"{PATH}/{theirs['id']}/errors")).status_code == 404
    assert (await ada.send("POST", f"{PATH}/{theirs['id']}/cancel")).status_code == 404
    await run(town)
    assert (await shown(company, own))["state"] == "succeeded"


async def test_a_company_has_only_so_many_imports_that_have_not_ended(town: Town, company: Company) -> None:
    token = (await company.schedule())["lead_token"]
    for number in range(OPEN_IMPORTS_MAX):
        await upload(company, lead_token=token, content=f"caller_id\n{numbers(9)[number]}\n")
    refused = await company.send("POST", PATH, json={"lead_token": token, "content": GOOD})
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    await run(town)
    await upload(company, lead_token=token, content=GOOD)
    await run(town)


async def test_every_parameter_of_the_lists_takes_effect(town: Town, company: Company) -> None:
    token = (await company.schedule())["lead_token"]
    first = (await upload(company, lead_token=token, content="caller_id\n1\n2\n"))["lead_import"]
    second = (await upload(company, lead_token=token, content=GOOD, dry_run=True))["lead_import"]
    for query, expected in [
        ({"ids": str(first["id"])}, [first]),
        ({"dry_run": "true"}, [second]),
        ({"dry_run": "false"}, [first]),
        ({"created_at_from": "2999-01-01"}, []),
        ({"created_at_to": "2999-01-01 00:00", "time_zone": "UTC"}, [second, first]),
        ({"page": "2", "per_page": "1"}, [first]),
        ({"cursor": str(second["id"])}, [first]),
    ]:
        answer = await company.send("GET", PATH, params={"columns": "id", **query})
        assert answer.json()["lead_imports"] == [{"id": one["id"]} for one in expected], query
    bare = await company.send("GET", PATH, params={"root": "false"})
    assert bare.json() == [second, first]
    table = await company.send("GET", f"{PATH}.csv", params={"columns": "id,format"})
    assert unquoted(table.text).splitlines() == ["id,format", f"{second['id']},csv", f"{first['id']},csv"]
    await run(town)
    path = f"{PATH}/{first['id']}/errors"
    rows = (await company.send("GET", path, params={"root": "false", "columns": "id,line"})).json()
    assert [one["line"] for one in rows] == [3, 2]
    for query, lines in [({"page": "2", "per_page": "1"}, [2]), ({"cursor": str(rows[0]["id"])}, [2])]:
        answer = await company.send("GET", path, params={"columns": "line", **query})
        assert answer.json()["lead_import_errors"] == [{"line": line} for line in lines], query


async def test_one_import_is_in_one_partition_of_the_inbox(town: Town, company: Company) -> None:
    token = (await company.schedule())["lead_token"]
    job = (await upload(company, lead_token=token, content="caller_id\n" + "\n".join(numbers(9))))["lead_import"]
    await run(town)
    digest = await town.pool.fetchval("SELECT digest FROM work.lead_imports WHERE id = $1", job["id"])
    topic = town.context.names.of(LEADS_INBOX_BULK.name)
    partition = partition_of(digest.encode(), await town.context.log.partition_count(topic))
    reader = await town.context.log.reader(topic, [partition])
    records = [record async for some in batches(reader, partition) for record in some]
    await reader.close()
    assert sum(f'"lead_import_id":{job["lead_import_id"]}'.encode() in (record.value or b"") for record in records) == 9


async def test_an_import_states_the_consent_of_its_leads_once(town: Town, company: Company) -> None:
    schedule = await company.schedule()
    fields = {
        "lead_token": schedule["lead_token"],
        "content": 'phone,consent\n+12125550131,\n+12125550132,"{""url"": ""https://example.com/own""}"\n',
        "mapping": {"phone": "caller_id"},
        "consent_text": "I agree to be called.",
        "consent_url": "https://example.com/form",
    }

    made = (await upload(company, **fields))["lead_import"]
    other = (await upload(company, **{**fields, "consent_text": "I agree."}))["lead_import"]
    refused = await upload(company, 422, **{**fields, "consent_url": "a form"})
    await run(town)

    stated = {"text": "I agree to be called.", "url": "https://example.com/form"}
    assert made["consent"] == stated
    assert other["id"] != made["id"], "what was consented to is part of what is imported"
    assert list(refused["errors"]) == ["consent_url"]
    sent = [msgspec.json.decode(body) for body in await inbox(town, made["lead_import_id"])]
    assert {one["caller_id"]: one.get("consent") or one["data"]["consent"] for one in sent} == {
        "+12125550131": [{"kind": "form of the import", **stated}],
        "+12125550132": '{"url": "https://example.com/own"}',
    }
