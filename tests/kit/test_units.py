"""Does systemd take a unit for every role, and does each role get what it needs to start?"""

import re
from pathlib import Path

import pytest

from adapters.roles.table import ROLES
from tests.kit.programs import ROOT, SECRETS, run, started

FOLDER = ROOT / "deploy" / "systemd"
PROGRAM = "/opt/leadclock/bin/leadclock"
COMMON = {"LEADCLOCK_KAFKA_BOOTSTRAP": "k:9092", "LEADCLOCK_CHANNELS": "webhook"}


def unit(role: str) -> Path:
    return FOLDER / f"leadclock-{role}@.service"


def values(role: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit(role).read_text(), re.MULTILINE)


def test_there_is_a_unit_for_every_role() -> None:
    assert set(FOLDER.glob("*")) == {unit(role) for role in ROLES}


@pytest.mark.parametrize("role", ROLES)
def test_systemd_takes_the_unit(role: str, tmp_path: Path) -> None:
    here = tmp_path / unit(role).name
    # It wants the program to be there.
    here.write_text(unit(role).read_text().replace(PROGRAM, "/bin/true"))
    result = run("systemd-analyze", "verify", here)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("role", ROLES)
def test_the_role_starts_with_its_credentials(role: str, tmp_path: Path) -> None:
    assert values(role, "ExecStart") == [f"{PROGRAM} {role}"]
    credentials = {line.split(":")[0] for line in values(role, "LoadCredential")}
    environ = dict(COMMON)
    for line in values(role, "Environment"):
        name, _, value = line.partition("=")
        if value.startswith("%d/"):
            assert value.removeprefix("%d/") in credentials
            file = tmp_path / value.removeprefix("%d/")
            file.write_text(SECRETS[name.removesuffix("_FILE")])
            value = str(file)
        environ[name] = value
    started(role, environ)


def test_only_gateways_take_long_to_end() -> None:
    assert {role: values(role, "TimeoutStopSec") for role in ROLES} == {
        role: ["930"] if role == "gateway" else ["60"] for role in ROLES
    }


def test_what_follows_decisions_has_less_of_a_processor() -> None:
    less = {"intake": ["33"], "projector": ["33"], "gateway": ["33"], "deliverer": ["11"]}
    assert {role: values(role, "CPUWeight") for role in ROLES} == {role: less.get(role, []) for role in ROLES}
    assert not any(values(role, "Nice") for role in ROLES), "without effect between the services of systemd"


@pytest.mark.parametrize("role", ["accounts", "scheduler"])
def test_snapshots_of_two_processes_are_apart(role: str) -> None:
    assert values(role, "StateDirectory") == [f"leadclock/{role}-%i"]
    assert f"LEADCLOCK_STATE_DIR=%S/leadclock/{role}-%i" in values(role, "Environment")
