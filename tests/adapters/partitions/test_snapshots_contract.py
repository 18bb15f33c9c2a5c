"""Do files, and the simulation's memory, keep the promises of `Snapshots`?"""

from pathlib import Path
from random import Random

import pytest

from adapters.partitions.snapshots import FileSnapshots
from engine.partition.ports import Snapshots
from tests.adapters.partitions.snapshots_contract import SnapshotsContract
from tests.simulation.cluster import MemorySnapshots


class NeverLost(Random):
    """Chance by which the simulation's memory loses no snapshot."""

    def random(self) -> float:
        return 0.1


class TestInFiles(SnapshotsContract):
    @pytest.fixture
    def snapshots(self, tmp_path: Path) -> Snapshots:
        return FileSnapshots(tmp_path / "state", "scheduler", topic="contacts.state", deployment=lambda: "d1")


class TestInMemory(SnapshotsContract):
    @pytest.fixture
    def snapshots(self) -> Snapshots:
        return MemorySnapshots(NeverLost(), is_used=True).of("scheduler")
