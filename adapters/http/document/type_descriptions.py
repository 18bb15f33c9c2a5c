"""How is a type described in a few words? A JSON Schema as a phrase of HTML, with links to named types."""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

import msgspec

Document = Mapping[str, Any]

WORDS_SHOWN = 24
"""Most words of an enumeration that are shown at once; more are behind a disclosure."""

DEPTH_MAX = 3
"""Levels of nested types that are described; deeper ones are shown at the type itself."""

_BIG_LETTER = re.compile(r"(?<=[a-z])(?=[A-Z])")


class TypeDescriber:
    """Describes schemas of one document in a few words."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.schemas: Mapping[str, Any] = document["components"]["schemas"]
        self.messages: Mapping[str, Any] = document["components"].get("messages", {})

    def found(self, part: Document) -> Document:
        """Return the target of a reference, or the part itself if it is none."""
        if "$ref" not in part:
            return part
        found = self._document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return found

    def describe(self, schema: Any, depth: int = 0) -> str:
        """Return a type in words, with links to named types; HTML."""
        if not isinstance(schema, Mapping) or depth > DEPTH_MAX:
            return "any"
        if "$ref" in schema:
            return self._named(schema["$ref"], depth)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return " or ".join(dict.fromkeys(self.describe(part, depth + 1) for part in said_once(schema[several])))
        if "enum" in schema or "const" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            if len(values) > WORDS_SHOWN:
                listed = ", ".join(f"<code>{escape(format_value(value))}</code>" for value in values)
                return f"<details class='more'><summary>one of {len(values)} words</summary>{listed}</details>"
            return ", ".join(f"<code>{escape(format_value(value))}</code>" for value in values)
        return self._plain_type(schema, depth)

    def _named(self, reference: str, depth: int) -> str:
        _, _, path = reference.partition("#/components/schemas/")
        name, _, inner = path.partition("/properties/")
        if inner:
            return self.describe(self.schemas[name]["properties"][inner], depth + 1)
        label = _BIG_LETTER.sub(" ", name.removesuffix("Input")).lower() if name.endswith("Input") else name
        return f"<a href='#type-{escape(name)}'>{escape(label)}</a>"

    def _plain_type(self, schema: Mapping[str, Any], depth: int) -> str:
        kinds = schema.get("type", "any")
        words = []
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind == "array":
                words.append(f"list of {self.describe(schema.get('items', {}), depth + 1)}")
            else:
                words.append({"integer": "whole number", "object": "object", "string": "text"}.get(kind, str(kind)))
        text = " or ".join(words)
        bounds = ", ".join(_bounds(schema))
        return f"{text} <span class='bound'>{escape(bounds)}</span>" if bounds else text


def said_once(parts: Iterable[Document]) -> list[Document]:
    """Return the alternatives of a type, without the text of a number: the prose says that numbers may be text."""
    listed = list(parts)
    is_number = any(part.get("type") in ("integer", "number", "boolean") for part in listed)
    return [part for part in listed if not (is_number and _is_its_text(part))]


def _is_its_text(part: Document) -> bool:
    """Return whether a type is the text form of a number or boolean: an enumeration, or a pattern of digits."""
    if part.get("type") != "string":
        return False
    pattern = part.get("pattern", "")
    return "enum" in part or (pattern.startswith("^") and not any(character.isalpha() for character in pattern))


def _bounds(schema: Document) -> Iterator[str]:
    """Yield the bounds of a schema in words."""
    if "format" in schema:
        yield schema["format"]
    if "minimum" in schema and "maximum" in schema:
        yield f"{schema['minimum']:,} to {schema['maximum']:,}"
    if "maxLength" in schema:
        yield f"at most {schema['maxLength']:,} characters"
    if "maxItems" in schema:
        yield f"at most {schema['maxItems']:,}"


def format_value(value: Any) -> str:
    """Return a value as text, without quotes."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
