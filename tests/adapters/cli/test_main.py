"""Does a shell learn how a command ended?"""

import asyncio
import importlib
import subprocess
import sys

import pytest

from adapters.cli.failures import EXPECTED, is_expected
from adapters.cli.main import cli, main
from adapters.roles.table import ROLES
from engine.partition.ports import FencedError


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--help"], 0), (["--version"], 0), (["preview", "--help"], 0), (["no-such"], 2), (["preview", "--no-such"], 2)],
)
def test_what_needs_no_deployment_has_its_status(arguments: list[str], status: int) -> None:
    assert main(arguments) == status


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["up", "--port", "99999"], "--port"),
        (["leads", "list", "--company", str(2**63)], "--company"),
        (["leads", "list", "--cursor", str(2**53)], "--cursor"),
        (["explain", "1", "--company", "0"], "--company"),
        (["keys", "list", "--company", "-1"], "--company"),
        (["deadletter", "redrive", "²:1"], "PARTITION:OFFSET"),
        (["audit", "verify", "--partition", "-1"], "--partition"),
    ],
)
def test_an_invalid_number_is_reported_by_its_option(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert named in capsys.readouterr().err


async def test_an_invalid_port_in_the_settings_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEADCLOCK_HTTP_PORT", "99999")
    assert await asyncio.to_thread(main, ["api"]) == 1
    assert "LEADCLOCK_HTTP_PORT" in capsys.readouterr().err


async def test_a_command_that_finds_something_wrong_ends_with_one(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADCLOCK_POSTGRES_DSN", database)
    assert await asyncio.to_thread(main, ["db", "status", "--json"]) == 1
    assert await asyncio.to_thread(main, ["db", "migrate", "--json"]) == 0
    assert await asyncio.to_thread(main, ["db", "status", "--json"]) == 0


async def test_what_a_broker_refuses_is_not_called_silence(
    kafka_bootstrap: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LEADCLOCK_KAFKA_BOOTSTRAP", kafka_bootstrap)

    status = await asyncio.to_thread(main, ["topics", "acls", "--apply"])

    said = capsys.readouterr().err
    assert (status, "No Authorizer is configured" in said, "does not answer" in said) == (1, True, False), said


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_expected_error_is_there_under_its_name(name: str) -> None:
    module, _, kind = name.rpartition(".")
    found = getattr(importlib.import_module(module), kind)
    assert issubclass(found, Exception)
    assert is_expected(found.__new__(found))


def test_what_is_a_kind_of_an_expected_error_is_expected_and_nothing_else() -> None:
    assert is_expected(FencedError("topic", 1))
    assert not is_expected(ValueError())


@pytest.mark.parametrize(
    ("raised", "shown"),
    [(KeyboardInterrupt(), None), (asyncio.IncompleteReadError(b"", None), asyncio.IncompleteReadError)],
)
def test_a_command_that_is_interrupted_ends_so_and_a_fault_is_not_called_an_interruption(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, shown: type[BaseException] | None
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "invoke", fail)
    if shown is None:
        assert main(["bench"]) == 130
    else:
        with pytest.raises(shown):
            main(["bench"])


@pytest.mark.parametrize("role", ["scheduler", "accounts"])
def test_a_role_that_decides_loads_neither_the_interface_nor_the_database(role: str) -> None:
    """A second of a core at every start: under load it was most of the time until a partition was taken over."""
    module, _ = ROLES[role]
    script = f"import sys, adapters.cli.roles, {module}; print(*sys.modules)"
    child = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in child.stdout.split()} | set(child.stdout.split())
    assert not loaded & {"litestar", "asyncpg", "apscheduler", "httpx", "adapters.http", "adapters.up.stack"}
