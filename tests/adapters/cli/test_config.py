"""Is it plain which settings a command uses, and does a profile mean that deployment and no other?"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.pace import bound

PROFILE = 'kafka_bootstrap = "k1:9092"\npostgres_dsn = "postgresql://lead:hunter2@db.prod.example/leads"\n'
COMMAND_SECONDS = bound(120.0)


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LEADCLOCK_")}
    return subprocess.run(
        [str(Path(sys.executable).with_name("leadclock")), *arguments],
        cwd=Path(__file__).parents[3],
        env={**environ, "XDG_CONFIG_HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "leadclock" / "prod.toml"
    path.parent.mkdir()
    path.write_text(PROFILE)
    path.chmod(0o600)
    return tmp_path


def test_config_show_names_each_setting_with_its_source_and_no_secret(folder: Path) -> None:
    shown = run(folder, "--profile", "prod", "config", "show", "--json", LEADCLOCK_LOG_LEVEL="debug")
    assert shown.returncode == 0, shown.stderr
    rows = {row["variable"]: (row["value"], row["source"]) for row in msgspec.json.decode(shown.stdout)}
    path = folder / "leadclock" / "prod.toml"
    assert rows == {
        "LEADCLOCK_KAFKA_BOOTSTRAP": ("k1:9092", f"kafka_bootstrap in {path}"),
        "LEADCLOCK_POSTGRES_DSN": ("postgresql://***@db.prod.example/leads", f"postgres_dsn in {path}"),
        "LEADCLOCK_LOG_LEVEL": ("debug", "LEADCLOCK_LOG_LEVEL"),
    }
    table = run(folder, "--profile", "prod", "config", "show", "--all").stdout
    assert "hunter2" not in shown.stdout + table
    assert "LEADCLOCK_HTTP_PORT" in table


def test_a_wrong_setting_is_refused_by_name(folder: Path) -> None:
    shown = run(folder, "config", "show", LEADCLOCK_HTTP_PORT="eighty")
    assert shown.returncode == 1
    assert "LEADCLOCK_HTTP_PORT" in shown.stderr


REFUSED = {
    "an unknown profile": (("--profile", "stage"), {}, "no profile 'stage'"),
    "a path": (("--profile", "../leadclock/prod"), {}, "no profile"),
    "a variable that goes before it": (("--profile", "prod"), {"LEADCLOCK_KAFKA_BOOTSTRAP": "other:1"}, "KAFKA_BOOTSTRAP"),
    "a secret's file that goes before it": (
        ("--profile", "prod"),
        {"LEADCLOCK_POSTGRES_DSN_FILE": "/run/dsn"},
        "LEADCLOCK_POSTGRES_DSN_FILE",
    ),
    "another settings file": (("--profile", "prod"), {"LEADCLOCK_CONFIG": "/etc/other.toml"}, "names /etc/other.toml"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_profile_that_would_not_be_what_it_says_is_refused(folder: Path, case: str) -> None:
    arguments, variables, sentence = REFUSED[case]
    shown = run(folder, *arguments, "config", "show", **variables)
    assert shown.returncode == 2, shown.stdout
    assert sentence in shown.stderr


def test_a_profile_and_an_up_are_two_deployments(folder: Path) -> None:
    for typed in (("--deployment", "up"), ("--data-dir", str(folder))):
        shown = run(folder, "--profile", "prod", "offers", "list", *typed)
        assert shown.returncode == 2, typed
        assert "--profile" in shown.stderr, typed


def test_a_profile_with_secrets_that_others_may_read_is_warned_of(folder: Path) -> None:
    (folder / "leadclock" / "prod.toml").chmod(0o644)
    shown = run(folder, "--profile", "prod", "config", "show")
    assert shown.returncode == 0
    assert "chmod 600" in shown.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_leadclock(folder: Path, shell: str) -> None:
    made = run(folder, "completion", shell)
    assert made.returncode == 0
    assert f"_LEADCLOCK_COMPLETE={shell}_complete" in made.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("leadclock sched", ["schedules", "scheduler"]),
        ("leadclock leads im", ["import"]),
        ("leadclock --profile p", ["prod"]),
    ],
)
def test_commands_and_profiles_are_completed(folder: Path, typed: str, offered: list[str]) -> None:
    words = typed.split()
    asked = {"_LEADCLOCK_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    found = [line.partition(",")[2] for line in run(folder, **asked).stdout.splitlines()]
    assert sorted(found) == sorted(offered)


def test_every_command_explains_itself_to_h(folder: Path) -> None:
    for command in ((), ("leads",), ("leads", "import"), ("config", "show"), ("up",)):
        shown = run(folder, *command, "-h")
        assert shown.returncode == 0, command
        assert "Usage: leadclock" in shown.stdout, command
