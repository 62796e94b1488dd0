"""Limit the lines of a server's log that visitors can cause: their length, their rate, and no secrets.

Any request may cause a line of the log, and an exception's text may hold all that a browser has sent. So lines and
tracebacks are cut, lines from one place of the code are limited in rate (the next one counts those left out), and
queries of addresses and secrets of links are replaced. Even a mistyped token is nearly the right one.
"""

import logging
import re
import time
from collections.abc import Callable

from alrviz.explorer.server.rate_limit import RateLimit

MAX_LINE_CHARS = 500
MAX_TRACE_CHARS = 4_000
LINE_BURST, SECONDS_PER_LINE = 30, 2.0
_QUERY = re.compile(r"(/[^\s?'\"]*)\?[^\s'\"]+")
_SECRET = re.compile(r"(?<![0-9a-f])([0-9a-f]{4})[0-9a-f]{28}(?![0-9a-f])")


def redact(text: str) -> str:
    """Return a line without the queries of its addresses and without secrets of 32 hexadecimal digits."""
    return _SECRET.sub(r"\1...", _QUERY.sub(r"\1?...", text))


def _cut_middle(text: str, limit: int) -> str:
    """Return the beginning and the end of a long text."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} [...{len(text) - 2 * half:,} characters...] {text[-half:]}"


class LineLimit(logging.Filter):
    """Cuts, redacts and limits the records of a process; one instance serves all handlers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        super().__init__()
        self._limit = RateLimit(LINE_BURST, SECONDS_PER_LINE, clock)
        self._n_dropped: dict[str, int] = {}
        self._format_trace = logging.Formatter().formatException

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record, once for all handlers; return whether to write it."""
        is_written = getattr(record, "alrviz_written", None)
        if is_written is None:
            is_written = record.alrviz_written = self._shorten(record)
        return bool(is_written)

    def _shorten(self, record: logging.LogRecord) -> bool:
        """Shorten and redact a record; return False if it exceeds the rate of its source line."""
        source_place = f"{record.pathname}:{record.lineno}"
        if self._limit.seconds_to_wait(source_place):
            self._n_dropped[source_place] = self._n_dropped.get(source_place, 0) + 1
            return False
        self._limit.count_attempt(source_place)
        try:
            message = record.getMessage()
        except Exception:  # the handler reports a format that does not match its arguments
            return True
        n_dropped = self._n_dropped.pop(source_place, 0)
        dropped_note = f" ({n_dropped:,} lines like it were left out)" if n_dropped else ""
        record.msg, record.args = redact(_cut_middle(message, MAX_LINE_CHARS)) + dropped_note, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = self._format_trace(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(_cut_middle(record.exc_text, MAX_TRACE_CHARS))
        return True


_limit = LineLimit()


def limit_lines() -> None:
    """Limit the lines of all current handlers of the process; another call adds new handlers."""
    named_loggers = [
        logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)
    ]
    handlers = [handler for logger in [logging.root, *named_loggers] for handler in logger.handlers]
    for handler in [*handlers, logging.lastResort]:
        if handler is not None and _limit not in handler.filters:
            handler.addFilter(_limit)
