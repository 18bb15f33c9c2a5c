"""Where is the bench? In the source tree; the command says so where that is not there."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from adapters.cli import bench
from adapters.cli.main import main


def test_in_the_source_tree_the_command_is_that_of_the_bench() -> None:
    assert bench.bench.name == "bench"
    assert {"--only", "--data-dir", "--leads", "--large", "--json"} <= {
        option for parameter in bench.bench.params for option in parameter.opts
    }


@pytest.mark.parametrize("arguments", [[], ["--only", "decide"], ["--large", "more"]])
def test_without_the_source_tree_the_command_says_where_the_bench_is(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(bench, "COMMAND", "nowhere.bench.command")
    result = CliRunner().invoke(bench.find_bench(), arguments)
    assert (result.exit_code, result.output) == (1, f"Error: {bench.ABSENT}\n")


def test_a_package_that_the_bench_needs_and_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "half_a_bench.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(bench, "COMMAND", "half_a_bench")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        bench.find_bench()


def test_the_help_of_the_program_loads_no_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adapters.cli.bench", raising=False)
    assert main(["--help"]) == 0
    assert "adapters.cli.bench" not in sys.modules
