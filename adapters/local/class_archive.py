"""How does the broker's JVM start in half the time? From an archive of its classes, which a broker writes when it ends.

`make install` makes the archive once for each Java, beside the jars. A JVM checks the archive itself: where it does not fit,
or is not there, the broker starts without it.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from adapters.local.jars import JarsUnavailableError, find_jars, find_java
from adapters.local.process import LocalServerError


def archive_of(java: Path, jars: Path) -> Path:
    """Return where the archive for a Java is, or would be: an upgraded Java has another one."""
    program = java.resolve()
    facts = program.stat()
    digest = sha256(f"{program} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()
    return jars / f"classes-{digest[:12]}.jsa"


def archive_options(java: Path, jars: Path) -> Sequence[str]:
    """Return the options with which a JVM starts from the archive; empty where there is none."""
    archive = archive_of(java, jars)
    if not archive.exists():
        return ()
    return (
        f"-XX:SharedArchiveFile={archive}",
        "-Xlog:cds=off",
        "-Xlog:cds+dynamic=off",
    )  # one that does not fit is no fault


def make_archive(java: Path, jars: Path) -> None:
    """Run a broker in a folder of its own, and let it write the archive as it ends; raise LocalServerError or OSError."""
    archive = archive_of(java, jars)
    with tempfile.TemporaryDirectory(dir=jars) as folder:
        written = Path(folder) / archive.name
        asyncio.run(_run_broker(Path(folder) / "kafka", java, jars, f"-XX:ArchiveClassesAtExit={written}"))
        if written.exists():
            for older in jars.glob("classes-*.jsa"):
                older.unlink()
            written.replace(archive)


async def _run_broker(folder: Path, java: Path, jars: Path, option: str) -> None:
    from adapters.local.kafka import ManagedKafka  # noqa: PLC0415 - takes 0.3 s, and mostly the archive is there

    kafka = ManagedKafka(folder, java=java, jars=jars, broker_options=(option,))
    await kafka.start()
    await kafka.stop()


def main() -> None:
    """Make the archive where Java and the jars are and none is there yet. Without one the broker starts all the same."""
    try:
        java, jars = find_java(), find_jars(os.environ)
        if not archive_of(java, jars).exists():
            make_archive(java, jars)
    except JarsUnavailableError:
        return  # `adapters.local.jars` has said so
    except (LocalServerError, OSError) as error:
        print(f"Kafka will start without an archive of its classes, which takes some seconds longer: {error}")  # noqa: T201


if __name__ == "__main__":
    main()
