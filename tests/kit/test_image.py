"""Does the image hold a program that runs? The linter reads its recipe, and its build stage is carried out in a folder."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kit.programs import ROOT

RECIPE = ROOT / "Dockerfile"
TARGET = "/opt/leadclock"


def stages() -> list[str]:
    text = RECIPE.read_text().replace("\\\n", " ")
    return re.split(r"^FROM .*$", text, flags=re.MULTILINE)[1:]


def test_the_linter_finds_nothing() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("hadolint"), RECIPE], capture_output=True, text=True, check=False
    )
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_image_runs_as_a_user_without_rights() -> None:
    [user] = re.findall(r"^USER (.*)$", stages()[-1], re.MULTILINE)
    assert user == "10001:10001"
    assert "COPY --from=build" in stages()[-1]


def test_the_build_stage_makes_a_program_that_runs_without_the_checkout(tmp_path: Path) -> None:
    """No container engine is needed: the steps run in a folder that holds only what they copy."""
    source, target = tmp_path / "src", tmp_path / "leadclock"
    source.mkdir()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("LEADCLOCK_", "PYTHON"))}
    for line in stages()[0].splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "COPY":
            *files, last = shlex.split(rest)
            for file in files:
                assert f"!{file}" in ignored, f"{file} is not in the build's context"
                copy(ROOT / file, source / (file if last == "./" else last))
        elif word == "RUN":
            command = rest.replace(TARGET, str(target)).replace("python -m venv", f"{sys.executable} -m venv")
            done = subprocess.run(
                ["sh", "-ec", command], cwd=source, env=environ, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(source)
    answer = subprocess.run(
        [target / "bin" / "leadclock", "scheduler"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (1, "Error: not set: LEADCLOCK_KAFKA_BOOTSTRAP\n")


def copy(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if file.is_dir():
        shutil.copytree(file, place, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(file, place)
