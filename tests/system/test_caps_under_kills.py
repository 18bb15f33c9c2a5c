"""Is a cap passed, or a counter wrong, when schedulers are killed under load? The proof of `make prove-caps`, in small."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.settings import Settings
from deploy.proof.caps.judgement import judge_caps
from deploy.proof.caps.recount import Counters
from deploy.proof.caps.run import CapPlan, CapProof, prove_caps
from deploy.proof.verdict import table
from schemas.account import CapUsage
from schemas.instant import EPOCH

pytestmark = pytest.mark.system

PLAN = CapPlan(leads=240, kills=3, seed=1, gateways=1, speed=40.0, seconds=300.0, through_periods=False)


async def test_no_cap_is_passed_and_every_counter_is_right_after_three_kills(settings: Settings, folder: Path) -> None:
    proof = await prove_caps(PLAN, settings, folder, print)

    assert proof.holds, "\n" + table(proof.rows)
    assert broken(proof, changelog=one_more_attempt(proof)) == {"counters of the changelog that are wrong"}
    assert broken(proof, tables=one_more_attempt(proof)) == {"counters of the tables that are wrong"}


def broken(proof: CapProof, **planted: dict[str, Counters]) -> set[str]:
    """Return which promises the judge finds broken where a counter of the same run is another one."""
    found = replace(proof.evidence, **planted)
    ids = set(found.whole.contacts.submissions)
    return {row.promise for row in judge_caps(found, ids, EPOCH) if not row.holds}


def one_more_attempt(proof: CapProof) -> dict[str, Counters]:
    """Return the counters of the changelog with one attempt too many of one group in its month."""
    counters = dict(proof.evidence.changelog)
    name = next(name for name, words in proof.names.items() if words == "buyer_group Hours")
    tally = counters[name].tallies["monthly"]
    wrong = CapUsage(
        tally.began_at, tally.ends_at, tally.after, {**tally.used, "attempt": tally.used["attempt"] + 1}, tally.open
    )
    counters[name] = replace(counters[name], tallies={**counters[name].tallies, "monthly": wrong})
    return counters
