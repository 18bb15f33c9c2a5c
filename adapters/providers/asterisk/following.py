"""What follows when something happens to a call of ours? Its buyers are rung, connected, and ended with it.

Events of one call come one after the other, and may come twice: a request does no harm when it is repeated, or is not made
again where a fact of the order says that the call is past it.
"""

import structlog
from msgspec import Struct

from adapters.providers.asterisk.ari import Ari
from adapters.providers.asterisk.events import BUYER, GREETING, LEAD, MACHINE, AriEvent
from adapters.providers.asterisk.finding import remembered
from adapters.providers.asterisk.legs import NO_RECORD, OrderLeg
from adapters.providers.asterisk.outcomes import buyers_that, winner
from adapters.providers.asterisk.settings import AsteriskSettings
from adapters.providers.ports import Order, ProviderFailedError, RefusedOrderError
from adapters.providers.talk_recording import RECORDING_SECONDS_MAX
from schemas.commands import BuyerLeg, PlaceCall

UNANSWERED_BUYER_SECONDS = 30

logger = structlog.get_logger(__name__)


class OrderCalls(Struct, frozen=True):
    """Moves the calls of one account on."""

    ari: Ari
    settings: AsteriskSettings

    async def follow(self, event: AriEvent, leg: OrderLeg, order: Order, command: PlaceCall) -> None:
        """Do what follows from an event."""
        match event.type, event.args[:1]:
            case "StasisStart", (word,) if leg.buyer is None and word == LEAD:
                await self._answered(leg, order, command)
            case "StasisStart", (word,) if leg.buyer is None and word == MACHINE:
                await self._heard(leg, order, command)
            case "StasisStart", (word,) if leg.buyer is None and word == GREETING:
                await self._leave_message(leg)
            case "StasisStart", _ if leg.buyer is not None:
                await self._buyer_answered(leg, leg.buyer, order, command)
            case "ChannelDestroyed", _ if leg.buyer is None:
                await self._end(command, but=None)
                await self.ari.act("DELETE", "bridges", leg.bridge)
            case "ChannelDestroyed", _:
                await self._buyer_ended(leg, order, command)
            case "PlaybackFinished", _ if leg.buyer is not None:
                await self._connect(leg, leg.buyer, order, command)
            case "PlaybackFinished", _ if "greeted" in order.facts:
                await self._hang_up(leg)
            case "PlaybackFinished", _ if event.was_played:
                await self._record(leg)

    def buyers(self, command: PlaceCall) -> list[BuyerLeg]:
        """Return the telephones to ring for an answered call."""
        if command.buyer_legs:
            return list(command.buyer_legs)
        target = command.buyer_number or self.settings.agent_number
        seconds = command.buyer_timeout_seconds or UNANSWERED_BUYER_SECONDS
        buyer_id = command.buyer_id or NO_RECORD
        tones = command.buyer_dtmf_tones
        return (
            [] if target is None else [BuyerLeg(buyer_id=buyer_id, number=target, timeout_seconds=seconds, dtmf_tones=tones)]
        )

    async def _answered(self, lead: OrderLeg, order: Order, command: PlaceCall) -> None:
        if "machine" in order.facts or winner(order.facts) is not None:
            return  # a repeat: the call is past that, and the dialplan would take the lead out of its talk
        if command.to_dtmf_tones is not None and not await self._is_ringing(lead, command):
            await self.ari.act("POST", "channels", lead.name, "dtmf", dtmf=command.to_dtmf_tones)
        if command.machine in {"hangup", "voicemail_drop"} and self.settings.detects_machines:
            await self._continue(lead, "machine")
        else:
            await self._ring_buyers(lead, order, command)

    async def _heard(self, lead: OrderLeg, order: Order, command: PlaceCall) -> None:
        if order.facts.get("machine") != "MACHINE":
            await self._ring_buyers(lead, order, command)
        elif "greeted" in order.facts:
            return  # a repeat: the machine hears the sound by now
        elif command.machine == "voicemail_drop":
            await self._continue(lead, "greeting")
        else:
            await self._hang_up(lead)

    async def _continue(self, lead: OrderLeg, extension: str) -> None:
        """Have the dialplan listen to the lead's leg; it comes back with what it has heard."""
        context = self.settings.context
        await self.ari.act("POST", "channels", lead.name, "continue", context=context, extension=extension, priority=1)

    async def _leave_message(self, lead: OrderLeg) -> None:
        """Play a machine the sound of the account; where it cannot be, let it record no silence."""
        sound = self.settings.drop_sound
        if sound is None or not await self._plays(lead, sound):
            await self._hang_up(lead)

    async def _ring_buyers(self, lead: OrderLeg, order: Order, command: PlaceCall) -> None:
        """Ring every buyer; where none can be rung, let nobody wait in silence."""
        if "ended" in order.facts or winner(order.facts) is not None:
            return
        await self.ari.act("POST", "channels", lead.name, "ring")
        was_rung = buyers_that(order.facts, "answered") | buyers_that(order.facts, "ended")
        rings = [buyer.buyer_id in was_rung or await self._ring(lead, buyer, command) for buyer in self.buyers(command)]
        if not any(rings):
            await self._hang_up(lead)

    async def _ring(self, lead: OrderLeg, buyer: BuyerLeg, command: PlaceCall) -> bool:
        """Ring a buyer; return whether its telephone may ring."""
        leg = OrderLeg(lead.command_id, buyer.buyer_id)
        caller_id = command.from_number or self.settings.from_number
        try:
            about = self.settings.originated(buyer.number, caller_id=caller_id, seconds=buyer.timeout_seconds, as_whom=BUYER)
        except RefusedOrderError:
            return False
        variables = remembered(self.settings.context, leg.name, command.decided_at)
        body = {**about, "originator": lead.name, "variables": variables}
        return await self.ari.act("POST", "channels", leg.name, body=body) or await self._lasts(leg)

    async def _is_ringing(self, lead: OrderLeg, command: PlaceCall) -> bool:
        """Return whether a buyer of a lead has a leg."""
        legs = (OrderLeg(lead.command_id, buyer.buyer_id) for buyer in self.buyers(command))
        return any([await self._lasts(leg) for leg in legs])

    async def _lasts(self, leg: OrderLeg) -> bool:
        return await self.ari.read("channels", leg.name) is not None

    async def _buyer_answered(self, leg: OrderLeg, buyer_id: int, order: Order, command: PlaceCall) -> None:
        """Connect the first buyer that answers, after the sound that stands for a whisper."""
        if winner(order.facts) != buyer_id or "ended" in order.facts:
            await self._hang_up(leg)
            return
        is_over = order.facts.keys() & {f"b{buyer_id}.whispered", f"b{buyer_id}.not_whispered"}
        sound = None if command.whisper is None or is_over else self.settings.whisper_sound
        if sound is None:
            await self._connect(leg, buyer_id, order, command)
            return
        await self._end(command, but=buyer_id)
        if not await self._plays(leg, sound):
            await self._connect(leg, buyer_id, order, command)

    async def _plays(self, leg: OrderLeg, sound: str) -> bool:
        """Return whether a leg hears a sound, which has the leg's name; a repeat does not play it again."""
        is_heard = await self.ari.read("playbacks", leg.name) is not None
        return is_heard or await self.ari.act("POST", "channels", leg.name, "play", leg.name, media=sound)

    async def _connect(self, leg: OrderLeg, buyer_id: int, order: Order, command: PlaceCall) -> None:
        """Connect a buyer with the lead, and end the legs of the others; once, as tones and announcement are heard."""
        if f"b{buyer_id}.bridged" in order.facts:
            return
        lead = OrderLeg(leg.command_id)
        await self.ari.act("POST", "bridges", lead.bridge, type="mixing")
        await self.ari.act("DELETE", "channels", lead.name, "ring")
        if not await self.ari.act("POST", "bridges", lead.bridge, "addChannel", channel=f"{lead.name},{leg.name}"):
            await self._hang_up(leg)  # the lead has hung up; or the buyer has, and its end says what follows
            return
        await self._end(command, but=buyer_id)
        tones = next((buyer.dtmf_tones for buyer in self.buyers(command) if buyer.buyer_id == buyer_id), None)
        if tones:
            await self.ari.act("POST", "channels", leg.name, "dtmf", dtmf=tones)
        if self.settings.records and self.settings.announcement is not None:
            await self.ari.act("POST", "bridges", lead.bridge, "play", lead.name, media=self.settings.announcement)

    async def _record(self, lead: OrderLeg) -> None:
        """Record a call whose announcement has been played; a call goes on that Asterisk cannot record."""
        path = "bridges", lead.bridge, "record"
        seconds = RECORDING_SECONDS_MAX
        try:
            await self.ari.act("POST", *path, name=lead.name, format="wav", ifExists="fail", maxDurationSeconds=seconds)
        except ProviderFailedError as error:
            logger.warning("call.not_recorded", channel=lead.name, reason=str(error))

    async def _buyer_ended(self, leg: OrderLeg, order: Order, command: PlaceCall) -> None:
        """End the call with the talk, or when no buyer is left."""
        everybody = {buyer.buyer_id for buyer in self.buyers(command)}
        first = winner(order.facts)
        if "ended" not in order.facts and (first == leg.buyer or (first is None and everybody <= self._over(order))):
            await self._hang_up(OrderLeg(leg.command_id))

    def _over(self, order: Order) -> frozenset[int]:
        return buyers_that(order.facts, "ended")

    async def _end(self, command: PlaceCall, *, but: int | None) -> None:
        for buyer in self.buyers(command):
            if buyer.buyer_id != but:
                await self._hang_up(OrderLeg(command.command_id, buyer.buyer_id))

    async def _hang_up(self, leg: OrderLeg) -> None:
        await self.ari.act("DELETE", "channels", leg.name)
