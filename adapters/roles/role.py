"""What is a role? One kind of work of a process: it runs until `stop` is set, and reports why it is not ready."""

import asyncio
from typing import Protocol


class Role(Protocol):
    """One kind of work of a deployment.

    No contract suite: each role does other work; tests/system/test_roles.py runs every one as a process.
    """

    name: str

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then finish what has begun. Raises only errors that no retry can correct."""
        ...

    def problems(self) -> dict[str, str]:
        """Return what keeps the role from being ready: source -> sentence; empty when ready."""
        ...
