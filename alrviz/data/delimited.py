"""Read delimited text: delimiter and rows of names are detected here, pyarrow parses.

Every cell is read as text into dictionaries; types are decided later, on distinct texts. It is read block by block, so
that the stop token is checked every few milliseconds and the limit on rows applies while reading.
"""

import csv
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, takewhile

import pyarrow as pa

from alrviz.data.charset import to_utf8
from alrviz.data.doubts import DoubtCode, DoubtNote, Note, NoteCode
from alrviz.data.find_table import find_table
from alrviz.data.layout import HEAD_ROWS, MAX_TITLE_LINES, NUMBERS_SHARE, QUANTITY, refuse_prose
from alrviz.data.options import DELIMITERS
from alrviz.data.quotes import TAIL_BYTES, close_quotes, quotes_note
from alrviz.data.records import UnevenRows, empty_batch, record_batches
from alrviz.data.text import Buffer, RawTable, ReadRequest, TextColumn
from alrviz.errors import EMPTY_TABLE, TableError, plural, short
from alrviz.stop import StopToken

BLOCK_BYTES = 1 << 21  # parsed between two checks of the stop token: about 15 ms
DETECTION_BYTES = 1 << 18  # from which the layout is detected
FIXED_WIDTH_DELIMITER = "\t"  # replaces the gaps between columns of fixed width
MAX_HEADER_LENGTH = 1 << 20
PARSE_SHARE = 0.5  # of the reading time, for progress: 0.63 measured on words, 0.33 on numbers (more distinct texts)
DETECTION_LINES = 8  # the sample is at least so many times as long as the first line
MIN_MAX_LEVELS = 4  # levels of a column of words between single spaces, or a tenth of the lines if that is more
MAX_FIELDS_RATIO = 3  # of the best delimiter to another in doubt: a decimal comma may be in every line
NEARLY_EQUAL = 0.95  # share of evenly cut lines, relative to the best delimiter's, from which another is in doubt
# Lines below the names of columns of a fixed width.
FIXED_WIDTH_RULE = re.compile(r"^ *(?:-{2,}(?: +-+)+|={2,}(?: +=+)+) *\r?$", re.MULTILINE)
PRINTED_TABLE_RULE = re.compile(rb"^[ \t]*\+?-{2,}(?:\+-{2,})+\+?[ \t]*(?=\r?$)", re.MULTILINE)  # of psql and mysql
LINE_END = re.compile(rb"\r\n|\n|\r")
PAGE_NUMBER = re.compile(rb"(?im)^(.*\b(?:page|seite|p\xc3\xa1gina|pagina|blad|sida)[ :]{0,3})(\d{1,6})\b(.*)$")
CARRIED_FORWARD = re.compile(rb"(?i)^[\W_]*(?:(?:carried|brought) (?:forward|over)|sub-?total|\xc3\xbcbertrag)\b")
MIN_PAGE_LINES = 4  # of all lines for each line with the number of a page


def read_delimited(data: Buffer, request: ReadRequest, width: int | None = None) -> RawTable:
    """Return the table of a delimited text, with the detected options.

    `width` is the number of columns (default: the commonest number of fields).

    Raises `TableError` if the text is no table, or exceeds the limits.
    """
    options, stop = request.options, request.stop
    data, encoding, notes = to_utf8(data, options.encoding, stop)
    data, page_notes = _without_page_breaks(data)
    notes += page_notes
    content_start, content_end, stated_delimiter = _edges(data)
    data, width_notes = _cut_fixed_widths(data, options.delimiter)
    notes += width_notes
    if PRINTED_TABLE_RULE.search(data, 0, DETECTION_BYTES):
        data, n_rules = PRINTED_TABLE_RULE.subn(b"", data)
        rules_text = plural(n_rules, "line of dashes", "lines of dashes")
        notes.append(Note.with_code(NoteCode.FIXED_WIDTH, f"{rules_text} between the rows left out"))
    data, comment, comment_notes = _without_comments(data, content_start, options.comment)
    notes += comment_notes
    content_start, content_end, _ = _edges(data)
    if options.skip_rows is not None:
        content_start = max(_line_start(data, 0, options.skip_rows), content_start if options.skip_rows == 0 else 0)
        content_start = min(content_start, content_end)
    sample = _sample(data, content_start, content_end)
    if not sample.strip():
        raise TableError(
            "the table is empty; a row of names and at least one row of values were expected", code=EMPTY_TABLE
        )
    delimiter, second_delimiter = options.delimiter or stated_delimiter or "", ""
    if not delimiter:
        delimiter, second_delimiter = detect_delimiter(sample)
    if second_delimiter:
        note = f"{delimiter!r} was used as the delimiter; {second_delimiter!r} splits the lines as evenly"
        change = {"delimiter": second_delimiter}
        notes.append(
            DoubtNote.with_doubt(note, DoubtCode.DELIMITER, change, read=repr(delimiter), other=repr(second_delimiter))
        )
    lines_before = _lines_between(data, 0, content_start)
    repaired = close_quotes(data, delimiter, stop)
    data = repaired.data
    if repaired.lines:
        notes.append(quotes_note(len(repaired.lines), repaired.lines[0] + 1))
        # Repaired lines before the table are longer.
        content_start, content_end = _line_start(data, 0, lines_before), _edges(data)[1]
        sample = _sample(data, content_start, content_end)
    rows, n_lines_before = _parsed_rows(sample, delimiter)
    request.limits.check(columns=max(map(len, rows)))
    if options.delimiter is None and options.skip_rows is None and request.known_layout is None:
        refuse_prose(rows[:HEAD_ROWS])

    def tail_from(n_titles: int) -> tuple[int, list[list[str]], list[int]]:
        return _last_rows_of(data, _line_start(data, content_start, n_lines_before[n_titles]), content_end, delimiter)

    region = find_table(
        rows,
        lambda n_titles: tail_from(n_titles)[1],
        request,
        width=width,
        is_whole=content_end - content_start <= DETECTION_BYTES,
    )
    first_line = _line_start(data, content_start, n_lines_before[region.n_titles])
    n_footer = region.n_footer if options.skip_footer is None else options.skip_footer
    table_end = content_end
    if region.n_footer:
        tail_start, _, tail_places = tail_from(region.n_titles)
        table_end = _line_start(data, tail_start, tail_places[-region.n_footer])
        n_footer = _lines_between(data, table_end, content_end) + 1
    elif n_footer:
        line_ends = [line.end() for line in LINE_END.finditer(data, first_line, content_end)]
        table_end = line_ends[-min(n_footer, len(line_ends))] if line_ends else content_end
    values_start = (
        _line_start(data, content_start, n_lines_before[region.first_row])
        if region.first_row < len(rows)
        else table_end
    )
    columns, row_notes = _parse(data, (values_start, table_end), delimiter, len(region.names.names), request)
    in_force = replace(
        options,
        encoding=encoding,
        delimiter=delimiter,
        header=region.names.header,
        skip_rows=_lines_between(data, 0, first_line),
        skip_footer=n_footer,
        comment=comment,
    )
    return region.named_table(columns, in_force, [*notes, *row_notes], stop)


def _without_page_breaks(data: Buffer) -> tuple[Buffer, list[str]]:
    """Blank the numbers, repeated heads and carried totals of printed pages; return the text and a note.

    Pages begin with a form feed, or a line that differs from those of other pages in its number alone. The head, such
    as the names, is what the later pages begin with alike. Lines keep their numbers.
    """
    head = data[:DETECTION_BYTES]
    has_form_feeds = b"\f" in head
    if not has_form_feeds and len(PAGE_NUMBER.findall(head)) < 2:
        return data, []
    lines = bytes(data).split(b"\n")
    numbered = {k: match for k, line in enumerate(lines) if (match := PAGE_NUMBER.match(line))}
    numbers, texts = [int(match[2]) for match in numbered.values()], {match.group(1, 3) for match in numbered.values()}
    if len(texts) != 1 or any(later != number + 1 for number, later in pairwise(numbers)):
        numbered = {}
    starts = [k for k, line in enumerate(lines) if line.startswith(b"\f")] if has_form_feeds else [*numbered]
    if not starts or MIN_PAGE_LINES * max(len(starts), len(numbered)) > len(lines):
        return data, []
    left_out = {k for k, line in enumerate(lines) if k in numbered or CARRIED_FORWARD.match(line)}
    lines = [line.lstrip(b"\f") for line in lines]
    pages = [range(start, end) for start, end in pairwise(dict.fromkeys([0, *starts, len(lines)]))]
    pages_of_lines = [[k for k in page if lines[k].strip() and k not in left_out] for page in pages]
    pages_of_lines = [page for page in pages_of_lines if page]
    later_pages = pages_of_lines[1:] if len(pages_of_lines) > 2 else pages_of_lines
    columns = zip(*([lines[k].strip() for k in page[:MAX_TITLE_LINES]] for page in later_pages), strict=False)
    page_head = [texts[0] for texts in takewhile(lambda texts: len(set(texts)) == 1, columns)]
    with_head = [page for page in pages_of_lines if [lines[k].strip() for k in page[: len(page_head)]] == page_head]
    if len(pages_of_lines) > 1:
        left_out.update(k for page in with_head[1:] for k in page[: len(page_head)])
    data = b"\n".join(b"" if k in left_out else line for k, line in enumerate(lines))
    if not left_out:
        return data, []
    lines_text = plural(len(left_out), "line with a number, head or total", "lines with numbers, heads and totals")
    example = short(lines[min(left_out)].decode("utf-8", "replace").strip())
    text = f"{lines_text} of {len(pages_of_lines)} printed pages left out, such as {example}"
    return data, [Note.with_code(NoteCode.PAGES, text)]


def _cut_fixed_widths(data: Buffer, delimiter: str | None) -> tuple[Buffer, list[str]]:
    """Return a text of columns of fixed width, which a line of dashes below the names shows, with tabs, and a note.

    Lines keep their numbers; those with a letter across an edge, such as titles, are unchanged.
    """
    head = bytes(data[:DETECTION_BYTES]).decode("utf-8", "replace")
    rule = FIXED_WIDTH_RULE.search(head)
    if delimiter not in (None, FIXED_WIDTH_DELIMITER) or rule is None or FIXED_WIDTH_DELIMITER in head:
        return data, []
    if head.count("\n", 0, rule.start()) > MAX_TITLE_LINES:
        return data, []
    starts = [word.start() for word in re.finditer(r"\S+", rule[0])]
    edges = [0, *starts[1:], None]
    lines = bytes(data).decode("utf-8").split("\n")
    for i, line in enumerate(lines):
        if FIXED_WIDTH_RULE.match(line):
            lines[i] = ""
        elif line.strip() and all(line[start - 1 : start] in ("", " ") for start in starts[1:]):
            cells = [line[start:end].strip() for start, end in pairwise(edges)]
            lines[i] = FIXED_WIDTH_DELIMITER.join(cells)
    note = f"columns of fixed width: the lines were cut into {len(starts)} by the line of dashes"
    return "\n".join(lines).encode(), [Note.with_code(NoteCode.FIXED_WIDTH, note)]


def _without_comments(data: Buffer, start: int, comment: str | None) -> tuple[Buffer, str, list[str]]:
    """Blank comment lines, so that lines keep their numbers; return the text, the mark of comments, and notes.

    By default comments begin with "#", if the first line does. The last comment line at the top is kept if it has the
    column names.
    """
    if comment == "" or (comment is None and data[start : start + 1] != b"#"):
        return data, "", []
    mark_pattern = re.escape((comment or "#").encode("utf-8"))
    comment_block = re.match(rb"(?:[ \t]*" + mark_pattern + rb"[^\r\n]*\r?\n)+", data[start : start + DETECTION_BYTES])
    names_line = b""
    if comment_block is not None:
        last_comment = comment_block[0].splitlines()[-1]
        next_line = data[start + comment_block.end() : start + comment_block.end() + DETECTION_BYTES].partition(b"\n")[
            0
        ]
        if any(next_line.count(d) and next_line.count(d) == last_comment.count(d) for d in (b",", b";", b"\t", b"|")):
            names_line = last_comment
    elif comment is None:
        return data, "", []  # a single line: a name that begins with "#"
    blanked, n_comments = re.subn(rb"(?m)^[ \t]*" + mark_pattern + rb"[^\r\n]*", b"", bytes(data[start:]))
    result = bytes(data[:start]) + blanked
    if names_line and comment_block is not None:  # put it back on its blanked line
        position = start + len(re.sub(rb"[^\r\n]", b"", comment_block[0].rstrip(b"\r\n")))
        bare = names_line.lstrip(b"# ")  # unless the mark is a name itself
        result = (
            result[:position] + (names_line if bare[:1] in (b",", b";", b"\t", b"|", b"") else bare) + result[position:]
        )
        n_comments -= 1
    lines_text = plural(n_comments, "line that starts", "lines that start")
    note = Note.with_code(NoteCode.LEFT_OUT, f"{lines_text} with {comment or '#'!r} left out")
    return result, comment or "#", [note] if n_comments else []


def _parsed_rows(sample: str, delimiter: str, max_rows: int = 10 * HEAD_ROWS) -> tuple[list[list[str]], list[int]]:
    """Return the first `max_rows` rows of a text that are not blank, and the number of lines before each."""
    rows, n_lines_before, n_lines_read = [], [], 0
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                rows.append(row)
                n_lines_before.append(n_lines_read)
            n_lines_read = reader.line_num
            if len(rows) >= max_rows:
                break
    except csv.Error as error:
        if not rows:
            raise TableError(f"the first row cannot be read ({error}); a row of names was expected") from error
    return rows, n_lines_before


def _line_start(data: Buffer, start: int, n_lines: int) -> int:
    """Return the position of the line that follows after so many lines."""
    for _, line_end in zip(range(n_lines), LINE_END.finditer(data, start), strict=False):
        start = line_end.end()
    return start


def _lines_between(data: Buffer, start: int, end: int) -> int:
    """Return the number of line ends in data[start:end]."""
    return sum(1 for _ in LINE_END.finditer(data, start, end))


def _last_rows_of(data: Buffer, start: int, end: int, delimiter: str) -> tuple[int, list[list[str]], list[int]]:
    """Return the position of the last rows, these rows, and the number of lines between it and each of them."""
    tail_start = max(start, end - TAIL_BYTES)
    if tail_start > start:
        tail_start = data.find(b"\n", tail_start, end) + 1 or start
    return tail_start, *last_rows(bytes(data[tail_start:end]).decode("utf-8", "replace"), delimiter)


def last_rows(tail: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the last rows of the end of a text, and the number of its lines before each of them."""
    if not tail.strip() or tail.count('"') % 2:
        return [], []
    rows, n_lines_before = _parsed_rows(tail, delimiter, len(tail))
    return rows[-3 * HEAD_ROWS :], n_lines_before[-3 * HEAD_ROWS :]


def _edges(data: Buffer) -> tuple[int, int, str | None]:
    """Return start and end of the table, without blank lines around it, and the delimiter of Excel's `sep=` line."""
    prefix = re.match(rb"(?:[ ]*\r?\n)*(?:sep=(.)\r?\n)?(?:[ ]*\r?\n)*", data, re.IGNORECASE)
    start = prefix.end() if prefix else 0
    end = len(data)
    while end > start and data[end - 1] in b" \r\n\x1a":
        end -= 1
    byte = prefix[1] if prefix else None
    return (start, end, byte.decode("latin-1") if byte and byte not in b'"\r\n' and byte < b"\x80" else None)


def _sample(data: Buffer, start: int, end: int) -> str:
    """Return the first lines of data[start:end], from which the layout is detected: complete ones, and at least one."""
    first_line_end = data.find(b"\n", start, start + MAX_HEADER_LENGTH)
    # The names of 45,000 columns fill 256 kB.
    n_bytes = max(DETECTION_BYTES, DETECTION_LINES * (first_line_end - start))
    sample_end = min(end, start + n_bytes)
    if sample_end < end:
        last_line_end = max(data.rfind(b"\n", start, sample_end), data.rfind(b"\r", start, sample_end))
        if last_line_end < 0:
            line_end = data.find(b"\n", sample_end, start + MAX_HEADER_LENGTH)
            last_line_end = line_end if line_end >= 0 else min(end, start + MAX_HEADER_LENGTH)
            if last_line_end == start + MAX_HEADER_LENGTH and last_line_end < end:
                raise TableError(
                    f"the first line is longer than {MAX_HEADER_LENGTH:,} characters; a row of names was expected"
                )
        sample_end = last_line_end
    return data[start:sample_end].decode("utf-8", "replace")


def detect_delimiter(sample: str) -> tuple[str, str]:
    """Return the delimiter that cuts most lines into as many fields as the first line, and one nearly as good or "".

    In a tie the one with more fields wins. The first line decides, because names rarely contain commas and numbers with
    a decimal comma always do. If none of `DELIMITERS` cuts it, single spaces are tried, for rows of numbers or levels.
    """
    unquoted = re.sub(r'(?:(?<=[,;\t|\n])|^)"(?:[^"]|"")*"', "q", sample)
    lines = [line for line in unquoted.splitlines() if line.strip()][:200]
    for n_titles in range(min(MAX_TITLE_LINES, max(1, len(lines) - 2))):  # title lines may contain any delimiter
        delimiter, second_delimiter, even_share = _best_delimiter(lines[n_titles:])
        if n_titles and delimiter == " ":
            continue
        if even_share > (0.5 if n_titles == 0 else 0.8):
            return delimiter, second_delimiter
    return _best_delimiter(lines)[:2]


def _best_delimiter(lines: list[str]) -> tuple[str, str, float]:
    """Return the best delimiter, one nearly as good or "", and the share of lines with as many fields as the first."""
    best_delimiter, best_score, shares = "", (0.0, 0), dict[str, float]()
    for delimiter in (*DELIMITERS, " "):
        n_lines_by_count = Counter(line.count(delimiter) for line in lines)
        n_fields = lines[0].count(delimiter) + 1
        share = n_lines_by_count[n_fields - 1] / len(lines)
        wins = (
            not best_delimiter and _is_spaced(lines) if delimiter == " " else (round(share, 2), n_fields) > best_score
        )
        if n_fields > 1 and wins:
            best_delimiter, best_score = delimiter, (round(share, 2), n_fields)
        if n_fields > 1 and delimiter != " ":
            shares[delimiter] = share
    min_fields = best_score[1] / MAX_FIELDS_RATIO
    rivals = [
        delimiter
        for delimiter, share in shares.items()
        if delimiter != best_delimiter
        and share >= NEARLY_EQUAL * best_score[0]
        and lines[0].count(delimiter) + 1 > min_fields
    ]
    return best_delimiter or ",", max(rivals, key=shares.__getitem__, default=""), best_score[0]


def _is_spaced(lines: list[str]) -> bool:
    """Return whether single spaces delimit columns; the first line may lack a name, as R's write.table writes it."""
    rows = [re.sub(r'"[^"]*"', "q", line).split(" ") for line in lines]
    width, is_short = len(rows[-1]), len(rows[0]) == len(rows[-1]) - 1
    return all(len(row) == width for row in rows[is_short:]) and _has_columns(rows[is_short:])


def _has_columns(rows: list[list[str]]) -> bool:
    """Return whether rows of equal length are a table rather than sentences.

    They are if a column is nearly all numbers below its first cell, or if most columns have few distinct cells.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    if any(sum(map(bool, map(QUANTITY.match, cells[1:]))) > NUMBERS_SHARE * len(cells[1:]) for cells in columns):
        return True
    max_levels = min(len(rows) // 2, max(MIN_MAX_LEVELS, len(rows) // 10))
    return 2 * sum(len(set(cells)) <= max_levels for cells in columns) > len(columns)


def _parse(
    data: Buffer, span: tuple[int, int], delimiter: str, n_columns: int, request: ReadRequest
) -> tuple[list[TextColumn], list[str]]:
    """Return the unnamed columns of the text between two positions, and notes on uneven rows."""
    content = pa.py_buffer(data).slice(span[0], span[1] - span[0])
    if len(content) <= DETECTION_BYTES and not any(end in content.to_pybytes() for end in (b"\n", b"\r")):
        content = pa.py_buffer(content.to_pybytes() + b"\n")  # pyarrow ignores a line without an end
    block = BLOCK_BYTES
    uneven = UnevenRows(n_columns, delimiter)
    while True:
        try:
            batches = _parse_blocks(content, uneven, block, request)
            break
        except pa.ArrowInvalid as error:
            # A row longer than a block, which a larger block solves, or a quotation mark that is never closed.
            if "straddling" not in str(error) or block > len(content):
                is_unclosed_quote = "straddling" in str(error) or "quote" in str(error).lower()
                raise TableError(
                    "a quote is opened and never closed; a closing quote was expected"
                    if is_unclosed_quote
                    else f"the text cannot be read as a table: {error}"
                ) from error
            block *= 8
            uneven = UnevenRows(n_columns, delimiter)
    lines_before = data.count(b"\n", 0, span[0])
    notes = uneven.check(
        sum(batch.num_rows for batch in batches),
        lambda record: f"line {_line_of(content, record + 1, delimiter, lines_before, request.stop):,}",
    )
    columns = []
    for column_index in range(n_columns):
        request.stop.check()
        chunks = pa.chunked_array([batch.column(column_index) for batch in batches])
        joined = chunks.unify_dictionaries().combine_chunks()
        joined = joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
        columns.append(TextColumn("", joined.indices.to_numpy(zero_copy_only=False), joined.dictionary))
    return columns, notes


def _parse_blocks(content: pa.Buffer, uneven: UnevenRows, block: int, request: ReadRequest) -> list[pa.RecordBatch]:
    """Return the rows in batches of `block` bytes; the limit on rows is checked after each."""
    batches, n_rows = [empty_batch(uneven.width)], 0
    source = pa.BufferReader(content)
    for batch in record_batches(source, uneven, block) if len(content) else ():
        request.stop.check()
        request.stop.report(PARSE_SHARE * source.tell() / len(content))
        n_rows += batch.num_rows
        request.limits.check(n_rows, uneven.width)
        batches.append(batch)
    return batches


def _line_of(content: pa.Buffer, record: int, delimiter: str, lines_before: int, stop: StopToken) -> int:
    """Return the line at which a record starts; pyarrow counts records, from 1, and no blank lines."""
    lines = io.TextIOWrapper(pa.BufferReader(content), encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(lines, delimiter=delimiter)
    n_records, line = 0, 1
    with suppress(csv.Error):
        for row in reader:
            if n_records % 1000 == 0:
                stop.check()
            n_records += bool(row)
            if n_records == record and row:
                break
            line = reader.line_num + 1
    return lines_before + line
