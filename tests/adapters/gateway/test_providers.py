"""Does a gateway start only with a provider for each channel that it serves, and with the sandbox only where it is typed?"""

import asyncio
from typing import Any

import pytest

from adapters.cli.main import main
from adapters.gateway.providers import providers
from adapters.settings import Settings, SettingsError, load

ADDRESSES = {
    "LEADCLOCK_KAFKA_BOOTSTRAP": "127.0.0.1:1",
    "LEADCLOCK_POSTGRES_DSN": "postgresql://nobody@127.0.0.1:1/none",
    "LEADCLOCK_SECRET_KEY": "a secret of the tests, 32 characters long",
}


def refusal(**given: Any) -> str:
    with pytest.raises(SettingsError) as raised:
        providers(Settings(**given))
    return str(raised.value)


async def test_a_gateway_without_a_provider_refuses_to_start_and_names_channel_setting_and_alternatives(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in ADDRESSES.items():
        monkeypatch.setenv(name, value)

    status = await asyncio.to_thread(main, ["gateway"])

    said = capsys.readouterr().err
    assert status == 1
    assert len(said.strip().splitlines()) == 1
    for word in (
        "call, sms and email",
        "--sandbox call,sms",
        "LEADCLOCK_SANDBOX",
        "LEADCLOCK_SMTP_HOST",
        "--channels webhook",
    ):
        assert word in said


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"channels": ("webhook",)}, {"webhook": "webhook"}),
        ({"channels": ("email",), "smtp_host": "mail"}, {"email": "smtp"}),
        (
            {"channels": ("email",), "smtp_host": "mail", "providers": ("twilio",), "public_url": "https://x.example"},
            {"email": "smtp"},
        ),
        (
            {"channels": ("email",), "smtp_host": "mail", "providers": ("smtp",), "public_url": "https://x.example"},
            {"email": "smtp"},
        ),
        (
            {"channels": ("email",), "providers": ("twilio", "smtp"), "public_url": "https://x.example"},
            {"email": "accounts,smtp"},
        ),
        ({"channels": ("sms",), "sandbox": ("sms",)}, {"sms": "sandbox"}),
        ({"channels": ("call",), "providers": ("twilio",), "public_url": "https://x.example"}, {"call": "twilio"}),
        (
            {"sandbox": ("call", "sms"), "smtp_host": "mail"},
            {"call": "sandbox", "sms": "sandbox", "email": "smtp", "webhook": "webhook"},
        ),
    ],
)
def test_what_is_typed_serves_each_channel(given: dict[str, Any], expected: dict[str, str]) -> None:
    assert providers(Settings(**given)) == expected


def test_the_sandbox_of_one_channel_is_none_for_another() -> None:
    said = refusal(channels=("call", "sms"), sandbox=("call",))

    assert said.startswith("no provider for sms: ")
    assert said.endswith("or serve only the others (--channels call, or LEADCLOCK_CHANNELS)")


def test_no_mail_server_is_taken_for_granted() -> None:
    assert (
        refusal(channels=("email",))
        == "no provider for email: email needs LEADCLOCK_SMTP_HOST, the host of your mail server, "
        "or accounts of companies (--providers smtp)"
    )


def test_a_sandbox_without_effect_is_refused() -> None:
    assert "names sms, which this gateway does not serve" in refusal(channels=("webhook",), sandbox=("sms",))


@pytest.mark.parametrize(
    ("variable", "value", "known"),
    [
        ("LEADCLOCK_SANDBOX", "true", "call,sms"),
        ("LEADCLOCK_SANDBOX", "email", "call,sms"),
        ("LEADCLOCK_CHANNELS", "", "call,sms,email,webhook"),
        ("LEADCLOCK_CHANNELS", "calls", "call,sms,email,webhook"),
    ],
)
def test_a_setting_without_channels_names_those_there_are(variable: str, value: str, known: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable} is .* must be .* of {known}, with commas"):
        load(environ={variable: value})


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (["--sandbox"], "call,sms"),
        (["--sandbox", "--log-level", "info"], "call,sms"),
        (["--sandbox", "email"], "call,sms"),
        (["--sandbox", "yes"], "call,sms"),
        (["--channels"], "call,sms,email,webhook"),
        (["--channels", "call,letter"], "call,sms,email,webhook"),
    ],
)
def test_a_flag_without_channels_names_those_there_are(
    arguments: list[str], known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gateway", *arguments]) == 2
    assert f"name channels, of {known}\n" in capsys.readouterr().err


def test_a_provider_that_is_not_installed_is_refused_with_the_nearest_name() -> None:
    said = refusal(channels=("call",), providers=("twillio",), public_url="https://x.example")

    assert "did you mean twilio?" in said


def test_a_provider_without_a_public_address_is_refused() -> None:
    assert "LEADCLOCK_PUBLIC_URL" in refusal(channels=("call",), providers=("twilio",))
