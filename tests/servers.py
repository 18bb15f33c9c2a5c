"""Who keeps the broker and the database while tests run? One process for the whole run, whatever the number of workers.

`python tests/servers.py kafka|postgres FOLDER PID` serves what `adapters.local.resolution` finds, writes its address (or
why there is none) to FOLDER/NAME.json, and ends when process PID, the test run, has ended, however it ended.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

import msgspec

from adapters.local import resolution
from adapters.local.process import LocalServerError, birth

LOOK_SECONDS = 0.2  # how soon a killed test run is noticed


class Served(msgspec.Struct, frozen=True):
    """What the workers read: an address, or the reason for having none."""

    pid: int
    address: str = ""
    reason: str = ""


async def serve(name: str, folder: Path, run: int) -> None:
    """Serve until the test run is over."""
    try:
        if name == "kafka":
            async with resolution.broker(folder, choice="kafka") as broker:
                await until_over(folder / f"{name}.json", broker.bootstrap, run)
        else:
            async with resolution.database(folder, durable=False) as database:
                await until_over(folder / f"{name}.json", database.dsn, run)
    except LocalServerError as error:
        publish(folder / f"{name}.json", Served(pid=os.getpid(), reason=str(error)))
    if birth(run) is None:  # killed, so nobody else will clear away
        shutil.rmtree(folder, ignore_errors=True)


async def until_over(path: Path, address: str, run: int) -> None:
    """Publish the address, then wait for a signal or for the end of the test run."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    publish(path, Served(pid=os.getpid(), address=address))
    while not over.is_set() and birth(run) is not None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), LOOK_SECONDS)


def publish(path: Path, served: Served) -> None:
    """Write the address so that it appears whole."""
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)  # the database's address holds its password
    fresh.write_bytes(msgspec.json.encode(served))
    fresh.rename(path)


if __name__ == "__main__":
    # In the background and in a session of its own: the worker that asks first may be the first to be done.
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
