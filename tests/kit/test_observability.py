"""Do the alerts fire when they should, and does each query of rules and dashboards work on a real Prometheus?"""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import yaml

from adapters.http.exchange.request_metrics import RequestMetrics
from adapters.local.process import free_port
from adapters.observability.health import HealthServer
from adapters.observability.metrics import Metrics
from tests.kit.programs import ROOT, program, run

FOLDER = ROOT / "deploy" / "observability"
RULES = FOLDER / "alerts.yaml"
RULE_TESTS = FOLDER / "alerts_test.yaml"
RUNBOOK = ROOT / "deploy" / "docs" / "alerts.md"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))

ALERTS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
OF_PROMETHEUS = {"job", "instance", "le"}
"""Labels that Prometheus gives by itself."""

PROMETHEUS_SECONDS = 60.0


def series() -> dict[str, set[str]]:
    """Return every name that a process exposes, with its labels."""
    metrics = Metrics()
    RequestMetrics(metrics.registry)
    collectors: list[Any] = list(metrics.registry._collector_to_names)
    suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
    return {
        collector._name + suffix: set(collector._labelnames)
        for collector in collectors
        for suffix in suffixes[collector._type]
    }


def targets(path: Path) -> list[str]:
    board = msgspec.json.decode(path.read_bytes())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


SERVICE_LEVELS: list[list[str]] = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in RUNBOOK.read_text().partition("## Service levels")[2].partition("\n## ")[0].splitlines()[6:]
    if line
]
"""Rows of the runbook's table: what holds, its objective, its query and its alert."""

QUERIES = [
    *((alert["alert"], alert["expr"]) for alert in ALERTS),
    *((path.stem, query) for path in DASHBOARDS for query in targets(path)),
    *((level, query.strip("`")) for level, _, query, _ in SERVICE_LEVELS),
]


def test_prometheus_takes_the_rules() -> None:
    result = run("promtool", "check", "rules", RULES)
    assert result.returncode == 0, result.stderr


def test_the_rules_fire_when_they_should_and_only_then() -> None:
    result = run("promtool", "test", "rules", RULE_TESTS)
    assert result.returncode == 0, result.stderr


def test_every_rule_is_tried_and_has_a_runbook() -> None:
    names = [alert["alert"] for alert in ALERTS]
    tried = {
        case["alertname"]
        for test in yaml.safe_load(RULE_TESTS.read_text())["tests"]
        for case in test["alert_rule_test"]
        if "exp_alerts" in case
    }
    assert tried == set(names)
    assert re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE) == names
    for alert in ALERTS:
        assert alert["annotations"]["runbook_url"] == f"deploy/docs/alerts.md#{alert['alert'].lower()}"
        assert alert["labels"]["severity"] in {"critical", "warning"}


def test_each_service_level_has_an_alert_that_fires_earlier() -> None:
    names = {alert["alert"]: alert["expr"] for alert in ALERTS}
    assert len(SERVICE_LEVELS) == 3
    for level, _, query, linked in SERVICE_LEVELS:
        of_alert = names[linked.partition("]")[0].strip("[")]
        assert set(re.findall(r"\bleadclock_\w+", query)) == set(re.findall(r"\bleadclock_\w+", of_alert)), level


@pytest.mark.parametrize(("where", "query"), QUERIES)
def test_a_query_names_only_series_and_labels_that_exist(where: str, query: str) -> None:
    known = series()
    named = set(re.findall(r"\bleadclock_\w+", query))
    assert named <= known.keys(), where
    labels = {label.strip() for found in re.findall(r"\bby \(([^)]*)\)", query) for label in found.split(",")}
    labels |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", query))
    assert labels <= OF_PROMETHEUS.union(*(known[name] for name in named)), where


def test_every_series_is_on_a_dashboard() -> None:
    shown = {name for path in DASHBOARDS for query in targets(path) for name in re.findall(r"\bleadclock_\w+", query)}
    without_suffix = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in shown}
    assert without_suffix == {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in series()}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_can_be_imported_and_asks_for_its_data_source(path: Path) -> None:
    board = msgspec.json.decode(path.read_bytes())
    assert board["uid"] == path.stem
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {"${datasource}"}


@pytest.fixture
async def prometheus(tmp_path: Path) -> AsyncIterator[str]:
    """A Prometheus that scrapes a process whose series all have a value."""
    metrics = Metrics()
    requests = RequestMetrics(metrics.registry)
    count(metrics)
    requests.event_streams.set(1)
    requests._find_series("GET", "list_leads", 200)[0].inc()
    requests._find_series("GET", "list_leads", 200)[1].observe(0.1)
    health = HealthServer(dict, metrics)
    await health.start()
    config = tmp_path / "prometheus.yaml"
    targets = [{"targets": [f"127.0.0.1:{health.port}"]}]
    scrape = {"job_name": "leadclock", "scrape_interval": "1s", "scrape_timeout": "1s", "static_configs": targets}
    config.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "scrape_configs": [scrape]}))
    address = f"127.0.0.1:{free_port()}"
    command = [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    process = subprocess.Popen(
        [*command, f"--web.listen-address={address}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await scraped(f"http://{address}")
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(30)
        await health.stop()


def count(metrics: Metrics) -> None:
    """Give every series of a role a value, with labels as they are."""
    collectors: list[Any] = list(metrics.registry._collector_to_names)
    for collector in collectors:
        if collector._name.startswith("leadclock_http_"):
            continue
        child = collector.labels(*("x" for _ in collector._labelnames)) if collector._labelnames else collector
        {"counter": lambda c: c.inc(), "gauge": lambda c: c.set(1), "histogram": lambda c: c.observe(1)}[collector._type](
            child
        )


async def scraped(url: str) -> None:
    async with asyncio.timeout(PROMETHEUS_SECONDS):
        while not await answer(url, 'up{job="leadclock"} == 1'):
            await asyncio.sleep(0.2)


async def answer(url: str, query: str) -> list[Any]:
    """Return the result of a query, empty while Prometheus starts. Raises where it refuses the query."""
    try:
        async with httpx.AsyncClient() as client:
            response = await client.get(f"{url}/api/v1/query", params={"query": query})
    except httpx.TransportError:
        return []
    if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:  # it listens before it has read its own storage
        return []
    assert response.is_success, (query, response.text)
    found: list[Any] = response.json()["data"]["result"]
    return found


async def test_a_real_prometheus_answers_every_query(prometheus: str) -> None:
    for where, query in QUERIES:
        found = await answer(prometheus, query)
        # Rates need two scrapes and a time that no test waits for; what only counts has its value at once.
        if where not in {alert["alert"] for alert in ALERTS} and "rate(" not in query and "increase(" not in query:
            assert found, query
