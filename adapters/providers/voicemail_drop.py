"""Can a machine be left a message? Only where the command says which; a provider says besides whether it can do it."""

from adapters.providers.ports import RefusedOrderError
from schemas.commands import PlaceCall


def check_message(command: PlaceCall) -> None:
    """Raise `RefusedOrderError` for a command that leaves a message and has none: its schedule is older than messages."""
    if command.machine == "voicemail_drop" and not command.voicemail_message:
        raise RefusedOrderError("the step leaves machines a message and has none: set voicemail_message", tries_next=True)
