"""Does a gateway on a wrong clock send too early, or never? It gives nothing to a provider until the clock is right."""

import pytest

from adapters.gateway.channels import sms_channel
from adapters.gateway.compared_clock import NOT_COMPARED, ComparedClock
from adapters.gateway.ports import DeliveryResult
from schemas.commands import SendSms
from schemas.instant import HOUR, SECOND, Instant
from tests.adapters.gateway.world import NOON, LateDeliveries, MemoryDeliveries, StillClock, command_of, running, town, until


class SetClock(StillClock):
    """Wall time that somebody sets, and seconds that elapse all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.wall_at = NOON
        self.seconds = 100.0

    def wall(self) -> Instant:
        return self.wall_at

    def elapsed(self) -> float:
        return self.seconds


class Phone:
    """A carrier that delivers every text, and remembers who got one."""

    name = "phone"

    def __init__(self) -> None:
        self.texted: list[str] = []

    async def send(self, command: SendSms) -> DeliveryResult:
        self.texted.append(command.to)
        return DeliveryResult(outcome="delivered")


async def noon() -> Instant:
    return NOON


async def test_a_clock_is_doubtful_until_it_was_compared_with_the_database_s() -> None:
    compared = ComparedClock(SetClock())
    assert compared.problem == NOT_COMPARED
    await compared.compare(noon)
    assert compared.problem is None


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (30 * SECOND, None),
        (31 * SECOND, "31 s ahead of"),
        (-30 * SECOND, None),
        (-31 * SECOND, "31 s behind"),
        (25 * HOUR, "90000 s ahead of"),
    ],
)
async def test_a_clock_that_is_more_than_half_a_minute_off_is_wrong_from_its_start(offset: int, words: str | None) -> None:
    clock = SetClock()
    clock.wall_at = NOON + offset
    compared = ComparedClock(clock)
    await compared.compare(noon)
    if words is None:
        assert compared.problem is None
    else:
        assert compared.problem is not None
        assert words in compared.problem


async def test_a_step_of_the_clock_shows_at_once_and_so_does_its_correction() -> None:
    clock = SetClock()
    compared = ComparedClock(clock)
    await compared.compare(noon)
    clock.wall_at, clock.seconds = NOON + 2 * HOUR, 101.0
    assert "7199 s ahead of" in (compared.problem or "")
    clock.wall_at = NOON + SECOND
    assert compared.problem is None


async def test_an_answer_that_was_long_under_way_proves_nothing_against_a_clock() -> None:
    clock = SetClock()
    compared = ComparedClock(clock)

    async def slow() -> Instant:
        clock.seconds += 120.0
        clock.wall_at = NOON + 120 * SECOND
        return NOON

    await compared.compare(slow)
    assert compared.problem is None


@pytest.mark.parametrize(("not_after", "outcome"), [(None, "delivered"), (NOON - 1, "expired")], ids=["in time", "late"])
async def test_a_gateway_on_a_wrong_clock_sends_nothing_and_drops_nothing_until_it_is_right(
    not_after: int | None, outcome: str
) -> None:
    phone, deliveries = Phone(), MemoryDeliveries()
    problems: list[str] = ["is wrong"]
    asked = 0

    def problem() -> str | None:
        nonlocal asked
        asked += 1
        return problems[0] if problems else None

    async with (
        town("sms") as place,
        running(place, sms_channel(phone), deliveries, clock_problem=problem),
    ):
        await place.append(command_of("sms", not_after=not_after))
        await until(lambda: asked >= 3 or deliveries.rows)
        assert (await place.outcomes(), phone.texted, deliveries.rows) == ([], [], {})
        problems.clear()
        assert await place.outcome() == [("command-1", outcome)]

    assert len(phone.texted) == (outcome == "delivered")


@pytest.mark.parametrize(("not_after", "outcome"), [(None, "delivered"), (NOON - 1, "expired")], ids=["in time", "late"])
async def test_a_clock_that_is_set_while_a_command_is_claimed_neither_sends_nor_drops_it(
    not_after: int | None, outcome: str
) -> None:
    phone, claims = Phone(), MemoryDeliveries()
    deliveries = LateDeliveries(claims, "claim")
    problems: list[str] = []
    async with (
        town("sms") as place,
        running(place, sms_channel(phone), deliveries, clock_problem=lambda: problems[0] if problems else None),
    ):
        await place.append(command_of("sms", not_after=not_after))
        deliveries.before.set()
        await until(deliveries.answered.is_set)
        problems.append("is wrong")
        deliveries.after.set()
        await until(lambda: not claims.rows or claims.rows["command-1"]["posted"])  # released: another gateway could take it
        assert (await place.outcomes(), phone.texted, claims.rows) == ([], [], {})
        problems.clear()
        assert await place.outcome() == [("command-1", outcome)]

    assert len(phone.texted) == (outcome == "delivered")
