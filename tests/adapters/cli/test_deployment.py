"""Which deployment does a command take where two are in reach? None, until one is typed."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click
import pytest
import structlog
from click.testing import CliRunner, Result

from adapters.cli.deployment import find_running, option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.main import cli
from adapters.settings import Settings, to_environment
from adapters.up.folder import Running, write_private
from schemas.instant import EPOCH
from schemas.wire import to_json

SHELL = {
    "LEADCLOCK_KAFKA_BOOTSTRAP": "broker:9092",
    "LEADCLOCK_POSTGRES_DSN": "postgresql://leadclock:hunter2@db:5432/leads",
    "LEADCLOCK_TOPIC_PREFIX": "prod.",
}
OWN = Settings(kafka_bootstrap="127.0.0.1:7001", postgres_dsn="postgresql://127.0.0.1:7002/postgres", secret_key="s" * 40)


@click.command()
@option
@report_errors
def ask(data_dir: Path, as_json: bool) -> None:  # noqa: ARG001 - the options of every command
    settings = resolve_settings(data_dir)
    click.echo(f"{settings.kafka_bootstrap} {settings.postgres_dsn} {settings.topic_prefix!r}")


@click.command()
@option
@report_errors
def look(data_dir: Path, as_json: bool) -> None:  # noqa: ARG001 - the options of every command
    click.echo(find_running(data_dir).mail_folder)


def run_up(folder: Path = Path(".leadclock"), *, ephemeral_in: str = "") -> None:
    """Leave what a running `up` leaves; this very process stands in for it."""
    folder.mkdir(parents=True)
    running = Running(
        pid=os.getpid(),
        api_url="http://127.0.0.1:8080",
        started_at=EPOCH,
        environment=to_environment(OWN),
        mail_folder="mail",
        data_folder=str(folder),
        ephemeral_in=ephemeral_in,
    )
    write_private(folder / "up.json", to_json(running))


def asked(*arguments: str, environ: Mapping[str, str] = SHELL, command: click.Command = ask) -> Result:
    return CliRunner().invoke(command, list(arguments), env=environ)


UP = "127.0.0.1:7001 postgresql://127.0.0.1:7002/postgres ''"
ENV = "broker:9092 postgresql://leadclock:hunter2@db:5432/leads 'prod.'"


@pytest.mark.parametrize("environ", [SHELL, {"LEADCLOCK_POSTGRES_DSN": "postgresql://db:5432/leads"}])
def test_a_command_that_faces_an_up_and_settings_of_the_shell_refuses_and_names_both(environ: Mapping[str, str]) -> None:
    run_up()
    result = asked(environ=environ)
    assert result.exit_code == 1
    assert "http://127.0.0.1:8080" in result.output
    assert "db:5432/leads" in result.output
    assert "--deployment up" in result.output
    assert "--deployment env" in result.output
    assert "hunter2" not in result.output


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files of the system."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_an_up_with_a_fresh_folder_is_in_reach_where_it_was_started(temporary: Path) -> None:
    run_up(temporary / "leadclock-x1", ephemeral_in=str(Path.cwd()))
    refused = asked()
    assert (refused.exit_code, "--ephemeral" in refused.output, "--deployment env" in refused.output) == (1, True, True)
    assert asked("--deployment", "env").stdout.strip() == ENV
    assert asked("--deployment", "up").stdout.strip() == UP
    assert asked(environ={}).stdout.strip() == UP
    assert "8080" in asked(environ={}).stderr, "it says which it uses"


def test_an_up_with_a_fresh_folder_below_a_typed_one_is_found_by_that(tmp_path: Path) -> None:
    run_up(tmp_path / "other" / "leadclock-x1", ephemeral_in="/elsewhere")
    assert asked("--data-dir", "other").stdout.strip() == UP


def test_an_up_with_a_fresh_folder_is_not_in_reach_of_other_folders_and_users(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_up(temporary / "leadclock-x1", ephemeral_in="/elsewhere")
    assert asked().stdout.strip() == ENV
    run_up(temporary / "leadclock-x2", ephemeral_in=str(Path.cwd()))
    other_user = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other_user)
    assert asked().stdout.strip() == ENV


def test_settings_of_a_file_that_the_shell_names_count_as_settings_of_the_shell(tmp_path: Path) -> None:
    run_up()
    file = tmp_path / "leadclock.toml"
    file.write_text('kafka_bootstrap = "broker:9092"\n')
    result = asked(environ={"LEADCLOCK_CONFIG": str(file)})
    assert (result.exit_code, "broker:9092" in result.output) == (1, True)


@pytest.mark.parametrize(("typed", "taken"), [("up", UP), ("env", ENV)])
def test_the_one_that_is_typed_is_taken_whole(typed: str, taken: str) -> None:
    run_up()
    assert asked("--deployment", typed).stdout.strip() == taken


def test_a_folder_that_is_typed_means_the_up_in_it(tmp_path: Path) -> None:
    run_up(tmp_path / "other")
    assert asked("--data-dir", "other").stdout.strip() == UP
    result = asked("--data-dir", "nowhere")
    assert (result.exit_code, "no `leadclock up` runs in nowhere" in result.output) == (1, True)


def test_a_folder_and_the_settings_of_the_shell_contradict_each_other() -> None:
    result = asked("--data-dir", "other", "--deployment", "env")
    assert result.exit_code == 2
    assert "--data-dir" in result.output


def test_where_only_one_is_in_reach_it_is_taken() -> None:
    assert asked().stdout.strip() == ENV
    run_up()
    assert asked(environ={"LEADCLOCK_LOG_LEVEL": "debug", "LEADCLOCK_TOPIC_PREFIX": "prod."}).stdout.strip() == UP


def test_settings_of_the_shell_that_are_typed_and_missing_are_named() -> None:
    run_up()
    result = asked("--deployment", "env", environ={})
    assert (result.exit_code, "LEADCLOCK_KAFKA_BOOTSTRAP" in result.output) == (1, True)


def test_what_only_an_up_keeps_is_not_looked_for_in_the_deployment_of_the_shell() -> None:
    run_up()
    assert asked(command=look, environ={}).stdout.strip() == "mail"
    assert asked("--deployment", "up", command=look).stdout.strip() == "mail"
    assert asked("--deployment", "env", command=look).exit_code == 2


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("mail",), "Type --deployment up\n"),
        (("company", "export"), "Type --deployment up; for a deployment that runs elsewhere, type --api"),
        (("schedules", "publish", "7"), "Type --deployment up; for a deployment that runs elsewhere, type --api"),
    ],
)
def test_a_command_that_works_with_an_up_or_an_address_refuses_beside_settings_of_the_shell_too(
    words: tuple[str, ...], cure: str
) -> None:
    run_up()
    result = asked(*words, command=cli)
    assert result.exit_code == 1
    assert "two deployments are in reach" in result.output
    assert cure in result.output


@pytest.mark.parametrize("words", [("company", "export"), ("schedules", "publish", "7")])
def test_a_command_that_takes_the_address_of_an_api_says_so_where_no_up_runs(words: tuple[str, ...]) -> None:
    result = asked(*words, command=cli)
    assert (result.exit_code, "type --api with the address of its API, and --key" in result.output) == (1, True)
    assert "with one only" not in result.output


def test_an_unknown_variable_is_refused_also_where_the_up_is_used() -> None:
    run_up()
    result = asked(environ={"LEADCLOCK_KAFKA_BOOTSTRP": "broker:9092"})
    assert (result.exit_code, "LEADCLOCK_KAFKA_BOOTSTRAP" in result.output) == (1, True)


def test_what_a_command_logs_does_not_stand_among_its_results(capsys: pytest.CaptureFixture[str]) -> None:
    """A program reads `audit verify --json` from standard output, also where a record was skipped."""

    async def work() -> None:
        structlog.get_logger("a command").error("record.skipped", offset=3)

    structlog.configure(logger_factory=structlog.PrintLoggerFactory())  # as another test of this process may leave it
    try:
        run(work())
    finally:
        structlog.reset_defaults()

    found = capsys.readouterr()
    assert found.out == ""
    assert "record.skipped" in found.err
