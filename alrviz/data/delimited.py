"""Text files with a delimiter: delimiter and header are ours to find, the parsing is pyarrow's.

Every cell is read as text (what is a number is decided later, on distinct texts), straight into dictionaries, block by
block, so that the stop token is asked every few milliseconds and rows are counted against their limit as they come.
"""

import csv
import io
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.csv

from alrviz.data.encoding import to_utf8
from alrviz.data.limits import Limits, check_cells, check_columns, check_rows
from alrviz.data.names import clean_names
from alrviz.data.numbers import short
from alrviz.data.options import DELIMITERS, ReadOptions
from alrviz.data.source import Buffer
from alrviz.data.text import TextColumn
from alrviz.errors import TableError
from alrviz.stop import StopToken

BLOCK = 1 << 21  # bytes parsed between two looks at the stop token: about 15 ms
SAMPLE = 1 << 18  # bytes the detection looks at
LONGEST_HEADER = 1 << 20
PARSED = 0.5  # of the time that reading takes: measured 0.63 on words, 0.33 on numbers, whose texts are many
NUMBER = re.compile(r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$")


def read_delimited(
    data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken
) -> tuple[list[TextColumn], ReadOptions, list[str]]:
    """Return the columns, the options with encoding, delimiter and header filled in, and notes."""
    data, encoding, notes = to_utf8(data, options.encoding, stop)
    start, end, named = _edges(data)
    sample = _sample(data, start, end)
    if not sample.strip():
        raise TableError("the table is empty; a row of names and at least one row of values were expected")
    delimiter = options.delimiter or named or detect_delimiter(sample)
    first = _first_row(sample, delimiter)
    check_columns(len(first), limits)
    header = not looks_like_data(first) if options.header is None else options.header
    if options.header is None and not header:
        notes.append("the first row holds numbers, so it was read as data, and the columns were numbered")
    names, renamed = clean_names(first if header else [""] * len(first), numbered=not header)
    table = _parse(data, (start, end), delimiter, len(first), limits, stop, header=header)
    columns = []
    for name, column in zip(names, table, strict=True):
        stop.check()
        codes = column.indices.to_numpy(zero_copy_only=False)
        columns.append(TextColumn.of(name, codes[1:] if header else codes, column.dictionary))
    return columns, replace(options, encoding=encoding, delimiter=delimiter, header=header), notes + renamed


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
    stop = min(end, start + SAMPLE)
    if stop < end:
        cut = max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop))
        if cut < 0:
            found = data.find(b"\n", stop, start + LONGEST_HEADER)
            cut = found if found >= 0 else min(end, start + LONGEST_HEADER)
            if cut == start + LONGEST_HEADER and cut < end:
                raise TableError(
                    f"the first line is longer than {LONGEST_HEADER:,} characters; a row of names was expected"
                )
        stop = cut
    return data[start:stop].decode("utf-8", "replace")


def detect_delimiter(sample: str) -> str:
    """Return the delimiter that cuts most lines into as many fields as the first, the finer cut winning a tie.

    The first line decides what is possible (names rarely hold commas, values of a decimal comma always do); where none
    of `DELIMITERS` cuts it, single spaces are tried.
    """
    bare = re.sub(r'(?:(?<=[,;\t|\n])|^)"(?:[^"]|"")*"', "q", sample)
    lines = [line for line in bare.splitlines() if line.strip()][:200]
    best, best_score = "", (0.0, 0)
    for delimiter in (*DELIMITERS, " "):
        counts = Counter(line.count(delimiter) for line in lines)
        fields = lines[0].count(delimiter) + 1
        share = counts[fields - 1] / len(lines)
        wins = (round(share, 2), fields) > best_score if delimiter != " " else not best and share == 1
        if fields > 1 and wins:
            best, best_score = delimiter, (round(share, 2), fields)
    return best or ","


def _first_row(sample: str, delimiter: str) -> list[str]:
    try:
        return next((row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row), [])
    except csv.Error as error:
        raise TableError(f"the first row cannot be read ({error}); a row of names was expected") from error


def looks_like_data(first: list[str]) -> bool:
    """Whether a first row is no row of names: its numbers have decimals, repeat, or do not rise as years do."""
    texts = [text.strip() for text in first]
    numbers = [text for text in texts if NUMBER.match(text)]
    if not all(re.match(r"^\d+$", text) for text in numbers):
        return True
    values = [int(text) for text in numbers]
    return any(later <= earlier for earlier, later in pairwise(values))


def _parse(
    data: Buffer,
    edges: tuple[int, int],
    delimiter: str,
    n_columns: int,
    limits: Limits,
    stop: StopToken,
    *,
    header: bool,
) -> list[pa.DictionaryArray]:
    content = pa.py_buffer(data).slice(edges[0], edges[1] - edges[0])
    if len(content) <= SAMPLE and not any(end in content.to_pybytes() for end in (b"\n", b"\r")):
        content = pa.py_buffer(content.to_pybytes() + b"\n")  # pyarrow sees no row in a line that does not end
    block = BLOCK
    while True:
        try:
            return _parse_blocks(content, delimiter, n_columns, block, limits, stop, int(header))
        except _RaggedRow as ragged:
            lines_before = data.count(b"\n", 0, edges[0])
            raise TableError(_ragged(content, ragged.row, delimiter, lines_before, stop)) from ragged.__cause__
        except pa.ArrowInvalid as error:
            # A row longer than a block; also a block that ends inside an endless quote. Larger blocks mend the first.
            if "straddling" not in str(error) or block > len(content):
                raise TableError(_explain(str(error))) from error
            block *= 8


class _RaggedRow(Exception):
    """A row whose number of fields is not the first row's; its line is looked up where the text is at hand."""

    def __init__(self, row: pa.csv.InvalidRow):
        super().__init__(row)
        self.row = row


def _parse_blocks(
    content: pa.Buffer, delimiter: str, n_columns: int, block: int, limits: Limits, stop: StopToken, header: int
) -> list[pa.DictionaryArray]:
    bad: list[pa.csv.InvalidRow] = []

    def note_bad(row: pa.csv.InvalidRow) -> str:
        bad.append(row)
        return "error"

    text = pa.dictionary(pa.int32(), pa.string())
    reader_options = pa.csv.ReadOptions(
        use_threads=False, block_size=min(block, 2**31 - 1), autogenerate_column_names=True
    )
    parse_options = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note_bad)
    convert_options = pa.csv.ConvertOptions(
        column_types={f"f{i}": text for i in range(n_columns)}, strings_can_be_null=False, check_utf8=False
    )
    batches, rows = [], 0
    try:
        source = pa.BufferReader(content)
        with pa.csv.open_csv(
            source,
            read_options=reader_options,
            parse_options=parse_options,
            convert_options=convert_options,
        ) as reader:
            for batch in reader:
                stop.check()
                stop.report(PARSED * source.tell() / len(content))
                rows += batch.num_rows
                check_rows(rows - header, limits)
                check_cells(rows, n_columns, limits)
                batches.append(batch)
    except pa.ArrowInvalid as error:
        if bad:
            raise _RaggedRow(bad[0]) from error
        raise
    if batches[0].num_columns != n_columns:
        raise TableError("the first row cannot be read: its quotes do not match")
    return [_one([batch.column(i) for batch in batches], stop) for i in range(n_columns)]


def _one(chunks: list[pa.DictionaryArray], stop: StopToken) -> pa.DictionaryArray:
    stop.check()
    joined = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def _ragged(content: pa.Buffer, bad: "pa.csv.InvalidRow", delimiter: str, lines_before: int, stop: StopToken) -> str:
    where = _line_of(content, bad, delimiter, lines_before, stop)
    message = (
        f"{where} has {bad.actual_columns} {'field' if bad.actual_columns == 1 else 'fields'}, {bad.expected_columns} "
        f"were expected as in the first: {short(bad.text)}"
    )
    if "\n" in bad.text and '"' in bad.text:
        return message + "; a quote that opens in it is never closed"
    return message + f"; the delimiter read is {delimiter!r}"


def _line_of(content: pa.Buffer, bad: "pa.csv.InvalidRow", delimiter: str, lines_before: int, stop: StopToken) -> str:
    """Return "line 7" of the text for a bad record: pyarrow counts records, blank lines and quoted line ends apart."""
    lines = io.TextIOWrapper(pa.BufferReader(content), encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    records, line = 0, 1
    try:
        for row in reader:
            if records % 1000 == 0:
                stop.check()
            records += bool(row)
            if records == bad.number and row:
                return f"line {lines_before + line:,}"
            line = reader.line_num + 1
    except csv.Error:
        pass
    return f"row {bad.number:,}" if bad.number is not None else "a row"


def _explain(message: str) -> str:
    if "straddling" in message or "quote" in message.lower():
        return "a quote is opened and never closed; a closing quote was expected"
    return f"the text cannot be read as a table: {message}"
