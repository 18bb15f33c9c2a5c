"""Does `leadclock preview` answer people and programs, and say what is wrong in a way that either can act on?"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.cli.main import main
from engine.preview import preview, read_trial, shown
from schemas.instant import EPOCH

NIGHT = "2026-03-07 21:30:00 -0500"
CALL = {"id": "[red]call-1", "kind": "call"}
ASKED: dict[str, Any] = {"schedule": {"steps": [CALL]}, "lead": {"caller_id": "+13055550123"}, "at": NIGHT}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file to hold what is asked."""
    return tmp_path / "preview.json"


def test_programs_get_the_preview_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps(ASKED))

    assert main(["preview", str(file), "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {"preview": shown(preview(read_trial(ASKED, now=EPOCH)))}


def test_people_get_local_times_and_the_reason_in_words(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps(ASKED))

    assert main(["preview", str(file)]) == 0

    output = " ".join(capsys.readouterr().out.split())
    assert "Sun 8 Mar 2026 08:00 America/New_York call [red]call-1 1 the law allows no contact at this" in output
    assert "Completed: the lead was connected (Sun 8 Mar 2026 08:00 America/New_York)" in output


def test_the_plan_is_drawn_within_the_hours_of_the_law(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps(ASKED))
    drawn = file.with_name("plan.svg")

    assert main(["preview", str(file), "--svg", str(drawn), "--json"]) == 0

    spans = json.loads(capsys.readouterr().out)["preview"]["closed_hours"]
    assert {"channel": "call", "from": "2026-03-08T01:00:00Z", "to": "2026-03-08T12:00:00Z", "by": "law"} in spans
    svg = drawn.read_text("utf-8")
    assert "1. Sun 8 Mar 08:00 · Call · [red]call-1" in svg
    assert "Completed: the lead was connected" in svg
    assert [path.name for path in file.parent.iterdir() if path.suffix not in {".json", ".svg"}] == []


def test_a_picture_that_cannot_be_written_is_an_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(json.dumps(ASKED))

    assert main(["preview", str(file), "--svg", str(file.with_name("away") / "plan.svg")]) == 1

    assert "plan.svg cannot be written: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"limit": 1, "schedule": {"steps": [CALL, {**CALL, "id": "call-2"}]}},
            "More follows: these are the first 1 actions",
        ),
        ({"schedule": {"steps": [CALL], "paused": True}}, "Held: the schedule is paused"),
    ],
)
def test_the_text_output_says_where_a_preview_stops(
    file: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any], sentence: str
) -> None:
    file.write_text(json.dumps({**ASKED, **more}))

    assert main(["preview", str(file)]) == 0

    assert sentence in capsys.readouterr().out


def test_a_bad_schedule_is_reported_on_standard_error_with_status_2(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {**ASKED, "schedule": {"steps": [{"id": "pause", "kind": "wait", "duration": "soon"}]}}
    file.write_text(json.dumps(bad))

    assert main(["preview", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "steps[0].duration (step 'pause') must be" in said.err
    assert "Correct steps[0].duration and resend" in said.err

    assert main(["preview", str(file), "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    problem = json.loads(said.err)
    assert problem["code"] == "invalid_schedule"
    assert problem["detail"].startswith("Correct steps[0].duration and resend")
    assert list(problem["errors"]) == ["steps[0].duration"]


@pytest.mark.parametrize("text", ["", "{", '{"a":' * 100_000, "\udcff", "[]", " " * 300_000])
def test_what_cannot_be_read_is_reported_with_status_2(file: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    file.write_bytes(text.encode(errors="surrogateescape"))

    assert main(["preview", str(file)]) == 2

    assert capsys.readouterr().err


def test_standard_input_is_read_and_neither_broker_nor_database_is_looked_for(tmp_path: Path) -> None:
    program = (
        "import sys; from adapters.cli.main import main; status = main(['preview', '-', '--json']);"
        "loaded = {'aiokafka', 'asyncpg', 'litestar', 'asyncio', 'rich'} & set(sys.modules);"
        "sys.exit(f'loaded {loaded}' if loaded else status)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(ASKED), capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["preview"]["end_status"] == "completed_connected"
