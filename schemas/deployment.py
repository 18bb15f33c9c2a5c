"""Which deployment does a process belong to? One record on `accounts.rules` and one row in the database say so.

The first record on partition 0 counts, so two processes that write at the same time agree on one id afterwards. Its key
holds the id: compaction never removes the first one. What is added later to the same deployment (topics of a release) has
records of its own behind it, each under a key of its own.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from schemas.instant import EPOCH, Instant
from schemas.wire import Message

KEY_PREFIX = "deployment/"
DIGEST_HEADER = "data_digest"
"""The header with the digest of the development version that made the topics. Beside the value, so that it can be read
whatever the value looks like."""

PARTITION = 0
"""Of `accounts.rules`: there is one deployment, however many partitions."""


class Deployment(Message, frozen=True, kw_only=True):
    """The identity of a deployment: what all of its processes must have in common.

    `app` begins every transactional id, so processes with different ones do not fence each other. Domain time was
    `clock_domain_at` when wall time was `clock_wall_at`, and runs `clock_speed` times as fast.
    `is_demo`: `leadclock up` made it, with a demo company and sandbox channels.
    `partitions` is the count of each topic, fixed for good. `topics` are those that were made, without the prefix, each with
    its id: one that is missing later, or has another id, is lost.
    `cluster_id` is Kafka's, and `site` a word of the operator: elsewhere nobody is contacted.
    `contact_id_secret` is drawn once and never changes: contact ids are hashes under it, and outlive every other secret.
    """

    id: str
    topic_prefix: str
    app: str
    contact_id_secret: bytes
    clock_wall_at: Instant = EPOCH
    clock_domain_at: Instant = EPOCH
    clock_speed: float = 1.0
    is_demo: bool = False
    created_at: Instant
    partitions: int = 0
    topics: dict[str, str] = {}
    cluster_id: str = ""
    site: str = ""


class AcceptedSite(Message, frozen=True, kw_only=True):
    """Where an operator lets a deployment contact people from now on."""

    cluster_id: str
    site: str
    accepted_at: Instant


class AddedTopics(Message, frozen=True, kw_only=True):
    """Topics that a release added to a deployment: without the prefix, each with its id."""

    topics: dict[str, str]


class ReplacedTopics(Message, frozen=True, kw_only=True):
    """Topics that a recovery made again in the place of lost ones: without the prefix, each with the id that counts now."""

    topics: dict[str, str]


def deployment_key(deployment: Deployment) -> bytes:
    """Return the key of the record on `accounts.rules`."""
    return f"{KEY_PREFIX}{deployment.id}".encode()


def added_topics_key(deployment_id: str, topics: Mapping[str, str]) -> bytes:
    """Return the key of the record of added topics: a key for each set, so that compaction removes none of them."""
    return f"{KEY_PREFIX}{deployment_id}/topics/{','.join(sorted(topics))}".encode()


def replaced_topics_key(deployment_id: str, topics: Mapping[str, str]) -> bytes:
    """Return the key of the record of replaced topics: of the same set the newest one counts."""
    return f"{KEY_PREFIX}{deployment_id}/replaced/{','.join(sorted(topics))}".encode()


def site_key(deployment_id: str) -> bytes:
    """Return the key of the record of the accepted site: the newest one counts."""
    return f"{KEY_PREFIX}{deployment_id}/site".encode()


def with_topics(deployment: Deployment, added: AddedTopics) -> Deployment:
    """Return a deployment with topics that a release added; the id that was recorded first stays."""
    return replace(deployment, topics={**added.topics, **deployment.topics})
