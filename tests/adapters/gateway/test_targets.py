"""Which webhooks are refused by their URL alone, and which for a port of our own?"""

from ipaddress import ip_address

import pytest

from adapters.clock import wall_now
from adapters.embedded.log import EmbeddedLog
from adapters.gateway.addresses import ForbiddenAddressError, networks
from adapters.gateway.targets import check_own_port, refusal_of
from adapters.roles.context import Context
from adapters.settings import Settings, SettingsError, load

OWN = {5432, 8080}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x",
        "http://127.0.0.1:9000/x",
        "https://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://localhost/",
        "http://LOCALHOST:81/",
        "http://localhost./",
        "http://hooks.localhost/",
        "http://[::1]:80/",
        "http://[::ffff:127.0.0.1]/",
        "http://0/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data/",
        "http://192.88.99.1/",
        "http://[fd00::1]/",
        "http://[3fff::1]/",
    ],
)
def test_a_host_that_is_private_in_any_spelling_is_refused(url: str) -> None:
    assert "must lead to a public address" in (refusal_of(url, (), ()) or "")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/hook",
        "http://93.184.215.14:8080/",
        "http://[2606:4700::1]/",
        "https://localhost.example.com/",
        "",
        "x",
    ],
)
def test_a_name_or_a_public_address_is_not(url: str) -> None:
    assert refusal_of(url, (), OWN) is None


@pytest.mark.parametrize(
    ("url", "is_refused"),
    [
        ("http://127.0.0.1:9000/", False),
        ("http://localhost:9000/", False),
        ("http://127.0.0.1:8080/api/v1/leads", True),
        ("http://localhost:5432/", True),
        ("http://127.8.8.8:5432/", True),
        ("http://[::ffff:127.0.0.1]:5432/", True),
        ("http://10.0.0.1:9000/", True),
        ("http://[::1]:9000/", True),
    ],
)
def test_where_a_network_is_allowed_our_own_ports_are_not(url: str, is_refused: bool) -> None:
    assert (refusal_of(url, networks(["127.0.0.0/8"]), OWN) is not None) == is_refused


def test_a_public_address_with_the_number_of_an_own_port_is_not_ours() -> None:
    check_own_port(ip_address("93.184.215.14"), 8080, OWN)
    check_own_port(ip_address("127.0.0.1"), 8081, OWN)
    with pytest.raises(ForbiddenAddressError, match=r"port 8080 of .* belongs to this deployment"):
        check_own_port(ip_address("127.0.0.1"), 8080, OWN)


def test_what_a_process_listens_on_is_its_own_unless_the_operator_types_otherwise() -> None:
    log = EmbeddedLog(None, now=wall_now)
    refusing = Context(Settings(webhook_forbidden_ports=(5432,)), log, None)
    allowing = Context(Settings(webhook_forbidden_ports=(5432,), webhook_own_ports="allow"), log, None)
    known_before = refusing.own_ports

    refusing.own(8080)
    allowing.own(8080)

    assert set(known_before) == {5432, 8080}  # a port is known only once a role listens
    assert not allowing.own_ports


def test_ports_are_read_from_a_variable_with_commas() -> None:
    assert load(environ={"LEADCLOCK_WEBHOOK_FORBIDDEN_PORTS": "5432, 9092"}).webhook_forbidden_ports == (5432, 9092)
    with pytest.raises(SettingsError, match="must be ports from 0 to 65535"):
        load(environ={"LEADCLOCK_WEBHOOK_FORBIDDEN_PORTS": "5432,kafka"})
