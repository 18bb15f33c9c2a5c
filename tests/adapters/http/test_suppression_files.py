"""How does a CSV file of people come onto a suppression list? Good lines go in, bad ones are named by number."""

from typing import Any

import httpx
import pytest

from adapters.http.contacts.suppression_files import ERRORS_MAX, FILE_BYTES_MAX, LINES_MAX
from engine.submission.fields import parse_moment
from tests.adapters.http.conftest import Company
from tests.adapters.http.test_suppression_lists import LISTS, list_of, listed

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def sent(company: Company, list_id: int, content: Any, **more: Any) -> httpx.Response:
    return await company.send("POST", f"{LISTS}/{list_id}/entries/import", json={"content": content, **more})


async def imported(company: Company, list_id: int, content: str, **more: Any) -> dict[str, Any]:
    answer = await sent(company, list_id, content, **more)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["suppression_import"]
    return found


async def people(company: Company, list_id: int) -> set[str]:
    return {row["caller_id"] or row["email"] for row in await listed(company, list_id, cursor="-1", per_page=1000)}


async def test_good_lines_are_taken_and_bad_ones_are_named(company: Company) -> None:
    list_id = await list_of(company)
    content = (
        "caller_id,email,source,expires_at\n"
        "+13055550123,,regulator,2099-01-01T00:00:00Z\n"
        "12,,,\n"
        ",ada@example.com,,\n"
        "+13055550124,ada@example.com,,\n"
        "+13055550125,,,,more\n"
        "+13055550126,,,2001-01-01\n"
    )

    made = await imported(company, list_id, content)

    assert (made["lines_count"], made["bad_lines_count"], made["accepted_count"]) == (6, 4, 2)
    assert {(one["line"], one["field"]) for one in made["errors"]} == {
        *((3, "caller_id"), (5, "caller_id"), (6, ""), (7, "expires_at")),
    }
    assert await people(company, list_id) == {"+13055550123", "ada@example.com"}
    (row,) = [row for row in await listed(company, list_id) if row["caller_id"]]
    assert (row["source"], parse_moment(row["expires_at"])) == ("regulator", parse_moment("2099-01-01T00:00:00Z"))


async def test_a_file_with_as_many_lines_as_may_be_is_taken_once_however_often_it_is_sent(company: Company) -> None:
    list_id = await list_of(company)
    content = "caller_id\n" + "".join(f"+1917557{number:04d}\n" for number in range(1_200))

    for _ in range(2):
        made = await imported(company, list_id, content)
        assert (made["accepted_count"], made["bad_lines_count"], made["refused_count"]) == (1_200, 0, 0)

    table = await company.send("GET", f"{LISTS}/{list_id}/entries.csv", params={"columns": "caller_id"})
    assert len(table.text.split()) == 1_201


async def test_what_an_export_wrote_is_imported_into_another_list(company: Company) -> None:
    first, second = await list_of(company), await list_of(company)
    await imported(company, first, "email,source\nada@example.com,=court\n")
    table = (await company.send("GET", f"{LISTS}/{first}/entries.csv")).text

    made = await imported(company, second, "\ufeff" + table)

    assert (made["accepted_count"], made["errors"]) == (1, [])
    assert [(row["email"], row["source"]) for row in await listed(company, second)] == [("ada@example.com", "=court")]


async def test_a_dry_run_puts_nobody_on_the_list(company: Company) -> None:
    list_id = await list_of(company)

    made = await imported(company, list_id, "caller_id\n+13055550123\nnobody\n", dry_run=True)

    assert (made["lines_count"], made["bad_lines_count"], made["accepted_count"]) == (2, 1, 0)
    assert await people(company, list_id) == set()


async def test_a_file_that_cannot_be_read_as_a_whole_is_refused(company: Company) -> None:
    list_id = await list_of(company)
    for content, word in [
        ("", "CSV file"),
        (7, "CSV file"),
        ("caller_id,caller_id\n1,2\n", "two columns"),
        ("phone\n+13055550123\n", "phone"),
        ("source\ncourt\n", "neither"),
        ('caller_id\n"+1305', "cut off"),
        ("caller_id\n" + "+13055550123\n" * (LINES_MAX + 1), "split it"),
    ]:
        answer = await sent(company, list_id, content)
        assert (answer.status_code, set(answer.json()["errors"])) == (422, {"content"}), content
        assert word in answer.json()["errors"]["content"][0]
    too_large = await sent(company, list_id, "caller_id\n" + "x" * FILE_BYTES_MAX)
    assert too_large.status_code == 413
    unknown = await sent(company, list_id, "caller_id\n+13055550123\n", sauce="x")
    assert set(unknown.json()["errors"]) == {"sauce"}
    assert await people(company, list_id) == set()


async def test_an_answer_names_a_bounded_number_of_bad_lines(company: Company) -> None:
    made = await imported(company, await list_of(company), "caller_id\n" + "1\n" * (ERRORS_MAX + 5))

    assert (made["bad_lines_count"], len(made["errors"])) == (ERRORS_MAX + 5, ERRORS_MAX)


async def test_the_list_of_another_company_is_not_found(company: Company, other: Company) -> None:
    list_id = await list_of(company)

    assert (await sent(other, list_id, "caller_id\n+13055550123\n")).status_code == 404
    assert await people(company, list_id) == set()
