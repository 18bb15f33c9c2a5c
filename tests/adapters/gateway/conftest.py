"""Assertions of the shared suites say what differs, as those of the tests themselves do."""

import pytest

for _suite in ("deliveries", "voice", "sms", "email", "webhook"):
    pytest.register_assert_rewrite(f"tests.adapters.gateway.{_suite}_contract")
