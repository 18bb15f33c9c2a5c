"""Does the page on providers say what the code does, and does its example keep the contract, written from the page alone?"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.providers.asterisk.outcomes import UNANSWERED as ASTERISK_CAUSES
from adapters.providers.asterisk.settings import AsteriskSettings
from adapters.providers.mail_vendors.sendgrid import SendGridAccount
from adapters.providers.mail_vendors.ses import SesAccount
from adapters.providers.smpp import errors as smpp_errors
from adapters.providers.smpp.provider import SmppSettings
from adapters.providers.smtp.provider import SmtpAccount
from adapters.providers.telnyx import errors as telnyx_errors
from adapters.providers.telnyx.outcomes import UNANSWERED
from adapters.providers.telnyx.provider import TelnyxSettings
from adapters.providers.twilio import errors as twilio_errors
from adapters.providers.twilio.provider import TwilioSettings

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "deploy/docs/providers.md").read_text("utf-8")


def section(title: str) -> str:
    """The part of the page below a heading."""
    found: str = re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return found


@pytest.mark.parametrize(("vendor", "tables"), [("Twilio", twilio_errors), ("Telnyx", telnyx_errors)])
def test_the_page_has_every_code_of_the_tables_and_no_other(vendor: str, tables: Any) -> None:
    rows = re.findall(r"^\| (\d{5}) \| (.* \| (?:yes|no) \| .*) \|$", section(vendor), re.MULTILINE)
    receipts = re.findall(r"^\| (\d{5}) \| (`\w+` \| (?!yes|no)[^|]*) \|$", section(vendor), re.MULTILINE)

    assert dict(rows) == {
        str(code): f"`{row.outcome}` | {'yes' if row.tries_next else 'no'} | {row.says}"
        for code, row in tables.ORDER_ERRORS.items()
    }
    assert dict(receipts) == {str(code): f"`{row.outcome}` | {row.says}" for code, row in tables.RECEIPT_ERRORS.items()}
    assert (len(rows), len(receipts)) == (len(tables.ORDER_ERRORS), len(tables.RECEIPT_ERRORS))


@pytest.mark.parametrize(
    ("vendor", "name"),
    [
        *(("Twilio", name) for name in TwilioSettings.__struct_fields__),
        *(("Telnyx", name) for name in TelnyxSettings.__struct_fields__),
        *(("Asterisk", name) for name in AsteriskSettings.__struct_fields__),
        *(("SMPP", name) for name in SmppSettings.__struct_fields__),
        *(("SMTP", name) for name in SmtpAccount.__struct_fields__),
        *(("SMTP", name) for account in (SesAccount, SendGridAccount) for name in account.__struct_fields__),
    ],
)
def test_the_page_describes_every_setting(vendor: str, name: str) -> None:
    assert f"| `{name}` |" in section(vendor)


def test_the_page_has_every_status_and_state_of_smpp_and_no_other() -> None:
    statuses = re.findall(r"^\| (0x\w\w) \| (.*) \|$", section("SMPP"), re.MULTILINE)
    states = re.findall(r"^\| `([A-Z]{7})` \| `(\w+)` \|$", section("SMPP"), re.MULTILINE)

    assert dict(statuses) == {
        f"0x{status:02X}": f"`{row.outcome}` | {'yes' if row.tries_next else 'no'} | {row.says}"
        for status, row in smpp_errors.ORDER_ERRORS.items()
    }
    assert dict(states) == smpp_errors.RECEIPT_STATES
    assert (len(statuses), len(states)) == (len(smpp_errors.ORDER_ERRORS), len(smpp_errors.RECEIPT_STATES))


@pytest.mark.parametrize("cause", UNANSWERED)
def test_the_page_says_what_each_cause_of_telnyx_means(cause: str) -> None:
    assert f"`{cause}`" in section("Telnyx")


def test_the_page_says_what_each_cause_of_asterisk_means() -> None:
    rows = re.findall(r"^\| ([0-9, ]+): [^|]* \| `(\w+)` \|$", section("Asterisk"), re.MULTILINE)

    assert {int(cause): outcome for causes, outcome in rows for cause in causes.split(",")} == ASTERISK_CAUSES


def test_the_pages_provider_passes_the_contract_suite_in_a_folder_of_its_own(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL)
    assert [name for name, _ in blocks] == ["example_carrier.py", "test_example_carrier.py"]
    for name, text in blocks:
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout
