"""Is every setting described, by a page that is not stale, and does each example hold?"""

import runpy
from pathlib import Path

import msgspec
import pytest

from adapters.cli.main import COMMANDS
from adapters.roles.table import NEEDS_DATABASE, NEEDS_SECRET, ROLES
from adapters.setting_descriptions import DESCRIPTIONS, SECTIONS
from adapters.settings import PREFIX, Settings, load

WRITER = Path(__file__).parents[2] / "deploy" / "write_settings.py"
FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}


def test_the_committed_page_is_in_step() -> None:
    for path, text in runpy.run_path(str(WRITER))["written"]():
        assert path.read_text() == text, "run python deploy/write_settings.py and commit deploy/docs/settings.md"


def test_every_setting_is_described_once_and_nothing_else_is() -> None:
    assert DESCRIPTIONS.keys() == FIELDS.keys(), "describe it in adapters/setting_descriptions.py"
    assert sum(len(rows) for rows in SECTIONS.values()) == len(DESCRIPTIONS)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_setting_says_what_it_means_and_who_reads_it(name: str) -> None:
    row = DESCRIPTIONS[name]
    assert row.meaning.endswith(".")
    assert row.roles or row.commands
    assert set(row.roles) <= ROLES.keys()
    assert set(row.commands) <= COMMANDS.keys()


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - {"clock_wall_at", "clock_domain_at", "clock_speed"}))
def test_an_example_is_taken_and_is_not_the_default(name: str) -> None:
    variable = PREFIX + name.upper()
    given = load(environ={variable: DESCRIPTIONS[name].example})
    assert getattr(given, name) != FIELDS[name].default


def test_what_a_role_cannot_start_without_is_named_as_needed_by_it() -> None:
    assert set(DESCRIPTIONS["kafka_bootstrap"].roles) == ROLES.keys()
    assert set(DESCRIPTIONS["postgres_dsn"].roles) == NEEDS_DATABASE
    assert set(DESCRIPTIONS["secret_key"].roles) == NEEDS_SECRET
    assert {name for name, row in DESCRIPTIONS.items() if row.needed} == {"kafka_bootstrap", "postgres_dsn", "secret_key"}
