"""What becomes of a call of a person by Asterisk? It rings until its route is decided; then a buyer is rung, or words said.

Nothing of it is stored here: the names of the legs and sounds that are made for it say what is to follow. An event may come
twice, so a variable of the person's channel names what was done: else a buyer who was rung before would be rung again.
"""

from msgspec import Struct

from adapters.providers.asterisk.ari import Ari
from adapters.providers.asterisk.events import BUYER, GIVEN_UP, UP, AriEvent
from adapters.providers.asterisk.following import UNANSWERED_BUYER_SECONDS
from adapters.providers.asterisk.legs import NO_RECORD, InboundThing, MessageNames
from adapters.providers.asterisk.settings import AsteriskSettings
from adapters.providers.ports import InboundCallReport, InboundRoute, RefusedOrderError

VOICEMAIL_SECONDS_MAX = 120

REJECTED = "21"
"""The Q.850 cause of a call that is not wanted."""

MESSAGES = frozenset({"voicemail", "message", "callback"})


DONE = "LEADCLOCK_DONE"
"""The variable of a person's channel that names what was done for the call, with commas between."""


class PersonCalls(Struct, frozen=True):
    """Moves the calls of people on."""

    ari: Ari
    settings: AsteriskSettings
    messages: MessageNames

    async def route(self, report: InboundCallReport, route: InboundRoute) -> None:
        """Do what was decided."""
        if route.action == "connect" and route.buyer_number is not None:
            if not await self._connect(report, route, route.buyer_number):
                await self._say(report, "sorry")
        elif route.action in MESSAGES:
            await self._say(report, "voicemail" if route.action == "voicemail" else "sorry")
        else:
            await self.ari.act("DELETE", "channels", report.call_ref, reason_code=REJECTED)

    async def _connect(self, report: InboundCallReport, route: InboundRoute, target: str) -> bool:
        """Ring a buyer or agent while the person hears ringing; False where that cannot be rung."""
        leg = _thing(report, f"b{route.buyer_id or NO_RECORD}" if route.agent_id is None else f"a{route.agent_id}")
        seconds = route.buyer_timeout_seconds or UNANSWERED_BUYER_SECONDS
        try:
            about = self.settings.originated(target, caller_id=report.number_to_show, seconds=seconds, as_whom=BUYER)
        except RefusedOrderError:
            return False
        if await self._is_done(report.call_ref, leg.what):
            return True
        if not await self.ari.act("POST", "channels", report.call_ref, "ring"):
            return True  # the person has hung up
        tones = {} if route.buyer_dtmf_tones is None else {"appArgs": f"{BUYER},{route.buyer_dtmf_tones}"}
        body = {**about, **tones, "originator": report.call_ref}
        rings = await self.ari.act("POST", "channels", leg.name, body=body) or await self._lasts(leg)
        if rings:
            await self._note(report.call_ref, leg.what)
        return rings

    async def _lasts(self, leg: InboundThing) -> bool:
        return await self.ari.read("channels", leg.name) is not None

    async def _say(self, report: InboundCallReport, what: str) -> None:
        if await self._is_done(report.call_ref, what):
            return
        sound = self.settings.voicemail_sound if what == "voicemail" else self.settings.sorry_sound
        await self.ari.act("POST", "channels", report.call_ref, "answer")
        await self.ari.act("POST", "channels", report.call_ref, "play", _thing(report, what).name, media=sound)
        await self._note(report.call_ref, what)

    async def _is_done(self, call_ref: str, what: str) -> bool:
        return what in (await self.ari.read_variable(call_ref, DONE)).split(",")

    async def _note(self, call_ref: str, what: str) -> None:
        """Store on the person's channel that something was done; it goes with the call."""
        before = await self.ari.read_variable(call_ref, DONE)
        await self.ari.set_variable(call_ref, DONE, f"{before},{what}" if before else what)

    async def follow(self, event: AriEvent, thing: InboundThing) -> None:
        """Do what follows from an event of what we made for a call."""
        match event.type:
            case "StasisStart":
                await self._connected(event, thing)
            case "ChannelDestroyed" if event.channel is not None and event.channel.state == UP:
                await self._end(thing.call_ref)
            case "PlaybackFinished" if thing.what == "voicemail":
                await self._record(thing)
            case "PlaybackFinished" | "RecordingFinished":
                await self._end(thing.call_ref)

    async def _record(self, thing: InboundThing) -> None:
        path, seconds = ("channels", thing.call_ref, "record"), VOICEMAIL_SECONDS_MAX
        about = {"name": self.messages.name(thing), "format": "wav", "ifExists": "overwrite", "beep": "true"}
        await self.ari.act("POST", *path, body={**about, "maxDurationSeconds": seconds})

    async def _connected(self, event: AriEvent, leg: InboundThing) -> None:
        bridge, joined = f"lci.{leg.call_ref}", f"{leg.what}.joined"
        if await self._is_done(leg.call_ref, joined):
            return
        await self.ari.act("POST", "channels", leg.call_ref, "answer")
        await self.ari.act("POST", "bridges", bridge, type="mixing")
        if not await self.ari.act("POST", "bridges", bridge, "addChannel", channel=f"{leg.call_ref},{leg.name}"):
            await self._end(leg.name)
            return
        if len(event.args) > 1:
            await self.ari.act("POST", "channels", leg.name, "dtmf", dtmf=event.args[1])
        await self._note(leg.call_ref, joined)

    async def person_ended(self, call_ref: str) -> None:
        """End what was made for a call whose person has hung up."""
        for channel in await self.ari.read("channels") or []:
            name = str(channel.get("id", ""))
            if name.startswith("lci.") and name.endswith(f".{call_ref}"):
                await self.ari.act("DELETE", "channels", name, reason_code=str(GIVEN_UP))
        await self.ari.act("DELETE", "bridges", f"lci.{call_ref}")

    async def _end(self, channel: str) -> None:
        await self.ari.act("DELETE", "channels", channel)


def _thing(report: InboundCallReport, what: str) -> InboundThing:
    return InboundThing(report.from_number, report.to_number, what, report.call_ref)
