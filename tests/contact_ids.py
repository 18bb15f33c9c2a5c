"""Under which secret do tests give contacts their ids, where no deployment has drawn one?"""

from adapters.projector.rows import shapes_of
from engine.identity import CONTACT_ID_SECRET_BYTES, ContactIds
from engine.partition.ports import Outgoing
from schemas.deployment import PARTITION, Deployment, deployment_key
from schemas.instant import Instant
from schemas.topics import ACCOUNTS_RULES
from schemas.wire import to_json

SECRET = bytes(range(CONTACT_ID_SECRET_BYTES))
CONTACT_IDS = ContactIds(SECRET)
SHAPES = shapes_of(CONTACT_IDS)


def identity_record(made_at: Instant) -> tuple[int, Outgoing]:
    """Return the partition and the record of `accounts.rules` by which a deployment has this secret."""
    made = Deployment(id="tests", topic_prefix="", app="leadclock", contact_id_secret=SECRET, created_at=made_at)
    return PARTITION, Outgoing(ACCOUNTS_RULES.name, deployment_key(made), to_json(made))
