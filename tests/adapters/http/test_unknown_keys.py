"""Do wrong keys and tokens cost little, and nobody else anything? Counted by the work done, on a clock of the test's own."""

import asyncio
import hmac

import pytest

from adapters.http.exchange.access import Authenticator
from adapters.http.exchange.identity import hash_private_key
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.settings import Rate
from adapters.http.exchange.unknown_keys import (
    HELD_MAX,
    HELD_PER_ADDRESS_MAX,
    HOLD_SECONDS,
    RATE,
    REMEMBERED_MAX,
    REMEMBERED_SECONDS,
    UnknownCredentials,
    UnknownKeyLimiter,
)
from schemas.instant import Instant
from schemas.records import ApiKey, Offer
from tests.adapters.http.test_access import PRIVATE, PUBLIC, Source, key

BURST = 5
FLOOD, NEIGHBOUR = "192.0.2.66", "192.0.2.7"


class Clock:
    """Seconds that pass when a test says so, or when somebody is held."""

    def __init__(self) -> None:
        self.seconds = 1_000.0
        self.held: list[float] = []

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.held.append(seconds)
        await asyncio.sleep(0)


class Gate:
    """A gate with an allowance of BURST unknown keys, one a second."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.clock = Clock()
        self.retry_after = ""
        unknown_key_limiter = UnknownKeyLimiter(Limiter({RATE: Rate(1, BURST)}), self.clock.monotonic, self.clock.sleep)
        self.authenticator = Authenticator(source, unknown_key_limiter=unknown_key_limiter, monotonic=self.clock.monotonic)

    async def key(self, word: str, address: str = FLOOD) -> str:
        """Return how a key is answered: a code, or nothing where it is good."""
        try:
            await self.authenticator.authenticate(f"Bearer {word}", "", address=address, now=Instant(5))
        except ProblemError as problem:
            return problem.code
        return ""

    async def token(self, token: str, address: str | None = FLOOD) -> str:
        """Return how a lead token is answered: a code, unknown, or nothing where it is good."""
        try:
            return "" if await self.authenticator.target(token, address=address) else "unknown"
        except ProblemError as problem:
            self.retry_after = problem.headers["Retry-After"]
            return problem.code


async def test_the_same_wrong_key_or_token_is_answered_from_memory() -> None:
    gate = Gate(Source())
    for _ in range(2):
        assert await gate.key("pk_wrong.sk_wrong") == "unauthenticated"
    assert gate.source.refreshes == 1
    for _ in range(2):
        assert await gate.token("lt_wrong") == "unknown"
    assert gate.source.refreshes == 2


async def test_what_was_unknown_is_looked_for_again_after_a_second() -> None:
    gate = Gate(Source())
    for _ in range(3):
        await gate.key("pk_wrong.sk_wrong")
        await gate.token("lt_wrong", None)
        gate.clock.seconds += REMEMBERED_SECONDS
    assert gate.source.refreshes == 6


async def test_a_key_or_token_that_was_asked_for_too_early_works_as_soon_as_newer_rules_arrive() -> None:
    gate = Gate(Source())
    assert await gate.key(f"{PUBLIC}.{PRIVATE}") == "unauthenticated"
    assert await gate.token("lt_early") == "unknown"
    gate.source.take((key(), Offer(name="O", lead_token="lt_early")))
    assert await gate.key(f"{PUBLIC}.{PRIVATE}") == ""
    assert await gate.token("lt_early") == ""
    assert gate.source.refreshes == 2, "the newer rules came by themselves"
    # Any newer record lapses all entries: an offer that is made now may be the one that was asked for.
    await gate.token("lt_other")
    gate.source.take((Offer(name="P", lead_token="lt_third"),))
    before = gate.source.refreshes
    await gate.token("lt_other")
    assert gate.source.refreshes == before + 1


async def test_a_new_key_is_read_before_it_is_refused_also_while_its_address_sends_wrong_ones() -> None:
    gate = Gate(Source(late=(key(),)))
    assert await gate.key(f"{PUBLIC}.{PRIVATE}") == ""
    assert gate.source.refreshes == 1


async def test_wrong_keys_beyond_the_allowance_of_an_address_are_held_and_refused_without_a_reading() -> None:
    gate = Gate(Source())
    answers = [await gate.key(f"pk_{number}.sk") for number in range(BURST)]
    answers += [await gate.token(f"lt_{number}") for number in range(3)]
    answers += [await gate.key("pk_last.sk")]
    assert answers == ["unauthenticated"] * BURST + ["rate_limited"] * 4
    assert gate.source.refreshes == BURST
    assert gate.clock.held == [HOLD_SECONDS] * 4
    assert gate.retry_after == "1"
    assert await gate.token("lt_neighbour", NEIGHBOUR) == "unknown", "another address has its own allowance"
    gate.clock.seconds += 1
    assert await gate.token("lt_later") == "unknown"


async def test_a_company_with_good_keys_is_never_locked_out_by_a_flood_from_its_own_address() -> None:
    gate = Gate(Source(key(), Offer(name="O", lead_token="lt_good")))
    for number in range(3 * BURST):
        await gate.key(f"pk_{number}.sk")
    assert await gate.token("lt_wrong") == "rate_limited"
    for _ in range(3 * BURST):
        assert await gate.key(f"{PUBLIC}.{PRIVATE}") == ""
        assert await gate.token("lt_good") == ""
    assert await gate.token("lt_wrong", None) == "unknown", "a sender with a good key has the allowance of the company"


async def test_at_most_so_many_are_held_at_once() -> None:
    gate = Gate(Source())
    over = HELD_PER_ADDRESS_MAX + 20
    answers = await asyncio.gather(*(gate.token(f"lt_{number}") for number in range(BURST + over)))
    assert answers.count("rate_limited") == over
    assert len(gate.clock.held) == HELD_PER_ADDRESS_MAX
    gate.clock.held.clear()
    places = range(2 * HELD_MAX // HELD_PER_ADDRESS_MAX)
    flood = [gate.token(f"lt_{number}", f"192.0.2.{place}") for place in places for number in range(BURST + over)]
    assert (await asyncio.gather(*flood)).count("rate_limited") == len(places) * over
    assert len(gate.clock.held) == HELD_MAX


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="a wrong private half"),
        pytest.param({"revoked_at": 3}, id="a revoked key"),
        pytest.param({"expires_at": 4}, id="an expired key"),
    ],
)
async def test_a_key_that_exists_is_refused_with_the_same_work_as_one_that_does_not(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, int]
) -> None:
    work: list[str] = []
    compare = hmac.compare_digest

    def comparing(given: str, known: str) -> bool:
        work.append(f"compare {len(given)} with {len(known)}")
        return compare(given, known)

    monkeypatch.setattr(hmac, "compare_digest", comparing)

    async def refused(source: Source) -> list[str]:
        work.clear()
        gate = Gate(source)
        private = PRIVATE if more else "sk_wrong"
        for _ in range(2):
            assert await gate.key(f"{PUBLIC}.{private}") == "unauthenticated"
            work.append(f"{source.refreshes} readings, {len(gate.authenticator.unknown)} remembered")
        return list(work)

    known = ApiKey(name="K", public_key=PUBLIC, private_key_sha256=hash_private_key(PRIVATE), **more)  # type: ignore[arg-type]
    exists, exists_not = await refused(Source(known)), await refused(Source())
    assert exists == exists_not
    assert len(exists) == 5, exists  # two comparisons and a reading, then one comparison and no reading


def test_what_is_remembered_is_bounded_and_holds_no_secret() -> None:
    clock = Clock()
    unknown = UnknownCredentials(lambda: 1, clock.monotonic)
    for number in range(REMEMBERED_MAX + 10):
        unknown.add(f"lt_secret_{number}")
    assert len(unknown) == REMEMBERED_MAX
    assert unknown.contains(f"lt_secret_{REMEMBERED_MAX}")
    assert not unknown.contains("lt_secret_0")
    assert "lt_secret" not in repr(vars(unknown))
