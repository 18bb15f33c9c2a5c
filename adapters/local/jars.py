"""Where do Kafka's jars come from? Maven fetches them once into the user's cache folder, checked against their checksums.

A folder with its final name is complete: it is filled under another name and renamed. Run as a program (`make install`
does), it fetches them if it can, reports the result in one sentence, and never fails.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from adapters.local.process import LocalServerError

JAVA_MIN = 17  # the oldest Java that Kafka 4's broker runs on
ASK_SECONDS = 20.0  # for `java -version`, which takes 0.1 s on an idle machine
FETCH_SECONDS = 600.0  # 44 MB over a slow line; on a fast one it takes 8 s

_POM = Path(__file__).with_name("kafka-pom.xml")


class JarsUnavailableError(LocalServerError):
    """Kafka's broker cannot run on this machine; says in one sentence what is missing."""


def kafka_version() -> str:
    """Return the version of Kafka that the pom asks for."""
    pom = ET.parse(_POM)  # noqa: S314 - our own file
    return pom.findtext(".//dependency[groupId='org.apache.kafka']/version", "")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return leadclock's folder in the user's cache."""
    stated = environ.get("XDG_CACHE_HOME", "")
    # The XDG rules ask to ignore a relative path.
    root = Path(stated) if Path(stated).is_absolute() else Path(environ.get("HOME") or Path.home()) / ".cache"
    return root / "leadclock"


def jars_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the jars are, or would be."""
    return cache_folder(environ) / f"kafka-{kafka_version()}"


def find_java(environ: Mapping[str, str] = os.environ) -> Path:
    """Return a Java that can run the broker; raise JarsUnavailableError where there is none."""
    at_home = [Path(environ["JAVA_HOME"]) / "bin" / "java"] if environ.get("JAVA_HOME") else []
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    found = ""
    for java in [*at_home, *([Path(on_path)] if on_path else [])]:
        version = _java_version(java)
        if version >= JAVA_MIN:
            return java
        found = f"; {java} is {version or 'not working'}"
    raise JarsUnavailableError(f"Apache Kafka needs Java {JAVA_MIN} or newer, and none was found{found}")


def find_jars(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of Kafka's jars, fetching them if need be; raise JarsUnavailableError where that cannot be done."""
    folder = jars_folder(environ)
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn", path=environ.get("PATH", ""))
    if maven is None:
        raise JarsUnavailableError(f"Kafka's jars are not in {folder}, and there is no Maven (mvn) to fetch them")
    try:
        return _fetch(maven, folder, environ)
    except OSError as error:
        raise JarsUnavailableError(f"Kafka's jars could not be put into {folder}: {error}") from error


def _java_version(java: Path) -> int:
    """Return the major version, 0 for what is no working Java."""
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(version[1]) if version else 0


def _fetch(maven: str, folder: Path, environ: Mapping[str, str]) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(folder.parent / "fetching.lock"):
        if folder.is_dir():  # another process fetched them while we waited
            return folder
        with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as scratch:
            jars = Path(scratch) / "jars"
            _run_maven(maven, jars, Path(scratch) / "repository", environ)
            jars.chmod(0o755)
            jars.rename(folder)
    return folder


def _run_maven(maven: str, jars: Path, repository: Path, environ: Mapping[str, str]) -> None:
    """Copy the jars; Maven's own downloads stay beside them, so nothing but our cache folder is written."""
    command = [maven, "--quiet", "--batch-mode", "--strict-checksums", "--file", str(_POM)]
    command += [f"-Dmaven.repo.local={repository}", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments that we made, no shell
            [*command, "dependency:copy-dependencies"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise JarsUnavailableError(f"Maven did not bring Kafka's jars within {FETCH_SECONDS:.0f} s") from None
    if done.returncode != 0 or not jars.is_dir():
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise JarsUnavailableError(f"Maven could not fetch Kafka's jars: {errors[0] if errors else done.stderr[-500:]}")


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    with path.open("a", encoding="utf-8") as lock:
        # The wait is bounded: the holder of the lock fetches for FETCH_SECONDS at most.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Fetch the jars where Java and Maven are, and print the result in one sentence."""
    try:
        find_java()
        sentence = f"Kafka's jars are in {find_jars()}."
    except JarsUnavailableError as error:
        sentence = f"leadclock will run on its embedded log: {error}."
    print(sentence)  # noqa: T201 - what the command is for


if __name__ == "__main__":
    main()
