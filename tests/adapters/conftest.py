"""Assertions of the shared suites say what differs, as those of the tests themselves do; each test of rows has a pool."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.postgres.migrate import migrate
from adapters.postgres.pool import Pool, open_pool

pytest.register_assert_rewrite("tests.adapters.log_contract")
pytest.register_assert_rewrite("tests.adapters.assignment_contract")
pytest.register_assert_rewrite("tests.adapters.clock_contract")
pytest.register_assert_rewrite("tests.adapters.partitions.snapshots_contract")


@pytest_asyncio.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    """Connections to a fresh database with our tables."""
    await migrate(database)
    opened = await open_pool(database)
    yield opened
    await opened.close()
