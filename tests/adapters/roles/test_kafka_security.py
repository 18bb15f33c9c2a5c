"""Is a setting of Kafka's security that is missing, unreadable or without effect refused by name?"""

from pathlib import Path

import pytest

from adapters.roles.kafka_security import find_security_faults, security_of
from adapters.settings import Settings, SettingsError

OAUTH = Settings(
    kafka_security="SASL_SSL",
    kafka_mechanism="OAUTHBEARER",
    kafka_token_url="https://login.example/token",
    kafka_username="leadclock",
    kafka_password="secret-word",
)


@pytest.mark.parametrize(
    ("settings", "sentences"),
    [
        (Settings(), []),
        (OAUTH, []),
        (Settings(kafka_security="SSL", kafka_certificate_file="/c.pem", kafka_key_file="/c.key"), []),
        (
            Settings(kafka_certificate_file="/c.pem", kafka_token_url="https://login.example"),
            [
                "LEADCLOCK_KAFKA_CERTIFICATE_FILE has no effect with LEADCLOCK_KAFKA_SECURITY PLAINTEXT",
                "LEADCLOCK_KAFKA_TOKEN_URL has no effect with LEADCLOCK_KAFKA_SECURITY PLAINTEXT",
            ],
        ),
        (
            Settings(kafka_security="SASL_SSL", kafka_username="u", kafka_password="p", kafka_token_file="/token"),
            ["LEADCLOCK_KAFKA_TOKEN_FILE has no effect with LEADCLOCK_KAFKA_MECHANISM SCRAM-SHA-512"],
        ),
        (
            Settings(kafka_security="SASL_SSL", kafka_mechanism="OAUTHBEARER"),
            ["OAUTHBEARER needs LEADCLOCK_KAFKA_TOKEN_URL or LEADCLOCK_KAFKA_TOKEN_FILE: one of them"],
        ),
        (
            Settings(kafka_security="SASL_SSL", kafka_mechanism="OAUTHBEARER", kafka_token_url="https://x"),
            ["SASL_SSL with OAUTHBEARER needs LEADCLOCK_KAFKA_USERNAME and LEADCLOCK_KAFKA_PASSWORD"],
        ),
        (
            Settings(kafka_security="SSL", kafka_key_file="/c.key", kafka_token_scope="kafka"),
            [
                "LEADCLOCK_KAFKA_KEY_FILE has no effect without LEADCLOCK_KAFKA_CERTIFICATE_FILE",
                "LEADCLOCK_KAFKA_TOKEN_SCOPE has no effect without LEADCLOCK_KAFKA_TOKEN_URL",
            ],
        ),
    ],
)
def test_every_fault_has_its_sentence(settings: Settings, sentences: list[str]) -> None:
    assert list(find_security_faults(settings)) == sentences


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"/no/such\.pem cannot be read .* LEADCLOCK_KAFKA_CA_FILE"):
        security_of(Settings(kafka_security="SSL", kafka_ca_file="/no/such.pem"))
    broken = tmp_path / "broken.pem"
    broken.write_text("nothing")
    with pytest.raises(SettingsError, match=r"broken\.pem and its key in the same file cannot be used"):
        security_of(Settings(kafka_security="SSL", kafka_certificate_file=str(broken)))


def test_neither_the_secret_nor_a_token_is_shown() -> None:
    assert "secret-word" not in repr(security_of(OAUTH))
