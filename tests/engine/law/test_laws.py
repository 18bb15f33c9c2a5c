"""Is a person who may be in several states contacted only when, and as often as, each of them allows?"""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.calendar import is_open
from engine.law.caps import last_release
from engine.law.pack import default_pack
from engine.submission.states import STATES
from schemas.contact import Attempt
from schemas.instant import DAY, HOUR, MINUTE, Instant
from schemas.law import PURPOSES

FROM = 1_782_000_000_000  # in June 2026
MOMENTS = st.integers(FROM // MINUTE, (FROM + 400 * DAY) // MINUTE).map(lambda minute: minute * MINUTE)
PLACES = st.lists(st.sampled_from([*sorted(STATES), "FL", "AL", "LA", "RI", "TX", "ME", "MS"]), max_size=5, unique=True).map(
    tuple
)
ZONES = ("America/New_York", "America/Chicago")
LEDGERS = st.lists(st.tuples(st.integers(0, 72), st.sampled_from(["call", "sms"])), max_size=12)


# Loading zones and holidays takes its time, once.
@settings(deadline=None)
@given(states=PLACES, at=MOMENTS, channel=st.sampled_from(["call", "sms"]), purpose=st.sampled_from(PURPOSES))
def test_open_is_what_is_open_in_every_candidate_state(
    states: tuple[str, ...], at: Instant, channel: str, purpose: str
) -> None:
    def is_allowed(*some: str) -> bool:
        found = default_pack().limits(some, ("US",), channel, purpose, at)  # type: ignore[arg-type]
        return is_open(at, found.constraints(ZONES))

    assert is_allowed(*states) == all([is_allowed(), *(is_allowed(state) for state in states)])


# Loading zones and holidays takes its time, once.
@settings(deadline=None)
@given(states=PLACES, at=MOMENTS, ledger=LEDGERS, purpose=st.sampled_from(PURPOSES))
def test_released_is_what_every_candidate_state_has_released(
    states: tuple[str, ...], at: Instant, ledger: list[tuple[int, str]], purpose: str
) -> None:
    entries = tuple(Attempt(at=at - hours * HOUR, kind=kind, command_id=str(hours)) for hours, kind in ledger)

    def release(*some: str) -> Instant:
        found = default_pack().limits(some, ("US",), "call", purpose, at)  # type: ignore[arg-type]
        held = last_release(entries, found.caps, at)
        return at if held is None else held.at

    assert release(*states) == max([release(), *(release(state) for state in states)])
