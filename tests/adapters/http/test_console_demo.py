"""Does one click sign in to the demo company, and only from a browser on the machine that `leadclock up` runs on?"""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from msgspec.structs import replace

from adapters.http.exchange.identity import hash_private_key, new_operator_key
from adapters.http.exchange.settings import DemoSignIn
from adapters.postgres.operators import PostgresOperators
from tests.adapters.http.conftest import UNLIMITED, WAIT_SECONDS, Town, deployed
from tests.adapters.http.console_browser import invite

pytestmark = pytest.mark.asyncio(loop_scope="session")

EMAIL = "manager@demo.example"
PRIVATE = "sk_of_the_demo"
PUBLIC = new_operator_key()
HERE = "http://127.0.0.1:8080"


@pytest_asyncio.fixture(loop_scope="session")
async def demo(migrated_database: str) -> AsyncIterator[Town]:
    """A deployment as `leadclock up` makes it: a demo company with a user, and an operator key."""
    settings = replace(UNLIMITED, demo=DemoSignIn(1, EMAIL, f"{PUBLIC}.{PRIVATE}"))
    async with deployed(migrated_database, settings) as place:
        await invite(await place.company(), EMAIL)
        await PostgresOperators(place.pool).create(PUBLIC, hash_private_key(PRIVATE), "demo")
        yield place


def browser(town: Any, base_url: str, address: str = "127.0.0.1") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=town.app, client=(address, 50_000), raise_app_exceptions=False)
    return httpx.AsyncClient(timeout=WAIT_SECONDS, transport=transport, base_url=base_url)


async def click(client: httpx.AsyncClient, **headers: str) -> httpx.Response:
    given = {"Origin": str(client.base_url).rstrip("/"), **headers}
    return await client.post("/console/sign-in/demo", data={"next": "/console/leads"}, headers=given)


async def test_one_click_signs_in_here_and_nowhere_else(demo: Any) -> None:
    async with browser(demo, HERE) as here:
        assert "Open the demo company" in (await here.get("/console/sign-in")).text
        clicked = await click(here)
        assert (clicked.status_code, clicked.headers["location"]) == (303, "/console/leads")
        for cookie in clicked.headers.get_list("set-cookie"):
            assert "Secure" not in cookie, "a browser would not send it back over http"
            assert "HttpOnly" in cookie
        assert (await here.get("/console/leads")).status_code == 200
        assert (await here.get("/console/operations")).status_code == 200
        assert (await click(here, Origin="http://evil.test")).status_code == 403
    for base_url, address in (
        ("http://rebound.evil.test:8080", "127.0.0.1"),
        ("https://leads.example.com", "127.0.0.1"),
        (HERE, "203.0.113.7"),
    ):
        async with browser(demo, base_url, address) as elsewhere:
            assert "Open the demo company" not in (await elsewhere.get("/console/sign-in")).text
            refused = await click(elsewhere)
            assert refused.status_code == 404, (base_url, address)
            assert "set-cookie" not in refused.headers
