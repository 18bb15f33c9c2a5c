"""Does the page on providers say what the code does, and does its example keep the contract, written from the page alone?"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.providers.twilio.errors import ORDER_ERRORS, RECEIPT_ERRORS
from adapters.providers.twilio.provider import TwilioSettings

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "deploy/docs/providers.md").read_text("utf-8")


def test_the_page_has_every_code_of_the_tables_and_no_other() -> None:
    orders = {
        int(code): rest for code, rest in re.findall(r"^\| (\d{5}) \| (.* \| (?:yes|no) \| .*) \|$", PAGE, re.MULTILINE)
    }
    receipts = dict(re.findall(r"^\| (\d{5}) \| (`\w+` \| (?!yes|no)[^|]*) \|$", PAGE, re.MULTILINE))

    assert orders == {
        code: f"`{row.outcome}` | {'yes' if row.tries_next else 'no'} | {row.says}" for code, row in ORDER_ERRORS.items()
    }
    assert receipts == {str(code): f"`{row.outcome}` | {row.says}" for code, row in RECEIPT_ERRORS.items()}


@pytest.mark.parametrize("name", TwilioSettings.__struct_fields__)
def test_the_page_describes_every_setting_of_twilio(name: str) -> None:
    assert f"| `{name}` |" in PAGE


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
