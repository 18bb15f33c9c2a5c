"""Are the published documents those of today's structs, and do they describe what is really written?"""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from engine.submission import normalise
from engine.submission.public_rights import SIGNING_FIELDS
from schemas.documents import asyncapi, asyncapi_of_files, families, json_schemas, messages_of, problem_catalogue
from schemas.inbox import Submission
from schemas.records import RECORD_BODIES
from schemas.topics import TOPICS
from schemas.wire import to_json
from tests.schemas.corpus import kinds, sample

WRITER = Path(__file__).parents[2] / "deploy" / "write_schemas.py"
FOLDER = WRITER.parent / "schemas"


def test_the_committed_documents_are_in_step() -> None:
    wanted = dict(runpy.run_path(str(WRITER))["documents"]())
    stored = {path.name: path.read_bytes() for path in FOLDER.glob("*.json")}
    assert stored == wanted, "run python deploy/write_schemas.py and commit deploy/schemas"


def test_the_committed_catalogue_of_problems_is_in_step() -> None:
    stored = (WRITER.parent / "docs" / "problems.md").read_text()
    assert stored == problem_catalogue(), "run python deploy/write_schemas.py and commit deploy/docs/problems.md"


@pytest.mark.parametrize("name", kinds())
def test_what_is_written_is_valid_under_its_schema(name: str) -> None:
    validator = jsonschema_rs.validator_for(json_schemas()[name])
    validator.validate(msgspec.json.decode(to_json(sample(kinds()[name]))))


def test_a_schema_refuses_what_is_not_its_message() -> None:
    validator = jsonschema_rs.validator_for(json_schemas()["request.slot.requested"])
    assert not validator.is_valid({"company_id": 1})
    assert not validator.is_valid({"company_id": "1", "contact_key": "k", "lead_id": 1, "request_id": "r"})


def test_every_reference_of_the_served_document_leads_somewhere_in_it() -> None:
    document = asyncapi()
    for reference in references(document):
        assert reference.startswith("#/"), reference
        follow(document, reference)


def test_every_reference_of_the_committed_document_leads_somewhere_in_it_or_to_a_schema_beside_it() -> None:
    document = msgspec.json.decode((FOLDER / "asyncapi.json").read_bytes())
    files = {reference for reference in references(document) if not reference.startswith("#/")}
    assert files == {path.name for path in FOLDER.glob("*.schema.json")}
    for reference in references(document):
        if reference not in files:
            follow(document, reference)


def test_the_committed_document_says_of_topics_what_the_served_one_says() -> None:
    served, committed = asyncapi(), asyncapi_of_files()
    for name, message in committed["components"]["messages"].items():
        payload = served["components"]["messages"][name].pop("payload")
        file = message.pop("payload")
        if name == "dead":
            assert file == payload
        else:
            schema = msgspec.json.decode((FOLDER / file["$ref"]).read_bytes())
            assert schema["$ref"].rpartition("/")[2] == payload["$ref"].rpartition("/")[2], name
    for document in (served, committed):
        document["components"].pop("schemas")
    assert committed == served


def test_every_topic_is_a_channel_and_every_message_is_on_one() -> None:
    document = asyncapi()
    assert list(document["channels"]) == [topic.name for topic in TOPICS]
    on_topics = {name for topic in TOPICS for name in messages_of(topic)}
    on_none = {f"record.{name}" for name in RECORD_BODIES}  # these are inside `state.record`
    written = {f"{family}.{name}" for family, kinds_of in families().items() for name in kinds_of}
    assert on_topics | on_none == written


def test_producers_see_which_headers_are_optional_and_an_example_record() -> None:
    message = asyncapi()["components"]["messages"]["inbox.lead.submitted"]
    headers = asyncapi()["components"]["schemas"]["InboxHeaders"]
    assert message["headers"] == {"$ref": "#/components/schemas/InboxHeaders"}
    assert "required" not in headers
    (example,) = message["examples"]
    assert example["headers"].keys() <= headers["properties"].keys()
    assert jsonschema_rs.validator_for(json_schemas()["inbox.lead.submitted"]).is_valid(example["payload"])


def test_no_line_depends_on_the_version_of_python() -> None:
    assert "\\n    " not in msgspec.json.encode(asyncapi()).decode()


def test_the_description_of_a_submission_names_what_is_read() -> None:
    fields = set(Submission.__struct_fields__)
    assert fields == set(normalise.NAMED_FIELDS) - {"auth_token", *SIGNING_FIELDS}  # those are read over HTTP alone


def follow(document: Any, reference: str) -> Any:
    """Return what a reference points at. Raises `KeyError` where that is not in the document."""
    place = document
    for part in reference.removeprefix("#/").split("/"):
        place = place[part]
    return place


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)
