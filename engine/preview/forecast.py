"""What does a preview answer? Submit a lead and fire every timer, until the lead ends or nothing follows."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from engine.calendar import local_datetime
from engine.contact.commands.emission import CALLBACK
from engine.contact.schedule.cadence import cadence_of
from engine.identity import share_of
from engine.partition.decider import Sealed
from engine.partition.draft import RefusedError
from engine.preview import preview_rules
from engine.preview.hours import PreviewedHours, previewed_hours
from engine.preview.partition import VirtualPartition, commands_of
from engine.preview.reasons import ActionReason, PlanHistory
from engine.preview.trial import CALLBACK as CALLBACK_KIND
from engine.preview.trial import GOOD, Trial
from engine.rules import Rules
from engine.submission.normalise import Normalised, normalise
from schemas.commands import COMMAND_KINDS, Command, PlaceCall
from schemas.contact import LIVE_STATUSES, Lead
from schemas.instant import DAY, SECOND, Instant, to_rfc3339
from schemas.records import Company, RulePack
from schemas.requests import LeadSubmitted, OutcomeRecorded

LIMIT = "limit"
"""The `status_wait` of a preview that was cut at its limit."""

MOVED = "moved_to_schedule"
"""The `status_wait` of a preview whose lead moved to another schedule, which is unknown here."""

DECISIONS_MIN = 1_000
DECISIONS_PER_ACTION = 8
"""Decisions of one preview: an e-mail takes four, and a few may come before it. This cuts an endless loop, too."""

HORIZON = 100 * 365 * DAY
"""How far a preview looks: far beyond any lead, and within the calendar."""

IDS_BEFORE_MAX = 2**31
"""Each person gets an id of their own, so that previews of many leads follow the weights of a split."""

NO_LEAD = 0
"""The leads of the history are unknown; the ledger does not need them."""

US_COMPANY = Company(name="preview", country="US")
"""The company of a preview that names none."""


class Action(Struct, frozen=True, kw_only=True):
    """One action; `attempt` counts calls and texts of this run, None for other kinds.

    `rule` is the row of the law that moved it last, None where none did.
    """

    step_id: str | None
    kind: str
    at: Instant
    time_zone: str
    attempt: int | None = None
    reasons: tuple[str, ...] = ()
    rule: str | None = None


class Forecast(Struct, frozen=True, kw_only=True):
    """All actions and the end; without an end, `status_wait` says why it stopped. `hours` where they are asked for.

    `warnings` are those of the submission.
    """

    actions: tuple[Action, ...]
    end_status: str | None = None
    ended_at: Instant | None = None
    status_wait: str | None = None
    hours: tuple[PreviewedHours, ...] = ()
    warnings: tuple[str, ...] = ()


def preview(trial: Trial, *, company: Company = US_COMPANY, rule_packs: Sequence[RulePack] = ()) -> Forecast:
    """Return what the schedule does to the lead of a company; `rule_packs` are the company's own.

    Raises `RefusedError`: what a submission of this lead is refused for, its fields as `lead.caller_id`; or what the
    engine itself refuses.
    """
    rules = preview_rules.rules_for(trial.schedule, trial.schedule_id, trial.lead, company=company, rule_packs=rule_packs)
    submitted = _submission(trial, rules)
    request = submitted.request
    ids = share_of(request.contact_key, IDS_BEFORE_MAX)
    run = _PreviewRun(trial, VirtualPartition(rules, trial.at, ids))
    run.replay_history(request)
    run.run(request)
    found, lead = structs.replace(run.forecast(), warnings=submitted.warnings), run.last_seen
    if not trial.closed_hours or lead is None:
        return found
    actions_at = [action.at for action in found.actions]
    return structs.replace(found, hours=previewed_hours(rules, trial.schedule, lead, trial.at, actions_at))


def shown(forecast: Forecast) -> dict[str, Any]:
    """Return a forecast as the API shows it: RFC 3339 in UTC, and with the offset of the action's zone."""
    ended_at = forecast.ended_at
    found: dict[str, Any] = {
        "actions": [_shown(action) for action in forecast.actions],
        "end_status": forecast.end_status,
        "ended_at": None if ended_at is None else to_rfc3339(ended_at),
        "status_wait": forecast.status_wait,
    }
    if forecast.warnings:
        found["warnings"] = list(forecast.warnings)
    if forecast.hours:
        found["closed_hours"] = [
            {"channel": one.channel, "from": to_rfc3339(one.begins_at), "to": to_rfc3339(one.ends_at), "by": one.by}
            for one in forecast.hours
        ]
    return found


def _shown(action: Action) -> dict[str, Any]:
    local = local_datetime(action.at, action.time_zone)
    return {
        "step_id": action.step_id,
        "kind": action.kind,
        "at": to_rfc3339(action.at),
        "local_at": local.isoformat(timespec="milliseconds" if action.at % SECOND else "seconds"),
        "time_zone": action.time_zone,
        "attempt": action.attempt,
        "reasons": list(action.reasons),
        "rule": action.rule,
    }


def _submission(trial: Trial, rules: Rules) -> Normalised:
    """Return the lead as intake would pass it on to this schedule, whatever token it carries."""
    raw = {**trial.lead, "lead_token": preview_rules.LEAD_TOKEN}
    try:
        return normalise(raw, rules, received_at=trial.at, api_company_id=preview_rules.COMPANY_ID, may_update=True)
    except RefusedError as refusal:
        errors = {f"lead.{field}": sentences for field, sentences in refusal.errors.items()}
        raise RefusedError(refusal.code, refusal.detail, errors) from refusal


def good_outcome(command: Command) -> str:
    """Return the best outcome: a call with a buyer is connected to it."""
    if isinstance(command, PlaceCall) and command.buyer_id is not None:
        return "connected_buyer"
    return GOOD[COMMAND_KINDS[type(command)]]


class _PreviewRun:
    """One run of a lead through the schedule."""

    def __init__(self, trial: Trial, partition: VirtualPartition) -> None:
        self._trial = trial
        self._partition = partition
        self._plans = PlanHistory(cadence_of(trial.schedule))
        self._lead_id = 0
        self._lead: Lead | None = None
        self.last_seen: Lead | None = None
        self._whys: dict[str, ActionReason] = {}
        self._actions: list[Action] = []
        self._stopped_at: str | None = None

    def replay_history(self, request: LeadSubmitted) -> None:
        """Replay the contacts of the history."""
        partition = self._partition
        for number, past in enumerate(self._trial.history):
            partition.now = past.at
            partition.reserve(request.contact_key, past.kind, f"history/{number}")
            partition.enqueue(
                OutcomeRecorded(
                    company_id=request.company_id,
                    contact_key=request.contact_key,
                    lead_id=NO_LEAD,
                    command_id=f"history/{number}",
                    kind=past.kind,  # type: ignore[arg-type]  # call or sms: trial.read_trial
                    outcome=past.outcome,
                    occurred_at=past.at,
                )
            )
            while partition.decide() is not None:
                pass
        partition.now = self._trial.at

    def run(self, request: LeadSubmitted) -> None:
        """Submit the lead and simulate until it ends, is held, or reaches the limit."""
        partition = self._partition
        partition.enqueue(request)
        most = partition.decisions + DECISIONS_MIN + DECISIONS_PER_ACTION * self._trial.limit
        while self._stopped_at is None:
            sealed = partition.decide() or (None if self._is_at_rest() else partition.fire())
            if sealed is None:
                return
            self._apply(sealed)
            if partition.decisions >= most or partition.now > self._trial.at + HORIZON:
                self._stopped_at = LIMIT

    def forecast(self) -> Forecast:
        """Return the result."""
        lead = self._lead
        actions = tuple(self._actions)
        if self._stopped_at is not None or lead is None:
            return Forecast(actions=actions, status_wait=self._stopped_at)
        if lead.status in LIVE_STATUSES:
            return Forecast(actions=actions, status_wait=lead.status_wait or lead.status)
        return Forecast(actions=actions, end_status=lead.status, ended_at=lead.schedule_ended_at)

    def _is_at_rest(self) -> bool:
        """Return whether the lead no longer moves by time alone."""
        lead = self._lead
        return lead is not None and (lead.status not in LIVE_STATUSES or lead.held_at is not None)

    def _apply(self, sealed: Sealed) -> None:
        answer = sealed.decision.answer
        self._lead_id = self._lead_id or (answer.record_id or 0 if answer is not None else 0)
        before, lead = self._lead, self._partition.lead(self._lead_id)
        if lead is not None:
            self._note_why(before or lead, lead)
        self._lead, self.last_seen = lead, lead or self.last_seen
        commands = {command.command_id: command for command in commands_of(sealed)}
        for fact in sealed.decision.facts:
            if fact.type == "step.applied":
                self._add(fact.data["step_id"], fact.data["kind"], None)
            elif fact.type == "command.emitted":
                self._act(commands[fact.data["command_id"]])
        if lead is not None and lead.schedule_id != self._trial.schedule_id:
            self._stopped_at = self._stopped_at or MOVED

    def _note_why(self, before: Lead, lead: Lead) -> None:
        """Note why the lead acts since this decision: the command may follow in a later one."""
        flight = lead.flight
        if flight is not None and flight.command_id not in self._whys:
            attempt = lead.attempts if flight.counted else None
            self._whys[flight.command_id] = self._plans.why(
                before, is_callback=flight.callback, step_id=flight.step_id, attempt=attempt
            )
        self._plans.record(lead)

    def _add(self, step_id: str | None, kind: str, why: ActionReason | None) -> bool:
        """Add an action; return False at the limit."""
        if len(self._actions) >= self._trial.limit:
            self._stopped_at = LIMIT
        if self._stopped_at is not None or self._lead is None:
            return False
        why = why or self._plans.unplanned(self._lead)
        now = self._partition.now
        self._actions.append(
            Action(
                step_id=step_id,
                kind=kind,
                at=now,
                time_zone=why.zone,
                attempt=why.attempt,
                reasons=why.reasons,
                rule=why.rule,
            )
        )
        return True

    def _act(self, command: Command) -> None:
        """Add the action of a command, and report its outcome at once."""
        is_callback = command.step_id == CALLBACK
        channel = COMMAND_KINDS[type(command)]
        step_id, kind = (None, CALLBACK_KIND) if is_callback else (command.step_id, channel)
        if not self._add(step_id, kind, self._whys.get(command.command_id)):
            return
        self._partition.enqueue(
            OutcomeRecorded(
                company_id=command.company_id,
                contact_key=command.contact_key,
                lead_id=command.lead_id,
                command_id=command.command_id,
                kind=channel,  # type: ignore[arg-type]  # the kinds of commands
                outcome=self._trial.outcome_of(step_id, kind) or good_outcome(command),
                occurred_at=self._partition.now,
                buyer_id=command.buyer_id if isinstance(command, PlaceCall) else None,
            )
        )
