"""What does the API need to play recordings? Where they are, and the links to them."""

from msgspec import Struct

from adapters.recordings.links import RecordingLinks
from adapters.recordings.ports import RecordingFiles, Recordings


class RecordingServices(Struct, frozen=True, kw_only=True):
    """The recordings of a deployment that keeps them."""

    recordings: Recordings
    files: RecordingFiles
    links: RecordingLinks
