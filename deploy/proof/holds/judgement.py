"""Was it silent while the hold was in force, and is nothing lost or doubled after it? Rows of promises."""

from collections import Counter
from collections.abc import Collection, Mapping

from msgspec import Struct

from adapters.roles.context import Context
from deploy.proof.attempts import Attempts
from deploy.proof.caps.evidence import gather_caps
from deploy.proof.company import COMPANY_ID
from deploy.proof.evidence import projection_differences
from deploy.proof.holds.witness import Given
from deploy.proof.verdict import SHOWN_MAX, Accepted, VerdictRow, judge, none, row
from schemas.instant import SECOND, Instant

SILENT_AFTER = 2 * SECOND
"""From the decision of the hold on, by a wall clock: what operators are promised."""


class HoldWindow(Struct, frozen=True, kw_only=True):
    """When the hold was decided, and when its release was asked for; whom the command named, and whom it had to name.

    Instants are those of the deployment's clock, which runs `speed` times as fast as a wall clock.
    """

    decided_at: Instant
    released_at: Instant
    named: frozenset[str]
    hanging: frozenset[str]
    speed: float = 1.0

    @property
    def silent_at(self) -> Instant:
        """Return from when on nothing may be given to a provider."""
        return self.decided_at + int(SILENT_AFTER * self.speed)

    def seconds_until_silence(self, given: list[Given]) -> float:
        """Return how many seconds after the decision the last command was given; 0 where none was."""
        last = max((one.at for one in given if one.at < self.released_at), default=self.decided_at)
        return max(0, last - self.decided_at) / SECOND / self.speed


async def judge_hold(
    context: Context, accepted: Accepted, given: list[Given], window: HoldWindow, statuses: Mapping[str, int]
) -> list[VerdictRow]:
    """Compare what was accepted, what providers were given, what was decided, and what is counted. Raises `LogError`."""
    caps = await gather_caps(context, COMPANY_ID)
    found, recount = caps.whole, caps.recount
    attempts = found.contacts.attempts
    in_force = [one for one in given if window.silent_at < one.at < window.released_at]
    contacted = Counter(attempts.commands[one.command_id].lead_id for one in given if one.command_id in attempts.commands)
    differences = await projection_differences(context.settings.postgres_dsn, found.contacts)
    leads = found.contacts.leads()
    # What a gateway had in hand that hangs may have gone: it is unknown, and never given again.
    in_doubt = {one.lead_id for id_, one in attempts.commands.items() if attempts.outcome(id_) == "unknown"}
    unknown = {lead_id for lead_id in in_doubt if not contacted[lead_id]}
    return [
        none("given to a provider from 2 s after the hold on", (f"{one.command_id} at {one.at}" for one in in_force)),
        row("gateways that hang, named by the command", window.hanging, window.named),
        *judge(accepted, found, context.settings.topic_prefix, context.clock.now()),
        none("dead letters", (f"{topic} {partition} {offset}" for topic, partition, offset, _ in found.dead)),
        _contacted_once(attempts, leads, contacted, unknown),
        none("given to a provider without a command", {one.command_id for one in given} - found.commands.keys()),
        none("people contacted again at a step that had reached them", attempts.again()),
        none("commands without an outcome", attempts.without_outcome()),
        none("leads whose counts are not those of their commands", attempts.differences(found.contacts.leads())),
        none("slots that were granted twice", (id_ for id_, count in recount.granted.items() if count > 1)),
        VerdictRow(
            promise="slots granted = ended + open",
            expected=recount.granted.total(),
            found=len(recount.ended) + len(recount.open),
        ),
        none("counters of the changelog that are wrong", recount.differences(caps.changelog)),
        none("counters of the tables that are wrong", recount.differences(caps.tables)),
        none("rows that are not the fold", differences),
        none("roles that did not end in order", (f"{name}: {code}" for name, code in statuses.items() if code)),
    ]


def _contacted_once(
    attempts: Attempts, leads: Collection[int], contacted: Mapping[int, int], unknown: Collection[int]
) -> VerdictRow:
    """Promise that each lead was contacted once, or that nobody knows; an example says how its commands ended."""
    ended: dict[int, list[str]] = {}
    for command_id, command in attempts.commands.items():
        ended.setdefault(command.lead_id, []).append(f"{command.kind} {attempts.outcome(command_id)}")
    wrong = [id_ for id_ in leads if contacted.get(id_, 0) != 1 and id_ not in unknown]
    return VerdictRow(
        promise="leads contacted once, or nobody knows",
        expected=len(leads),
        found=len(leads) - len(wrong),
        examples=tuple(
            f"lead {id_}: given {contacted.get(id_, 0)} times; {', '.join(ended.get(id_, ['no command']))}"
            for id_ in wrong[:SHOWN_MAX]
        ),
    )
