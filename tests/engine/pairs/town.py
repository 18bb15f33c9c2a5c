"""How is a submission tested from its body to its effects? By the real engine, with gateways that answer at once."""

from typing import Any

from engine.partition.draft import RefusedError
from engine.submission.normalise import normalise
from schemas.commands import Command, PlaceCall, SendEmail, SendSms
from schemas.contact import LIVE_STATUSES, Call, Lead
from schemas.instant import Instant
from schemas.records import Number
from schemas.requests import CallerActed, LeadUpdateRequested
from schemas.state import call_key, lead_key
from tests.engine.contact.world import World

OUTCOMES = {PlaceCall: "connected_human", SendSms: "delivered", SendEmail: "delivered"}


class PairsTown(World):
    """A world in which every call is answered, and every message delivered, at the instant of its command."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.add("number", 9, Number(number="+12125550100", voice=True, sms=True))
        self.answered = 0
        self.numbers: dict[int, int] = {}
        """Id of a lead -> its place in the sequence of creation."""

    def send(self, body: dict[str, Any]) -> tuple[Any, ...]:
        """Send a body to `POST /leads` with a key that may update leads; return what is answered."""
        try:
            self.ask(normalise(body, self.rules, received_at=self.now, api_company_id=1, may_update=True).request)
        except RefusedError as refused:
            return (422, *sorted(refused.errors)) if refused.code == "validation_failed" else (409, refused.code)
        self.settle()
        assert self.answer is not None
        return self.answer.status, self.answer.dedupe_action

    def stop(self) -> None:
        """Take the newest lead off its schedule."""
        lead = self.lead()
        self.ask(LeadUpdateRequested(company_id=1, contact_key=lead.contact_key, lead_id=lead.id, schedule_stop=True))

    def opt_out(self) -> None:
        """Let the person of the newest lead opt out."""
        lead = self.lead()
        self.ask(CallerActed(company_id=1, contact_key=lead.contact_key, schedule_id=lead.schedule_id, action="opt_out"))

    def settle(self) -> None:
        """Answer the open commands, and name the new leads."""
        while self.answered < len(self.commands):
            command = self.commands[self.answered]
            self.answered += 1
            answer = self.answer
            self.outcome(OUTCOMES[type(command)], command)
            self.answer = answer
        for lead_id in self.lead_ids():
            self.numbers.setdefault(lead_id, len(self.numbers) + 1)

    def run(self, until: Instant) -> None:
        """Let time pass, from one timer to the next."""
        while True:
            timers = (self._timer(key) for key in list(self.timers))
            due = [timer.due_at for timer in timers if timer is not None]
            if not due or min(due) > until:
                self.now = until
                return
            self.wait_until(max(self.now, min(due)))
            self.settle()

    # -- what came of it -----------------------------------------------------------------------------------------------

    def leads(self) -> list[dict[str, Any]]:
        """Return what somebody outside sees of each lead."""
        return [self._seen(lead) for lead_id in self.lead_ids() if (lead := self.state.get(lead_key(lead_id), Lead))]

    def contacts(self) -> list[tuple[Any, ...]]:
        """Return what went out: when, of which lead, by which step, how urgent, in which words."""
        return [
            (command.decided_at, self.numbers[command.lead_id], command.step_id, command.priority, _words(command))
            for command in self.commands
        ]

    def _seen(self, lead: Lead) -> dict[str, Any]:
        calls = [call for key, _ in self.state.items() if key.startswith("call/") and (call := self._call(key)) is not None]
        return {
            "number": self.numbers[lead.id],
            "status": "live" if lead.status in LIVE_STATUSES else str(lead.status),
            "data": lead.data,
            "contact_field_type": lead.columns.get("contact_field_type"),
            "email": lead.email,
            "priority": lead.lead_priority,
            "expires_at": lead.expires_at,
            "has_voice": lead.svc_number is not None,
            "has_text": lead.sms_number is not None,
            "calls": [call.token_values for call in sorted(calls, key=lambda call: call.id) if call.lead_id == lead.id],
        }

    def _call(self, key: str) -> Call | None:
        return self.state.get(call_key(int(key.partition("/")[2])), Call)


def _words(command: Command) -> str | None:
    return command.body if isinstance(command, SendSms | SendEmail) else None
