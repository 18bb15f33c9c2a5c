"""How is `leadclock up` driven as a person does it? Read what it prints, paste it, press Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from adapters.local.process import birth
from tests.pace import bound

START_SECONDS = bound(120.0)
STOP_SECONDS = bound(30.0)
COMMAND_SECONDS = bound(120.0)
LOOK_SECONDS = 0.1

PROGRAM = str(Path(sys.executable).with_name("leadclock"))


class UpProcess:
    """One `leadclock up` in a folder of its own."""

    def __init__(self, home: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.ready_file = home / "ready.json"
        self._printed = home / "printed.txt"
        own = {name: value for name, value in os.environ.items() if not name.startswith("LEADCLOCK_")}
        self.environ = {**own, "PYTHONUNBUFFERED": "1", **(environ or {})}
        self._arguments = ["--port", "0", "--ready-file", str(self.ready_file), *arguments]
        self._child: subprocess.Popen[bytes] | None = None
        self._family: dict[int, str] = {}

    def start(self) -> dict[str, Any]:
        """Start it, and return the ready file once that is there."""
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [PROGRAM, "up", *self._arguments],
                cwd=self.home,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.until(lambda: self.ready_file.exists() or self._child_ended(), seconds=START_SECONDS)
        self.until(lambda: "Ctrl-C stops everything" in self.printed or self._child_ended(), seconds=5)
        assert self.ready_file.exists(), self.printed
        self._family = descendants(self._child.pid)
        found: dict[str, Any] = json.loads(self.ready_file.read_text())
        return found

    @property
    def printed(self) -> str:
        return self._printed.read_text()

    @property
    def survivors(self) -> dict[int, str]:
        """Return the processes that were started by it and still live."""
        return {pid: born for pid, born in self._family.items() if birth(pid) == born}

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit status."""
        assert self._child is not None
        self._child.send_signal(signal.SIGINT)
        return self._child.wait(STOP_SECONDS)

    def forget_settings(self) -> None:
        """Unset every setting of the shell."""
        self.environ = {name: value for name, value in self.environ.items() if not name.startswith("LEADCLOCK_")}

    def end(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait(STOP_SECONDS)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command in the same folder."""
        return self._done([PROGRAM, *arguments])

    def paste(self, line: str) -> subprocess.CompletedProcess[str]:
        """Run a printed line as a shell does."""
        return self._done(["sh", "-c", line])

    def _done(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.home,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def line(self, beginning: str) -> str:
        """Return the first printed line that begins so."""
        found = re.search(rf"^\s*({beginning}.*)$", self.printed, re.MULTILINE)
        assert found is not None, self.printed
        return found[1]

    def until(self, holds: Callable[[], object], *, seconds: float) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {self.printed}"
            time.sleep(LOOK_SECONDS)

    def _child_ended(self) -> bool:
        return self._child is not None and self._child.poll() is not None


class Leads:
    """The leads of an `up` as its key sees them over HTTP."""

    def __init__(self, ready: Mapping[str, Any]) -> None:
        self._client = httpx.Client(
            base_url=ready["api_url"], auth=(ready["public_key"], ready["private_key"]), timeout=10.0
        )

    def all(self) -> list[dict[str, Any]]:
        return self._list("leads")

    def calls(self) -> list[dict[str, Any]]:
        return self._list("calls")

    def get(self, path: str) -> httpx.Response:
        return self._client.get(path)

    def webhook(self, url: str) -> httpx.Response:
        """Save a webhook that goes to a place."""
        return self._client.post("/api/v1/outgoing_webhooks", json={"name": "CRM", "url": url})

    def _list(self, name: str) -> list[dict[str, Any]]:
        answer = self.get(f"/api/v1/{name}")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()[name]
        return found

    def post(self, submission: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._client.post("/api/v1/leads", json=submission)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()["lead"]
        return found

    def close(self) -> None:
        self._client.close()


def descendants(pid: int) -> dict[int, str]:
    """Return the processes below one: process id -> birth."""
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            for child in map(int, task.read_text().split()):
                found[child] = birth(child) or ""
                waiting.append(child)
    return found
