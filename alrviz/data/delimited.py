"""Text files with a delimiter: delimiter and header are ours to find, the parsing is pyarrow's.

Every cell is read as text (what is a number is decided later, on distinct texts), straight into dictionaries, block by
block, so that the stop token is asked every few milliseconds and rows are counted against their limit as they come.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from alrviz.data.charset import to_utf8
from alrviz.data.doubts import Doubt, DoubtCode, DoubtNote, Note, NoteCode
from alrviz.data.find_table import find_table
from alrviz.data.layout import HEAD_ROWS, NUMBERS_SHARE, QUANTITY, refuse_prose
from alrviz.data.limits import Limits, check_cells, check_columns, check_rows
from alrviz.data.options import DELIMITERS, ReadOptions
from alrviz.data.parse_spec import Layout
from alrviz.data.parse_values import MOST_TITLES
from alrviz.data.quotes import TAIL, close_quotes, quotes_note
from alrviz.data.records import UnevenRows, empty_batch, record_batches
from alrviz.data.text import Buffer, RawTable, TextColumn
from alrviz.errors import EMPTY_TABLE, TableError, plural
from alrviz.stop import StopToken

BLOCK = 1 << 21  # bytes parsed between two looks at the stop token: about 15 ms
DETECTION_BYTES = 1 << 18  # bytes the detection looks at
LONGEST_HEADER = 1 << 20
PARSED = 0.5  # of the time that reading takes: measured 0.63 on words, 0.33 on numbers, whose texts are many
DETECTION_LINES = 8  # of the length of the first, at least
MOST_LEVELS = 4  # of a column of words between single spaces, or a tenth of the lines
NEARLY_EQUAL = 0.95  # share of the lines that another delimiter cuts evenly, against the best one's
LINE_END = re.compile(rb"\r\n|\n|\r")


def read_delimited(
    data: Buffer,
    options: ReadOptions,
    limits: Limits,
    stop: StopToken,
    known: Layout | None = None,
    expected: Collection[str] = (),
    width: int | None = None,
) -> RawTable:
    """Return the columns, the options with all that was detected filled in, and notes.

    `known` are the names of a table like it that was read before, `expected` names that the caller gave, `width` the
    number of columns (default: as most rows have).

    Raises:
        TableError: `data` are no table of lines, or more than `limits` allow.
    """
    data, encoding, notes = to_utf8(data, options.encoding, stop)
    start, end, named = _edges(data)
    data, comment, said = _without_comments(data, start, options.comment)
    notes += said
    start, end, _ = _edges(data)
    if options.skip_rows is not None:
        start = max(_line_start(data, 0, options.skip_rows), start if options.skip_rows == 0 else 0)
        start = min(start, end)
    sample = _sample(data, start, end)
    if not sample.strip():
        raise TableError(
            "the table is empty; a row of names and at least one row of values were expected", code=EMPTY_TABLE
        )
    delimiter, other = options.delimiter or named or "", ""
    if not delimiter:
        delimiter, other = detect_delimiter(sample)
    if other:
        words: dict[str, Any] = {"read": repr(delimiter), "other": repr(other)}
        note = f"{delimiter!r} was taken for the delimiter; {other!r} cuts the lines evenly as well"
        notes.append(DoubtNote.with_doubt(note, Doubt.from_change(DoubtCode.DELIMITER, {"delimiter": other}, **words)))
    lines_before = _lines_between(data, 0, start)
    repaired = close_quotes(data, delimiter, stop)
    data = repaired.data
    if repaired.lines:
        notes.append(quotes_note(len(repaired.lines), repaired.lines[0] + 1))
        start, end = (
            _line_start(data, 0, lines_before),
            _edges(data)[1],
        )  # the lines before may be longer now
        sample = _sample(data, start, end)
    rows, places = _rows(sample, delimiter)
    check_columns(max(map(len, rows)), limits)
    if options.delimiter is None and options.skip_rows is None and known is None:
        refuse_prose(rows[:HEAD_ROWS])

    def tail_from(n_titles: int) -> tuple[int, list[list[str]], list[int]]:
        return _tail_rows(data, _line_start(data, start, places[n_titles]), end, delimiter)

    region = find_table(
        rows, lambda n_titles: tail_from(n_titles)[1], options, expected, known, width=width,
        is_whole=end - start <= DETECTION_BYTES,
    )  # fmt: skip
    first_line = _line_start(data, start, places[region.n_titles])
    n_footer = region.n_footer if options.skip_footer is None else options.skip_footer
    table_end = end
    if region.n_footer:
        tail_start, _, tail_places = tail_from(region.n_titles)
        table_end = _line_start(data, tail_start, tail_places[-region.n_footer])
        n_footer = _lines_between(data, table_end, end) + 1
    elif n_footer:
        line_ends = [line.end() for line in LINE_END.finditer(data, first_line, end)]
        table_end = line_ends[-min(n_footer, len(line_ends))] if line_ends else end
    begin = _line_start(data, start, places[region.first_row]) if region.first_row < len(rows) else table_end
    columns, mended = _parse(data, (begin, table_end), delimiter, len(region.names.names), limits, stop)
    in_force = replace(
        options,
        encoding=encoding,
        delimiter=delimiter,
        header=region.names.header,
        skip_rows=_lines_between(data, 0, first_line),
        skip_footer=n_footer,
        comment=comment,
    )
    return region.named_table(columns, in_force, [*notes, *mended], stop)


def _without_comments(data: Buffer, start: int, comment: str | None) -> tuple[Buffer, str, list[str]]:
    """Blank out lines that are comments: lines keep their numbers, and blank ones are no rows.

    Nobody asked, they are those that begin with "#" in a file whose first line does; the last of the first ones stays
    where it holds the names.
    """
    if comment == "" or (comment is None and data[start : start + 1] != b"#"):
        return data, "", []
    mark = re.escape((comment or "#").encode("utf-8"))
    head = re.match(rb"(?:[ \t]*" + mark + rb"[^\r\n]*\r?\n)+", data[start : start + DETECTION_BYTES])
    named = b""
    if head is not None:
        lines = head[0].splitlines()
        below = data[start + head.end() : start + head.end() + DETECTION_BYTES].splitlines()[:10]
        counts = [{bytes([delimiter]): line.count(bytes([delimiter])) for delimiter in b",;\t|"} for line in below]
        if any(count and lines[-1].count(d) == count for row in counts[:1] for d, count in row.items()):
            named = lines[-1]
    elif comment is None:
        return data, "", []  # one line, and no end of it: a name that begins so
    blanked, found = re.subn(rb"(?m)^[ \t]*" + mark + rb"[^\r\n]*", b"", bytes(data[start:]))
    result = bytes(data[:start]) + blanked
    if named and head is not None:  # in the place of its blank line
        place = start + len(re.sub(rb"[^\r\n]", b"", head[0].rstrip(b"\r\n")))
        result = result[:place] + _without_mark(named) + result[place:]
        found -= 1
    lines_text = plural(found, "line that starts", "lines that start")
    note = Note.with_code(NoteCode.LEFT_OUT, f"{lines_text} with {comment or '#'!r} left out")
    return result, comment or "#", [note] if found else []


def _without_mark(names: bytes) -> bytes:
    """A line of names without the sign of a comment, unless that is a name."""
    bare = names.lstrip(b"# ")
    return names if bare[:1] in (b",", b";", b"\t", b"|", b"") else bare


def _rows(sample: str, delimiter: str, most: int = 10 * HEAD_ROWS) -> tuple[list[list[str]], list[int]]:
    """The sample's rows that hold something, `most` at most, and how many lines come before each."""
    rows, places, before = [], [], 0
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                rows.append(row)
                places.append(before)
            before = reader.line_num
            if len(rows) >= most:
                break
    except csv.Error as error:
        if not rows:
            raise TableError(f"the first row cannot be read ({error}); a row of names was expected") from error
    return rows, places


def _line_start(data: Buffer, start: int, lines: int) -> int:
    """Return where the line behind so many lines starts."""
    for _, end in zip(range(lines), LINE_END.finditer(data, start), strict=False):
        start = end.end()
    return start


def _lines_between(data: Buffer, start: int, end: int) -> int:
    return sum(1 for _ in LINE_END.finditer(data, start, end))


def _tail_rows(data: Buffer, start: int, end: int, delimiter: str) -> tuple[int, list[list[str]], list[int]]:
    """Return where the last rows begin, these rows, and how many lines come before each of them."""
    begin = max(start, end - TAIL)
    if begin > start:
        begin = data.find(b"\n", begin, end) + 1 or start
    return begin, *last_rows(bytes(data[begin:end]).decode("utf-8", "replace"), delimiter)


def last_rows(tail: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the last rows of the end of a text, and how many of its lines come before each of them."""
    if not tail.strip() or tail.count('"') % 2:
        return [], []
    rows, places = _rows(tail, delimiter, len(tail))
    return rows[-3 * HEAD_ROWS :], places[-3 * HEAD_ROWS :]


def _edges(data: Buffer) -> tuple[int, int, str | None]:
    """Return where the table starts and ends (blank lines around it left out), and Excel's `sep=` if it is there."""
    head = re.match(rb"(?:[ ]*\r?\n)*(?:sep=(.)\r?\n)?(?:[ ]*\r?\n)*", data, re.IGNORECASE)
    start = head.end() if head else 0
    end = len(data)
    while end > start and data[end - 1] in b" \r\n\x1a":
        end -= 1
    mark = head[1] if head else None
    return start, end, mark.decode("latin-1") if mark and mark not in b'"\r\n' and mark < b"\x80" else None


def _sample(data: Buffer, start: int, end: int) -> str:
    first_end = data.find(b"\n", start, start + LONGEST_HEADER)
    n_bytes = max(DETECTION_BYTES, DETECTION_LINES * (first_end - start))  # names of 45,000 columns fill it alone
    stop = min(end, start + n_bytes)
    if stop < end:
        cut = max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop))
        if cut < 0:
            line_end = data.find(b"\n", stop, start + LONGEST_HEADER)
            cut = line_end if line_end >= 0 else min(end, start + LONGEST_HEADER)
            if cut == start + LONGEST_HEADER and cut < end:
                raise TableError(
                    f"the first line is longer than {LONGEST_HEADER:,} characters; a row of names was expected"
                )
        stop = cut
    return data[start:stop].decode("utf-8", "replace")


def detect_delimiter(sample: str) -> tuple[str, str]:
    """Return the delimiter that cuts most lines into as many fields as the first, the finer cut winning a tie; and
    another that does nearly as well, "" where none does.

    The first line decides what is possible (names rarely hold commas, values of a decimal comma always do); where none
    of `DELIMITERS` cuts it, single spaces are tried; they cut rows of numbers or levels, and no sentences.
    """
    bare = re.sub(r'(?:(?<=[,;\t|\n])|^)"(?:[^"]|"")*"', "q", sample)
    lines = [line for line in bare.splitlines() if line.strip()][:200]
    for titles in range(min(MOST_TITLES, max(1, len(lines) - 2))):  # lines before the names may have any marks
        delimiter, other, share = _cut_best(lines[titles:])
        if titles and delimiter == " ":
            continue
        if share > (0.5 if titles == 0 else 0.8):
            return delimiter, other
    return _cut_best(lines)[:2]


def _cut_best(lines: list[str]) -> tuple[str, str, float]:
    """Return the best delimiter of some lines, one that is nearly as good ("" for none), and the share of the lines
    that the best cuts into as many fields as the first.
    """
    best, best_score, shares = "", (0.0, 0), dict[str, float]()
    for delimiter in (*DELIMITERS, " "):
        counts = Counter(line.count(delimiter) for line in lines)
        fields = lines[0].count(delimiter) + 1
        share = counts[fields - 1] / len(lines)
        wins = not best and _is_spaced(lines) if delimiter == " " else (round(share, 2), fields) > best_score
        if fields > 1 and wins:
            best, best_score = delimiter, (round(share, 2), fields)
        if fields > 1 and delimiter != " ":
            shares[delimiter] = share
    others = [d for d, share in shares.items() if d != best and share >= NEARLY_EQUAL * best_score[0]]
    return best or ",", max(others, key=shares.__getitem__, default=""), best_score[0]


def _is_spaced(lines: list[str]) -> bool:
    """Whether single spaces cut lines into columns; the first line may have a name less, as R's write.table has it."""
    rows = [re.sub(r'"[^"]*"', "q", line).split(" ") for line in lines]
    width, is_short = len(rows[-1]), len(rows[0]) == len(rows[-1]) - 1
    return all(len(row) == width for row in rows[is_short:]) and _has_columns(rows[is_short:])


def _has_columns(rows: list[list[str]]) -> bool:
    """Whether a column of some rows of one length is of numbers, or most are of few levels: no sentences are."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    if any(sum(map(bool, map(QUANTITY.match, cells[1:]))) > NUMBERS_SHARE * len(cells[1:]) for cells in columns):
        return True
    most = min(len(rows) // 2, max(MOST_LEVELS, len(rows) // 10))
    return 2 * sum(len(set(cells)) <= most for cells in columns) > len(columns)


def _parse(
    data: Buffer, edges: tuple[int, int], delimiter: str, n_columns: int, limits: Limits, stop: StopToken
) -> tuple[list[TextColumn], list[str]]:
    """Return the columns of text between two places, unnamed, and notes on the lines that were mended."""
    content = pa.py_buffer(data).slice(edges[0], edges[1] - edges[0])
    if len(content) <= DETECTION_BYTES and not any(end in content.to_pybytes() for end in (b"\n", b"\r")):
        content = pa.py_buffer(content.to_pybytes() + b"\n")  # pyarrow sees no row in a line that does not end
    block = BLOCK
    uneven = UnevenRows(n_columns, delimiter)
    while True:
        try:
            batches = _parse_blocks(content, uneven, block, limits, stop)
            break
        except pa.ArrowInvalid as error:
            # A row longer than a block; also a block that ends inside an endless quote. Larger blocks mend the first.
            if "straddling" not in str(error) or block > len(content):
                raise TableError(_explain(str(error))) from error
            block *= 8
            uneven = UnevenRows(n_columns, delimiter)
    lines_before = data.count(b"\n", 0, edges[0])
    notes = uneven.check(
        sum(batch.num_rows for batch in batches),
        lambda record: f"line {_line_of(content, record + 1, delimiter, lines_before, stop):,}",
    )
    columns = [_one([batch.column(place) for batch in batches], stop) for place in range(n_columns)]
    return [
        TextColumn("", column.indices.to_numpy(zero_copy_only=False), column.dictionary) for column in columns
    ], notes


def _parse_blocks(
    content: pa.Buffer, uneven: UnevenRows, block: int, limits: Limits, stop: StopToken
) -> list[pa.RecordBatch]:
    batches, rows = [empty_batch(uneven.width)], 0
    source = pa.BufferReader(content)
    for batch in record_batches(source, uneven, block) if len(content) else ():
        stop.check()
        stop.report(PARSED * source.tell() / len(content))
        rows += batch.num_rows
        check_rows(rows, limits)
        check_cells(rows, uneven.width, limits)
        batches.append(batch)
    return batches


def _one(chunks: list[pa.DictionaryArray], stop: StopToken) -> pa.DictionaryArray:
    stop.check()
    joined = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def _line_of(content: pa.Buffer, record: int, delimiter: str, lines_before: int, stop: StopToken) -> int:
    """Return the line of the text at which a record starts; pyarrow counts records (from 1), not blank lines."""
    lines = io.TextIOWrapper(pa.BufferReader(content), encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    records, line = 0, 1
    with suppress(csv.Error):
        for row in reader:
            if records % 1000 == 0:
                stop.check()
            records += bool(row)
            if records == record and row:
                break
            line = reader.line_num + 1
    return lines_before + line


def _explain(message: str) -> str:
    if "straddling" in message or "quote" in message.lower():
        return "a quote is opened and never closed; a closing quote was expected"
    return f"the text cannot be read as a table: {message}"
