"""Are our headers CloudEvents to the reference implementation, and is every other set of headers refused with a reason?"""

from datetime import UTC, datetime

import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event, to_binary_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from schemas.envelope import ID_LENGTH_MAX, Envelope, EnvelopeError, from_headers, to_headers
from schemas.instant import Instant, from_datetime

WHOLE = Envelope(
    id="a1",
    type="lead.submitted",
    source="/api",
    time=Instant(1_773_000_000_000),
    subject="lead/7",
    stream="leads.inbox/x/3",
    number=12,
    rules_partition=2,
    rules_sequence=40,
    traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
)


def test_the_reference_implementation_reads_our_headers() -> None:
    message = KafkaMessage(headers=dict(to_headers(WHOLE)), key=b"1|+13055550123", value=b'{"a":1}')
    event = from_binary_event(message)
    assert (event.get_id(), event.get_type(), event.get_source()) == ("a1", "lead.submitted", "/api")
    assert (event.get_specversion(), event.get_subject()) == ("1.0", "lead/7")
    assert event.get_datacontenttype() == "application/json"
    moment = event.get_time()
    assert moment is not None
    assert from_datetime(moment) == WHOLE.time
    assert (event.get_extension("stream"), event.get_extension("number")) == ("leads.inbox/x/3", "12")
    assert event.get_extension("rules") == "2:40"
    assert event.get_data() == {"a": 1}


def test_we_read_the_headers_of_the_reference_implementation() -> None:
    attributes = {
        "id": "b2",
        "type": "lead.submitted",
        "source": "https://crm.example.com/leads",
        "specversion": "1.0",
        "time": datetime(2026, 3, 8, tzinfo=UTC),
        "datacontenttype": "application/json",
        "subject": "x",
        "stream": "crm",
        "number": "7",
    }
    message = to_binary_event(CloudEvent(attributes=attributes, data={"lead_token": "t"}))
    envelope = from_headers(tuple(message.headers.items()))
    assert envelope == Envelope(
        id="b2", type="lead.submitted", source="https://crm.example.com/leads", subject="x", stream="crm", number=7
    )


_text = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"]), max_size=50
)
_envelopes = st.builds(
    Envelope,
    id=_text.filter(bool),
    type=_text.filter(bool),
    source=_text.filter(bool),
    subject=st.none() | _text,
    traceparent=st.none() | _text,
    stream=st.just(None),
    number=st.none(),
    rules_partition=st.none(),
    rules_sequence=st.just(0),
    time=st.none(),
)


@given(_envelopes, st.integers(0, 10**18 - 1), st.integers(0, 10**18 - 1))
def test_what_is_written_is_read_again(envelope: Envelope, number: int, sequence: int) -> None:
    assert from_headers(to_headers(envelope)) == envelope
    streamed = Envelope(
        id=envelope.id, type="t", source="s", stream="x", number=number, rules_partition=3, rules_sequence=sequence
    )
    assert from_headers(to_headers(streamed)) == streamed


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ce_id": None}, "no ce_id"),
        ({"ce_type": None, "ce_source": b""}, "no ce_type and no ce_source"),
        ({"ce_id": b"x" * (ID_LENGTH_MAX + 1)}, "ce_id is longer"),
        ({"ce_stream": b"x" * (ID_LENGTH_MAX + 1)}, "ce_stream is longer"),
        ({"ce_id": b"a\x00b"}, "ce_id has characters"),
        ({"ce_type": b"a\nb"}, "ce_type has characters"),
        ({"ce_id": b"\xff"}, "not UTF-8"),
        ({"ce_number": None}, "ce_number is not a whole number"),
        ({"ce_number": b"-1"}, "ce_number is not a whole number"),
        ({"ce_number": b"9" * 19}, "ce_number is not a whole number"),
        ({"ce_number": "\u0661".encode()}, "ce_number is not a whole number"),
        ({"ce_rules": b"2"}, "ce_rules is not a whole number"),
        ({"ce_rules": b"a:1"}, "ce_rules is not a whole number"),
    ],
)
def test_other_headers_are_refused_with_a_reason(changed: dict[str, bytes | None], reason: str) -> None:
    headers = dict(to_headers(WHOLE)) | changed
    with pytest.raises(EnvelopeError, match=reason):
        from_headers(tuple((name, value) for name, value in headers.items() if value is not None))


def test_the_senders_clock_is_not_read() -> None:
    assert from_headers(to_headers(WHOLE)).time is None
    assert from_headers((*to_headers(WHOLE), ("ce_time", b"yesterday"))).time is None
