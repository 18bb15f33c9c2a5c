"""Has one record of a type an `external_record_id`, in each company and also where earlier rules let several have it?"""

from typing import Any

import pytest

from schemas.account import Taken
from schemas.records import RECORD_BODIES
from schemas.state import taken_key
from tests.engine.account.conftest import AccountWorld

STEPS = [{"id": "text-1", "kind": "sms", "template": "Hi"}]
MADE_WITH: dict[str, dict[str, Any]] = {
    "offer": {"name": "Roofs", "lead_token": "roofs-{}-token-token"},
    "schedule": {"name": "Solar", "lead_token": "solar-{}-token-token", "steps": STEPS},
    "buyer": {"name": "Ada", "number": "+12125550150"},
    "buyer_group": {"name": "All"},
    "buyer_fleet": {"name": "VIP", "user_fleet_id": "vip_{}"},
    "traffic_source": {"name": "Portal"},
    "number": {"number": "+1212555016{}"},
    "outgoing_webhook": {"name": "CRM", "url": "https://crm.example/{}"},
    "call_disposition": {"name": "Sold", "code": "sold_{}"},
    "action_group": {"name": "Two", "steps": STEPS},
    "rule_pack": {"name": "Ours"},
    "access_control_list": {"name": "Agents"},
    "call_center": {"name": "Tampa"},
    "agent_status": {"name": "At lunch", "key": "lunch"},
    "agent": {"name": "Ada"},
    "user": {"name": "Ada", "email": "ada-{}@example.com"},
    "suppression_list": {"name": "Complained"},
    "contact_field_type": {"name": "Roofs"},
    "ring_pool": {"name": "Website"},
    "holiday": {"name": "Christmas", "first_date": "2026-12-25"},
    "subscription": {"name": "CRM", "url": "https://crm.example/{}", "events": ["lead_ended"]},
    "provider_configuration": {"name": "Twilio", "channel": "call", "provider": "twilio"},
}
TYPES = sorted(MADE_WITH)


def fields(record_type: str, number: int) -> dict[str, Any]:
    """Return fields of a record, with unique values of their own."""
    given = MADE_WITH[record_type].items()
    return {name: value.format(number) if isinstance(value, str) else value for name, value in given}


def test_every_type_but_companies_keys_and_jobs_has_one() -> None:
    has = {name for name, kind in RECORD_BODIES.items() if "external_record_id" in kind.__struct_fields__}
    without = {"company", "api_key", "unblock_contact_job", "agent_message", "contact_hold"}
    assert has == set(MADE_WITH) == set(RECORD_BODIES) - without


@pytest.mark.parametrize("record_type", TYPES)
def test_one_record_of_a_type_has_an_external_record_id_until_it_gives_it_away(
    account: AccountWorld, record_type: str
) -> None:
    first = account.create(record_type, **fields(record_type, 1), external_record_id="crm-7")
    second = account.create(record_type, **fields(record_type, 2))

    for answer in (
        account.change("create", record_type, **fields(record_type, 3), external_record_id="crm-7"),
        account.update(record_type, second, external_record_id="crm-7"),
    ):
        assert (answer.code, list(answer.errors)) == ("duplicate_value", ["external_record_id"])
        assert f"is taken by {record_type.replace('_', ' ')} {first}" in answer.errors["external_record_id"][0]
    assert account.update(record_type, first, external_record_id="crm-8").status == 200
    assert account.update(record_type, second, external_record_id="crm-7").status == 200
    account.delete(record_type, second)
    assert account.update(record_type, first, external_record_id="crm-7").status == 200


def test_records_of_two_types_and_of_two_companies_may_have_the_same_one(account: AccountWorld) -> None:
    for record_type in TYPES:
        account.create(record_type, **fields(record_type, 1), external_record_id="crm-7")
    account.create("company", company_id=2, name="Windy")
    assert account.create("traffic_source", company_id=2, name="Portal", external_record_id="crm-7")


def test_a_record_that_had_one_before_it_was_unique_does_not_take_it_from_its_owner(account: AccountWorld) -> None:
    old = account.create("traffic_source", name="Portal", external_record_id="crm-7")
    key = taken_key(1, "external_record_id/traffic_source", "crm-7")
    account.state.set(key, None)
    account.state.commit()
    owner = account.create("traffic_source", name="Other", external_record_id="crm-7")

    account.delete("traffic_source", old)

    taken = account.state.get(key, Taken)
    assert taken is not None
    assert taken.record_id == owner
