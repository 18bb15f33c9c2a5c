"""Does each test exist that the threat model names, and is each kind of attacker held by one?"""

import re

from tests.test_architecture import ROOT

MODEL = (ROOT / "SECURITY.md").read_text("utf-8").partition("## Threat model")[2].partition("\n## ")[0]
WHO = ("stranger", "lead", "member", "agent", "company", "operator", "broker login")


def test_every_test_of_the_threat_model_exists() -> None:
    made = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    named = re.findall(r"`(test_\w+)`", MODEL)
    assert len(named) > 35
    assert sorted({*named} - made) == []


def test_every_attempt_of_the_first_attack_has_a_row_and_a_test_of_its_own() -> None:
    attempts = MODEL.partition("| tried |")[2].splitlines()[2:]
    rows = [line.split(" | ") for line in attempts if line.startswith("| ")]
    assert len(rows) == 10
    assert [cells[0] for cells in rows if not re.search(r"`test_\w+`", cells[-1])] == []


def test_every_kind_of_attacker_has_a_row_and_each_row_a_test() -> None:
    rows = [
        line for line in MODEL.splitlines() if line.startswith("| ") and not line.startswith(("| who", "| tried", "| ---"))
    ]
    assert [who for who in WHO if not any(f"**{who}**" in row for row in rows)] == []
    assert [row for row in rows if "`test_" not in row] == []
