"""Where does a process keep recordings, and are they transcribed? As the settings say; without them neither is done."""

from pathlib import Path
from typing import TYPE_CHECKING

from adapters.recordings.folder import FolderRecordings
from adapters.recordings.ports import RecordingFiles
from adapters.settings import PREFIX, Settings, SettingsError

if TYPE_CHECKING:  # the extra `s3` may be missing
    from adapters.recordings.bucket import BucketRecordings

OF_BUCKET = ("recordings_endpoint", "recordings_region", "recordings_access_key", "recordings_secret_key")
"""What says how a bucket is reached."""

INSTALL = "LEADCLOCK_RECORDINGS_BUCKET is set, and the extra `s3` is not installed: pip install 'leadclock[s3]'"


def recording_files(settings: Settings) -> RecordingFiles | None:
    """Return the store of the files, None where none are kept. Raises `SettingsError` for settings that contradict."""
    if settings.recordings_bucket:
        return open_bucket(settings)
    alone = [f"{PREFIX}{name.upper()}" for name in OF_BUCKET if getattr(settings, name)]
    if alone:
        raise SettingsError(f"without LEADCLOCK_RECORDINGS_BUCKET there is no effect of {', '.join(alone)}")
    return None if settings.recordings_dir is None else FolderRecordings(Path(settings.recordings_dir))


def is_transcribed(settings: Settings) -> bool:
    """Return whether recordings can be transcribed. Raises `SettingsError` for settings that contradict."""
    if settings.transcriber_url and not (settings.recordings_dir or settings.recordings_bucket):
        found = "set LEADCLOCK_RECORDINGS_DIR or LEADCLOCK_RECORDINGS_BUCKET too, or unset it"
        raise SettingsError(f"LEADCLOCK_TRANSCRIBER_URL has no effect where no recordings are kept: {found}")
    if settings.transcriber_key and not settings.transcriber_url:
        raise SettingsError("without LEADCLOCK_TRANSCRIBER_URL there is no effect of LEADCLOCK_TRANSCRIBER_KEY")
    return bool(settings.transcriber_url)


def open_bucket(settings: Settings) -> "BucketRecordings":
    """Return the bucket of the settings. Raises `SettingsError`."""
    if settings.recordings_dir is not None:
        raise SettingsError("set LEADCLOCK_RECORDINGS_DIR or LEADCLOCK_RECORDINGS_BUCKET, not both")
    if bool(settings.recordings_access_key) != bool(settings.recordings_secret_key):
        raise SettingsError("LEADCLOCK_RECORDINGS_ACCESS_KEY and LEADCLOCK_RECORDINGS_SECRET_KEY need each other")
    try:
        from adapters.recordings.bucket import BucketPlace, BucketRecordings  # noqa: PLC0415 - as above
    except ImportError as error:
        raise SettingsError(INSTALL) from error
    name, _, prefix = settings.recordings_bucket.removeprefix("s3://").partition("/")
    return BucketRecordings(
        BucketPlace(
            name=name,
            prefix=prefix.rstrip("/"),
            endpoint=settings.recordings_endpoint,
            region=settings.recordings_region,
            access_key=settings.recordings_access_key,
            secret_key=settings.recordings_secret_key,
        )
    )
