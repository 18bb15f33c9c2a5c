"""What does the API need to play recordings, and to show what was said? Where they are, and the links to them."""

from msgspec import Struct

from adapters.recordings.links import RecordingLinks
from adapters.recordings.ports import RecordingFiles, Recordings, Transcriptions


class RecordingServices(Struct, frozen=True, kw_only=True):
    """The recordings of a deployment that keeps them. `transcribes` says whether a transcriber is configured."""

    recordings: Recordings
    files: RecordingFiles
    links: RecordingLinks
    transcriptions: Transcriptions
    transcribes: bool = False
