"""How does a process write its log? One line per event: JSON for machines, aligned text for people at a terminal.

structlog and the loggers of the standard library (aiokafka, asyncpg, granian) share one output. Telephone numbers, e-mail
addresses and secrets are removed from every line, exceptions included, unless `redact` is off.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Literal, TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Format = Literal["auto", "json", "console"]

DEPTH_MAX = 6
"""Values nested deeper than this are not shown."""

_SECRET_KEY = re.compile(
    r"password|passwd|secret|token|authorization|private_key|api_key|cookie|signature|dsn", re.IGNORECASE
)
KEYS_CACHED_MAX = 1_000
"""Names of values that are cached as secret or not; ours are some hundred."""

_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@")
_SIGNING_SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
_KEY = re.compile(r"\b(?:sk|lt|ss)_[\w-]+(?:\.[\w-]{20,})?")
"""A private key, a lead token or the token of a session, as the HTTP interface makes them."""
_EMAIL = re.compile(r"[\w.+%-]{1,64}@(?=[\w-]{1,63}(?:\.[\w-]{1,63})+)")
"""With the bounds of RFC 5321: without them a long word is searched again from each of its characters."""
_NUMBER = re.compile(
    r"\+\d{5,13}(?=\d\d(?!\d))"  # E.164, anywhere in the text
    r"|(?<![\w.:-])1?[2-9]\d{7}(?=\d\d(?![\w.:-]))"  # a bare North American number
    r"|\(?(?<!\d)[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{2}(?=\d\d(?!\d))"  # the same with separators
)
_SUSPECT = re.compile(r"@|whsec_|sk_|lt_|ss_|\+\d{5}|\d{9}|\d{3}\)?[ .-]\d{3}")
"""Each pattern above contains one of these: most texts contain none, and one search is cheaper than five."""

_QUIET = ("aiokafka", "asyncio", "httpcore", "httpx", "mail.log", "apscheduler")
"""Libraries whose `info` messages repeat ours."""


_TALKATIVE = "aiokafka"
_ANSWERS = "aiokafka.errors"

REPEAT_SECONDS = 10.0
REPEATS_MAX = 1_000
"""A library has a few dozen messages; one that formats values into their text would fill the memory."""


def configure_logs(level: str = "info", *, form: Format = "auto", redact: bool = True, stream: TextIO | None = None) -> None:
    """Configure both kinds of loggers for this process. `auto` is console at a terminal and JSON elsewhere."""
    out = stream or sys.stdout
    lines = _Lines(out)
    is_console = form == "console" or (form == "auto" and out.isatty())
    last: list[Processor] = [structlog.processors.format_exc_info]
    last += [redacted] if redact else []
    last += [_console(out) if is_console else _json]
    first = _first()
    structlog.configure(
        processors=[*first, *last],
        wrapper_class=structlog.make_filtering_bound_logger(_number_of(level)),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", lines)),
        cache_logger_on_first_use=False,  # a test, or `up`, may configure again
    )
    _take_over_standard_loggers(lines, level, first, last)


class _Lines:
    """The output. On a full disk or a closed pipe, lines are lost, but the work goes on."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._out.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._out.flush()


class SeldomRepeated(logging.Filter):
    """Passes each message of a library once every `REPEAT_SECONDS`: aiokafka logs a missing broker 100 times a second."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._logged_at: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record; messages with other arguments count as the same message."""
        if not record.name.startswith(_TALKATIVE):
            return True
        message, now = (record.name, str(record.msg)), self._now()
        if now - self._logged_at.get(message, float("-inf")) < REPEAT_SECONDS:
            return False
        if len(self._logged_at) >= REPEATS_MAX:
            self._logged_at.clear()
        self._logged_at[message] = now
        return True


class BrokerAnswers(logging.Filter):
    """Writes what a broker answered as one line, without a traceback.

    aiokafka logs an answer that it does not expect as a fault of its own, then raises it to those that wait for it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record: always."""
        error = record.exc_info[1] if record.exc_info else None
        if record.name.startswith(_TALKATIVE) and type(error).__module__ == _ANSWERS:
            record.msg, record.args = f"{record.getMessage()}: {error!r}", None
            record.exc_info = record.exc_text = None
        return True


def redacted(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Remove numbers, addresses and secrets from an event: the last two digits and the domain stay, to distinguish them."""
    for key, value in event.items():
        # Most values are numbers and plain words: one check is enough for them. Every request writes a line.
        kind = value.__class__
        is_plain = _SUSPECT.search(value) is None if kind is str else kind is int or kind is float or value is None
        if not is_plain or _is_secret(key):
            event[key] = _of(key, value, 1)
    return event


def clean(text: str) -> str:
    """Return a text without telephone numbers, e-mail names and credentials."""
    if _SUSPECT.search(text) is None:
        return text
    text = _CREDENTIALS.sub("***@", text)
    text = _SIGNING_SECRET.sub("whsec_***", text)
    text = _KEY.sub("***", text)
    text = _EMAIL.sub("***@", text)
    return _NUMBER.sub("***", text)


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth > DEPTH_MAX:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): _of(str(key), inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(inner, depth + 1) for inner in value]
    return clean(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _of(key: str, value: Any, depth: int) -> Any:
    return "***" if value and _is_secret(key) else _clean(value, depth)


@lru_cache(maxsize=KEYS_CACHED_MAX)
def _is_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None


def _first() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _console(out: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)


def _json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


def _take_over_standard_loggers(lines: _Lines, level: str, first: list[Processor], last: list[Processor]) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*first, structlog.stdlib.add_logger_name, structlog.stdlib.ExtraAdder()],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
    handler = logging.StreamHandler(lines)
    handler.setFormatter(formatter)
    handler.addFilter(SeldomRepeated())
    handler.addFilter(BrokerAnswers())  # after that one, which knows a message by its text
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(_number_of(level))
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, _number_of(level)))


def _number_of(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
