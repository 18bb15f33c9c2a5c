"""Is a provider configuration checked by its provider, and its secret kept nowhere in the clear?"""

from typing import Any

import pytest

from adapters.providers.sealing import unseal
from schemas.records import ProviderConfiguration
from tests.adapters.http.conftest import SECRET_KEY

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/provider_configurations"
SECRET = "a-very-secret-token"
TWILIO = {
    "name": "Twilio, calls",
    "channel": "call",
    "provider": "twilio",
    "settings": {"account_sid": "AC0123456789abcdef0123456789abcdef"},
    "secrets": {"auth_token": SECRET},
}


async def test_a_secret_is_stored_encrypted_and_never_shown(town: Any, company: Any) -> None:
    made = await company.send("POST", PATH, json=TWILIO, headers={"Idempotency-Key": "p"})
    again = await company.send("POST", PATH, json=TWILIO, headers={"Idempotency-Key": "p"})

    shown = made.json()["provider_configuration"]
    assert (made.status_code, again.json()["provider_configuration"]["id"]) == (201, shown["id"])
    assert shown["secret_names"] == ["auth_token"]
    assert SECRET not in made.text + again.text + (await company.send("GET", PATH)).text
    assert "sealed" not in made.text
    body = town.context.rules.rules.body(ProviderConfiguration, "provider_configuration", shown["id"])
    sealed = body.sealed_secrets["auth_token"]
    assert SECRET not in str(body)
    assert unseal(SECRET_KEY, sealed, company_id=company.id, provider="twilio", name="auth_token") == SECRET
    for topic in await _records(town):
        assert SECRET.encode() not in topic


async def _records(town: Any) -> list[bytes]:
    found = []
    for name in ("accounts.requests", "accounts.decisions", "accounts.rules", "accounts.state"):
        count = await town.context.log.partition_count(name)
        reader = await town.context.log.reader(name, range(count))
        while records := await reader.poll(limit=1_000, timeout_seconds=0.1):
            found += [bytes(record.value or b"") for record in records]
        await reader.close()
    return found


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"provider": "twillio"}, {"provider": "did you mean twilio?"}),
        ({"channel": "email"}, {"channel": "it serves call, sms"}),
        ({"channel": "fax"}, {"channel": "must be one of call, sms, email"}),
        (
            {"settings": {"account_sdi": "AC1"}},
            {"settings.account_sdi": "account_sid", "settings.account_sid": "must be given"},
        ),
        (
            {"settings": {"account_sid": "AC 1", "from_number": "555"}},
            {"settings.account_sid": "", "settings.from_number": ""},
        ),
        ({"settings": [1]}, {"settings": "must be an object"}),
        ({"secrets": {"auth_tokn": "x"}}, {"secrets.auth_tokn": "did you mean auth_token?"}),
        ({"secrets": "auth_token"}, {"secrets": "must be an object"}),
        ({"secrets": {"auth_token": "x" * 9_000}}, {"secrets.auth_token": "at most 8000"}),
        ({"number_ids": [999_999_999]}, {"number_ids": "is no number of this company"}),
        ({"sealed_secrets": {"auth_token": "v1.x"}}, {"sealed_secrets": "is no field"}),
        ({"provider": "none", "name": "", "nonsense": 1}, {"nonsense": "is no field", "name": "must not be blank"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
async def test_every_bad_field_is_named(company: Any, changed: dict[str, Any], fields: dict[str, str]) -> None:
    refused = await company.send("POST", PATH, json={**TWILIO, **changed})

    assert (refused.status_code, refused.json()["code"]) == (422, "validation_failed"), refused.text
    errors = refused.json()["errors"]
    assert fields.keys() <= errors.keys()
    for name, part in fields.items():
        assert part in " ".join(errors[name]), errors
    assert SECRET not in refused.text


async def test_a_change_keeps_other_secrets_and_null_removes_one(company: Any) -> None:
    made = await company.record("provider_configurations", TWILIO)
    path = f"{PATH}/{made['id']}"

    renamed = await company.send("PUT", path, json={"name": "Renamed"})
    removed = await company.send("PUT", path, json={"secrets": {"auth_token": None}})

    assert renamed.json()["provider_configuration"]["secret_names"] == ["auth_token"]
    assert removed.json()["provider_configuration"]["secret_names"] == []


async def test_provider_and_channel_are_fixed_and_a_read_record_may_be_sent_back(company: Any) -> None:
    made = await company.record("provider_configurations", TWILIO)
    path = f"{PATH}/{made['id']}"

    other_channel = await company.send("PUT", path, json={"channel": "sms"})
    back = await company.send("PUT", path, json=(await company.send("GET", path)).json()["provider_configuration"])

    assert (other_channel.status_code, list(other_channel.json()["errors"])) == (422, ["channel"])
    assert back.status_code == 200, back.text


async def test_the_callback_url_names_the_public_address_and_changes_when_it_is_rotated(company: Any) -> None:
    made = await company.record("provider_configurations", TWILIO)

    rotated = await company.send("PUT", f"{PATH}/{made['id']}", json={"rotate_callback_url": True})

    assert made["callback_url"].startswith("https://leads.example.com/providers/twilio/callback/")
    assert rotated.json()["provider_configuration"]["callback_url"] != made["callback_url"]


async def test_a_number_that_a_configuration_names_is_not_deleted(company: Any) -> None:
    number = await company.record("numbers", {"number": "+12125550177"})
    made = await company.record("provider_configurations", {**TWILIO, "number_ids": [number["id"]]})

    refused = await company.send("DELETE", f"/api/v1/numbers/{number['id']}")
    await company.send("DELETE", f"{PATH}/{made['id']}")
    freed = await company.send("DELETE", f"/api/v1/numbers/{number['id']}")

    assert (refused.status_code, refused.json()["code"]) == (409, "record_in_use")
    assert freed.status_code == 200


async def test_another_companys_configuration_is_not_found(company: Any, other: Any) -> None:
    made = await company.record("provider_configurations", TWILIO)

    for method in ("GET", "PUT", "DELETE"):
        answer = await other.send(method, f"{PATH}/{made['id']}", **({"json": {"name": "Mine"}} if method == "PUT" else {}))
        assert answer.status_code == 404, method


async def test_a_number_of_a_shared_account_belongs_to_the_company_that_entered_it_first(
    town: Any, company: Any, other: Any
) -> None:
    """A company that claims the account of another, without its secret, keeps no number from it."""
    for owner in (company, other):
        await owner.record("provider_configurations", TWILIO)
    await town.context.rules.refresh()
    made = await company.record("numbers", {"number": "+12125550143"})
    await town.context.rules.refresh()
    for written in ("+12125550143", "(212) 555-0143"):
        refused = await other.send("POST", "/api/v1/numbers", json={"number": written})
        assert (refused.status_code, list(refused.json()["errors"])) == (422, ["number"]), refused.text
    theirs = await other.record("numbers", {"number": "+12125550144"})
    changed = await other.send("PUT", f"/api/v1/numbers/{theirs['id']}", json={"number": "+12125550143"})
    assert changed.status_code == 422
    assert (await other.send("PUT", f"/api/v1/numbers/{theirs['id']}", json={"paused": True})).status_code == 200

    stranger = await town.company()
    await stranger.record("provider_configurations", {**TWILIO, "secrets": {"auth_token": "a secret that was guessed"}})
    await stranger.record("numbers", {"number": "+12125550145"})
    await town.context.rules.refresh()
    assert (await company.send("POST", "/api/v1/numbers", json={"number": "+12125550145"})).status_code == 201
    assert (await company.send("DELETE", f"/api/v1/numbers/{made['id']}")).status_code == 200
    await town.context.rules.refresh()
    assert (await other.send("POST", "/api/v1/numbers", json={"number": "+12125550143"})).status_code == 201
