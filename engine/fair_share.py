"""Which company goes next, and may it take more? Fair share of every capacity that companies compete for.

Work that is done at once (a due timer) is shared by fair queuing: round robin between companies. Capacity that is held for
a while (a delivery slot, a place in memory) is shared by a dynamic threshold (Choudhury and Hahne, "Dynamic Queue Length
Thresholds for Shared-Memory Packet Switches", 1998): turns alone would let slow work fill every slot before others come.
Priority counts inside a company only.
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])


class FairQueue(Generic[T]):
    """Entries by company. Companies take turns; a company's own entries come in their own order, the lowest first.

    Between two entries of a company that waits, every other company is served at most once.
    """

    def __init__(self) -> None:
        self._by_company: OrderedDict[int, list[T]] = OrderedDict()
        """Heaps, none of them empty. The company whose turn it is stands first."""

    def push(self, company_id: int, entry: T) -> None:
        """Add an entry; a company that had none lines up last."""
        heap = self._by_company.get(company_id)
        if heap is None:
            self._by_company[company_id] = [entry]
        else:
            heapq.heappush(heap, entry)

    def take(self, is_wanted: Callable[[T], bool]) -> T | None:
        """Take the first wanted entry of the company whose turn it is, or None where no company has any.

        Unwanted entries are dropped; they use up no turn.
        """
        while self._by_company:
            company_id, heap = self._by_company.popitem(last=False)
            while heap:
                entry = heapq.heappop(heap)
                if is_wanted(entry):
                    if heap:
                        self._by_company[company_id] = heap
                    return entry
        return None

    def reorder(self, updated: Callable[[T], T]) -> None:
        """Replace every entry by its updated version; turns stay as they are."""
        for heap in self._by_company.values():
            heap[:] = map(updated, heap)
            heapq.heapify(heap)

    def clear(self) -> None:
        """Drop every entry."""
        self._by_company.clear()

    def __iter__(self) -> Iterator[T]:
        """Iterate over all entries, in no order."""
        return (entry for heap in self._by_company.values() for entry in heap)

    def __len__(self) -> int:
        """Return the number of entries."""
        return sum(map(len, self._by_company.values()))

    def __bool__(self) -> bool:
        """Return whether there is any entry."""
        return bool(self._by_company)


def may_take(held: int, free: int) -> bool:
    """Return whether a company that holds so many may take one more: while it holds fewer than are free.

    One company alone takes half, two a third each, n of them 1 / (n + 1) each: some places stay free for a newcomer. Only a
    company without any can take the last one.
    """
    return held < free


class Shares:
    """How many of `total` equal places each company holds, and whether it may take one more (`may_take`)."""

    def __init__(self, total: int) -> None:
        self.free = total
        self._held: dict[int, int] = {}

    def held(self, company_id: int) -> int:
        """Return how many places a company holds."""
        return self._held.get(company_id, 0)

    def may_take(self, company_id: int) -> bool:
        """Return whether a company may take one more place."""
        return may_take(self.held(company_id), self.free)

    def take(self, company_id: int) -> None:
        """Let a company take a place. Ask `may_take` before."""
        self._held[company_id] = self.held(company_id) + 1
        self.free -= 1

    def give_back(self, company_id: int) -> None:
        """Let a company give a place back."""
        left = self._held[company_id] - 1
        if left:
            self._held[company_id] = left
        else:
            del self._held[company_id]
        self.free += 1
