"""Does a process refuse what it does not understand? A mistyped name or value must not pass for a default."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from adapters.settings import OTHER_VARIABLES, PREFIX, VARIABLES, Settings, SettingsError, load

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("LEADCLOCK_KAFKA_BOOTSTRP", "LEADCLOCK_KAFKA_BOOTSTRAP"),
        ("LEADCLOCK_POSTGRESS_DSN", "LEADCLOCK_POSTGRES_DSN"),
        ("LEADCLOCK_TRUSTED_PROXY", "LEADCLOCK_TRUSTED_PROXIES"),
        ("LEADCLOCK_SECRET_FILE", "LEADCLOCK_SECRET_KEY_FILE"),
        ("LEADCLOCK_CONFG", "LEADCLOCK_CONFIG"),
        ("LEADCLOCK_http_port", "LEADCLOCK_HTTP_PORT"),
    ],
)
def test_a_variable_that_is_no_setting_is_refused_with_the_nearest_one(name: str, near: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name} \(did you mean {near}\?\)"):
        load(environ={name: "x"})


def test_every_unknown_name_is_reported_at_once_also_one_that_is_near_nothing() -> None:
    with pytest.raises(SettingsError, match=r"not known: LEADCLOCK_HTP_PORT .*; LEADCLOCK_ZEBRA$"):
        load(environ={"LEADCLOCK_ZEBRA": "1", "LEADCLOCK_HTP_PORT": "1", "OTHER_ZEBRA": "1"})


def test_an_unknown_key_of_the_settings_file_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    file = tmp_path / "leadclock.toml"
    file.write_text('kafka_bootstrp = "broker:9092"\n[zebra]\nstripes = 1\n')
    with pytest.raises(SettingsError, match=r"'kafka_bootstrp' \(did you mean kafka_bootstrap\?\).*'zebra'"):
        load(environ={"LEADCLOCK_CONFIG": str(file)})


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        (
            {"LEADCLOCK_CLOCK_SPEED": "600"},
            "LEADCLOCK_CLOCK_SPEED 600 needs LEADCLOCK_CLOCK_WALL_AT and LEADCLOCK_CLOCK_DOMAIN_AT",
        ),
        ({"LEADCLOCK_HTTP_PORT": "99999"}, "LEADCLOCK_HTTP_PORT is '99999'; it must be a whole number from 0 to 65535"),
        ({"LEADCLOCK_KAFKA_SECURITY": "TLS"}, "must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"LEADCLOCK_KAFKA_MECHANISM": "SCRAM"}, "must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"),
        ({"LEADCLOCK_LOG_LEVEL": "loud"}, "LEADCLOCK_LOG_LEVEL is 'loud'; it must be one of debug, info, warning, error"),
        ({"LEADCLOCK_SMTP_STARTTLS": "perhaps"}, "LEADCLOCK_SMTP_STARTTLS is 'perhaps'; it must be true or false"),
        ({"LEADCLOCK_PARTITIONS": "0"}, "LEADCLOCK_PARTITIONS is '0'; it must be a whole number from 1 to 1024"),
        ({"LEADCLOCK_CLOCK_SPEED": "0"}, "LEADCLOCK_CLOCK_SPEED is '0'; it must be a number above 0"),
        ({"LEADCLOCK_TOPIC_PREFIX": "a b"}, "LEADCLOCK_TOPIC_PREFIX is 'a b'; it must be up to 100 of A-Z"),
        (
            {"LEADCLOCK_KAFKA_BOOTSTRAP": "nonsense"},
            "LEADCLOCK_KAFKA_BOOTSTRAP is 'nonsense'; it must be host:port",
        ),
        ({"LEADCLOCK_KAFKA_BOOTSTRAP": "a:9092,b"}, "it must be host:port of a broker, several with commas"),
        ({"LEADCLOCK_POSTGRES_DSN": "mysql://a:secret@b/c"}, "LEADCLOCK_POSTGRES_DSN must be postgresql://user@host:port"),
        ({"LEADCLOCK_RATE_READS": "fast"}, "LEADCLOCK_RATE_READS is 'fast'; it must be such as 100:500"),
        ({"LEADCLOCK_RATE_READS": "0:5"}, "it must be such as 100:500 (a second, and saved up at most), or off"),
        ({"LEADCLOCK_TRUSTED_PROXIES": "10.0.0.1/8"}, "it must be networks such as 10.0.0.0/8"),
        ({"LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS": "my net"}, "it must be networks such as 10.0.0.0/8"),
    ],
)
def test_a_wrong_value_is_refused_with_the_variable_and_what_is_allowed(environ: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load(environ=environ)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka_bootstrap", "broker:9092"),
        ("kafka_bootstrap", "a.example:9092, 10.0.0.1:9093,[fd12::1]:9094"),
        ("kafka_bootstrap", "embedded:40123"),
        ("postgres_dsn", "postgresql://ann:secret@db.example:5432/leads?sslmode=require"),
        ("postgres_dsn", "postgres:///leads?host=/tmp"),
        ("rate_reads", "2.5"),
        ("rate_reads", "100:500"),
        ("rate_reads", "OFF"),
    ],
)
def test_an_address_or_rate_in_any_of_its_forms_is_taken(name: str, value: str) -> None:
    assert getattr(load(environ={f"LEADCLOCK_{name.upper()}": value}), name) == value


def test_a_wrong_value_is_reported_by_where_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "leadclock.toml"
    file.write_text("http_port = -1\n")
    with pytest.raises(SettingsError, match=r"http_port in .*leadclock\.toml is -1; it must be a whole number"):
        load(file=file, environ={})
    with pytest.raises(SettingsError, match=r"--health-port is 70000; it must be a whole number"):
        load({"health_port": 70_000}, environ={})
    with pytest.raises(SettingsError, match=r"LEADCLOCK_PARTITIONS is 'y'.*LEADCLOCK_HTTP_PORT is 'x'"):
        load(environ={"LEADCLOCK_HTTP_PORT": "x", "LEADCLOCK_PARTITIONS": "y"})


def test_a_list_is_read_with_commas_and_from_a_file_as_either(tmp_path: Path) -> None:
    networks = ("10.0.0.0/8", "fd12::/32")
    assert load(environ={"LEADCLOCK_TRUSTED_PROXIES": "10.0.0.0/8, fd12::/32,"}).trusted_proxies == networks
    assert load(environ={"LEADCLOCK_TRUSTED_PROXIES": ""}).trusted_proxies == ()
    file = tmp_path / "leadclock.toml"
    for text in ('"10.0.0.0/8,fd12::/32"', '["10.0.0.0/8", "fd12::/32"]'):
        file.write_text(f"trusted_proxies = {text}\n")
        assert load(file=file, environ={}).trusted_proxies == networks


def test_a_secret_is_read_from_its_file_and_its_own_variable_counts_first(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from the file\n")
    given = {"LEADCLOCK_SECRET_KEY_FILE": str(file)}
    assert load(environ=given).secret_key == "from the file"
    assert load(environ={**given, "LEADCLOCK_SECRET_KEY": "own"}).secret_key == "own"


def test_every_setting_that_is_no_free_text_says_what_is_allowed() -> None:
    fields = {PREFIX + field.name.upper(): field for field in msgspec.structs.fields(Settings)}
    assert fields.keys() <= VARIABLES.keys()
    bounded = [variable for variable, field in fields.items() if field.type not in {str, str | None}]
    assert len(bounded) > 15
    for variable in bounded:
        with pytest.raises(SettingsError, match=rf"{variable} (is .*; it )?must be .+"):
            load(environ={variable: "\0 nothing that fits"})


def test_every_name_that_the_repository_uses_is_known() -> None:
    """The Makefile, the tests and the documents may not name a variable that a command would refuse."""
    known = {*VARIABLES, *OTHER_VARIABLES}
    used: dict[str, set[str]] = {}
    files = [ROOT / "Makefile", *ROOT.glob("deploy/docs/*.md"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("adapters/**/*.py")]
    for file in files:
        for name in re.findall(r"(?<![A-Z_])LEADCLOCK_[A-Z][A-Z_]*[A-Z]", file.read_text()):
            if file.name not in {Path(__file__).name, "test_up.py", "test_deployment.py"}:  # they try what is refused
                used.setdefault(name, set()).add(file.name)
    assert {name: found for name, found in used.items() if name not in known} == {}
