"""Is what a mail server reports appended once it is durable, under the id that a gateway would give it? On a real Kafka."""

import pytest

from adapters.cli import mail as mail_command
from adapters.gateway.bounce_tokens import SentMail
from adapters.gateway.bounces import MailReport
from adapters.roles.context import open_context, prepare
from adapters.roles.identity import establish, establish_database
from adapters.settings import Settings
from schemas.requests import OutcomeRecorded
from schemas.wire import from_json
from tests.adapters.gateway.world import Town

PARTITIONS = 3


@pytest.fixture
async def settings(kafka_bootstrap: str, topic_prefix: str, migrated_database: str) -> Settings:
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic_prefix=topic_prefix,
        partitions=PARTITIONS,
        postgres_dsn=migrated_database,
        secret_key="a secret of the tests, 32 characters long",
    )


async def test_a_bounce_is_appended_with_the_id_of_its_outcome(settings: Settings) -> None:
    sent = SentMail(company_id=7, lead_id=12, command_id="command-1", contact_key="7|email:ada@example.org")
    report = MailReport(sent=sent, outcome="bounced_hard", detail="failed 5.1.1: No such user")
    async with open_context(settings) as context:
        await prepare(context)
        await establish_database(context, await establish(context))
        for _ in range(2):
            await mail_command._record(settings, report)
        records = await Town(context.log, "email", PARTITIONS, context.names).records()

    assert {dict(record.headers)["ce_id"] for record in records} == {b"command-1/bounced_hard"}
    assert {dict(record.headers)["ce_source"] for record in records} == {b"/gateway/email"}
    said = [from_json(record.value or b"", OutcomeRecorded) for record in records]
    assert [(one.company_id, one.contact_key, one.lead_id, one.outcome) for one in said] == [
        (7, "7|email:ada@example.org", 12, "bounced_hard")
    ] * 2
