"""Is a list of three records, made one after the other and named one, two and three, filtered by when they were created?"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Listed = Callable[..., Awaitable[list[str]]]
"""Lists the records by the parameters of a request, and returns their names."""


async def check_creation_filters(listed: Listed, second: Mapping[str, Any], third: Mapping[str, Any]) -> None:
    assert await listed(created_at_from=second["created_at"]) == ["three", "two"]
    assert await listed(created_at_to=second["created_at"]) == ["one"]
    # Thirteen hours east of UTC the same day is over.
    day = third["created_at"][:10]
    assert await listed(created_at_from=f"{day} 00:00:00", time_zone="UTC") == ["three", "two", "one"]
    assert await listed(created_at_to=f"{day} 00:00:00", time_zone="UTC") == []
