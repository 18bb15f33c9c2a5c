"""Does the command line name the installed providers, and say whether an account works?"""

import json

import pytest

from adapters.cli.main import main
from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.providers.account_trials import try_account
from adapters.providers.callback_tokens import NamedConfiguration
from adapters.providers.connections import Connections
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.sealing import seal
from schemas.instant import EPOCH
from schemas.records import ProviderConfiguration, Record, plain
from tests.adapters.providers.fake_twilio import ACCOUNT, TOKEN, FakeTwilio

KEY = "k" * 32


def test_installed_providers_are_listed_with_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "list", "--json"]) == 0

    twilio = next(row for row in json.loads(capsys.readouterr().out) if row["name"] == "twilio")
    assert (twilio["channels"], twilio["secrets"], twilio["resume"]) == (["call", "sms"], ["auth_token"], "search")
    assert "account_sid" in twilio["settings"]


def test_a_provider_that_is_not_installed_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "test", "twillio"]) == 1

    assert "did you mean twilio?" in capsys.readouterr().err


@pytest.mark.parametrize(("token", "works", "part"), [(TOKEN, True, "account Test is active"), ("wrong", False, "401")])
async def test_a_test_says_whether_the_account_works(token: str, works: bool, part: str) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    connections = Connections(http=http, deployment_secret=KEY, public_url="https://x.example", now=wall_now)
    async with FakeTwilio() as twilio:
        sealed = seal(KEY, token, company_id=1, provider="twilio", name="auth_token")
        body = ProviderConfiguration(
            name="T",
            channel="call",
            provider="twilio",
            settings={"account_sid": ACCOUNT, "base_url": twilio.url},
            sealed_secrets={"auth_token": sealed},
        )
        record = Record(
            type="provider_configuration",
            id=7,
            uuid="u",
            company_id=1,
            version=1,
            created_at=EPOCH,
            updated_at=EPOCH,
            body=plain(body),
        )

        said = await try_account(connections, NamedConfiguration(record, body))

    await http.close()
    assert (said["works"], part in said["said"]) == (works, True)
