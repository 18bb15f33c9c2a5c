"""Does a recording reach a service of transcription as its interface asks, and no address or secret where it must not?"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.gateway.addresses import networks
from adapters.recordings.transcriber import NotTranscribableError, TranscriberUnavailableError
from adapters.recordings.transcription_service import TranscriptionService
from tests.adapters.recordings.speech_server import KEY, PATH, SpeechServer
from tests.adapters.recordings.transcriber_contract import SOUND, TranscriberContract, audio

LOCAL = networks(["127.0.0.1"])


@pytest_asyncio.fixture
async def recogniser() -> AsyncIterator[SpeechServer]:
    async with SpeechServer() as server:
        server.says("hello")
        yield server


@pytest_asyncio.fixture
async def transcriber(recogniser: SpeechServer) -> AsyncIterator[TranscriptionService]:
    service = TranscriptionService(recogniser.url, key=KEY, model="whisper-1", allowed=LOCAL)
    yield service
    await service.close()


class TestTranscriptionService(TranscriberContract):
    """The contract on the service."""


@pytest.mark.parametrize(
    ("media_type", "name"), [("audio/wav", "recording.wav"), ("audio/mpeg", "recording.mp3"), ("audio/ogg", "recording.ogg")]
)
async def test_the_form_holds_what_the_interface_asks_for(
    recogniser: SpeechServer, transcriber: TranscriptionService, media_type: str, name: str
) -> None:
    await transcriber.transcribe(audio(media_type=media_type))

    (received,) = recogniser.receiver.received
    assert (received.method, received.target) == ("POST", PATH)
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-length"] == str(len(received.body)), "no chunks: some servers do not read them"
    assert recogniser.forms == [
        {
            "model": b"whisper-1",
            "response_format": b"json",
            "file": SOUND,
            "filename": name.encode(),
            "content_type": media_type.encode(),
        }
    ]


async def test_a_service_without_a_key_is_sent_none(recogniser: SpeechServer) -> None:
    service = TranscriptionService(recogniser.url, key="", model="small", allowed=LOCAL)
    assert await service.transcribe(audio()) == "hello"
    await service.close()

    assert "authorization" not in recogniser.receiver.received[0].headers
    assert recogniser.forms[0]["model"] == b"small"


async def test_what_the_service_says_is_shown_without_its_key(
    recogniser: SpeechServer, transcriber: TranscriptionService
) -> None:
    recogniser.refuses()

    with pytest.raises(NotTranscribableError, match=r"it answered 400: .*Invalid file format, key \*\*\*") as raised:
        await transcriber.transcribe(audio())

    assert KEY not in str(raised.value)


@pytest.mark.parametrize("status", [301, 401, 404, 429, 500, 503])
async def test_what_the_operator_or_time_can_correct_may_pass(
    recogniser: SpeechServer, transcriber: TranscriptionService, status: int
) -> None:
    recogniser.receiver.answers = [status]

    with pytest.raises(TranscriberUnavailableError, match=f"it answered {status}"):
        await transcriber.transcribe(audio())

    assert len(recogniser.receiver.received) == 1, "a redirect is not followed"


@pytest.mark.parametrize("body", [b"", b"hello", b'{"words": []}', b'{"text": null}', b'{"text": "\xff"}'])
async def test_an_answer_without_a_text_may_pass(
    recogniser: SpeechServer, transcriber: TranscriptionService, body: bytes
) -> None:
    recogniser.receiver.body = body

    with pytest.raises(TranscriberUnavailableError, match="it did not answer"):
        await transcriber.transcribe(audio())


async def test_a_service_that_takes_too_long_may_answer_later(recogniser: SpeechServer) -> None:
    recogniser.receiver.delay_seconds = 60.0
    service = TranscriptionService(recogniser.url, key=KEY, model="whisper-1", allowed=LOCAL, seconds_max=0.2)

    with pytest.raises(TranscriberUnavailableError, match="it did not answer"):
        await service.transcribe(audio())
    await service.close()


async def test_an_address_that_is_not_allowed_gets_nothing(recogniser: SpeechServer) -> None:
    service = TranscriptionService(recogniser.url, key=KEY, model="whisper-1")
    with pytest.raises(TranscriberUnavailableError, match="address is not allowed"):
        await service.transcribe(audio())
    await service.close()

    assert recogniser.receiver.received == []
