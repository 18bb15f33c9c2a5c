"""Which orders of a partition must not be carried out any more? Those that stand before a fence of their contact."""

from msgspec import Struct

from schemas.commands import Command, Fence


class _Bars(Struct):
    """Orders of one contact before `everything` are barred, and those of a lead before its own offset."""

    everything: int = -1
    leads: dict[int, int] = {}


class Fences:
    """The newest fence of each contact in one partition; there is one entry for each contact that has any."""

    def __init__(self) -> None:
        self._bars: dict[str, _Bars] = {}

    def add(self, fence: Fence, offset: int) -> None:
        """Put up a fence that stands at an offset; doing so again changes nothing."""
        bars = self._bars.setdefault(fence.contact_key, _Bars())
        if not fence.lead_ids:
            bars.everything = max(bars.everything, offset)
        for lead_id in fence.lead_ids:
            bars.leads[lead_id] = max(bars.leads.get(lead_id, -1), offset)

    def bar(self, command: Command, offset: int) -> bool:
        """Tell whether a fence stands behind a command."""
        bars = self._bars.get(command.contact_key)
        return bars is not None and offset < max(bars.everything, bars.leads.get(command.lead_id, -1))

    def forget_before(self, offset: int) -> None:
        """Take down every fence before an offset: no order stands before it that is not done."""
        gone = [key for key, bars in self._bars.items() if max(bars.everything, *bars.leads.values(), -1) < offset]
        for key in gone:
            del self._bars[key]

    def __len__(self) -> int:
        return len(self._bars)
