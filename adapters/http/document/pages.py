"""How are API and guides shown in a browser? As pages that are rendered once and load nothing from the internet.

They are complete without a script; `page.js` filters by words, fills in the address of the server, and copies. `try.js`
sends an operation of the API's page, with a key that its reader pastes.

What they say of operations and topics comes from the OpenAPI and AsyncAPI documents, so page and document never differ.
The `type` of a problem links to the problem catalogue.
"""

from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from adapters.http.document.code_samples import format_example, write_curl_sample, write_fetch_sample
from adapters.http.document.guides import GUIDES_PATH, show_guide, show_list, show_menu, title_of
from adapters.http.document.type_descriptions import Document, TypeDescriber, format_value
from adapters.http.exchange.headers import COMMON_HEADERS
from adapters.http.exchange.problems import DOCUMENTATION_PATH
from schemas.instant import DAY
from schemas.problems import PROBLEMS

STYLE_PATH = f"{DOCUMENTATION_PATH}/page.css"
SCRIPT_PATH = f"{DOCUMENTATION_PATH}/page.js"
TRY_SCRIPT_PATH = f"{DOCUMENTATION_PATH}/try.js"
ICON_PATH = f"{DOCUMENTATION_PATH}/icon.svg"

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
"""Headers of a page: it runs only its own script, loads nothing from other sites, is in no frame, and sends no referrer."""

INTERFACE_HEADERS: Mapping[str, str] = {
    **HEADERS,
    "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; connect-src 'self'",
}
"""Headers of the page that tries operations: its script asks this server, and no other."""

_FIND = (
    "<div class='find hide'><input id='find' type='search' placeholder='Filter: words, paths, fields' "
    "aria-label='Filter operations'><span id='shown-count' class='bound'></span></div>"
)

_ELSEWHERE = f"<a href='{DOCUMENTATION_PATH}'>HTTP API</a><a href='{GUIDES_PATH}'>Guides</a>"

_METHODS = ("get", "post", "put", "patch", "delete", "head")


def interface_page(document: Document) -> bytes:
    """Return the page of an OpenAPI document."""
    reader = TypeDescriber(document)
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
        f"<p>Guides: {_guides()}, and <a href='{GUIDES_PATH}'>all of them</a>.</p>"
        f"<p>For client generators: <a href='{DOCUMENTATION_PATH}/openapi.json'>OpenAPI 3.1</a>, one way for each thing. "
        f"All that this page says: <a href='{DOCUMENTATION_PATH}/reference.json'>the reference as OpenAPI 3.1</a>. "
        f"Leads over Kafka, and everything else on topics: <a href='{DOCUMENTATION_PATH}/events'>the topics</a>.</p></div>"
        f"{sections}{_catalogue(document)}{_shapes(reader)}"
    )
    more = "<a href='#keys'>Keys</a><a href='#problems'>Problems</a><a href='#shapes'>Records and types</a>"
    menu += f"{more}<a href='{DOCUMENTATION_PATH}/events'>Topics</a><a href='{GUIDES_PATH}'>Guides</a>"
    return _page("leadclock API 1.0", menu, body, scripts=(SCRIPT_PATH, TRY_SCRIPT_PATH))


def events_page(document: Document) -> bytes:
    """Return the page of an AsyncAPI document."""
    reader = TypeDescriber(document)
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
    return _page("leadclock topics", f"{menu}<a href='#shapes'>Types</a>{_ELSEWHERE}", body)


def _guides() -> str:
    """Return links to the guides that most readers of this page need."""
    wanted = {"producers": "how to submit leads", "operators": "how to run it", "auditors": "how to prove what happened"}
    return ", ".join(f"<a href='{GUIDES_PATH}/{name}'>{text}</a>" for name, text in wanted.items())


def _begin() -> str:
    """Return the section about submitting a first lead."""
    return (
        "<h2 id='begin'>The first lead</h2><p>A lead token is enough to submit; every offer and schedule has one. "
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
    return f"<h2 id='keys'>Keys</h2>{_table(('scheme', 'where', 'holds'), rows)}{_TRY}"


_TRY = (
    "<p id='try-note' class='hide'>Open an operation and press <b>Try it</b> to send it to this server with your key. The "
    "key stays in the memory of this page. A change is sent after you type the name of its operation.</p>"
)


def _scheme(scheme: Document) -> str:
    if scheme["type"] == "http":
        return f"Authorization: {scheme['scheme'].capitalize()} …"
    return f"{scheme['in']}: {scheme['name']}"


def guides_page(name: str = "") -> bytes:
    """Return the page of a guide, or the list of all of them."""
    body = show_guide(name) if name else show_list()
    return _page(title_of(name) if name else "Guides", show_menu(name), f"<article>{body}</article>", find="", scripts=())


def _page(title: str, menu: str, body: str, *, find: str = _FIND, scripts: Iterable[str] = (SCRIPT_PATH,)) -> bytes:
    loaded = "".join(f"<script src='{path}' defer></script>" for path in scripts)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<title>{escape(title)}</title><link rel='icon' href='{ICON_PATH}' type='image/svg+xml'>"
        f"<link rel='stylesheet' href='{STYLE_PATH}'></head>"
        f"<body><nav aria-label='Contents'>{find}<details id='menu' open>"
        f"<summary>Contents</summary>{menu}</details></nav><main>{body}</main>"
        f"{loaded}</body></html>"
    ).encode()


def asset(name: str) -> bytes:
    """Return a file of the pages: `page.css`, `page.js` or `try.js`."""
    return files(__package__).joinpath(name).read_bytes()


def icon() -> bytes:
    """Return the icon of the pages: that of the console."""
    return files("adapters.http.console").joinpath("assets", "icon.svg").read_bytes()


def _words(tag: str) -> str:
    return tag.replace("_", " ").capitalize()


def _prose(text: str) -> str:
    return f"<p>{_marked(text)}</p>"


def _marked(text: str) -> str:
    parts = escape(" ".join(text.split())).split("`")
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))


def _menu_line(path: str, method: str, operation: Document) -> str:
    return f"<a href='#{operation['operationId']}'><b>{method.upper()}</b> {escape(path.removeprefix('/api/v1'))}</a>"


def _operation(reader: TypeDescriber, path: str, method: str, operation: Document) -> str:
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
    # Required fields first, optional headers last.
    asked.sort(key=lambda row: (not row[4], row[3] == "header"))
    fields = [_field_row(reader, name, schema, text, where=where, must=must) for name, schema, text, where, must in asked]
    table = _table(("field", "type", "in", "meaning"), fields) if fields else ""
    example = write_fetch_sample(path, method, operation)
    shown = method.upper()
    return (
        # The anchor is inside: a browser opens the element that it jumps into.
        f"<details class='op'><summary><span class='m {shown}'>{shown}</span>"
        f"<code>{escape(path)}</code> <span>{escape(operation['summary'])}</span></summary>"
        f"<div id='{operation['operationId']}'><a class='anchor' href='#{operation['operationId']}'>link</a>"
        f"{_who(operation)}{table}"
        f"<h4>Example</h4>{_code(write_curl_sample(path, method, operation))}"
        f"<details class='more'><summary>with fetch</summary>{_code(example)}</details>"
        f"{_shown_answer(operation)}<h4>Answers</h4>{_answers(reader, operation)}</div></details>"
    )


def _who(operation: Document) -> str:
    schemes = operation["security"]
    if schemes == [{}]:
        return "<p>Open to everybody.</p>"
    return "<p>With a lead token, or a key.</p>" if {} in schemes else "<p>With a key.</p>"


def _field_row(reader: TypeDescriber, name: str, schema: Any, text: str, *, where: str, must: bool) -> str:
    required = " <span class='req'>required</span>" if must else ""
    return (
        f"<tr><td><code>{escape(name)}</code>{required}</td><td>{reader.describe(schema)}</td><td class='in'>{where}</td>"
        f"<td>{escape(text)}</td></tr>"
    )


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    line = "".join(f"<th>{head}</th>" for head in heads)
    return f"<div class='scroll'><table><thead><tr>{line}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _answers(reader: TypeDescriber, operation: Document) -> str:
    rows = []
    for status, kept in operation["responses"].items():
        answer = reader.found(kept)
        content = answer.get("content", {})
        schema = content.get("application/json", {}).get("schema")
        codes = (
            escape(answer["description"]) if schema is None else f"{escape(answer['description'])}: {_root(reader, schema)}"
        )
        if "application/problem+json" in content:
            codes = _codes(content["application/problem+json"]["schema"])
        names = ", ".join(f"<code>{escape(name)}</code>" for name in answer.get("headers", {}) if name not in COMMON_HEADERS)
        rows.append(f"<tr><td>{status}</td><td>{codes}</td><td>{names}</td></tr>")
    return _table(("status", "content", "headers"), rows)


def _shown_answer(operation: Document) -> str:
    """Return the recorded answer to the example."""
    content = next(iter(operation["responses"].values())).get("content", {})
    return "".join(
        f"<details class='more'><summary>the answer{' as CSV' if kind == 'text/csv' else ''}</summary>"
        f"<pre>{escape(format_example(media['example']))}</pre></details>"
        for kind, media in content.items()
        if "example" in media
    )


def _codes(schema: Document) -> str:
    codes = schema["allOf"][1]["properties"]["code"]["enum"]
    return ", ".join(f"<a href='#{code}'><code>{code}</code></a>" for code in codes)


def _root(reader: TypeDescriber, schema: Document) -> str:
    """Return the content of an answer: the record under its root."""
    envelope = schema["anyOf"][0] if "anyOf" in schema else schema
    properties = envelope.get("properties", {})
    inner = {name: part for name, part in properties.items() if name not in {"status", "errors", "metadata"}}
    if not inner:
        return reader.describe(schema)
    return "; ".join(f"<code>{escape(name)}</code>: {reader.describe(part)}" for name, part in inner.items())


def _catalogue(document: Document) -> str:
    rows = [
        f"<tr id='{code}'><td><code>{code}</code></td><td>{row.status}</td><td>{escape(row.title)}</td>"
        f"<td>{'yes' if row.retryable else ''}</td></tr>"
        for code, row in PROBLEMS.items()
    ]
    example = format_example(document["components"]["examples"]["validation_failed"]["value"])
    return (
        "<h2 id='problems'>Problems</h2><p>Errors are <code>application/problem+json</code> (RFC 9457). <code>code</code> "
        "is stable and meant for programs; <code>errors</code> names every bad field at once, each with sentences that say "
        "how to correct it; <code>retryable</code> says whether the same request may succeed later.</p>"
        f"<pre>{escape(example)}</pre>{_table(('code', 'status', 'meaning', 'retry'), rows)}"
    )


def _shapes(reader: TypeDescriber) -> str:
    shown = "".join(_shape(reader, name, schema) for name, schema in sorted(reader.schemas.items()))
    return f"<h2 id='shapes'>Records and types</h2>{shown}"


def _shape(reader: TypeDescriber, name: str, schema: Document) -> str:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    rows = [
        f"<tr><td><code>{escape(field)}</code>{' <span class=req>always</span>' if field in required else ''}</td>"
        f"<td>{reader.describe(part)}</td><td>{escape(part.get('description', ''))}</td></tr>"
        for field, part in properties.items()
    ]
    table = _table(("field", "type", "meaning"), rows) if rows else f"<p>{reader.describe(schema)}</p>"
    text = schema.get("description", "")
    return (
        f"<details class='op'><summary><code>{escape(name)}</code> "
        f"<span>{escape(schema.get('title', '') if schema.get('title') != name else '')}</span></summary>"
        f"<div id='type-{escape(name)}'>{_prose(text) if text else ''}{table}</div></details>"
    )


def _channel(reader: TypeDescriber, name: str, channel: Document, actions: Iterable[str]) -> str:
    messages = "".join(_message(reader, key) for key in channel["messages"])
    badges = "".join(f"<span class='m {action}'>{action}s</span> " for action in actions)
    settings = channel["bindings"]["kafka"]["topicConfiguration"]
    shown_settings = ", ".join(_setting(key, value) for key, value in settings.items())
    return (
        f"<h2 id='{escape(name)}'>{escape(name)}</h2><p>{badges}</p>{_prose(channel['description'])}"
        f"<p><code>{escape(shown_settings)}</code></p>{messages}"
    )


def _setting(name: str, value: Any) -> str:
    if name == "retention.ms":
        return f"kept for {value // DAY} days"
    return f"{name} {','.join(value) if isinstance(value, list) else format_value(value)}"


def _message(reader: TypeDescriber, key: str) -> str:
    message = reader.messages[key]
    payload = message.get("payload", {})
    name = payload.get("$ref", "").rpartition("/")[2]
    shown = reader.describe(payload) if name else escape(message.get("summary", "the original bytes"))
    kind = message.get("contentType", "application/json")
    line = f"<p><code>{escape(message['name'])}</code>: {shown} <span class='bound'>{escape(kind)}</span></p>"
    return line + "".join(map(_record_example, message.get("examples", ())))


def _record_example(example: Document) -> str:
    """Return an example of a record: its headers, and its value."""
    headers = ", ".join(f"{name}: {value}" for name, value in example["headers"].items())
    return f"<h4>{escape(example['summary'])} Headers {escape(headers)}</h4>{_code(format_example(example['payload']))}"
