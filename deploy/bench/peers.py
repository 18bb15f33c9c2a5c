"""How are other products run? In environments of their own, created on first use, from pins with hashes."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec

from deploy.bench.row import BenchError

PINS = Path(__file__).parent / "products"
"""`NAME.lock` pins what is installed, `NAME_job.py` is what it runs. They are no part of the product."""

INSTALL_SECONDS = 300.0
JOB_SECONDS = 180.0
STAMP = "installed-from.lock"


async def run_peer(folder: Path, name: str, *arguments: str) -> dict[str, Any]:
    """Run the job of a peer in its environment; return the JSON object that it prints last. Raises `BenchError`."""
    python = await environment(folder, name)
    output = await run_program([str(python), str(PINS / f"{name}_job.py"), *arguments], seconds=JOB_SECONDS)
    lines = output.strip().splitlines()
    try:
        found: dict[str, Any] = msgspec.json.decode(lines[-1] if lines else "")
    except msgspec.DecodeError:
        raise BenchError(f"{name} printed no result:\n{output[-1_000:]}") from None
    return found


async def environment(folder: Path, name: str) -> Path:
    """Return the Python of a peer's environment; create it where it is missing or its pins have changed."""
    lock, home = PINS / f"{name}.lock", folder / name
    python, stamp = home / "bin" / "python", home / STAMP
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        home.parent.mkdir(parents=True, exist_ok=True)
        await run_program([sys.executable, "-m", "venv", "--clear", str(home)], seconds=INSTALL_SECONDS)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        await run_program([*pip, "-r", str(lock)], seconds=INSTALL_SECONDS)
        stamp.write_bytes(lock.read_bytes())
    return python


async def run_program(command: list[str], *, seconds: float) -> str:
    """Return what a program printed. Raises `BenchError` with the end of it where it fails or takes too long."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate()
    except TimeoutError:
        raise BenchError(f"{command[0]} {command[1]} took longer than {seconds:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode(errors="replace")
    if process.returncode:
        raise BenchError(f"{command[0]} {command[1]} ended with status {process.returncode}:\n{text[-1_000:]}")
    return text
