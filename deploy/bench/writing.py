"""Which writes go on while reads are measured? Submissions at a steady rate, decided and projected by another process.

Run as a program, with the path of a log and the most submissions: the settings of a deployment come as one line of JSON on
standard input, submissions go on until that is closed. Prints `ready`, and at the end {"submitted": n, "seconds": s}.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from adapters.observability.logs import configure_logs
from adapters.observability.metrics import Metrics
from adapters.roles.context import Context, open_context
from adapters.roles.deciders import scheduler
from adapters.roles.projector import ProjectorRole
from adapters.settings import Settings
from deploy.bench.latency import serving_roles
from deploy.bench.row import BenchError
from deploy.bench.stage import PARTITIONS, append_all
from deploy.bench.submissions import requests
from schemas.topics import CONTACTS_REQUESTS

SUBMISSIONS_PER_SECOND = 100
"""8.6 million a day; each is a decision, a lead, a contact, three facts and a result."""

SUBMISSIONS_MAX = 60_000
"""Prepared beforehand: ten minutes of them."""

GAP_SECONDS = 0.1
READY_SECONDS = 60.0
END_SECONDS = 60.0


class Submitted(msgspec.Struct):
    """What was submitted in the background; set when the block has ended."""

    submitted: int = 0
    seconds: float = 0.0


@asynccontextmanager
async def background_submissions(
    settings: Settings, log: Path, submissions_max: int = SUBMISSIONS_MAX
) -> AsyncIterator[Submitted]:
    """Submit from another process until the block ends. Raises `BenchError` where that fails."""
    result = Submitted()
    command = [sys.executable, "-m", "deploy.bench.writing", str(log), str(submissions_max)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(msgspec.json.encode(settings) + b"\n")
        async with asyncio.timeout(READY_SECONDS):
            if await process.stdout.readline() != b"ready\n":
                raise BenchError("background submissions did not begin")
        yield result
        process.stdin.close()
        async with asyncio.timeout(END_SECONDS):
            output, _ = await process.communicate()
            found = msgspec.json.decode(output or b"{}", type=Submitted)
        result.submitted, result.seconds = found.submitted, found.seconds
        if not result.submitted:
            raise BenchError("background submissions ended early")
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def _main() -> None:
    settings = msgspec.json.decode(sys.stdin.readline(), type=Settings)
    configure_logs("info", form="json", stream=Path(sys.argv[1]).open("a"))  # noqa: ASYNC230, SIM115 - as long as we live
    async with open_context(settings) as context:
        roles = scheduler(context, Metrics()), ProjectorRole(context, Metrics())
        async with serving_roles(*roles):
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            closed = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
            started = time.monotonic()
            submitted = await _submit(context, closed)
            sys.stdout.write(f'{{"submitted": {submitted}, "seconds": {time.monotonic() - started:.1f}}}\n')
            sys.stdout.flush()


async def _submit(context: Context, closed: "asyncio.Future[str]") -> int:
    """Submit at a steady rate until asked to stop; return how many."""
    submissions_max = int(sys.argv[2])
    waiting = [(partition, one) for partition, found in requests(submissions_max, PARTITIONS).items() for one in found]
    waiting.sort(key=lambda entry: int(dict(entry[1].headers)["ce_number"]), reverse=True)
    submitted, started = 0, time.monotonic()
    while waiting and not closed.done():
        due = int((time.monotonic() - started) * SUBMISSIONS_PER_SECOND) - submitted
        batch: dict[int, list[object]] = {}
        for _ in range(min(due, len(waiting))):
            partition, one = waiting.pop()
            batch.setdefault(partition, []).append(one)
        await append_all(context, CONTACTS_REQUESTS.name, batch)  # type: ignore[arg-type]
        submitted += sum(map(len, batch.values()))
        await asyncio.wait([closed], timeout=GAP_SECONDS)
    return submitted


if __name__ == "__main__":
    asyncio.run(_main())
