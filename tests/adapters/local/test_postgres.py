"""Does the managed database keep its rows, run as nobody important, and refuse the wrong? Driven for real."""

import os
import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from adapters.local import postgres
from adapters.local.postgres import (
    ManagedPostgres,
    PostgresUnavailableError,
    database_answers,
    installations,
    managed_postgres,
    reachable_programs,
    unprivileged_account,
)
from adapters.local.process import FolderInUseError

as_root = pytest.mark.xfail(os.geteuid() != 0, reason="only root becomes somebody else", run=False)


@pytest.fixture
async def server(data_dir: Path) -> AsyncIterator[ManagedPostgres]:
    async with managed_postgres(data_dir, durable=False) as running:
        yield running


async def ask(dsn: str, *statements: str) -> list[object]:
    connection = await asyncpg.connect(dsn)
    try:
        return [await connection.fetchval(statement) for statement in statements]
    finally:
        await connection.close()


async def test_a_restart_on_the_same_folder_has_the_rows_and_the_same_address(data_dir: Path) -> None:
    async with managed_postgres(data_dir) as first:
        await ask(first.dsn, "CREATE TABLE leads (id int)", "INSERT INTO leads VALUES (7)")

    async with managed_postgres(data_dir) as second:
        assert await ask(second.dsn, "SELECT id FROM leads") == [7]
        assert second.dsn == first.dsn


async def test_a_killed_server_keeps_what_it_committed(data_dir: Path) -> None:
    async with managed_postgres(data_dir) as first:
        await ask(first.dsn, "CREATE TABLE leads (id int)", "INSERT INTO leads VALUES (7)")
        assert first.process.pid is not None
        os.kill(first.process.pid, 9)

    async with managed_postgres(data_dir) as second:
        assert await ask(second.dsn, "SELECT id FROM leads") == [7]


async def test_kept_data_is_synced_to_disk_and_thrown_away_data_is_not(data_dir: Path) -> None:
    async with managed_postgres(data_dir / "kept") as kept, managed_postgres(data_dir / "not", durable=False) as thrown:
        assert await ask(kept.dsn, "SHOW fsync", "SHOW synchronous_commit") == ["on", "on"]
        assert await ask(thrown.dsn, "SHOW fsync", "SHOW synchronous_commit") == ["off", "off"]


async def test_only_the_password_opens_the_database(server: ManagedPostgres, data_dir: Path) -> None:
    password = data_dir / "postgres" / "password"

    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    reason = await database_answers(server.dsn.replace(password.read_text(), "guess"))
    assert reason is not None
    assert "password authentication failed" in reason
    assert "guess" not in reason


async def test_it_listens_on_this_machine_alone(server: ManagedPostgres) -> None:
    assert await ask(server.dsn, "SHOW listen_addresses", "SHOW unix_socket_directories") == ["127.0.0.1", ""]


async def test_a_second_owner_of_the_folder_is_refused_and_the_first_runs_on(
    server: ManagedPostgres, data_dir: Path
) -> None:
    with pytest.raises(FolderInUseError, match="--data-dir"):
        async with managed_postgres(data_dir):
            pass

    assert await ask(server.dsn, "SELECT 1") == [1]


async def test_text_is_ordered_by_code_point_and_every_script_has_cases(server: ManagedPostgres) -> None:
    assert await ask(server.dsn, "SELECT 'Z' < 'a'", "SELECT lower('ÄŁΩ')") == [True, "äłω"]


async def test_a_half_made_cluster_is_made_again(data_dir: Path) -> None:
    (data_dir / "postgres" / "cluster" / "base").mkdir(parents=True)

    async with managed_postgres(data_dir, durable=False) as server:
        assert await ask(server.dsn, "SELECT 1") == [1]


async def test_a_cluster_of_a_version_that_is_not_here_is_left_alone(data_dir: Path) -> None:
    kept = data_dir / "postgres" / "cluster" / "PG_VERSION"
    kept.parent.mkdir(parents=True)
    kept.write_text("9\n")

    with pytest.raises(PostgresUnavailableError, match="made by PostgreSQL 9"):
        async with managed_postgres(data_dir):
            pass

    assert kept.read_text() == "9\n"


@pytest.mark.parametrize("programs", installations(), ids=lambda programs: f"{programs.major}-{programs.bin.parts[1]}")
async def test_every_installation_serves(
    programs: postgres.Programs, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "installations", lambda: [programs])

    async with managed_postgres(open_folder, durable=False) as server:
        version = (await ask(server.dsn, "SHOW server_version_num"))[0]

    assert int(str(version)) // 10_000 == programs.major


@as_root
async def test_root_gives_the_cluster_to_an_unprivileged_user_and_nothing_else(data_dir: Path) -> None:
    data_dir.chmod(0o700)
    account = unprivileged_account()
    assert account is not None

    async with managed_postgres(data_dir, durable=False) as server:
        assert server.process.pid is not None
        assert Path(f"/proc/{server.process.pid}").stat().st_uid == account.uid

    owned = {path.name for path in (data_dir, *data_dir.glob("*"), *data_dir.glob("*/*")) if path.stat().st_uid != 0}
    assert owned == {"cluster"}
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700


@as_root
async def test_programs_below_a_closed_folder_are_copied_while_they_run(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = next(programs for programs in installations() if programs.from_wheel)
    data_dir.chmod(0o700)
    closed = data_dir / "site-packages"
    copy = postgres._copy_programs(wheel, closed)
    monkeypatch.setattr(postgres, "installations", lambda: [copy])
    account = unprivileged_account()
    assert account is not None

    programs, borrowed = await reachable_programs(data_dir / "none", account)
    assert borrowed is not None
    assert borrowed in programs.bin.parents
    shutil.rmtree(borrowed)

    async with managed_postgres(data_dir, durable=False) as server:
        assert await ask(server.dsn, "SELECT 1") == [1]
        used = server._copied_programs
        assert used is not None
        assert used.exists()
    assert not used.exists()
