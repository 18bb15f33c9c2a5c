"""Is a server ever left running, stopped by mistake, or shot at the wrong process? Driven for real."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from adapters.local.process import LocalServerError, ProcessRecord, ServerProcess, birth, free_port, run_to_end

ROOT = Path(__file__).parents[3]

# A process that starts both servers, says their numbers, and does nothing more.
PARENT = """
import asyncio, sys
from pathlib import Path
from adapters.local.kafka import managed_kafka
from adapters.local.postgres import managed_postgres

async def main():
    folder = Path(sys.argv[1])
    async with managed_kafka(folder) as kafka, managed_postgres(folder, durable=False) as postgres:
        print(kafka.process.pid, postgres.process.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def sleeper(folder: Path, *, stop_signal: signal.Signals = signal.SIGTERM) -> ServerProcess:
    return ServerProcess("the sleeper", folder, stop_signal=stop_signal, stop_seconds=1.0)


async def gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while birth(pid) is not None:
            await asyncio.sleep(0.05)


@pytest.mark.xfail(sys.platform != "linux", reason="only Linux tells a child of its parent's death", run=False)
async def test_the_servers_end_when_their_parent_is_killed(data_dir: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(data_dir)], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in (await asyncio.to_thread(parent.stdout.readline)).split()]
        assert all(birth(pid) is not None for pid in pids)

        parent.kill()

        for pid in pids:
            await gone(pid)


async def test_a_server_left_behind_is_stopped_at_the_next_start(data_dir: Path) -> None:
    killed = sleeper(data_dir)
    await killed.own()
    killed.spawn(["/bin/sleep", "600"])
    left_behind = killed.pid
    assert left_behind is not None
    killed.disown()

    heir = sleeper(data_dir)
    await heir.own()

    await gone(left_behind)
    heir.disown()
    await killed.stop()


async def test_what_a_killed_run_borrowed_is_cleared_at_the_next_start(data_dir: Path) -> None:
    borrowed = data_dir / "borrowed"
    borrowed.mkdir()
    (data_dir / "process.json").write_bytes(
        msgspec.json.encode(ProcessRecord(pid=2**22 + 1, born="gone", leftovers=[str(borrowed)]))
    )

    server = sleeper(data_dir)
    await server.own()

    assert not borrowed.exists()
    server.disown()


async def test_a_process_that_only_has_the_number_of_ours_is_left_alone(data_dir: Path) -> None:
    with subprocess.Popen(["/bin/sleep", "600"]) as stranger:
        (data_dir / "process.json").write_bytes(msgspec.json.encode(ProcessRecord(pid=stranger.pid, born="long ago")))

        server = sleeper(data_dir)
        await server.own()

        assert birth(stranger.pid) is not None
        server.disown()
        stranger.kill()


@pytest.mark.parametrize("leftover", [b"", b"{", b'{"pid": "x"}'], ids=["empty", "cut", "nonsense"])
async def test_a_damaged_record_does_not_keep_a_server_from_starting(data_dir: Path, leftover: bytes) -> None:
    (data_dir / "process.json").write_bytes(leftover)

    server = sleeper(data_dir)
    await server.own()

    server.disown()


async def test_a_server_that_ignores_the_polite_signal_is_killed_after_the_bound(data_dir: Path) -> None:
    server = sleeper(data_dir)
    await server.own()
    server.spawn(["/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"])
    pid = server.pid
    assert pid is not None
    while "deaf" not in server.tail():
        await asyncio.sleep(0.05)

    await server.stop()

    assert birth(pid) is None
    server.disown()


async def test_ctrl_c_in_the_terminal_does_not_reach_a_server(data_dir: Path) -> None:
    server = sleeper(data_dir)
    await server.own()
    server.spawn(["/bin/sleep", "600"])
    assert server.pid is not None

    assert os.getpgid(server.pid) != os.getpgid(0)

    await server.stop()
    server.disown()


async def test_a_server_that_ends_at_once_is_reported_with_its_last_words(data_dir: Path) -> None:
    server = sleeper(data_dir)
    await server.own()
    server.spawn(["/bin/sh", "-c", "echo the disk is full >&2; exit 3"])

    with pytest.raises(LocalServerError, match=r"(?s)status 3.*the disk is full"):
        await server.until_ready(never, seconds=10)

    await server.stop()
    server.disown()


async def test_a_server_that_never_answers_is_given_up_after_the_bound(data_dir: Path) -> None:
    server = sleeper(data_dir)
    await server.own()
    server.spawn(["/bin/sleep", "600"])

    with pytest.raises(LocalServerError, match="did not answer within 0 s"):
        await server.until_ready(never, seconds=0.1)

    await server.stop()
    server.disown()


async def test_a_command_that_fails_says_so_and_one_that_hangs_is_ended() -> None:
    with pytest.raises(LocalServerError, match=r"(?s)status 4.*no such thing"):
        await run_to_end(["/bin/sh", "-c", "echo no such thing; exit 4"], seconds=10)
    with pytest.raises(LocalServerError, match="did not end"):
        await run_to_end(["/bin/sleep", "600"], seconds=0.2)
    with pytest.raises(LocalServerError, match="No such file"):
        await run_to_end(["/no/such/program"], seconds=10)


def test_a_wished_port_is_taken_only_if_it_is_free() -> None:
    wish = free_port()

    assert free_port(wish) == wish


async def never() -> bool:
    return False
