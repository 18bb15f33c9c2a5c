"""Does a provider keep its promises? A suite for pytest: subclass `ProviderContract` in a test of your own and fill it in.

It ships in the wheel, so that a provider can be written outside this project. `deploy/docs/providers.md` shows how.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from adapters.clock import wall_now
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.providers.ports import (
    Callback,
    Connection,
    ForgedCallbackError,
    HttpAnswer,
    Order,
    OrderReport,
    Placed,
    Provider,
    ProviderAccount,
    ProviderFailedError,
)
from adapters.providers.registry import fault_of, settings_faults
from schemas.commands import PlaceCall, SendEmail, SendSms
from schemas.outcomes import OUTCOMES

CALLBACK_URL = "https://leads.example.com/providers/test/callback/1-00000000000000000000000000000000"


class ScriptedHttp:
    """Answers each request with the next of its answers; an exception among them is raised. It remembers the requests."""

    def __init__(self, *answers: HttpAnswer | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, str, bytes]] = []

    async def send(self, method: str, url: str, *, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:  # noqa: ARG002
        """Return the next answer."""
        self.requests.append((method, url, content))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def call_command(command_id: str = "c1", **fields: Any) -> PlaceCall:
    """Return a command to call."""
    return PlaceCall(
        **_fields(command_id),
        to="+12125550101",
        from_number="+12125550199",
        call_id=9,
        buyer_number="+12125550177",
        **fields,
    )


def sms_command(command_id: str = "c1") -> SendSms:
    """Return a command to text."""
    return SendSms(**_fields(command_id), to="+12125550101", from_number="+12125550199", body="Hello")


def _fields(command_id: str) -> dict[str, Any]:
    return {
        "command_id": command_id,
        "company_id": 1,
        "contact_key": "1/+12125550101",
        "lead_id": 7,
        "lead_uuid": "u",
        "step_id": "s",
        "enrolment": 1,
        "attempt": 1,
        "decided_at": wall_now(),
        "not_before": wall_now(),
    }


class ProviderContract:
    """What every provider promises. A subclass gives the provider, and what its vendor says."""

    name: str
    """Of the entry point."""
    settings: Mapping[str, Any] = {}
    secrets: Mapping[str, str] = {}

    def provider(self) -> Provider:
        """Return the provider."""
        raise NotImplementedError

    def placed(self) -> HttpAnswer:
        """Return the vendor's answer to an order that it takes."""
        raise NotImplementedError

    def refused(self) -> HttpAnswer:
        """Return the vendor's answer to an order that it refuses without doing anything."""
        raise NotImplementedError

    def callbacks(self) -> Sequence[tuple[Callback, str]]:
        """Return signed callbacks about one order, `c1`, as they happen, with the outcome of all up to each, or ""."""
        raise NotImplementedError

    def connect(self, http: ScriptedHttp) -> Connection:
        """Return a connection over scripted answers."""
        provider = self.provider()
        account = ProviderAccount(
            company_id=1,
            configuration_id=1,
            channel=self.channel,  # type: ignore[arg-type]
            settings=msgspec.convert(dict(self.settings), provider.settings, strict=False),
            secrets=self.secrets,
            callback_url=CALLBACK_URL,
            http=http,
            now=wall_now,
        )
        return provider.connect(account)

    @property
    def channel(self) -> str:
        """Return the channel that is tried: calls where the provider has them."""
        channels = self.provider().channels
        return next(channel for channel in ("call", "sms", "email") if channel in channels)

    async def order(self, http: ScriptedHttp) -> Placed | DeliveryResult:
        """Give an order on the channel that is tried."""
        connection = self.connect(http)
        match self.channel:
            case "call":
                return await connection.place(call_command())
            case "sms":
                return await connection.send(sms_command())
            case _:
                return await connection.send(SendEmail(**_fields("c1"), to="ann@example.com", subject="S", body="B"))

    def test_its_entry_point_names_a_provider(self) -> None:
        """Check what the registry asks."""
        assert fault_of(self.name, self.provider()) is None
        assert set(self.secrets) == set(self.provider().secrets)

    def test_its_settings_are_read_and_a_misspelt_one_is_refused(self) -> None:
        """Check the settings."""
        assert settings_faults(self.provider(), self.settings) == {}
        assert "settings.no_such_setting" in settings_faults(self.provider(), {**self.settings, "no_such_setting": 1})

    async def test_connecting_sends_nothing(self) -> None:
        """Check that a connection is made without I/O."""
        http = ScriptedHttp()
        self.connect(http)
        assert http.requests == []

    async def test_an_order_is_given_once_and_named_by_the_vendor(self) -> None:
        """Check an order that the vendor takes."""
        http = ScriptedHttp(self.placed())
        answer = await self.order(http)
        assert isinstance(answer, Placed)
        assert answer.provider_ref
        assert len(http.requests) == 1

    async def test_a_refused_order_was_certainly_not_placed(self) -> None:
        """Check an order that the vendor refuses: it is not sent again by itself."""
        http = ScriptedHttp(self.refused())
        try:
            answer = await self.order(http)
        except NotPlacedError:
            pass
        else:
            assert isinstance(answer, DeliveryResult)
            assert answer.outcome in OUTCOMES[self.channel]
        assert len(http.requests) == 1

    @pytest.mark.parametrize(
        "failure",
        [HttpAnswer(500, b""), HttpAnswer(503, b"{}"), HttpAnswer(200, b"not what it says"), ProviderFailedError("reset")],
    )
    async def test_an_unclear_answer_is_never_taken_for_not_placed(self, failure: HttpAnswer | Exception) -> None:
        """Check that an order which may have been placed is neither repeated nor given to another provider."""
        http = ScriptedHttp(failure)
        with pytest.raises(ProviderFailedError):
            await self.order(http)
        assert len(http.requests) == 1

    async def test_what_was_not_sent_was_not_placed(self) -> None:
        """Check that the error of a vendor that cannot be reached is passed on."""
        with pytest.raises(NotPlacedError):
            await self.order(ScriptedHttp(NotPlacedError("no connection")))

    def test_a_signed_callback_is_read_and_a_forged_one_is_not(self) -> None:
        """Check signatures."""
        connection = self.connect(ScriptedHttp())
        for callback, _ in self.callbacks():
            report = connection.read_callback(callback)
            assert isinstance(report, OrderReport)
            assert (report.command_id, bool(report.provider_ref), bool(report.event_id)) == ("c1", True, True)
            for forged in _forged(callback):
                with pytest.raises(ForgedCallbackError):
                    connection.read_callback(forged)

    def test_callbacks_end_in_the_same_outcome_in_any_order_and_twice(self) -> None:
        """Check that facts are only added."""
        connection = self.connect(ScriptedHttp())
        callbacks = [callback for callback, _ in self.callbacks()]
        expected = self.callbacks()[-1][1]
        for sequence in (callbacks, callbacks[::-1], callbacks + callbacks):
            result = connection.conclude(self._order_after(connection, sequence))
            assert result is not None
            assert result.outcome == expected
            assert expected in OUTCOMES[self.channel]

    def test_an_order_without_reports_has_no_outcome(self) -> None:
        """Check that nothing is concluded from nothing."""
        connection = self.connect(ScriptedHttp())
        assert connection.conclude(self._order_after(connection, [])) is None

    def _order_after(self, connection: Connection, callbacks: Sequence[Callback]) -> Order:
        facts: dict[str, str] = {}
        reference = None
        for callback in callbacks:
            report = connection.read_callback(callback)
            assert isinstance(report, OrderReport)
            facts |= report.facts
            reference = report.provider_ref
        command = call_command() if self.channel == "call" else sms_command()
        return Order(command=command, asked_at=wall_now(), provider_ref=reference, facts=facts)


def _forged(callback: Callback) -> Sequence[Callback]:
    """Return the callback for another order, and without any header."""
    replace = msgspec.structs.replace
    other = replace(callback, url=callback.url.replace("c1", "c2"), query={**callback.query, "command_id": "c2"})
    return (other, replace(callback, headers={}))
