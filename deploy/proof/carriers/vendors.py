"""Who carries the calls and texts? The tests' fakes of four vendors, with people who answer, talk and hang up.

A vendor reports as the real one does. Twilio reports once, and is asked later about what was not taken. Telnyx posts a
webhook again as its order says. An SMPP carrier keeps a receipt until a session takes it. Asterisk keeps no event for who
does not listen, and its dialplan writes down how a call ended.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Self

import httpx
from msgspec import Struct
from smpplib import smpp

from adapters.providers.asterisk.legs import OrderLeg, read_name
from tests.adapters.providers.fake_asterisk import FakeAsterisk
from tests.adapters.providers.fake_telnyx import FakeTelnyx
from tests.adapters.providers.fake_twilio import FakeTwilio
from tests.adapters.providers.smpp_server import OK, CarrierSession, SmppServer

REPORT_SECONDS = 15.0
"""So long a vendor waits for the answer to a report."""

TEXT_RETRIES_MS = (1_000, 4_000)
"""Of a webhook about a text; those about calls are tried again as their order says."""

RECEIPT_GAP_SECONDS = 1.0
RECEIPT_TRIES = 600
"""Ten minutes: longer than any gateway is away here."""

BUSY_CAUSE = 17
"""User busy, in ITU-T Q.850."""

REFUSAL_LENGTH_MAX = 120
"""In characters, of an answer that is printed: enough to tell one kind from another."""

Number = str


class Pace(Struct, frozen=True, kw_only=True):
    """From how many seconds to how many something takes."""

    answers: tuple[float, float] = (0.1, 3.0)
    """The vendor, to an order: reports may come before its answer."""

    rings: tuple[float, float] = (3.0, 15.0)
    talks: tuple[float, float] = (5.0, 25.0)
    receipts: tuple[float, float] = (1.0, 20.0)


class Vendors:
    """The vendors of one proof, and what is under way with them."""

    def __init__(self, pace: Pace, *, seed: int) -> None:
        self._pace = pace
        self._rng = random.Random(seed)  # noqa: S311 - spreads instants, hides nothing
        self._stack = AsyncExitStack()
        self._under_way: dict[asyncio.Task[None], str] = {}
        self._ended: list[asyncio.Task[None]] = []
        self._client = httpx.AsyncClient(timeout=REPORT_SECONDS, limits=httpx.Limits(max_connections=50))
        self.refused: Counter[str] = Counter()
        """Answers to reports that were not taken, 502 where no API answered."""
        self.twilio = FakeTwilio(self._post)
        self.telnyx = FakeTelnyx(self._post_again)
        self.smpp = KeepingCarrier(self._took_text)
        self.asterisk = AnsweringAsterisk(self._dialled)

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._client)
        self._stack.push_async_callback(self._end)
        self.twilio.before_answer = self._twilio_took
        self.telnyx.before_answer = self._telnyx_took
        for fake in (self.twilio, self.telnyx, self.smpp, self.asterisk):
            await self._stack.enter_async_context(fake)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def under_way(self) -> Counter[str]:
        """Return how many calls and texts have not been reported to their end."""
        return Counter(self._under_way.values())

    def orders(self) -> Counter[tuple[str, Number]]:
        """Return how often each person was called and texted."""
        legs = (read_name(one["id"]) for one in self.asterisk.originated)
        called = [
            *(one["to"] for one in self.twilio.calls.values() if one["parent_call_sid"] is None),
            *(leg["to"] for leg in self.telnyx.legs.values() if leg["command_id"] is not None),
            *(
                one["endpoint"].removeprefix("PJSIP/").partition("@")[0]
                for one, leg in zip(self.asterisk.originated, legs, strict=True)
                if isinstance(leg, OrderLeg) and leg.buyer is None
            ),
        ]
        texted = [
            *(one["to"] for one in self.twilio.messages.values()),
            *(one["to"][0]["phone_number"] for one in self.telnyx.messages.values()),
            *(f"+{pdu.destination_addr.decode()}" for pdu in self.smpp.texts.values()),
        ]
        return Counter([("call", number) for number in called] + [("sms", number) for number in texted])

    def texts_without_name(self) -> set[Number]:
        """Return whom the vendor texted that knows no command ids: it cannot be asked about an answer that was lost."""
        return {f"+{pdu.destination_addr.decode()}" for pdu in self.smpp.texts.values()}

    async def finish(self) -> None:
        """Wait until everything was reported; raise what failed."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        await asyncio.gather(*self._ended)

    async def _end(self) -> None:
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, kind: str, life: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(life)
        self._under_way[task] = kind
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._ended.append(task)

    async def _pass(self, seconds: tuple[float, float]) -> None:
        await asyncio.sleep(self._rng.uniform(*seconds))

    async def _post(self, url: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
        try:
            answer = await self._client.post(url, content=content, headers=dict(headers))
        except httpx.HTTPError:
            answer = httpx.Response(httpx.codes.BAD_GATEWAY)
        if not answer.is_success:
            self.refused[f"{answer.status_code} {answer.text[:REFUSAL_LENGTH_MAX]}".strip()] += 1
        return answer

    async def _post_again(self, url: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Post a webhook of Telnyx until it is taken, as often as was asked for."""
        event = json.loads(content)["data"]
        leg = self.telnyx.legs.get(event["payload"].get("call_control_id"), {})
        policy = leg.get("retries", {}).get(event["event_type"], {"retries_ms": () if leg else TEXT_RETRIES_MS})
        answer = await self._post(url, content, headers)
        for delay_ms in policy["retries_ms"]:
            if answer.is_success:
                break
            await asyncio.sleep(delay_ms / 1_000)
            answer = await self._post(url, content, headers)
        return answer

    async def _twilio_took(self, made: dict[str, Any]) -> None:
        is_call = made["sid"] in self.twilio.calls
        self._begin("call" if is_call else "sms", self._twilio_call(made) if is_call else self._twilio_text(made))
        await self._pass(self._pace.answers)

    async def _twilio_call(self, call: dict[str, Any]) -> None:
        twilio, sid = self.twilio, call["sid"]
        await twilio.status(sid, "initiated")
        await twilio.status(sid, "ringing")
        await self._pass(self._pace.rings)
        if self._is_busy():
            await twilio.status(sid, "busy")
            return
        call["status"] = "in-progress"
        form = {"CallSid": sid, "CallStatus": "in-progress", "AnsweredBy": "human", "Direction": "outbound-api"}
        instructions = (await twilio.report(call["url"], form)).text
        action = instructions.partition('action="')[2].partition('"')[0].replace("&amp;", "&")
        if action:
            began_at = asyncio.get_running_loop().time()
            await self._pass(self._pace.talks)
            seconds = int(asyncio.get_running_loop().time() - began_at)
            twilio.leg(sid, "completed", seconds)
            await twilio.report(action, {"CallSid": sid, "DialCallStatus": "completed", "DialCallDuration": str(seconds)})
        call |= {"duration": "30", "answered_by": "human"}
        await twilio.status(sid, "completed", CallDuration="30")

    async def _twilio_text(self, text: dict[str, Any]) -> None:
        await self.twilio.receipt(text["sid"], "sent")
        await self._pass(self._pace.receipts)
        await self.twilio.receipt(text["sid"], "delivered")

    async def _telnyx_took(self, made: dict[str, Any]) -> None:
        is_call = "call_control_id" in made
        self._begin("call" if is_call else "sms", self._telnyx_call(made) if is_call else self._telnyx_text(made))
        await self._pass(self._pace.answers)

    async def _telnyx_call(self, leg: dict[str, Any]) -> None:
        await self.telnyx.event(leg, "call.initiated")
        await self._pass(self._pace.rings)
        ended = {"hangup_cause": "user_busy", "hangup_source": "callee", "sip_hangup_cause": "486"}
        await self.telnyx.event(leg, "call.hangup", **ended)

    async def _telnyx_text(self, text: dict[str, Any]) -> None:
        await self.telnyx.receipt(text["id"], "sent", name="message.sent")
        await self._pass(self._pace.receipts)
        await self.telnyx.receipt(text["id"], "delivered")

    def _took_text(self, message_id: str) -> None:
        self._begin("sms", self._smpp_text(message_id))

    async def _smpp_text(self, message_id: str) -> None:
        await self._pass(self._pace.receipts)
        for _ in range(RECEIPT_TRIES):
            if await self.smpp.is_taken(message_id):
                return
            await asyncio.sleep(RECEIPT_GAP_SECONDS)
        raise AssertionError(f"no session took the receipt of {message_id}")

    def _dialled(self, name: str) -> None:
        leg = read_name(name)
        if isinstance(leg, OrderLeg):
            self._begin("call", self._asterisk_lead(leg) if leg.buyer is None else self._asterisk_buyer(leg))

    async def _asterisk_lead(self, leg: OrderLeg) -> None:
        asterisk = self.asterisk
        await self._pass((0.1, 0.2))  # the order is answered first
        asterisk.rings(leg.name)
        await self._pass(self._pace.rings)
        if leg.name not in asterisk.channels:
            return
        if self._is_busy():
            asterisk.ends(leg.name, BUSY_CAUSE)
            return
        asterisk.answers(leg.name)
        await self._pass(self._pace.talks)
        if leg.name in asterisk.channels:
            asterisk.ends(leg.name)

    async def _asterisk_buyer(self, leg: OrderLeg) -> None:
        await self._pass((0.5, 1.0))
        if leg.name in self.asterisk.channels:
            self.asterisk.answers(leg.name)

    def _is_busy(self) -> bool:
        return self._rng.random() < 0.5  # noqa: PLR2004 - half of them


class KeepingCarrier(SmppServer):
    """A carrier that keeps receipts until a session takes them."""

    def __init__(self, took: Callable[[str], None]) -> None:
        super().__init__()
        self._took = took

    def keep(self, pdu: smpp.pdu.PDU) -> str:
        """Take a text."""
        message_id = super().keep(pdu)
        self._took(message_id)
        return message_id

    @property
    def session(self) -> CarrierSession:
        """The newest session that is open. Raises `StopIteration`."""
        return next(one for one in reversed(self.sessions) if _is_open(one))

    async def is_taken(self, message_id: str) -> bool:
        """Deliver a receipt; False where no session took it."""
        if not any(_is_open(one) for one in self.sessions):
            return False
        try:
            return await self.receipt(message_id) == OK
        except (TimeoutError, OSError):
            return False


def _is_open(session: CarrierSession) -> bool:
    return session.is_bound and not session.unbound.is_set() and not session.writer.is_closing()


class AnsweringAsterisk(FakeAsterisk):
    """An Asterisk whose telephones are answered."""

    def __init__(self, dialled: Callable[[str], None]) -> None:
        super().__init__()
        self._dialled = dialled

    def _originate(self, name: str, fields: dict[str, Any]) -> tuple[int, Any] | None:
        answer = super()._originate(name, fields)
        self._dialled(name)
        return answer
