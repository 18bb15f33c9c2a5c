"""How is a file of leads uploaded? As text or base64 in a field, with a mapping; a dry run checks its lines and sends none.

The same file with the same mapping and lead token is the same import: nothing is sent a second time.
"""

import hashlib
import tempfile
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from msgspec import structs

from adapters.http.exchange.access import TokenTarget
from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.file_work import FileWork
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.problems import not_found
from adapters.http.leads.import_runner import FILE_NAME, IMPORT, LINES_MAX, in_words_of_http, open_upload, write_upload
from adapters.http.leads.job_requests import BARE, LIST_PARAMETERS, own_jobs_of, too_many_open
from adapters.http.schema.inputs import BOOLEAN, choice, text
from adapters.http.schema.shapes import many_of, one_of
from adapters.imports.importing import sample
from adapters.imports.mapping import LEFT_OUT, read_typed
from adapters.imports.progress import ImportProgress, import_id
from adapters.imports.rows import COLUMNS_MAX, FileFacts, Format, ImportFile, ImportFileError
from adapters.reads.ports import (
    LeadImportErrorFilter,
    LeadImportFilter,
    NewLeadImport,
    Paging,
    Row,
    TooManyJobsError,
)
from engine.rules import Rules
from engine.submission.consents import TEXT_LENGTH_MAX as TEXT_MAX
from engine.submission.consents import URL_LENGTH_MAX, parse_form_url
from engine.submission.fields import TEXT_LENGTH_MAX, FieldError, is_blank, parse_text
from engine.submission.reading import json_object
from engine.views.lead_import import (
    LEAD_IMPORT_COLUMNS,
    LEAD_IMPORT_ERROR_COLUMNS,
    lead_import_error_view,
    lead_import_view,
)

UPLOAD_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of a request with a file: some 150,000 leads of 100 bytes. `leadclock leads import` takes files of any size."""

FORMATS: tuple[str, ...] = get_args(Format)
SEVERITIES = ("error", "warning")


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of imports."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, LEAD_IMPORT_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = LeadImportFilter(
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        dry_run=parameters.flag("dry_run"),
        user_email=own_jobs_of(exchange),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "lead_imports",
        parameters,
        paging=paging,
        columns=columns or LEAD_IMPORT_COLUMNS,
        read=partial(exchange.services.imports.imports, exchange.company_id, wanted),
        view=lambda row: lead_import_view(row, columns),
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one import."""
    return reply_with_record(exchange, "lead_import", lead_import_view(await _import(exchange)))


async def errors(exchange: Exchange) -> Reply:
    """Answer with what is wrong with the lines of an import, and what they were warned of."""
    found = await _import(exchange)
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, LEAD_IMPORT_ERROR_COLUMNS)
    severity = parameters.choice("severity", SEVERITIES)
    parameters.finish()
    wanted = LeadImportErrorFilter(job_id=found["id"], severities=None if severity is None else (severity,))
    return await reply_with_list(
        exchange,
        "lead_import_errors",
        parameters,
        paging=paging,
        columns=columns or LEAD_IMPORT_ERROR_COLUMNS,
        read=partial(exchange.services.imports.errors, exchange.company_id, wanted),
        view=lambda row: lead_import_error_view(row, columns),
    )


async def create(exchange: Exchange) -> Reply:
    """Store a file, whose lines are checked and sent from then on."""
    parameters = Parameters(exchange.fields)
    parameters.require("lead_token")
    file = _file(parameters)
    form = parameters.choice("format", FORMATS) or "csv"
    encoding = parameters.text("encoding") or "utf-8"
    mapping = parameters.read("mapping", _mapping) or {}
    is_dry, again = parameters.flag("dry_run") is True, parameters.flag("again") is True
    if is_dry and again:
        parameters.refuse("again", "does nothing in a dry run; leave it out")
    consent = {
        "text": parameters.read("consent_text", partial(parse_text, most=TEXT_MAX)),
        "url": parameters.read("consent_url", parse_form_url),
    }
    parameters.finish()
    target = await exchange.target(exchange.fields["lead_token"])
    stated = {name: value for name, value in consent.items() if value}
    upload = _upload(exchange, target, file, (form, encoding, mapping), stated, is_dry=is_dry)
    plan = await _opened(exchange, upload, parameters)
    newest = None if is_dry else await exchange.services.imports.newest_of(exchange.company_id, upload.digest)
    if newest is not None and not again:
        return _shown(exchange, newest, first_lead=plan[1])
    if newest is not None and newest["ended_at"] is None:
        parameters.refuse("again", f"cannot be while import {newest['id']} of the same file has not ended")
        parameters.finish()
    number = 1 if newest is None else newest["number"] + 1
    numbered = structs.replace(
        upload, number=number, columns=plan[0], lead_import_id=None if is_dry else _lead_import_id(upload.digest, number)
    )
    try:
        row = await exchange.services.imports.create(numbered)
    except TooManyJobsError:
        raise too_many_open("imports") from None
    return _shown(exchange, row, status=201, first_lead=plan[1])


async def cancel(exchange: Exchange) -> Reply:
    """Send no further line of an import; what was sent is decided all the same."""
    found = await _import(exchange)
    Parameters(exchange.fields).finish()
    await exchange.services.imports.cancel(exchange.company_id, found["id"], exchange.now)
    return _shown(exchange, await _import(exchange))


def _file(parameters: Parameters) -> bytes:
    """Return the bytes of the file; faults are added to the parameters."""
    given = {name: parameters.fields.get(name) for name in ("content", "content_base64")}
    given = {name: value for name, value in given.items() if not is_blank(value)}
    for name, value in given.items():
        if not isinstance(value, str):
            parameters.refuse(name, "must be text")
    if len(given) != 1:
        parameters.refuse("content", "must be the text of the file; content_base64 takes its place, such as for XLSX")
    if parameters.errors.keys() & {"content", "content_base64"}:
        return b""
    if "content" in given:
        return str(given["content"]).encode()
    try:
        return b64decode(str(given["content_base64"]), validate=True)
    except (Base64Error, ValueError):
        parameters.refuse("content_base64", "must be the file in base64 (RFC 4648, section 4), without line breaks")
        return b""


def _mapping(value: Any) -> dict[str, str]:
    """Return the use of each column that is named. Raises `FieldError`."""
    given = json_object(value) if isinstance(value, str) else value
    if not isinstance(given, Mapping) or len(given) > COLUMNS_MAX:
        raise FieldError(f'must be an object of at most {COLUMNS_MAX} columns, such as {{"phone": "caller_id"}}')
    try:
        return read_typed(f"{column}={_field(field)}" for column, field in given.items())
    except ImportFileError as error:
        raise FieldError(f"cannot be used: {in_words_of_http(error)}") from None


def _field(value: Any) -> str:
    if value is None:
        return LEFT_OUT
    if not isinstance(value, str) or "=" in value:
        raise FieldError("must give each column a field or token by its name, or null to leave it out")
    return value


def _upload(
    exchange: Exchange,
    target: TokenTarget,
    file: bytes,
    read_as: tuple[str, str, dict[str, str]],
    consent: Mapping[str, str],
    *,
    is_dry: bool,
) -> NewLeadImport:
    form, encoding, mapping = read_as
    lead_token = str(exchange.fields["lead_token"]).strip()
    source, facts = ImportFile(Path(), cast("Format", form), encoding), FileFacts(hashlib.sha256(file).hexdigest(), 0)
    return NewLeadImport(
        company_id=exchange.company_id,
        digest=import_id(source, facts, mapping, lead_token, consent),
        number=1,
        dry_run=is_dry,
        created_at=exchange.now,
        lead_token=lead_token,
        offer_id=target.offer_id,
        schedule_id=target.schedule_id,
        format=form,
        encoding=encoding,
        mapping=mapping,
        columns={},
        lead_import_id=None,
        file=file,
        key_id=exchange.key.key_id,
        user_email=exchange.key.user_email,
        address=exchange.address,
        consent=consent,
    )


async def _opened(
    exchange: Exchange, upload: NewLeadImport, parameters: Parameters
) -> tuple[dict[str, str | None], dict[str, Any]]:
    """Return what each column becomes, and the first lead. Raises `ProblemError` where the file cannot be imported."""
    try:
        files, rules = exchange.services.files, exchange.services.source.rules
        return await files.run(exchange.company_id, exchange.request.receive, _preview(files, upload, rules))
    except ImportFileError as error:
        parameters.refuse("content", f"cannot be imported: {in_words_of_http(error)}")
    except (LookupError, UnicodeError):
        parameters.refuse("encoding", f"is not that of {FILE_NAME}; send one such as utf-8, cp1252 or mixed")
    parameters.finish()
    raise AssertionError  # finish has raised


async def _preview(files: FileWork, upload: NewLeadImport, rules: Rules) -> tuple[dict[str, str | None], dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        source = await write_upload(Path(folder), upload.file, upload.format, upload.encoding)
        plan = await files.call(open_upload, source, upload, rules)
        found = await files.call(sample, plan)
        columns = {use.column: f"data.{use.field}" if use.use == "token" else use.field for use in plan.mapping.uses}
        return columns, {name: value for name, value in found.items() if name != "lead_token"}


def _lead_import_id(digest: str, number: int) -> int:
    return ImportProgress(id=digest, number=number).lead_import_id


async def _import(exchange: Exchange) -> Row:
    """Return the import in the path. Raises `ProblemError` not_found."""
    reference = read_id(exchange.path["id"])
    if isinstance(reference, int):
        wanted = LeadImportFilter(ids=(reference,), user_email=own_jobs_of(exchange))
        page = await exchange.services.imports.imports(exchange.company_id, wanted, Paging(per_page=1, counted=False))
        if page.rows:
            return page.rows[0]
    raise not_found("import")


def _shown(exchange: Exchange, row: Mapping[str, Any], *, status: int = 200, **more: Any) -> Reply:
    return reply_with_record(exchange, "lead_import", lead_import_view(row), status=status, **more)


_PATH = "/api/v1/lead_imports"
_ONE = one_of("lead_import", "LeadImport")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_lead_imports",
        methods=("GET",),
        path=_PATH,
        summary="List imports of uploaded files",
        handler=index,
        scope="lead_import:read",
        leads="visible",
        parameters={**LIST_PARAMETERS, "dry_run": "true: dry runs; false: the others"},
        types={"dry_run": BOOLEAN},
        answer=many_of("lead_imports", "LeadImport"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="create_lead_import",
        methods=("POST",),
        path=_PATH,
        summary="Upload a file of leads",
        handler=create,
        scope=IMPORT,
        leads="visible",
        rate="write",
        safe=False,
        body_bytes_max=UPLOAD_BYTES_MAX,
        parameters={
            "lead_token": "lead token of the offer or schedule that the leads are for",
            "content": f"the file as text, of at most {LINES_MAX} lines",
            "content_base64": "the file in base64, in place of content: for XLSX, and for CSV in another encoding",
            "format": "of the file; default csv",
            "encoding": "of a CSV file in base64; default utf-8",
            "mapping": "column of the file -> field or token of the lead; null leaves it out",
            "consent_text": "words of the form by which the leads of the file consented that state no consent of their own",
            "consent_url": "where that form is",
            "dry_run": "true: check every line and send none",
            "again": "true: import a file once more that was imported already",
        },
        types={
            "content": text(UPLOAD_BYTES_MAX),
            "content_base64": {"type": "string", "contentEncoding": "base64", "maxLength": UPLOAD_BYTES_MAX},
            "format": choice(FORMATS),
            "encoding": text(TEXT_LENGTH_MAX),
            "mapping": {
                "type": "object",
                "maxProperties": COLUMNS_MAX,
                "additionalProperties": {"type": ["string", "null"]},
            },
            "consent_text": text(TEXT_MAX),
            "consent_url": {**text(URL_LENGTH_MAX), "pattern": "^https?://"},
            "dry_run": BOOLEAN,
            "again": BOOLEAN,
        },
        required=("lead_token",),
        answer=one_of("lead_import", "LeadImport", first_lead={"type": "object"}),
        created=True,
        problems=("unknown_lead_token",),
        has_result=False,
    ),
    Operation(
        name="show_lead_import",
        methods=("GET",),
        path=f"{_PATH}/{{id}}",
        summary="Show an import and how far it is",
        handler=show,
        scope="lead_import:read",
        leads="visible",
        parameters=BARE,
        answer=_ONE,
    ),
    Operation(
        name="list_lead_import_errors",
        methods=("GET",),
        path=f"{_PATH}/{{id}}/errors",
        summary="List what is wrong with the lines of an import, and warnings",
        handler=errors,
        scope="lead_import:read",
        leads="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in ("page", "per_page", "cursor", "columns", "root")},
            "severity": "error: of lines that were not sent; warning: of lines that were",
        },
        types={"severity": choice(SEVERITIES)},
        answer=many_of("lead_import_errors", "LeadImportError"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="cancel_lead_import",
        methods=("POST",),
        path=f"{_PATH}/{{id}}/cancel",
        summary="Cancel an import",
        handler=cancel,
        scope="lead_import:cancel",
        leads="visible",
        rate="write",
        safe=False,
        parameters=BARE,
        answer=_ONE,
        has_result=False,
    ),
)
