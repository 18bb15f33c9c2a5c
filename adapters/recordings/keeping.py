"""Who fetches recordings, and who deletes them? A gateway: what is owed, until it is stored or given up; then what is old.

Each step may be repeated after a crash: a file is stored under the name of its row, which says that it is owed until the
file is complete. A recording is deleted in this sequence: its row says so, its contact is asked to refer to it no more, the
file is deleted, the row says that this is done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress

import structlog

from adapters.errors import StoreError
from adapters.gateway.ports import NotPlacedError, RulesReader
from adapters.providers.callback_tokens import last_configuration
from adapters.providers.connections import Connections
from adapters.providers.ports import KeepsRecordings, ProviderFailedError, RecordingSource
from adapters.providers.reports import Submits
from adapters.recordings.company_shares import CompanyShares
from adapters.recordings.download import (
    DOWNLOAD_SECONDS_MAX,
    DOWNLOADS_MAX,
    NeverFetchedError,
    NotFetchedError,
    RecordingDownloads,
)
from adapters.recordings.ports import Recording, RecordingFiles, Recordings, RecordingsUnavailableError
from engine.partition.ports import LogError
from schemas.errors import DependencyError
from schemas.records import RECORDING_RETENTION_DAYS, Company
from schemas.requests import CallUpdateRequested
from schemas.topics import CONTACTS_REQUESTS

ROUND_SECONDS = 5.0
"""A vendor has a recording some seconds after the call."""

LEASE_SECONDS = DOWNLOAD_SECONDS_MAX + 300.0
"""How long nobody else works on a recording that was taken: longer than its download may take."""

ATTEMPTS_MAX = 30
"""With the waits below these last for a day: longer than an outage of a vendor."""

RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 15.0, 3_600.0

DELETIONS_MAX = 100
"""In one round: each is a request to a contact."""

EXPIRE_MAX = 5_000
"""Rows that one statement marks as old; a sweep goes on while there are so many."""

SWEEP_STATEMENTS_MAX = 200

SWEEP_SECONDS = 3_600.0
"""Retention is counted in days."""

FORGET_SECONDS = 8 * 86_400.0
"""As long as orders are remembered: until then a vendor's report may name a deleted recording again."""

logger = structlog.get_logger(__name__)


class RecordingKeeper:
    """Fetches and deletes recordings of all companies."""

    def __init__(
        self,
        recordings: Recordings,
        files: RecordingFiles,
        *,
        downloads: RecordingDownloads,
        connections: Connections,
        requests: Submits,
        rules: RulesReader,
    ) -> None:
        self._recordings = recordings
        self._files = files
        self._downloads = downloads
        self._connections = connections
        self._requests = requests
        self._rules = rules
        self._shares = CompanyShares(DOWNLOADS_MAX)

    async def run(self) -> None:
        """Fetch and delete until cancelled. A slow vendor holds up neither the other downloads nor what is deleted."""
        fetching = [self._work(lambda: self.fetch(1)) for _ in range(DOWNLOADS_MAX)]
        await asyncio.gather(*fetching, self._work(self.delete), self._sweep_periodically())

    async def _work(self, do: Callable[[], Awaitable[int]]) -> None:
        """Do something again and again, with a wait where there is nothing to do."""
        while True:
            count = 0
            try:
                count = await do()
            except StoreError as error:
                logger.info("recordings.unread", reason=str(error))  # the gateway reports it
            except Exception:  # whatever it is, the next round goes on
                logger.exception("recordings.round_failed")
            if count == 0:
                await asyncio.sleep(ROUND_SECONDS)

    async def _sweep_periodically(self) -> None:
        while True:
            try:
                await self.sweep()
                await self._recordings.forget(FORGET_SECONDS)
            except (StoreError, LogError) as error:
                logger.warning("recordings.not_swept", reason=str(error))
            except Exception:  # whatever it is, the next sweep goes on
                logger.exception("recordings.sweep_failed")
            await asyncio.sleep(SWEEP_SECONDS)

    async def fetch(self, limit: int = DOWNLOADS_MAX) -> int:
        """Fetch recordings that are due; return how many were. Raises `StoreError`.

        Companies take turns, and none whose vendors are slow may hold every download.
        """

        def take(without: Collection[int]) -> Awaitable[Sequence[Recording]]:
            return self._recordings.take_owed(limit, LEASE_SECONDS, without=without)

        async with self._shares.taken(take) as due:
            await asyncio.gather(*(self._fetch(recording) for recording in due))
            return len(due)

    async def delete(self) -> int:
        """Delete recordings that are to be deleted; return how many were. Raises `StoreError`."""
        due = await self._recordings.take_deletions(DELETIONS_MAX, LEASE_SECONDS)
        for recording in due:
            await self._delete(recording)
        return len(due)

    async def sweep(self) -> int:
        """Have old recordings deleted, as their companies say; return how many. Raises `StoreError`, `LogError`."""
        await self._rules.refresh()  # a company whose record is not read yet may keep them for longer
        days, expired = self._days(), 0
        for _ in range(SWEEP_STATEMENTS_MAX):
            count = await self._recordings.expire(days, RECORDING_RETENTION_DAYS, EXPIRE_MAX)
            expired += count
            if count < EXPIRE_MAX:
                break
        return expired

    def _days(self) -> Mapping[int, int]:
        """Return how long companies keep recordings, of those that say something else than the default."""
        rules = self._rules.rules
        bodies = ((record.id, rules.body(Company, "company", record.id)) for record in rules.of_type("company"))
        kept = {company_id: body.recording_retention_days for company_id, body in bodies if body is not None}
        return {company_id: days for company_id, days in kept.items() if days != RECORDING_RETENTION_DAYS}

    async def _fetch(self, recording: Recording) -> None:
        about = {"company_id": recording.company_id, "recording_id": recording.id}
        try:
            source = await self._source(recording)
            async with self._downloads.open(source) as (media_type, parts):
                size = await self._files.put(recording.name, parts)
            if not await self._recordings.stored(recording.id, size, media_type):
                await self._files.delete(recording.name)  # somebody has deleted it meanwhile
            logger.info("recording.stored", bytes=size, **about)
        except NeverFetchedError as error:
            await self._give_up(recording, str(error))
        except (NotFetchedError, NotPlacedError, ProviderFailedError, RecordingsUnavailableError) as error:
            await self._retry(recording, str(error))
        except StoreError as error:  # it is taken again when the lease is over
            logger.warning("recording.unsettled", reason=str(error), **about)
        except Exception as error:  # another package's code: the other recordings go on
            logger.exception("recording.fetch_failed", **about)
            await self._retry(recording, f"{type(error).__name__}: {error}")

    async def _source(self, recording: Recording) -> RecordingSource:
        """Return where a recording is fetched. Raises `NotFetchedError`, `NotPlacedError`, `ProviderFailedError`."""
        configuration = last_configuration(self._rules.rules, recording.configuration_id)
        if configuration is None or configuration.record.company_id != recording.company_id:
            raise NotFetchedError("its provider configuration is not known")
        connection = self._connections.open(configuration).connection
        if not isinstance(connection, KeepsRecordings):
            raise NeverFetchedError("its provider keeps no recordings")
        source = await connection.find_recording(recording.recording_url)
        if source is None:
            raise NotFetchedError("the vendor has no such recording")
        return source

    async def _retry(self, recording: Recording, reason: str) -> None:
        if recording.attempts >= ATTEMPTS_MAX:
            await self._give_up(recording, reason)
            return
        seconds = min(RETRY_SECONDS_MAX, RETRY_SECONDS_MIN * 2 ** (recording.attempts - 1))
        logger.info("recording.not_fetched", recording_id=recording.id, reason=reason, retry_in_seconds=seconds)
        with suppress(StoreError):  # it is taken again when the lease is over
            await self._recordings.retry(recording.id, reason, seconds)

    async def _give_up(self, recording: Recording, reason: str) -> None:
        about = {"company_id": recording.company_id, "recording_id": recording.id, "attempts": recording.attempts}
        logger.warning("recording.given_up", reason=reason, **about)
        with suppress(StoreError):
            await self._recordings.give_up(recording.id, reason)

    async def _delete(self, recording: Recording) -> None:
        try:
            await self._requests.submit(
                CONTACTS_REQUESTS.name,
                recording.contact_key,
                CallUpdateRequested(
                    company_id=recording.company_id,
                    contact_key=recording.contact_key,
                    call_id=recording.call_id,
                    deleted_recording_url=recording.recording_url,
                ),
                request_id=f"recording/{recording.id}/deleted",
                company_id=recording.company_id,
                source="/gateway/call",
            )
            await self._files.delete(recording.name)
            await self._recordings.deleted(recording.id)
        except DependencyError as error:
            logger.warning("recording.not_deleted", recording_id=recording.id, reason=str(error))
            with suppress(StoreError):
                await self._recordings.retry(recording.id, str(error), RETRY_SECONDS_MAX)
