"""Is the system's Chromium found, does its absence fail a test in one sentence, and is axe the file that was reviewed?"""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.adapters.http.browser.conftest import NO_BROWSER, ROOT, find_browser

SCRIPT = ROOT / "deploy/browser.sh"
AXE_FOLDER = Path(__file__).parent / "axe"


def fake(folder: Path, name: str, text: str = "#!/bin/sh\n") -> None:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def install(path: str) -> subprocess.CompletedProcess[str]:
    """Run what `make browser` runs, with other programs on the PATH."""
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run([bash, SCRIPT], env={"PATH": path}, capture_output=True, text=True, check=False)


def test_a_chromium_that_is_there_is_found_and_nothing_is_installed(tmp_path: Path) -> None:
    fake(tmp_path, "chromium")
    done = install(str(tmp_path))
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/chromium\n"), done.stderr


def test_a_system_without_apt_is_asked_to_install_one(tmp_path: Path) -> None:
    done = install(str(tmp_path))
    assert done.returncode == 1
    assert "Install Chromium by this system's packages" in done.stderr


def test_somebody_who_is_not_root_is_asked_to_be(tmp_path: Path) -> None:
    fake(tmp_path, "apt-get")
    fake(tmp_path, "id", "#!/bin/sh\necho 1000\n")
    done = install(str(tmp_path))
    assert done.returncode == 1
    assert "sudo apt-get install chromium" in done.stderr


def test_debians_chromium_is_installed_also_where_a_mirror_is_away(tmp_path: Path) -> None:
    """The first step fails; the second one makes the browser."""
    fake(tmp_path, "id", "#!/bin/sh\necho 0\n")
    fake(tmp_path, "timeout", '#!/bin/sh\nshift\nexec "$@"\n')
    made = f"printf '#!/bin/sh\\n' >{tmp_path}/chromium; /bin/chmod 755 {tmp_path}/chromium"
    fake(tmp_path, "apt-get", f'#!/bin/sh\ncase "$*" in *update*) exit 100 ;; *chromium*) {made} ;; esac\n')
    done = install(str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{tmp_path}/chromium\n")
    assert "not renewed" in done.stderr


def test_without_a_browser_a_test_fails_and_says_in_one_sentence_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bash", "env"):
        program = shutil.which(name)
        assert program is not None
        (tmp_path / name).symlink_to(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="make browser") as failed:
        find_browser()
    assert failed.value.msg == NO_BROWSER
    assert NO_BROWSER.count(". ") == 0


def test_ci_installs_the_browser_before_it_runs_the_tests() -> None:
    steps = [line.split()[1] for line in (ROOT / ".ci/run").read_text("utf-8").splitlines() if line.startswith("make ")]
    assert steps.index("browser") < steps.index("test")


def test_axe_is_the_file_that_was_reviewed_and_its_licence_is_beside_it() -> None:
    listed = dict(line.split() for line in (AXE_FOLDER / "checksums.txt").read_text("utf-8").splitlines())
    assert set(listed) == {path.name for path in AXE_FOLDER.glob("*.js")}
    for name, digest in listed.items():
        assert sha256((AXE_FOLDER / name).read_bytes()).hexdigest() == digest, name
    assert "Mozilla Public License" in (AXE_FOLDER / "axe-LICENSE.txt").read_text("utf-8")
