"""What does a submission do? A plain model, written from the documents, that knows no engine.

For the two schedules that these tests have: call, an hour, text, an hour, call, e-mail. Every call is answered and every
message delivered at once. Leads are numbered as they come to be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.instant import EPOCH, HOUR, SECOND, Instant

Body = Mapping[str, Any]

STEPS = (
    ("first", "call"), ("rest", "wait"), ("text", "sms"), ("rest-2", "wait"), ("second", "call"), ("mail", "email"),
)  # fmt: skip
POLICIES = {"schedule-1": "update", "schedule-2": "create"}
"""Schedule -> what it does with a second submission while a lead is live."""

REST = HOUR
SCHEDULE_HOURS = 10
"""The hours_to_expire of both schedules; the offer has none."""

GUARD = 30 * SECOND
"""Between two calls to one number, whatever else is said."""

ASSIGNING = ("assign_svc_number", "svc_assign_number", "assign_trackdrive_number")
PRIORITY = 100.0


@dataclass
class ModelLead:
    """A lead as somebody outside knows it."""

    number: int
    token: str
    caller_id: str | None
    email: str | None
    made_at: Instant
    status: str = "live"
    data: dict[str, Any] = field(default_factory=dict)
    contact_field_type: str | None = None
    priority: float = PRIORITY
    most: int | None = None
    expires_at: Instant | None = None
    callback_at: Instant | None = None
    asked_at: Instant | None = None
    place: int = 0
    base: Instant = EPOCH
    attempts: int = 0
    emails: int = 0
    connected: bool = False
    ends_as: str | None = None
    has_voice: bool = False
    has_text: bool = False
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_live(self) -> bool:
        return self.status == "live"


@dataclass
class ModelPerson:
    """One number, or one address where there is no number."""

    leads: list[ModelLead] = field(default_factory=list)
    blocked: bool = False
    opted_out: bool = False
    called_at: Instant | None = None

    @property
    def stopped_as(self) -> str | None:
        return "opt_out" if self.opted_out else "blocked" if self.blocked else None


class Model:
    """One company: its people, and what went out to them."""

    def __init__(self) -> None:
        self.now: Instant = EPOCH
        self.people: dict[str, ModelPerson] = {}
        self.contacts: list[tuple[Any, ...]] = []
        self.made = 0

    # -- what is asked -------------------------------------------------------------------------------------------------

    def submit(self, body: Body) -> tuple[Any, ...]:
        """Take a submission; return what is answered: its status, and what was done or is wrong."""
        wrong = faults(body)
        if wrong:
            return 422, *sorted(wrong)
        person = self.people.setdefault(body.get("caller_id") or body["email"], ModelPerson())
        if body.get("blocked") is False and person.blocked and not body.get("unblock_contact"):
            return 422, "blocked"
        matching = [lead for lead in reversed(person.leads) if _stands_for(body["lead_token"], lead)]
        live = [lead for lead in matching if lead.is_live]
        if body.get("update_only") and not live:
            return 409, "lead_not_live"
        person.blocked = person.blocked and not body.get("unblock_contact")
        if body.get("blocked"):
            person.blocked = True
            for lead in person.leads:
                lead.status = "blocked" if lead.is_live else lead.status
        answer, chosen = self._decide(person, body, matching, live)
        others = (live if body.get("update_only") else matching) if body.get("update_all_matching_leads") else []
        for lead in others:
            if lead is not chosen and lead in person.leads:
                self._update(lead, body)
        return answer

    def _decide(
        self, person: ModelPerson, body: Body, matching: list[ModelLead], live: list[ModelLead]
    ) -> tuple[tuple[Any, ...], ModelLead | None]:
        if body.get("delete_existing"):
            person.leads = [lead for lead in person.leads if lead not in matching]
            return (201, "deleted_existing" if matching else "created"), self._create(person, body)
        if body.get("expire_existing"):
            had_live = any(lead.is_live for lead in live)
            for lead in live:
                if lead.is_live:
                    lead.status = "expired"
            return (201, "expired_existing" if had_live else "created"), self._create(person, body)
        there = live or matching
        if body.get("restart_schedule") and there and person.stopped_as is None:
            schedule = there[0].token if there[0].token in POLICIES else body["lead_token"]
            if schedule in POLICIES:
                self._restart(there[0], schedule, body)
                return (200, "restarted"), there[0]
        asks_for_update = body.get("update_only") or body.get("update_all_matching_leads") or body.get("blocked")
        if live and (asks_for_update or POLICIES.get(body["lead_token"]) != "create"):
            self._update(live[0], body)
            return (200, "updated"), live[0]
        return (201, "created"), self._create(person, body)

    def stop(self) -> None:
        """Somebody takes the newest lead off its schedule."""
        lead = self._newest()
        lead.status = "removed" if lead.is_live else lead.status

    def opt_out(self) -> None:
        """The person of the newest lead opts out."""
        for person in self.people.values():
            person.opted_out = True
            for lead in person.leads:
                lead.status = "opt_out" if lead.is_live else lead.status

    def _newest(self) -> ModelLead:
        return max((lead for person in self.people.values() for lead in person.leads), key=lambda lead: lead.number)

    # -- what becomes of a lead ----------------------------------------------------------------------------------------

    def _create(self, person: ModelPerson, body: Body) -> ModelLead:
        self.made += 1
        lead = ModelLead(self.made, body["lead_token"], body.get("caller_id"), body.get("email"), self.now, base=self.now)
        hours = body.get("hours_to_expire", SCHEDULE_HOURS if lead.token in POLICIES else None)
        lead.expires_at = None if hours is None else self.now + hours * HOUR
        person.leads.append(lead)
        self._say(lead, body)
        self._set_moments(lead, body)
        lead.status = person.stopped_as or "live"
        return lead

    def _restart(self, lead: ModelLead, schedule: str, body: Body) -> None:
        was_live = lead.is_live
        lead.token, lead.status, lead.ends_as = schedule, "live", None
        lead.place, lead.base, lead.attempts, lead.connected, lead.asked_at = 0, self.now, 0, False, None
        if not was_live:
            lead.expires_at = self.now + SCHEDULE_HOURS * HOUR
        self._update(lead, body)

    def _update(self, lead: ModelLead, body: Body) -> None:
        self._say(lead, body)
        if body.get("apply_to") == "calls":
            for call in lead.calls:
                _merge(call, tokens(body))
        if lead.is_live:
            if "hours_to_expire" in body:
                lead.expires_at = self.now + body["hours_to_expire"] * HOUR
            self._set_moments(lead, body)

    def _say(self, lead: ModelLead, body: Body) -> None:
        """Take over what is said of the person; what is not mentioned stays."""
        _merge(lead.data, tokens(body))
        lead.email = body.get("email", lead.email)
        lead.contact_field_type = body.get("contact_field_type", lead.contact_field_type)
        lead.priority = body.get("lead_priority", lead.priority)
        lead.most = body.get("max_contact_attempts", lead.most)
        lead.has_voice = lead.has_voice or any(body.get(name) for name in ASSIGNING)
        lead.has_text = lead.has_text or bool(body.get("assign_sms_number"))

    def _set_moments(self, lead: ModelLead, body: Body) -> None:
        lead.asked_at = body.get("next_action_at", lead.asked_at)
        if "schedule_callback_in_seconds" in body:
            lead.callback_at = self.now + body["schedule_callback_in_seconds"] * SECOND
        lead.callback_at = body.get("schedule_callback_at", lead.callback_at)

    # -- what time brings ----------------------------------------------------------------------------------------------

    def run(self, until: Instant) -> None:
        """Let everything happen that is due up to an instant, the most urgent first."""
        while True:
            due = [(*found, person, lead) for person in self.people.values() for lead in person.leads
                   for found in self._next(person, lead)]  # fmt: skip
            if not due or min(due, key=_urgency)[0] > until:
                self.now = max(self.now, until)
                return
            at, _, _, what, person, lead = min(due, key=_urgency)
            self.now = max(self.now, at)
            self._act(person, lead, what)

    def _next(self, person: ModelPerson, lead: ModelLead) -> Iterator[tuple[Instant, int, float, str]]:
        """Yield when something happens to a lead, how urgent it is, and what: a step, a promised call, or an end."""
        if not lead.is_live:
            return
        at, urgency, what = self._wants(person, lead)
        if lead.ends_as is None and lead.expires_at is not None and at >= lead.expires_at:
            at, urgency, what = lead.expires_at, 0, "expired"
        if at < NEVER:
            yield max(at, self.now), urgency, lead.priority, what

    def _wants(  # noqa: PLR0911 - rule by rule
        self, person: ModelPerson, lead: ModelLead
    ) -> tuple[Instant, int, str]:
        promised = None if lead.callback_at is None else (self._free(person, lead.callback_at), 1, "callback")
        if lead.ends_as is not None:
            return promised or (self.now, 0, lead.ends_as)
        if lead.token not in POLICIES:
            return promised or (NEVER, 0, "")
        while lead.place < len(STEPS) and STEPS[lead.place][1] == "wait":
            lead.place, lead.base = lead.place + 1, lead.base + REST
        if lead.place == len(STEPS):
            return self.now, 0, "completed"
        if promised:
            return promised
        kind = STEPS[lead.place][1]
        if lead.most is not None and lead.attempts >= lead.most and kind != "email":
            return self.now, 0, "exceeded_max_calls"
        base = max(lead.base if lead.asked_at is None else lead.asked_at, self.now)
        if kind == "call" and lead.caller_id:
            return self._free(person, base), 3 if lead.attempts else 2, "step"
        return base, 4, "step"

    def _free(self, person: ModelPerson, at: Instant) -> Instant:
        """Return when the telephone may ring again."""
        return max(at, self.now, EPOCH if person.called_at is None else person.called_at + GUARD)

    def _act(self, person: ModelPerson, lead: ModelLead, what: str) -> None:
        if what == "callback":
            lead.callback_at = None
            self._reach(person, lead, "(callback)", "call")
        elif what != "step":
            self._end(lead, what)
        else:
            self._step(person, lead)

    def _step(self, person: ModelPerson, lead: ModelLead) -> None:
        name, kind = STEPS[lead.place]
        lead.asked_at = None
        if _address(lead, kind):
            self._reach(person, lead, name, kind)
        elif not (lead.attempts or lead.emails or any(_address(lead, other) for _, other in STEPS[lead.place :])):
            lead.ends_as = "failure"
            return
        lead.place, lead.base = lead.place + 1, self.now

    def _reach(self, person: ModelPerson, lead: ModelLead, name: str, kind: str) -> None:
        said = f"Hi {lead.data.get('first_name', '')} {lead.data.get('last_name', '')}" if kind != "call" else None
        self.contacts.append((self.now, lead.number, name, lead.priority, said))
        lead.attempts += kind != "email"
        lead.emails += kind == "email"
        lead.has_text = lead.has_text or kind == "sms"
        if kind == "call":
            lead.connected = lead.has_voice = True
            lead.calls.append(dict(lead.data))
            person.called_at = self.now

    def _end(self, lead: ModelLead, what: str) -> None:
        """End a lead; a promise outlives its schedule."""
        if lead.callback_at is not None and lead.ends_as is None:
            lead.ends_as = what
            return
        if what == "completed":
            what = "completed_connected" if lead.connected else "completed_attempted" if lead.attempts else what
        lead.status = what


NEVER = Instant(2**62)


def faults(body: Body) -> set[str]:
    """Return the fields that are wrong."""
    found = {name for name in ("lead_token",) if name not in body}
    if "caller_id" not in body and "email" not in body:
        found.add("caller_id")
    promises = [name for name in ("schedule_callback_at", "schedule_callback_in_seconds") if name in body]
    if len(promises) > 1:
        found.add("schedule_callback_in_seconds")
    if "caller_id" not in body:
        found |= set(promises)
    for flag, other in (
        ("update_only", "expire_existing"),
        ("update_only", "delete_existing"),
        ("unblock_contact", "blocked"),
    ):
        if body.get(flag) and body.get(other):
            found.add(other)
    return found


def tokens(body: Body) -> dict[str, Any]:
    """Return the tokens of a body: `data`, every field that has no name of its own, and what is found in a form."""
    found = {**body.get("data", {}), "form": body["form"]}
    if body.get("auto_format_nested_fields"):
        found["last_name"] = body["form"]["Last Name"]
    return found


def _merge(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    values.update(given)
    for name in [name for name, value in given.items() if value is None]:
        del values[name]


def _stands_for(token: str, lead: ModelLead) -> bool:
    """Return whether a token stands for a lead: a schedule's for those on it, an offer's for all about it."""
    return token == "offer" or token == lead.token  # noqa: PLR1714 - two rules


def _address(lead: ModelLead, kind: str) -> bool:
    return kind != "wait" and bool(lead.email if kind == "email" else lead.caller_id)


def _urgency(due: tuple[Any, ...]) -> tuple[Any, ...]:
    return due[0], due[1], due[2], due[-1].number
