"""How is the outcome of a command said to its contact? As one request, the same from each of its reporters."""

from adapters.gateway.ports import DeliveryResult, Kind
from schemas.commands import Command, PlaceCall, PostWebhook
from schemas.instant import Instant
from schemas.requests import OutcomeRecorded

DETAIL_LENGTH_MAX = 500
"""In characters, of a provider's own words: people read them, programs do not."""


def outcome_of(
    command: Command, kind: Kind, result: DeliveryResult, *, provider: str, occurred_at: Instant
) -> OutcomeRecorded:
    """Return the request that reports the outcome of a command; `provider` carried it out, unless the result says who."""
    return OutcomeRecorded(
        company_id=command.company_id,
        contact_key=command.contact_key,
        lead_id=command.lead_id,
        command_id=command.command_id,
        kind=kind,
        outcome=result.outcome,
        occurred_at=occurred_at,
        call_id=command.call_id if isinstance(command, PlaceCall | PostWebhook) else None,
        fire_id=command.fire_id if isinstance(command, PostWebhook) else None,
        rang=result.rang,
        provider=result.provider or provider,
        provider_ref=result.provider_ref,
        answered_by=result.answered_by,
        buyer_id=_buyer_of(command, result) if isinstance(command, PlaceCall) else None,
        ringing_at=result.ringing_at,
        answered_at=result.answered_at,
        buyer_answered_at=result.buyer_answered_at,
        talk_seconds=result.talk_seconds,
        hung_up_by=result.hung_up_by,
        hangup_cause=None if result.hangup_cause is None else result.hangup_cause[:DETAIL_LENGTH_MAX],
        cost=result.cost,
        recording_url=result.recording_url,
        detail=None if result.detail is None else result.detail[:DETAIL_LENGTH_MAX],
        agent_id=result.agent_id,
        provider_configuration_id=result.provider_configuration_id,
        transcription_status=result.transcription_status,
        allows=result.allows,
        hold=result.hold,
    )


def _buyer_of(command: PlaceCall, result: DeliveryResult) -> int | None:
    """Return the buyer of a call: of several, the one that answered; the first, where a provider rings but that one."""
    if result.buyer_id is not None or (command.buyer_legs and result.outcome != "connected_buyer"):
        return result.buyer_id
    return command.buyer_id
