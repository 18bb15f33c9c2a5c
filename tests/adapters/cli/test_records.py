"""Do `leadclock schedules|offers|buyers list|show` show what the API shows, and of one company alone?"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from engine.views.record import counted_columns
from tests.adapters.cli.test_explain import asked_over_the_log_server
from tests.adapters.http.conftest import company, other, town  # noqa: F401 - fixtures

pytestmark = pytest.mark.asyncio(loop_scope="session")

TYPES = [
    ("schedule", "schedules", {"name": "Solar", "steps": [{"id": "pause", "kind": "wait", "duration": "2h"}]}),
    ("offer", "offers", {"name": "Roofs"}),
    ("buyer", "buyers", {"name": "Ada", "number": "+12125550150", "user_buyer_id": "ada", "attempt_daily_limit": 5}),
]


@pytest_asyncio.fixture(loop_scope="session")
async def ask(town: Any, company: Any, tmp_path: Path) -> AsyncIterator[Any]:  # noqa: F811
    async with asked_over_the_log_server(town, company, tmp_path) as asked:
        yield asked


@pytest.mark.parametrize(("record_type", "collection", "fields"), TYPES, ids=[collection for _, collection, _ in TYPES])
async def test_a_record_is_listed_and_shown_as_the_api_shows_it(
    company: Any,  # noqa: F811
    ask: Any,
    record_type: str,
    collection: str,
    fields: dict[str, Any],
) -> None:
    assert (await ask(f"{collection} list"))[1].endswith(f"company {company.id} has no {record_type}\n")
    made = await company.record(collection, fields)
    answer = (await company.send("GET", f"/api/v1/{collection}/{made['id']}")).json()[record_type]
    expected = {name: value for name, value in answer.items() if name not in counted_columns(record_type)}

    for reference in (str(made["id"]), made["uuid"], made["uuid"].upper()):
        code, output = await ask(f"{collection} show --json", reference)
        assert (code, msgspec.json.decode(output)) == (0, {record_type: expected})
    code, output = await ask(f"{collection} list --json")
    assert (code, msgspec.json.decode(output)) == (0, {collection: [expected]})
    code, output = await ask(f"{collection} show", made["uuid"])
    assert (code, f"{'name':24} {fields['name']}\n" in output) == (0, True), output


async def test_a_record_of_another_company_and_a_deleted_one_are_neither_listed_nor_shown(
    company: Any,  # noqa: F811
    other: Any,  # noqa: F811
    ask: Any,
) -> None:
    foreign = await other.record("buyers", {"name": "Bob", "number": "+12125550151"})
    gone = await company.record("buyers", {"name": "Cid", "number": "+12125550152"})
    assert (await company.send("DELETE", f"/api/v1/buyers/{gone['id']}")).status_code < 300
    for reference in (str(foreign["id"]), foreign["uuid"], gone["uuid"], "²", "Bob", str(2**60)):
        code, output = await ask("buyers show", reference)
        assert (code, f"has no buyer {reference} (an id or a uuid)" in output) == (1, True), output
    assert msgspec.json.decode((await ask("buyers list --json"))[1]) == {"buyers": []}


async def test_the_list_of_schedules_says_what_is_paused_unpublished_or_has_a_draft(company: Any, ask: Any) -> None:  # noqa: F811
    await company.schedule(name="Live")
    await company.schedule(name="Resting", paused=True)
    await company.schedule(name="Unborn", draft=True)
    changed = await company.schedule(name="Changed")
    answer = await company.send("PUT", f"/api/v1/schedules/{changed['id']}", json={"description": "new", "draft": True})
    assert answer.status_code == 200, answer.text

    _, output = await ask("schedules list")

    headings, *lines = [line for line in output.splitlines() if not line.startswith("(using")]
    assert headings.split() == ["id", "name", "token", "or", "other", "key", "state"]
    found = {line.split()[1]: (line.split()[2], " ".join(line.split()[3:])) for line in lines}
    assert {name: state for name, (_, state) in found.items()} == {
        "Live": "",
        "Resting": "paused",
        "Unborn": "unpublished",
        "Changed": "draft waits",
    }
    assert found["Changed"][0] == changed["lead_token"]
