"""Does every command end exactly once, and is it handed to a carrier only under its lease?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from schemas.contact import Lead
from schemas.decisions import REMOVED
from schemas.topics import COMMAND_TOPICS
from tests.simulation.carrier import Carrier
from tests.simulation.decided import Decided, all_records_of
from tests.simulation.providers import order_in

if TYPE_CHECKING:
    from tests.simulation.run import World


def leases_in(world: "World") -> Iterator[str]:
    """Nothing is given to a carrier outside its lease, no call or text twice, and no progress passes what has not ended."""
    if isinstance(world.providers, Carrier):
        yield from world.providers.problems
        yield from world.providers.claims.problems


def ends_in(world: "World") -> Iterator[str]:
    """What came of an order is recorded once, and posted; where its first gateway tells of it late, once at most."""
    if not isinstance(world.providers, Carrier):
        return
    claims = world.providers.claims
    for topic in COMMAND_TOPICS.values():
        for order in filter(None, map(order_in, all_records_of(world, topic.name))):
            if order.command_id in world.lost_orders:
                continue
            times = claims.recorded[order.command_id]
            if times > 1 or (times == 0 and order.command_id not in claims.reported_beside):
                yield f"what came of {order.command_id} was recorded {times} times"
            elif not claims.is_ended(order.command_id):
                yield f"what came of {order.command_id} was not posted"


def flights_in(contacts: list[Decided]) -> Iterator[str]:
    """A lead learns of the end of a command once: what has ended is not in flight again."""
    for decided in contacts:
        under_way: dict[str, str] = {}
        ended: set[str] = set()
        for decision in decided.decisions:
            for change in decision.changes:
                if not change.key.startswith("lead/"):
                    continue
                lead = None if change.value == REMOVED else msgspec.json.decode(change.value, type=Lead)
                flight = None if lead is None or lead.flight is None else lead.flight.command_id
                before = under_way.pop(change.key, None)
                if before not in {None, flight}:
                    ended.add(before or "")
                if flight is not None:
                    under_way[change.key] = flight
                    if flight in ended:
                        yield f"{decided.name} #{decision.sequence}: {flight} is on its way again after its end"
