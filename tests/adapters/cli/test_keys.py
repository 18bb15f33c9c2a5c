"""Can somebody make, list and revoke the keys of operators by typing? On a real database, without a broker."""

import asyncio
import json
from collections.abc import Callable

import pytest

from adapters.cli.main import main
from adapters.postgres.operators import PostgresOperators
from adapters.postgres.pool import open_pool
from adapters.reads.ports import OperatorKey, Row

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(migrated_database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    monkeypatch.setenv("LEADCLOCK_POSTGRES_DSN", migrated_database)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["keys", *arguments])
        return status, *capsys.readouterr()

    return run


def stored(dsn: str, public_key: str) -> tuple[OperatorKey | None, list[Row]]:
    async def read() -> tuple[OperatorKey | None, list[Row]]:
        pool = await open_pool(dsn, size=1)
        operators = PostgresOperators(pool)
        found = await operators.key(public_key), list(await operators.audits(before=2**53, limit=10))
        await pool.close()
        return found

    return asyncio.run(read())


def test_an_operator_key_is_made_listed_and_revoked_and_each_change_is_audited(typed: Typed, migrated_database: str) -> None:
    status, out, _ = typed("create", "--operator", "--name", "Ada", "--json")
    made = json.loads(out)
    assert (status, made["operator"], made["public_key"][:3]) == (0, True, "op_")
    key, _ = stored(migrated_database, made["public_key"])
    assert key is not None
    assert (key.name, key.is_revoked) == ("Ada", False)
    assert made["private_key"] not in key.private_key_sha256
    assert typed("list", "--operator")[1].splitlines()[1:] == [f"{made['public_key']}  Ada"]
    status, out, _ = typed("revoke", "--operator", made["public_key"])
    assert (status, out.startswith(f"{made['public_key']} is revoked since 20")) == (0, True)
    revoked_at = json.loads(typed("revoke", "--operator", made["public_key"], "--json")[1])["revoked_at"]
    headings, *rows = typed("list", "--operator")[1].splitlines()
    assert headings.split("  ")[0] == "public key"
    assert any(row.endswith(f"  {revoked_at}") for row in rows), "revoked once more, it stays as it was"
    key, audits = stored(migrated_database, made["public_key"])
    assert key is not None
    assert key.is_revoked
    assert [row["action"] for row in audits] == ["operator_key.revoked"] * 2 + ["operator_key.created"]
    assert all(row["actor"].startswith("cli/") and row["address"] and row["outcome"] == "done" for row in audits)


def test_what_cannot_be_meant_is_refused(typed: Typed) -> None:
    for arguments in (
        ["create"],
        ["create", "--operator", "--company", "1"],
        ["create", "--operator", "--company-name", "X"],
        ["create", "--operator", "--name", " "],
        ["create", "--operator", "--name", "x" * 201],
        ["list"],
        ["list", "--operator", "--company", "1"],
        ["revoke"],
    ):
        assert typed(*arguments)[0] == 2, arguments
    status, _, err = typed("revoke", "--operator", "op_none")
    assert (status, "there is no operator key op_none" in err) == (1, True)
