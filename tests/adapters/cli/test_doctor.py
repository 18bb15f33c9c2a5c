"""Does `leadclock doctor` see each fault, and nothing where there is none? On a real Kafka, PostgreSQL and mail server."""

import asyncio
import importlib.metadata
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncpg
import msgspec
import pytest
from aiosmtpd.smtp import SMTP, AuthResult
from click.testing import CliRunner

from adapters.cli.main import cli, main
from adapters.clock import wall_now
from adapters.doctor import machine
from adapters.doctor.broker import _copies, check_certificates, check_kafka_settings
from adapters.doctor.database import check_database
from adapters.doctor.deployment import check_channels, check_contact_holds, check_numbers
from adapters.doctor.findings import Finding
from adapters.doctor.mail import check_mail
from adapters.doctor.recordings import check_recordings
from adapters.kafka.cluster_metadata import TopicDescription
from adapters.local.process import free_port
from adapters.postgres.gateways import PostgresGateways
from adapters.postgres.identity import Presence
from adapters.postgres.pool import open_pool
from adapters.postgres.server_facts import read_using_processes
from adapters.reads.ports import Serving
from adapters.roles.context import open_context
from adapters.secret_fingerprint import secret_fingerprint
from adapters.settings import Settings, load
from engine.partition.ports import Outgoing
from engine.rules import Rules
from schemas.deployment import deployment_key
from schemas.instant import DAY, EPOCH, SECOND, from_datetime
from schemas.records import EVERY_COMPANY, Body, ContactHold, Number, Record, Schedule, plain
from schemas.schedule import CallStep, SmsStep
from schemas.wire import to_json
from tests.adapters.recordings.s3_server import S3Server

SECRET = "a secret of thirty-two characters"
OTHER = "another secret of 32 characters.."
CERTIFICATE = Path(__file__).parents[1] / "gateway" / "localhost.pem"

Found = Mapping[str, list[Finding]]


@pytest.fixture
def settings(
    kafka_bootstrap: str, database: str, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {
        "KAFKA_BOOTSTRAP": kafka_bootstrap,
        "POSTGRES_DSN": database,
        "TOPIC_PREFIX": topic_prefix,
        "PARTITIONS": "1",
        "SECRET_KEY": SECRET,
        "STATE_DIR": str(tmp_path),
    }
    for name, value in values.items():
        monkeypatch.setenv(f"LEADCLOCK_{name}", value)


@pytest.fixture
async def prepared(settings: None) -> None:  # noqa: ARG001 - the variables are set first
    assert await asyncio.to_thread(main, ["topics", "create"]) == 0
    assert await asyncio.to_thread(main, ["db", "migrate"]) == 0


async def examined(status: int) -> Found:
    """Run the command in a thread of its own, and return its findings by what was looked at."""
    result = await asyncio.to_thread(CliRunner().invoke, cli, ["doctor", "--json"])
    assert result.exit_code == status, result.output
    answer = msgspec.json.decode(result.stdout)
    findings = msgspec.convert(answer["findings"], list[Finding])
    assert answer["healthy"] is (status == 0)
    assert all(finding.cure for finding in findings if finding.level != "ok")
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.check, []).append(finding)
    return found


def the_one(found: Found, check: str, level: str) -> Finding:
    [finding] = found[check]
    assert finding.level == level, finding
    return finding


@pytest.mark.usefixtures("prepared")
async def test_a_prepared_deployment_passes_and_every_part_was_looked_at() -> None:
    found = await examined(0)
    for check in ("versions", "disk", "database", "clock and database", "migrations", "replication", "topics"):
        the_one(found, check, "ok")
    for check in ("identity", "clock and broker", "numbers"):
        the_one(found, check, "ok")
    assert "are of deployment" in the_one(found, "identity", "ok").found
    # One broker, on which nothing outlives the loss of a disk, and no gateway yet.
    assert "do not outlive" in the_one(found, "broker", "warning").found
    assert "no gateway has served call, sms, email, webhook" in the_one(found, "channels", "warning").found


@pytest.mark.usefixtures("prepared")
async def test_a_person_sees_a_line_each_and_the_cure_below() -> None:
    result = await asyncio.to_thread(CliRunner().invoke, cli, ["doctor"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any(line.startswith("ok       migrations: all ") for line in lines)
    assert any(line.startswith("           -> run 3 brokers") for line in lines)
    assert lines[-1].startswith("0 failures, ")


@pytest.mark.usefixtures("settings")
async def test_before_anything_is_prepared_it_names_the_commands() -> None:
    found = await examined(1)
    assert the_one(found, "migrations", "failure").cure == "leadclock db migrate"
    topics = the_one(found, "topics", "failure")
    assert topics.cure == "leadclock topics create"
    assert "leads.inbox" in topics.found
    # What is read from topics is not looked at where there are none: one fault has one line.
    assert not found.keys() & {"identity", "clock and broker", "numbers", "channels"}


@pytest.mark.usefixtures("prepared")
async def test_a_broker_that_is_down_is_a_failure_and_the_database_is_looked_at_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LEADCLOCK_KAFKA_BOOTSTRAP", f"127.0.0.1:{free_port()}")
    found = await examined(1)
    assert "does not answer" in the_one(found, "broker", "failure").found
    the_one(found, "migrations", "ok")
    assert "topics" not in found


@pytest.mark.usefixtures("prepared")
async def test_a_database_that_is_down_is_a_failure_and_the_broker_is_looked_at_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LEADCLOCK_POSTGRES_DSN", f"postgresql://ann:hidden-word@127.0.0.1:{free_port()}/x")
    found = await examined(1)
    assert "does not answer" in the_one(found, "database", "failure").found
    assert "hidden-word" not in str(found)
    the_one(found, "topics", "ok")


@pytest.mark.usefixtures("prepared")
async def test_topics_that_differ_are_failures_with_the_command_that_corrects_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADCLOCK_REPLICAS", "2")
    found = await examined(1)
    assert {finding.level for finding in found["topics"]} == {"failure"}
    assert all("kafka-reassign-partitions.sh" in finding.cure for finding in found["topics"])


@pytest.mark.usefixtures("prepared")
async def test_a_number_of_partitions_that_the_deployment_does_not_have_is_a_failure_of_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LEADCLOCK_PARTITIONS", "2")
    finding = the_one(await examined(1), "topics", "failure")
    assert finding.cure == "LEADCLOCK_PARTITIONS=1  # fixed when the topics were made"
    name, _, value = finding.cure.partition("  #")[0].partition("=")
    monkeypatch.setenv(name, value)
    the_one(await examined(0), "topics", "ok")


@pytest.mark.usefixtures("prepared")
async def test_the_database_of_another_deployment_is_a_failure(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute(
        """UPDATE work.deployment SET id = 'x', identity = jsonb_set(identity::jsonb, '{id}', '"x"')::text"""
    )
    await connection.close()
    assert "is of deployment x" in the_one(await examined(1), "identity", "failure").found


@pytest.mark.usefixtures("prepared")
async def test_a_database_of_a_newer_release_is_a_failure(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("INSERT INTO work.migrations VALUES (9999, '9999_pre_later.sql', 'x')")
    await connection.close()
    assert "9999_pre_later.sql" in the_one(await examined(1), "migrations", "failure").found


@pytest.mark.usefixtures("prepared")
async def test_a_process_with_another_secret_key_than_the_rest_is_a_failure(database: str) -> None:
    async with open_context(load()) as context:
        await context.rules.refresh()
        deployment = context.deployment_id()
    same, different = secret_fingerprint(SECRET, deployment), secret_fingerprint(OTHER, deployment)
    async with Presence(database, "leadclock api", fingerprint=same), Presence(database, "leadclock projector"):
        await until(database, lambda names: len(names) == 2)
        assert the_one(await examined(0), "secret keys", "ok").found.startswith("the same in 1 running process")
        async with Presence(database, "leadclock gateway", fingerprint=different):
            await until(database, lambda names: len(names) == 3)
            finding = the_one(await examined(1), "secret keys", "failure")
    assert "leadclock gateway differ" in finding.found
    assert SECRET not in str(finding)


async def until(dsn: str, enough: Callable[[list[str]], bool]) -> None:
    async with asyncio.timeout(60):
        while not enough([process.name for process in await read_using_processes(dsn)]):
            await asyncio.sleep(0.01)


def test_a_fingerprint_depends_on_the_key_and_on_the_deployment() -> None:
    assert secret_fingerprint(SECRET, "a") == secret_fingerprint(SECRET, "a")
    assert len({secret_fingerprint(SECRET, "a"), secret_fingerprint(OTHER, "a"), secret_fingerprint(SECRET, "b")}) == 3
    assert 0 <= secret_fingerprint(SECRET, "a") < 2**31


@pytest.mark.usefixtures("prepared")
async def test_commands_that_were_decided_again_are_a_failure(database: str) -> None:
    connection = await asyncpg.connect(database)
    columns = "topic, partition, topic_id, next_offset, epoch, sequence, refused"
    for partition, refused in ((0, 0), (1, 3)):
        statement = f"INSERT INTO work.delivery_progress ({columns}) VALUES ('commands.sms', $1, 'id', 9, 1, 7, $2)"  # noqa: S608
        await connection.execute(statement, partition, refused)
    await connection.close()
    finding = the_one(await examined(1), "commands", "failure")
    assert finding.found.startswith("3 of commands.sms were decided again and refused")


@pytest.mark.usefixtures("prepared")
async def test_a_short_secret_key_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADCLOCK_SECRET_KEY", "short")
    assert "fewer than 32" in the_one(await examined(1), "secret key", "failure").found


@pytest.mark.usefixtures("prepared")
async def test_channels_that_a_gateway_serves_by_the_sandbox_are_named(database: str) -> None:
    pool = await open_pool(database, size=1)
    await PostgresGateways(pool).renew("one", {"call": "sandbox", "email": "smtp"})
    await pool.close()
    found = await examined(0)
    assert [(finding.level, finding.found.split(":")[0]) for finding in found["channels"]] == [
        ("ok", "served by real providers"),
        ("warning", "served by the sandbox, which reaches no real person"),
        ("ok", "no schedule has a step on one that no gateway serves"),
    ]
    assert "LEADCLOCK_SMTP_HOST is not set here" in the_one(found, "mail server", "warning").found


async def test_the_sandbox_of_a_demonstration_is_no_warning() -> None:
    context = knowing(Rules(), is_demo=True)
    findings = await check_channels(context, Serving(channels=frozenset({"call"}), sandbox=("call",)))
    assert [finding.level for finding in findings] == ["ok", "ok"]


async def test_a_channel_that_no_gateway_serves_is_a_warning_where_a_schedule_has_a_step_on_it() -> None:
    rules = Rules()
    texted = Schedule(name="Hi", lead_token="lt_1", steps=(SmsStep(id="s1", template="Hi"),))
    rules.apply(0, record("schedule", 1, 1, texted))
    findings = await check_channels(knowing(rules), Serving(channels=frozenset({"email"})))
    assert [(finding.level, finding.found) for finding in findings] == [
        ("ok", "served by real providers: email"),
        ("warning", "no gateway has served sms within a day: schedules with such steps cannot be published"),
    ]
    findings = await check_channels(knowing(rules), Serving(channels=frozenset({"email", "sms"})))
    assert [finding.found for finding in findings] == [
        "served by real providers: sms, email",
        "no schedule has a step on one that no gateway serves: call, webhook",
    ]


def knowing(rules: Rules, *, is_demo: bool = False) -> Any:
    """Return a context whose account records are these."""

    async def refresh() -> None:
        """The records are read."""

    deployment = SimpleNamespace(is_demo=is_demo)
    return SimpleNamespace(rules=SimpleNamespace(rules=rules, refresh=refresh, deployment=deployment))


@pytest.mark.usefixtures("prepared")
async def test_a_clock_behind_the_brokers_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_context(load()) as context:
        await context.rules.refresh()
        assert context.rules.deployment is not None
        appender = await context.log.appender()
        record = Outgoing(
            context.names.of("accounts.rules"), deployment_key(context.rules.deployment), to_json(context.rules.deployment)
        )
        await appender.append(0, [record])
        await appender.close()
    monkeypatch.setattr("adapters.doctor.broker.wall_now", lambda: wall_now() - 100 * SECOND)
    assert "behind a record" in the_one(await examined(1), "clock and broker", "failure").found


@pytest.mark.parametrize(("seconds", "word"), [(100, "ahead of"), (-100, "behind")])
async def test_a_clock_that_differs_from_the_databases_is_a_failure(
    database: str, monkeypatch: pytest.MonkeyPatch, seconds: int, word: str
) -> None:
    monkeypatch.setattr("adapters.doctor.database.wall_now", lambda: wall_now() + seconds * SECOND)
    [finding] = [found for found in await check_database(database) if found.check == "clock and database"]
    assert finding.level == "failure"
    assert word in finding.found


def test_a_disk_that_is_missing_or_full_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.check_disk(Settings())[0].level == "warning"
    assert machine.check_disk(Settings(state_dir=str(tmp_path / "none")))[0].level == "failure"
    assert machine.check_disk(Settings(state_dir=str(tmp_path)))[0].level == "ok"
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=10**6, total=10**12))
    assert machine.check_disk(Settings(state_dir=str(tmp_path)))[0].level == "warning"


def record(kind: str, record_id: int, company_id: int, body: Body) -> Record:
    return Record(
        type=kind, id=record_id, uuid=f"u{record_id}", company_id=company_id, version=1, created_at=EPOCH, updated_at=EPOCH,
        body=plain(body),
    )  # fmt: skip


async def test_numbers_of_two_companies_and_schedules_without_a_number_are_warnings() -> None:
    rules = Rules()
    called = Schedule(name="s", lead_token="lt", steps=(CallStep(id="a"),))
    for one in (
        record("number", 1, 1, Number(number="+13055550101")),
        record("number", 2, 2, Number(number="+13055550101")),
        record("schedule", 3, 1, called),
        record("schedule", 4, 3, called),
    ):
        rules.apply(0, one)

    assert [finding.found for finding in await check_numbers(knowing(rules))] == [
        "+13055550101 is in use by companies 1, 2",
        "company 3 has schedules with call steps and no number for them",
    ]


def test_partitions_without_a_leader_or_a_copy_are_named() -> None:
    """A broker is not killed for this: the answers are those of a cluster that lost one."""
    topic = TopicDescription("t", "id", 2, {0: [1, 2], 1: [1, 2]}, {0: -1, 1: 1}, {0: [], 1: [1]})
    assert [(finding.level, finding.found) for finding in _copies([topic])] == [
        ("failure", "no leader: t[0]"),
        ("warning", "a copy is missing or behind: t[1]"),
    ]


def test_what_crosses_a_network_in_clear_text_is_a_warning_and_what_stays_here_is_none() -> None:
    assert check_kafka_settings(Settings(kafka_bootstrap="127.0.0.1:9092,[::1]:9092")) == []
    [finding] = check_kafka_settings(Settings(kafka_bootstrap="127.0.0.1:9092,k2.example.com:9092"))
    assert finding.level == "warning"
    [finding] = check_kafka_settings(Settings(kafka_bootstrap="k:1", kafka_security="SASL_SSL"))
    assert finding.level == "failure"
    assert finding.found == "SASL_SSL with SCRAM-SHA-512 needs LEADCLOCK_KAFKA_USERNAME and LEADCLOCK_KAFKA_PASSWORD"


@pytest.fixture
async def tls_port() -> AsyncIterator[int]:
    """A server that only greets by TLS, as a broker's listener does first."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(CERTIFICATE)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=tls)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


async def test_a_certificate_is_trusted_only_with_its_authority_and_its_days_are_counted(tls_port: int) -> None:
    trusted = Settings(kafka_bootstrap=f"localhost:{tls_port}", kafka_security="SSL", kafka_ca_file=str(CERTIFICATE))
    [finding] = await check_certificates(trusted)
    assert finding.level == "ok", finding
    assert "TLSv1.3, its certificate holds for" in finding.found
    [finding] = await check_certificates(msgspec.structs.replace(trusted, kafka_ca_file=None))
    assert (finding.level, "LEADCLOCK_KAFKA_CA_FILE" in finding.cure) == ("failure", True)
    [finding] = await check_certificates(msgspec.structs.replace(trusted, kafka_ca_file="/no/such.pem"))
    assert "cannot be read" in finding.found


async def test_a_listener_without_tls_is_a_failure(kafka_bootstrap: str) -> None:
    [finding] = await check_certificates(Settings(kafka_bootstrap=kafka_bootstrap, kafka_security="SSL"))
    assert finding.level == "failure"


@pytest.fixture
async def mail_port() -> AsyncIterator[int]:
    """A mail server that wants a login."""

    def authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
        return AuthResult(success=given.password == b"right", handled=False)

    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(object(), authenticator=authenticate, auth_require_tls=False, hostname="here"), "127.0.0.1", 0
    )
    yield server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()


def mail(port: int, **given: Any) -> Settings:
    values: dict[str, Any] = {
        "smtp_host": "127.0.0.1",
        "smtp_port": port,
        "email_from": "leads@example.com",
        "public_url": "https://leads.example.com",
    }
    return Settings(**(values | given))


async def test_a_mail_server_is_greeted_and_logged_in_to(mail_port: int) -> None:
    findings = await check_mail(mail(mail_port, smtp_username="ann", smtp_password="right"), is_served=True)
    assert [(finding.level, finding.found) for finding in findings] == [
        ("ok", f"127.0.0.1:{mail_port} takes us with a login, without TLS"),
        ("ok", "e-mails have links to https://leads.example.com/unsubscribe/…"),
    ]


@pytest.mark.parametrize(
    ("public_url", "said"), [("", "no List-Unsubscribe"), ("http://leads.example.com", "cannot unsubscribe by one click")]
)
async def test_e_mails_without_a_link_to_unsubscribe_are_a_warning(mail_port: int, public_url: str, said: str) -> None:
    findings = await check_mail(mail(mail_port, public_url=public_url), is_served=True)
    assert [finding.level for finding in findings] == ["ok", "warning"]
    assert said in findings[-1].found
    assert "LEADCLOCK_PUBLIC_URL" in findings[-1].cure


async def test_a_wrong_password_tls_that_is_not_there_and_no_server_are_failures(mail_port: int) -> None:
    [finding] = await check_mail(mail(mail_port, smtp_username="ann", smtp_password="wrong"), is_served=True)
    assert (finding.level, "refuses the login" in finding.found) == ("failure", True)
    [finding] = await check_mail(mail(mail_port, smtp_starttls=True), is_served=True)
    assert (finding.level, "LEADCLOCK_SMTP_STARTTLS" in finding.cure) == ("failure", True)
    [finding] = await check_mail(mail(free_port()), is_served=True)
    assert finding.level == "failure"


async def test_a_sender_that_no_one_can_answer_is_a_warning(mail_port: int) -> None:
    findings = await check_mail(mail(mail_port, email_from=Settings().email_from), is_served=False)
    assert [(finding.check, finding.level) for finding in findings] == [
        ("mail server", "ok"),
        ("mail server", "warning"),
        ("unsubscribe links", "ok"),
    ]


@pytest.fixture
def recordings(s3_server: S3Server) -> Callable[..., Settings]:
    """Makes settings of a bucket that is there, or with changes."""
    bucket = s3_server.bucket()
    values = {
        "bucket": f"s3://{bucket.name}/voices",
        "endpoint": bucket.endpoint,
        "region": bucket.region,
        "access_key": bucket.access_key,
        "secret_key": bucket.secret_key,
    }

    def make(**more: Any) -> Settings:
        return Settings(**{f"recordings_{name}": value for name, value in {**values, **more}.items()})

    return make


def _name_of(settings: Settings) -> str:
    return settings.recordings_bucket.split("/")[2]


async def test_a_bucket_of_recordings_is_tried_and_left_as_it_was(
    recordings: Callable[..., Settings], s3_server: S3Server
) -> None:
    settings = recordings()

    [finding] = await check_recordings(settings)

    assert finding.level == "ok"
    assert "stored, read and deleted" in finding.found
    assert [
        path for path in (s3_server.objects / settings.recordings_bucket[5:].split("/")[0]).rglob("*") if path.is_file()
    ] == []


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({"secret_key": "another"}, "SignatureDoesNotMatch"),
        ({"bucket": "s3://no-such-bucket"}, "NoSuchBucket"),
        ({"access_key": ""}, "need each other"),
        ({"dir": "/var/lib/leadclock/recordings"}, "not both"),
        ({"bucket": ""}, "no effect of LEADCLOCK_RECORDINGS_ENDPOINT"),
    ],
)
async def test_a_bucket_that_cannot_be_used_is_a_failure_and_its_secret_is_not_shown(
    recordings: Callable[..., Settings], more: Mapping[str, str], found: str
) -> None:
    settings = recordings(**more)

    [finding] = await check_recordings(settings)

    assert finding.level == "failure"
    assert found in finding.found
    assert finding.cure
    assert settings.recordings_secret_key not in str(finding)


async def test_a_bucket_that_keeps_versions_is_a_warning(recordings: Callable[..., Settings], s3_server: S3Server) -> None:
    settings = recordings()
    s3_server.keep_versions(_name_of(settings))

    fine, finding = await check_recordings(settings)

    assert (fine.level, finding.level) == ("ok", "warning")
    assert "keeps versions" in finding.found


async def test_a_folder_of_recordings_is_looked_at_and_not_made(tmp_path: Path) -> None:
    there, away, file = tmp_path / "there", tmp_path / "away", tmp_path / "file"
    there.mkdir()
    file.write_text("")

    found = [await check_recordings(Settings(recordings_dir=str(path))) for path in (there, away, file)]

    assert [[one.level for one in some] for some in found] == [["ok"], ["warning"], ["failure"]]
    assert not away.exists()
    assert await check_recordings(Settings()) == []


async def test_each_hold_in_force_is_named_with_its_reason_and_the_command_that_releases_it() -> None:
    rules = Rules()
    assert [finding.found for finding in await check_contact_holds(knowing(rules))] == ["none"]
    rules.apply(0, record("contact_hold", 5, EVERY_COMPANY, ContactHold(reason="wrong prices")))
    rules.apply(0, record("contact_hold", 6, 3, ContactHold(reason="no lines", channels=("call",))))

    found = await check_contact_holds(knowing(rules))

    assert [finding.level for finding in found] == ["warning", "warning"]
    assert [finding.found.partition(" is on hold since ")[0] for finding in found] == ["every company", "company 3"]
    assert [finding.found.rpartition(": ")[2] for finding in found] == ["wrong prices", "no lines"]
    assert [finding.cure.rpartition("leadclock release ")[2] for finding in found] == ["5`", "6`"]


def test_telephone_metadata_that_is_too_old_is_warned_of() -> None:
    version, released = machine.TELEPHONE_METADATA
    born = from_datetime(datetime(released.year, released.month, released.day, 12, tzinfo=UTC))

    assert version == importlib.metadata.version("phonenumbers"), "write the new release and its date into machine.py"
    assert machine.check_telephone_metadata(version, born + 120 * DAY) == []
    (finding,) = machine.check_telephone_metadata(version, born + 121 * DAY)
    assert (finding.level, "121 days old" in finding.found) == ("warning", True)
    assert machine.check_telephone_metadata("9.9.99", born + 999 * DAY) == []
