"""Does reading what was sent ever end in anything but fields or a refusal?"""

import gc
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.body_fields import LIST_FIELDS
from adapters.http.app import OPERATIONS
from adapters.http.document.openapi import parameter_schema
from adapters.http.exchange.binding import check_storable, read_fields, read_query
from adapters.http.exchange.parameters import parse_local_moment, read_id
from adapters.http.exchange.problems import ProblemError
from adapters.http.schema.inputs import IDS, WORDS
from engine.submission.fields import FieldError
from schemas.instant import to_rfc3339

TYPES = st.sampled_from(
    [
        "application/json",
        "application/vnd.api+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=xx",
        "multipart/form-data; boundary=",
        "text/plain",
        "application/xml",
        "application/x-www-form-urlencoded; charset=latin1",
        "",
        ";;;=",
    ]
)
NAMES = st.text(st.sampled_from("ab[]%&=+;\x00é"), max_size=12)


def _refusal(read: Callable[[], object]) -> str | None:
    """Return the code of a refusal, None where there was none; anything else that is raised fails the test."""
    try:
        read()
    except ProblemError as error:
        return error.code
    return None


@given(body=st.binary(max_size=200), content_type=TYPES | st.text(max_size=40))
def test_any_body_is_fields_or_a_refusal(body: bytes, content_type: str) -> None:
    code = _refusal(lambda: check_storable(read_fields(body, content_type)))
    assert code in {None, "malformed_json", "malformed_body", "unsupported_media_type", "validation_failed"}


@given(pairs=st.lists(st.tuples(NAMES, st.text(max_size=5)), max_size=8))
def test_any_names_nest_or_are_refused(pairs: list[tuple[str, str]]) -> None:
    text = "&".join(f"{name}={value}" for name, value in pairs).encode()
    assert _refusal(lambda: read_query(text)) in {None, "malformed_body"}
    assert _refusal(lambda: read_fields(text, "application/x-www-form-urlencoded")) in {None, "malformed_body"}


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        (b"a=1&b=&a=2", {"a": "2", "b": ""}),
        (b"data[first_name]=Ann&data[x][y]=1", {"data": {"first_name": "Ann", "x": {"y": "1"}}}),
        (b"ids[]=1&ids[]=2", {"ids": ["1", "2"]}),
        (b"ids=1&ids=2&ids=3", {"ids": ["1", "2", "3"]}),
        (b"ids[]=1&ids=2", {"ids": ["1", "2"]}),
        (b"ids[0]=1&ids[1]=2", {"ids": ["1", "2"]}),
        (b"data[0]=1", {"data": {"0": "1"}}),
        (b"ids=1,2", {"ids": "1,2"}),
        (b"a[b][]=1&a[b][]=2", {"a": {"b": ["1", "2"]}}),
        (b"a=1&a[b]=2", {"a": {"b": "2"}}),
        (b"n=+1305&m=%2B1305", {"n": " 1305", "m": "+1305"}),
        (b"a[=1&]=2", {"a[": "1", "]": "2"}),
    ],
)
def test_queries_nest_as_rails_does_it(query: bytes, fields: dict[str, Any]) -> None:
    assert read_query(query) == fields


def test_every_list_of_plain_values_may_be_sent_by_repeating_its_name() -> None:
    schemas = {
        name: parameter_schema(operation, name)
        for operation in OPERATIONS
        for name in (*operation.parameters, *(operation.body or {}).get("properties", ()))
    }
    assert {name for name, schema in schemas.items() if _is_list(schema)} | REFERRED == LIST_FIELDS


REFERRED = {"channels", "dial_countries"}
"""Lists of words whose words are described elsewhere in the document."""


def _is_list(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "array":
        return bool(schema["items"].get("type") == "string")
    named = {name: value for name, value in schema.items() if name not in {"description", "maxItems"}}
    return named in (IDS, WORDS) or any(map(_is_list, schema.get("anyOf", ())))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7", 7),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740992", None),
        ("0", None),
        ("-7", None),
        ("\u0667", None),
        ("01A1FE05-3740-83D4-A15B-86E5615588CD", "01a1fe05-3740-83d4-a15b-86e5615588cd"),
        ("01a1fe05374083d4a15b86e5615588cd", None),
        ("new", None),
        ("9" * 5_000, None),
    ],
)
def test_an_id_is_a_positive_number_or_a_uuid(text: str, found: int | str | None) -> None:
    assert read_id(text) == found


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-07 21:30:00 -0500", "2026-03-08T02:30:00Z"),
        ("2026-03-07 21:30:00  0500", "2026-03-07T16:30:00Z"),
        ("2026-03-07T21:30:00.5Z", "2026-03-07T21:30:00.500Z"),
        ("2026-03-07 21:30", "2026-03-08T02:30:00Z"),
        ("2026-03-08", "2026-03-08T05:00:00Z"),
        ("2026-03-08 02:30:00", "2026-03-08T07:30:00Z"),  # a time that the clock skips
        ("2026-02-30", None),
        ("0001-01-01", "0001-01-01T04:56:02Z"),
        ("tomorrow", None),
    ],
)
def test_a_moment_without_an_offset_is_local(text: str, moment: str | None) -> None:
    if moment is None:
        with pytest.raises(FieldError):
            parse_local_moment(text, "America/New_York")
    else:
        assert to_rfc3339(parse_local_moment(text, "America/New_York")) == moment


def test_a_long_field_of_a_multipart_body_is_read_without_a_file() -> None:
    long = "x" * 300_000
    body = f'--xx\r\nContent-Disposition: form-data; name="notes"\r\n\r\n{long}\r\n--xx--\r\n'.encode()
    assert read_fields(body, "multipart/form-data; boundary=xx") == {"notes": long}
    gc.collect()  # a file that was not closed warns here, and fails the test
