"""How is an XLSX file of a stranger unpacked? In a process of its own, with little memory and time, into lines of JSON.

A few kilobytes can unpack to anything, and the library that reads them holds the interpreter and its memory meanwhile. So
the process that serves others waits for a child, which the operating system limits, and which ends with who waits for it.
"""

import asyncio
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from adapters.imports.sheets import SheetError, SheetLimits, sheet_rows

LIMITS = SheetLimits(rows=200_001, cells=4_000_000, unpacked_bytes=128 << 20, unpacked_share=100)
"""200,000 leads of 20 columns unpack to less; sheets that people make unpack to 5 to 20 times their size."""

MEMORY_BYTES = 768 << 20
"""Of the child's address space: 128 MiB of texts take the library some 500 MiB."""

PROCESSOR_SECONDS = 30
"""4,000,000 cells take some 12 s; a file with more than that to do is refused, and tried by the command."""

WAIT_SECONDS = 60.0
"""With a niceness of `NICENESS` the child waits for all others, so its processor time may come slowly."""

OUTPUT_BYTES = 256 << 20
"""Of the lines of JSON, each cell with its quotes."""

NICENESS = 10
"""A tenth of what those have who are served meanwhile. With less, a busy machine would refuse files that people send."""

REFUSED, TOO_MUCH = 2, 3
"""Statuses with which the child says that the file cannot be read, and that it takes too much."""

TOO_MUCH_TEXT = "takes too much memory or time to read: save it as CSV"


async def unpack(source: Path, target: Path) -> None:
    """Write the rows of a sheet as JSON, a line each: `[number, [cell, …]]`.

    Raises `SheetError`. If cancelled, it ends the child.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, str(source), str(target)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ},
    )
    try:
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)  # starting Python takes the child most of its time
        async with asyncio.timeout(WAIT_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        raise SheetError(TOO_MUCH_TEXT) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())
    if process.returncode == REFUSED:
        raise SheetError(said.decode(errors="replace"))
    if process.returncode:  # also -SIGXCPU and -SIGKILL: the operating system has ended it
        raise SheetError(TOO_MUCH_TEXT)


def _limit() -> None:
    """Take all but a little away from this process, before it opens what a stranger has sent."""
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, PROCESSOR_SECONDS),
        (resource.RLIMIT_FSIZE, OUTPUT_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def main(source: str, target: str) -> int:
    """Unpack one file; return the status of the process, and print why it cannot be read."""
    _limit()
    try:
        with Path(target).open("wb") as lines:
            lines.writelines(msgspec.json.encode(row) + b"\n" for row in sheet_rows(Path(source), LIMITS))
    except SheetError as error:
        sys.stdout.write(str(error))
        return REFUSED
    except (MemoryError, OSError):
        return TOO_MUCH
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
