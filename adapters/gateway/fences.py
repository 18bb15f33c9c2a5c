"""Which orders of a partition must not be carried out any more? Those that stand before a fence of their contact."""

from msgspec import Struct

from schemas.commands import Command, Fence


class _FencedOffsets(Struct):
    """Orders of one contact before `everything` are barred, and those of a lead before its own offset."""

    everything: int = -1
    leads: dict[int, int] = {}


class Fences:
    """The newest fence of each contact in one partition; there is one entry for each contact that has any."""

    def __init__(self) -> None:
        self._by_contact: dict[str, _FencedOffsets] = {}

    def add(self, fence: Fence, offset: int) -> None:
        """Put up a fence that stands at an offset; doing so again changes nothing."""
        fenced = self._by_contact.setdefault(fence.contact_key, _FencedOffsets())
        if not fence.lead_ids:
            fenced.everything = max(fenced.everything, offset)
        for lead_id in fence.lead_ids:
            fenced.leads[lead_id] = max(fenced.leads.get(lead_id, -1), offset)

    def blocks(self, command: Command, offset: int) -> bool:
        """Tell whether a fence stands behind a command."""
        fenced = self._by_contact.get(command.contact_key)
        return fenced is not None and offset < max(fenced.everything, fenced.leads.get(command.lead_id, -1))

    def forget_before(self, offset: int) -> None:
        """Take down every fence before an offset: no order stands before it that is not done."""
        gone = [
            key for key, fenced in self._by_contact.items() if max(fenced.everything, *fenced.leads.values(), -1) < offset
        ]
        for key in gone:
            del self._by_contact[key]

    def __len__(self) -> int:
        return len(self._by_contact)
