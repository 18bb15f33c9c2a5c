"""Which legal rules may a company set? Stricter ones, and laxer ones with a written reason."""

from typing import Any

import pytest

from engine.account.references import RULE_PACKS_MAX
from engine.law.company import merged
from engine.law.pack import CompiledRulePack as Pack
from engine.law.pack import default_pack
from schemas.instant import EPOCH, Instant
from schemas.records import RulePack
from schemas.wire import from_builtins
from tests.engine.account.conftest import AccountWorld

ROW: dict[str, Any] = {
    "id": "counsel-fl",
    "country": "US",
    "state": "FL",
    "purposes": ["telemarketing"],
    "channels": ["call", "sms"],
    "windows": [{"days": ["mon", "tue"], "open": "10:00", "close": "17:00"}],
    "source_url": "https://example.com/memo",
    "reviewed_at": "2026-11-01",
}
CAP: dict[str, Any] = {"count": 3, "period": "24h", "unit": "number", "counts": ["call"]}
WHY = "Counsel: the statute exempts our existing customers."
FLORIDA = next(row for row in default_pack().rules.values() if row.id == "us-fl")


def override(**fields: Any) -> dict[str, Any]:
    return {**ROW, "id": "us-fl", "override": True, "reason": WHY, **fields}


def test_a_pack_is_created_changed_and_deleted(account: AccountWorld) -> None:
    record_id = account.create("rule_pack", name="Counsel", rules=[ROW])
    account.update("rule_pack", record_id, description="Reviewed every spring")
    body = account.body("rule_pack", record_id)

    assert isinstance(body, RulePack)
    assert body.rules[0].id == "counsel-fl"
    assert account.delete("rule_pack", record_id).status == 200


@pytest.mark.parametrize(
    ("rows", "place", "word"),
    [
        ([{**ROW, "country": "Florida"}], "rules[0].country", "two capital letters"),
        ([ROW, {**ROW, "id": "b", "state": "ZZ"}], "rules[1].state", "no state"),
        ([{**ROW, "windows": []}], "rules[0].windows", "fill one, or remove the row"),
        ([{**ROW, "cap": {**CAP, "count": 0}}], "rules[0].cap.count", "1 to"),
        ([{**ROW, "holidays": ["nowhere"]}], "rules[0].holidays", "no holiday set"),
        ([{**ROW, "source_url": "a friend"}], "rules[0].source_url", "https://"),
        ([{**ROW, "reviewed_at": "yesterday"}], "rules[0].reviewed_at", ""),
        ([{name: value for name, value in ROW.items() if name != "purposes"}], "rules[0].purposes", "must be given"),
        ([{**ROW, "colour": "red"}], "rules[0].colour", "is no field here; those are"),
        ([ROW, ROW], "rules[1].id", "stands 2 times"),
        ([{**ROW, "id": "us-fl"}], "rules[0].id", "id of a shipped rule"),
        ([{**ROW, "reason": WHY}], "rules[0].reason", "override only"),
        ([{**ROW, "override": True, "reason": WHY}], "rules[0].override", "none has this id"),
        ([override(reason="no")], "rules[0].reason", "why the shipped rule"),
        ([override(state="CA")], "rules[0].override", "US FL"),
        ("everything", "rules", "list"),
    ],
)
def test_a_wrong_row_is_refused_by_its_place_and_with_the_cure(
    account: AccountWorld, rows: Any, place: str, word: str
) -> None:
    answer = account.change("create", "rule_pack", name="Counsel", rules=rows)

    assert answer.code == "validation_failed"
    assert place in answer.errors, answer.errors
    assert word in " ".join(answer.errors[place])


def pack(*rows: dict[str, Any]) -> Pack:
    return Pack(merged([from_builtins({"name": "Counsel", "rules": rows}, RulePack)]))


def florida(found: Pack) -> tuple[str, ...]:
    hours = found.limits(("FL",), ("US",), "call", "telemarketing", EPOCH).hours
    return tuple(rule_id for one in hours for rule_id in one.rule_ids)


def test_a_row_of_the_company_stands_beside_the_shipped_ones() -> None:
    assert florida(pack(ROW)) == ("us-federal", "counsel-fl")
    at = Instant(1_784_131_200_000)
    beside = pack(ROW).limits(("FL",), ("US",), "call", "telemarketing", at)
    assert {rule_id for one in beside.hours for rule_id in one.rule_ids} == {"us-federal", "us-fl", "counsel-fl"}


def test_an_override_takes_the_place_of_the_shipped_row_and_nothing_else() -> None:
    at = Instant(1_784_131_200_000)
    found = pack(override()).limits(("FL",), ("US",), "call", "telemarketing", at)

    assert found.caps == ()
    assert [one.rule_ids for one in found.hours] == [("us-federal",), ("us-fl",)]
    assert found.hours[1].sources == ("https://example.com/memo",)
    assert FLORIDA.cap is not None


def test_no_lead_is_without_hours_when_the_federal_ones_are_removed() -> None:
    gone = override(id="us-federal", state=None, windows=[], channels=["call", "sms"])
    found = pack(gone).limits((), ("US",), "call", "telemarketing", EPOCH)

    assert [one.rule_ids for one in found.hours] == [("telephone-floor",)]


def test_the_stamp_of_the_law_names_the_packs_of_the_company() -> None:
    assert pack(ROW).stamp.split("+")[:2] == [default_pack().version, "Counsel"]
    assert pack(ROW).digest != default_pack().digest


def test_a_company_has_so_many_packs_and_no_more(account: AccountWorld) -> None:
    made = [account.create("rule_pack", name=f"Pack {number}", rules=[ROW]) for number in range(RULE_PACKS_MAX)]

    assert account.change("create", "rule_pack", name="One more", rules=[ROW]).errors["rules"]
    account.delete("rule_pack", made[3])
    assert account.create("rule_pack", name="In its place", rules=[ROW])
