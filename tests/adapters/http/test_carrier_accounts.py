"""Does doctor try the companies' accounts with carriers?"""

from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from adapters.doctor.deployment import check_carrier_accounts
from tests.adapters.http.conftest import Town
from tests.adapters.http.test_provider_configurations import PATH, TWILIO
from tests.adapters.providers.fake_twilio import ACCOUNT, TOKEN, FakeTwilio

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: doctor tries the accounts of all companies, up to a bound."""
    return own_town


async def test_doctor_sends_a_harmless_request_by_the_accounts_of_companies(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(town.context.settings, webhook_private_networks=("127.0.0.1",))
    monkeypatch.setattr(town.context, "settings", settings)
    async with FakeTwilio() as twilio:
        made = []
        for secret, paused in ((TOKEN, False), ("wrong", False), ("wrong", True)):
            fields = {"settings": {"account_sid": ACCOUNT, "base_url": twilio.url}, "secrets": {"auth_token": secret}}
            answer = await company.send("POST", PATH, json={**TWILIO, **fields, "paused": paused})
            made.append(answer.json()["provider_configuration"]["id"])
        found = await check_carrier_accounts(town.context)

    said = {level: " ".join(one.found for one in found if one.level == level) for level in ("ok", "warning")}
    good, bad, paused_one = made
    assert f"configuration {bad} of company {company.id} cannot be used: " in said["warning"]
    assert not any(f"configuration {one} " in said["warning"] for one in (good, paused_one))
    assert "of companies answer" in said["ok"]
