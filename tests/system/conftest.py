"""What do the system tests run on? A deployment of separate processes, shared by a file, on a real broker and database."""

import asyncio
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.clock import wall_now
from adapters.settings import SANDBOX_CHANNELS, Settings
from tests.databases import administer, drop_database, dsn_of

SECRET_KEY = "a secret of the deployment, long enough"
SPEED = 10.0
"""The sandbox carrier's seconds are domain seconds: nobody waits for them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("deployment")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def settings(kafka_bootstrap: str, postgres_dsn: str, folder: Path) -> Iterator[Settings]:
    """Settings of a deployment of its own on the run's servers: topics, group ids, transactional ids, database."""
    name = f"t{uuid.uuid4().hex[:12]}"
    asyncio.run(administer(postgres_dsn, f"CREATE DATABASE {name}"))
    yield deployed(kafka_bootstrap, dsn_of(postgres_dsn, name), folder, name)
    asyncio.run(drop_database(postgres_dsn, name))


def deployed(kafka_bootstrap: str, postgres_dsn: str, folder: Path, name: str) -> Settings:
    now = wall_now()
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        kafka_session_seconds=6.0,
        topic_prefix=f"{name}.",
        app=name,
        partitions=4,
        postgres_dsn=postgres_dsn,
        secret_key=SECRET_KEY,
        state_dir=str(folder / "state"),
        sandbox=SANDBOX_CHANNELS,
        smtp_host="127.0.0.1",
        clock_wall_at=now,
        clock_domain_at=now,
        clock_speed=SPEED,
    )
