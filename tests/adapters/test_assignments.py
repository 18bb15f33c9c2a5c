"""Do a consumer group, and the file of a process without one, keep the promises of `RoleAssignment`?"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.embedded.assignment import StaticAssignment
from adapters.kafka.assignment import GroupAssignment
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.topics import TopicSpec, prepare_topics
from adapters.roles.context import RoleAssignment
from tests.adapters.assignment_contract import PARTITIONS, AssignmentContract, Join

SESSION_SECONDS = 6.0
"""The shortest that a broker grants by default."""


class TestStatic(AssignmentContract):
    @pytest.fixture
    def join(self, tmp_path: Path) -> Join:
        async def start() -> RoleAssignment:
            member = StaticAssignment(len(PARTITIONS), tmp_path / "state" / "intake.offsets.json")
            await member.start()
            return member

        return start


class TestGroup(AssignmentContract):
    @pytest.fixture
    async def join(self, kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[Join]:
        connection, topic = KafkaConnection(kafka_bootstrap), f"{topic_prefix}requests"
        await prepare_topics(connection, [TopicSpec(topic, len(PARTITIONS))])
        members: list[RoleAssignment] = []

        async def start() -> RoleAssignment:
            member = GroupAssignment(
                connection, f"{topic}.group", topic, session_seconds=SESSION_SECONDS, report_seconds=60.0
            )
            members.append(member)
            await member.start()
            return member

        yield start
        for member in members:
            await member.close()
