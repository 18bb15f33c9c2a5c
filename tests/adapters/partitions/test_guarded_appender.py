"""Does nothing append to a topic that was made again in the place of a lost one?"""

import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.partitions import guarded_appender
from adapters.partitions.guarded_appender import GuardedAppender
from engine.partition.continuity import ContinuityError
from engine.partition.ports import Outgoing
from schemas.instant import EPOCH

RECORD = Outgoing("town.contacts.requests", b"key", b"{}")


@pytest.fixture
async def log(monkeypatch: pytest.MonkeyPatch) -> EmbeddedLog:
    monkeypatch.setattr(guarded_appender, "GUARD_SECONDS", 0.0)
    log = EmbeddedLog(None, now=lambda: EPOCH)
    await log.create_topic(RECORD.topic, 1)
    return log


async def test_what_was_made_takes_records_and_what_is_in_its_place_takes_none(log: EmbeddedLog) -> None:
    made = {"contacts.requests": await log.topic_id(RECORD.topic)}
    appender = GuardedAppender(await log.appender(), log, "town.", lambda: made)
    assert await appender.append(0, [RECORD]) == [0]
    await log.delete_topic(RECORD.topic)
    await log.create_topic(RECORD.topic, 1)

    with pytest.raises(ContinuityError, match=r"^town\.contacts\.requests was deleted and made again"):
        await appender.append(0, [RECORD])

    assert log.partition(RECORD.topic, 0).end == 0
    made["contacts.requests"] = await log.topic_id(RECORD.topic)
    assert await appender.append(0, [RECORD]) == [0]


async def test_a_topic_that_the_deployment_does_not_list_is_not_compared(log: EmbeddedLog) -> None:
    appender = GuardedAppender(await log.appender(), log, "town.", dict)

    assert await appender.append(0, []) == []
    assert await appender.append(0, [RECORD]) == [0]
