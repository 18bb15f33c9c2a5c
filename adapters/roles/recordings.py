"""Where does a process keep recordings? In the folder of the settings; without one it keeps none."""

from pathlib import Path

from adapters.recordings.folder import FolderRecordings
from adapters.recordings.ports import RecordingFiles
from adapters.settings import Settings


def recording_files(settings: Settings) -> RecordingFiles | None:
    """Return the store of the files, None where none are kept."""
    return None if settings.recordings_dir is None else FolderRecordings(Path(settings.recordings_dir))
