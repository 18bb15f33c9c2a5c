"""Is what the documents name there? Links, anchors, paths, `make` targets, and commands with their options.

No command runs: click's own parser reads each one, as the shell would hand it over.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

from adapters.cli.main import cli
from adapters.http.app import OPERATIONS
from adapters.http.exchange.request_metrics import RequestMetrics
from adapters.observability.metrics import Metrics
from engine.contact.consent.opt_out import meaning_of
from schemas.instant import HOUR, MINUTE
from schemas.outcomes import OUTCOMES
from tests.language.files import tracked

ROOT = Path(__file__).parents[2]
TREES = ("adapters", "deploy", "engine", "schemas", "tests", ".ci", ".github")
PAGES = sorted(
    path
    for pattern in ("*.md", *(f"{tree}/**/*.md" for tree in TREES))
    for path in ROOT.glob(pattern)
)  # fmt: skip

COUNTED = ("call", "sms")
"""Steps that count to `max_contact_attempts`."""

PAPERS = re.compile(r"\b(?:research/\w+|(?:design|contracts|seed|domain)\.md)\b")
"""Notes that do not ship: a reader cannot open them."""

SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\((<[^>]*>|(?:[^()\s]|\([^()]*\))+)\)")
LINE = re.compile(r"(\.venv/bin/)?leadclock( |$)")
HEREDOC = re.compile(r"<<'?(\w+)'?\n.*?^\1$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

NUMBERS = {"PARTITION": "3", "OFFSET": "17", "N": "3", "M": "17"}
"""Placeholder -> a value that its option takes; any other placeholder is free text."""

NAMES_ELSEWHERE = {
    "broker.session.timeout.ms": "a setting of Kafka",
    "cause.versions.decision_rules": "a place in a decision",
    "connections.max.reauth.ms": "a setting of Kafka",
    "lead.contact.phone": "a place in what a producer submits",
    "leadclock.gateway.call": "a consumer group, whose first part is a setting",
    "offsets.retention.minutes": "a setting of Kafka",
    "proof.begins_at": "a place in an answer",
    "proof.missing": "a place in an answer",
    "ssl.principal.mapping.rules": "a setting of Kafka",
    "work.deployment": "a table, whose schema is a setting",
}
"""Dotted names that stand in no source file -> what they are; any other is a topic, a fact, a log event or a setting."""

OPTIONS_ELSEWHERE = {
    "--submissions": "python -m deploy.proof",
    "--from": "python -m deploy.proof.upgrade",
    "--kill": "python -m deploy.proof",
    "--situation": "python -m deploy.proof.situations",
    "--commands": "python -m deploy.proof.holds",
    "--strike": "python -m deploy.proof.holds",
}
"""Options that the pages name beside `leadclock` -> whose they are."""


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(params=PAGES, ids=_name)
def page(request: pytest.FixtureRequest) -> Path:
    """Return a document."""
    path = request.param
    assert isinstance(path, Path)
    return path


def inline(text: str) -> list[str]:
    """Return what stands between backquotes, outside of blocks."""
    return [code.replace("\n", " ") for code in INLINE.findall(FENCED.sub("", text))]


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", FENCED.sub("", path.read_text()), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", LINK.sub(lambda link: link[0].split("]")[0], heading).lower()).replace(" ", "-")
        found[slug] = found.get(slug, 0) + 1
    return {slug if time == 0 else f"{slug}-{time}" for slug, times in found.items() for time in range(times)}


def test_every_relative_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(INLINE.sub("", FENCED.sub("", page.read_text()))):
        place, _, anchor = target.strip("<>").partition("#")
        if re.match(r"[a-z][a-z+.-]*:", place):
            continue
        file = (page.parent / place).resolve() if place else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_path_that_a_page_names_exists(page: Path) -> None:
    names = {re.sub(r"(::.*|:\d+)$", "", name) for name in inline(page.read_text())}
    paths = {
        name
        for name in names
        if re.fullmatch(r"[\w.*/-]+", name) and (name.startswith(tuple(f"{top}/" for top in TREES)) or name.endswith(".py"))
    }
    places = [ROOT, page.parent, ROOT / "tests" / "engine"]
    assert {path for path in paths if not any(list(place.glob(path)) for place in places)} == set()


def test_the_map_of_the_folders_names_each_folder_of_the_program() -> None:
    section = (ROOT / "engine/README.md").read_text().partition("## Folders\n")[2].partition("\n## ")[0]
    folders = {"/".join(name.split("/")[:2]) for name in tracked() if re.match(r"(adapters|deploy|engine)/[^/]+/", name)}
    assert folders - set(inline(section)) == set()


def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text()
    lines = [*inline(text), *"\n".join(SHELL.findall(text)).splitlines()]
    named = {match[1] for line in lines if (match := re.match(r"make ([a-z-]+)", line.strip()))}
    assert named - targets == set()


def test_no_page_cites_a_paper_that_does_not_ship(page: Path) -> None:
    assert PAPERS.findall(page.read_text()) == []


def commands(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words behind each `leadclock`, and whether it is to be typed as it stands (else it may lack arguments)."""
    for block in SHELL.findall(text):
        for line in HEREDOC.sub("", block).splitlines():
            if LINE.match(line):
                yield list(_until_the_shell_takes_over(shlex.split(line, comments=True)[1:])), True
    for code in inline(text):
        if LINE.match(code):
            yield shlex.split(code.replace("[", "").replace("]", ""))[1:], False


def _until_the_shell_takes_over(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word in {"&", "|", ">", "&&", "||", ";"}:
            return
        yield word


def parse(words: list[str], *, complete: bool) -> None:
    """Read a command with click's parser. Raises `click.UsageError` naming what does not exist or does not fit."""
    command: click.Command = cli
    context = click.Context(cli, info_name="leadclock")
    rest = [NUMBERS.get(word, word) for word in words]
    if rest[:1] == ["--profile"]:  # the one option that goes before a command
        del rest[:2]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-") and rest[0] != "…":
        name = rest.pop(0)
        found = command.get_command(context, name)
        if found is None:
            raise click.NoSuchOption(name, ctx=context)
        command, context = found, click.Context(found, parent=context, info_name=name)
    if rest == ["…"]:
        return
    values, left, _ = command.make_parser(context).parse_args(rest)
    if left:
        raise click.UsageError(f"has no place for {left}", context)
    for parameter in command.params:
        value = values.get(str(parameter.name))
        if _is_missing(value):
            if complete and parameter.required:
                raise click.MissingParameter(ctx=context, param=parameter)
        elif "…" not in str(value) and value != "FILE":
            parameter.type_cast_value(context, value)


def _is_missing(value: object) -> bool:
    """Return whether the parser gave its mark for a parameter that was not written."""
    return value is None or value == () or type(value).__name__ == "Sentinel"


def test_every_command_that_a_page_names_parses(page: Path) -> None:
    faults = []
    for words, complete in commands(page.read_text()):
        try:
            parse(words, complete=complete)
        except click.UsageError as error:
            faults.append((words, error.format_message()))
    assert faults == []


def options_of(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield every option of a command and of those below it."""
    for parameter in command.get_params(context):
        yield from parameter.opts
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, name
            yield from options_of(below, click.Context(below, parent=context, info_name=name))


def test_every_option_that_a_page_names_belongs_to_a_command() -> None:
    ours = set(options_of(cli, click.Context(cli, info_name="leadclock")))
    named = {
        _name(path): {option for code in inline(path.read_text()) for option in OPTION.findall(code)} - ours
        for path in PAGES
    }
    unknown = {path: options - OPTIONS_ELSEWHERE.keys() for path, options in named.items()}
    assert {path: options for path, options in unknown.items() if options} == {}
    assert OPTIONS_ELSEWHERE.keys() - set().union(*named.values()) == set(), "no page names these any longer"


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "topics nothing",
        "leads send --nothing",
        "topics set-offset --partition x --offset 1",
        "mail extra",
        "keys revoke",
    ],
)
def test_a_command_that_does_not_exist_or_does_not_fit_is_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse(line.split(), complete=True)


def test_the_pages_hold_enough_commands_for_this_to_mean_something() -> None:
    counted = [words for path in PAGES for words, _ in commands(path.read_text())]
    assert len(counted) > 40


def test_the_producers_page_holds_the_default_retries_of_every_outcome_that_may_be_retried() -> None:
    page = (ROOT / "deploy/docs/producers.md").read_text()
    rows = re.findall(r"^\| (call|sms|email|webhook) \| `(\w+)` \| (\w+) \| (\d+) \| (yes|no) \|$", page, re.MULTILINE)
    assert {(kind, name): (_millis(delay), int(most), counts) for kind, name, delay, most, counts in rows} == {
        (kind, name): (row.retry_delay, row.retry_max, "yes" if row.counts_attempt and kind in COUNTED else "no")
        for kind, outcomes in OUTCOMES.items()
        for name, row in outcomes.items()
        if not (row.good or row.opts_out or row.disables_channel)
    }


def _millis(duration: str) -> int:
    return int(duration[:-1]) * {"m": MINUTE, "h": HOUR}[duration[-1]]


def test_every_metric_that_a_page_names_is_served() -> None:
    metrics = Metrics()
    RequestMetrics(metrics.registry)
    text = metrics.text().decode()
    served = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    served |= {f"{name}_bucket" for name in re.findall(r"^# TYPE (\w+) histogram$", text, re.MULTILINE)}
    named = {name for path in PAGES for name in re.findall(r"\bleadclock_[a-z_]+", path.read_text())}
    assert named - served - {"leadclock_"} == set()


def test_every_topic_fact_and_log_event_that_a_page_names_is_in_the_code() -> None:
    code = "\n".join(
        path.read_text()
        for top in ("adapters", "engine", "schemas", "deploy")
        for pattern in ("*.py", "*.sql", "*.json", "*.toml")
        for path in (ROOT / top).rglob(pattern)
    )
    named = {
        name
        for path in PAGES
        for name in inline(path.read_text())
        if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name) and not name.endswith((".py", ".md", ".toml", ".conf"))
    }
    missing = {name for name in named if not re.search(rf"[\"'`\s{{}}]{re.escape(name)}[\"'`\s\\(]", code)}
    assert missing - NAMES_ELSEWHERE.keys() == set()
    assert NAMES_ELSEWHERE.keys() - named == set(), "no page names these any longer"


def test_every_path_of_the_interface_that_a_page_names_is_served() -> None:
    routes = [re.compile(re.sub(r"\{\w+\}", "[^/]+", operation.path) + r"(\.csv|\.json)?/?") for operation in OPERATIONS]
    named = {path.rstrip(".") for page in PAGES for path in re.findall(r"/api/[\w/:.+{}%$-]*", page.read_text())}
    assert len(named) > 20
    assert {path for path in named if not any(route.fullmatch(path) for route in routes)} == set()


def test_every_problem_that_the_operators_page_explains_is_said_by_a_process() -> None:
    page = (ROOT / "deploy/docs/operators.md").read_text()
    table = page.partition("| `problems` | meaning, and what to do |")[2].partition("\n\n")[0]
    said = [re.split(r"…|[(:]", row) for row in re.findall(r"^\| .*?`: (.+?) \|", table, re.MULTILINE)]
    code = "\n".join(path.read_text() for top in ("adapters", "engine") for path in (ROOT / top).rglob("*.py"))
    assert len(said) > 7
    assert [parts for parts in said if not any(part.strip() and part.strip() in code for part in parts)] == []


@pytest.mark.parametrize(
    ("row", "meaning"),
    [("a plain opt-out", "opt_out"), ("doubtful", "unclear"), ("`START`", "opt_in"), ("anything else", "reply")],
)
def test_the_producers_page_reads_texts_as_the_engine_does(row: str, meaning: str) -> None:
    section = (ROOT / "deploy/docs/producers.md").read_text().partition("## How texts are read")[2]
    (line,) = re.findall(rf"^\| {re.escape(row)}.*\|$", section, re.MULTILINE)
    cells = line.strip("| ").split(" | ")
    texts = INLINE.findall(cells[0] if meaning == "opt_in" else cells[2])
    assert len(texts) >= 3
    assert {text: meaning_of(text) for text in texts} == dict.fromkeys(texts, meaning)


def test_every_heading_that_an_error_sends_its_reader_to_exists() -> None:
    named = [
        (page, heading)
        for top in ("adapters", "engine")
        for path in (ROOT / top).rglob("*.py")
        for heading, page in re.findall(r"'([A-Z][^'\n]+)' in (\w+\.md)", path.read_text())
    ]
    assert named
    for page, heading in named:
        assert f"## {heading}\n" in (ROOT / "deploy" / "docs" / page).read_text()


@pytest.mark.parametrize(
    ("page", "heading", "word"),
    [
        ("operators.md", "Webhooks and SSRF", "SSRF"),
        ("operators.md", "Zombie fencing", "zombie"),
        ("operators.md", "Intake and imports", "Backpressure"),
        ("operators.md", "Dead letters", "dead letter"),
        ("operators.md", "Health, lag and metrics", "Lag"),
        ("operators.md", "Rate limits", "per company"),
        ("producers.md", "Idempotency", "Idempotency-Key"),
        ("producers.md", "How fields are read", "E.164"),
        ("producers.md", "Lists, exports and reports", "CSV injection"),
        ("auditors.md", "What a decision holds", "hash chain"),
    ],
)
def test_a_section_says_the_usual_word_and_names_the_file_that_does_it(page: str, heading: str, word: str) -> None:
    text = (ROOT / "deploy" / "docs" / page).read_text()
    section = re.split(r"^#", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    assert word in section
    assert re.search(r"`(adapters|engine|schemas)/[\w/]+\.\w+`", section)
