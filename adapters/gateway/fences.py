"""Which commands of a partition are cancelled? Those before a fence of their contact."""

from msgspec import Struct

from schemas.commands import Command, Fence


class _FencedOffsets(Struct):
    """Commands of one contact before `everything` are cancelled, and those of a lead before its own offset."""

    everything: int = -1
    leads: dict[int, int] = {}


class Fences:
    """The newest fence of each contact in one partition; one entry for each contact that has one."""

    def __init__(self) -> None:
        self._by_contact: dict[str, _FencedOffsets] = {}

    def add(self, fence: Fence, offset: int) -> None:
        """Add a fence at an offset; adding it again changes nothing."""
        fenced = self._by_contact.setdefault(fence.contact_key, _FencedOffsets())
        if not fence.lead_ids:
            fenced.everything = max(fenced.everything, offset)
        for lead_id in fence.lead_ids:
            fenced.leads[lead_id] = max(fenced.leads.get(lead_id, -1), offset)

    def blocks(self, command: Command, offset: int) -> bool:
        """Return whether a fence behind a command cancels it."""
        fenced = self._by_contact.get(command.contact_key)
        return fenced is not None and offset < max(fenced.everything, fenced.leads.get(command.lead_id, -1))

    def forget_before(self, offset: int) -> None:
        """Drop every fence before an offset, below which all commands are done."""
        gone = [
            key for key, fenced in self._by_contact.items() if max(fenced.everything, *fenced.leads.values(), -1) < offset
        ]
        for key in gone:
            del self._by_contact[key]

    def __len__(self) -> int:
        return len(self._by_contact)
