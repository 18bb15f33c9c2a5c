"""Does a log line say what happened without saying whom to call? Both kinds of loggers, both forms."""

import io
import json
import logging
from typing import Any

import pytest
import structlog
from aiokafka import errors
from hypothesis import given
from hypothesis import strategies as st

from adapters.observability import logs
from adapters.observability.logs import SeldomRepeated, clean, configure_logs


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_json_with_level_and_time(out: io.StringIO) -> None:
    configure_logs("info", stream=out)

    structlog.get_logger().info("command.carried_out", kind="call", partition=3, offset=1_780_000_000_000)

    (line,) = lines(out)
    assert (line["event"], line["level"], line["kind"], line["partition"]) == ("command.carried_out", "info", "call", 3)
    assert line["offset"] == 1_780_000_000_000
    assert line["timestamp"].endswith("Z")


def test_what_is_bound_to_the_context_stands_in_every_line(out: io.StringIO) -> None:
    configure_logs(stream=out)
    structlog.contextvars.bind_contextvars(topic="commands.call", partition=3)

    structlog.get_logger().warning("one")
    logging.getLogger("asyncpg").warning("two")

    assert [(line["event"], line["topic"], line["partition"]) for line in lines(out)] == [
        ("one", "commands.call", 3),
        ("two", "commands.call", 3),
    ]


@pytest.mark.usefixtures("out")
def test_where_no_line_can_be_written_the_work_goes_on() -> None:
    configure_logs(stream=NoSpace())
    structlog.get_logger().info("request.answered")
    logging.getLogger("asyncpg").warning("two")


class NoSpace(io.StringIO):
    """A file on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_loggers_of_libraries_write_the_same_lines(out: io.StringIO) -> None:
    configure_logs(stream=out)

    logging.getLogger("asyncpg").warning("asked for %s", "+13055550101", extra={"password": "hush"})

    (line,) = lines(out)
    assert (line["event"], line["logger"], line["level"]) == ("asked for ***01", "asyncpg", "warning")
    assert line["password"] == "***"


def test_chatter_of_libraries_is_left_out_and_ours_is_not(out: io.StringIO) -> None:
    configure_logs("info", stream=out)

    logging.getLogger("httpx").info("HTTP Request: POST https://example.org/secret-path")
    logging.getLogger("aiokafka.consumer").info("Updating subscribed topics")
    structlog.get_logger().debug("too fine")
    structlog.get_logger().info("ours")

    assert [line["event"] for line in lines(out)] == ["ours"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+13055550101", "***01"),
        ("1|+13055550101", "1|***01"),
        ("1|email:ada.lovelace+x@example.org", "1|email:***@example.org"),
        ("call 3055550101 now", "call ***01 now"),
        ("call 13055550101 now", "call ***01 now"),
        ("(305) 555-0101", "***01"),
        ("305-555-0101 or 305.555.0102", "***01 or ***02"),
        ("+442079460958", "***58"),
        ("postgresql://leadclock:hush@db:5432/leadclock", "postgresql://***@db:5432/leadclock"),
        ("the key is whsec_c2VjcmV0c2VjcmV0", "the key is whsec_***"),
        ("sk_wLDk-EJIfLQ1Wlv_W5j6x and lt_WdMhgtLuxm_718rhAeJbKzBm", "*** and ***"),
        ("a task_id of default_x", "a task_id of default_x"),
        ("caf3e0a1-4e12-8305-a555-010112345678", "caf3e0a1-4e12-8305-a555-010112345678"),
        ("2026-11-21T12:00:00.123Z at offset 123456", "2026-11-21T12:00:00.123Z at offset 123456"),
        ("commands.call[3] at 1780000000000", "commands.call[3] at 1780000000000"),
        ("10.20.30.40:5432", "10.20.30.40:5432"),
    ],
)
def test_numbers_and_addresses_are_taken_out_and_ids_stay(text: str, expected: str) -> None:
    assert clean(text) == expected


@given(st.text(st.sampled_from("0123456789+-. ()@:/aw_hsecklt"), max_size=24))
def test_a_text_that_is_passed_over_has_nothing_to_take_out(text: str) -> None:
    each = (logs._CREDENTIALS, logs._SIGNING_SECRET, logs._KEY, logs._EMAIL, logs._NUMBER)
    assert logs._SUSPECT.search(text) or not any(pattern.search(text) for pattern in each)


@pytest.mark.parametrize("part", ["a", "@", "a@", "a@b.", "://a@", "+1", "sk_", "305 555 ", "whsec_", "("])
@pytest.mark.timeout(60)
def test_a_text_of_a_hostile_sender_takes_no_longer_than_any_other(part: str) -> None:
    """Milliseconds; hours where each place is tried against all that follow."""
    assert clean("@" + part * (1_000_000 // len(part))) is not None


def test_redaction_looks_into_lists_dictionaries_and_objects(out: io.StringIO) -> None:
    class Lead:
        def __repr__(self) -> str:
            return "Lead(+13055550101)"

    configure_logs(stream=out)
    structlog.get_logger().info(
        "lead", lead=Lead(), fields={"caller_id": "+13055550102", "mail": ["ada@example.org"], "lead_token": "tok"}
    )

    (line,) = lines(out)
    assert line["lead"] == "Lead(***01)"
    assert line["fields"] == {"caller_id": "***02", "mail": ["***@example.org"], "lead_token": "***"}


@pytest.mark.parametrize(
    "name", ["password", "secret_key", "lead_token", "Authorization", "private_key", "postgres_dsn", "cookie"]
)
def test_secrets_are_never_written(out: io.StringIO, name: str) -> None:
    configure_logs(stream=out)

    structlog.get_logger().info("started", **{name: "hush"})

    assert "hush" not in out.getvalue()


@pytest.mark.parametrize("form", ["json", "console"])
def test_exceptions_are_written_and_redacted(out: io.StringIO, form: Any) -> None:
    configure_logs(form=form, stream=out)

    try:
        int("+13055550101 is no number")
    except ValueError:
        structlog.get_logger().exception("provider.failed")
        logging.getLogger("other").exception("failed too")

    assert out.getvalue().count("Traceback") == 2
    assert "***01 is no number" in out.getvalue()
    assert "+1305" not in out.getvalue()


def test_an_answer_of_a_broker_that_aiokafka_did_not_expect_is_one_line(out: io.StringIO) -> None:
    configure_logs(stream=out)

    for error in (errors.UnknownError(), KeyError("batch")):
        try:
            raise error
        except (errors.UnknownError, KeyError):
            logging.getLogger(f"aiokafka.{type(error).__name__}").exception("Unexpected")

    answer, fault = lines(out)
    assert (answer["event"], answer.get("exception")) == ("Unexpected: UnknownError()", None)
    assert "KeyError" in fault["exception"]


def test_redaction_can_be_turned_off(out: io.StringIO) -> None:
    configure_logs(redact=False, stream=out)

    structlog.get_logger().info("call", to="+13055550101")

    assert lines(out)[0]["to"] == "+13055550101"


def test_at_a_terminal_a_line_is_for_people(out: io.StringIO) -> None:
    out.isatty = lambda: True  # type: ignore[method-assign]
    configure_logs(stream=out)

    structlog.get_logger().info("ready", port=8080)

    assert "ready" in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_configuring_twice_writes_every_line_once(out: io.StringIO) -> None:
    configure_logs(stream=out)
    configure_logs(stream=out)

    structlog.get_logger().info("one")
    logging.getLogger("asyncpg").warning("two")

    assert [line["event"] for line in lines(out)] == ["one", "two"]


def test_a_library_says_the_same_thing_once_in_a_while_and_we_are_never_cut_short() -> None:
    now = [0.0]
    gate = SeldomRepeated(lambda: now[0])

    def passes(name: str, message: str, *values: object) -> bool:
        return gate.filter(logging.LogRecord(name, logging.ERROR, "file", 1, message, values, None))

    assert passes("aiokafka", "Unable connect to node with id %s", 1)
    assert not passes("aiokafka", "Unable connect to node with id %s", 2)
    assert passes("aiokafka.consumer", "Unable connect to node with id %s", 1)
    assert passes("aiokafka", "Unable to update metadata from %s", [1])
    assert all(passes("adapters.roles.group", "log.disconnected") for _ in range(3))
    now[0] = 10.0
    assert passes("aiokafka", "Unable connect to node with id %s", 1)
