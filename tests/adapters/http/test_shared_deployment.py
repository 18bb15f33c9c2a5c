"""Is a file that leaves something behind in the shared deployment named, and does the next file get a fresh one?"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from adapters.http.app import Api
from tests.adapters.http.conftest import SharedDeployment, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def end_the_scheduler(town: Town) -> None:
    scheduler = next(role for role in town.roles if role.get_name() == "scheduler")
    scheduler.cancel()
    await asyncio.wait([scheduler])


async def lose_a_topic(town: Town) -> None:
    town.outage.topics.add("contacts.requests")


async def lose_the_mail_server(town: Town) -> None:
    town.mail.is_away = True


DEFECTS = {
    "scheduler has ended": end_the_scheduler,
    "contacts.requests takes no record": lose_a_topic,
    "mail is away": lose_the_mail_server,
}


@pytest.mark.parametrize(("sentence", "leave_behind"), DEFECTS.items(), ids=DEFECTS)
async def test_what_a_file_leaves_behind_is_named_and_the_next_one_meets_none_of_it(
    postgres_dsn: str, sentence: str, leave_behind: Callable[[Town], Awaitable[None]]
) -> None:
    deployment = SharedDeployment(postgres_dsn)
    first = await deployment.open()
    assert await deployment.inspect() == []
    assert (await deployment.open()).app is first.app
    await leave_behind(first)

    (fault,) = await deployment.inspect()

    assert fault.startswith(sentence)
    fresh = await deployment.open()
    assert isinstance(fresh.app, Api)
    assert fresh.app is not first.app
    company = await fresh.company()
    assert (await company.send("GET", "/api/v1/leads")).status_code == 200
    assert await deployment.inspect() == []
    await deployment.close()


async def test_files_have_companies_of_their_own(postgres_dsn: str) -> None:
    deployment = SharedDeployment(postgres_dsn)
    first = await (await deployment.open()).company()
    second = await (await deployment.open()).company()
    assert (first.id, second.id) == (1, 2)
    await deployment.close()
