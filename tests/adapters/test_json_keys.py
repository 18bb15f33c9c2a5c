"""Is a key that stands twice refused, wherever it stands and however it is written, and nothing else?"""

import msgspec
import pytest

from adapters.json_keys import CHECKED_BYTES_MAX, check_keys
from engine.partition.draft import RefusedError


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a" :1,"a": 2}',
        b'{"a":1,"b":{"c":1,"c":1}}',
        b'{"a":[{"b":1},{"c":1,"c":2}]}',
        b'{"caller_id":1,"caller\\u005fid":2}',
        b'{"a":"x\\":y","a":1}',
        b'{"a":1,"b":2,"a"\n:3}',
    ],
)
def test_a_key_that_stands_twice_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        check_keys(body, msgspec.json.decode(body))
    assert refused.value.code == "malformed_json"


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}',
        b'{"a":"\\"b\\": 1","b":"\\":"}',
        b'{"A":1,"a":2}',
        b'{"a":"' + b"x" * CHECKED_BYTES_MAX + b'"}',
    ],
)
def test_what_has_each_key_once_is_taken(body: bytes) -> None:
    check_keys(body, msgspec.json.decode(body))
