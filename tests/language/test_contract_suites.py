"""Does every Protocol of the program have a contract suite, or say why it has none?"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SUITES = {
    "adapters.gateway.ports": {
        "Deliveries": "tests/adapters/gateway/deliveries_contract.py",
        "VoiceProvider": "tests/adapters/gateway/voice_contract.py",
        "SmsProvider": "tests/adapters/gateway/sms_contract.py",
        "EmailProvider": "tests/adapters/gateway/email_contract.py",
        "SandboxOrders": "tests/adapters/gateway/sandbox_orders_contract.py",
        "WebhookSender": "tests/adapters/gateway/webhook_contract.py",
    },
    "adapters.providers.ports": {
        "Connection": "adapters/providers/testing.py",
        "Provider": "adapters/providers/testing.py",
    },
    "adapters.intake.adopted": {"Checkpoints": "tests/adapters/assignment_contract.py"},
    "adapters.partitions.host": {"Assignment": "tests/adapters/assignment_contract.py"},
    "adapters.projector.store": {"ProjectionStore": "tests/adapters/projector/test_stores.py"},
    "adapters.recordings.ports": {"RecordingFiles": "tests/adapters/recordings/files_contract.py"},
    "adapters.recordings.transcriber": {"Transcriber": "tests/adapters/recordings/transcriber_contract.py"},
    "adapters.roles.context": {"RoleAssignment": "tests/adapters/assignment_contract.py"},
    "engine.partition.aggregate": {"Aggregate": "tests/engine/partition/test_aggregates.py"},
    "engine.partition.ports": {
        "Appender": "tests/adapters/log_contract.py",
        "Clock": "tests/adapters/clock_contract.py",
        "Log": "tests/adapters/log_contract.py",
        "Ownership": "tests/adapters/log_contract.py",
        "Reader": "tests/adapters/log_contract.py",
        "Snapshots": "tests/adapters/partitions/snapshots_contract.py",
    },
}
"""Module -> its Protocols -> the suite that every adapter of one passes."""

REASON = "No contract suite: "
"""So a docstring begins to argue why a Protocol has none."""

REASON_LENGTH_MIN = 30


def protocols() -> Iterator[tuple[str, str, str]]:
    """Yield module, name and docstring of every Protocol of the program."""
    for tree in ("schemas", "engine", "adapters"):
        for path in sorted((ROOT / tree).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in node.bases):
                    yield module, node.name, ast.get_docstring(node) or ""


def is_argued(docstring: str) -> bool:
    """Return whether a docstring says why there is no contract suite."""
    return len(docstring.partition(REASON)[2]) >= REASON_LENGTH_MIN


NAMED = [(module, name, path) for module, suites in SUITES.items() for name, path in suites.items()]


@pytest.fixture(scope="module")
def docstrings() -> dict[tuple[str, str], str]:
    """Docstrings of all Protocols by module and name."""
    return {(module, name): docstring for module, name, docstring in protocols()}


def test_every_protocol_has_a_contract_suite_or_a_reason(docstrings: dict[tuple[str, str], str]) -> None:
    unclear = [
        f"{module}.{name}: name its contract suite in the table, or argue in its docstring, and not both"
        for (module, name), docstring in docstrings.items()
        if (name in SUITES.get(module, {})) == is_argued(docstring)
    ]

    assert len(docstrings) > 50
    assert unclear == []


@pytest.mark.parametrize(("module", "name", "path"), NAMED)
def test_a_contract_suite_is_there_and_tests_its_port(
    module: str, name: str, path: str, docstrings: dict[tuple[str, str], str]
) -> None:
    assert (module, name) in docstrings
    suite = (ROOT / path).read_text("utf-8")
    assert name in suite or module in suite
    assert "def test_" in suite


@pytest.mark.parametrize("path", sorted({path for _, _, path in NAMED if path.endswith("_contract.py")}))
def test_a_contract_suite_is_run_by_some_test(path: str) -> None:
    module = path.removesuffix(".py").replace("/", ".")

    assert [test for test in (ROOT / "tests").rglob("test_*.py") if f"from {module} import" in test.read_text("utf-8")] != []
