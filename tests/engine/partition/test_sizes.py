"""Can an input stop a partition by its size? Every record of a decision is measured while deciding, whatever it holds."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.aggregate import ContactAggregate
from engine.partition.decider import Decider, Sealed
from engine.partition.draft import RefusedError
from engine.partition.ports import LogRecord, Outgoing
from engine.partition.state import State
from engine.rules import Rules
from schemas.contact import Lead
from schemas.decisions import Position, Refusal
from schemas.envelope import Envelope, to_headers
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, Instant
from schemas.records import Company, Offer, OutgoingWebhook, Record, Schedule, plain
from schemas.requests import LeadSubmitted
from schemas.state import lead_key
from schemas.wire import from_builtins, to_json, to_pack
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER

RECORD_BYTES = 1_048_588 - 85
"""What Kafka takes by default, without the framing of a batch."""

DEAD_LETTER_BYTES = 2_097_152 - 85

REST = {"id": "rest", "kind": "wait", "duration": "1h"}
TEXT = {"id": "text", "kind": "sms", "template": "Hello"}


def adopted(record_type: str, body: object, number: int, record_id: int = 1) -> Record:
    return Record(
        type=record_type,
        id=record_id,
        uuid=f"{record_type}-{record_id}",
        company_id=1,
        version=1,
        sequence=number,
        created_at=EPOCH,
        updated_at=EPOCH,
        body=plain(body),  # type: ignore[arg-type]
    )


class SizedPartition:
    """One partition of the contacts, decided input by input."""

    def __init__(self, *steps: dict[str, Any], **fields: Any) -> None:
        self.state = State()
        self.decider = Decider(ContactAggregate(), 0, self.state, Rules(), Position())
        self.offset = 0
        schedule = {"name": "S", "lead_token": "s", "offer_id": 1, "steps": [*steps], **fields}
        records = [
            adopted("company", Company(name="Sunny", time_zone=NEW_YORK), 1),
            adopted("offer", Offer(name="Solar", lead_token="offer"), 2),
            adopted("schedule", from_builtins(schedule, Schedule), 3),
            adopted("outgoing_webhook", OutgoingWebhook(name="crm", url="https://example.com"), 4),
        ]
        self.decider.adoption([(0, record) for record in records], {}, NOON)

    def ask(self, request: LeadSubmitted | bytes, key: bytes = KEY.encode(), **envelope: Any) -> Sealed:
        return self._kept(self.decider.request(self.record(request, key, **envelope), NOON))

    def _kept(self, sealed: Sealed) -> Sealed:
        self.state.commit()
        return sealed

    def record(self, request: LeadSubmitted | bytes, key: bytes = KEY.encode(), **envelope: Any) -> LogRecord:
        self.offset += 1
        headers = to_headers(Envelope(id=f"r{self.offset}", type="lead.submitted", source="/test", **envelope))
        value = request if isinstance(request, bytes) else to_json(request)
        return LogRecord("contacts.requests", 0, self.offset, key, value, headers, NOON)

    def submit(self, **fields: Any) -> Sealed:
        return self.ask(submission(**fields))

    def tick(self, now: Instant, key: str | None = None, **how: Any) -> Sealed:
        key = key or next(key for key, _ in self.state.items() if key.startswith("lead/"))
        return self._kept(self.decider.tick(key, now, now, **how))

    def keep(self, lead: Lead) -> None:
        self.state.set(lead_key(lead.id), to_pack(lead))
        self.state.commit()

    @property
    def lead(self) -> Lead:
        found = self.state.get(next(key for key, _ in self.state.items() if key.startswith("lead/")), Lead)
        assert found is not None
        return found


def submission(**fields: Any) -> LeadSubmitted:
    given = {
        "company_id": 1,
        "contact_key": KEY,
        "schedule_id": 1,
        "caller_id": NUMBER,
        "zones": (NEW_YORK,),
        "with_key": True,
    }
    return LeadSubmitted(received_at=NOON, **{**given, **fields})


def size_of(record: Outgoing) -> int:
    headers = sum(len(name.encode()) + len(value) + 10 for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def too_large(sealed: Sealed) -> list[tuple[str, int]]:
    """Return the records of a decision that a topic with Kafka's default limit would refuse."""
    sizes = [(one.topic, size_of(one)) for one in sealed.records]
    sizes += [("state", len(key) + len(to_pack(entity))) for key, entity in sealed.changes if entity is not None]
    sizes += [("outbox", len(to_pack(entry))) for entry in sealed.entries]
    return [(topic, size) for topic, size in sizes if size > (DEAD_LETTER_BYTES if topic == "deadletter" else RECORD_BYTES)]


def letters(sealed: Sealed) -> list[dict[str, str]]:
    return [{name: value.decode() for name, value in one.headers} for one in sealed.records if one.topic == "deadletter"]


def test_a_lead_whose_webhook_cannot_be_written_ends_as_failure_and_leaves_a_dead_letter() -> None:
    partition = SizedPartition(REST, {"id": "hook", "kind": "webhook", "outgoing_webhook_id": 1})
    partition.submit(data={"a": "x" * 150_000}, columns={"note": "y" * 150_000})
    lead = partition.lead
    lead.data = {"a": "x" * 150_000, "b": "\x01" * 60_000, "c": "\x01" * 60_000}
    lead.data_parts = 0
    partition.keep(lead)

    failed = partition.tick(NOON + HOUR)

    assert (failed.decision.verdict, too_large(failed)) == ("failed", [])
    assert "webhook.post would have" in (failed.decision.error or "")
    assert (partition.lead.status, partition.lead.wake_at) == ("failure", None)
    assert [(fact.type, fact.data.get("reason")) for fact in failed.decision.facts][-1] == ("lead.ended", "too_large")
    [letter] = letters(failed)
    assert (letter["dl_code"], letter["dl_sequence"]) == ("too_large", str(failed.decision.sequence))


def test_a_refusal_that_says_too_much_is_a_failed_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = SizedPartition(REST)

    def refuse(*_: Any, **__: Any) -> None:
        raise RefusedError("validation_failed", "no", {"field": ["x" * 1_100_000]})

    monkeypatch.setattr(ContactAggregate, "decide", refuse)
    failed = partition.submit()

    assert (failed.decision.verdict, too_large(failed)) == ("failed", [])
    assert failed.decision.answer is not None
    assert failed.decision.answer.code == "too_large"


def test_a_timer_that_fails_leaves_a_dead_letter_and_its_lead_waits_to_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partition = SizedPartition(REST, TEXT)
    partition.submit()
    with monkeypatch.context() as patch:
        patch.setattr("engine.contact.aggregate.advance", lambda *_: 1 / 0)
        failed = partition.tick(NOON + HOUR)

    [letter] = [one for one in failed.records if one.topic == "deadletter"]
    lead = partition.lead
    said = json.loads(letter.value or b"")
    assert (failed.decision.verdict, failed.decision.error) == ("failed", "ZeroDivisionError: division by zero")
    assert (said["key"], said["due_at"], said["sequence"]) == (lead_key(lead.id), "2026-07-15T17:00:00Z", 3)
    assert said["error"] == "ZeroDivisionError: division by zero"
    assert (lead.status, lead.status_wait, lead.next_action_at) == ("waiting", "decision_failed", NOON + HOUR + MINUTE)

    done = partition.tick(NOON + HOUR + MINUTE)

    assert (done.decision.verdict, [one.topic for one in done.decision.commands]) == ("done", ["commands.sms"])


def test_a_lead_that_fails_for_a_day_is_tried_a_bounded_number_of_times_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = SizedPartition(REST, TEXT)
    partition.submit()
    monkeypatch.setattr("engine.contact.aggregate.advance", lambda *_: 1 / 0)
    now, tries = NOON + HOUR, 0
    while partition.lead.status != "failure":
        partition.tick(now)
        tries += 1
        now = partition.lead.wake_at or now

    assert (tries, partition.lead.wake_at) == (14, None)
    assert DAY <= now - NOON <= 2 * DAY


@pytest.mark.parametrize("status_wait", ["awaiting_outcome", "concurrency_cap"])
def test_a_lead_that_awaits_something_waits_as_well_when_its_timer_fails(
    monkeypatch: pytest.MonkeyPatch, status_wait: str
) -> None:
    partition = SizedPartition({**TEXT, "id": "first"})
    partition.submit()
    lead = partition.lead
    if status_wait == "concurrency_cap":
        lead.flight, lead.slot_id, lead.slot_due_at, lead.status_wait = None, "slot", NOON + HOUR, status_wait
        partition.keep(lead)
    now = partition.lead.wake_at or partition.lead.slot_due_at or EPOCH
    monkeypatch.setattr("engine.contact.aggregate._wake_lead", lambda *_: 1 / 0)
    failed = partition.tick(now)

    assert (partition.lead.status, partition.lead.status_wait) == ("waiting", "decision_failed")
    assert partition.lead.wake_at == now + MINUTE
    assert [one.type for one in failed.decision.messages] == (["slot.released"] if status_wait == "concurrency_cap" else [])


def test_a_lead_that_has_ended_stays_ended_where_the_timeout_of_its_last_command_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partition = SizedPartition(TEXT)
    partition.submit()
    lead = partition.lead
    lead.status, lead.status_wait = "removed", None
    partition.keep(lead)
    monkeypatch.setattr("engine.contact.aggregate._wake_lead", lambda *_: 1 / 0)
    partition.tick(lead.wake_at or EPOCH)

    assert (partition.lead.status, partition.lead.wake_at) == ("removed", None)


@pytest.mark.parametrize("inbox", ["leads.inbox", "leads.inbox.bulk"])
def test_a_submission_from_an_inbox_that_is_refused_leaves_a_dead_letter(inbox: str) -> None:
    partition = SizedPartition(REST)
    asked = submission(schedule_id=99)
    over_http = partition.ask(asked)
    from_inbox = partition.ask(asked, stream=f"{inbox}/topic/0", number=5)

    assert over_http.decision.answer is not None
    assert from_inbox.decision.answer is not None
    assert (over_http.decision.verdict, from_inbox.decision.verdict) == ("refused", "refused")
    assert letters(over_http) == []
    [letter] = letters(from_inbox)
    assert (letter["dl_code"], letter["ce_number"]) == (from_inbox.decision.answer.code, "5")

    record = partition.record(asked)
    redriven = msgspec.structs.replace(record, headers=(*record.headers, ("dl_origin", b"0:7")))
    [letter] = letters(partition.decider.request(redriven, NOON))
    assert letter["dl_origin"] == "0:7"


BLANKS = b" " * 5_000_000


@pytest.mark.parametrize(
    ("record", "cut"),
    [
        (LogRecord("contacts.requests", 0, 7, KEY.encode(), BLANKS, (), NOON), "value"),
        (LogRecord("contacts.requests", 0, 7, b"k" * 3_000_000, b"{}", (), NOON), "key"),
        (LogRecord("contacts.requests", 0, 7, KEY.encode(), b"{}", (("h", b"h" * 3_000_000),), NOON), "headers"),
        (LogRecord("contacts.requests", 0, 7, KEY.encode(), b"{}", tuple([("h" * 200, b"")] * 9_999), NOON), "headers"),
    ],
    ids=["value", "key", "a header", "many headers"],
)
def test_a_record_that_no_dead_letter_can_hold_leaves_an_excerpt_that_says_where_the_rest_is(
    record: LogRecord, cut: str
) -> None:
    sealed = SizedPartition(REST).decider.request(record, NOON)

    [letter] = letters(sealed)
    assert too_large(sealed) == []
    assert (letter["dl_topic"], letter["dl_partition"], letter["dl_offset"]) == ("contacts.requests", "0", "7")
    assert (letter["dl_size"], letter["dl_digest"]) == (str(len(record.value or b"")), sealed.decision.cause.digest)
    assert sum(map(size_of, sealed.records)) < 20_000, cut


def test_a_record_that_fits_is_kept_whole() -> None:
    record = LogRecord("contacts.requests", 0, 7, KEY.encode(), b" " * 1_000_000, (("dl_code", b"mine"),), NOON)

    [letter] = [one for one in SizedPartition(REST).decider.request(record, NOON).records if one.topic == "deadletter"]

    assert (letter.value, dict(letter.headers).get("dl_digest")) == (record.value, None)


@pytest.mark.parametrize("times", [1, 2])
def test_what_the_log_refused_is_decided_as_failed_and_the_same_when_it_is_decided_again(times: int) -> None:
    refusal = Refusal(reason="a record of 900000 bytes is over the 100000 of commands.sms", times=times)

    def decided() -> list[Sealed]:
        partition = SizedPartition(REST, TEXT)
        partition.submit()
        ticked = partition.tick(NOON + HOUR, refusal=refusal)
        asked = partition.decider.request(partition.record(submission(data={"a": "x" * 500_000})), NOON, refusal=refusal)
        bad = partition.decider.request(partition.record(b"{"), NOON, refusal=refusal)
        return [ticked, asked, bad]

    ticked, asked, bad = decided()

    assert [one.value for one in decided()] == [ticked.value, asked.value, bad.value]
    assert [one.decision.verdict for one in (ticked, asked, bad)] == ["failed", "failed", "refused"]
    assert all(one.decision.cause.refusal == refusal for one in (ticked, asked, bad))
    ends = [fact.data.get("reason") for fact in ticked.decision.facts if fact.type == "lead.ended"]
    assert ends == (["too_large"] if times == 1 else [])
    assert [len(letters(one)) for one in (ticked, asked, bad)] == ([1, 1, 1] if times == 1 else [0, 0, 0])
    assert max(one.size_bytes for one in (ticked, asked, bad)) < 20_000


HOSTILE = st.builds(
    lambda char, count: char * count,
    st.sampled_from(["a", "\x01", '"', "é", "👍", "{{a}}", "\u2028"]),
    st.sampled_from([0, 1, 999, 20_000, 90_000, 200_000]),
)
VALUES = st.one_of(
    HOSTILE,
    st.sampled_from([1e15, 1e308, 10**18, False, None]).flatmap(lambda one: st.just([one] * 20_000)),
    st.recursive(HOSTILE, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=2), max_leaves=3),
)
TEMPLATES = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.sampled_from(["{{a}}", "{{b}}", "{{lead}}", "Hi ", "👍"]), min_size=1, max_size=4),
    st.sampled_from([1, 3, 320]),
)


@settings(max_examples=60)
@given(
    data=st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4),
    template=TEMPLATES,
    kind=st.sampled_from(["sms", "email", "webhook"]),
    rest=st.booleans(),
    stream=st.sampled_from([None, "leads.inbox/x/0", "s" * 200]),
)
def test_no_input_makes_a_record_over_the_limit_of_its_topic(
    data: dict[str, Any], template: str, kind: str, *, rest: bool, stream: str | None
) -> None:
    hook = {"kind": "webhook", "outgoing_webhook_id": 1}
    steps: dict[str, dict[str, Any]] = {
        "sms": {"id": "it", "kind": "sms", "template": template},
        "email": {"id": "it", "kind": "email", "subject": template, "template": template},
        "webhook": {"id": "it", **hook},
    }
    partition = SizedPartition(*([REST] if rest else []), steps[kind], end_steps=[{"id": "end", **hook}])
    envelope: dict[str, Any] = {} if stream is None else {"stream": stream, "number": 1}
    decided = [partition.ask(submission(email="ann@example.com", data=data), **envelope)]
    for _ in range(4):
        is_due = any(key.startswith("lead/") for key, _ in partition.state.items()) and partition.lead.wake_at is not None
        decided += [partition.tick(partition.lead.wake_at or EPOCH)] if is_due else []

    assert [too_large(one) for one in decided] == [[]] * len(decided)
    assert all(one.decision.error is None or "TooLarge" in one.decision.error for one in decided)


@settings(max_examples=60)
@given(
    key=st.one_of(st.none(), st.binary(max_size=500), st.just(b"1|" + b"x" * 900_000)),
    value=st.one_of(st.none(), st.binary(max_size=200), st.sampled_from([b"[" * 900_000, b'{"a":' * 9_000, BLANKS])),
    headers=st.lists(
        st.tuples(
            st.sampled_from(["ce_id", "ce_type", "ce_source", "ce_stream", "ce_number", "ce_rules", "dl_code", "x" * 9_000]),
            st.one_of(st.binary(max_size=300), st.sampled_from([b"lead.submitted", b"/test", b"5", b"y" * 700_000])),
        ),
        max_size=9,
    ),
)
def test_no_record_stops_a_partition(key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]) -> None:
    partition = SizedPartition(REST)
    record = LogRecord("contacts.requests", 0, 1, key, value, tuple(headers), NOON)

    sealed = partition.decider.request(record, NOON)

    assert (too_large(sealed), sealed.decision.sequence) == ([], 2)
    assert partition.decider.position.input_offset == 2
