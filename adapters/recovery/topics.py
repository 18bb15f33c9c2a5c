"""Which topics are there for a recovery? Missing ones are made, the identity is written again, and new ids are recorded."""

from adapters.recovery.folding import NotRecoverableError
from adapters.roles.context import Context, prepare, topics_of
from adapters.roles.identity import append_identity, establish_database, find_identity, read_database_identity
from adapters.roles.made_topics import find_present
from schemas.deployment import Deployment, ReplacedTopics, deployment_key, replaced_topics_key
from schemas.topics import ACCOUNTS_RULES, TOPICS
from schemas.wire import to_json


async def find_missing(context: Context) -> list[str]:
    """Return the topics that do not exist, and `accounts.rules` where it has lost the identity. Raises `LogError`."""
    present = await find_present(context)
    missing = [context.names.of(topic.name) for topic in TOPICS if topic.name not in {*present.ids, *present.hidden}]
    rules = context.names.of(ACCOUNTS_RULES.name)
    return missing if missing or await find_identity(context) is not None else [rules]


async def restore_topics(context: Context) -> Deployment:
    """Make the topics that are missing, and write the identity where `accounts.rules` has lost it; return it.

    The database keeps the identity too. Raises `NotRecoverableError` where neither has it, `LogError`, `DatabaseAwayError`.
    """
    known = await find_identity(context) or await read_database_identity(context.settings.postgres_dsn)
    if known is None:
        raise NotRecoverableError(
            f"neither {topics_of(context.settings)} nor the database has an identity: restore accounts.rules or the schema "
            "work from a copy"
        )
    await prepare(context, known)
    if await find_identity(context) is None:
        await append_identity(context, deployment_key(known), to_json(known))
        await context.rules.refresh()
    return known


async def record_replaced(context: Context) -> dict[str, str]:
    """Record the ids of the topics that were made again, in the log and in the database; return them. Raises `LogError`."""
    await context.rules.refresh()
    identity = context.rules.deployment
    if identity is None:
        raise NotRecoverableError(f"{topics_of(context.settings)} have no identity")
    present = await find_present(context)
    replaced = {name: found for name, found in present.ids.items() if identity.topics.get(name) != found}
    if replaced:
        key = replaced_topics_key(identity.id, replaced)
        await append_identity(context, key, to_json(ReplacedTopics(topics=replaced)))
        await context.rules.refresh()
    if context.rules.deployment is not None:
        await establish_database(context, context.rules.deployment)
    return replaced
