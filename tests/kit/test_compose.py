"""Does Compose take the file, and does each role get what it needs to start?"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.roles.table import ROLES
from tests.kit.programs import ROOT, SECRETS, run, started

FILE = ROOT / "deploy" / "compose" / "compose.yaml"
TYPED = {"LEADCLOCK_CHANNELS": "call,sms,webhook", "LEADCLOCK_SANDBOX": "call,sms"}


def services(**typed: str) -> dict[str, Any]:
    result = run("docker-compose", "-f", FILE, "config", environ=TYPED | typed)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = yaml.safe_load(result.stdout)["services"]
    return found


def test_nothing_is_run_until_channels_and_sandbox_are_typed() -> None:
    for name in TYPED:
        result = run("docker-compose", "-f", FILE, "config", environ={key: TYPED[key] for key in TYPED if key != name})
        assert result.returncode != 0
        assert "type the channels" in result.stderr


def test_every_role_starts_with_the_variables_and_secrets_that_it_gets(tmp_path: Path) -> None:
    found = services()
    for role in ROLES:
        service = found[role]
        assert service["command"] == [role]
        environ = dict(service["environment"])
        for name in [name for name in environ if name.endswith("_FILE")]:
            secret = environ[name].removeprefix("/run/secrets/")
            assert secret in {one["source"] for one in service["secrets"]}
            value = tmp_path / f"{role}.{secret}"
            value.write_text(SECRETS[name.removesuffix("_FILE")])
            environ[name] = str(value)
        started(role, environ)
        assert service["depends_on"].keys() == {"topics", "migrate"}


@pytest.mark.parametrize("address", ["", "https://leads.example.com"])
def test_api_and_gateway_know_where_the_internet_reaches_the_api(address: str) -> None:
    found = services(LEADCLOCK_PUBLIC_URL=address)
    assert {found[role]["environment"]["LEADCLOCK_PUBLIC_URL"] for role in ("api", "gateway")} == {address}


def test_api_and_gateway_keep_recordings_in_the_bucket_that_is_exported() -> None:
    exported = {
        "LEADCLOCK_RECORDINGS_BUCKET": "s3://acme-recordings",
        "LEADCLOCK_RECORDINGS_ENDPOINT": "http://minio:9000",
        "LEADCLOCK_RECORDINGS_ACCESS_KEY": "a",
        "LEADCLOCK_RECORDINGS_SECRET_KEY": "x",
    }
    found = services(**exported)
    for role in ROLES:
        environ = found[role]["environment"]
        assert {name: environ.get(name) for name in exported} == (
            exported if role in {"api", "gateway"} else dict.fromkeys(exported)
        )


def test_the_gateway_has_longer_to_end_than_it_waits_for_its_providers() -> None:
    gateway = services()["gateway"]
    assert gateway["environment"]["LEADCLOCK_DRAIN_SECONDS"] == "900"
    assert gateway["stop_grace_period"] in {"930s", "15m30s"}


@pytest.mark.parametrize("name", ["topics", "migrate"])
def test_what_prepares_the_servers_runs_once(name: str) -> None:
    assert services()[name]["restart"] == "no"


def test_only_the_api_is_reached_from_outside_and_only_from_this_machine() -> None:
    published = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert published.keys() == {"api"}
    assert "127.0.0.1" in str(published["api"])
