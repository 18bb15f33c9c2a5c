"""What can be wrong with a step that is well formed? Its durations, templates, outcomes, numbers and references."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import singledispatch

from engine.account.did_you_mean import did_you_mean
from engine.account.values import (
    BODY_TEMPLATE_LENGTH_MAX,
    GRACE_MINUTES_MAX,
    JITTER_SECONDS_MAX,
    WEIGHT_MAX,
    number,
    optional,
    stream_url,
)
from engine.calendar.waits import parse_duration
from engine.calendar.wall import CalendarError, parse_date, parse_wall_time
from engine.calendar.zone_words import is_ambiguous
from engine.calendar.zones import is_zone
from engine.contact.schedule.filters import FilterError, parse_filter
from engine.contact.schedule.sms_parts import segments
from engine.contact.schedule.templates import TOKEN, literal_text, template_faults
from engine.limits import SMS_SEGMENTS_MAX
from engine.submission.columns import RESERVED
from engine.submission.fields import FieldError, check_token, parse_email, parse_text, sound_text
from engine.submission.normalise import HOURS_TO_EXPIRE_MAX
from engine.submission.reading import TOKEN_NAME_LENGTH_MAX
from schemas.outcomes import OUTCOMES
from schemas.schedule import (
    ActionGroupStep,
    BlockStep,
    BranchStep,
    CallbackStep,
    CallStep,
    Connect,
    ConnectAgents,
    EmailStep,
    ExitStep,
    MoveStep,
    OptOutStep,
    RestartStep,
    Retry,
    SmsStep,
    SplitStep,
    Step,
    SuppressStep,
    TagStep,
    Trigger,
    Until,
    UpdateLeadStep,
    WaitForStep,
    WaitStep,
    WebhookStep,
)

SMS_LENGTH_MAX = 1_600
"""Of a template. What it says without its tokens has ten segments at most; with them, the step checks it."""

SUBJECT_LENGTH_MAX = 255

RING_TIMEOUT_SECONDS = (5, 120)
"""Nobody answers a shorter ring; no network rings longer."""

DROP = "voicemail_drop"

VOICEMAIL_LENGTH_MAX = 1_000
"""Characters: a minute of speech. Most machines take no more, and Telnyx says at most 3,000."""

WHISPER_LENGTH_MAX = 500
"""Characters of a template: half a minute of speech, in which the person waits."""

RETRIES_MAX = 20
"""Retries of one outcome at one step: more is harassment or a loop."""

RULES_MAX = 50
"""Rules of one branch, and filters of one rule: a screenful; a longer table belongs into a token."""

PATHS = (2, 20)
"""One path is no split; more than twenty shares cannot be compared."""

GROUPS_NAMED_MAX = 50
"""Buyer groups of one step: each is looked at for each dial."""

AGENTS_NAMED_MAX = 50
"""Agents and call centers of one step: each is looked at for each dial; more agents are a call center."""

TOKENS_MAX = 50
WORDS_MAX = 20
PRIORITY_MAX = 1_000_000

Fault = tuple[str, str]
Exists = Callable[[str, int], bool] | None


def step_faults(step: Step, *, ending: bool, exists: Exists) -> Iterator[Fault]:
    """Yield `(field, sentence)` for everything wrong with a step; references are looked up where `exists` is given."""
    yield from _faults(step, exists)
    if ending and isinstance(step, ExitStep | RestartStep | CallbackStep):
        yield "kind", "has no place among end_steps: the schedule has been left already"


@singledispatch
def _faults(step: Step, exists: Exists) -> Iterator[Fault]:
    raise NotImplementedError(type(step).__name__)


@_faults.register
def _(step: CallStep, exists: Exists) -> Iterator[Fault]:
    yield from _contact_faults(step, "call")
    yield from _parsed("from_number", optional(number), step.from_number)
    yield from _duration("await_disposition", step.await_disposition)
    least, most = RING_TIMEOUT_SECONDS
    if not least <= step.ring_timeout_seconds <= most:
        yield "ring_timeout_seconds", f"must be from {least} to {most}"
    yield from _voicemail_faults(step)
    yield from _connect_faults(step.connect, exists)


def _voicemail_faults(step: CallStep) -> Iterator[Fault]:
    field, message = "voicemail_message", step.voicemail_message
    if message is None:
        if step.machine == DROP:
            yield field, f"must be given where machine is {DROP}: it is what the machine hears"
        return
    if step.machine != DROP:
        yield field, f"has no effect unless machine is {DROP}"
    if "{{" in message:
        yield field, "takes no tokens: every machine hears the same"
    yield from _template(field, message, VOICEMAIL_LENGTH_MAX)


@_faults.register
def _(step: SmsStep, exists: Exists) -> Iterator[Fault]:
    del exists  # a text refers to nothing
    yield from _contact_faults(step, "sms")
    yield from _parsed("from_number", optional(number), step.from_number)
    yield from _template("template", step.template, SMS_LENGTH_MAX)
    count = segments(literal_text(step.template))
    if count > SMS_SEGMENTS_MAX:
        yield "template", f"has {count} segments without its tokens; carriers join at most {SMS_SEGMENTS_MAX}"


@_faults.register
def _(step: EmailStep, exists: Exists) -> Iterator[Fault]:
    del exists
    yield from _contact_faults(step, "email")
    yield from _parsed("from_address", optional(parse_email), step.from_address)
    yield from _template("subject", step.subject, SUBJECT_LENGTH_MAX)
    if not step.subject.isprintable():
        yield "subject", "must be one line of printable characters"
    yield from _template("template", step.template, BODY_TEMPLATE_LENGTH_MAX)


@_faults.register
def _(step: WebhookStep, exists: Exists) -> Iterator[Fault]:
    yield from _retry_faults(step.retry, "webhook")
    yield from _duration("outcome_timeout", step.outcome_timeout)
    yield from _reference("outgoing_webhook_id", "outgoing_webhook", step.outgoing_webhook_id, exists)


@_faults.register
def _(step: WaitStep, exists: Exists) -> Iterator[Fault]:
    del exists
    if (step.duration is None) == (step.until is None):
        yield "", "must have either duration or until"
    yield from _duration("duration", step.duration)
    if step.mode is not None and step.duration is None:
        yield "mode", "goes with duration only; leave it out"
    if step.until is not None:
        yield from _until_faults(step.until)


@_faults.register
def _(step: ExitStep, exists: Exists) -> Iterator[Fault]:
    del step, exists
    yield from ()


@_faults.register
def _(step: BranchStep, exists: Exists) -> Iterator[Fault]:
    del exists
    if not 1 <= len(step.rules) <= RULES_MAX:
        yield "rules", f"must have 1 to {RULES_MAX} rules"
    for place, rule in enumerate(step.rules):
        if not rule.when:
            yield f"rules[{place}].if", "must have a filter; where to go on in any case is said by else"
        yield from _filter_faults(f"rules[{place}].if", rule.when)


@_faults.register
def _(step: SplitStep, exists: Exists) -> Iterator[Fault]:
    del exists
    if not PATHS[0] <= len(step.paths) <= PATHS[1]:
        yield "paths", f"must have {PATHS[0]} to {PATHS[1]} paths"
    for place, path in enumerate(step.paths):
        if not 1 <= path.weight <= WEIGHT_MAX:
            yield f"paths[{place}].weight", f"must be from 1 to {WEIGHT_MAX}"


@_faults.register
def _(step: WaitForStep, exists: Exists) -> Iterator[Fault]:
    del exists
    yield from _duration("timeout", step.timeout)
    if step.event == "tokens_match" and not step.filters:
        yield "filters", "must have a filter, such as plan:gold: what is waited for"
    if step.event != "tokens_match" and step.filters:
        yield "filters", "go with tokens_match only; leave them out"
    yield from _filter_faults("filters", step.filters)


@_faults.register
def _(step: UpdateLeadStep, exists: Exists) -> Iterator[Fault]:
    if step.traffic_source_id is not None:
        yield from _reference("traffic_source_id", "traffic_source", step.traffic_source_id, exists)
    if step.contact_field_type is not None:
        yield from _parsed("contact_field_type", parse_text, step.contact_field_type)
    changes = (step.lead_priority, step.traffic_source_id, step.contact_field_type)
    if not step.set and not step.unset and all(change is None for change in changes):
        yield "", "must change something: set, unset, lead_priority, traffic_source_id or contact_field_type"
    if len(step.set) + len(step.unset) > TOKENS_MAX:
        yield "set", f"must name at most {TOKENS_MAX} tokens together with unset"
    yield from _token_faults("set", step.set, step.unset)
    if step.lead_priority is not None and not abs(step.lead_priority) <= PRIORITY_MAX:
        yield "lead_priority", f"must be from -{PRIORITY_MAX} to {PRIORITY_MAX}"


@_faults.register
def _(step: TagStep, exists: Exists) -> Iterator[Fault]:
    del exists
    words = (*step.add, *step.remove)
    if not 1 <= len(words) <= WORDS_MAX:
        yield "", f"must add or remove 1 to {WORDS_MAX} words"
    if any(not word.strip() or len(word) > TOKEN_NAME_LENGTH_MAX or not word.isprintable() or "," in word for word in words):
        yield "add", f"must have words of 1 to {TOKEN_NAME_LENGTH_MAX} printable characters, without commas"


@_faults.register
def _(step: MoveStep, exists: Exists) -> Iterator[Fault]:
    yield from _reference("schedule_id", "schedule", step.schedule_id, exists)


@_faults.register
def _(step: RestartStep, exists: Exists) -> Iterator[Fault]:
    del exists
    if not 1 <= step.max_restarts <= RETRIES_MAX:
        yield "max_restarts", f"must be from 1 to {RETRIES_MAX}"


@_faults.register
def _(step: CallbackStep, exists: Exists) -> Iterator[Fault]:
    for name, record_type in (("buyer_id", "buyer"), ("buyer_group_id", "buyer_group")):
        record_id = getattr(step, name)
        if record_id is not None:
            yield from _reference(name, record_type, record_id, exists)
    if not 0 <= step.grace_minutes <= GRACE_MINUTES_MAX:
        yield "grace_minutes", f"must be from 0 (nobody else takes over) to {GRACE_MINUTES_MAX}"
    if (step.after is None) == (step.at is None):
        yield "", "must have either in or at"
    yield from _duration("in", step.after)
    if step.at is not None:
        yield from _until_faults(step.at, "at")


@_faults.register
def _(step: OptOutStep, exists: Exists) -> Iterator[Fault]:
    del exists
    if (step.channel is None) == (step.scope == "channel"):
        yield "channel", "goes with scope channel, and only with it: call, sms or email"


@_faults.register(BlockStep)
@_faults.register(SuppressStep)
def _(step: BlockStep | SuppressStep, exists: Exists) -> Iterator[Fault]:
    del step, exists
    yield from ()


@_faults.register
def _(step: ActionGroupStep, exists: Exists) -> Iterator[Fault]:
    yield from _reference("action_group_id", "action_group", step.action_group_id, exists)


def trigger_faults(trigger: Trigger) -> Iterator[Fault]:
    """Yield `(field, sentence)` for everything wrong with a trigger that is well formed."""
    if trigger.type == "tokens_match" and not trigger.filters:
        yield "filters", "must have a filter, such as plan:gold"
    yield from _filter_faults("filters", trigger.filters)
    if len(trigger.add_tokens) > TOKENS_MAX:
        yield "add_tokens", f"must name at most {TOKENS_MAX} tokens"
    yield from _token_faults("add_tokens", trigger.add_tokens, ())
    if trigger.goto is not None and trigger.end_result is not None:
        yield "goto", "must not stand beside end_result: the lead either goes on or leaves"
    if trigger.type == "expired" and (trigger.goto is not None or trigger.end_result is not None):
        fault = "has no effect: who has expired goes to the end steps and reads expired; a step there can move the lead on"
        yield "goto" if trigger.goto is not None else "end_result", fault
    if trigger.expire_minutes is not None and not 1 <= trigger.expire_minutes <= HOURS_TO_EXPIRE_MAX * 60:
        yield "expire_minutes", f"must be from 1 to {HOURS_TO_EXPIRE_MAX * 60}"
    if trigger.expire_minutes is not None and trigger.on == "exit" and trigger.goto is None:
        yield "expire_minutes", "goes with goto: a lead that leaves does not expire"


def _token_faults(field: str, values: Mapping[str, object], others: Sequence[str]) -> Iterator[Fault]:
    for name, value in values.items():
        yield from _parsed(f"{field}.{name}"[:64], check_token, value)
    for name in (*values, *others):
        if not name.strip() or len(name) > TOKEN_NAME_LENGTH_MAX or not name.isprintable():
            yield field, f"must have names of 1 to {TOKEN_NAME_LENGTH_MAX} printable characters"
        if name in RESERVED:
            yield field, f"cannot change {name[:64]}: it is no token but a field of the lead"


def _filter_faults(field: str, filters: Sequence[str]) -> Iterator[Fault]:
    if len(filters) > RULES_MAX:
        yield field, f"must have at most {RULES_MAX} filters"
    for text in filters:
        try:
            parse_filter(text)
        except FilterError as error:
            yield field, str(error)


def _contact_faults(step: CallStep | SmsStep | EmailStep, kind: str) -> Iterator[Fault]:
    yield from _retry_faults(step.retry, kind)
    yield from _duration("outcome_timeout", step.outcome_timeout)
    yield from _duration("max_lateness", step.max_lateness)
    if step.jitter_seconds is not None and not 0 <= step.jitter_seconds <= JITTER_SECONDS_MAX:
        yield "jitter_seconds", f"must be from 0 to {JITTER_SECONDS_MAX}"


def _retry_faults(retry: Mapping[str, Retry], kind: str) -> Iterator[Fault]:
    known = OUTCOMES[kind]
    triable = [name for name, outcome in known.items() if not (outcome.opts_out or outcome.disables_channel)]
    for name, row in retry.items():
        if name not in known:
            fault = f"is no outcome of a {kind}{did_you_mean(name, triable)}; try again after {', '.join(triable)}"
            yield f"retry.{name}"[:64], fault
        elif name not in triable:
            yield f"retry.{name}", "is never tried again: the person or the number said no"
        yield from _duration(f"retry.{name}.delay"[:64], row.delay)
        if row.max is not None and not 1 <= row.max <= RETRIES_MAX:
            yield f"retry.{name}.max"[:64], f"must be from 1 to {RETRIES_MAX}"


def _connect_faults(connect: Connect, exists: Exists) -> Iterator[Fault]:
    if connect.buyer_group_id is not None and connect.buyer_ids:
        yield "connect", "must name either buyer_group_id or buyer_ids"
    if connect.buyer_group_id is not None and connect.buyer_group_ids:
        yield "connect", "must name either buyer_group_id or buyer_group_ids"
    if len(connect.buyer_group_ids) > GROUPS_NAMED_MAX:
        yield "connect.buyer_group_ids", f"must have at most {GROUPS_NAMED_MAX} groups"
    for group_id in connect.buyer_group_ids[:GROUPS_NAMED_MAX]:
        yield from _reference("connect.buyer_group_ids", "buyer_group", group_id, exists)
    if connect.buyer_group_id is not None:
        yield from _reference("connect.buyer_group_id", "buyer_group", connect.buyer_group_id, exists)
    if connect.agents is not None:
        yield from _agents_faults(connect, connect.agents, exists)
    for buyer_id in connect.buyer_ids:
        yield from _reference("connect.buyer_ids", "buyer", buyer_id, exists)
    if connect.stream is not None:
        yield from _stream_faults(connect, connect.stream)
    if connect.whisper is not None:
        yield from _template("connect.whisper", connect.whisper, WHISPER_LENGTH_MAX)


def _stream_faults(connect: Connect, stream: str) -> Iterator[Fault]:
    yield from _parsed("connect.stream", stream_url, stream)
    if connect.group_ids or connect.buyer_ids or connect.agents is not None:
        yield "connect.stream", "must not stand beside buyers or agents: the voice bot takes the call"
    if connect.whisper is not None:
        yield "connect.whisper", "has no effect beside stream: who answers is a voice bot"
    if connect.route_by_type is not None:
        yield "connect.route_by_type", "has no effect beside stream: no buyers compete"


def _agents_faults(connect: Connect, agents: ConnectAgents, exists: Exists) -> Iterator[Fault]:
    if connect.group_ids or connect.buyer_ids:
        yield "connect.agents", "must not stand beside buyer groups or buyer_ids: a call is for agents or for buyers"
    if not 1 <= len(agents.agent_ids) + len(agents.call_center_ids) <= AGENTS_NAMED_MAX:
        yield "connect.agents", f"must name 1 to {AGENTS_NAMED_MAX} agent_ids and call_center_ids"
    for name, record_type in (("agent_ids", "agent"), ("call_center_ids", "call_center")):
        for record_id in getattr(agents, name):
            yield from _reference(f"connect.agents.{name}", record_type, record_id, exists)


def _until_faults(until: Until, field: str = "until") -> Iterator[Fault]:
    yield from _calendar(f"{field}.time", parse_wall_time, until.time)
    if until.date is not None:
        yield from _calendar(f"{field}.date", parse_date, until.date)
    if until.zone not in {"lead", "schedule"} and (not is_zone(until.zone) or is_ambiguous(until.zone)):
        yield f"{field}.zone", "must be lead, schedule, or a time zone such as America/New_York"


def _reference(field: str, record_type: str, record_id: int, exists: Exists) -> Iterator[Fault]:
    if exists is not None and not exists(record_type, record_id):
        yield field, f"{record_id} is no {record_type.replace('_', ' ')} of this company"


def _duration(field: str, text: str | None) -> Iterator[Fault]:
    if text is not None:
        yield from _calendar(field, parse_duration, text)


def _calendar(field: str, parse: Callable[[str], object], text: str) -> Iterator[Fault]:
    try:
        parse(text)
    except CalendarError as error:
        yield field, str(error)


def _parsed(field: str, parse: Callable[[object], object], value: object) -> Iterator[Fault]:
    try:
        parse(value)
    except FieldError as error:
        yield field, str(error)


def _template(field: str, text: str, most: int) -> Iterator[Fault]:
    if not text.strip():
        yield field, "must not be blank"
    if len(text) > most:
        yield field, f"must have at most {most} characters"
    yield from _parsed(field, lambda value: sound_text(str(value)), text)
    between = TOKEN.sub("", text)
    if "{{" in between or "}}" in between:
        yield field, "has braces that do not pair around one token name, as {{first_name}} does"
    for fault in template_faults(text):
        yield field, fault
