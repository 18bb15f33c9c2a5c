"""Is the first possibility taken that can serve, is a choice kept, and is the reason said?"""

from pathlib import Path

import pytest

from adapters.local import resolution
from adapters.local.jars import JarsUnavailableError, cache_folder, find_jars, find_java, kafka_version
from adapters.local.process import free_port
from adapters.local.resolution import BOOTSTRAP_VARIABLE, DSN_VARIABLE, UnavailableError

NO_JAVA = {"PATH": "", "HOME": "/nonexistent", "DOCKER_HOST": "tcp://127.0.0.1:9"}


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")  # the discard port: nobody answers


async def test_a_named_broker_is_taken_before_all_others(kafka_bootstrap: str, data_dir: Path) -> None:
    async with resolution.broker(data_dir, given=kafka_bootstrap) as broker:
        assert (broker.kind, broker.bootstrap) == ("given", kafka_bootstrap)
        broker.check()


async def test_a_named_broker_that_does_not_answer_is_an_error_and_never_replaced(data_dir: Path) -> None:
    with pytest.raises(UnavailableError, match=BOOTSTRAP_VARIABLE):
        async with resolution.broker(data_dir, given=f"127.0.0.1:{free_port()}"):
            pass


async def test_a_broker_that_the_environment_names_is_passed_over_for_a_managed_kafka(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BOOTSTRAP_VARIABLE, "127.0.0.1:9")

    async with resolution.broker(data_dir) as broker:
        assert broker.kind == "managed"
        assert str(data_dir) in broker.sentence
        broker.check()


@pytest.mark.usefixtures("no_engine")
async def test_without_java_and_containers_the_embedded_log_serves_and_the_reason_is_said(data_dir: Path) -> None:
    async with resolution.broker(data_dir, environ=NO_JAVA) as broker:
        assert (broker.kind, broker.bootstrap) == ("embedded", "embedded")
        assert "EMBEDDED" in broker.sentence
        assert "Java 17" in broker.sentence
        assert "no container engine answers" in broker.sentence


@pytest.mark.usefixtures("no_engine")
async def test_who_wishes_kafka_never_gets_the_embedded_log(data_dir: Path) -> None:
    with pytest.raises(UnavailableError, match="Java 17"):
        async with resolution.broker(data_dir, choice="kafka", environ=NO_JAVA):
            pass


async def test_the_embedded_log_can_be_asked_for(data_dir: Path) -> None:
    async with resolution.broker(data_dir, choice="embedded") as broker:
        assert broker.bootstrap == "embedded"


async def test_a_named_database_is_taken_before_all_others(database: str, data_dir: Path) -> None:
    async with resolution.database(data_dir, given=database) as found:
        assert (found.kind, found.dsn) == ("given", database)


async def test_a_named_database_that_does_not_answer_is_an_error_without_its_password(data_dir: Path) -> None:
    dsn = f"postgresql://someone:hunter2@127.0.0.1:{free_port()}/leads"

    with pytest.raises(UnavailableError, match=DSN_VARIABLE) as raised:
        async with resolution.database(data_dir, given=dsn):
            pass

    assert "hunter2" not in str(raised.value)


async def test_a_database_that_the_environment_names_is_passed_over_for_a_managed_one(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DSN_VARIABLE, "postgresql://someone@127.0.0.1:9/leads")

    async with resolution.database(data_dir, durable=False) as found:
        assert found.kind == "managed"
        found.check()


@pytest.mark.parametrize(
    ("stated", "java"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', True, id="17"),
        pytest.param('java version "1.8.0_392"', False, id="8"),
        pytest.param('openjdk version "11.0.2" 2019-01-15', False, id="11"),
        pytest.param('openjdk version "21" 2023-09-19', True, id="21"),
        pytest.param("no java here", False, id="none"),
    ],
)
def test_a_java_counts_from_17_on(tmp_path: Path, stated: str, *, java: bool) -> None:
    program = tmp_path / "java"
    program.write_text(f"#!/bin/sh\necho '{stated}' >&2\n")
    program.chmod(0o755)

    if java:
        assert find_java({"PATH": str(tmp_path)}) == program
    else:
        with pytest.raises(JarsUnavailableError, match="Java 17"):
            find_java({"PATH": str(tmp_path)})


def test_jars_that_cannot_be_fetched_leave_nothing_and_say_one_sentence(tmp_path: Path) -> None:
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho '[ERROR] Could not transfer artifact'\nexit 1\n")
    maven.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    with pytest.raises(JarsUnavailableError, match="Could not transfer artifact"):
        find_jars(environ)

    assert [path.name for path in (tmp_path / "cache" / "leadclock").iterdir()] == ["fetching.lock"]


def test_the_cache_folder_follows_the_users_settings(tmp_path: Path) -> None:
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "leadclock"
    assert cache_folder({"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path)}) == tmp_path / ".cache" / "leadclock"
    assert kafka_version().startswith("4.")
