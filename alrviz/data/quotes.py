"""Quotation marks that open a field and are never closed.

A parser that meets one reads on over the ends of lines, and swallows whatever stands before the next mark. Where the
lines it would swallow are rows by themselves, the mark is text:

    b   7   "ok          a lone mark: the field is `"ok`
    a   8   "two         two lines of one field, as the lines alone are no rows of three fields
    lines"  9   x

`close_quotes` rewrites the first kind, so that any parser reads the same.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from alrviz.data.source import Buffer
from alrviz.stop import StopToken

PIECE = 1 << 24  # bytes searched between two looks at the stop token
WIDTH_LINES = 200  # lines that say how many fields a row has
FEW_LINES = 5  # of one field, where each line might be a row by itself
MAX_JOINED_LINES = 1000  # of one field: text longer than that is an open quotation mark
QUOTE = ord('"')


class RepairedText(NamedTuple):
    """Text whose quotation marks all close, and the numbers (from 0) of the lines that were rewritten."""

    data: Buffer
    lines: list[int]


def close_quotes(data: Buffer, delimiter: str, stop: StopToken) -> RepairedText:
    """Return the text with lone quotation marks doubled and their fields quoted."""
    starts, suspects = _odd_lines(data, stop)
    if not len(suspects):
        return RepairedText(data, [])
    mark = delimiter.encode()
    width = _usual_width(data, starts, set(suspects.tolist()), mark)
    repaired = list(_lone_marks(_Lines(data, starts), suspects.tolist(), mark, width, stop))
    if not repaired:
        return RepairedText(data, [])
    parts, done = [], 0
    for line in repaired:
        begin, end = int(starts[line]), int(starts[line + 1])
        parts += [bytes(data[done:begin]), _quoted(bytes(data[begin:end]), mark)]
        done = end
    return RepairedText(b"".join([*parts, bytes(data[done:])]), repaired)


def quotes_note(lines: Sequence[int]) -> str:
    """Return the note on lines (from 0) whose lone quotation mark was read as text."""
    some = (
        "1 line has a quotation mark that is"
        if len(lines) == 1
        else f"{len(lines):,} lines have a quotation mark that is"
    )
    return f"{some} never closed, so it was read as text (first in line {lines[0] + 1:,})"


class _Lines(Sequence[bytes]):
    """The lines of a text, without their ends."""

    def __init__(self, data: Buffer, starts: np.ndarray):
        self._data, self._starts = data, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, k):  # type: ignore[no-untyped-def]
        return bytes(self._data[int(self._starts[k]) : int(self._starts[k + 1])]).rstrip(b"\r\n")


def _odd_lines(data: Buffer, stop: StopToken) -> tuple[np.ndarray, np.ndarray]:
    """Return where each line starts (and the text ends), and the lines with an odd number of quotation marks."""
    if b'"' not in data:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    line_end = b"\n" if b"\n" in data else b"\r"
    starts, odd, begin = [], [], 0
    while begin < len(data):
        stop.check()
        end = data.find(line_end, begin + PIECE) + 1 or len(data)
        piece = np.frombuffer(data, np.uint8, end - begin, begin)
        line_starts = np.concatenate([[0], np.flatnonzero(piece[:-1] == line_end[0]) + 1])
        odd.append(np.bitwise_xor.reduceat((piece == QUOTE).view(np.uint8), line_starts))
        starts.append(line_starts + begin)
        begin = end
    return np.concatenate([*starts, [len(data)]]), np.flatnonzero(np.concatenate(odd))


def _usual_width(data: Buffer, starts: np.ndarray, suspects: set[int], mark: bytes) -> int:
    lines = _Lines(data, starts)
    widths = Counter[int]()
    for k in range(min(len(lines), 10 * WIDTH_LINES)):
        if k not in suspects and lines[k].strip():
            widths[len(_fields(lines[k], mark))] += 1
        if widths.total() >= WIDTH_LINES:
            break
    return widths.most_common(1)[0][0] if widths else 0


def _lone_marks(lines: _Lines, suspects: list[int], mark: bytes, width: int, stop: StopToken) -> Iterator[int]:
    """Yield the lines whose open quotation mark is text."""
    closed = -1  # the last line of a field that spans several
    for place, k in enumerate(suspects):
        if place % 1000 == 0:
            stop.check()
        if k <= closed or not _is_open(lines[k], mark):
            continue
        last = suspects[place + 1] if place + 1 < len(suspects) else None
        if last is not None and last - k <= MAX_JOINED_LINES and _is_one_record(lines, k, last, mark, width):
            closed = last
        else:
            yield k


def _is_one_record(lines: _Lines, first: int, last: int, mark: bytes, width: int) -> bool:
    """Whether lines first..last are one row rather than a row each."""
    joined = b"\n".join(lines[k] for k in range(first, last + 1))
    if _is_open(joined, mark):
        return False
    rows_alone = [len(_fields(lines[k], mark, literal=True)) == width for k in range(first, last + 1)]
    fits = len(_fields(joined, mark)) == width
    if width > 1 and all(rows_alone):
        return fits and last - first < FEW_LINES
    return fits or not rows_alone[0]


def split_record(text: str, delimiter: str) -> list[str]:
    """Return the cells of a record, unquoted; a quotation mark that does not close is text."""
    mark = delimiter.encode()
    quoted = _quoted_field(mark)
    cells = _fields(text.encode(), mark, literal=True)
    return [(cell[1:-1].replace(b'""', b'"') if quoted.fullmatch(cell) else cell).decode() for cell in cells]


def _fields(line: bytes, mark: bytes, *, literal: bool = False) -> list[bytes]:
    """Return the fields of a record; `literal`: a quotation mark that does not close is text."""
    found, place = [], 0
    while place <= len(line):
        field = _match(line, place, mark)
        if field is None:
            end = line.find(mark, place) if literal else -1
            field = line[place : len(line) if end < 0 else end]
        found.append(field)
        place += len(field) + len(mark)
    return found


def _match(line: bytes, place: int, mark: bytes) -> bytes | None:
    """Return the field that starts here, None where its quotation mark does not close."""
    if line[place : place + 1] == b'"':
        quoted = _quoted_field(mark).match(line, place)
        return quoted[0] if quoted else None
    end = line.find(mark, place)
    return line[place : len(line) if end < 0 else end]


def _quoted_field(mark: bytes) -> "re.Pattern[bytes]":
    stop = re.escape(mark)
    return re.compile(rb'"(?:[^"]|"")*"(?=' + stop + rb"|\Z)")


def _is_open(record: bytes, mark: bytes) -> bool:
    """Whether the last field of a record opens a quotation mark and does not close it."""
    place = 0
    while place <= len(record):
        field = _match(record, place, mark)
        if field is None:
            return True
        place += len(field) + len(mark)
    return False


def _quoted(line: bytes, mark: bytes) -> bytes:
    """Return a line with the fields that open a quotation mark quoted whole."""
    body = line.rstrip(b"\r\n")
    fields = []
    for field in _fields(body, mark, literal=True):
        closed = _quoted_field(mark).fullmatch(field) is not None
        fields.append(b'"' + field.replace(b'"', b'""') + b'"' if field.startswith(b'"') and not closed else field)
    return mark.join(fields) + line[len(body) :]
