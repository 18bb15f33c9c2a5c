"""How does a person read the documents? Two pages, rendered here once, without a script and without the internet.

Everything on them is taken from the OpenAPI and AsyncAPI documents, so that page and document never differ. The problem
catalogue is what `type` of a problem leads to.
"""

import re
from collections.abc import Iterable, Mapping
from html import escape
from shlex import quote
from typing import Any
from urllib.parse import quote as in_path
from urllib.parse import urlencode

import msgspec

from adapters.http.problems import DOCUMENTATION_PATH
from schemas.instant import DAY
from schemas.problems import PROBLEMS

_STYLE = """
:root{--ink:#1b1f24;--soft:#57606a;--line:#d8dee4;--ground:#fff;--shade:#f6f8fa;--link:#0a58ca;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa4ae;--line:#30363d;--ground:#0d1117;--shade:#161b22;
--link:#79b8ff}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.5 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--ground);display:grid;
grid-template-columns:17rem minmax(0,1fr)}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1.5rem 1rem;border-right:1px solid var(--line);font-size:14px}
nav summary{font-weight:600;padding:.2rem 0}nav a{display:block;padding:.15rem 0 .15rem 1rem;overflow-wrap:anywhere}
main{max-width:62rem;padding:1.5rem 2rem 6rem;min-width:0}
h1{margin:.2rem 0 1rem}h2{margin:3rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}
h4{margin:1.2rem 0 .3rem;font-size:14px;color:var(--soft)}
code,pre{font:13.5px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}
pre{background:var(--shade);border:1px solid var(--line);border-radius:6px;padding:.7rem .9rem;overflow-x:auto;
white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer}
.op{border:1px solid var(--line);border-radius:8px;margin:.5rem 0}
.op>summary{padding:.5rem .8rem;display:flex;flex-wrap:wrap;gap:.2rem .7rem;align-items:baseline;list-style:none}
.op>summary::-webkit-details-marker{display:none}.op[open]>summary{border-bottom:1px solid var(--line)}
.op>summary>code{overflow-wrap:anywhere}.op>summary>span:not(.m){color:var(--soft)}
.op>div{padding:.3rem .8rem .8rem;scroll-margin-top:3rem}
.m{font:600 12px/1.6 ui-monospace,monospace;border-radius:4px;padding:0 .45rem;color:#fff;background:#57606a}
.GET{background:#1a7f37}.POST{background:#0a58ca}.PUT,.PATCH{background:#9a6700}.DELETE{background:#b3261e}
.receive{background:#1a7f37}.send{background:#0a58ca}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14.5px}
td,th{text-align:left;padding:.3rem .8rem .3rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
td:first-child{white-space:nowrap;width:1%}td:nth-child(2){min-width:7rem}td:last-child{min-width:12rem}
.req{color:#b3261e;font-size:12px}tr:target{background:var(--shade);outline:2px solid var(--link)}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto;max-height:40vh;border-right:0;
border-bottom:1px solid var(--line)}main{padding:1rem 1rem 4rem}
thead{display:none}table,tbody,tr{display:block}tr{border-bottom:1px solid var(--line);padding:.35rem 0}
td,td:first-child{display:inline;border:0;width:auto;white-space:normal;overflow-wrap:break-word;padding:0 .7rem 0 0}
td:last-child{display:block}}
"""

_METHODS = ("get", "post", "put", "patch", "delete", "head")

_BIG_LETTER = re.compile(r"(?<=[a-z])(?=[A-Z])")

_KEYS = "PUBLIC_KEY:PRIVATE_KEY"

Document = Mapping[str, Any]


def interface_page(document: Document) -> bytes:
    """Return the page of an OpenAPI document."""
    reader = Reader(document)
    rows = [
        (path, method, entry[method])
        for path, entry in document["paths"].items()
        for method in _METHODS
        if method in entry and not path.endswith((".csv", ".json"))
    ]
    tags = [tag["name"] for tag in document["tags"]]
    by_tag = {tag: [row for row in rows if row[2]["tags"] == [tag]] for tag in tags}
    menu = "".join(
        f"<details><summary>{escape(_words(tag))}</summary>{''.join(_menu_line(*row) for row in found)}</details>"
        for tag, found in by_tag.items()
    )
    sections = "".join(
        f"<h2 id='tag-{tag}'>{escape(_words(tag))}</h2>{''.join(_operation(reader, *row) for row in found)}"
        for tag, found in by_tag.items()
    )
    body = (
        f"<h1>leadclock API {escape(document['info']['version'])}</h1>{_prose(document['info']['description'])}"
        f"<p>The same for programs: <a href='{DOCUMENTATION_PATH}/openapi.json'>OpenAPI 3.1</a>. "
        f"Leads over Kafka, and everything else on topics: <a href='{DOCUMENTATION_PATH}/events'>the topics</a>.</p>"
        f"{sections}{_catalogue()}{_shapes(reader)}"
    )
    more = "<a href='#problems'>Problems</a><a href='#shapes'>Records and types</a>"
    return _page("leadclock API 1.0", f"{menu}{more}<a href='{DOCUMENTATION_PATH}/events'>Topics</a>", body)


def events_page(document: Document) -> bytes:
    """Return the page of an AsyncAPI document."""
    reader = Reader(document)
    channels = document["channels"]
    actions: dict[str, list[str]] = {name: [] for name in channels}
    for operation in document["operations"].values():
        actions[operation["channel"]["$ref"].rpartition("/")[2]].append(operation["action"])
    sections = "".join(_channel(reader, name, channel, actions[name]) for name, channel in channels.items())
    menu = "".join(f"<a href='#{name}'>{escape(name)}</a>" for name in channels)
    body = (
        f"<h1>leadclock topics {escape(document['info']['version'])}</h1>{_prose(document['info']['description'])}"
        "<p>Records are CloudEvents 1.0 in binary mode: attributes are headers (<code>ce_id</code>, <code>ce_type</code>),"
        " the value is JSON unless it says otherwise. "
        f"The same for programs: <a href='{DOCUMENTATION_PATH}/asyncapi.json'>AsyncAPI 3.0</a>. "
        f"Over HTTP: <a href='{DOCUMENTATION_PATH}'>the API</a>.</p>{sections}{_shapes(reader)}"
    )
    return _page("leadclock topics", f"{menu}<a href='#shapes'>Types</a><a href='{DOCUMENTATION_PATH}'>HTTP API</a>", body)


class Reader:
    """The document, and how a schema of it is told in a few words."""

    def __init__(self, document: Document) -> None:
        self.schemas: Mapping[str, Any] = document["components"]["schemas"]
        self.messages: Mapping[str, Any] = document["components"].get("messages", {})

    def told(self, schema: Any, depth: int = 0) -> str:
        """Return a type in words, with links to what has a name; HTML."""
        if not isinstance(schema, Mapping) or depth > 3:  # noqa: PLR2004 - deeper is read at the type itself
            return "any"
        if "$ref" in schema:
            return self._named(schema["$ref"], depth)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return " or ".join(dict.fromkeys(self.told(part, depth + 1) for part in schema[several]))
        if "enum" in schema or "const" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            return ", ".join(f"<code>{escape(_plain(value))}</code>" for value in values)
        return self._plain_type(schema, depth)

    def _named(self, reference: str, depth: int) -> str:
        _, _, path = reference.partition("#/components/schemas/")
        name, _, inner = path.partition("/properties/")
        if inner:
            return self.told(self.schemas[name]["properties"][inner], depth + 1)
        label = _BIG_LETTER.sub(" ", name.removesuffix("Input")).lower() if name.endswith("Input") else name
        return f"<a href='#type-{escape(name)}'>{escape(label)}</a>"

    def _plain_type(self, schema: Mapping[str, Any], depth: int) -> str:
        kinds = schema.get("type", "any")
        words = []
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if kind == "array":
                words.append(f"list of {self.told(schema.get('items', {}), depth + 1)}")
            else:
                words.append({"integer": "whole number", "object": "object", "string": "text"}.get(kind, str(kind)))
        told = " or ".join(words)
        return f"{told} ({escape(schema['format'])})" if "format" in schema else told


def _page(title: str, menu: str, body: str) -> bytes:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><nav aria-label='Contents'>{menu}</nav><main>{body}</main></body></html>"
    ).encode()


def _words(tag: str) -> str:
    return tag.replace("_", " ").capitalize()


def _prose(text: str) -> str:
    parts = escape(" ".join(text.split())).split("`")
    return f"<p>{''.join(f'<code>{part}</code>' if place % 2 else part for place, part in enumerate(parts))}</p>"


def _menu_line(path: str, method: str, operation: Document) -> str:
    return f"<a href='#{operation['operationId']}'><b>{method.upper()}</b> {escape(path.removeprefix('/api/v1'))}</a>"


def _operation(reader: Reader, path: str, method: str, operation: Document) -> str:
    fields = [
        _field_row(
            reader, field["name"], field["schema"], field.get("description", ""), where=field["in"], must=field["required"]
        )
        for field in operation["parameters"]
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields += [
        _field_row(reader, name, schema, schema.get("description", ""), where="body", must=name in body.get("required", ()))
        for name, schema in body.get("properties", {}).items()
    ]
    table = _table(("field", "type", "in", "meaning"), fields) if fields else ""
    shown = method.upper()
    return (
        # The anchor is inside: a browser opens what it jumps into.
        f"<details class='op'><summary><span class='m {shown}'>{shown}</span>"
        f"<code>{escape(path)}</code> <span>{escape(operation['summary'])}</span></summary>"
        f"<div id='{operation['operationId']}'>{_who(operation)}{table}"
        f"<h4>Example</h4><pre>{escape(_curl(path, method, operation))}</pre>"
        f"<h4>Answers</h4>{_answers(reader, operation)}</div></details>"
    )


def _who(operation: Document) -> str:
    schemes = operation["security"]
    if schemes == [{}]:
        return "<p>Open to everybody.</p>"
    return "<p>With a lead token, or a key.</p>" if {} in schemes else "<p>With a key.</p>"


def _field_row(reader: Reader, name: str, schema: Any, text: str, *, where: str, must: bool) -> str:
    required = " <span class='req'>required</span>" if must else ""
    return (
        f"<tr><td><code>{escape(name)}</code>{required}</td><td>{reader.told(schema)}</td><td>{where}</td>"
        f"<td>{escape(text)}</td></tr>"
    )


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    line = "".join(f"<th>{head}</th>" for head in heads)
    return f"<div class='scroll'><table><thead><tr>{line}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _answers(reader: Reader, operation: Document) -> str:
    rows = []
    for status, answer in operation["responses"].items():
        content = answer.get("content", {})
        schema = content.get("application/json", {}).get("schema")
        told = (
            escape(answer["description"]) if schema is None else f"{escape(answer['description'])}: {_root(reader, schema)}"
        )
        if "application/problem+json" in content:
            told = _codes(content["application/problem+json"]["schema"])
        rows.append(f"<tr><td>{status}</td><td>{told}</td></tr>")
    return _table(("status", "content"), rows)


def _codes(schema: Document) -> str:
    codes = schema["allOf"][1]["properties"]["code"]["enum"]
    return ", ".join(f"<a href='#{code}'><code>{code}</code></a>" for code in codes)


def _root(reader: Reader, schema: Document) -> str:
    """Return what an answer holds: the record under its root."""
    envelope = schema["anyOf"][0] if "anyOf" in schema else schema
    properties = envelope.get("properties", {})
    inner = {name: part for name, part in properties.items() if name not in {"status", "errors", "metadata"}}
    if not inner:
        return reader.told(schema)
    return "; ".join(f"<code>{escape(name)}</code>: {reader.told(part)}" for name, part in inner.items())


def _curl(path: str, method: str, operation: Document) -> str:
    shown, query = path, {}
    for field in operation["parameters"]:
        if field["in"] == "path":
            shown = shown.replace(
                f"{{{field['name']}}}", in_path(str(field.get("example", f"<{field['name']}>")), safe="+<>")
            )
        elif "example" in field:
            query[field["name"]] = field["example"]
    address = f"$LEADCLOCK{shown}" + (f"?{urlencode(query)}" if query else "")
    parts = [f'curl -s "{address}"']
    if method != "get":
        parts.append("--head" if method == "head" else f"-X {method.upper()}")
    if {} not in operation["security"]:
        parts.append(f"-u {_KEYS}")
    example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    if example:
        text = msgspec.json.format(msgspec.json.encode(example), indent=2).decode()
        parts += ["-H 'Content-Type: application/json'", f"-d {quote(text)}"]
    return " \\\n  ".join(parts)


def _catalogue() -> str:
    rows = [
        f"<tr id='{code}'><td><code>{code}</code></td><td>{row.status}</td><td>{escape(row.title)}</td>"
        f"<td>{'yes' if row.retryable else ''}</td></tr>"
        for code, row in PROBLEMS.items()
    ]
    return (
        "<h2 id='problems'>Problems</h2><p>Errors are <code>application/problem+json</code> (RFC 9457). <code>code</code> "
        "is stable and meant for programs; <code>errors</code> names every bad field at once, each with sentences that say "
        "how to mend it; <code>retryable</code> says whether the same request may succeed later.</p>"
        f"{_table(('code', 'status', 'meaning', 'retry'), rows)}"
    )


def _shapes(reader: Reader) -> str:
    shown = "".join(_shape(reader, name, schema) for name, schema in sorted(reader.schemas.items()))
    return f"<h2 id='shapes'>Records and types</h2>{shown}"


def _shape(reader: Reader, name: str, schema: Document) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    rows = [
        f"<tr><td><code>{escape(field)}</code>{' <span class=req>always</span>' if field in required else ''}</td>"
        f"<td>{reader.told(part)}</td><td>{escape(part.get('description', ''))}</td></tr>"
        for field, part in properties.items()
    ]
    table = _table(("field", "type", "meaning"), rows) if rows else f"<p>{reader.told(schema)}</p>"
    text = schema.get("description", "")
    return (
        f"<details class='op'><summary><code>{escape(name)}</code> "
        f"<span>{escape(schema.get('title', '') if schema.get('title') != name else '')}</span></summary>"
        f"<div id='type-{escape(name)}'>{_prose(text) if text else ''}{table}</div></details>"
    )


def _channel(reader: Reader, name: str, channel: Document, actions: Iterable[str]) -> str:
    messages = "".join(_message(reader, key) for key in channel["messages"])
    badges = "".join(f"<span class='m {action}'>{action}s</span> " for action in actions)
    settings = channel["bindings"]["kafka"]["topicConfiguration"]
    told = ", ".join(_setting(key, value) for key, value in settings.items())
    return (
        f"<h2 id='{escape(name)}'>{escape(name)}</h2><p>{badges}</p>{_prose(channel['description'])}"
        f"<p><code>{escape(told)}</code></p>{messages}"
    )


def _setting(name: str, value: Any) -> str:
    if name == "retention.ms":
        return f"kept for {value // DAY} days"
    return f"{name} {','.join(value) if isinstance(value, list) else _plain(value)}"


def _message(reader: Reader, key: str) -> str:
    message = reader.messages[key]
    payload = message.get("payload", {})
    name = payload.get("$ref", "").rpartition("/")[2]
    shown = reader.told(payload) if name else escape(message.get("summary", "the bytes as they were"))
    kind = message.get("contentType", "application/json")
    return f"<p><code>{escape(message['name'])}</code>: {shown} <span style='color:var(--soft)'>{escape(kind)}</span></p>"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
