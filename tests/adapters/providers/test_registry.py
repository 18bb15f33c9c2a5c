"""Are only usable providers used, and does one that is broken stop no other?"""

from typing import Any

import pytest
from msgspec import Struct

from adapters.providers import asterisk, smtp, telnyx
from adapters.providers.registry import (
    UnknownProviderError,
    Unusable,
    fault_of,
    find_provider,
    installed,
    loaded,
    secret_faults,
    settings_faults,
)
from adapters.providers.twilio import PROVIDER


class Loose(Struct):
    x: int = 1


def test_the_shipped_providers_are_installed() -> None:
    assert installed()["twilio"] is PROVIDER
    assert installed()["telnyx"] is telnyx.PROVIDER
    assert installed()["smtp"] is smtp.PROVIDER
    assert installed()["asterisk"] is asterisk.PROVIDER
    assert find_provider("twilio") is PROVIDER


def test_an_unknown_provider_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownProviderError, match=r"did you mean twilio\?"):
        find_provider("twillio")


def test_one_that_cannot_be_loaded_says_why() -> None:
    def load() -> Any:
        raise RuntimeError("its licence has expired")

    found = loaded("broken", load)

    assert isinstance(found, Unusable)
    assert "its licence has expired" in found.reason


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"name": "other"}, "`name` must be mine"),
        ({"channels": frozenset()}, "`channels`"),
        ({"channels": frozenset({"fax"})}, "`channels`"),
        ({"settings": Loose}, "forbid_unknown_fields"),
        ({"settings": dict}, "forbid_unknown_fields"),
        ({"resume": "maybe"}, "`resume` must be one of exact, search, none"),
        ({"channels": frozenset({"call"})}, "`presses_keys` must be true or false"),
    ],
)
def test_what_is_no_provider_is_not_used(changed: dict[str, Any], part: str) -> None:
    class Fixed(Struct, forbid_unknown_fields=True):
        pass

    whole = {"name": "mine", "channels": frozenset({"sms"}), "settings": Fixed, "secrets": (), "resume": "none"}
    assert fault_of("mine", type("Mine", (), whole)) is None

    fault = fault_of("mine", type("Mine", (), {**whole, **changed}))

    assert fault is not None
    assert part in fault


def test_settings_given_as_text_are_read_and_each_fault_is_named() -> None:
    assert settings_faults(PROVIDER, {"account_sid": "AC1"}) == {}
    faults = settings_faults(PROVIDER, {"account_sid": 7, "base_url": "ftp://x", "from": "+1"})

    assert set(faults) == {"settings.account_sid", "settings.base_url", "settings.from"}
    assert set(secret_faults(PROVIDER, ["auth_token", "token"])) == {"secrets.token"}
