"""How does a person read the documents? Two pages, rendered here once, that need nothing from the internet.

All is there without a script; the one inside filters by words, remembers the base address and the key in the page alone,
and copies.

Everything on them is taken from the OpenAPI and AsyncAPI documents, so that page and document never differ. The problem
catalogue is what `type` of a problem leads to.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
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
.find{position:sticky;top:-1.5rem;z-index:1;background:var(--ground);padding:.2rem 0 .6rem}
input{font:inherit;width:100%;padding:.35rem .6rem;border:1px solid var(--line);border-radius:6px;color:inherit;
background:var(--shade)}
.code{position:relative}.copy{position:absolute;top:.4rem;
right:.4rem;font:12px system-ui;border:1px solid var(--line);border-radius:4px;background:var(--ground);color:var(--soft);
padding:.15rem .5rem;cursor:pointer}
.more{margin:.3rem 0}.more>summary{color:var(--soft);font-size:14px}.more pre{max-height:28rem;overflow:auto}
.hide{display:none!important}.anchor{color:var(--soft);font-size:13px;float:right}.bound{color:var(--soft);font-size:13px}
.req{color:#b3261e;font-size:12px}tr:target{background:var(--shade);outline:2px solid var(--link)}
@media(min-width:50.01rem){#menu>summary{display:none}}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto;max-height:45vh;padding:.8rem 1rem;border-right:0;
border-bottom:1px solid var(--line)}main{padding:1rem 1rem 4rem}
thead{display:none}table,tbody,tr{display:block}tr{border-bottom:1px solid var(--line);padding:.35rem 0}
td,td:first-child{display:inline;border:0;width:auto;white-space:normal;overflow-wrap:break-word;padding:0 .7rem 0 0}
td:last-child{display:block}.in{white-space:nowrap}}
"""

_SCRIPT = """
const find=document.getElementById("find"),tell=document.getElementById("told");
const ops=[...document.querySelectorAll("main .op")].map(o=>[o,o.textContent.toLowerCase()]);
const links=[...document.querySelectorAll("nav a[href^='#']")];
function filter(){const words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);let shown=0;const hidden=new Set();
for(const [o,text] of ops){const fits=words.every(w=>text.includes(w));o.classList.toggle("hide",!fits);shown+=fits;
if(!fits)for(const e of o.querySelectorAll("[id]"))hidden.add("#"+e.id)}
for(const a of links)a.classList.toggle("hide",hidden.has(a.getAttribute("href")));
for(const d of document.querySelectorAll("nav details details")){const some=
[...d.querySelectorAll("a")].some(a=>!a.classList.contains("hide"));
d.classList.toggle("hide",!some);d.open=words.length>0&&some}
for(const s of document.querySelectorAll("main section")){const own=[...s.querySelectorAll(".op")];
s.classList.toggle("hide",own.length>0&&own.every(o=>o.classList.contains("hide")))}
document.getElementById("intro")?.classList.toggle("hide",words.length>0);
tell.textContent=words.length?shown+" of "+ops.length:""}
find.addEventListener("input",filter);
document.addEventListener("keydown",e=>{if(e.key==="/"&&document.activeElement!==find){e.preventDefault();find.focus()}});
document.addEventListener("click",e=>{if(!e.target.matches(".copy"))return;
navigator.clipboard.writeText(e.target.nextElementSibling.textContent).then(()=>{e.target.textContent="copied";
setTimeout(()=>e.target.textContent="copy",1200)})});
for(const b of document.querySelectorAll(".copy"))b.hidden=!navigator.clipboard;
for(const s of document.querySelectorAll(".base"))s.textContent=location.protocol.startsWith("http")?location.origin:"http://127.0.0.1:8080";
const menu=document.getElementById("menu"),phone=matchMedia("(max-width:50rem)");
function fold(){menu.open=!phone.matches}phone.addEventListener("change",fold);fold();
find.closest(".find").classList.remove("hide");
"""
"""Filters operations, types and menu by words; "/" goes to the field. Nothing is asked of any server."""

_FIND = (
    "<div class='find hide'><input id='find' type='search' placeholder='Filter: words, paths, fields' "
    "aria-label='Filter operations'><span id='told' class='bound'></span></div>"
)

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
        f"<section><h2 id='tag-{tag}'>{escape(_words(tag))}</h2>"
        f"{''.join(_operation(reader, *row) for row in found)}</section>"
        for tag, found in by_tag.items()
    )
    prose = "".join(map(_prose, document["info"]["description"].split("\n\n")))
    body = (
        f"<h1>leadclock API {escape(document['info']['version'])}</h1><div id='intro'>{prose}{_begin()}{_schemes(document)}"
        f"<p>The same for programs: <a href='{DOCUMENTATION_PATH}/openapi.json'>OpenAPI 3.1</a>. "
        f"Leads over Kafka, and everything else on topics: <a href='{DOCUMENTATION_PATH}/events'>the topics</a>.</p></div>"
        f"{sections}{_catalogue(document)}{_shapes(reader)}"
    )
    more = "<a href='#keys'>Keys</a><a href='#problems'>Problems</a><a href='#shapes'>Records and types</a>"
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
        self._document = document
        self.schemas: Mapping[str, Any] = document["components"]["schemas"]
        self.messages: Mapping[str, Any] = document["components"].get("messages", {})

    def found(self, part: Document) -> Document:
        """Return what a reference of any kind means, or the part itself."""
        if "$ref" not in part:
            return part
        found: Any = self._document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return found  # type: ignore[no-any-return]

    def told(self, schema: Any, depth: int = 0) -> str:
        """Return a type in words, with links to what has a name; HTML."""
        if not isinstance(schema, Mapping) or depth > 3:  # noqa: PLR2004 - deeper is read at the type itself
            return "any"
        if "$ref" in schema:
            return self._named(schema["$ref"], depth)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return " or ".join(dict.fromkeys(self.told(part, depth + 1) for part in _said_once(schema[several])))
        if "enum" in schema or "const" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            if len(values) > _WORDS_SHOWN:
                listed = ", ".join(f"<code>{escape(_plain(value))}</code>" for value in values)
                return f"<details class='more'><summary>one of {len(values)} words</summary>{listed}</details>"
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
        bounds = ", ".join(_bounds(schema))
        return f"{told} <span class='bound'>{escape(bounds)}</span>" if bounds else told


def _said_once(parts: Iterable[Document]) -> list[Document]:
    """Return the alternatives of a type, without the text of a number: the prose says that numbers may be text."""
    listed = list(parts)
    is_number = any(part.get("type") in ("integer", "number", "boolean") for part in listed)
    is_its_text = [part.get("type") == "string" and {"pattern", "enum"} & part.keys() for part in listed]
    return [part for part, its_text in zip(listed, is_its_text, strict=True) if not (is_number and its_text)]


def _bounds(schema: Document) -> Iterator[str]:
    """Yield what a schema says beside its type, in words."""
    if "format" in schema:
        yield schema["format"]
    if "minimum" in schema and "maximum" in schema:
        yield f"{schema['minimum']:,} to {schema['maximum']:,}"
    if "maxLength" in schema:
        yield f"at most {schema['maxLength']:,} characters"
    if "maxItems" in schema:
        yield f"at most {schema['maxItems']:,}"


_WORDS_SHOWN = 24
"""Words of a choice that are told at once; more are shown where somebody asks for them."""


def _begin() -> str:
    """Return the way to the first accepted lead."""
    return (
        "<h2 id='begin'>The first lead</h2><p>A lead token is enough to submit; it stands on every offer and schedule. "
        "A key is needed to read. <code>make up</code> prints a token, a key, and this line with them.</p>"
        f"{_code(_FIRST)}"
    )


_FIRST = """LEADCLOCK={base}
curl -s $LEADCLOCK/api/v1/leads -H 'Content-Type: application/json' \\
  -d '{"lead_token": "lt_…", "caller_id": "+12125550123", "first_name": "Ada"}'"""


def _code(text: str) -> str:
    base = "<span class='base'>http://127.0.0.1:8080</span>"
    shown = escape(text).replace("{base}", base)
    return f"<div class='code'><button class='copy' type='button' hidden>copy</button><pre>{shown}</pre></div>"


def _schemes(document: Document) -> str:
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_scheme(one))}</td><td>{_marked(one['description'])}</td></tr>"
        for name, one in document["components"]["securitySchemes"].items()
    ]
    return f"<h2 id='keys'>Keys</h2>{_table(('scheme', 'where', 'holds'), rows)}"


def _scheme(scheme: Document) -> str:
    if scheme["type"] == "http":
        return f"Authorization: {scheme['scheme'].capitalize()} …"
    return f"{scheme['in']}: {scheme['name']}"


def _page(title: str, menu: str, body: str) -> bytes:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><nav aria-label='Contents'>{_FIND}<details id='menu' open>"
        f"<summary>Contents</summary>{menu}</details></nav><main>{body}</main><script>{_SCRIPT}</script></body></html>"
    ).encode()


def _words(tag: str) -> str:
    return tag.replace("_", " ").capitalize()


def _prose(text: str) -> str:
    return f"<p>{_marked(text)}</p>"


def _marked(text: str) -> str:
    parts = escape(" ".join(text.split())).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def _menu_line(path: str, method: str, operation: Document) -> str:
    return f"<a href='#{operation['operationId']}'><b>{method.upper()}</b> {escape(path.removeprefix('/api/v1'))}</a>"


def _operation(reader: Reader, path: str, method: str, operation: Document) -> str:
    body = reader.found(operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
    asked = [
        *(
            (field["name"], field["schema"], field.get("description", ""), field["in"], field["required"])
            for field in operation["parameters"]
        ),
        *(
            (name, schema, schema.get("description", ""), "body", name in body.get("required", ()))
            for name, schema in body.get("properties", {}).items()
        ),
    ]
    # What must be there comes first, headers that may be there last.
    asked.sort(key=lambda row: (not row[4], row[3] == "header"))
    fields = [_field_row(reader, name, schema, text, where=where, must=must) for name, schema, text, where, must in asked]
    table = _table(("field", "type", "in", "meaning"), fields) if fields else ""
    example = _script(path, method, operation)
    shown = method.upper()
    return (
        # The anchor is inside: a browser opens what it jumps into.
        f"<details class='op'><summary><span class='m {shown}'>{shown}</span>"
        f"<code>{escape(path)}</code> <span>{escape(operation['summary'])}</span></summary>"
        f"<div id='{operation['operationId']}'><a class='anchor' href='#{operation['operationId']}'>link</a>"
        f"{_who(operation)}{table}"
        f"<h4>Example</h4>{_code(_curl(path, method, operation))}"
        f"<details class='more'><summary>with fetch</summary>{_code(example)}</details>"
        f"{_shown_answer(operation)}<h4>Answers</h4>{_answers(reader, operation)}</div></details>"
    )


def _who(operation: Document) -> str:
    schemes = operation["security"]
    if schemes == [{}]:
        return "<p>Open to everybody.</p>"
    return "<p>With a lead token, or a key.</p>" if {} in schemes else "<p>With a key.</p>"


def _field_row(reader: Reader, name: str, schema: Any, text: str, *, where: str, must: bool) -> str:
    required = " <span class='req'>required</span>" if must else ""
    return (
        f"<tr><td><code>{escape(name)}</code>{required}</td><td>{reader.told(schema)}</td><td class='in'>{where}</td>"
        f"<td>{escape(text)}</td></tr>"
    )


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    line = "".join(f"<th>{head}</th>" for head in heads)
    return f"<div class='scroll'><table><thead><tr>{line}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _answers(reader: Reader, operation: Document) -> str:
    rows = []
    for status, kept in operation["responses"].items():
        answer = reader.found(kept)
        content = answer.get("content", {})
        schema = content.get("application/json", {}).get("schema")
        told = (
            escape(answer["description"]) if schema is None else f"{escape(answer['description'])}: {_root(reader, schema)}"
        )
        if "application/problem+json" in content:
            told = _codes(content["application/problem+json"]["schema"])
        names = ", ".join(f"<code>{escape(name)}</code>" for name in answer.get("headers", {}) if name != "X-Request-Id")
        rows.append(f"<tr><td>{status}</td><td>{told}</td><td>{names}</td></tr>")
    return _table(("status", "content", "headers"), rows)


def _shown_answer(operation: Document) -> str:
    """Return what the running system answered to the example."""
    content = next(iter(operation["responses"].values())).get("content", {})
    return "".join(
        f"<details class='more'><summary>the answer{' as CSV' if kind == 'text/csv' else ''}</summary>"
        f"<pre>{escape(_written(told['example']))}</pre></details>"
        for kind, told in content.items()
        if "example" in told
    )


def _written(example: Any) -> str:
    if isinstance(example, str):
        return example
    return msgspec.json.format(msgspec.json.encode(example), indent=2).decode()


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


def _script(path: str, method: str, operation: Document) -> str:
    """Return the example as a program has it that knows fetch."""
    example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    headers = {} if {} in operation["security"] else {"Authorization": "`Basic ${btoa(key)}`"}
    headers |= {"'Content-Type'": "'application/json'"} if example else {}
    options = [f"method: '{method.upper()}'"] if method != "get" else []
    options += [f"headers: {{ {', '.join(f'{name}: {value}' for name, value in headers.items())} }}"] if headers else []
    if example:
        text = msgspec.json.format(msgspec.json.encode(example), indent=2).decode()
        indented = text.replace("\n", "\n  ")
        options.append(f"body: JSON.stringify({indented})")
    told = f", {{\n  {(',' + chr(10) + '  ').join(options)}\n}}" if options else ""
    begin = "" if {} in operation["security"] else f"const key = '{_KEYS}';\n"
    read = "answer.status" if method == "head" else "answer.status, await answer.json()"
    return f"{begin}const answer = await fetch(`{{base}}{_asked(path, operation)}`{told});\nconsole.log({read});"


def _curl(path: str, method: str, operation: Document) -> str:
    """Return the example as a command."""
    parts = [f'curl -s "$LEADCLOCK{_asked(path, operation)}"']
    if method != "get":
        parts.append("--head" if method == "head" else f"-X {method.upper()}")
    if {} not in operation["security"]:
        parts.append(f"-u {_KEYS}")
    example = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    if example:
        text = msgspec.json.format(msgspec.json.encode(example), indent=2).decode()
        parts += ["-H 'Content-Type: application/json'", f"-d {quote(text)}"]
    return " \\\n  ".join(parts)


def _catalogue(document: Document) -> str:
    rows = [
        f"<tr id='{code}'><td><code>{code}</code></td><td>{row.status}</td><td>{escape(row.title)}</td>"
        f"<td>{'yes' if row.retryable else ''}</td></tr>"
        for code, row in PROBLEMS.items()
    ]
    example = _written(document["components"]["examples"]["validation_failed"]["value"])
    return (
        "<h2 id='problems'>Problems</h2><p>Errors are <code>application/problem+json</code> (RFC 9457). <code>code</code> "
        "is stable and meant for programs; <code>errors</code> names every bad field at once, each with sentences that say "
        "how to mend it; <code>retryable</code> says whether the same request may succeed later.</p>"
        f"<pre>{escape(example)}</pre>{_table(('code', 'status', 'meaning', 'retry'), rows)}"
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
