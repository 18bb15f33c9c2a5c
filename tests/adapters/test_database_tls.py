"""Do the TLS settings of the database end up in its DSN, and is what contradicts it or has no effect refused by name?"""

import pytest

from adapters.settings import SettingsError, load, to_environment

DSN = "postgresql://leadclock:secret@db.example:5432/leads"


def loaded(dsn: str, **settings: str) -> str:
    return load({"postgres_dsn": dsn, **settings}, environ={}).postgres_dsn


def test_a_certificate_authority_alone_means_that_certificate_and_name_are_checked() -> None:
    assert loaded(DSN, postgres_ca_file="/etc/ca.pem") == f"{DSN}?sslmode=verify-full&sslrootcert=/etc/ca.pem"


def test_all_four_are_added_and_what_the_dsn_has_stays_first() -> None:
    given = loaded(
        f"{DSN}?application_name=x",
        postgres_sslmode="verify-ca",
        postgres_ca_file="/etc/a b.pem",
        postgres_certificate_file="/etc/c.pem",
        postgres_key_file="/etc/c.key",
    )
    added = "sslmode=verify-ca&sslrootcert=/etc/a%20b.pem&sslcert=/etc/c.pem&sslkey=/etc/c.key"
    assert given == f"{DSN}?application_name=x&{added}"


def test_without_tls_settings_the_dsn_stays_as_it_is() -> None:
    assert loaded(DSN) == DSN
    assert loaded(f"{DSN}?sslmode=require") == f"{DSN}?sslmode=require"


def test_a_process_that_inherits_both_reads_the_same() -> None:
    settings = load({"postgres_dsn": DSN, "postgres_ca_file": "/etc/ca.pem"}, environ={})
    assert load(environ=to_environment(settings)) == settings


@pytest.mark.parametrize(
    ("parameters", "settings", "sentence"),
    [
        ("?sslmode=require", {"postgres_sslmode": "verify-full"}, "has sslmode=require: give one of them"),
        ("?sslrootcert=/a", {"postgres_ca_file": "/b"}, "has sslrootcert=/a: give one of them"),
        ("?sslmode=require", {"postgres_ca_file": "/b"}, "POSTGRES_CA_FILE has no effect with sslmode require"),
        ("", {"postgres_ca_file": "/b", "postgres_sslmode": "disable"}, "no effect with sslmode disable"),
        ("", {"postgres_certificate_file": "/b"}, "POSTGRES_CERTIFICATE_FILE has no effect with sslmode prefer"),
        ("", {"postgres_key_file": "/b"}, "POSTGRES_KEY_FILE has no effect without LEADCLOCK_POSTGRES_CERTIFICATE_FILE"),
    ],
)
def test_a_contradiction_or_a_setting_without_effect_is_refused(
    parameters: str, settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence) as refused:
        loaded(f"{DSN}{parameters}", **settings)
    assert "secret" not in str(refused.value)
