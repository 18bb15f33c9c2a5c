"""What does the data folder hold? All data of `up`, and what other commands need to find a running one.

up.json     where a running `up` can be reached, and the settings of its roles (mode 0600; gone when it is stopped)
digest      of the development version that filled the folder (`adapters/data_digest.py`); no other one reads it
keys.json   the demo company's keys and tokens, an operator key, and the deployment's secret key (mode 0600; kept)
lock        held by the one `up` that uses the folder
"""

import contextlib
import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from adapters.data_digest import data_digest, refuse_folder
from adapters.http.exchange.identity import new_lead_token, new_operator_key, new_private_key, new_public_key
from schemas.errors import DependencyError
from schemas.instant import Instant

PRIVATE = 0o600
DEFAULT = Path(".leadclock")

FRESH = "leadclock-"
"""The names of fresh folders (`up --ephemeral`) begin with it: below the data folder that was typed, or that of the system
for temporary files."""


class InUseError(DependencyError):
    """Another `up` uses the folder."""


class Keys(Struct, frozen=True, kw_only=True):
    """Keys and tokens of the demo company, created once per data folder."""

    secret_key: str
    public_key: str
    private_key: str
    offer_lead_token: str
    quick_lead_token: str
    five_day_lead_token: str
    operator_public_key: str
    operator_private_key: str


class Running(Struct, frozen=True, kw_only=True):
    """A running `up`: its process, where it answers, and the variables that give another process its settings.

    `data_folder` is where its `keys.json` is. `ephemeral_in` is the folder in which an `up --ephemeral` was started; it is
    empty for another `up`. `health_urls` says for each role where `/livez`, `/readyz`, `/startupz` and `/metrics` are.
    """

    pid: int
    api_url: str
    started_at: Instant
    environment: dict[str, str]
    mail_folder: str
    data_folder: str = str(DEFAULT)
    ephemeral_in: str = ""
    health_urls: dict[str, str] = {}


class Ready(Struct, frozen=True, kw_only=True):
    """The ready file, for scripts that wait until everything answers; keys are empty where there is no demo company."""

    api_url: str
    console_url: str | None
    public_key: str
    private_key: str
    offer_lead_token: str
    schedule_lead_token: str
    kafka_bootstrap: str
    postgres_dsn: str


def load_keys(folder: Path) -> Keys:
    """Return the keys of a data folder; create them the first time."""
    path = folder / "keys.json"
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Keys)
    keys = Keys(
        secret_key=secrets.token_urlsafe(48),
        public_key=new_public_key(),
        private_key=new_private_key(),
        offer_lead_token=new_lead_token(),
        quick_lead_token=new_lead_token(),
        five_day_lead_token=new_lead_token(),
        operator_public_key=new_operator_key(),
        operator_private_key=new_private_key(),
    )
    write_private(path, msgspec.json.format(msgspec.json.encode(keys)))
    return keys


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read; it appears whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    draft.replace(path)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against a second `up`. Raises `InUseError`."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InUseError(f"another `leadclock up` uses {folder}; stop it, or give another --data-dir") from error
        yield


def claim_folder(folder: Path) -> None:
    """Write our digest into a folder that no `up` has filled. Raises `OtherDataError` where another version has."""
    path = folder / "digest"
    if path.exists():
        found = path.read_text().strip()
    elif (folder / "keys.json").exists():
        found = None
    else:
        found = data_digest()
        write_private(path, found.encode())
    if found != data_digest():
        raise refuse_folder(str(folder), found)


def running(folder: Path = DEFAULT) -> Running | None:
    """Return the `up` that runs in a data folder; else one with `--ephemeral` that was started beside it, or None."""
    found = _running_in(folder)
    if found is not None:
        return found
    is_default = folder == DEFAULT
    for path in (Path(tempfile.gettempdir()) if is_default else folder).glob(f"{FRESH}*/up.json"):
        found = _running_in(path.parent)
        if found is not None and (not is_default or found.ephemeral_in == str(Path.cwd())):
            return found
    return None


def _running_in(folder: Path) -> Running | None:
    path = folder / "up.json"
    try:
        # Not that of another user, who can write to the folder for temporary files as well.
        if path.stat().st_uid != os.getuid():
            return None
        found = msgspec.json.decode(path.read_bytes(), type=Running)
        os.kill(found.pid, 0)
    except (OSError, msgspec.DecodeError):
        return None
    return found
