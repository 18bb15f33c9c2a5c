"""Which topics were made for this deployment, and which of them are lost? What was made once is not made again.

A topic that is created again in the place of a lost one is empty: schedulers would decide all history again, and people
would be contacted twice. So only what a release adds is created, and what a first run that broke off has left out.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from adapters.embedded.log import EmbeddedLog
from adapters.embedded.remote import RemoteLog
from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.topics import PAGE
from adapters.roles.broker import connection_of
from adapters.roles.context import Context, topics_of
from adapters.settings import PREFIX
from engine.partition.ports import LogError
from schemas.topics import TOPICS, Topic

PREFIXES_SHOWN = 5
TOPICS_OF_A_DEPLOYMENT = len(TOPICS) // 2
"""Under a prefix that has more of our topics than this, somebody made a deployment: others name a topic `deadletter` too."""


class PresentTopics(Struct, frozen=True):
    """The topics of this prefix: `ids` by their names without it; `hidden` are those that this user may not see."""

    ids: dict[str, str]
    hidden: frozenset[str] = frozenset()


async def find_present(context: Context) -> PresentTopics:
    """Return which of our topics exist. Raises `LogError`."""
    if isinstance(context.log, EmbeddedLog | RemoteLog):
        return PresentTopics({topic.name: known for topic in TOPICS if (known := await _id_of(context, topic))})
    hidden: set[str] = set()
    metadata = ClusterMetadata(connection_of(context.settings))
    try:
        found = await metadata.find([context.names.of(topic.name) for topic in TOPICS], hidden=hidden)
    finally:
        await metadata.close()
    ids = {topic.name: found[name].topic_id for topic in TOPICS if (name := context.names.of(topic.name)) in found}
    return PresentTopics(ids, frozenset(topic.name for topic in TOPICS if context.names.of(topic.name) in hidden))


async def _id_of(context: Context, topic: Topic) -> str | None:
    try:
        return await context.log.topic_id(context.names.of(topic.name))
    except LogError as error:
        if error.retryable:
            raise
        return None


def describe_losses(made: Mapping[str, str], present: PresentTopics, prefix: str) -> list[str]:
    """Return a sentence for each topic that was made and is not there any more, in the order of `TOPICS`."""
    losses = []
    for name in (topic.name for topic in TOPICS if topic.name in made and topic.name not in present.hidden):
        found = present.ids.get(name)
        if found is None:
            losses.append(f"{prefix}{name} is lost: it was made with the id {made[name]}, and does not exist")
        elif found != made[name]:
            losses.append(f"{prefix}{name} is lost: it was made with the id {made[name]}, and another one is in its place")
    return losses


async def find_written(context: Context, topics: Iterable[Topic]) -> list[str]:
    """Return the names of those topics that hold, or have held, a record. Raises `LogError`."""
    written = []
    for name in (context.names.of(topic.name) for topic in topics):
        partitions = range(await context.log.partition_count(name))
        reader = await context.log.reader(name, partitions)
        try:
            if any([await reader.end(partition) > 0 for partition in partitions]):
                written.append(name)
        finally:
            await reader.close()
    return written


async def find_other_prefixes(context: Context) -> list[str]:
    """Return the topic prefixes under which other deployments exist at this broker. Raises `LogError`."""
    if isinstance(context.log, EmbeddedLog | RemoteLog):
        return []
    metadata = ClusterMetadata(connection_of(context.settings))
    try:
        names = await metadata.names()
    finally:
        await metadata.close()
    counts: dict[str, int] = {}
    for prefix in (name.removesuffix(topic.name) for topic in TOPICS for name in names if name.endswith(topic.name)):
        counts[prefix] = counts.get(prefix, 0) + 1
    own = context.settings.topic_prefix
    return sorted(prefix for prefix, count in counts.items() if count > TOPICS_OF_A_DEPLOYMENT and prefix != own)


def name_prefixes(prefixes: Sequence[str]) -> str:
    """Return a sentence that names the prefixes of other deployments; nothing where there are none."""
    if not prefixes:
        return ""
    shown = ", ".join(f"{prefix!r}" for prefix in prefixes[:PREFIXES_SHOWN])
    more = f" and {len(prefixes) - PREFIXES_SHOWN} more" if len(prefixes) > PREFIXES_SHOWN else ""
    return f"At this broker there are deployments with the {PREFIX}TOPIC_PREFIX {shown}{more}"


def name_losses(context: Context, losses: Sequence[str]) -> str:
    """Return the sentence that refuses to make topics of a deployment that has lost some."""
    return (
        f"{topics_of(context.settings)} are of a deployment that exists, and {'; '.join(losses)}. Nothing is made in the "
        f"place of what was lost: stop every process, and see {PAGE}"
    )
