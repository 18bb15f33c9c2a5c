"""Assertions of the shared suites say what differs, as those of the tests themselves do."""

import pytest

pytest.register_assert_rewrite("tests.adapters.log_contract")
pytest.register_assert_rewrite("tests.adapters.assignment_contract")
pytest.register_assert_rewrite("tests.adapters.clock_contract")
pytest.register_assert_rewrite("tests.adapters.partitions.snapshots_contract")
