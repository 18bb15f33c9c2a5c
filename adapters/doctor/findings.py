"""What did an examination find? One line each: what was looked at, how bad it is, what was seen, and the cure."""

from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

Level = Literal["ok", "warning", "failure"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Finding(Struct, frozen=True):
    """A line of `leadclock doctor`. A failure keeps leads from being worked; a warning is a risk."""

    check: str
    level: Level
    found: str
    cure: str = ""


def ok(check: str, found: str) -> Finding:
    """Return that nothing is wrong."""
    return Finding(check, "ok", found)


def warning(check: str, found: str, cure: str) -> Finding:
    """Return a risk, and what takes it away."""
    return Finding(check, "warning", found, cure)


def failure(check: str, found: str, cure: str) -> Finding:
    """Return what keeps leads from being worked, and what to do."""
    return Finding(check, "failure", found, cure)


def is_on_this_machine(address: str) -> bool:
    """Return whether `host:port` never leaves the machine; an empty host is a socket file."""
    return (urlsplit(f"//{address.strip()}").hostname or "localhost") in LOOPBACK
