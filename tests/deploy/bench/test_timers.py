"""Can the row `timers` be measured? Every due lead must find a place: nothing ends a command while the bench runs."""

from deploy.bench.stage import PARTITIONS
from deploy.bench.submissions import NOON, TEXT_TOKEN, requests
from deploy.bench.timers import LEADS
from engine.fair_share import may_take
from engine.limits import OPEN_COMMANDS_MAX
from schemas.instant import to_rfc3339


def test_every_lead_of_the_row_finds_a_place_in_its_partition() -> None:
    waiting = requests(LEADS, PARTITIONS, token=TEXT_TOKEN, next_action_at=to_rfc3339(NOON))

    assert sum(map(len, waiting.values())) == LEADS
    for leads in waiting.values():
        last = len(leads) - 1
        assert may_take(last, OPEN_COMMANDS_MAX - last)
