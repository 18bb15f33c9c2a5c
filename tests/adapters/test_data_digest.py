"""Is data of another development version refused before it is read, and does what the refusal names help?"""

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from msgspec.structs import replace

from adapters import data_digest as digests
from adapters.cli.main import main
from adapters.data_digest import OtherDataError, data_digest
from adapters.embedded.log import EmbeddedLog
from adapters.postgres.identity import read_identity, record_identity
from adapters.postgres.migrate import migrate, status
from adapters.roles.context import Context, open_context, prepare
from adapters.roles.identity import LostTopicsError, check, check_before_creating, establish, establish_database
from adapters.settings import Settings
from adapters.up.folder import claim_folder
from engine.partition.ports import Headers, Outgoing
from schemas.deployment import DIGEST_HEADER, KEY_PREFIX, PARTITION
from schemas.instant import EPOCH

SETTINGS = Settings(kafka_bootstrap="broker:9092", partitions=2)
OTHER = "ab" * 32


@pytest.fixture
async def log() -> AsyncIterator[EmbeddedLog]:
    log = EmbeddedLog(None, now=lambda: EPOCH)
    yield log
    await log.close()


@pytest.fixture
async def context(log: EmbeddedLog, migrated_database: str) -> AsyncIterator[Context]:
    async with open_context(replace(SETTINGS, postgres_dsn=migrated_database), log) as context:
        await prepare(context)
        yield context


# -- the digest ----------------------------------------------------------------------------------------------------------


def test_the_digest_changes_with_the_decisions_and_with_any_text_of_the_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest() -> str:
        data_digest.cache_clear()
        return data_digest()

    shutil.copytree(Path(digests.__file__).parent / "postgres" / "migrations", tmp_path / "postgres" / "migrations")
    found = [digest()]
    monkeypatch.setattr(digests, "files", lambda _package: tmp_path)
    assert digest() == found[0], "of the texts, wherever they are"
    monkeypatch.setattr(digests, "RECORDED_HISTORY_SHA256", OTHER)
    found.append(digest())
    for name in ("read/0001_pre_baseline.sql", "work/0001_pre_baseline.sql"):
        with (tmp_path / "postgres" / "migrations" / name).open("a") as file:
            file.write(" ")
        found.append(digest())
    monkeypatch.undo()
    assert len({*found}) == len(found)
    assert digest() == found[0]


# -- topics --------------------------------------------------------------------------------------------------------------


async def mark_topics(context: Context, headers: Headers) -> None:
    """Write what another version would have written: an identity and a record that ours cannot read."""
    appender = await context.log.appender()
    topic = context.names.of("accounts.rules")
    await appender.append(1, [Outgoing(topic, b"rule of another shape", b"\x00")])
    await appender.append(PARTITION, [Outgoing(topic, f"{KEY_PREFIX}1".encode(), b"identity of another shape", headers)])
    await appender.close()


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        (((DIGEST_HEADER, OTHER.encode()),), "(digest abababababab, "),
        (((DIGEST_HEADER, b"\xff"),), "(digest \ufffd, "),
        ((), "(no digest, "),
    ],
    ids=["another digest", "none that can be read", "no digest"],
)
async def test_topics_of_another_version_are_refused_before_a_record_is_decoded(
    context: Context, headers: Headers, named: str
) -> None:
    await mark_topics(context, headers)
    for refused in (
        establish(context),
        check(context, with_database=True),
        check_before_creating(context, with_database=False),
        context.rules.refresh(),
    ):
        with pytest.raises(OtherDataError, match="the topics at broker:9092 hold data of another") as error:
            await refused
        assert named in str(error.value)
        assert f"this one has {data_digest()[:12]}" in str(error.value)
    assert (list(context.rules.entries), context.rules.deployment, context.skipped.notes()) == ([], None, {})


async def test_another_topic_prefix_helps_as_the_refusal_says(context: Context, log: EmbeddedLog) -> None:
    await mark_topics(context, ())
    with pytest.raises(OtherDataError, match=r"give another LEADCLOCK_TOPIC_PREFIX and run `leadclock topics create`"):
        await establish(context)
    async with open_context(replace(context.settings, topic_prefix="fresh."), log) as fresh:
        await prepare(fresh)
        made = await establish(fresh)
        await establish_database(fresh, made)
        assert await check(fresh, with_database=True) == made


async def test_topics_that_were_used_without_an_identity_have_lost_it(context: Context) -> None:
    appender = await context.log.appender()
    await appender.append(1, [Outgoing(context.names.of("contacts.requests"), b"key", b"{}")])
    await appender.close()
    for refused in (establish(context), check(context, with_database=False)):
        with pytest.raises(LostTopicsError, match=r"contacts\.requests hold records, and accounts\.rules does not"):
            await refused


# -- databases -----------------------------------------------------------------------------------------------------------


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.mark.parametrize(
    ("change", "schemas"),
    [
        ("UPDATE work.migrations SET checksum = 'x' WHERE number = 0", "work"),
        ("UPDATE read.migrations SET checksum = 'x' WHERE number = 0", "read"),
        ("UPDATE read.migrations SET checksum = 'x'; UPDATE work.migrations SET checksum = 'x'", "read, work"),
        ("DELETE FROM work.migrations WHERE number = 0", "work"),
        ("DROP TABLE work.deployment; UPDATE work.migrations SET checksum = 'x'", "work"),
    ],
    ids=["work", "read", "both", "no digest", "other tables"],
)
async def test_a_database_of_another_version_is_refused_until_what_the_refusal_names_is_dropped(
    context: Context, change: str, schemas: str
) -> None:
    dsn = context.settings.postgres_dsn
    made = await establish(context)
    await establish_database(context, made)
    await execute(dsn, change)
    statement = ""
    for refused in (
        migrate(dsn),
        status(dsn),
        read_identity(dsn),
        record_identity(dsn, made, adopt=True),
        check(context, with_database=True),
        check_before_creating(context, with_database=True),
        establish_database(context, made),
    ):
        with pytest.raises(OtherDataError, match=rf", {schemas} holds? data of another development version") as error:
            await refused
        found = re.search(r"type (DROP SCHEMA [a-z, ]+ CASCADE) in psql, and run `leadclock db migrate`", str(error.value))
        assert found is not None
        statement = found[1]
    assert statement == f"DROP SCHEMA {schemas} CASCADE"
    await execute(dsn, statement)
    await migrate(dsn)
    assert all(item.applied for item in await status(dsn))
    await establish_database(context, made, adopt=True)
    assert await check(context, with_database=True) == made


# -- folders of `up` -----------------------------------------------------------------------------------------------------


def test_a_folder_is_claimed_by_the_first_version_that_fills_it(tmp_path: Path) -> None:
    claim_folder(tmp_path)
    (tmp_path / "keys.json").write_text("{}")
    claim_folder(tmp_path)
    assert (tmp_path / "digest").read_text() == data_digest()


@pytest.mark.parametrize("digest", [OTHER, "", None], ids=["another digest", "an empty one", "none"])
def test_a_folder_of_another_version_is_refused_until_it_is_moved_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], digest: str | None
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "keys.json").write_text("keys of another shape")
    if digest is not None:
        (folder / "digest").write_text(digest)
    assert main(["up", "--port", "0", "--data-dir", str(folder)]) == 1
    refused = capsys.readouterr().err
    assert f"the folder {folder} holds data of another development version" in refused
    assert "move it away, or give another one with --data-dir" in refused
    assert {path.name for path in folder.iterdir()} - {"digest"} == {"keys.json", "lock"}, "nothing was started"
    with pytest.raises(OtherDataError):
        claim_folder(folder)
    folder.rename(tmp_path / "away")
    folder.mkdir()
    claim_folder(folder)
