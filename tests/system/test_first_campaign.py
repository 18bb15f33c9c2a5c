"""Does "Your first campaign" work word for word? Every block of the page is pasted into a shell beside a `leadclock up`."""

import csv
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from tests.pace import bound
from tests.system.up_process import PROGRAM, UpProcess

pytestmark = pytest.mark.system

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "first-campaign.md"
HEADINGS = '"caller_id","status","human_status"'
WALK_SECONDS = bound(240.0)
"""The page says two minutes; this machine may run other tests beside it."""

SHELL = 'set -eu\nexport PATH="{folder}:$PATH"\n'


@pytest.fixture
def up(tmp_path: Path) -> Iterator[UpProcess]:
    up = UpProcess(tmp_path)
    yield up
    up.end()


def blocks() -> dict[str, list[str]]:
    """Return the blocks of shell lines, by the number of their section."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE):
        found[section[:1]] = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return found


def test_the_page_leads_from_an_empty_company_to_a_report(up: UpProcess) -> None:
    base = up.start()["api_url"]
    shell = SHELL.format(folder=Path(PROGRAM).parent)
    by_section = blocks()

    def paste(first: str, last: str) -> list[str]:
        """Paste the blocks of these sections, after those that set names; return what each printed."""
        names = "".join(block for number in "1" for block in by_section[number]).replace("http://127.0.0.1:8080", base)
        own = [block for number, some in by_section.items() if first <= number <= last for block in some]
        text = "".join(f"{block}\necho '---'\n" for block in own if block not in by_section["1"])
        known = names if first == "1" else re.sub(r"^leadclock keys create.*\n", "", names, flags=re.MULTILINE)
        done = up.paste(shell + known + text)
        assert done.returncode == 0, done.stdout + done.stderr
        return [part.strip() for part in done.stdout.split("---\n")]

    *_, checked, sent, _ = paste("1", "5")
    assert '5,"caller_id"' not in checked
    assert re.search(r'^8,"caller_id",', checked, re.MULTILINE), checked
    assert sent.startswith("6 leads were sent, 1 line was refused")

    headings, *listed = paste("6", "6")[0].splitlines()
    assert headings.startswith("id  ")
    listed, facts = listed[:6], listed[6:]
    assert 0 < len(facts) <= 20
    assert any("lead." in line for line in facts), facts
    up.until(lambda: all_ended(paste("7", "7")[0]), seconds=WALK_SECONDS)
    reports = paste("7", "7")[0]
    assert "connected_buyer" in reports
    assert HEADINGS in reports
    assert "lead.ended" in paste("6", "6")[1]
    assert re.fullmatch(r"call \d+ of lead \d+: connected_buyer, 2\d s \(connect, \d+\)", paste("8", "8")[0])
    proved = paste("9", "9")[0]
    assert "verified" in proved
    assert "DIFFERS" not in proved


def all_ended(reports: str) -> bool:
    """Return whether the list of leads has six that ended."""
    rows = list(csv.reader(StringIO(reports[reports.index(HEADINGS) :])))[1:]
    assert len(rows) == 6
    return not {row[1] for row in rows} & {"queue", "scheduled", "waiting", "running"}
