"""Is a part of the document for programs a document of its own? It has what its areas need, and nothing else."""

import json
import re
from typing import Any

import pytest

from adapters.http.document.areas import AREAS
from adapters.http.document.client_document import client_document
from adapters.http.document.document_parts import part_of

PATH = "/api/docs/1.0/openapi.json"


def _operations(document: Any) -> set[str]:
    return {part["operationId"] for entry in document["paths"].values() for part in entry.values() if "operationId" in part}


def test_all_areas_together_are_the_document() -> None:
    assert part_of(client_document(), frozenset(AREAS)) == client_document()


@pytest.mark.parametrize("area", AREAS)
def test_a_part_has_the_operations_of_its_area_and_all_that_they_need_and_no_more(area: str) -> None:
    part = part_of(client_document(), frozenset({area}))
    assert [tag["name"] for tag in part["tags"]] == [area]
    found = [one for entry in part["paths"].values() for one in entry.values() if "operationId" in one]
    assert {tag for one in found for tag in one["tags"]} == {area}
    text = json.dumps(part)
    needed = set(re.findall(r'"\$ref": "#/components/([^"]+)"', text))
    described = {
        f"{kind}/{name}" for kind, parts in part["components"].items() if kind != "securitySchemes" for name in parts
    }
    assert described == needed
    assert part["components"]["securitySchemes"] == client_document()["components"]["securitySchemes"]


def test_each_operation_is_in_the_part_of_one_area() -> None:
    parts = [_operations(part_of(client_document(), frozenset({area}))) for area in AREAS]
    assert sum(map(len, parts)) == len(_operations(client_document())) == len(set().union(*parts))


@pytest.mark.asyncio(loop_scope="session")
async def test_tags_choose_the_part_in_any_order(town: Any) -> None:
    whole = await town.client.get(PATH)
    part = await town.client.get(PATH, params={"tags": "leads,calls"})
    again = await town.client.get(PATH, params={"tags": "calls, leads"})
    assert part.json() == part_of(client_document(), frozenset({"leads", "calls"}))
    assert len(part.content) < len(whole.content)
    assert part.headers["etag"] == again.headers["etag"] != whole.headers["etag"]
    known = await town.client.get(PATH, params={"tags": "leads,calls"}, headers={"If-None-Match": part.headers["etag"]})
    assert known.status_code == 304


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("tags", ["", "led", "leads,buyer_groups", "leads;calls", '["leads"]', "leads,"])
async def test_a_tag_that_is_not_there_is_refused_by_name(town: Any, tags: str) -> None:
    answer = await town.client.get(PATH, params={"tags": tags})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")
    assert "leads" in answer.json()["errors"]["tags"][0]
