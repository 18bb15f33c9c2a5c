"""What transcribes recordings? The service of the settings. A file of its own: roles that decide load no HTTP client."""

from collections.abc import Collection

from adapters.gateway.addresses import networks
from adapters.recordings.transcription_service import TranscriptionService
from adapters.settings import Settings


def open_transcriber(settings: Settings, own_ports: Collection[int]) -> TranscriptionService:
    """Return the service of the settings."""
    return TranscriptionService(
        settings.transcriber_url,
        key=settings.transcriber_key,
        model=settings.transcriber_model,
        allowed=networks(settings.webhook_private_networks),
        own_ports=own_ports,
    )
