"""What of the document for programs does a client of a few areas need? Their operations, and all that these refer to.

A generator writes a file for each type, and some for each operation: who submits leads needs no files about buyers.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_REFERENCE = re.compile(r"#/components/([^/]+)/([^/]+)")
_KEPT = "securitySchemes"
"""Schemes of keys: operations name them without a reference."""


def part_of(document: Mapping[str, Any], areas: frozenset[str]) -> dict[str, Any]:
    """Return a document with the operations of areas alone."""
    paths = {path: _of_areas(entry, areas) for path, entry in document["paths"].items()}
    paths = {path: entry for path, entry in paths.items() if any(map(_is_operation, entry.values()))}
    components = document["components"]
    used = _used(paths, components)
    return {
        **document,
        "tags": [tag for tag in document["tags"] if tag["name"] in areas],
        "paths": paths,
        "components": {
            kind: {name: part for name, part in parts.items() if kind == _KEPT or (kind, name) in used}
            for kind, parts in components.items()
        },
    }


def _is_operation(part: Any) -> bool:
    return isinstance(part, Mapping) and "operationId" in part


def _of_areas(entry: Mapping[str, Any], areas: frozenset[str]) -> dict[str, Any]:
    """Return the entry of a path without the operations of other areas."""
    return {name: part for name, part in entry.items() if not _is_operation(part) or not areas.isdisjoint(part["tags"])}


def _used(paths: Mapping[str, Any], components: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the kind and name of every component to which operations, or such components, refer."""
    used: set[tuple[str, str]] = set()
    rest = list(_references(paths))
    while rest:
        kind, name = rest.pop()
        if (kind, name) not in used:
            used.add((kind, name))
            rest.extend(_references(components[kind][name]))
    return used


def _references(part: Any) -> Iterator[tuple[str, str]]:
    if isinstance(part, list):
        for inner in part:
            yield from _references(inner)
    elif isinstance(part, Mapping):
        found = _REFERENCE.fullmatch(str(part.get("$ref", "")))
        if found is not None:
            yield (found[1], found[2])
        for inner in part.values():
            yield from _references(inner)
