"""What does a posted impression mean, and is each bad field of each impression named?"""

from typing import Any

import pytest

from engine.identity import impression_uuid
from engine.rules import Rules
from engine.submission.fields import FieldError
from engine.submission.impressions import (
    BATCH_MAX,
    CLICK_ID_LENGTH_MAX,
    GIVEN_BY_US,
    PARSERS,
    POSTED_ALONE,
    TOKENS_BYTES_MAX,
    TOKENS_MAX,
    URL_LENGTH_MAX,
    USER_AGENT_LENGTH_MAX,
    VISITOR_LENGTH_MAX,
    ImpressionReading,
    batch_of,
)
from engine.submission.reading import FIELDS_SHOWN_MAX
from schemas.impressions import Impression
from tests.engine.submission.conftest import OFFER_ID, PAUSED_SOURCE_ID, POOL_ID, RECEIVED_AT, SOURCE_ID, STRANGER_ID

UUID = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
WHOLE: dict[str, Any] = {
    "visitor_id": " v-1 ",
    "uuid": UUID.upper(),
    "session_id": 77,
    "offer_id": str(OFFER_ID),
    "ring_pool_id": POOL_ID,
    "traffic_source_id": SOURCE_ID,
    "page_url": "https://roofs.example.com/solar?x=1#top",
    "referrer": "android-app://com.google.android.googlequicksearchbox/",
    "landing_url": "HTTP://roofs.example.com",
    "utm_source": "search",
    "utm_medium": "cpc",
    "utm_campaign": "spring",
    "utm_term": "solar roof",
    "utm_content": "b",
    "gclid": "g" * CLICK_ID_LENGTH_MAX,
    "fbclid": "f",
    "sub_id": "s",
    "ip": "192.0.2.17",
    "user_agent": "Mozilla/5.0",
    "device": "mobile",
    "country": "us",
    "state": "Florida",
    "city": "Miami",
    "tokens": {"variant": "b", "n": 2},
}


def reading(rules: Rules, *, ignores_unknown: bool = False) -> ImpressionReading:
    return ImpressionReading(rules, 1, "r1", RECEIVED_AT, ignores_unknown=ignores_unknown)


def read(rules: Rules, **fields: Any) -> Impression:
    found = reading(rules).read({"visitor_id": "v", **fields}, 0)
    assert found is not None
    return found


def faults(rules: Rules, **fields: Any) -> dict[str, list[str]]:
    one = reading(rules)
    assert one.read({"visitor_id": "v", **fields}, 0) is None
    return one.faults


def test_every_field_is_read_and_kept(rules: Rules) -> None:
    assert set(WHOLE) == set(PARSERS)
    found = read(rules, **WHOLE)
    assert found == Impression(
        **{
            **WHOLE,
            "company_id": 1,
            "created_at": RECEIVED_AT,
            "visitor_id": "v-1",
            "uuid": UUID,
            "session_id": "77",
            "offer_id": OFFER_ID,
            "ip": "192.0.2.0/24",
            "country": "US",
            "state": "FL",
        }
    )


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.255", "192.0.2.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ("::1", "::/48"),
        ("::ffff:192.0.2.9", "192.0.2.0/24"),
    ],
)
def test_only_the_network_of_an_address_is_stored(rules: Rules, address: str, network: str) -> None:
    assert read(rules, ip=address).ip == network


def test_a_long_user_agent_is_cut_because_its_sender_cannot_shorten_it(rules: Rules) -> None:
    assert read(rules, user_agent="M" * 2_000).user_agent == "M" * USER_AGENT_LENGTH_MAX


def test_an_impression_without_a_uuid_has_one_of_its_request_and_index(rules: Rules) -> None:
    one = reading(rules)
    first, second = (one.read({"visitor_id": "v"}, index, f"impressions[{index}].") for index in (0, 1))
    assert first is not None
    assert second is not None
    assert (first.uuid, second.uuid) == (impression_uuid("r1", 0), impression_uuid("r1", 1))
    assert first.uuid != second.uuid


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("visitor_id", "", "must be given"),
        ("visitor_id", "v" * (VISITOR_LENGTH_MAX + 1), "at most 100"),
        ("visitor_id", {"a": 1}, "must be text"),
        ("uuid", "1", "must be a UUID"),
        ("uuid", 7, "must be a UUID"),
        ("offer_id", "x", "whole number"),
        ("offer_id", 999, "names no offer"),
        ("traffic_source_id", STRANGER_ID, "names no traffic source"),
        ("page_url", "javascript:alert(1)", "https://"),
        ("page_url", "javascript://%0aalert(1)", "https://"),
        ("page_url", "https://a b", "https://"),
        ("page_url", "https://", "https://"),
        ("landing_url", "https://e.com/" + "x" * URL_LENGTH_MAX, "at most 2048"),
        ("referrer", ["https://e.com"], "must be text"),
        ("gclid", "g" * (CLICK_ID_LENGTH_MAX + 1), "at most 500"),
        ("utm_source", "s" * 256, "at most 255"),
        ("ip", "192.0.2.0/24", "IP address"),
        ("ip", 12, "IP address"),
        ("country", "Atlantis", "two letters"),
        ("tokens", "flat", "JSON"),
        ("tokens", [1], "object"),
        ("tokens", {f"t{number}": 1 for number in range(TOKENS_MAX + 1)}, "at most 50"),
        ("tokens", {"a": "x" * TOKENS_BYTES_MAX}, "at most 4096"),
        ("tokens", {f"t{number}": 1e300 for number in range(20)}, "at most 4096"),
        ("tokens", {" ": 1}, "name"),
        ("tokens", {"a": float("nan")}, "NaN"),
        ("user_agent", {"a": 1}, "must be text"),
        ("city", "\ud800", "Unicode"),
        ("utm_sorce", "x", "did you mean utm_source"),
        ("company_id", 2, "is no field"),
        ("id", 2, "is no field"),
        ("created_at", "2026-01-01", "is no field"),
    ],
)
def test_a_bad_field_is_named(rules: Rules, field: str, value: Any, word: str) -> None:
    found = faults(rules, **{field: value})
    assert list(found) == [field]
    assert word in found[field][0]


@pytest.mark.parametrize("field", GIVEN_BY_US)
def test_what_is_decided_here_is_refused_even_where_unknown_names_are_ignored(rules: Rules, field: str) -> None:
    one = reading(rules, ignores_unknown=True)
    assert one.read({"visitor_id": "v", "whatever": 1}, 0) is not None
    assert one.read({"visitor_id": "v", field: None}, 0) is None
    assert one.faults[field] == [GIVEN_BY_US[field]]


def test_a_paused_source_has_impressions_all_the_same(rules: Rules) -> None:
    assert read(rules, traffic_source_id=PAUSED_SOURCE_ID).traffic_source_id == PAUSED_SOURCE_ID


def test_every_bad_field_of_every_impression_is_found_at_once(rules: Rules) -> None:
    one = reading(rules)
    raw: list[Any] = [{"visitor_id": "v", "uuid": UUID}, {"ip": "x"}, 7, {"visitor_id": "v", "uuid": UUID.upper()}]
    for index, found in enumerate(raw):
        one.read(found, index, f"impressions[{index}].")
    assert set(one.faults) == {
        "impressions[1].ip", "impressions[1].visitor_id", "impressions[2]", "impressions[3].uuid",
    }  # fmt: skip
    assert "impressions[0]" in one.faults["impressions[3].uuid"][0]


def test_an_answer_names_a_bounded_number_of_fields(rules: Rules) -> None:
    one = reading(rules)
    assert one.read({f"wrong{number}": 1 for number in range(10_000)}, 0) is None
    for index in range(200):
        assert one.read({"visitor_id": ""}, index, f"impressions[{index}].") is None
    assert len(one.faults) == FIELDS_SHOWN_MAX


def test_a_batch_is_a_list_of_bounded_length_alone() -> None:
    assert batch_of({"visitor_id": "v"}) is None
    assert batch_of({"impressions": [{}]}) == batch_of({"impressions": "[{}]"}) == [{}]
    wrongs: tuple[Any, ...] = ([], [{}] * (BATCH_MAX + 1), {"a": 1}, "[]", "{", "7", "\ud800")
    for wrong in wrongs:
        with pytest.raises(FieldError):
            batch_of({"impressions": wrong})
    with pytest.raises(FieldError, match="visitor_id"):
        batch_of({"impressions": [{}], "visitor_id": "v"})


def test_a_number_is_asked_for_by_an_impression_alone(rules: Rules) -> None:
    assert read(rules, ring_pool_id=POOL_ID).ring_pool_id == POOL_ID
    one = reading(rules)
    assert one.read({"visitor_id": "v", "ring_pool_id": POOL_ID}, 2, "impressions[2].") is None
    assert one.faults == {"impressions[2].ring_pool_id": [POSTED_ALONE]}
    assert faults(rules, ring_pool_id=OFFER_ID) == {"ring_pool_id": [f"names no ring pool: {OFFER_ID}"]}
