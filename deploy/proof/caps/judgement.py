"""Was a cap passed, is a counter wrong, did a slot end otherwise than its call? Rows of promises."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from deploy.proof.caps.evidence import CapEvidence
from deploy.proof.caps.recount import CONCURRENCY, RESERVED, Recount
from deploy.proof.evidence import Evidence
from deploy.proof.verdict import VerdictRow, judge_log, none, row
from schemas.instant import Instant
from schemas.outcomes import GATE_OUTCOMES

RESTS_BY_ITSELF = "leads that nothing will move"
"""No promise here: at the end the company is paused, and its leads wait for that to be lifted."""

NEVER_TRIED = GATE_OUTCOMES | {"not_placed"}


def judge_caps(found: CapEvidence, ids: set[str], now: Instant) -> list[VerdictRow]:
    """Compare what the topics say with the counters, with the calls, and with the caps; `ids` were acknowledged."""
    recount = found.recount
    calls = found.calls()
    once = {id_ for id_, count in found.whole.contacts.submissions.items() if count == 1}
    return [
        row("submissions decided exactly once", ids, once),
        *(one for one in judge_log(found.whole, now) if one.promise != RESTS_BY_ITSELF),
        none(
            "dead letters",
            (
                f"{topic} {partition} {offset}: {(value or b'')[:200]!r}"
                for topic, partition, offset, value in found.whole.dead
            ),
        ),
        none("caps that were passed", recount.passed),
        row("calls that had a slot", calls, calls & recount.granted.keys()),
        none("slots that were granted twice", (id_ for id_, count in recount.granted.items() if count > 1)),
        VerdictRow(
            promise="slots granted = ended + open",
            expected=recount.granted.total(),
            found=len(recount.ended) + len(recount.open),
        ),
        none("slots that ended otherwise than their call", _ended_otherwise(found)),
        none("reported earnings that differ from the calls", _earned_otherwise(recount, found.whole)),
        none("counters of the changelog that are wrong", recount.differences(found.changelog)),
        none("counters of the tables that are wrong", recount.differences(found.tables)),
        row("kinds of caps that were reached", {*RESERVED, CONCURRENCY}, _reached(recount)),
    ]


def _ended_otherwise(found: CapEvidence) -> Iterator[str]:
    calls = found.calls()
    for id_, ended in found.recount.ended:
        outcome = found.outcomes.get(id_) if id_ in calls else "not_placed"
        expected = (
            "unused"
            if outcome in NEVER_TRIED
            else {"connected_buyer": "connected", "unknown": "unknown"}.get(outcome or "", "attempted")
        )
        if ended != expected:
            yield f"{id_} ended as {ended}, its call as {outcome}"


def _earned_otherwise(recount: Recount, found: Evidence) -> Iterator[str]:
    """Compare the reported earnings with those of the calls at the end."""
    brought: defaultdict[str, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for call in found.contacts.calls().values():
        earned = {
            "buyer_conversion": Decimal(call.buyer_converted),
            "revenue": call.revenue,
            "earned_revenue": call.revenue - call.payout,
        }
        ids = {"buyer": call.buyer_id, "buyer_group": call.buyer_group_id}
        of_call = {f"{kind}/{id_}": earned for kind, id_ in ids.items() if id_ is not None}
        if call.traffic_source_id is not None:
            of_call[f"traffic_source/{call.traffic_source_id}"] = {"offer_conversion": Decimal(call.offer_converted)}
        for record, amounts in of_call.items():
            for metric, amount in amounts.items():
                brought[record][metric] += amount
    for record, limits in recount.limits.items():
        for metric in brought[record] if limits.caps else ():
            reported, earned_by_calls = recount.earned[record][metric], brought[record][metric]
            if reported != earned_by_calls:
                yield f"{record}: {reported:g} of {metric} reported, its calls earned {earned_by_calls:g}"


def _reached(recount: Recount) -> set[str]:
    """Return the metrics of which a cap was used to the last: a load that reaches none proves nothing."""
    found: set[str] = set()
    for record, cap, limit, highest in used(recount):
        del record
        metric = cap.rpartition("_")[0] or cap
        if metric in {*RESERVED, CONCURRENCY} and highest >= limit:
            found.add(metric)
    return found


def used(recount: Recount) -> Iterator[tuple[str, str, Decimal | int, Decimal]]:
    """Yield each record and cap, its limit, and the most that was used of it at once."""
    for record, limits in sorted(recount.limits.items()):
        caps: dict[str, Decimal | int] = dict(limits.caps)
        if limits.concurrency is not None:
            caps = {CONCURRENCY: limits.concurrency, **caps}
        for cap, limit in caps.items():
            yield record, cap, limit, recount.highest[record, cap]


def caps_table(recount: Recount, names: dict[str, str]) -> str:
    """Return what was used of each cap, as text; `names` are those of the records."""
    rows = [
        (names.get(record, record), cap, f"{limit:,g}", f"{highest:,g}") for record, cap, limit, highest in used(recount)
    ]
    rows = [("record", "cap", "limit", "most used"), *rows]
    return "\n".join(f"{name:24} {cap:24} {limit:>10} {most:>10}" for name, cap, limit, most in rows)
