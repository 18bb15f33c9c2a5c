"""Is this machine fit? The versions that decisions depend on, the secret key, and the disk of the snapshots."""

import os
import platform
import shutil
from datetime import date, timedelta
from pathlib import Path

from adapters.doctor.findings import Finding, failure, ok, warning
from adapters.roles.context import versions
from adapters.settings import SECRET_KEY_LENGTH_MIN, Settings
from schemas.instant import Instant, to_datetime

FREE_SHARE_MIN = 0.1
FREE_BYTES_MIN = 1_000_000_000
"""A snapshot is written beside the former one; a gigabyte is more than one of a large partition takes."""


TELEPHONE_METADATA = ("9.0.43", date(2026, 11, 6))
"""The release of phonenumbers that the lock file pins, and when it came out."""

TELEPHONE_METADATA_AGE_MAX = timedelta(days=120)
"""A release comes out every two weeks; after four months area codes are in service that it lacks."""


def check_versions() -> list[Finding]:
    """Report the versions: processes of one deployment should have the same."""
    names = ", ".join(f"{name} {version}" for name, version in versions().items())
    return [ok("versions", f"{names}, Python {platform.python_version()}")]


def check_telephone_metadata(installed: str, now: Instant) -> list[Finding]:
    """Look at how old the telephone metadata is; of another release than the pinned one that is not known."""
    version, released = TELEPHONE_METADATA
    age = to_datetime(now).date() - released
    if installed != version or age <= TELEPHONE_METADATA_AGE_MAX:
        return []
    found = f"phonenumbers {version} is of {released}, {age.days} days old: it lacks area codes that are in service"
    return [warning("telephone metadata", found, "install a newer release of leadclock")]


def check_secret(settings: Settings) -> list[Finding]:
    """Look at the secret key of these settings."""
    cure = "set LEADCLOCK_SECRET_KEY_FILE: 32 random characters or more, the same for every process"
    if not settings.secret_key:
        return [warning("secret key", "not set here; api, gateway and deliverer need it", cure)]
    if len(settings.secret_key) < SECRET_KEY_LENGTH_MIN:
        return [failure("secret key", f"fewer than {SECRET_KEY_LENGTH_MIN} characters", cure)]
    return []


def check_disk(settings: Settings) -> list[Finding]:
    """Look at the folder of the snapshots."""
    if settings.state_dir is None:
        found = "no LEADCLOCK_STATE_DIR here: partitions are restored from their changelogs alone, which takes longer"
        return [warning("disk", found, "set it to a folder that outlives the process; it may be lost at any time")]
    folder = Path(settings.state_dir)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        why = "is not a folder" if not folder.is_dir() else "cannot be written to by this user"
        return [failure("disk", f"{folder} {why}", "create it, owned by the user of the roles")]
    usage = shutil.disk_usage(folder)
    found = f"{folder}: {usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free"
    if usage.free < FREE_BYTES_MIN or usage.free < FREE_SHARE_MIN * usage.total:
        return [warning("disk", found, "make room, or use a larger disk: without room no snapshot is written")]
    return [ok("disk", found)]
