"""Does a shell learn how a command ended?"""

import asyncio

import pytest

from adapters.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["--help"], 0), (["--version"], 0), (["preview", "--help"], 0), (["no-such"], 2), (["preview", "--no-such"], 2)],
)
def test_what_needs_no_deployment_has_its_status(arguments: list[str], status: int) -> None:
    assert main(arguments) == status


async def test_a_command_that_finds_something_wrong_ends_with_one(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADCLOCK_POSTGRES_DSN", database)
    assert await asyncio.to_thread(main, ["db", "status", "--json"]) == 1
    assert await asyncio.to_thread(main, ["db", "migrate", "--json"]) == 0
    assert await asyncio.to_thread(main, ["db", "status", "--json"]) == 0
