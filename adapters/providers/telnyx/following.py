"""What becomes of an order's call by Telnyx, once answered? A buyer or voice bot takes it, or a machine is left a message.

Telnyx dials and connects a buyer by one command (`transfer`). One who is to hear a whisper is dialled by itself, is said it,
and is connected then (`bridge`); meanwhile the person is asked to wait. Each command has a name, and is carried out once.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct, structs

from adapters.providers.ports import Order
from adapters.providers.talk_recording import RECORDING_SECONDS_MAX
from adapters.providers.telnyx.events import RETRIES, LegState, TelnyxEvent
from adapters.providers.telnyx.inbound import VOICE, Act
from adapters.providers.voice_bots import names_of
from schemas.commands import PlaceCall

MACHINE_DETECTION = {"hangup": "detect", "voicemail_drop": "greeting_end"}
"""What a step says about machines -> what Telnyx listens for: who answers, or the end of a greeting besides."""

UNANSWERED_BUYER_SECONDS = 30
RING_SECONDS_MIN, RING_SECONDS_MAX = 5, 600
"""What Telnyx takes as `timeout_secs`."""

HOLD_ON = "Please hold while we connect you."
"""The person would hear silence: Telnyx plays a ringing tone to none whose buyer it connects later."""


class CallControl(Struct, frozen=True):
    """Moves the calls of orders of one account on.

    `dial` asks for a further leg, and says whether it may ring. `callback` is the URL for reports about an order.
    """

    act: Act
    dial: Callable[[Mapping[str, Any]], Awaitable[bool]]
    callback: Callable[[str], str]
    connection_id: str | None
    from_number: str | None
    agent_number: str | None
    announcement: str | None

    def target(self, command: PlaceCall) -> str | None:
        """Return who takes an answered call."""
        return command.buyer_number or self.agent_number

    async def follow(self, event: TelnyxEvent, state: LegState, order: Order, command: PlaceCall) -> None:
        """Do what follows from a webhook about a leg."""
        if state.leg == "lead":
            await self._follow_lead(event, state, order, command)
        else:
            await self._follow_buyer(event, state, order, command)

    async def _follow_lead(self, event: TelnyxEvent, state: LegState, order: Order, command: PlaceCall) -> None:
        lead, listens = event.payload.get("call_control_id") or "", command.machine in MACHINE_DETECTION
        match event.name:
            case "call.answered" if not listens:
                if command.to_dtmf_tones is not None:
                    await self._act(lead, "send_dtmf", {"digits": command.to_dtmf_tones}, command, "extension")
                await self._connect(lead, command)
            case "call.machine.detection.ended" if listens:
                await self._detected(lead, str(event.payload.get("result")), command)
            case "call.machine.greeting.ended" if command.machine == "voicemail_drop":
                await self._leave_message(lead, command)
            case "streaming.failed" | "streaming.stopped":
                await self._hang_up(lead, command, "stream_ended")
            case "call.bridged" if self.announcement is not None:
                await self._announce(lead, command)
            case "call.speak.ended" if state.says == "announced":
                await self._record(lead, command)
            case "call.speak.ended" if "left" in order.facts:
                await self._hang_up(lead, command, "left")
            case "call.hangup" if command.whisper is not None:
                await self._stop_ringing(order, command)

    async def _detected(self, lead: str, heard: str, command: PlaceCall) -> None:
        """Connect a person; hang up on a machine, unless it is left a message once its greeting is over."""
        if not heard.startswith(("machine", "fax")):
            await self._connect(lead, command)
        elif command.machine == "hangup":
            await self._hang_up(lead, command, "machine")

    async def _stop_ringing(self, order: Order, command: PlaceCall) -> None:
        """End the leg of a buyer who is not connected to the lead yet: Telnyx does not know that the two belong together."""
        if "bridged" not in order.facts and "buyer.leg" in order.facts:
            await self._hang_up(order.facts["buyer.leg"], command, "lead_ended")

    async def _follow_buyer(self, event: TelnyxEvent, state: LegState, order: Order, command: PlaceCall) -> None:
        buyer, is_whispered = event.payload["call_control_id"], command.whisper is not None
        match event.name:
            case "call.initiated" | "call.answered" if is_whispered and "ended" in order.facts:
                await self._hang_up(buyer, command, "lead_ended")
            case "call.answered":
                if command.buyer_dtmf_tones:
                    await self._act(buyer, "send_dtmf", {"digits": command.buyer_dtmf_tones}, command, "tones")
                if is_whispered:
                    await self._whisper(buyer, state, command)
            case "call.speak.ended" if is_whispered:
                await self._bridge(buyer, state, command)
            case "call.hangup" if "bridged" not in order.facts and state.lead is not None:
                await self._hang_up(state.lead, command, "unanswered")

    async def _leave_message(self, lead: str, command: PlaceCall) -> None:
        """Say the message to a machine; where Telnyx refuses that, let it record no silence."""
        if not await self._say(lead, command.voicemail_message, LegState(command_id=command.command_id), command, "message"):
            await self._hang_up(lead, command, "refused")

    async def _connect(self, lead: str, command: PlaceCall) -> None:
        """Have somebody take the call; where Telnyx refuses that, let nobody wait in silence."""
        if not await (self._dial(lead, command) if command.stream is None else self._stream(lead, command, command.stream)):
            await self._hang_up(lead, command, "refused")

    async def _stream(self, lead: str, command: PlaceCall, url: str) -> bool:
        """Connect a voice bot: it hears the person, and the person what it sends."""
        fields = {
            "stream_url": url,
            "stream_track": "inbound_track",
            "stream_bidirectional_mode": "rtp",
            "stream_bidirectional_codec": "PCMU",
            "custom_parameters": [{"name": name, "value": value} for name, value in names_of(command).items()],
            "client_state": LegState(command_id=command.command_id, lead=lead).encoded(),
        }
        return await self._act(lead, "streaming_start", fields, command, "stream")

    async def _dial(self, lead: str, command: PlaceCall) -> bool:
        """Dial the buyer; return whether the telephone may ring."""
        state = LegState(command_id=command.command_id, leg="buyer", lead=lead)
        number = command.from_number or self.from_number
        fields = {
            "to": self.target(command),
            "timeout_secs": ring_seconds(command.buyer_timeout_seconds or UNANSWERED_BUYER_SECONDS),
            "webhook_url": self.callback(command.command_id),
            "webhook_retries_policies": RETRIES,
            **({} if number is None else {"from": number}),
        }
        if command.whisper is None:
            about = {**fields, "target_leg_client_state": state.encoded()}
            return await self._act(lead, "transfer", about, command, "transfer")
        about = {**fields, "connection_id": self.connection_id, "link_to": lead, "client_state": state.encoded()}
        if not await self.dial({**about, "command_id": f"{command.command_id}/buyer"}):
            return False
        await self._say(lead, HOLD_ON, LegState(command_id=command.command_id, says="held"), command, "hold")
        return True

    async def _whisper(self, buyer: str, state: LegState, command: PlaceCall) -> None:
        """Say the whisper; connect at once where Telnyx refuses it, since a person waits."""
        if not await self._say(buyer, command.whisper, structs.replace(state, says="whispered"), command, "whisper"):
            await self._bridge(buyer, state, command)

    async def _bridge(self, buyer: str, state: LegState, command: PlaceCall) -> None:
        """Connect the two; where one of them is gone, the other need not wait."""
        if state.lead is None:
            return
        if not await self._act(state.lead, "bridge", {"call_control_id": buyer}, command, "bridge"):
            await self._hang_up(buyer, command, "not_bridged")
            await self._hang_up(state.lead, command, "not_bridged")

    async def _announce(self, lead: str, command: PlaceCall) -> None:
        """Say to both that they are recorded; where Telnyx refuses that, nothing is."""
        state = LegState(command_id=command.command_id, lead=lead, says="announced")
        fields = {"payload": self.announcement, "client_state": state.encoded(), "target_legs": "both", **VOICE}
        await self._act(lead, "speak", fields, command, "announce")

    async def _record(self, lead: str, command: PlaceCall) -> None:
        """Record a talk that was announced as recorded; it goes on where Telnyx cannot record it."""
        fields = {"format": "mp3", "channels": "dual", "max_length": RECORDING_SECONDS_MAX, "play_beep": False}
        await self._act(lead, "record_start", fields, command, "record")

    async def _say(self, leg: str, text: str | None, state: LegState, command: PlaceCall, name: str) -> bool:
        return await self._act(leg, "speak", {"payload": text, "client_state": state.encoded(), **VOICE}, command, name)

    async def _hang_up(self, leg: str, command: PlaceCall, why: str) -> None:
        await self._act(leg, "hangup", {}, command, why)

    async def _act(self, leg: str, action: str, fields: Mapping[str, Any], command: PlaceCall, name: str) -> bool:
        return await self.act(leg, action, fields, f"{command.command_id}/{name}")


def ring_seconds(seconds: int) -> int:
    """Return for how long Telnyx lets a telephone ring."""
    return min(RING_SECONDS_MAX, max(RING_SECONDS_MIN, seconds))
