"""Assertions of the shared suites say what differs, as those of the tests themselves do."""

import pytest

pytest.register_assert_rewrite("tests.adapters.log_contract")
