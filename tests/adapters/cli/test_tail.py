"""What does a tail of the decisions load? The client of the log and nothing else: many people may watch one."""

import subprocess
import sys

from tests.pace import bound

HEAVY = {
    "litestar",
    "asyncpg",
    "phonenumbers",
    "holidays",
    "granian",
    "engine.contact",
    "engine.preview",
    "adapters.postgres",
}
"""What the roles need; together it costs more memory than all that a tail does."""

PROGRAM = """
import sys
from adapters.cli.main import main
main(["leads", "tail", "--help"])
print(*sys.modules, sep="\\n")
"""
SECONDS = bound(120.0)


def test_a_tail_of_the_decisions_loads_nothing_that_only_the_roles_need() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=SECONDS, check=True)
    loaded = {*done.stdout.splitlines()}
    assert "adapters.cli.tail" in loaded
    assert not loaded & HEAVY
