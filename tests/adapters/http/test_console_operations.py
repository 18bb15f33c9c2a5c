"""Does the Operations page say in words what serves each channel?"""

import pytest

from adapters.http.console.served_channels import name_providers, summarise_channels


def test_a_channel_without_a_live_gateway_is_served_by_nothing() -> None:
    rows = [
        {"channel": "call", "provider": "sandbox", "is_live": True},
        {"channel": "call", "provider": "twilio", "is_live": True},
        {"channel": "sms", "provider": "twilio", "is_live": False},
    ]
    calls, texts = summarise_channels(rows)
    assert (calls["live_count"], calls["is_sandbox"], calls["served_by"]) == (2, True, ["accounts of companies with twilio"])
    assert (texts["live_count"], texts["is_sandbox"], texts["served_by"]) == (0, False, [])


@pytest.mark.parametrize(
    ("channel", "provider", "words"),
    [
        ("webhook", "webhook", "signed posts to the URLs of companies"),
        ("email", "smtp", "the deployment's mail server"),
        ("email", "smtp,ses", "the deployment's mail server, and accounts of companies with ses"),
        ("email", "accounts,smtp,ses", "accounts of companies with smtp, ses"),
        ("call", "twilio,asterisk", "accounts of companies with twilio, asterisk"),
    ],
)
def test_providers_are_named_in_words(channel: str, provider: str, words: str) -> None:
    assert name_providers(channel, provider) == words
