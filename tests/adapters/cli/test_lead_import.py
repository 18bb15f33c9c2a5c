"""Is every line of a file sent once, however often the import is killed? On a real Kafka, read back from the inbox."""

import asyncio
import csv
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.audit.recorded import batches
from adapters.cli.main import main
from adapters.imports.progress import FOLDER, ImportProgress
from adapters.partitions.routing import partition_of
from adapters.roles.context import open_context
from adapters.settings import load
from deploy.bench.submissions import TEXT_TOKEN, rule_records
from engine.partition.ports import Outgoing
from schemas.records import rules_key
from schemas.topics import ACCOUNTS_RULES, LEADS_INBOX_BULK
from schemas.wire import to_json
from tests.pace import bound

PARTITIONS = 2
KILLED_LINES = 12_000
WAIT_SECONDS = bound(60.0)


@pytest.fixture
async def deployment(kafka_bootstrap: str, database: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment of topics with a company and its schedule; no role runs."""
    values = {"KAFKA_BOOTSTRAP": kafka_bootstrap, "POSTGRES_DSN": database, "TOPIC_PREFIX": topic_prefix}
    for name, value in {**values, "PARTITIONS": str(PARTITIONS)}.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)
    assert await ran("topics", "create") == 0
    async with open_context(load()) as context:
        appender = await context.log.appender()
        topic = context.names.of(ACCOUNTS_RULES.name)
        for record in rule_records():
            partition = partition_of(str(record.company_id).encode(), PARTITIONS)
            await appender.append(partition, [Outgoing(topic, rules_key(record).encode(), to_json(record))])
        await appender.close()


async def ran(*arguments: str) -> int:
    return await asyncio.to_thread(main, arguments)


def imported(file: Path, *more: str) -> tuple[str, ...]:
    return ("leads", "import", str(file), "--lead-token", TEXT_TOKEN, *more)


async def sent() -> list[dict[str, Any]]:
    """Return the submissions on the inbox for imports, in order; all are in one partition."""
    async with open_context(load()) as context:
        topic = context.names.of(LEADS_INBOX_BULK.name)
        found: list[dict[str, Any]] = []
        held = 0
        for partition in range(await context.log.partition_count(topic)):
            reader = await context.log.reader(topic, [partition])
            records = [record async for some in batches(reader, partition) for record in some]
            await reader.close()
            found += [msgspec.json.decode(record.value or b"") for record in records]
            held += bool(records)
        assert held <= 1
        return found


@pytest.mark.usefixtures("deployment")
async def test_good_lines_are_sent_and_bad_ones_are_listed_with_what_to_correct(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leads.csv"
    file.write_text("phone,State,roof\n+12125550101,NY,flat\n12,NY,flat\n+12125550102,,'=1\n+12125550103,NY,flat,new\n")
    lines = [["3", "caller_id"], ["5", ""]]

    assert await ran(*imported(file, "--map", "phone=caller_id", "--dry-run")) == 1
    assert await sent() == []
    assert "2 leads are right; nothing was sent, 2 lines were refused" in capsys.readouterr().out
    assert errors_of(file) == lines

    assert await ran(*imported(file, "--map", "phone=caller_id")) == 1
    said = capsys.readouterr()
    assert "2 leads were sent, 2 lines were refused" in said.out
    assert "phone  ->  caller_id" in said.err
    assert errors_of(file) == lines
    found = await sent()
    assert [str(one.pop("lead_import_id")) for one in found] == [said.out.split()[-1]] * 2
    assert found == [
        {"lead_token": TEXT_TOKEN, "caller_id": "+12125550101", "state": "NY", "data": {"roof": "flat"}},
        {"lead_token": TEXT_TOKEN, "caller_id": "+12125550102", "data": {"roof": "=1"}},
    ]


@pytest.mark.usefixtures("deployment")
async def test_lines_that_are_sent_with_a_warning_are_listed_with_what_was_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leads.csv"
    file.write_text("phone,Zip Code,timezone\n+12125550101,2134,\n+12125550102,10001,Mars\n12,10001,\n")

    for more in (("--dry-run",), (), ("--again",)):
        assert await ran(*imported(file, *more)) == 1
        assert "2 of them have a warning: see" in capsys.readouterr().out
        rows = list(csv.reader(file.with_name("leads.csv.warnings.csv").read_text().splitlines()))
        assert rows[0] == ["line", "field", "problem"]
        assert [line for line, _, _ in rows[1:]] == ["2", "2", "3", "3"]
        named = "Other names were taken: phone as caller_id, zip_code as zip_postal_code."
        zone = rows[3][2]
        assert zone.startswith("timezone was not taken as time_zone: it must be a time zone")
        assert [problem for _, _, problem in rows[1:]] == [named, "The zip 2134 was read as 02134.", zone, named]
        assert errors_of(file) == [["4", "phone"]]
    await ran(*imported(file, "--dry-run", "--json", "--warnings", str(tmp_path / "noted.csv")))
    counts = msgspec.json.decode(capsys.readouterr().out)
    assert (counts["good"], counts["refused"], counts["warned"]) == (2, 1, 2)
    assert Path(counts["warnings"]).read_text().count("was read as 02134") == 1


def errors_of(file: Path) -> list[list[str]]:
    """Return line and field of each row of the file of errors."""
    head, *rest = file.with_name(f"{file.name}.errors.csv").read_text().splitlines()
    assert head == "line,field,problem"
    return [row[:2] for row in csv.reader(rest)]


@pytest.mark.usefixtures("deployment")
async def test_a_finished_import_is_repeated_only_on_purpose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "leads.ndjson"
    file.write_text('{"caller_id": "+12125550101"}\n{"email": "ann@example.com"}\n')

    assert await ran(*imported(file)) == 0
    assert "2 leads were sent, 0 lines" in capsys.readouterr().out
    assert await ran(*imported(file)) == 0
    said = capsys.readouterr()
    assert "imported already: nothing is sent; type --again" in said.err
    assert "2 leads were sent then, 0 lines" in said.out
    assert len(await sent()) == 2

    assert await ran(*imported(file, "--again")) == 0
    assert sorted(Counter(one["lead_import_id"] for one in await sent()).values()) == [2, 2]
    assert not file.with_name("leads.ndjson.errors.csv").exists()


@pytest.mark.usefixtures("deployment")
async def test_a_preview_shows_the_first_lead_that_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "leads.csv"
    file.write_text("caller_id,data\n+12125550101,[1]\n+12125550102,{}\n")

    assert await ran(*imported(file, "--dry-run")) == 1

    assert '"caller_id":"+12125550102"' in capsys.readouterr().err
    assert errors_of(file) == [["2", "data"]]


@pytest.mark.usefixtures("deployment")
async def test_another_mapping_is_another_import(tmp_path: Path) -> None:
    file = tmp_path / "leads.csv"
    file.write_text("caller_id,roof\n+12125550101,flat\n")

    assert await ran(*imported(file)) == 0
    assert await ran(*imported(file, "--map", "roof=-")) == 0

    assert ["data" in one for one in await sent()] == [True, False]


@pytest.mark.usefixtures("deployment")
async def test_a_file_or_token_that_cannot_be_meant_sends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leads.csv"
    file.write_text('caller_id,name\n+12125550101,Ann\n+12125550102,"Ad')
    assert await ran(*imported(file)) == 1
    assert "it was cut off there" in capsys.readouterr().err

    file.write_text("caller_id\n+12125550101\n")
    assert await ran("leads", "import", str(file), "--lead-token", "lt_nobody") == 1
    assert "no offer and no schedule has this --lead-token" in capsys.readouterr().err
    assert await sent() == []


@pytest.mark.usefixtures("deployment")
async def test_an_import_that_was_killed_twice_sends_each_line_once(tmp_path: Path) -> None:
    file = tmp_path / "leads.csv"
    numbers = [f"+1212{2_000_000 + n}" for n in range(KILLED_LINES)]
    file.write_text("\n".join(["caller_id", *numbers]))
    for part in (1, 2):
        await kill_when(imported(file), tmp_path / ".leadclock" / FOLDER, part * KILLED_LINES // 4)

    assert await ran(*imported(file)) == 0

    counts = Counter(one["caller_id"] for one in await sent())
    assert len(counts) == KILLED_LINES
    assert counts.total() == KILLED_LINES


async def kill_when(arguments: tuple[str, ...], folder: Path, line: int) -> None:
    """Run a command, and kill it once its progress file names a line."""
    program = "import sys; from adapters.cli.main import main; sys.exit(main(sys.argv[1:]))"
    child = subprocess.Popen([sys.executable, "-c", program, *arguments])
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while lines_done(folder) < line:
                assert child.poll() is None, "it ended before it could be killed"
                await asyncio.sleep(0.005)
    finally:
        child.kill()
        assert child.wait() == -signal.SIGKILL


def lines_done(folder: Path) -> int:
    found = [msgspec.json.decode(one.read_bytes(), type=ImportProgress).line for one in folder.glob("*.json")]
    return max(found, default=0)


@pytest.mark.usefixtures("deployment")
async def test_rows_that_were_acknowledged_before_the_progress_file_knew_are_not_sent_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leads.csv"
    file.write_text("caller_id\n" + "".join(f"+1212{2_000_000 + n}\n" for n in range(3)))
    assert await ran(*imported(file)) == 0
    [stored] = (tmp_path / ".leadclock" / FOLDER).glob("*.json")
    progress = msgspec.json.decode(stored.read_bytes(), type=ImportProgress)
    stored.write_bytes(msgspec.json.encode(ImportProgress(id=progress.id, offset=0)))
    assert await ran(*imported(file, "--again")) == 1
    assert "run it without --again" in capsys.readouterr().err

    assert await ran(*imported(file)) == 0

    assert len(await sent()) == 3
    assert msgspec.json.decode(stored.read_bytes(), type=ImportProgress).sent == 3
