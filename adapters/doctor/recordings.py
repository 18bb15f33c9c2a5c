"""Can recordings be kept? In their bucket a small object is stored, read and deleted; a folder is looked at."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from adapters.doctor.findings import Finding, failure, is_on_this_machine, ok, warning
from adapters.recordings.ports import RecordingsUnavailableError
from adapters.roles.recordings import is_transcribed, open_bucket, recording_files
from adapters.settings import Settings, SettingsError

FOLDER_CURE = "create it on a disk that every API and gateway shares, owned by their user"
BUCKET_CURE = "correct the bucket, its endpoint, region and keys, and let these put, get and delete objects there"
VERSIONS_CURE = "switch versioning off, or let a lifecycle rule of the bucket delete earlier versions after a day"


async def check_recordings(settings: Settings) -> list[Finding]:
    """Look at the place of recordings, where the settings name one."""
    try:
        recording_files(settings)
        is_transcribed(settings)
    except SettingsError as error:
        return [failure("recordings", str(error), "correct it, then run this again")]
    findings = await _bucket(settings) if settings.recordings_bucket else []
    if settings.recordings_dir is not None:
        findings.append(_folder(Path(settings.recordings_dir)))
    return [*findings, *_clear_text(settings.transcriber_url)]


def _folder(folder: Path) -> Finding:
    if not folder.exists():
        return warning("recordings", f"{folder} is not there yet", FOLDER_CURE)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return failure("recordings", f"{folder} is no folder that this user can write to", FOLDER_CURE)
    return ok("recordings", f"{folder} can be written to")


async def _bucket(settings: Settings) -> list[Finding]:
    where = settings.recordings_bucket
    try:
        has_versions = await open_bucket(settings).try_out()
    except RecordingsUnavailableError as error:
        return [failure("recordings", f"{where}: {error}", BUCKET_CURE)]
    findings = [ok("recordings", f"{where}: a small object was stored, read and deleted")]
    if has_versions:
        found = f"{where} keeps versions: a recording that is deleted stays there as an earlier one"
        findings.append(warning("recordings", found, VERSIONS_CURE))
    return [*findings, *_clear_text(settings.recordings_endpoint)]


def _clear_text(url: str) -> list[Finding]:
    if not url.startswith("http://") or is_on_this_machine(urlsplit(url).netloc):
        return []
    return [warning("recordings", f"voices travel to {url} in clear text", "give that server TLS, and name it by https")]
