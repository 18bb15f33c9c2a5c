"""What does the file of a company look like? YAML or JSON: the company, then its records by type and `external_record_id`.

It has what people decided: no ids, tokens, keys, secrets, usage or times. A field with its default is left out.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from schemas.errors import SenderError

VERSION = 1
"""Of the format; a file says which one it has."""

FILE_BYTES_MAX = 64 * 1024 * 1024
"""A company of ten thousand records of the size of a schedule; a larger file is refused before it is read."""

DEPTH_MAX = 40
"""Lists and objects within each other; a step of a schedule has eight. It bounds what reading a file does."""

COMPANY = "company"

TYPES: Mapping[str, str] = {
    "suppression_list": "suppression_lists",
    "buyer_fleet": "buyer_fleets",
    "call_center": "call_centers",
    "agent_status": "agent_statuses",
    "traffic_source": "traffic_sources",
    "contact_field_type": "contact_field_types",
    "outgoing_webhook": "outgoing_webhooks",
    "rule_pack": "rule_packs",
    "buyer": "buyers",
    "buyer_group": "buyer_groups",
    "agent": "agents",
    "offer": "offers",
    "number": "numbers",
    "ring_pool": "ring_pools",
    "provider_configuration": "provider_configurations",
    "action_group": "action_groups",
    "schedule": "schedules",
    "holiday": "holidays",
    "call_disposition": "call_dispositions",
    "subscription": "subscriptions",
    "access_control_list": "access_control_lists",
}
"""Type -> its collection, in the file and in the API. A record may name those of the types before its own; action groups
and schedules may name schedules too."""

AFTER_COMPANY = "buyer_fleet"
"""Type before which the company's own fields are applied: they name suppression lists."""

Fields = dict[str, Any]


class CompanyFileError(SenderError):
    """The file is not one of a company; the text says where and why."""


class Document(Struct):
    """The company's own fields, and type -> `external_record_id` -> fields."""

    company: Fields = {}
    records: dict[str, dict[str, Fields]] = {}


def write_document(document: Document, *, as_json: bool) -> str:
    """Return the text of a document: the same for the same records, whatever their ids."""
    listed = {
        collection: dict(sorted(document.records[record_type].items()))
        for record_type, collection in TYPES.items()
        if document.records.get(record_type)
    }
    plain = {"format": VERSION, COMPANY: document.company, **listed}
    if as_json:
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
    text: str = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
    return text


def read_document(path: Path) -> Document:
    """Read a file. Raises `CompanyFileError`."""
    plain = _parsed(_text(path))
    if not isinstance(plain, Mapping):
        raise CompanyFileError("the file must hold one object")
    version = plain.get("format")
    if version != VERSION:
        raise CompanyFileError(f"format must be {VERSION}, the version of the format; it is {version!r}")
    known = {"format", COMPANY, *TYPES.values()}
    unknown = [str(name) for name in plain if name not in known]
    if unknown:
        raise CompanyFileError(f"{', '.join(unknown)}: not known; the sections are {', '.join((COMPANY, *TYPES.values()))}")
    company = _fields(plain.get(COMPANY) or {}, COMPANY)
    return Document(company, {record_type: _section(plain, collection) for record_type, collection in TYPES.items()})


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise CompanyFileError(f"the file has more than {FILE_BYTES_MAX} bytes")
        return content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CompanyFileError(f"{path} cannot be read: {error}") from error


def _parsed(text: str) -> Any:
    """Return what YAML, of which JSON is a part, says. Aliases are refused: a few bytes of them make a huge document."""
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise CompanyFileError(f"line {_line(event)}: aliases (*{event.anchor}) are not taken; write it out")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH_MAX:
                raise CompanyFileError(f"line {_line(event)}: more than {DEPTH_MAX} levels")
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise CompanyFileError(f"the file is neither YAML nor JSON: {error}") from error


def _line(part: yaml.Event | yaml.Node) -> int:
    return 1 if part.start_mark is None else part.start_mark.line + 1


class _Loader(yaml.CSafeLoader):
    """Reads YAML as JSON has it: no dates, and a name that stands twice in one object is a fault."""


def _read_once(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    names = [loader.construct_object(name, deep=True) for name, _ in node.value]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise CompanyFileError(f"line {_line(node)}: {twice} stands twice")
    return {name: loader.construct_object(value, deep=True) for name, (_, value) in zip(names, node.value, strict=True)}


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor("tag:yaml.org,2002:map", _read_once)


def _section(plain: Mapping[Any, Any], collection: str) -> dict[str, Fields]:
    section = plain.get(collection) or {}
    if not isinstance(section, Mapping):
        raise CompanyFileError(f"{collection} must be an object: external_record_id -> fields")
    return {str(name): _fields(fields, f"{collection}/{name}") for name, fields in section.items()}


def _fields(fields: Any, place: str) -> Fields:
    if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
        raise CompanyFileError(f"{place} must be an object with fields")
    return dict(fields)
