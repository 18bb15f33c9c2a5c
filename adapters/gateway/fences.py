"""Which commands of a partition are cancelled? Those before a fence of their contact."""

from msgspec import Struct

from schemas.commands import Command, Fence


class _FencedOffsets(Struct):
    """Commands of one contact before `everything` are cancelled, those of a lead and single ones before their own offset."""

    everything: int = -1
    leads: dict[int, int] = {}
    commands: dict[str, int] = {}

    def newest(self) -> int:
        """Return the offset below which all that it cancels are done."""
        return max(self.everything, *self.leads.values(), *self.commands.values(), -1)


class Fences:
    """The newest fence of each contact in one partition; one entry for each contact that has one."""

    def __init__(self) -> None:
        self._by_contact: dict[str, _FencedOffsets] = {}

    def add(self, fence: Fence, offset: int) -> None:
        """Add a fence at an offset; adding it again changes nothing."""
        fenced = self._by_contact.setdefault(fence.contact_key, _FencedOffsets())
        if not fence.lead_ids and not fence.command_ids:
            fenced.everything = max(fenced.everything, offset)
        for lead_id in fence.lead_ids:
            fenced.leads[lead_id] = max(fenced.leads.get(lead_id, -1), offset)
        for command_id in fence.command_ids:
            fenced.commands[command_id] = max(fenced.commands.get(command_id, -1), offset)

    def blocks(self, command: Command, offset: int) -> bool:
        """Return whether a fence behind a command cancels it."""
        fenced = self._by_contact.get(command.contact_key)
        if fenced is None:
            return False
        single = fenced.commands.get(command.command_id, -1)
        return offset < max(fenced.everything, fenced.leads.get(command.lead_id, -1), single)

    def forget_before(self, offset: int) -> None:
        """Drop every fence before an offset, below which all commands are done."""
        for key in [key for key, fenced in self._by_contact.items() if fenced.newest() < offset]:
            del self._by_contact[key]

    def __len__(self) -> int:
        return len(self._by_contact)
