"""Is each name one thing? No two classes share a name, no file cites what does not ship, and each cited path exists."""

import ast
import json
import re
from collections import defaultdict
from pathlib import PurePath

from adapters.http.document.openapi import openapi
from tests.language.files import READ, ROOT, texts, tracked

PRODUCT = ("adapters/", "engine/", "schemas/", "deploy/")

PAPERS = re.compile(r"\bresearch/\w+|\b(?:design|contracts|seed|domain)\.md\b")
"""Notes that do not ship: a reader cannot open them."""

CITED = re.compile(r"(?<![\w/.{}-])((?:adapters|engine|schemas|deploy|tests)/[\w/.*-]*[\w*])(?![\w/{}<])")
FILE = re.compile(r"(?<![\w/.{}*-])([a-z_]+\.(?:py|md|sql|toml))\b")


def test_no_two_classes_of_the_product_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, text in texts(".py"):
        if path.startswith(PRODUCT):
            for node in ast.parse(text).body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(path)
    twice = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert twice == {}


def test_no_file_cites_a_paper_that_does_not_ship() -> None:
    assert [path for path, text in texts(*READ) if PAPERS.search(text)] == []


def test_no_published_schema_cites_a_paper_that_does_not_ship() -> None:
    assert [path for path, text in texts(".json") if PAPERS.search(text)] == []


def comments_of(text: str) -> str:
    """Return the comments and docstrings of a module."""
    found = re.findall(r"#.*$", text, re.MULTILINE)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.append(node.value.value)
    return "\n".join(found)


def test_every_path_that_the_code_cites_exists() -> None:
    broken = defaultdict(set)
    names = {PurePath(path).name for path in tracked()}
    for path, text in texts(".py"):
        comments = PAPERS.sub("", comments_of(text))
        broken[path] = {cited for cited in CITED.findall(comments) if not any(ROOT.glob(cited.rstrip(".")))}
        broken[path] |= {cited for cited in FILE.findall(comments) if cited not in names}
    assert {path: cited for path, cited in broken.items() if cited} == {}


def test_the_document_of_the_interface_cites_no_paper() -> None:
    assert PAPERS.findall(json.dumps(openapi())) == []
