"""What may a record of an inbox do? As one with a key where inboxes are trusted or an import signed it; or as a stranger."""

from typing import Any

import pytest

from adapters.intake.rights import RIGHT_HEADER, InboxRights, right_header
from engine.partition.ports import LogRecord
from engine.submission.public_rights import FIELD_ALIASES, FIELDS, New
from schemas.instant import Instant
from schemas.wire import to_json
from tests.adapters.http.test_public_rights import SAMPLES
from tests.engine.submission.conftest import Submit, rules, submit  # noqa: F401 - fixtures

SECRET = "a secret of the deployment, long enough"
NAME, BODY = "import-1/1/2", to_json({"lead_token": "schedule-token", "caller_id": "+12125550142"})


def record(headers: tuple[tuple[str, bytes], ...], body: bytes = BODY, name: str = NAME) -> LogRecord:
    return LogRecord(
        topic="leads.inbox.bulk",
        partition=0,
        offset=0,
        key=None,
        value=body,
        headers=(("ce_id", name.encode()), *headers),
        appended_at=Instant(1),
    )


def test_every_record_of_a_trusted_inbox_counts_as_one_with_a_key() -> None:
    assert InboxRights("", trusts_inboxes=True).are_proved(record(()))


def test_only_what_an_import_signed_counts_where_inboxes_are_not_trusted() -> None:
    rights = InboxRights(SECRET, trusts_inboxes=False)
    signed = right_header(SECRET, NAME, BODY)
    assert rights.are_proved(record(signed))
    assert not rights.are_proved(record(()))
    assert not rights.are_proved(record(((RIGHT_HEADER, b"00"),)))
    assert not rights.are_proved(record(signed, body=BODY.replace(b"0142", b"0143")))
    assert not rights.are_proved(record(signed, name="import-1/1/3"))
    assert not rights.are_proved(record(right_header("another secret", NAME, BODY)))
    assert not InboxRights("", trusts_inboxes=False).are_proved(record(signed))
    assert right_header("", NAME, BODY) == ()


@pytest.mark.parametrize("name", [*SAMPLES, *(alias for alias, field in FIELD_ALIASES.items() if field in SAMPLES)])
def test_every_field_of_a_record_without_a_right_does_what_the_table_says(submit: Submit, name: str) -> None:  # noqa: F811
    row = FIELD_ALIASES.get(name, name)
    given: dict[str, Any] = {"caller_id": "+12125550142", name: SAMPLES[row][0]}
    plain = submit({"caller_id": "+12125550142"}, is_trusted=False).request
    strange, trusted = submit(given, is_trusted=False), submit(given, is_trusted=True, may_update=True)
    needs_key = FIELDS[row].new in {New.KEY, New.OFFER}
    assert (strange.request == plain) is (needs_key or row == "auto_format_nested_fields")
    assert any(row in warning for warning in strange.warnings) is needs_key
    assert (strange.request.with_key, trusted.request.with_key) == (False, True)
