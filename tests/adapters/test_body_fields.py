"""Is a body read as what it is, whatever encoding it has, and is what is none refused?"""

from typing import Any

import pytest

from adapters.body_fields import read_fields
from engine.partition.draft import RefusedError

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"
PART = '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nZo\u00eb\r\n--x--\r\n'


@pytest.mark.parametrize(
    ("body", "kind", "fields"),
    [
        (b"name=Zo%C3%AB", FORM, {"name": "Zo\u00eb"}),
        (b"name=Zo%EB", FORM, {"name": "Zo\u00eb"}),  # browsers name no charset, whatever the page has
        ("name=Zo\u00eb".encode(), FORM, {"name": "Zo\u00eb"}),
        ("name=Zo\u00eb".encode("latin-1"), FORM, {"name": "Zo\u00eb"}),
        (b"name=Zo%EB", f"{FORM}; charset=ISO-8859-1", {"name": "Zo\u00eb"}),
        (b"price=5%80", f"{FORM}; charset=windows-1252", {"price": "5\u20ac"}),
        (b"price=5%80", f"{FORM}; charset=iso-8859-1", {"price": "5\u20ac"}),  # WHATWG Encoding Standard, 4.2
        (b"name=Zo%C3%AB", f"{FORM}; charset=UTF-8", {"name": "Zo\u00eb"}),
        (b"name=Zo%C3%AB", f'{FORM}; charset="utf8"', {"name": "Zo\u00eb"}),
        (PART.encode(), MULTIPART, {"name": "Zo\u00eb"}),
        (PART.encode("latin-1"), MULTIPART, {"name": "Zo\u00eb"}),
        (PART.encode("latin-1"), f"{MULTIPART}; charset=latin1", {"name": "Zo\u00eb"}),
        (b'\xef\xbb\xbf{"a":1}', "application/json", {"a": 1}),  # programs on Windows write the mark
        (b'{"a":1}', "application/json; charset=utf-8", {"a": 1}),
        (b'{"a":1}', "application/vnd.api+json", {"a": 1}),
        (b"<adf><id>7</id></adf>", "text/xml", {"adf": {"id": "7"}}),
        (b"<adf><id>7</id></adf>", "application/x-adf+xml", {"adf": {"id": "7"}}),
        ('<?xml version="1.0" encoding="windows-1252"?><n>5\u20ac</n>'.encode("cp1252"), "text/xml", {"n": "5\u20ac"}),
        (b"", "text/plain", {}),
    ],
)
def test_a_body_is_read(body: bytes, kind: str, fields: dict[str, Any]) -> None:
    assert read_fields(body, kind) == fields


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b'{"a":1}', FORM, "malformed_body"),
        (b'{"a":1}', f"{FORM}; charset=iso-8859-1", "malformed_body"),
        (b'{"name":"Zo\xeb"}', FORM, "malformed_body"),
        (b"name=Zo%EB", f"{FORM}; charset=utf-8", "malformed_body"),
        (b"name=%81", FORM, "malformed_body"),  # in neither
        (PART.encode("latin-1"), f"{MULTIPART}; charset=utf-8", "malformed_body"),
        (b'{"a":1}', "application/json; charset=latin1", "unsupported_media_type"),
        (b"name=x", f"{FORM}; charset=utf-16", "unsupported_media_type"),
        (b"name=x", "text/plain", "unsupported_media_type"),
        (b"name=x", "", "unsupported_media_type"),
    ],
)
def test_a_body_that_is_not_what_it_says_is_refused(body: bytes, kind: str, code: str) -> None:
    with pytest.raises(RefusedError) as refused:
        read_fields(body, kind)
    assert refused.value.code == code
