"""Which account records hold now? One reader of `accounts.rules` per process, shared by all who need the rules.

Records are published only when the end of the topic was reached: all records of one transaction appear at once, so that an
adopted position never holds half a transaction. A record that the accounts role did not write is skipped by what the topic
itself holds, so that every process and every audit skips the same ones.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from adapters.observability.skipped import SkippedRecords
from adapters.partitions.routing import partition_of
from engine.identity import ContactIds
from engine.partition.continuity import ContinuityError, check_id, check_read, request_digest
from engine.partition.ports import Log, LogError, LogRecord, Reader
from engine.partition.runner import TopicNames
from engine.rules import ForeignRuleError, Rules, read_rule
from schemas import deployment as deployments
from schemas.deployment import AcceptedSite, AddedTopics, Deployment, ReplacedTopics, with_topics
from schemas.records import Record
from schemas.topics import ACCOUNTS_RULES
from schemas.wire import UNREADABLE

READ_LIMIT = 1_000
FOLLOW_SECONDS = 0.1
"""How long one poll may hold the reader: a `refresh` waits no longer than this for its turn."""

SILENCE_SECONDS = 2.0
"""A broker that is away looks like a quiet topic; after this long its end is looked up, which tells them apart."""

IDENTITY_SECONDS = 2.0
"""Between two looks at the id of the topic: one that was made again reads like one that is silent."""

STALLS_MAX = 100
"""Empty polls of `FOLLOW_SECONDS` before the end of the topic counts as unreachable."""


class RulesTopic:
    """`accounts.rules` as read so far; implements `engine.partition.ports.RulesFeed`.

    `describe` turns a failure of the log into a sentence that says what to do. `check_digest` raises where the topics are of
    another development version: it is called with the digest beside the identity before any record is decoded.
    """

    def __init__(
        self,
        log: Log,
        names: TopicNames,
        skipped: SkippedRecords | None = None,
        describe: Callable[[LogError], str] = str,
        check_digest: Callable[[str | None], None] | None = None,
    ) -> None:
        self._describe = describe
        self._check_digest = check_digest
        self.rules = Rules()
        self.skipped = SkippedRecords() if skipped is None else skipped
        self._log = log
        self._topic = names.of(ACCOUNTS_RULES.name)
        self._entries: list[tuple[int, Record]] = []
        self._unpublished: list[LogRecord] = []
        self._reader: Reader | None = None
        self._partitions: list[int] = []
        self._published: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self._judged: dict[int, int] = {}
        self._topic_id: str | None = None
        self._last: dict[int, tuple[int, str]] = {}
        """Offset and digest of the last record of each partition that was published here."""
        self._identified_at = float("-inf")
        self._turn = asyncio.Lock()
        self.deployment: Deployment | None = None
        """The identity that is recorded on the topic, as far as it was read."""
        self._read_at = float("-inf")
        self._published_next = asyncio.Event()
        self.problem: str | None = None
        """Why the rules cannot be followed now; None where they are."""

    @property
    def entries(self) -> Sequence[tuple[int, Record]]:
        """Every record version read so far, oldest first."""
        return self._entries

    @property
    def contact_ids(self) -> ContactIds | None:
        """The contact ids of the deployment; None until its identity was read."""
        return self.rules.contact_ids

    def seen(self, company_id: int) -> tuple[int, int]:
        """Return the accounts partition of a company and the sequence up to which its rules were read here."""
        partition = partition_of(str(company_id).encode(), max(1, len(self._partitions)))
        return partition, self.rules.positions.get(partition, 0)

    async def refresh(self) -> None:
        """Read to the current end of the topic. Raises `LogError`; `ContinuityError` where it lost what was read."""
        async with self._turn:
            await self._to_the_end(await self._opened())

    async def read_within(self, seconds: float) -> None:
        """Return once the topic was read to an end that is at most so old. Raises `LogError`."""
        if self.age_seconds() <= seconds:
            return
        async with self._turn:
            if self.age_seconds() > seconds:  # else another one read it meanwhile
                await self._to_the_end(await self._opened())

    def age_seconds(self) -> float:
        """Return how old the end is to which the topic was read."""
        return asyncio.get_running_loop().time() - self._read_at

    async def next_records(self) -> None:
        """Return once further records were read and published."""
        await self._published_next.wait()

    async def follow(self, stop: asyncio.Event) -> None:
        """Keep reading until `stop` is set; errors of the log end one attempt, not the following."""
        loop = asyncio.get_running_loop()
        heard_at = float("-inf")
        while not stop.is_set():
            try:
                async with self._turn:
                    reader = await self._opened()
                    found = await reader.poll(limit=READ_LIMIT, timeout_seconds=FOLLOW_SECONDS)
                    self._unpublished += found
                    if found or loop.time() - heard_at >= SILENCE_SECONDS:
                        await self._to_the_end(reader)
                        heard_at = loop.time()
                        self.problem = None
            except LogError as error:
                self.problem = self._describe(error)
                await self._reopen()
            await asyncio.sleep(FOLLOW_SECONDS)

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            await self._reader.close()
            self._reader = None

    async def _opened(self) -> Reader:
        if self._reader is None:
            await self._identify_topic()
            self._partitions = list(range(await self._log.partition_count(self._topic)))
            reader = await self._log.reader(self._topic, self._partitions)
            try:
                for partition, last in self._last.items():
                    await check_read(reader, self._topic, partition, offset=last[0] + 1, last=last, is_compacted=True)
                for partition, offset in self._published.items():  # to compare one has moved the others on
                    await reader.seek(partition, offset)
            except BaseException:
                await reader.close()
                raise
            self._unpublished.clear()
            self._sequences = dict(self.rules.positions)
            self._reader = reader
        return self._reader

    async def _identify_topic(self) -> None:
        """Raise `ContinuityError` where the topic was made again since it was first read."""
        found = await self._log.topic_id(self._topic)
        check_id(self._topic, self._topic_id or found, found)
        self._topic_id = found
        self._identified_at = asyncio.get_running_loop().time()

    async def _reopen(self) -> None:
        async with self._turn:
            await self.close()

    async def _to_the_end(self, reader: Reader) -> None:
        asked_at = asyncio.get_running_loop().time()
        if asked_at - self._identified_at >= IDENTITY_SECONDS:
            await self._identify_topic()
        ends = {partition: await reader.end(partition) for partition in self._partitions}
        for partition, end in ends.items():
            if end < (published := self._published.get(partition, 0)):
                raise ContinuityError(f"{self._topic}[{partition}]", f"ends at {end}, and {published} was read from it")
        stalls = 0
        while any(reader.position(partition) < end for partition, end in ends.items()):
            found = await reader.poll(limit=READ_LIMIT, timeout_seconds=FOLLOW_SECONDS)
            self._unpublished += found
            stalls = 0 if found else stalls + 1
            if stalls > STALLS_MAX:
                raise LogError(f"{self._topic} cannot be read to its end")
        self._publish(reader)
        self._read_at = asked_at

    def _compare(self) -> None:
        """Raise where the identity that was read is of another development version, before anything is decoded."""
        if self._check_digest is None or self.deployment is not None:
            return
        for record in self._unpublished:
            if _is_identity(record) and record.partition == deployments.PARTITION:
                digest = dict(record.headers).get(deployments.DIGEST_HEADER)
                self._check_digest(None if digest is None else digest.decode("ascii", "replace"))
                return

    def _rules(self) -> list[tuple[int, Record]]:
        """Return the record versions that were read and are not published yet."""
        rules = []
        for record in self._unpublished:
            try:
                if _is_identity(record):
                    self._identify(record)
                else:
                    rules.append((record.partition, self._rule(record)))
            except ForeignRuleError as error:
                self._skip(record, str(error))
        return rules

    def _rule(self, record: LogRecord) -> Record:
        """Return the version of a record that was published. Raises `ForeignRuleError`."""
        rule = read_rule(record.key, record.value)
        own = partition_of(str(rule.company_id).encode(), len(self._partitions))
        if own != record.partition:
            raise ForeignRuleError(f"the records of company {rule.company_id} are those of partition {own}")
        if rule.sequence < self._sequences.get(record.partition, 1):
            raise ForeignRuleError("the sequence number does not follow that of the record before")
        self._sequences[record.partition] = rule.sequence
        return rule

    def _identify(self, record: LogRecord) -> None:
        """Take over the identity of the deployment; the first record counts. Raises `ForeignRuleError`."""
        if record.partition != deployments.PARTITION:
            raise ForeignRuleError(f"the identity of the deployment is on partition {deployments.PARTITION}")
        try:
            if _is_added(record, b"topics"):
                self._add_topics(record, msgspec.json.decode(record.value or b"", type=AddedTopics))
            elif _is_added(record, b"replaced"):
                self._replace_topics(record, msgspec.json.decode(record.value or b"", type=ReplacedTopics))
            elif _is_added(record, b"site"):
                self._accept_site(record, msgspec.json.decode(record.value or b"", type=AcceptedSite))
            else:
                self._take_first(msgspec.json.decode(record.value or b"", type=Deployment))
        except UNREADABLE as error:
            raise ForeignRuleError(f"not the identity of a deployment: {error}") from error

    def _take_first(self, found: Deployment) -> None:
        """Take over an identity, unless another one came first. Raises `ForeignRuleError`."""
        if self.deployment is not None:
            return
        try:
            self.rules.contact_ids = ContactIds(found.contact_id_secret)
        except ValueError as error:
            raise ForeignRuleError(f"not the identity of a deployment: {error}") from error
        self.deployment = found

    def _add_topics(self, record: LogRecord, added: AddedTopics) -> None:
        """Take over the topics that a release added. Raises `ForeignRuleError` where they are of another deployment."""
        own = self.deployment
        if own is None or record.key != deployments.added_topics_key(own.id, added.topics):
            raise ForeignRuleError("the topics of another deployment")
        self.deployment = with_topics(own, added)

    def _replace_topics(self, record: LogRecord, replaced: ReplacedTopics) -> None:
        """Take over topics that a recovery made again. Raises `ForeignRuleError` where they are of another deployment."""
        own = self.deployment
        if own is None or record.key != deployments.replaced_topics_key(own.id, replaced.topics):
            raise ForeignRuleError("the topics of another deployment")
        self.deployment = msgspec.structs.replace(own, topics={**own.topics, **replaced.topics})

    def _accept_site(self, record: LogRecord, accepted: AcceptedSite) -> None:
        """Take over where the deployment may contact people. Raises `ForeignRuleError` where it is of another deployment."""
        own = self.deployment
        if own is None or record.key != deployments.site_key(own.id):
            raise ForeignRuleError("the site of another deployment")
        self.deployment = msgspec.structs.replace(own, cluster_id=accepted.cluster_id, site=accepted.site)

    def _skip(self, record: LogRecord, reason: str) -> None:
        """Skip a record; report one that is read again only once."""
        if record.offset >= self._judged.get(record.partition, 0):
            self._judged[record.partition] = record.offset + 1
            self.skipped.skip(record.topic, record.partition, record.offset, reason)

    def _publish(self, reader: Reader) -> None:
        self._compare()
        rules = self._rules()
        for partition, record in rules:
            self.rules.apply(partition, record)
        self._entries += rules
        last = {record.partition: record for record in self._unpublished}
        self._last |= {partition: (record.offset, request_digest(record)) for partition, record in last.items()}
        self._unpublished.clear()
        self._published = {partition: reader.position(partition) for partition in self._partitions}
        if rules:
            published, self._published_next = self._published_next, asyncio.Event()
            published.set()


def _is_added(record: LogRecord, kind: bytes) -> bool:
    """Return whether a record adds something of a kind to the identity: its key has the kind behind the id."""
    return (record.key or b"").split(b"/")[2:3] == [kind]


def _is_identity(record: LogRecord) -> bool:
    return (record.key or b"").startswith(deployments.KEY_PREFIX.encode())
