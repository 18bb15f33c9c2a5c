"""How is an example sent from code? As a curl command, and in JavaScript with fetch."""

from shlex import quote
from typing import Any
from urllib.parse import quote as in_path
from urllib.parse import urlencode

import msgspec

from adapters.http.document.type_descriptions import Document

_KEYS = "PUBLIC_KEY:PRIVATE_KEY"


def format_example(example: Any) -> str:
    """Return an example as it is shown: text as it is, anything else as indented JSON."""
    if isinstance(example, str):
        return example
    return msgspec.json.format(msgspec.json.encode(example), indent=2).decode()


def _asked(path: str, operation: Document) -> str:
    """Return the path and query of the example."""
    shown, query = path, {}
    for field in operation["parameters"]:
        if field["in"] == "path":
            shown = shown.replace(
                f"{{{field['name']}}}", in_path(str(field.get("example", f"<{field['name']}>")), safe="+<>")
            )
        elif "example" in field and field["in"] == "query":
            value = field["example"]
            query[field["name"]] = ",".join(value) if isinstance(value, list) else value
    return shown + (f"?{urlencode(query, safe=',')}" if query else "")


def _body(operation: Document) -> Any:
    """Return the body of the example, None if it has none."""
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")


def write_fetch_sample(path: str, method: str, operation: Document) -> str:
    """Return the example as JavaScript with fetch."""
    example = _body(operation)
    headers = {} if {} in operation["security"] else {"Authorization": "`Basic ${btoa(key)}`"}
    headers |= {"'Content-Type'": "'application/json'"} if example else {}
    options = [f"method: '{method.upper()}'"] if method != "get" else []
    options += [f"headers: {{ {', '.join(f'{name}: {value}' for name, value in headers.items())} }}"] if headers else []
    if example:
        indented = format_example(example).replace("\n", "\n  ")
        options.append(f"body: JSON.stringify({indented})")
    settings = f", {{\n  {(',' + chr(10) + '  ').join(options)}\n}}" if options else ""
    begin = "" if {} in operation["security"] else f"const key = '{_KEYS}';\n"
    read = "answer.status" if method == "head" else "answer.status, await answer.json()"
    return f"{begin}const answer = await fetch(`{{base}}{_asked(path, operation)}`{settings});\nconsole.log({read});"


def write_curl_sample(path: str, method: str, operation: Document) -> str:
    """Return the example as a curl command."""
    parts = [f'curl -s "$LEADCLOCK{_asked(path, operation)}"']
    if method != "get":
        parts.append("--head" if method == "head" else f"-X {method.upper()}")
    if {} not in operation["security"]:
        parts.append(f"-u {_KEYS}")
    example = _body(operation)
    if example:
        parts += ["-H 'Content-Type: application/json'", f"-d {quote(format_example(example))}"]
    return " \\\n  ".join(parts)
