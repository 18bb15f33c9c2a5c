"""Are files of posts imported as posts are read over HTTP: XML, forms in Latin-1, and by the lead map of a schedule?"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.imports.importing import ImportPlan, check_rows, map_columns
from adapters.imports.rows import FileRow, Format, ImportFile, ImportFileError, examine, rows
from engine.rules import Rules
from engine.submission.normalise import normalise
from schemas.records import LeadMap, Schedule, TrafficSource
from tests.engine.submission.conftest import RECEIVED_AT, SCHEDULE_ID, folded, record

TOKEN = "schedule-token"
PROSPECT = (
    "<prospect><requestdate>2026-11-30</requestdate><vendor><contact><phone>+12125550100</phone></contact></vendor>"
    '<customer><contact><name part="first">{name}</name><phone>{phone}</phone></contact></customer></prospect>'
)


def prospects(*pairs: tuple[str, str]) -> bytes:
    return f"<adf>{''.join(PROSPECT.format(name=name, phone=phone) for name, phone in pairs)}</adf>".encode()


def file_of(tmp_path: Path, content: bytes, form: Format, **how: Any) -> ImportFile:
    path = tmp_path / f"leads.{form}"
    path.write_bytes(content)
    return ImportFile(path, form, **how)


def submitted(file: ImportFile, rules: Rules | None = None) -> list[tuple[str | None, Any]]:
    """Return number and first name of each lead of a file, as intake reads what is sent."""
    rules = rules or folded()
    examine(file)
    mapping = map_columns(file, {}, rules, TOKEN)
    plan = ImportPlan(file=file, mapping=mapping, lead_token=TOKEN, errors=file.path, warnings=file.path)
    checked = check_rows(rows(file), plan, rules, RECEIVED_AT, 1)
    assert checked.errors == []
    sent = [normalise(msgspec.json.decode(body), rules, received_at=RECEIVED_AT).request for _, body in checked.good]
    return [(request.caller_id, request.data.get("first_name")) for request in sent]


TWO = [("+13055550123", "Ada"), ("+13055550124", "Zo\u00eb")]


@pytest.mark.parametrize(
    ("content", "form", "leads"),
    [
        (prospects(("Ada", "3055550123"), ("Zo\u00eb", "3055550124")), "xml", TWO),
        (prospects(("Ada", "3055550123")), "xml", TWO[:1]),
        (
            "<?xml version='1.0' encoding='ISO-8859-1'?><leads><source>site</source><lead><phone>3055550123</phone>"
            "<first_name>Ada</first_name></lead><lead><phone>3055550124</phone><first_name>Zo\u00eb</first_name></lead>"
            "<count>2</count></leads>".encode("latin-1"),
            "xml",
            TWO,
        ),
        (b"<lead><phone>3055550123</phone><name><first>Ada</first></name></lead>", "xml", TWO[:1]),
        (b"phone=3055550123&first_name=Ada\r\n\r\nphone=3055550124&first_name=Zo%EB\r\n", "forms", TWO),
        ("phone=3055550123&first_name=Ada\nphone=3055550124&first_name=Zo\u00eb".encode("latin-1"), "forms", TWO),
        (b"phone=3055550123&first_name=Ada\nphone=3055550124&first_name=Zo%C3%AB\n", "forms", TWO),
    ],
    ids=["ADF", "one prospect", "leads in Latin-1", "one lead", "forms", "raw Latin-1", "UTF-8"],
)
def test_each_post_of_a_file_is_a_lead(tmp_path: Path, content: bytes, form: Format, leads: list[tuple[str, str]]) -> None:
    assert submitted(file_of(tmp_path, content, form)) == leads


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"<adf><prospect>", "is no XML that can be read"),
        (b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a><l><p>&b;</p></l></a>", "declares a document type"),
        (b"<leads/>", "has no rows"),
    ],
)
def test_a_file_of_xml_that_cannot_be_read_is_refused_whole(tmp_path: Path, content: bytes, sentence: str) -> None:
    with pytest.raises(ImportFileError, match=sentence):
        examine(file_of(tmp_path, content, "xml"))


def test_a_form_that_cannot_be_read_is_named_by_its_line(tmp_path: Path) -> None:
    file = file_of(tmp_path, b'phone=3055550123\n{"phone": 1}\nphone=%81\n', "forms")
    problems = {row.line: row.problem for row in rows(file) if row.problem is not None}
    assert list(problems) == [2, 3]
    assert "JSON" in (problems[2] or "")


def with_map(schedule: LeadMap | None = None, source: LeadMap | None = None) -> Rules:
    rules = folded()
    body = rules.body(Schedule, "schedule", SCHEDULE_ID)
    assert body is not None
    changed = record("schedule", SCHEDULE_ID, msgspec.structs.replace(body, lead_map=schedule))
    rules.apply(0, msgspec.structs.replace(changed, version=2, sequence=1_000))
    rules.apply(0, record("traffic_source", 7, TrafficSource(name="Ads", lead_map=source)))
    return rules


@pytest.mark.parametrize("by", ["schedule", "source"])
def test_the_columns_that_a_lead_map_reads_are_read_by_it(tmp_path: Path, by: str) -> None:
    lead_map = LeadMap(fields={"caller_id": "Kontakt Nr", "first_name": "Vorname!"}, idempotency_key="Ref")
    rules = with_map(**{by: lead_map})
    source = "7" if by == "source" else ""
    content = f"Kontakt Nr,Vorname!,Ref,traffic_source_id\n3055550123,Ada,a,{source}\n3055550124,Zo\u00eb,b,{source}\n"
    assert submitted(file_of(tmp_path, content.encode(), "csv"), rules) == TWO


def test_posts_in_lines_of_json_are_read_by_a_lead_map(tmp_path: Path) -> None:
    rules = with_map(LeadMap(fields={"caller_id": "person.tel", "first_name": "person.name"}))
    lines = "".join(f'{{"person": {{"tel": "{tel}", "name": "{name}"}}}}\n' for tel, name in TWO)
    assert submitted(file_of(tmp_path, lines.encode(), "ndjson"), rules) == TWO


def test_a_row_of_xml_is_its_element(tmp_path: Path) -> None:
    file = file_of(tmp_path, b"<l><a><p>1</p></a><a><p>2</p></a></l>", "xml")
    assert list(rows(file)) == [FileRow(1, {"a": {"p": "1"}}), FileRow(2, {"a": {"p": "2"}})]
