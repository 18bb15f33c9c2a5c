"""Which fields does a body of XML hold? Elements nest as objects of JSON do; those that come several times make a list.

An element with attributes is an object of them, with its text as `value`; a part of a name (`<name part="first">`, as ADF
1.0 of car dealers writes it) becomes `first_name`. The parser takes no entities, document types or references to files.
"""

from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from schemas.errors import SenderError

DEPTH_MAX = 16
"""Elements in each other: as in JSON."""


class XmlBodyError(SenderError):
    """The body is no XML that can be read; the message is a sentence."""


def read_xml(body: bytes) -> dict[str, Any]:
    """Return the fields of a body, under the name of its outermost element. Raises `XmlBodyError`."""
    try:
        root = fromstring(body, forbid_dtd=True)
    except DefusedXmlException as error:
        raise XmlBodyError("The XML declares a document type or an entity; send it without.") from error
    except (ParseError, ValueError) as error:
        raise XmlBodyError(f"The XML cannot be read: {error}.") from error
    return fields_of(root)


def fields_of(element: Element) -> dict[str, Any]:
    """Return the fields of an element, under its name. Raises `XmlBodyError`."""
    return {_name(element): _value(element, 1)}


def _value(element: Element, depth: int) -> Any:
    if depth > DEPTH_MAX:
        raise XmlBodyError(f"The XML has more than {DEPTH_MAX} elements in each other.")
    text = (element.text or "").strip()
    fields: dict[str, Any] = {_plain(name): value for name, value in element.attrib.items() if name != "part"}
    for child in element:
        name, value = _name(child), _value(child, depth + 1)
        if name not in fields:
            fields[name] = value
        elif isinstance(fields[name], list):
            fields[name].append(value)
        else:
            fields[name] = [fields[name], value]
    if not fields:
        return text
    return {**fields, "value": text} if text else fields


def _name(element: Element) -> str:
    name, part = _plain(element.tag), element.get("part")
    return f"{part}_{name}" if part else name


def _plain(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition("}")[2]
