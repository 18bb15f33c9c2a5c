"""May a voice bot take a call, and how does it know which one? By a media stream of the provider, and our names of it."""

from collections.abc import Mapping

from adapters.providers.ports import RefusedOrderError
from schemas.commands import PlaceCall


def check_stream(command: PlaceCall, *, records: bool) -> None:
    """Raise `RefusedOrderError` for a stream by an account that records: neither vendor records one as it does a talk."""
    if command.stream is not None and records:
        raise RefusedOrderError(
            "talks with a voice bot are not recorded: leave out stream, or records of the account", tries_next=True
        )


def names_of(command: PlaceCall) -> Mapping[str, str]:
    """Return what the bot gets of a call: names, nothing about the person."""
    return {
        "command_id": command.command_id,
        "call_id": str(command.call_id),
        "lead_id": str(command.lead_id),
        "lead_uuid": command.lead_uuid,
    }
