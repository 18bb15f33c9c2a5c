"""Assertions of the shared suites say what differs, as those of the tests themselves do; each test of rows has a pool."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from adapters.postgres.pool import Pool, open_pool
from tests.adapters.recordings.s3_server import S3Server, serving

pytest.register_assert_rewrite("tests.adapters.log_contract")
pytest.register_assert_rewrite("tests.adapters.assignment_contract")
pytest.register_assert_rewrite("tests.adapters.clock_contract")
pytest.register_assert_rewrite("tests.adapters.partitions.snapshots_contract")


@pytest_asyncio.fixture
async def pool(migrated_database: str) -> AsyncIterator[Pool]:
    """Connections to a fresh database with our tables."""
    opened = await open_pool(migrated_database)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server; each test takes a bucket of its own."""
    with serving(tmp_path_factory.mktemp("s3")) as server:
        yield server
