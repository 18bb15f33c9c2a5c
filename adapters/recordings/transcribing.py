"""Who has recordings transcribed? A gateway: what somebody asked for, until its text is stored or it is given up.

Each step may be repeated after a crash. The text is stored, the contact is asked to say so on the call, then the row says
that this is done. The text itself goes to no topic: it is deleted with the recording, and nothing of it stays.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress

import structlog

from adapters.errors import StoreError
from adapters.providers.reports import Submits
from adapters.recordings.company_shares import CompanyShares
from adapters.recordings.ports import (
    MissingFileError,
    RecordingFiles,
    Transcription,
    Transcriptions,
)
from adapters.recordings.transcriber import Audio, NotTranscribableError, Transcriber
from adapters.recordings.transcription_service import TRANSCRIBE_SECONDS_MAX, TRANSCRIPTIONS_MAX
from schemas.errors import DependencyError
from schemas.requests import CallUpdateRequested, TranscriptionStatus
from schemas.topics import CONTACTS_REQUESTS

ROUND_SECONDS = 5.0
"""Somebody who asks waits for longer: a recogniser takes seconds for a minute of talk."""

LEASE_SECONDS = TRANSCRIBE_SECONDS_MAX + 300.0
"""How long nobody else works on one that was taken: longer than the transcriber may take."""

ATTEMPTS_MAX = 12
"""With the waits below these last for four hours: longer than a service is usually overloaded or out of order."""

RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 15.0, 3_600.0

logger = structlog.get_logger(__name__)


class RecordingTranscription:
    """Has recordings of all companies transcribed."""

    def __init__(
        self, transcriptions: Transcriptions, files: RecordingFiles, transcriber: Transcriber, requests: Submits
    ) -> None:
        self._transcriptions = transcriptions
        self._files = files
        self._transcriber = transcriber
        self._requests = requests
        self._shares = CompanyShares(TRANSCRIPTIONS_MAX)

    async def run(self) -> None:
        """Transcribe until cancelled."""
        await asyncio.gather(*(self._work() for _ in range(TRANSCRIPTIONS_MAX)))

    async def _work(self) -> None:
        while True:
            count = 0
            try:
                count = await self.transcribe()
            except StoreError as error:
                logger.info("transcriptions.unread", reason=str(error))  # the gateway reports it
            except Exception:  # whatever it is, the next round goes on
                logger.exception("transcriptions.round_failed")
            if count == 0:
                await asyncio.sleep(ROUND_SECONDS)

    async def transcribe(self) -> int:
        """Have one recording transcribed; return how many were due. Raises `StoreError`.

        Companies take turns, and none that has much to transcribe may hold every place.
        """

        async def take(without: Collection[int]) -> Sequence[Transcription]:
            found = await self._transcriptions.take(LEASE_SECONDS, without=without)
            return [] if found is None else [found]

        async with self._shares.taken(take) as due:
            for one in due:
                await self._transcribe(one)
            return len(due)

    async def _transcribe(self, one: Transcription) -> None:
        recording = one.recording
        about = {"company_id": one.company_id, "recording_id": recording.id, "attempts": one.attempts}
        try:
            if recording.state != "stored":
                await self._give_up(one, f"the recording could not be fetched from the vendor: {recording.reason}")
                return
            if one.attempts > ATTEMPTS_MAX:  # each time the process ended while it was being transcribed
                await self._give_up(one, "a gateway ended each time that it was transcribed")
                return
            # A process that ended after it had stored the text has still to say so.
            text = one.text if one.text is not None else await self._transcriber.transcribe(self._audio(one))
            if not await self._transcriptions.add_text(recording.id, text):
                return  # somebody has deleted the recording meanwhile
            await self._report(one, "completed")
            await self._transcriptions.complete(recording.id)
            logger.info("transcription.stored", characters=len(text), **about)
        except (NotTranscribableError, MissingFileError) as error:
            await self._give_up(one, str(error))
        except StoreError as error:  # it is taken again when the lease is over
            logger.warning("transcription.unsettled", reason=str(error), **about)
        except DependencyError as error:  # the transcriber, the store of files, or the log
            await self._retry(one, str(error))
        except Exception as error:  # whatever it is, the others go on
            logger.exception("transcription.not_made", **about)
            await self._retry(one, type(error).__name__)

    def _audio(self, one: Transcription) -> Audio:
        recording = one.recording
        parts = self._files.read(recording.name, 0, recording.size)
        return Audio(media_type=recording.media_type, size=recording.size, parts=parts)

    async def _retry(self, one: Transcription, reason: str) -> None:
        if one.attempts >= ATTEMPTS_MAX:
            await self._give_up(one, reason)
            return
        seconds = min(RETRY_SECONDS_MAX, RETRY_SECONDS_MIN * 2 ** (one.attempts - 1))
        logger.info(
            "transcription.not_made",
            recording_id=one.recording.id,
            company_id=one.company_id,
            reason=reason,
            retry_in_seconds=seconds,
        )
        with suppress(StoreError):  # it is taken again when the lease is over
            await self._transcriptions.retry(one.recording.id, reason, seconds)

    async def _give_up(self, one: Transcription, reason: str) -> None:
        """Say that there is no text. Where that cannot be said now, it is taken again when the lease is over."""
        about = {"company_id": one.company_id, "recording_id": one.recording.id, "attempts": one.attempts}
        logger.warning("transcription.given_up", reason=reason, **about)
        with suppress(DependencyError):
            await self._report(one, "failed")
            await self._transcriptions.fail(one.recording.id, reason)

    async def _report(self, one: Transcription, status: TranscriptionStatus) -> None:
        """Ask the contact to say on the call what came of it. Raises `DependencyError`."""
        recording = one.recording
        await self._requests.submit(
            CONTACTS_REQUESTS.name,
            recording.contact_key,
            CallUpdateRequested(
                company_id=recording.company_id,
                contact_key=recording.contact_key,
                call_id=recording.call_id,
                transcribed_recording_url=recording.recording_url,
                transcription_status=status,
            ),
            request_id=f"transcription/{recording.id}/{one.asked_at}/{status}",
            company_id=recording.company_id,
            source="/gateway/call",
        )
