"""Does a secret open only where it was encrypted?"""

from typing import Any

import pytest

from adapters.providers.sealing import UnreadableSecretError, seal, unseal

KEY = "k" * 32
PLACE: dict[str, Any] = {"company_id": 7, "provider": "twilio", "name": "auth_token"}


def test_a_secret_is_read_again_and_is_encrypted_differently_each_time() -> None:
    first, second = (seal(KEY, "päss", **PLACE) for _ in range(2))

    assert first != second
    assert "päss" not in first
    assert unseal(KEY, first, **PLACE) == unseal(KEY, second, **PLACE) == "päss"


@pytest.mark.parametrize("changed", [{"company_id": 8}, {"provider": "other"}, {"name": "other"}])
def test_a_secret_that_was_copied_elsewhere_does_not_open(changed: dict[str, object]) -> None:
    with pytest.raises(UnreadableSecretError, match="set it again"):
        unseal(KEY, seal(KEY, "secret", **PLACE), **{**PLACE, **changed})


@pytest.mark.parametrize("sealed", ["", "v1.", "v1.AAAA", "v2.AAAAAAAAAAAAAAAAAAAAAAAA", "no text at all", "v1.ü"])
def test_what_was_never_encrypted_does_not_open(sealed: str) -> None:
    with pytest.raises(UnreadableSecretError):
        unseal(KEY, sealed, **PLACE)


def test_another_deployments_key_does_not_open_it() -> None:
    with pytest.raises(UnreadableSecretError):
        unseal("x" * 32, seal(KEY, "secret", **PLACE), **PLACE)
