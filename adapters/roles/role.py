"""What is a role? Something that runs until `stop` is set, and says at any moment whether it is ready, and if not, why."""

import asyncio
from typing import Protocol


class Role(Protocol):
    """One kind of work of a deployment."""

    name: str

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then finish what was begun. Raises only what no retry can mend."""
        ...

    def problems(self) -> dict[str, str]:
        """Return what keeps the role from being ready: what it waits for -> a sentence; empty when ready."""
        ...
