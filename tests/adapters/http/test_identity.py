"""Is a request's id known as ours by every process that has the secret, for a day, and by nobody else's word?"""

from collections.abc import Callable
from uuid import UUID

import pytest

from adapters.http.exchange.identity import (
    RequestIds,
    hash_private_key,
    is_uuid,
    new_lead_token,
    new_private_key,
    new_public_key,
)
from schemas.instant import DAY, Instant

NOW = Instant(1_773_000_000_000)


def test_an_id_is_a_uuid_that_every_process_with_the_secret_knows_as_its_own() -> None:
    given = RequestIds(b"secret").new(NOW)
    assert UUID(given).version == 8
    assert is_uuid(given)
    assert RequestIds(b"secret").is_ours(given, NOW)
    assert not RequestIds(b"another secret").is_ours(given, NOW)
    assert RequestIds(b"secret").new(NOW) != given, "two that arrive at once are two"


@pytest.mark.parametrize(
    ("later", "is_known"),
    [(0, True), (DAY - 1, True), (DAY, False), (30 * DAY, False), (-59_999, True), (-60_000, False)],
)
def test_an_id_is_known_for_a_day_and_to_a_clock_that_is_a_minute_behind(later: int, is_known: bool) -> None:
    ids = RequestIds(b"secret")
    assert ids.is_ours(ids.new(NOW), NOW + later) == is_known


def test_an_id_of_which_any_part_was_changed_is_not_ours() -> None:
    ids = RequestIds(b"secret")
    given = ids.new(NOW)
    for place, letter in enumerate(given):
        if letter != "-":
            changed = given[:place] + ("0" if letter != "0" else "1") + given[place + 1 :]
            assert not ids.is_ours(changed, NOW), place
    for other in (given.upper(), given.replace("-", ""), "", "nonsense", f"{{{given}}}"):
        assert not ids.is_ours(other, NOW) or other == given


@pytest.mark.parametrize(
    ("make", "begin", "bits"), [(new_lead_token, "lt_", 144), (new_public_key, "pk_", 120), (new_private_key, "sk_", 256)]
)
def test_what_lets_somebody_in_is_never_found_by_trying(make: Callable[[], str], begin: str, bits: int) -> None:
    made = {make() for _ in range(100)}
    assert len(made) == 100
    assert all(one.startswith(begin) and 6 * len(one.removeprefix(begin)) >= bits for one in made)


def test_only_the_hash_of_a_private_key_is_published() -> None:
    assert hash_private_key("sk_1") == "92493e6fad3e4152df1bd7fe5c168d281fd1e0817f9a07c6e51d49d3c88f144a"
