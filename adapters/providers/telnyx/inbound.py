"""What becomes of a call of a person by Telnyx? It is answered once its route is decided, then connected or given a message.

Nothing of it is stored here: each command gives the leg a state, which says in its next webhook what is to follow.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import structs

from adapters.providers.ports import WITHHELD, InboundCallReport, InboundRoute
from adapters.providers.telnyx.events import RETRIES, UNANSWERED_CAUSES, InboundState, TelnyxEvent

Act = Callable[[str, str, Mapping[str, Any], str], Awaitable[bool]]
"""Have Telnyx do something to a leg: leg, action, parameters, and a name by which it is done once."""

UNANSWERED = frozenset({"unanswered_buyer_id", "unanswered_agent_id"})
"""What a report names of whom was rung in vain: Telnyx has answered the call by then."""

UNANSWERED_BUYER_SECONDS = 30
VOICEMAIL_SECONDS_MAX = 120

VOICE = {"voice": "female", "language": "en-US"}

SORRY = "Nobody can take your call now. Goodbye."
LEAVE_A_MESSAGE = "Please leave a message after the tone."


class InboundCalls:
    """Moves inbound calls of one account. `callback_url` is where Telnyx reports each leg."""

    def __init__(self, act: Act, callback_url: str | None) -> None:
        self._act = act
        self._callback_url = callback_url

    async def route(self, report: InboundCallReport, route: InboundRoute) -> None:
        """Do what was decided."""
        leg, is_answered = report.call_ref, not UNANSWERED.isdisjoint(report.report)
        if route.action == "connect" and route.buyer_number is not None:
            state = _state(report, then="connect", target=route.buyer_number, buyer_id=route.buyer_id)
            state = structs.replace(
                state, agent_id=route.agent_id, seconds=route.buyer_timeout_seconds, tones=route.buyer_dtmf_tones
            )
            await (self._connect(leg, state) if is_answered else self._answer(leg, state))
        elif route.action in {"voicemail", "message", "callback"}:
            words = route.message or (LEAVE_A_MESSAGE if route.action == "voicemail" else SORRY)
            state = _state(report, then="record" if route.action == "voicemail" else "end", words=words)
            await (self._say(leg, state) if is_answered else self._answer(leg, state))
        elif is_answered:
            await self._act(leg, "hangup", {}, "hangup")
        else:
            await self._act(leg, "reject", {"cause": "CALL_REJECTED"}, "reject")

    async def follow(self, event: TelnyxEvent, state: InboundState) -> None:
        """Do what follows from a webhook about a leg."""
        leg = event.payload.get("call_control_id") or state.call_ref  # a webhook about a recording may name no leg
        match state.leg, event.name:
            case "person", "call.answered" if state.then == "connect":
                await self._connect(leg, state)
            case "person", "call.answered" if state.then:
                await self._say(leg, state)
            case "person", "call.speak.ended" if state.then == "record":
                recording = {"format": "mp3", "channels": "single", "max_length": VOICEMAIL_SECONDS_MAX, "play_beep": True}
                await self._act(leg, "record_start", recording, "record")
            case "person", "call.recording.saved":
                await self._act(leg, "hangup", {}, "recorded")  # the time is up; nothing happens if the person has hung up
            case "person", "call.speak.ended" if state.then == "end":
                await self._act(leg, "hangup", {}, "goodbye")
            case "buyer", "call.answered" if state.tones:
                await self._act(leg, "send_dtmf", {"digits": state.tones}, "tones")
            case "buyer", "call.hangup" if event.payload.get("hangup_cause") not in UNANSWERED_CAUSES:
                await self._act(state.call_ref, "hangup", {}, "talked")

    async def _answer(self, leg: str, state: InboundState) -> None:
        await self._act(leg, "answer", {"client_state": state.encoded()}, "answer")

    async def _say(self, leg: str, state: InboundState) -> None:
        fields = {"payload": state.words or SORRY, "client_state": state.encoded(), **VOICE}
        await self._act(leg, "speak", fields, f"say/{state.then}")

    async def _connect(self, leg: str, state: InboundState) -> None:
        """Dial the buyer; the person's leg goes on if that does not answer, so that another one can be dialled."""
        fields = {
            "to": state.target,
            "from": state.number if state.person == WITHHELD else state.person,
            "timeout_secs": state.seconds or UNANSWERED_BUYER_SECONDS,
            "client_state": structs.replace(state, then="").encoded(),
            "target_leg_client_state": structs.replace(state, leg="buyer").encoded(),
            "park_after_unbridge": "self",
            "webhook_retries_policies": RETRIES,
            **({} if self._callback_url is None else {"webhook_url": self._callback_url}),
        }
        if not await self._act(leg, "transfer", fields, f"connect/{state.buyer_id or state.agent_id}"):
            await self._say(leg, structs.replace(state, then="end", words=SORRY))


def _state(report: InboundCallReport, **more: Any) -> InboundState:
    return InboundState(call_ref=report.call_ref, person=report.from_number, number=report.to_number, **more)
