"""How does a visitor hear a call? Its page names the calls that were recorded, and plays one by a link of the API.

The link is made once somebody wants to listen, by a POST: it lets anybody hear the call for an hour, so no GET makes it, no
session makes it that was ended a moment ago, and each play is logged with who heard it. Below stands what was said, where it
was written down.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from adapters.http.console.api_calls import decode
from adapters.http.console.visits import ConsolePage, Visit
from adapters.http.exchange.exchange import Reply

PATH = "/console/calls/{call:str}/recording"

OPERATION, TRANSCRIPTION = "show_recording_link", "show_transcription"

LISTEN_SECONDS = 3_600
"""How long the link of a player is good for: a call, and going back in it. The button gives a new one."""

EXPLAINED = frozenset({"deleted", "not_found", "not_supported", "recording_pending"})
"""Problems that say why there is nothing to hear; the others are the page's."""


def recordings_of(visit: Visit, calls: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls that the visitor may listen to; none where a team hides the recordings, or none are kept here."""
    if visit.services.recordings is None or not visit.may(OPERATION):
        return []
    recorded = [call for call in calls if call.get("has_recording")]
    return [{"id": call["id"], "begun_at": _begun_at(call), "seconds": call.get("talk_duration")} for call in recorded]


async def show_player(visit: Visit) -> Reply:
    """Show a player of a recording, or why there is nothing to hear."""
    path = {"id": visit.request.path_params["call"]}
    call = (await visit.fetch("show_call", path=path))["call"]
    reply = await visit.pass_on(OPERATION, {"expires_in_seconds": LISTEN_SECONDS}, path=path, suffix="")
    answer = decode(reply).content
    if answer.get("code") not in EXPLAINED:
        visit.raise_if_refused(reply)
        # The console is at the API's own address, whatever LEADCLOCK_PUBLIC_URL says.
        player = urlsplit(answer["recording_link"]["url"]).path
        return visit.page("recording_part.html", call_id=call["id"], player=player, **await _said(visit, path))
    return visit.page("recording_part.html", call_id=call["id"], reason=answer["detail"])


async def _said(visit: Visit, path: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was said on a call, as far as somebody had it written down."""
    found = decode(await visit.pass_on(TRANSCRIPTION, {}, path=path, suffix="")).content.get("transcription")
    return {} if found is None else {"said": found["text"], "is_pending": found["status"] == "pending"}


def _begun_at(call: Mapping[str, Any]) -> Any:
    return call.get("ringing_at") or call.get("initiated_at") or call.get("created_at")


PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show_player, needs=("show_call", OPERATION, TRANSCRIPTION), method="POST"),
)
