"""How are records read and changed over the API? Whole lists by cursor; each change waits until it is decided."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import httpx

from adapters.company_file.document import COMPANY, TYPES, CompanyFileError
from adapters.problem_sentence import refusal_sentence

Row = Mapping[str, Any]

ROWS_OF_A_PAGE = 500
"""Of a list: half of what a page may have, as a schedule may be long."""

PAGES_MAX = 200
"""Of one list: 100,000 records of one type. More are a fault, and refused."""

REPEATS_MAX = 60
"""How often one request is sent again after 429, and how often a change is looked for that is not decided yet."""

WAIT_SECONDS = 1.0
"""Between two looks at such a change."""

WAIT_SECONDS_MAX = 60.0
"""The longest wait that a 429 may ask for."""


def _unheard(_place: str, _sentence: str) -> None:
    """Do nothing with a warning: who reads only gets none."""


class CompanyApi:
    """The API of one company. Every method raises `CompanyFileError` for a refusal.

    `warn` is given the place of a record and what its answer warns of, each once.
    """

    def __init__(self, client: httpx.AsyncClient, warn: Callable[[str, str], None] = _unheard) -> None:
        self._client = client
        self._warn = warn
        self._warned: set[tuple[str, str]] = set()

    async def company(self) -> Row:
        """Return the company of the key."""
        found: Row = (await self._read("/api/v1/company"))[COMPANY]
        return found

    async def records(self, record_type: str) -> list[Row]:
        """Return every live record of a type, by id."""
        collection = TYPES[record_type]
        rows: list[Row] = []
        cursor = -1
        for _ in range(PAGES_MAX):
            answer = await self._read(f"/api/v1/{collection}", cursor=cursor, per_page=ROWS_OF_A_PAGE)
            rows += answer[collection]
            cursor = answer["metadata"]["next_cursor"]
            if not cursor:
                return rows[::-1]
        raise CompanyFileError(f"the company has more than {PAGES_MAX * ROWS_OF_A_PAGE} {collection}")

    async def create(self, record_type: str, fields: Mapping[str, Any]) -> int:
        """Create a record and return its id."""
        collection = TYPES[record_type]
        answer = await self._change(
            "POST", f"/api/v1/{collection}", fields, {}, f"{collection}/{fields['external_record_id']}"
        )
        return int(answer[record_type]["id"])

    async def update(self, record_type: str, row: Row, fields: Mapping[str, Any]) -> int:
        """FileChange a record as it was read and return its version; one that changed since is refused."""
        collection = TYPES[record_type]
        place = f"{collection}/{row.get('external_record_id') or row['id']}"
        answer = await self._change("PUT", f"/api/v1/{collection}/{row['id']}", fields, _if_match(row), place)
        return int(answer[record_type]["version"])

    async def update_company(self, row: Row, fields: Mapping[str, Any]) -> None:
        """FileChange the company as it was read."""
        await self._change("PUT", "/api/v1/company", fields, _if_match(row), COMPANY)

    async def _read(self, path: str, **params: Any) -> dict[str, Any]:
        return _content(await self._sent(lambda: self._client.get(path, params=params)), path)

    async def _change(
        self, method: str, path: str, fields: Mapping[str, Any], headers: Mapping[str, str], place: str
    ) -> dict[str, Any]:
        answer = await self._sent(lambda: self._client.request(method, path, json=fields, headers=headers))
        for _ in range(REPEATS_MAX):
            if answer.status_code != httpx.codes.ACCEPTED:
                found = _content(answer, place)
                self._pass_on(place, found.get("warnings", ()))
                return found
            await asyncio.sleep(WAIT_SECONDS)
            decided = answer.headers.get("location") or answer.json()["request"]["path"]
            answer = await self._sent(lambda: self._client.get(decided))  # noqa: B023 - called at once
        raise CompanyFileError(f"{place}: requested, and not decided yet; run this again later")

    def _pass_on(self, place: str, warnings: Iterable[str]) -> None:
        """Pass each warning on once: a schedule that is new is written in two steps, with the same warnings."""
        for warning in warnings:
            if (place, warning) not in self._warned:
                self._warned.add((place, warning))
                self._warn(place, warning)

    async def _sent(self, send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """Send a request, again where the rate limit asks to wait."""
        for _ in range(REPEATS_MAX):
            answer = await send()
            if answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
                break
            await asyncio.sleep(min(float(answer.headers.get("retry-after", WAIT_SECONDS)), WAIT_SECONDS_MAX))
        return answer


def _if_match(row: Row) -> dict[str, str]:
    """Return the header that lets a change pass only where nobody else changed the record since."""
    return {"If-Match": f'"{row["version"]}"'}


def _content(answer: httpx.Response, place: str) -> dict[str, Any]:
    if answer.is_error:
        raise CompanyFileError(f"{place}: {refusal_sentence(answer)}")
    found: dict[str, Any] = answer.json()
    return found
