"""Does the command show what a post would become by a map, and say what is wrong with post, map or token?"""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy.bench.submissions import TEXT_TOKEN
from tests.adapters.cli.test_lead_import import deployment, ran

__all__ = ["deployment"]

POST = {"event": {"id": "evt-7", "test": True}, "answers": [{"phone": "+1 212 555 0101"}, {"mail": "ann@example.com"}]}
MAP = {
    "fields": {"caller_id": "answers[0].phone", "email": "answers[1].mail", "campaign": "event.name"},
    "idempotency_key": "event.id",
    "is_test": "event.test",
}


def written(folder: Path, name: str, content: Any) -> str:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


@pytest.mark.usefixtures("deployment")
async def test_a_post_is_shown_as_the_map_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    post, lead_map = written(tmp_path, "post.json", POST), written(tmp_path, "map.json", MAP)
    assert await ran("leads", "map", post, "--lead-token", TEXT_TOKEN, "--map", lead_map) == 0
    said = capsys.readouterr().out
    for line in (
        "caller_id = +12125550101",
        "email = ann@example.com",
        "idempotency_key = evt-7",
        "a test: stored, and nobody is contacted",
        "not found: campaign",
    ):
        assert line in said.splitlines(), said
    assert await ran("leads", "map", post, "--lead-token", TEXT_TOKEN, "--map", lead_map, "--json") == 0
    assert json.loads(capsys.readouterr().out)["caller_id"] == "+12125550101"

    form = written(tmp_path, "post.form", "caller_id=%2B12125550102&roof=flat")
    assert await ran("leads", "map", form, "--lead-token", TEXT_TOKEN) == 0
    lines = {*capsys.readouterr().out.splitlines()}
    assert {"caller_id = +12125550102", "token roof = flat", "there is no map: the post was read without one"} <= lines


@pytest.mark.usefixtures("deployment")
async def test_what_is_wrong_is_said_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    post = written(tmp_path, "post.json", POST)
    nobody = written(tmp_path, "nobody.json", {"fields": {"caller_id": "answers[7].phone"}})
    assert await ran("leads", "map", post, "--lead-token", TEXT_TOKEN, "--map", nobody) == 1
    assert "refused: caller_id" in capsys.readouterr().out
    for arguments, sentence in (
        ((post, "--lead-token", "nobodys"), "no offer and no schedule has this --lead-token"),
        ((written(tmp_path, "post.txt", "x"), "--lead-token", TEXT_TOKEN), "has no known ending"),
        ((str(tmp_path / "none.json"), "--lead-token", TEXT_TOKEN), "cannot be read"),
        ((post, "--lead-token", TEXT_TOKEN, "--map", written(tmp_path, "bad.json", "{")), "--map holds no JSON"),
        (
            (post, "--lead-token", TEXT_TOKEN, "--map", written(tmp_path, "odd.json", {"fields": {"status": "event.id"}})),
            "status",
        ),
    ):
        assert await ran("leads", "map", *arguments) != 0
        said = capsys.readouterr()
        assert sentence in said.err + said.out, arguments
