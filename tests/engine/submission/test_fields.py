"""Is every shape of a value read as its sender meant it, and every other one refused with a sentence that helps?"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.submission import fields
from engine.submission.fields import FieldError
from schemas.instant import from_datetime, to_rfc3339


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "TRUE", "Yes", " on ", 1, True])
def test_words_for_true(word: Any) -> None:
    assert fields.parse_boolean(word) is True


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "OFF", 0, False])
def test_words_for_false(word: Any) -> None:
    assert fields.parse_boolean(word) is False


@pytest.mark.parametrize("word", ["2", "y", "t", "truth", "", 2, 1.0, None, [], {"true": 1}])
def test_other_words_are_no_boolean(word: Any) -> None:
    with pytest.raises(FieldError, match="must be one of 1, true, yes, on, 0, false, no, off"):
        fields.parse_boolean(word)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-07 21:30:00 -0500", "2026-03-08T02:30:00Z"),
        ("2026-03-07 21:30:00 +0000", "2026-03-07T21:30:00Z"),
        ("2026-03-07T21:30:00Z", "2026-03-07T21:30:00Z"),
        ("2026-03-07t21:30:00.25z", "2026-03-07T21:30:00.250Z"),
        ("2026-03-07T21:30:00+05:30", "2026-03-07T16:00:00Z"),
        ("2026-03-07 21:30 -0500", "2026-03-08T02:30:00Z"),
        ("2026-03-07 21:30:00  0500", "2026-03-07T16:30:00Z"),
        ("2026-03-07T21:30:00 05:00", "2026-03-07T16:30:00Z"),
        ("2026-03-07 21:30:00 +0059", "2026-03-07T20:31:00Z"),
        ("2024-02-29 00:00:00 +0000", "2024-02-29T00:00:00Z"),
    ],
)
def test_moments_are_read_with_their_offset(text: str, instant: str) -> None:
    assert to_rfc3339(fields.parse_moment(text)) == instant


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-07 21:30:00",
        "2026-03-07",
        "2026-02-30 21:30:00 +0000",
        "2026-13-01 21:30:00 +0000",
        "2026-03-07 25:30:00 +0000",
        "2026-03-07 21:30:60 +0000",
        "2026-03-07 21:30:00 +0060",
        "2026-03-07 21:30:00 +2500",
        "0001-01-01 00:00:00 +1400",
        "9999-12-31 23:59:59 -1400",
        "tomorrow",
        "٢٠٢٦-03-07 21:30:00 +0000",
        "",
        None,
        1772900000,
        True,
    ],
)
def test_what_is_no_moment_is_refused(text: Any) -> None:
    with pytest.raises(FieldError, match="must be a date and time"):
        fields.parse_moment(text)


@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_moment_that_is_written_is_read_again(moment: datetime) -> None:
    instant = from_datetime(moment)
    assert fields.parse_moment(to_rfc3339(instant)) == instant


@pytest.mark.parametrize(
    ("value", "number"), [("12", 12), (" -3 ", -3), (12, 12), (12.0, 12), ("+7", 7), ("007", 7), ("0\x1f", 0)]
)
def test_whole_numbers_also_come_as_text(value: Any, number: int) -> None:
    assert fields.parse_integer(value) == number


def test_decimals_come_as_text_with_whatever_stands_for_a_blank_around_it() -> None:
    assert fields.parse_decimal("\x1c 2.5\x1f") == 2.5


@pytest.mark.parametrize("value", ["1.5", "", "x", "1e3", 1.5, True, None, "9" * 30, 2**53, "٣", float("nan"), float("inf")])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(FieldError):
        fields.parse_integer(value)


@pytest.mark.parametrize(
    ("parse", "taken", "refused"),
    [
        (fields.parse_integer, [2**53 - 1, 1 - 2**53], [2**53, -(2**53)]),
        (fields.parse_id, [1, 2**53 - 1], [0, -1, 2**53]),
        (partial(fields.parse_integer, least=1, most=3), [1, 3], [0, 4]),
        (partial(fields.parse_decimal, least=-1, most=2.5), [-1, 2.5], [-1.01, 2.51]),
        (fields.parse_decimal, [1e15, -1e15], [1.001e15, -1.001e15, 10**400, -(10**400)]),
        (fields.parse_text, ["x" * 255, " " + "x" * 255], ["x" * 256]),
        (partial(fields.parse_text, most=3), ["xyz"], ["xyzx"]),
        (
            fields.parse_email,
            ["a" * 64 + "@b.co", f"a@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.{'f' * 8}"],
            ["a" * 65 + "@b.co"],
        ),
        (fields.parse_email, [], [f"a@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 60}.{'f' * 9}"]),
    ],
)
def test_the_last_value_within_a_bound_is_taken_and_the_next_one_is_not(
    parse: Callable[[Any], Any], taken: list[Any], refused: list[Any]
) -> None:
    for value in taken:
        parse(value)
    for value in refused:
        with pytest.raises(FieldError):
            parse(value)


@pytest.mark.parametrize(("value", "number"), [("2.5", 2.5), ("-1", -1.0), (3, 3.0), (".5", 0.5), ("10.", 10.0)])
def test_decimals_also_come_as_text(value: Any, number: float) -> None:
    assert fields.parse_decimal(value) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [(" a b ", "a b"), (33101, "33101"), (33101.0, "33101"), (-0.0, "0"), (2.5, "2.5"), (2.0**53, "9007199254740992.0")],
)
def test_numbers_are_taken_as_text_whole_ones_without_a_point(value: Any, text: str) -> None:
    assert fields.parse_text(value) == text


@pytest.mark.parametrize("value", ["", "x", "1,5", "nan", "inf", True, None, float("nan"), float("-inf"), 1e16, "1e3"])
def test_what_is_no_decimal_is_refused(value: Any) -> None:
    with pytest.raises(FieldError):
        fields.parse_decimal(value)


@pytest.mark.parametrize(
    "value", ["a@b.co", "Ada.Lovelace+x@example.com", "o'neil@sub.example.org", "a@xn--bcher-kva.example"]
)
def test_addresses_are_taken(value: str) -> None:
    assert fields.parse_email(f" {value} ") == value


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "a@b",
        "@b.co",
        "a@",
        "a b@c.co",
        "a@b..co",
        ".a@b.co",
        "a.@b.co",
        "a@-b.co",
        "a@b.co\r\nBcc: c@d.co",
        "=?utf-8?q?a?=@b.co",
        "a" * 65 + "@b.co",
        "a@" + "b" * 250 + ".co",
        "bücher@example.com",
        "a@b.1",
        7,
        None,
    ],
)
def test_what_is_no_address_is_refused(value: Any) -> None:
    with pytest.raises(FieldError):
        fields.parse_email(value)


def test_zones_have_two_names() -> None:
    assert fields.parse_zone("Eastern Time (US & Canada)") == "America/New_York"
    assert fields.parse_zone("america/new_york") == "America/New_York"
    with pytest.raises(FieldError, match="collections/time_zone"):
        fields.parse_zone("Mars/Olympus")


def levels(count: int) -> Any:
    """Return lists within lists, so many levels of them; the innermost holds nothing."""
    return [levels(count - 1)] if count > 0 else []


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("x" * 4097, "at most 4096 bytes"),
        ("é" * 2049, "at most 4096 bytes"),
        ({"a": "x" * 4096}, "at most 4096 bytes"),
        (["x"] * 2000, "at most 4096 bytes"),
        (["x" * 4092], "at most 4096 bytes"),
        ([1e15] * 300, "at most 4096 bytes"),
        (levels(9), "nested more than 8"),
        ({"a": levels(8)}, "nested more than 8"),
        ("a\x00b", "NUL"),
        ({"a\x00": 1}, "NUL"),
        ("\ud800", "Unicode"),
        (2**63, "64 bits"),
        ([-(2**63) - 1], "64 bits"),
        (float("nan"), "NaN"),
        ([float("inf")], "NaN"),
        (b"bytes", "must be text"),
        ({1: 2}, "text as the names"),
    ],
)
def test_tokens_that_cannot_be_kept_are_refused(value: Any, sentence: str) -> None:
    with pytest.raises(FieldError, match=sentence):
        fields.check_token(value)


@pytest.mark.parametrize(
    "value", ["", "x" * 4096, ["x" * 4091], levels(8), 1, 1.5, True, None, [], {}, {"a": [1, {"b": None}]}, -(2**63)]
)
def test_tokens_of_every_kind_are_kept_as_they_are(value: Any) -> None:
    assert fields.check_token(value) == value


PARSERS = """
parse_boolean parse_integer parse_decimal parse_moment parse_text parse_email parse_zone parse_address parse_id check_token
"""


@pytest.mark.parametrize("parse", [getattr(fields, name) for name in PARSERS.split()])
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.characters(categories=["Cs"]),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_is_sent_a_parser_answers_or_refuses(parse: Callable[[Any], Any], value: Any) -> None:
    with suppress(FieldError):
        parse(value)
