"""Is anything lost, doubled or stuck after all faults? Rows of promises, as of `make prove`, and those of the edges."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from adapters.roles.context import Context
from deploy.proof.evidence import Evidence, gather, projection_differences
from deploy.proof.faults.claims import Claims
from deploy.proof.faults.trickle import Trickle
from deploy.proof.processes import ProcessGroup
from deploy.proof.verdict import VerdictRow, judge_log, none, row

WORDS = ("Task was destroyed", "Unclosed AIOKafka", "Traceback")
"""What a role must never log: a client that was dropped and not closed, an unhandled error."""

EXCERPT = 400
"""Characters of each end of a line that is shown."""


async def judge_all(
    context: Context, deployment: ProcessGroup, trickle: Trickle, claims: Claims, outside: Mapping[str, Counter[str]]
) -> list[VerdictRow]:
    """Compare what was acknowledged with what is there; the roles have ended. `outside` counts what providers took."""
    found = await gather(context)
    rows = [*_submissions(trickle, found), *judge_log(found, context.clock.now())]
    rows.append(
        none("rows that are not the fold", await projection_differences(context.settings.postgres_dsn, found.contacts))
    )
    rows += await _commands(claims, found, outside)
    rows += [
        none("people contacted again at a step that had reached them", found.contacts.attempts.again()),
        none("commands without an outcome", found.contacts.attempts.without_outcome()),
        none(
            "leads whose counts are not those of their commands", found.contacts.attempts.differences(found.contacts.leads())
        ),
    ]
    rows.append(none("gateways that a rolling stop did not end in order", claims.faults))
    for words in WORDS:
        rows.append(none(f"'{words}' in the logs of the roles", logged(deployment.folder, words)))
    return rows


def _submissions(trickle: Trickle, found: Evidence) -> list[VerdictRow]:
    counts = found.contacts.submissions
    numbers = Counter(lead.caller_id for lead in found.contacts.leads().values())
    once = {id_ for id_ in trickle.acknowledged if counts.get(id_) == 1}
    return [
        row("acknowledged records decided exactly once", trickle.acknowledged, once),
        row(
            "answered submissions with exactly one lead",
            trickle.answered,
            {one for one in trickle.answered if numbers.get(one) == 1},
        ),
        none("numbers with two leads", (str(one) for one, count in numbers.items() if count > 1)),
        none("submissions that the API refused", trickle.refused),
    ]


async def _commands(claims: Claims, found: Evidence, outside: Mapping[str, Counter[str]]) -> list[VerdictRow]:
    rows = [
        none("claims that are not done", await claims.open()),
        none("unknown, though not struck in mid-call", await claims.unknown() - claims.struck),
    ]
    for what, taken in outside.items():
        twice = {id_ for id_, count in taken.items() if count > 1} - claims.struck
        rows.append(none(f"{what} taken twice, though not struck in mid-call", twice))
        rows.append(none(f"{what} without a command", taken.keys() - found.commands.keys()))
    return rows


def logged(folder: Path, words: str) -> Iterator[str]:
    """Yield the lines of the logs with some words."""
    for log in sorted(folder.glob("*.log")):
        with log.open(errors="replace") as lines:
            yield from (f"{log.name}: {_excerpt(line.strip())}" for line in lines if words in line)


def _excerpt(line: str) -> str:
    """Return the ends of a long line: a traceback names its error last."""
    return line if len(line) <= 2 * EXCERPT else f"{line[:EXCERPT]} ... {line[-EXCERPT:]}"
