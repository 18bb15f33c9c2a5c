"""Does a lead that waits ever miss what it waits for? Lines, caps, pauses, filters and owners change as they like.

The deciders, timers and messages are the real ones (`deploy.bench.waiting`). Partitions go on from their values alone at
any moment.
"""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from deploy.bench.submissions import COMPANY_ID
from deploy.bench.waiting import CALL_TIME, WaitingCompany
from schemas.contact import LIVE_STATUSES, Lead, waits_in_queue
from schemas.instant import SECOND
from schemas.requests import CallerActed, RecordChangeRequested
from schemas.state import lead_key

LINES_MAX = 3
PARTITIONS = 3
OPEN_FIELDS: dict[str, Any] = {"paused": False, "concurrency_cap_limit": 2, "attempt_hourly_limit": None, "filters": []}

acts = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(1, 8)),
        st.tuples(st.just("come"), st.integers(1, 8)),
        st.tuples(st.just("change"), st.fixed_dictionaries({"concurrency_cap_limit": st.integers(0, LINES_MAX)})),
        st.tuples(st.just("change"), st.fixed_dictionaries({"paused": st.booleans()})),
        st.tuples(st.just("change"), st.fixed_dictionaries({"attempt_hourly_limit": st.none() | st.integers(1, 4)})),
        st.tuples(st.just("change"), st.fixed_dictionaries({"filters": st.sampled_from([[], ["roof:flat"]])})),
        st.tuples(st.just("stop"), st.integers(0, 30)),
        st.tuples(st.just("restore"), st.integers(0, PARTITIONS - 1)),
        st.tuples(st.just("time"), st.sampled_from([0.2, 3.0, 21.0, 300.0, 3_600.0])),
    ),
    min_size=3,
    max_size=25,
)


class WaitingWorld:
    """A company of one buyer, and how many lines that had at most while the calls of now were granted."""

    def __init__(self) -> None:
        self.company = WaitingCompany(2, partitions=PARTITIONS)
        self.came = 0

    def act(self, act: str, what: Any) -> None:
        company = self.company
        match act:
            case "come":
                for _ in range(what):
                    roof = ("flat", "steep")[self.came % 2]
                    company.submit(self.came, lead_priority=float(self.came * 7 % 5), data={"roof": roof})
                    self.came += 1
            case "change":
                self.change(**what)
            case "stop":
                leads = self.leads()
                if leads:
                    key = leads[what % len(leads)].contact_key
                    company.ask(CallerActed(company_id=COMPANY_ID, contact_key=key, schedule_id=1, action="remove"))
            case "restore":
                company.contacts[what].restore()
                company.account.restore()
            case "time":
                self.run(int(what * SECOND))

    def change(self, **fields: Any) -> None:
        given = RecordChangeRequested(company_id=COMPANY_ID, type="buyer", operation="update", id=1, fields=fields)
        self.company.ask(given)

    def run(self, lasting: int) -> None:
        self.company.run(self.company.now + lasting)
        assert self.company.open_calls <= LINES_MAX

    def leads(self) -> list[Lead]:
        found = [
            part.state.get(key, Lead)
            for part in self.company.contacts
            for key, _ in part.state.items()
            if key.startswith(lead_key(0)[:-1])
        ]
        return [lead for lead in found if lead is not None]

    def waiting(self) -> list[Lead]:
        """Return the leads that could be called and are not."""
        return [lead for lead in self.leads() if lead.status in LIVE_STATUSES and lead.flight is None]


@settings(max_examples=60, deadline=None)
@given(acts)
@example([("change", {"filters": ["roof:flat"]}), ("come", 8), ("time", 3_600.0)])
@example([("come", 8), ("change", {"paused": True}), ("come", 8), ("time", 3_600.0), ("stop", 3), ("restore", 1)])
@example([("change", {"attempt_hourly_limit": 1}), ("come", 8), ("time", 300.0), ("change", {"filters": ["roof:flat"]})])
@example([("change", {"concurrency_cap_limit": 0}), ("come", 8), ("come", 8), ("time", 3_600.0)])
def test_when_nothing_hinders_any_more_every_line_is_used_and_everybody_is_called(given: list[tuple[str, Any]]) -> None:
    world = WaitingWorld()
    for act, what in given:
        world.act(act, what)
        world.run(SECOND // 10)
    world.change(**OPEN_FIELDS)
    world.run(7 * SECOND)
    assert world.company.open_calls >= min(2, len(world.waiting()))
    left = len(world.waiting())
    world.run((CALL_TIME + SECOND) * (left // 2 + 2))  # as long as two lines that are always used take
    assert world.waiting() == []
    assert not any(waits_in_queue(lead) for lead in world.leads() if lead.status in LIVE_STATUSES)
