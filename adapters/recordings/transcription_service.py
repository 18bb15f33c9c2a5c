"""How is a recording transcribed over HTTP? By a service with the interface of OpenAI's `POST /v1/audio/transcriptions`.

Local servers of Whisper and other models offer the same: a form with `file` and `model`, answered with `{"text": …}`.
The file is streamed as it is read, through the address guard, and no secret of the service stands in an error.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from http import HTTPStatus

import httpx
import msgspec
from msgspec import Struct

from adapters.gateway.addresses import Network
from adapters.gateway.guarded_client import REFUSED_TARGETS, GuardedClient
from adapters.recordings.media_types import SUFFIXES
from adapters.recordings.transcriber import (
    TEXT_LENGTH_MAX,
    Audio,
    NotTranscribableError,
    TranscriberUnavailableError,
)

TRANSCRIBE_SECONDS_MAX = 1_800.0
"""Of one recording: half an hour, in which Whisper's small model on one processor writes down an hour or two."""

TRANSCRIPTIONS_MAX = 2
"""At once in one gateway: most services of one's own work on one or two at a time."""

ANSWER_BYTES_MAX = 4 * TEXT_LENGTH_MAX
"""UTF-8 has at most four bytes for a character."""

REASON_LENGTH_MAX = 200
"""Of what the service says about a failure, for the operator to read."""

REFUSING = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""Statuses that are about the file. Those about the key, the model or the load pass once somebody has acted."""


class _Answer(Struct, frozen=True):
    text: str


class TranscriptionService:
    """A `Transcriber`. `allowed` are private networks that the operator has named; `own_ports` are closed there."""

    def __init__(
        self,
        url: str,
        *,
        key: str,
        model: str,
        allowed: Sequence[Network] = (),
        own_ports: Collection[int] = (),
        seconds_max: float = TRANSCRIBE_SECONDS_MAX,
    ) -> None:
        self._url = url
        self._key = key
        self._model = model
        self._seconds_max = seconds_max
        self._client = GuardedClient(
            allowed=allowed, own_ports=own_ports, answer_seconds=seconds_max, connections_max=TRANSCRIPTIONS_MAX
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    async def transcribe(self, audio: Audio) -> str:
        """Return what was said; see the port."""
        form = _Form(self._model, audio)
        headers = {
            "user-agent": "leadclock",
            "accept": "application/json",
            "content-type": form.content_type,
            "content-length": str(form.size),
            **({"authorization": f"Bearer {self._key}"} if self._key else {}),
        }
        try:
            async with asyncio.timeout(self._seconds_max):
                status, answer = await self._client.fetch(
                    "POST", self._url, headers=headers, content=form.content(), bytes_max=ANSWER_BYTES_MAX
                )
        except REFUSED_TARGETS as error:
            raise TranscriberUnavailableError(f"its address is not allowed: {error}") from error
        except (httpx.HTTPError, OSError) as error:  # a TimeoutError is an OSError
            raise TranscriberUnavailableError(f"it did not answer: {type(error).__name__}") from error
        return self._text(status, answer)

    def _text(self, status: int, answer: bytes) -> str:
        if status in REFUSING:
            raise NotTranscribableError(f"it answered {status}: {self._excerpt(answer)}")
        if status != HTTPStatus.OK:
            raise TranscriberUnavailableError(f"it answered {status}: {self._excerpt(answer)}")
        try:
            text = msgspec.json.decode(answer, type=_Answer).text
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise TranscriberUnavailableError('it did not answer {"text": …}') from error
        return text.replace("\0", "").strip()[:TEXT_LENGTH_MAX]

    def _excerpt(self, answer: bytes) -> str:
        text = " ".join(answer.decode("utf-8", "replace").split())
        return (text.replace(self._key, "***") if self._key else text)[:REASON_LENGTH_MAX]


class _Form:
    """The form of one request (RFC 7578). Its size is known before it is sent: some servers take no chunks."""

    def __init__(self, model: str, audio: Audio) -> None:
        boundary = uuid.uuid4().hex
        self.content_type = f"multipart/form-data; boundary={boundary}"
        fields = {"model": model, "response_format": "json"}
        part = f"--{boundary}\r\nContent-Disposition: form-data; "
        named = "".join(f'{part}name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
        # A service tells the format by the suffix; the name says nothing of the person.
        file = f'name="file"; filename="recording.{SUFFIXES.get(audio.media_type, "bin")}"'
        head = f"{part}{file}\r\nContent-Type: {audio.media_type}\r\n\r\n"
        self._head, self._end = (named + head).encode(), f"\r\n--{boundary}--\r\n".encode()
        self._parts = audio.parts
        self.size = len(self._head) + audio.size + len(self._end)

    async def content(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the form."""
        yield self._head
        async for part in self._parts:
            yield part
        yield self._end
