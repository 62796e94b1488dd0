"""What strangers may write into a server's log."""

import logging

import pytest

from alrviz.explorer.web import log_lines
from tests.explorer.fakes import Clock


@pytest.fixture
def log():
    """A logger with a limited handler: `log.lines` and `log.clock`."""
    clock = Clock()

    class Lines(logging.Handler):
        def emit(self, record):
            logger.lines.append(self.format(record))

    logger = logging.Logger("test")
    logger.lines, logger.clock = [], clock
    limit = log_lines.LineLimit(clock)
    for _ in range(2):  # Panel's handler and the root's: a record is counted once
        handler = Lines()
        handler.addFilter(limit)
        logger.addHandler(handler)
    return logger


def test_lines_and_tracebacks_are_cut(log):
    try:
        raise ValueError("x" * 1_000_000)
    except ValueError:
        log.exception("y" * 1_000_000)
    assert len(log.lines) == 2
    assert len(log.lines[0]) < 1.1 * (log_lines.MAX_LINE_CHARS + log_lines.MAX_TRACE_CHARS)
    assert "Traceback" in log.lines[0]
    assert log.lines[0] == log.lines[1]


@pytest.mark.parametrize(
    "line",
    [
        "403 GET /explorer?token=sesame-2 (127.0.0.1) 1.2ms",
        "403 GET /explorer/?data=led&token=sesame (::1)",
        "404 GET /race/5e5a4e0123456789abcdef5e5a4e0123 (127.0.0.1)",
        "HTTPServerRequest(protocol='http', uri='/explorer?token=sesame', version='HTTP/1.1')",
    ],
)
def test_no_secret_is_written(log, line):
    log.warning("%s", line)
    assert "sesame" not in log.lines[0]
    assert "456789abcdef" not in log.lines[0]
    assert "/" in log.lines[0]


def test_lines_of_one_place_are_limited(log):
    for number in range(500):
        log.warning("line %d", number)
    assert len(log.lines) == 2 * log_lines.LINE_BURST
    log.error("another place")
    assert log.lines[-1] == "another place"


def test_next_line_counts_those_left_out(log):
    def write():
        log.warning("a line")

    for _ in range(log_lines.LINE_BURST + 7):
        write()
    log.clock.now += log_lines.SECONDS_PER_LINE
    write()
    assert "7 lines" in log.lines[-1]


def test_handlers_are_limited_once():
    handler = logging.StreamHandler()
    logging.root.addHandler(handler)
    try:
        log_lines.limit_lines()
        log_lines.limit_lines()
        assert len(handler.filters) == 1
    finally:
        logging.root.removeHandler(handler)
