"""Repair quotation marks that open a field and are never closed.

A parser would read on beyond the end of the line, up to the next mark. If the lines in between are complete rows, the
mark is text:

    b   7   "ok          a lone mark: the field is `"ok`
    a   8   "two         a field of two lines, as these lines alone are no rows of three fields
    lines"  9   x

`close_quotes` rewrites the first kind in standard notation.
"""

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import IO, Any, NamedTuple

import numpy as np

from alrviz.data.doubts import Note, NoteCode
from alrviz.data.text import Buffer
from alrviz.errors import plural
from alrviz.stop import StopToken

TAIL_BYTES = 1 << 16  # at the end of a text, in which a footer is detected
STREAM_PIECE_BYTES = 1 << 21  # of a stream, repaired at a time
PIECE_BYTES = 1 << 24  # searched between two checks of the stop token
WIDTH_LINES = 200  # from which the number of fields of a row is detected
MAX_ROW_LINES = 5  # of one field, if each of its lines might be a row
MAX_JOINED_LINES = 1000  # of one field; beyond, its quotation mark was never closed
QUOTE = ord('"')
QUOTED_FIELD = re.compile(rb'"(?:[^"]|"")*"')  # in which a quotation mark is doubled


class RepairedText(NamedTuple):
    """A text with closed quotation marks.

    Attributes:
        data: the text.
        lines: numbers, from 0, of the lines that were rewritten.
        open_from: position of a field that may be closed in later text; the length of the text without one.
    """

    data: Buffer
    lines: list[int]
    open_from: int


def close_quotes(data: Buffer, delimiter: str, stop: StopToken, *, has_more: bool = False) -> RepairedText:
    """Return the text with lone quotation marks doubled and their fields quoted; `has_more`: text follows."""
    line_starts, odd_lines = _odd_lines(data, stop)
    separator = delimiter.encode()
    lines, last_odd_line = _Lines(data, line_starts), int(odd_lines[-1]) if len(odd_lines) else 0
    repaired: list[int] = []
    open_from = len(data)
    if len(odd_lines):
        width = _usual_width(data, line_starts, set(odd_lines.tolist()), separator)
        repaired = list(_lone_marks(lines, odd_lines.tolist(), separator, width, stop))
    if has_more and last_odd_line in repaired and len(lines) - last_odd_line <= MAX_JOINED_LINES:
        open_from = int(line_starts[repaired.pop()])
    if not repaired:
        return RepairedText(data, [], open_from)
    text_pieces, end_of_last = [], 0
    for line_index in repaired:
        begin, end = int(line_starts[line_index]), int(line_starts[line_index + 1])
        text_pieces += [bytes(data[end_of_last:begin]), _quoted(bytes(data[begin:end]), separator)]
        end_of_last = end
    result = b"".join([*text_pieces, bytes(data[end_of_last:])])
    return RepairedText(result, repaired, open_from + len(result) - len(data))


class RepairedStream(io.RawIOBase):
    """The text of a stream in UTF-8, with lone quotation marks closed, for a parser to read.

    Attributes:
        n_repaired: number of lines that were rewritten so far.
        tail: the last bytes so far, at most `TAIL_BYTES`.
    """

    def __init__(self, stream: IO[bytes], delimiter: str, encoding: str, stop: StopToken):
        self.n_repaired, self.tail = 0, b""
        self._stream, self._delimiter, self._stop = stream, delimiter, stop
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._open_text = self._ready = b""
        self._is_finished = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as streams do."""
        while not self._ready and not self._is_finished:
            self._repair_piece()
        piece = self._ready[: len(buffer)]
        buffer[: len(piece)] = piece
        self._ready = self._ready[len(piece) :]
        return len(piece)

    def _repair_piece(self) -> None:
        """Read a piece of the stream; lines of a field that is still open wait for the next."""
        self._stop.check()
        raw = self._stream.read(STREAM_PIECE_BYTES)
        self._is_finished = not raw
        data = self._open_text + self._decoder.decode(raw, final=self._is_finished).encode()
        end = len(data) if self._is_finished else data.rfind(b"\n") + 1
        repaired = close_quotes(data[:end], self._delimiter, self._stop, has_more=not self._is_finished)
        self.n_repaired += len(repaired.lines)
        self._ready = bytes(repaired.data[: repaired.open_from])
        self.tail = (self.tail + self._ready)[-TAIL_BYTES:]
        self._open_text = bytes(repaired.data[repaired.open_from :]) + data[end:]


def quotes_note(n_lines: int, first: int | None = None) -> str:
    """Return the note on lines with a lone quotation mark; `first`: the number of the first, from 1."""
    place_text = "" if first is None else f" (first in line {first:,})"
    lines = plural(n_lines, "line has", "lines have")
    text = f"{lines} a quotation mark that is never closed: it was read as text{place_text}"
    return Note.with_code(NoteCode.OPEN_QUOTES, text)


class _Lines(Sequence[bytes]):
    """The lines of a text, without their ends."""

    def __init__(self, data: Buffer, starts: np.ndarray):
        self._data, self._starts = data, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, k):  # type: ignore[no-untyped-def]
        return bytes(self._data[int(self._starts[k]) : int(self._starts[k + 1])]).rstrip(b"\r\n")


def _odd_lines(data: Buffer, stop: StopToken) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts of lines and the end of the text, and the lines with an odd number of quotation marks."""
    if b'"' not in data:
        return np.zeros(1, np.int64), np.empty(0, np.int64)
    line_end = b"\n" if b"\n" in data else b"\r"
    line_starts_of_pieces, is_odd_of_pieces, piece_start = [], [], 0
    while piece_start < len(data):
        stop.check()
        piece_end = data.find(line_end, piece_start + PIECE_BYTES) + 1 or len(data)
        piece = np.frombuffer(data, np.uint8, piece_end - piece_start, piece_start)
        line_starts = np.concatenate([[0], np.flatnonzero(piece[:-1] == line_end[0]) + 1])
        is_odd_of_pieces.append(np.bitwise_xor.reduceat((piece == QUOTE).view(np.uint8), line_starts))
        line_starts_of_pieces.append(line_starts + piece_start)
        piece_start = piece_end
    return np.concatenate([*line_starts_of_pieces, [len(data)]]), np.flatnonzero(np.concatenate(is_odd_of_pieces))


def _usual_width(data: Buffer, line_starts: np.ndarray, odd_lines: set[int], separator: bytes) -> int:
    """Return the commonest number of fields of the first lines, without those of an odd number of quotation marks."""
    lines = _Lines(data, line_starts)
    widths = Counter[int]()
    for line_index in range(min(len(lines), 10 * WIDTH_LINES)):
        if line_index not in odd_lines and lines[line_index].strip():
            widths[len(_fields(lines[line_index], separator))] += 1
        if widths.total() >= WIDTH_LINES:
            break
    return widths.most_common(1)[0][0] if widths else 0


def _lone_marks(lines: _Lines, odd_lines: list[int], separator: bytes, width: int, stop: StopToken) -> Iterator[int]:
    """Yield the lines whose unclosed quotation mark is text."""
    last_joined = -1  # the last line of a field that spans several
    for position, line_index in enumerate(odd_lines):
        if position % 1000 == 0:
            stop.check()
        if line_index <= last_joined or not _is_unclosed(_fields(lines[line_index], separator)[-1]):
            continue
        next_odd = odd_lines[position + 1] if position + 1 < len(odd_lines) else None
        if (
            next_odd is not None
            and next_odd - line_index <= MAX_JOINED_LINES
            and _is_one_record(lines, line_index, next_odd, separator, width)
        ):
            last_joined = next_odd
        else:
            yield line_index


def _is_one_record(lines: _Lines, first: int, last: int, separator: bytes, width: int) -> bool:
    """Return whether lines first .. last are one row, rather than a row each."""
    joined = b"\n".join(lines[k] for k in range(first, last + 1))
    fields = _fields(joined, separator)
    if _is_unclosed(fields[-1]):
        return False
    rows_alone = [len(_fields(lines[k], separator, literal=True)) == width for k in range(first, last + 1)]
    fits = len(fields) == width
    if width > 1 and all(rows_alone):
        return fits and last - first < MAX_ROW_LINES
    return fits or not rows_alone[0]


def split_record(text: str, delimiter: str) -> list[str]:
    """Return the unquoted cells of a record; a quotation mark that is not closed is text."""
    cells = _fields(text.encode(), delimiter.encode(), literal=True)
    return [(cell[1:-1].replace(b'""', b'"') if QUOTED_FIELD.fullmatch(cell) else cell).decode() for cell in cells]


def _fields(line: bytes, separator: bytes, *, literal: bool = False) -> list[bytes]:
    """Return the fields of a record; a quotation mark that is not closed is text if `literal`, else opens a field."""
    return _field_pattern(separator, literal).findall(line)


@cache
def _field_pattern(separator: bytes, literal: bool) -> "re.Pattern[bytes]":
    """Return the pattern whose matches are the fields of a record; see `_fields`."""
    separator_pattern = re.escape(separator)
    quoted, unclosed = QUOTED_FIELD.pattern + rb"(?=" + separator_pattern + rb"|\Z)|", b"" if literal else rb'"(?s:.*)|'
    return re.compile(
        rb"(?:\A|" + separator_pattern + rb")(" + quoted + unclosed + rb"[^" + separator_pattern + rb"]*)"
    )


def _is_unclosed(field: bytes) -> bool:
    """Return whether a field opens a quotation mark without closing it."""
    return field.startswith(b'"') and QUOTED_FIELD.fullmatch(field) is None


def _quoted(line: bytes, separator: bytes) -> bytes:
    """Return a line with its fields of an unclosed quotation mark quoted."""
    body = line.rstrip(b"\r\n")
    fields = [
        b'"' + field.replace(b'"', b'""') + b'"' if _is_unclosed(field) else field
        for field in _fields(body, separator, literal=True)
    ]
    return separator.join(fields) + line[len(body) :]
