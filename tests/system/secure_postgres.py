"""How does a PostgreSQL run that takes nobody without TLS? Debian's, because the wheel's is built without it."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

import asyncpg

from adapters.local import postgres
from adapters.local.postgres import DATABASE, SUPERUSER, ManagedPostgres, Programs, installations
from adapters.local.process import LOCALHOST, Account
from tests.system.certificates import Authority, Issued

USER = "leadclock"
"""Logs in by a client certificate of this subject alone, and owns the database."""

RULES = f"hostssl all {SUPERUSER} {LOCALHOST}/32 scram-sha-256\nhostssl all {USER} {LOCALHOST}/32 cert\n"


class SecurePostgres(ManagedPostgres):
    """A server whose every connection is TLS; the folder must be open to others (PostgreSQL 15)."""

    def __init__(self, folder: Path, authority: Authority, server: Issued) -> None:
        files = {"ssl_cert_file": "server.pem", "ssl_key_file": "server.key", "ssl_ca_file": "ca.pem"}
        super().__init__(folder, durable=False, settings={"ssl": "on", **files})
        self._files = {"server.pem": server.certificate, "server.key": server.key, "ca.pem": authority.certificate}

    @property
    def address(self) -> str:
        """Where USER connects, without anything about TLS."""
        return self.dsn.replace(f"{SUPERUSER}:{self._password}@", f"{USER}@")

    async def _initialise(self, programs: Programs, account: Account | None) -> None:
        await super()._initialise(programs, account)
        for name, source in self._files.items():
            path = Path(shutil.copy(source, self._cluster / name))
            path.chmod(0o600)
            if account:
                os.chown(path, account.uid, account.gid)
        (self._cluster / "pg_hba.conf").write_text(RULES)

    async def _create_database(self) -> None:
        connection = await asyncpg.connect(self._dsn(SUPERUSER))
        await connection.execute(f"CREATE ROLE {USER} LOGIN")
        await connection.execute(f"CREATE DATABASE {DATABASE} OWNER {USER}")
        await connection.close()


@asynccontextmanager
async def secure_postgres(folder: Path, authority: Authority, server: Issued) -> AsyncIterator[SecurePostgres]:
    """Run one in an open folder."""
    systems = [programs for programs in installations() if not programs.from_wheel]
    assert systems, "This test needs a PostgreSQL that is built with TLS: apt-get install postgresql"
    running = SecurePostgres(folder, authority, server)
    with patch.object(postgres, "installations", lambda: systems):
        await running.start()
    try:
        yield running
    finally:
        await running.stop()
