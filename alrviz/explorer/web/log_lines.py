"""Limit what strangers can write into a server's log: short lines, few of a kind, without secrets.

A line of the log may be caused by any request, and an exception's text may hold all of what a browser has sent. So each
line and each traceback is cut, lines from one place of the code are limited in rate (what was left out is counted in
the next one), and queries of addresses and the secrets of links are replaced: a mistyped token is the right one and a
few letters.
"""

import logging
import re
import time
from collections.abc import Callable

from alrviz.explorer.server.rate_limit import RateLimit

MAX_LINE_CHARS = 500
MAX_TRACE_CHARS = 4_000
LINES_AT_ONCE, SECONDS_PER_LINE = 30, 2.0
_QUERY = re.compile(r"(/[^\s?'\"]*)\?[^\s'\"]+")
_SECRET = re.compile(r"(?<![0-9a-f])([0-9a-f]{4})[0-9a-f]{28}(?![0-9a-f])")


def redact(text: str) -> str:
    """Return a line without the queries of its addresses and without secrets of 32 hexadecimal digits."""
    return _SECRET.sub(r"\1...", _QUERY.sub(r"\1?...", text))


def _cut(text: str, limit: int) -> str:
    """Return the beginning and the end of a long text."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} [...{len(text) - 2 * half:,} characters...] {text[-half:]}"


class LineLimit(logging.Filter):
    """Cuts, redacts and counts the records of a process; one instance serves all handlers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        super().__init__()
        self._limit = RateLimit(LINES_AT_ONCE, SECONDS_PER_LINE, clock)
        self._n_dropped: dict[str, int] = {}
        self._format_trace = logging.Formatter().formatException

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record, once for all handlers; return whether it is written."""
        written = getattr(record, "alrviz_written", None)
        if written is None:
            written = record.alrviz_written = self._shorten(record)
        return bool(written)

    def _shorten(self, record: logging.LogRecord) -> bool:
        place = f"{record.pathname}:{record.lineno}"
        if self._limit.wait(place):
            self._n_dropped[place] = self._n_dropped.get(place, 0) + 1
            return False
        self._limit.count(place)
        try:
            text = record.getMessage()
        except Exception:  # a format that does not match its arguments is reported by the handler
            return True
        n_dropped = self._n_dropped.pop(place, 0)
        left_out = f" ({n_dropped:,} lines like it were left out)" if n_dropped else ""
        record.msg, record.args = redact(_cut(text, MAX_LINE_CHARS)) + left_out, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = self._format_trace(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(_cut(record.exc_text, MAX_TRACE_CHARS))
        return True


_limit = LineLimit()


def limit_lines() -> None:
    """Limit the lines of all handlers that the process has now; a second call adds those that are new."""
    loggers = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    handlers = [handler for logger in [logging.root, *loggers] for handler in logger.handlers]
    for handler in [*handlers, logging.lastResort]:
        if handler is not None and _limit not in handler.filters:
            handler.addFilter(_limit)
