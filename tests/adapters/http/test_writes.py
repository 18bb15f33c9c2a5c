"""How long is somebody kept waiting for an answer? As long as was asked for, however many steps the answer has."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.settings import HttpSettings
from adapters.http.exchange.writes import remaining_wait_seconds

SETTINGS = HttpSettings(secret_key="k", wait_seconds=5.0)


def asked(prefer: str, *moments: float) -> Exchange:
    """Return an exchange whose clock shows one moment after the other."""
    services = SimpleNamespace(now=lambda: 0, monotonic=iter(moments).__next__, settings=SETTINGS)
    request = SimpleNamespace(path_params={}, headers={"prefer": prefer})
    return Exchange(cast("Any", services), cast("Any", None), cast("Any", request), "id")


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("", 5.0),
        ("wait=3", 3.0),
        ("respond-async, wait=3", 3.0),
        ("wait=60", 5.0),
        ("wait=0", 0.0),
        ("wait=" + "9" * 5_000, 5.0),
        ("wait=soon", 5.0),
        ("wait=-1", 5.0),
        ("wait=\u0663", 5.0),
    ],
)
def test_a_client_may_wait_less_but_not_longer(prefer: str, seconds: float) -> None:
    assert remaining_wait_seconds(asked(prefer, 100.0, 100.0)) == seconds


def test_a_second_step_has_what_the_first_one_left() -> None:
    exchange = asked("wait=3", 100.0, 102.0, 104.0)
    assert remaining_wait_seconds(exchange) == 1.0
    assert remaining_wait_seconds(exchange) < 0
