"""How is a type described for a program? In one way: a number is a number, each type that has a name is described once.

The reference (`adapters.http.document.openapi`) says everything that is accepted: numbers as text, ids with commas, each
pattern. A generated client needs none of that. What is said here is true of what the reference allows, and short.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from adapters.http.document.type_descriptions import said_once
from adapters.http.schema.inputs import INPUTS, Schema, ref
from engine.submission.fields import INTEGER_MAX, TEXT_LENGTH_MAX

COMPONENT = "#/components/schemas/"

_ID: Schema = {"type": "integer", "format": "int64"}
_INLINE: Mapping[str, Schema] = {
    "BooleanInput": {"type": "boolean"},
    "MomentInput": {"type": "string", "format": "date-time"},
    "LocalMomentInput": {"type": "string"},
    "DecimalInput": {"type": "number"},
    "AmountInput": {"type": "number"},
    "MoneyInput": {"type": "number", "minimum": 0},
    "CapInput": {"type": "number", "minimum": 0},
    "IdInput": _ID,
    "IdsInput": {"type": "array", "items": _ID},
    "WordsInput": {"type": "array", "items": {"type": "string"}},
    "PhoneInput": {"type": "string"},
    "TextInput": {"type": "string", "maxLength": TEXT_LENGTH_MAX},
    "EmailInput": {"type": "string"},
    "LeadTokenInput": {"type": "string"},
    "AddressInput": {"type": "string"},
}
"""Type of a request field -> the one form in which a client sends it."""

_NAMED: Mapping[str, tuple[str, Schema]] = {
    "ZoneInput": (
        "TimeZone",
        {
            "description": "an IANA or Rails name; `GET /api/v1/collections/time_zone` lists them",
            "type": "string",
            "format": "time-zone",
            "examples": ["America/New_York"],
        },
    ),
    "CountryInput": ("Country", INPUTS["CountryInput"]),
    "ReferenceInput": (
        "Reference",
        {"description": INPUTS["ReferenceInput"]["description"], "anyOf": [_ID, {"type": "string"}]},
    ),
    "TokensInput": ("Tokens", {"description": "free fields of a lead", "type": "object", "additionalProperties": True}),
}
"""Type of a request field -> its name and form where it is worth a name."""

ALIASES: Mapping[str, str] = {
    "AccessControlListLeadFilterTokenFilter": "TokenFilter",
    "LeadFilter": "LeadFilters",
    "BusinessHour": "Window",
    **dict.fromkeys(("CallbackReportPivot", "CallbackReportTotal"), "CallbackFigures"),
    **dict.fromkeys(("ScheduledCallbackCategory", "ScheduledCallbackPivot"), "CallbackCategory"),
    "CallReportPivot": "CallFigures",
    "CallReportTotal": "CallFigures",
    "LeadReportPivot": "LeadFigures",
    "Total": "LeadFigures",
    "Category": "LeadCategory",
    "Pivot": "LeadCategory",
    "ContactFieldTypeField": "ContactField",
    "LeadPlanWhyContactReason": "LeadPlanReason",
    "LeadPlanWhyReason": "LeadPlanReason",
    "EndStep": "Step",
    "TriggerField": "TriggerFields",
    **dict.fromkeys(("CallStepRetry", "EmailStepRetry", "SmsStepRetry", "WebhookStepRetry"), "Retries"),
    **dict.fromkeys(("DisabledUntil", "OptOut"), "Moments"),
    **dict.fromkeys(("Column", "Mapping"), "OptionalTexts"),
    **dict.fromkeys(("Header", "MinSpacing", "Outcome", "Query", "Reason"), "Texts"),
    "Refused": "Error",
    **dict.fromkeys(("Earlier", "Later"), "MovedContacts"),
    "ScheduleChangeForecastWhatIfHeld": "Held",
    "ScheduleChangeWindow": "ScheduleWindow",
}
"""Name that a type has by its field -> the name of all types that say the same, but for their sentences and bounds."""

_WORDS_OF_TYPES = frozenset({"description", "maxLength", "maxItems", "minimum", "maximum"})
"""Words that only one of such types may have: what is sent has bounds, and is shown as it was sent."""

_OF_FIELDS: Mapping[str, Schema] = {
    "permissions": {"type": "object", "additionalProperties": ref("Permission")},
}
"""Field -> its form where the reference says of each model which actions and fields there are."""

_KEPT = (
    "description", "type", "format", "enum", "const", "properties", "required", "items", "additionalProperties",
    "minimum", "maximum", "maxLength", "maxItems", "allOf",
)  # fmt: skip
"""Words of a schema that a program can use. A pattern or a default is for readers, who have the reference."""

OBJECT: Schema = {"type": "object", "additionalProperties": True}
"""Any object: without the second word, generators write one without members."""

_WORDS = re.compile(r"[A-Za-z0-9]+")
_LONG = re.compile(r"(^|_)(ids?|cursor|scope)$")
"""Names of fields with numbers of up to 53 bits: where a generator has two kinds of whole numbers, the short one has 32."""

_NULL: Schema = {"type": "null"}
_ADDRESSES = frozenset({"ipv4", "ipv6"})
_UNION_MIN = 3
"""Alternatives from which a union of named types has a name of its own."""


def camel(name: str) -> str:
    """Return `lead_imports` as `LeadImports`."""
    return "".join(word[0].upper() + word[1:] for word in _WORDS.findall(name.replace("_", " ")))


def singular(name: str) -> str:
    """Return the name of one of a list's things."""
    if name.endswith("ies"):
        return name.removesuffix("ies") + "y"
    if name.endswith("uses"):
        return name.removesuffix("es")
    return name if name.endswith(("us", "ss", "is")) else name.removesuffix("s")


class ClientSchemas:
    """Collects the named schemas of a document while its parts are written."""

    def __init__(self, source: Mapping[str, Schema], names: Mapping[str, str]) -> None:
        self._source = source
        self._names = names
        self.found: dict[str, Any] = {}
        self._reserved = {names.get(name, name) for name in source}

    def named(self, name: str) -> Schema:
        """Return a reference to a schema of the reference, and describe it if it is not yet."""
        if name in _INLINE:
            return _INLINE[name]
        if name in _NAMED:
            shown, schema = _NAMED[name]
            self.found.setdefault(shown, dict(schema))
            return ref(shown)
        shown = self._names.get(name, name)
        if shown not in self.found:
            self.found[shown] = {}  # a type may hold itself
            self.found[shown] = self.plain(self._source[name], shown)
        return ref(shown)

    def share(self, schema: Schema, *names: str) -> Schema:
        """Return a reference to a schema under the first name that is free, or that has this schema already."""
        name = next((name for name in names if self._is_free(name, schema)), None)
        if name is None:
            raise ValueError(f"give the type of {names} another name")
        self.found[name] = dict(schema)
        return ref(name)

    def _is_free(self, name: str, schema: Schema) -> bool:
        return self.found[name] == schema if name in self.found else name not in self._reserved

    def write(self, schema: Any, field: str, owner: str) -> Schema:
        """Return a schema in its one form; `field` of `owner` names it where it is shared."""
        if field in _OF_FIELDS:
            schema = {**_OF_FIELDS[field], **_sentence_of(schema)}
        if "$ref" in schema:
            return self._referred(schema, field, owner)
        if "anyOf" in schema or "oneOf" in schema:
            return self._alternatives(schema, field, owner)
        if None in schema.get("enum", ()):
            words = {**schema, "type": "string", "enum": [word for word in schema["enum"] if word is not None]}
            return self._alternatives({"anyOf": [words, _NULL]}, field, owner)
        return self._named_if_worth(self.plain(schema, owner, field), field, owner)

    def plain(self, schema: Schema, owner: str, field: str = "") -> dict[str, Any]:
        """Return a schema with its parts in their one form; its own fields are of `owner` and `field`."""
        plain = _usable(schema)
        if _LONG.search(field) and "integer" in plain.get("type", ""):
            plain["format"] = "int64"
        if "properties" in plain:
            inner = _joined(owner, field)
            plain["properties"] = {name: self.write(part, name, inner) for name, part in plain["properties"].items()}
        for name in ("items", "additionalProperties"):
            if isinstance(plain.get(name), Mapping):
                plain[name] = self.write(plain[name], "" if field in _OF_FIELDS else field, owner)
        if "allOf" in plain:
            plain |= self.write(plain.pop("allOf")[0], field, owner)
        return plain

    def _named_if_worth(self, plain: Schema, field: str, owner: str) -> Schema:
        """Share an enumeration or an object; leave its sentence with the field."""
        if plain.get("type") == ["object", "null"]:
            return {"anyOf": [self._named_if_worth({**plain, "type": "object"}, field, owner), _NULL]}
        if "enum" not in plain and plain.get("type") != "object":
            return plain
        bare = {name: value for name, value in plain.items() if name not in ("description", "examples")}
        if bare in ({"type": "object"}, OBJECT):
            return {**self.share(OBJECT, "Data"), **_sentence_of(plain)}
        if "enum" in bare:
            bare = {"type": "string", "enum": sorted(bare["enum"])}
        names = [name for name in _names_of(field, owner) if self._is_free(name, bare)]
        return {**self.share(bare, *names), **_sentence_of(plain)} if names else plain

    def _referred(self, schema: Schema, field: str, owner: str) -> Schema:
        name, _, inner = schema["$ref"].removeprefix(COMPONENT).partition("/properties/")
        if inner:
            more = {key: value for key, value in schema.items() if key != "$ref"}
            return self.write({**self._source[name]["properties"][inner], **more}, field, owner)
        return {**self.named(name), **_sentence_of(schema)}

    def _alternatives(self, schema: Schema, field: str, owner: str) -> Schema:
        parts = _in_one_form(said_once(schema.get("anyOf") or schema["oneOf"]))
        can_be_null = _NULL in parts
        written: list[Schema] = []
        for part in parts:
            shown = self.write(part, field, owner)
            if part != _NULL and shown not in written:
                written.append(shown)
        if len(written) >= _UNION_MIN and all("$ref" in part for part in written):
            written = [self.share({"anyOf": written}, *_names_of(field, owner))]
        if len(written) == 1:
            return {**_or_null(written[0], can_be_null=can_be_null), **_sentence_of(schema)}
        return {"anyOf": [*written, *([_NULL] if can_be_null else [])], **_sentence_of(schema)}


def _names_of(field: str, owner: str) -> tuple[str, ...]:
    """Return the names that a type may get, the shortest first."""
    return camel(singular(field)), _joined(owner, field), owner + camel(field)


def _joined(owner: str, field: str) -> str:
    """Return the name of one of a field of a type; the reports of a CallReport are CallReports."""
    one = camel(singular(field))
    return owner if owner.endswith(one) else owner + one


def _sentence_of(schema: Schema) -> dict[str, str]:
    return {"description": schema["description"]} if "description" in schema else {}


def _usable(schema: Schema) -> dict[str, Any]:
    """Return of a schema what a program can use."""
    usable = {name: schema[name] for name in _KEPT if name in schema}
    if usable.get("additionalProperties") is False:
        del usable["additionalProperties"]  # a later version may answer with more
    if usable.get("maximum") == INTEGER_MAX:
        del usable["maximum"]
        usable.pop("minimum", None)
        usable["format"] = "int64"
    if not usable.get("required"):
        usable.pop("required", None)
    if "description" in usable:
        usable["description"] = " ".join(usable["description"].split())
    if len(usable.get("enum", ())) == 1:
        usable["const"] = usable.pop("enum")[0]
    if "const" in usable or "enum" in usable:
        usable.setdefault("type", "string")
    return usable


def _in_one_form(parts: list[Any]) -> list[Any]:
    """Return alternatives without those that only say the same otherwise: text as a number, a list as text with commas.

    A network address is text, of either form.
    """
    kinds = {part.get("type") for part in parts}
    if {part.get("format") for part in parts} >= _ADDRESSES:
        return [{"type": "string"}, *(part for part in parts if part == _NULL)]
    if "string" in kinds:
        parts = [part for part in parts if part != {"type": "number"}]
    if "array" in kinds:
        parts = [part for part in parts if part.get("type") != "string" or "pattern" not in part]
    return parts


def _or_null(schema: Schema, *, can_be_null: bool) -> Schema:
    if not can_be_null:
        return schema
    if isinstance(schema.get("type"), str) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, _NULL]}


def drop_unused(document: dict[str, Any]) -> None:
    """Remove the named schemas to which nothing refers, and write an enumeration of one field at the field."""
    schemas = document["components"]["schemas"]
    used = Counter(
        _references([document["paths"], document["components"]["parameters"], document["components"]["responses"]])
    )
    rest = list(used)
    while rest:
        found = list(_references(schemas[rest.pop()]))
        rest.extend(name for name in set(found) if name not in used)
        used.update(found)
    in_types = Counter(_references([schemas[name] for name in used]))
    alone = {name for name in used if "enum" in schemas[name] and used[name] == in_types[name] == 1}
    kept = {name: schemas[name] for name in sorted(used.keys() - alone)}
    document["components"]["schemas"] = _with_parts(kept, {ref(name)["$ref"]: schemas[name] for name in alone})


def unite(document: dict[str, Any]) -> None:
    """Describe once each type that has several names."""
    schemas = document["components"]["schemas"]
    for alias, name in ALIASES.items():
        schemas[name] = _united(schemas.get(name), schemas.pop(alias), alias)
    aliases = {ref(alias)["$ref"]: ref(name) for alias, name in ALIASES.items()}
    for part in ("paths", "components"):
        document[part] = _with_parts(document[part], aliases)


def _united(kept: Any, other: Any, place: str) -> Any:
    """Return a type with the words of both; its name may be an alias too."""
    if kept is None:
        return other
    if isinstance(kept, Mapping) and isinstance(other, Mapping):
        if (kept.keys() ^ other.keys()) - _WORDS_OF_TYPES and "$ref" not in kept:
            raise ValueError(f"{place} says something else than the type that it should be: {kept}, {other}")
        return {**other, **{name: _united(part, other.get(name), f"{place}.{name}") for name, part in kept.items()}}
    if isinstance(kept, list) and isinstance(other, list) and len(kept) == len(other):
        return [_united(one, two, place) for one, two in zip(kept, other, strict=True)]
    return kept


def _references(part: Any) -> Iterator[str]:
    """Yield the name of each schema to which a part of the document refers, as often as it does."""
    if isinstance(part, Mapping):
        reference = part.get("$ref", "")
        if isinstance(reference, str) and reference.startswith(COMPONENT):
            yield reference.removeprefix(COMPONENT)
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _with_parts(part: Any, parts: Mapping[str, Schema]) -> Any:
    """Return a part of the document with schemas in the place of their references."""
    if isinstance(part, list):
        return [_with_parts(inner, parts) for inner in part]
    if not isinstance(part, Mapping):
        return part
    if part.get("$ref") in parts:
        return {**parts[part["$ref"]], **_sentence_of(part)}
    return {name: _with_parts(inner, parts) for name, inner in part.items()}
