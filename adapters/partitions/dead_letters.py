"""How are dead letters appended outside a transaction? Whole, or as excerpts where the topic takes no more."""

from collections.abc import Sequence

from engine.partition.deadletters import excerpt, is_excerpt
from engine.partition.ports import Appender, Outgoing, RecordRefusedError


async def append_dead_letters(appender: Appender, partition: int, records: Sequence[Outgoing]) -> None:
    """Append dead letters in order; one that the log refuses is cut to an excerpt. Raises `LogError`."""
    left = list(records)
    while left:
        try:
            await appender.append(partition, left)
        except RecordRefusedError as refused:
            place = refused.index or 0
            if is_excerpt(left[place].headers):
                raise
            left[place] = excerpt(left[place])
            del left[: refused.appended]
        else:
            return
