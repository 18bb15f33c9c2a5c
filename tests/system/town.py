"""Which traffic does a deployment of processes get? That of a company, counted after each fault."""

import itertools
from typing import Any

from adapters.roles.context import Context
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import ProofCompany, make_company
from deploy.proof.evidence import Evidence, gather, projection_differences
from deploy.proof.load import post
from deploy.proof.processes import ProcessGroup
from deploy.proof.rest import until_at_rest
from deploy.proof.submissions import SentSubmission, number
from deploy.proof.verdict import Accepted, judge, table
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.topics import INBOXES
from schemas.wire import to_json
from tests.pace import bound

REST_SECONDS = bound(120.0)
ROLES = ("accounts", "intake", "projector", "gateway", "deliverer", "api")


class Town:
    """The deployment of this file, and everything that it ever accepted."""

    def __init__(self, deployment: ProcessGroup, company: ProofCompany) -> None:
        self.deployment = deployment
        self.company = company
        self.settings = deployment.settings
        self.accepted = Accepted(ids=set(), bad={}, records=0)
        self.refused: dict[tuple[int, int], bytes | None] = {}
        self.posted_over_http = 0
        self._numbers = itertools.count()

    @property
    def leads(self) -> int:
        return len(self.accepted.ids) + self.posted_over_http

    def submission(self) -> dict[str, Any]:
        index = next(self._numbers)
        is_call = index % 5 == 0
        turn, endings = (index // 5, ("01", "05")) if is_call else (index, ("06",))
        return {
            "lead_token": self.company.tokens["call" if is_call else "text"],
            "caller_id": number(index, turn, endings, odd_every=2),
            "time_zone": zone_at_daytime(),
            "first_name": f"Lead {index}",
        }

    async def load(self, context: Context, count: int) -> None:
        """Put leads on the inboxes, as many on the one as on the other."""
        for turn, inbox in enumerate(INBOXES):
            topic = context.names.of(inbox.name)
            posted = await post(context, [self._sent(topic) for _ in range(turn, count, len(INBOXES))])
            self.accepted.ids |= posted.ids
            self.accepted.records += posted.records

    def _sent(self, inbox: str) -> SentSubmission:
        submission = self.submission()
        id_ = f"test-{submission['caller_id']}"
        headers = to_headers(Envelope(id=id_, type="lead.submitted", source="/test"))
        return SentSubmission(id=id_, record=Outgoing(inbox, submission["caller_id"].encode(), to_json(submission), headers))

    async def at_rest(self, context: Context) -> Evidence:
        """Wait for rest, and see that every promise is kept."""
        await until_at_rest(context, self.settings.postgres_dsn, leads=self.leads, seconds=REST_SECONDS)
        found = await gather(context)
        rows = judge(self.accepted, found, self.settings.topic_prefix, context.clock.now(), over_http=self.posted_over_http)
        assert all(row.holds for row in rows), "\n" + table(rows)
        assert await projection_differences(self.settings.postgres_dsn, found.contacts) == []
        return found


async def settled(deployment: ProcessGroup, *, schedulers: int) -> Town:
    """Start every role, and make the company."""
    await deployment.prepare()
    for number_ in range(1, schedulers + 1):
        deployment.add("scheduler", f"scheduler-{number_}")
    for role in ROLES:
        deployment.add(role)
    await deployment.until_ready()
    return Town(deployment, await make_company(deployment.settings))
