"""How is an account record created, updated and deleted? Each change is a version; a deleted record keeps its last body."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from engine.account import publishing
from engine.account.bodies import read_body
from engine.account.group_team import team_of
from engine.account.issuers import without_former_secret
from engine.account.pausing import ends_at, unpaused
from engine.account.references import (
    buyer_named,
    claim_unique_values,
    fleet_named,
    index_references,
    live_record,
    refuse_in_use,
    refuse_renaming_in_use,
)
from engine.account.teams import TEAM
from engine.account.users import has_superuser, is_of_superusers, list_superuser_team, with_user
from engine.identity import uuid_of
from engine.partition.draft import Draft, RefusedError
from engine.submission.fields import FieldError, is_blank, parse_id
from schemas.decisions import Answer
from schemas.records import (
    CAPPED_TYPES,
    EVERY_COMPANY,
    RECORD_BODIES,
    AccessControlList,
    ActionGroup,
    Body,
    BuyerGroup,
    Company,
    ContactHold,
    Record,
    Schedule,
    UnblockContactJob,
    body_of,
    plain,
)
from schemas.requests import RecordChangeRequested
from schemas.state import record_key
from schemas.wire import to_json

CREATED, DONE = 201, 200

BODY_BYTES_MAX = 256 * 1024
"""Of one record: the most that one request may bring, and a quarter of a decision."""


def change_record(
    draft: Draft, request: RecordChangeRequested, user_id: int | None = None, *, request_id: str | None = None
) -> Record:
    """Carry out a change, answer it, and return the record as it now is; `user_id` is who asks. Raises `RefusedError`."""
    if request.type not in RECORD_BODIES:
        raise RefusedError(
            "validation_failed", f"The record types are {', '.join(RECORD_BODIES)}.", {"type": ["is not known"]}
        )
    if request.type != "company" and not (request.type == "contact_hold" and request.company_id == EVERY_COMPANY):
        _require_company(draft, request.company_id)
    if not is_of_superusers(request.type):
        return _change(draft, request, user_id, request_id)
    had_superuser = has_superuser(draft, request.company_id)
    record = _change(draft, request, user_id, request_id)
    if had_superuser and not has_superuser(draft, request.company_id):
        detail = "No user who can sign in would be left in a team of superusers; make another one first."
        raise RefusedError("last_superuser", detail)
    return record


def _change(draft: Draft, request: RecordChangeRequested, user_id: int | None, request_id: str | None) -> Record:
    if request.operation == "create":
        return _create(draft, request, user_id, request_id)
    record = _existing_record(draft, request)
    if request.operation == "publish" and request.type != "schedule":
        raise RefusedError("validation_failed", "Only a schedule is published.", {"type": ["must be schedule"]})
    if request.operation == "delete":
        return _delete(draft, record)
    return _update(draft, request, record, user_id)


def _create(draft: Draft, request: RecordChangeRequested, user_id: int | None, request_id: str | None) -> Record:
    record = Record(
        type=request.type,
        id=0,
        uuid="",
        company_id=request.company_id,
        version=1,
        created_at=draft.now,
        updated_at=draft.now,
        user_updated_at=draft.now,
        body={},
    )
    body = with_user(_read_change(draft, request, record, None), None, user_id)
    if isinstance(body, UnblockContactJob):
        body = structs.replace(body, contact_partitions=request.contact_partitions)
    elif isinstance(body, ContactHold):
        body = structs.replace(body, request_id=request_id)
    record.id = _new_company(draft, request) if request.type == "company" else draft.next_id()
    record.uuid = uuid_of(record.type, record.id)
    _put_record(draft, record, None, body)
    _answer(draft, record, CREATED, "created")
    if isinstance(body, BuyerGroup):
        _create_team(draft, record, team_of(request.fields, record.id, body))
    return record


def _create_team(draft: Draft, group: Record, team: AccessControlList | None) -> None:
    """Create the team that a new group brings with it, in the same decision."""
    if team is None:
        return
    record = structs.replace(group, type=TEAM, id=draft.next_id(), body={})
    record.uuid = uuid_of(record.type, record.id)
    _put_record(draft, record, None, team)
    about: dict[str, Any] = {"record_type": record.type, "record_id": record.id, "version": record.version}
    draft.fact("record.created", **about, generated_by=f"{group.type}/{group.id}")


def _update(draft: Draft, request: RecordChangeRequested, record: Record, user_id: int | None) -> Record:
    if request.type == "company":
        _check_company_id(request)
    before = body_of(record)
    body = without_former_secret(before, with_user(_read_change(draft, request, record, before), before, user_id))
    if body == before:  # no new version for schedulers to adopt and leads to be pinned to
        draft.answer = _answer_of(record, DONE)
        return record
    record.version += 1
    record.updated_at = record.user_updated_at = draft.now
    _put_record(draft, record, before, body)
    _answer(draft, record, DONE, "updated", fields=_changed_fields(before, body))
    return record


def end_pause(draft: Draft, record: Record) -> None:
    """Unpause a record at its `unpause_at`."""
    before = body_of(record)
    record.version += 1
    record.updated_at = draft.now
    _put_record(draft, record, before, unpaused(before, draft.now))
    fields = _changed_fields(before, body_of(record))
    draft.fact("record.updated", record_type=record.type, record_id=record.id, version=record.version, fields=fields)


def _delete(draft: Draft, record: Record) -> Record:
    refuse_in_use(draft, record)
    record.version += 1
    record.updated_at = record.user_updated_at = record.deleted_at = draft.now
    record.wake_at = None
    body = body_of(record)
    claim_unique_values(draft, record, body, None)
    index_references(draft, record, body, None)
    list_superuser_team(draft, record, None)
    draft.put(record_key(record.type, record.id), record)
    _answer(draft, record, DONE, "deleted")
    return record


def _read_change(draft: Draft, request: RecordChangeRequested, record: Record, before: Body | None) -> Body:
    if request.type != "schedule":
        return _read(draft, request, record, before)

    def read(fields: Mapping[str, Any]) -> Schedule:
        body = _read(draft, structs.replace(request, fields=dict(fields)), record, before)
        assert isinstance(body, Schedule)  # noqa: S101 - checked above
        return body

    known = before if isinstance(before, Schedule) else None
    return publishing.change(request.fields, known, read, publishes=request.operation == "publish", now=draft.now)


def _read(draft: Draft, request: RecordChangeRequested, record: Record, before: Body | None) -> Body:
    company_id = record.company_id
    change = read_body(
        record.type,
        _in_zone(draft, request, before),
        before,
        now=draft.now,
        exists=lambda record_type, record_id: live_record(draft, company_id, record_type, record_id) is not None,
        buyer_named=lambda user_buyer_id: buyer_named(draft, company_id, user_buyer_id),
        group_of=lambda group_id: _group(draft, company_id, group_id),
        fleet_named=lambda user_fleet_id: fleet_named(draft, company_id, user_fleet_id),
    )
    for fact in change.facts:
        draft.fact(fact, record_type=record.type, record_id=record.id)
    return change.body


def _in_zone(draft: Draft, request: RecordChangeRequested, before: Body | None) -> Mapping[str, Any]:
    """Return the fields, with the company's zone where caps are to have one and none is given."""
    is_left_out = before is None or "time_zone" in request.fields
    if request.type not in CAPPED_TYPES or not is_left_out or not is_blank(request.fields.get("time_zone")):
        return request.fields
    record = draft.get(record_key("company", request.company_id), Record)
    company = None if record is None else body_of(record)
    return {**request.fields, "time_zone": company.time_zone} if isinstance(company, Company) else request.fields


def _group(draft: Draft, company_id: int, group_id: int) -> ActionGroup | None:
    record = live_record(draft, company_id, "action_group", group_id)
    body = None if record is None else body_of(record)
    return body if isinstance(body, ActionGroup) else None


def _put_record(draft: Draft, record: Record, before: Body | None, body: Body) -> None:
    refuse_renaming_in_use(draft, record, before, body)
    claim_unique_values(draft, record, before, body)
    index_references(draft, record, before, body)
    list_superuser_team(draft, record, body)
    record.body, record.wake_at = plain(body), ends_at(body)
    size = len(to_json(record.body))
    if size > BODY_BYTES_MAX:
        raise RefusedError("too_large", f"The record would have {size} bytes; {BODY_BYTES_MAX} is the most. Shorten it.")
    draft.put(record_key(record.type, record.id), record)


def _new_company(draft: Draft, request: RecordChangeRequested) -> int:
    """Return the id of a new company: the key of the request, which decides its partition."""
    company_id = request.company_id
    _check_company_id(request)
    if draft.get(record_key("company", company_id), Record) is not None:
        raise RefusedError("duplicate_value", f"There is a company {company_id}; choose another id.", {"id": ["is taken"]})
    return company_id


def _check_company_id(request: RecordChangeRequested) -> None:
    detail = "A company is created under its own id, which its creator chooses."
    try:
        company_id = parse_id(request.fields.get("id", request.company_id))
    except FieldError as error:
        raise RefusedError("validation_failed", detail, {"id": [str(error)]}) from None
    if company_id != request.company_id:
        sentence = f"must be {request.company_id}, the company that the request is sent to"
        raise RefusedError("validation_failed", detail, {"id": [sentence]})


def _require_company(draft: Draft, company_id: int) -> None:
    record = draft.get(record_key("company", company_id), Record)
    if record is None:
        raise RefusedError("not_found", f"There is no company {company_id}; create it first.")
    if record.deleted_at is not None:
        raise RefusedError("deleted", f"Company {company_id} was deleted; its records can be read, not changed.")


def _existing_record(draft: Draft, request: RecordChangeRequested) -> Record:
    record = None if request.id is None else draft.get(record_key(request.type, request.id), Record)
    # Another company's record looks like one that does not exist.
    if record is None or record.company_id != request.company_id:
        raise RefusedError("not_found", f"There is no {request.type.replace('_', ' ')} {request.id}.")
    if record.deleted_at is not None:
        raise RefusedError("deleted", f"The {request.type.replace('_', ' ')} {request.id} was deleted.")
    if request.if_versions is not None and record.version not in request.if_versions:
        raise RefusedError("version_conflict", "The record was changed since; read it again and resend the change.")
    return record


def _changed_fields(before: Body, after: Body) -> list[str]:
    return [name for name in after.__struct_fields__ if getattr(before, name) != getattr(after, name)]


def _answer(draft: Draft, record: Record, status: int, what: str, **more: Any) -> None:
    draft.fact(f"record.{what}", record_type=record.type, record_id=record.id, version=record.version, **more)
    draft.answer = _answer_of(record, status)


def _answer_of(record: Record, status: int) -> Answer:
    extra = {"uuid": record.uuid, "version": record.version}
    return Answer(status=status, record_type=record.type, record_id=record.id, extra=extra)
