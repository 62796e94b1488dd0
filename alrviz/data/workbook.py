"""Read workbooks (.xlsx, .xlsm, .xls, .ods): the values of a sheet, not its formulas.

python-calamine parses. It allocates the dense rectangle around a sheet's cells, so that one cell at XFD1048576 would
exhaust memory. Therefore every part of the archive is first scanned for references of cells, and a sparse sheet is
renumbered without its empty rows and columns. Numbers are floats, as spreadsheet programs write no more digits.
"""

import datetime
import io
import math
import re
import zipfile
import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress, count, islice
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import python_calamine as calamine

from alrviz.data.doubts import Note, NoteCode
from alrviz.data.find_table import find_table, group_labels_doubt
from alrviz.data.layout import HEAD_ROWS, MAX_TITLE_LINES, QUANTITY
from alrviz.data.limits import Limits
from alrviz.data.parse_values import number_text
from alrviz.data.text import Buffer, RawTable, ReadRequest, TextColumn
from alrviz.errors import TableError, listed, nearest, plural
from alrviz.stop import StopToken

PIECE_BYTES = 1 << 18  # of XML between two checks of the stop token: about 5 ms
CHUNK_ROWS = 1000  # between two checks of the stop token
MIN_ROWS = 3  # of a table, names included: a smaller sheet may be a title or a remark
MAX_INDEX_DIGITS = 9  # of a sheet's number
MAX_DENSE_CELLS = 1 << 20  # a rectangle up to this size is never renumbered
MAX_DENSE_SHARE = 8  # cells of the rectangle for each one with a value; beyond, a sheet is sparse
DENSE_UNITS = 5  # memory of a dense cell in units of `MEMORY_PER_CELL`, 16 bytes: 32 in the rectangle, 40 in a list
PASSWORD_MARK = "EncryptedPackage".encode("utf-16-le")
# The reference of a cell or row, in any notation that XML allows: a missed one could be far away and exhaust memory.
PLACE = re.compile(rb"""(r\s*=\s*["'])([A-Za-z]*)([0-9]+)""")
CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
EMPTY_CELL = re.compile(rb'<c(?:\s+[a-z]+="[\w.:-]*")*\s*/>')  # a format without a value
UNCACHED = (re.compile(rb"</f>\s*(?:<v\s*/>|<v></v>)?\s*</c>"), re.compile(rb"<f[^>]*/>\s*(?:<v\s*/>|<v></v>)?\s*</c>"))
ERROR_CELL = re.compile(rb'<c\s[^>]*\bt="e"[^>]*>(?:<f[^>]*/>|<f[^>]*>[^<]*</f>)?\s*<v>([^<]+)</v>')

# Values of cells and formulas in .xls files that are errors, and their codes.
XLS_ERROR = re.compile(
    rb"(?:\x05\x02\x08\x00.{6}([\x00\x07\x0f\x17\x1d\x24\x2a])\x01|"
    rb"\x06\x00.{8}\x02.([\x00\x07\x0f\x17\x1d\x24\x2a]).{3}\xff\xff)",
    re.DOTALL,
)
XLS_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}


def read_workbook(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the table of a sheet, read like the same table saved as CSV.

    The sheet is that of the options, else the first visible one that looks like a table and has the `expected_names`,
    else the first that is not empty.
    """
    options = request.options
    with _damage_reported():
        data, n_uncached, errors = _check_archive(data, request.limits, request.stop)
        book = calamine.load_workbook(io.BytesIO(data))
        sheet, skipped_titles = _choose_sheet(book, request, n_uncached)
    titles_of_sheets = _sheet_titles(book)
    other_titles = [title for title in titles_of_sheets if title != sheet.title]
    notes = list[str]()
    if other_titles:
        verb = "does" if len(skipped_titles) == 1 else "do"
        reason = f", as {listed(skipped_titles)} {verb} not look like the table" if skipped_titles else ""
        count_text = f"of {len(other_titles) + 1}{reason}"
        notes.append(f"the sheet {sheet.title!r} was read, {count_text}; there are also {listed(other_titles)}")
    if sheet.start != (0, 0):
        first_cell = _column_letters(sheet.start[1] + 1).decode() + str(sheet.start[0] + 1)
        notes.append(f"the first cells of the sheet are empty: it was read from {first_cell} on")
    skipped = min(options.skip_rows or 0, sheet.n_rows - 1)
    region = find_table(
        sheet.cells(skipped, skipped + MAX_TITLE_LINES + HEAD_ROWS),
        lambda n_titles: sheet.cells(max(skipped + n_titles, sheet.n_rows - HEAD_ROWS), sheet.n_rows),
        request, width=len(sheet.columns),
        is_whole=sheet.n_rows <= skipped + MAX_TITLE_LINES + HEAD_ROWS,
    )  # fmt: skip
    n_footer = region.n_footer if options.skip_footer is None else options.skip_footer
    rows = slice(skipped + region.first_row, sheet.n_rows - n_footer)
    columns = []
    for column in sheet.columns:
        request.stop.check()
        columns.append(column.text(rows))
    n_merged = sum(row >= rows.start for row, _ in sheet.merged_areas)
    in_force = replace(
        options,
        header=region.names.header,
        skip_rows=skipped + region.n_titles,
        skip_footer=n_footer,
        sheet=sheet.title,
    )
    if n_uncached:
        formulas_text = plural(n_uncached, "formula is", "formulas are")
        note = (
            f"{formulas_text} missing, as the file keeps no values of them; open it in a spreadsheet program and "
            f"save it"
        )
        notes.append(Note.with_code(NoteCode.FORMULAS, note))
    if errors:
        cells_text = plural(errors.total(), "cell of the workbook holds an error", "cells of the workbook hold errors")
        notes.append(Note.with_code(NoteCode.ERROR_CELLS, f"{cells_text}, such as {listed([*errors], 3)}: missing"))
    if n_merged:
        areas_text = f"{plural(n_merged, 'area')} of merged cells"
        notes.append(f"{areas_text}: the value is in the first cell of each, the others are missing")
    raw = region.named_table(columns, in_force, notes, request.stop, tuple(titles_of_sheets), sheet.later_starts)
    merged_positions = {k for row, k in sheet.merged_areas if row >= rows.start and k is not None}
    is_whole = len(raw.columns) == len(columns)  # else a table beside it was dropped, or a column of titles added
    merged_columns = [raw.columns[k] for k in sorted(merged_positions) if is_whole and not options.fills_down]
    return replace(raw, notes=[*raw.notes, *map(group_labels_doubt, merged_columns)])


# ---- before anything is unpacked -------------------------------------------------------------------------------------


@contextmanager
def _damage_reported() -> Iterator[None]:
    """Raise `TableError` for any error of an archive, its XML or the parser."""
    try:
        yield
    except TableError:
        raise
    except calamine.PasswordError as error:
        raise TableError(_PASSWORD) from error
    except (calamine.CalamineError, zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError, RuntimeError,
            NotImplementedError, ValueError, LookupError, OverflowError) as error:  # fmt: skip
        raise TableError(_damage_text(error)) from error
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":  # a panic of the parser, a `BaseException`
            raise
        raise TableError(_damage_text(error)) from error


_SAVE_AGAIN = "open it in a spreadsheet program and save it again, or save the sheet as CSV"
_PASSWORD = "the workbook has a password; open it in a spreadsheet program and save it without one, or as CSV"


def _damage_text(error: BaseException) -> str:
    return f"the workbook or zip archive is damaged ({error or type(error).__name__}); {_SAVE_AGAIN}"


def _check_archive(data: Buffer, limits: Limits, stop: StopToken) -> tuple[Buffer, int, Counter[str]]:
    """Return a workbook that can be parsed within the limits, its number of formulas without a value, and its errors.

    Both are of all sheets; errors, such as #N/A, are counted by their text. An .xls file, whose sheets have at most
    65,536 rows and 256 columns, is returned unchanged.
    """
    if not data.startswith(b"PK"):
        if PASSWORD_MARK in data:
            raise TableError(_PASSWORD)
        return data, 0, Counter(XLS_ERRORS[ord(cell[1] or cell[2])] for cell in XLS_ERROR.finditer(data))
    renumbered: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        limits.check(n_bytes=sum(entry.file_size for entry in entries), unpacked=True)
        n_uncached, errors = 0, Counter[str]()
        for entry in entries:
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others cannot be read in pieces
                raise TableError("the workbook is packed in a way that no spreadsheet program uses; save it again")
            if entry.filename == "content.xml":
                errors += _check_content(_pieces(archive, entry, stop), limits)
                continue
            extent = _Extent()
            for piece in _pieces(archive, entry, stop):
                extent.add(piece)
            n_uncached += extent.n_uncached
            errors += extent.errors
            if extent.is_sparse:
                renumbered[entry.filename], n_rows, n_columns = _renumber(archive.read(entry))
                _check_rectangle(n_rows, n_columns, limits)
            elif extent.is_sheet:
                _check_rectangle(extent.n_rows, extent.n_columns, limits)
        if not renumbered:
            return data, n_uncached, errors
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as smaller:
            for entry in entries:
                stop.check()
                smaller.writestr(entry.filename, renumbered.get(entry.filename) or archive.read(entry))
    return buffer.getvalue(), n_uncached, errors


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, stop: StopToken) -> Iterator[bytes]:
    """Yield a file of the archive in pieces that end after a row, or at least after a tag."""
    unfinished = b""
    with archive.open(entry) as file:
        while piece := file.read(PIECE_BYTES):
            stop.check()
            piece = unfinished + piece
            cut = piece.rfind(b"</row>") + 6
            cut = cut if cut > 5 else piece.rfind(b">") + 1
            unfinished = piece[cut:]
            yield piece[:cut]
    yield unfinished


def _check_rectangle(n_rows: int, n_columns: int, limits: Limits) -> None:
    limits.check(n_bytes=DENSE_UNITS * n_rows * n_columns, unpacked=True)
    replace(limits, rows=None, columns=None).check(DENSE_UNITS * n_rows, n_columns)


@dataclass
class _Extent:
    """What the cells in one file of a workbook's archive span, which may be no sheet, with its errors and formulas.

    Cells without an address such as "B7" are counted as lying in further rows, below all cells that have one.
    """

    n_rows: int = 0
    n_columns: int = 0
    n_cells: int = 0  # with a reference
    n_unplaced: int = 0  # cells without a reference
    n_uncached: int = 0  # formulas without a value
    errors: Counter[str] = field(default_factory=Counter)
    is_sheet: bool = False
    _n_in_row: int = 0  # cells without a reference in the last row

    def add(self, piece: bytes) -> None:
        """Take the next piece of the file into account: its cells, and the formulas without a value."""
        if b"<!DOCTYPE" in piece:
            raise TableError(
                "the workbook holds a document type, which no spreadsheet program writes; it was not opened"
            )
        self.is_sheet = self.is_sheet or b"sheetData" in piece
        places_in_xml = PLACE.findall(piece)
        cells = [(letters, number) for _, letters, number in places_in_xml if letters]
        places, rows = set(cells), [int(number) for _, number in cells]
        is_unordered = rows != sorted(rows) or rows[:1] <= [self.n_rows]
        if self.is_sheet and cells and (is_unordered or len(places) < len(cells)):
            raise TableError(f"the workbook is damaged: a row or a cell comes twice, or too late; {_SAVE_AGAIN}")
        self.n_rows = max([self.n_rows, *rows])
        self.n_columns = max([self.n_columns, *map(_column_number, {letters for letters, _ in places})])
        n_unplaced = len(CELL.findall(piece)) - len(cells)
        self.n_cells += len(cells)
        if n_unplaced > 0:
            n_cells_by_row = [len(CELL.findall(row)) for row in piece.split(b"row")]
            n_cells_by_row[0] += self._n_in_row
            self._n_in_row = n_cells_by_row[-1]
            self.n_columns = max(self.n_columns, *n_cells_by_row)
            self.n_rows = max(self.n_rows + len(n_cells_by_row) - 1, *(int(number) for *_, number in places_in_xml), 0)
            self.n_unplaced += n_unplaced
        self.n_uncached += sum(len(pattern.findall(piece)) for pattern in UNCACHED) if b"<f" in piece else 0
        if b't="e"' in piece:
            self.errors.update(error.decode() for error in ERROR_CELL.findall(piece))

    @property
    def is_sparse(self) -> bool:
        """Whether most of the rectangle around the cells is empty."""
        n_dense = self.n_rows * self.n_columns
        return self.is_sheet and not self.n_unplaced and n_dense > max(MAX_DENSE_CELLS, MAX_DENSE_SHARE * self.n_cells)


def _column_number(letters: bytes) -> int:
    """Return the number of a column, from 1, by its letters."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _column_letters(number: int) -> bytes:
    letters = b""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = bytes([65 + letter]) + letters
    return letters


def _renumber(xml: bytes) -> tuple[bytes, int, int]:
    """Return a sheet without its empty rows and columns, and the numbers of rows and columns that are left."""
    xml = EMPTY_CELL.sub(b"", xml)
    places = PLACE.findall(xml)
    columns = sorted({letters.upper() for _, letters, _ in places} - {b""}, key=_column_number)
    rows = sorted({int(row) for _, _, row in places})
    new_columns = {letters: _column_letters(k) for k, letters in enumerate(columns, 1)} | {b"": b""}
    new_rows = {row: b"%d" % k for k, row in enumerate(rows, 1)}
    xml = PLACE.sub(lambda place: place[1] + new_columns[place[2].upper()] + new_rows[int(place[3])], xml)
    return xml, len(rows), len(columns)


def _check_content(pieces: Iterator[bytes], limits: Limits) -> Counter[str]:
    """Check the sheets of an OpenDocument file against the limits; return its errors by their text.

    A repeated row or cell counts as often for the limits.
    """
    parser, errors = expat.ParserCreate(), Counter[str]()
    parser.buffer_text = True
    row = column = width = n_rows = n_columns = repeats = 0
    is_error = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, width, n_rows, n_columns, repeats, is_error
        if name == "table:table":
            row = n_rows = n_columns = 0
        elif name == "table:table-row":
            column = width = 0
            repeats = int(attributes.get("table:number-rows-repeated", 1))
        elif name in ("table:table-cell", "table:covered-table-cell"):
            column += int(attributes.get("table:number-columns-repeated", 1))
            is_error = attributes.get("calcext:value-type") == "error"
            if any(key.startswith("office:") for key in attributes):
                width = column
        elif name == "text:p":
            width = column

    def end(name: str) -> None:
        nonlocal row, n_rows, n_columns
        if name == "table:table-row":
            row += repeats
            n_rows, n_columns = (row, max(n_columns, width)) if width else (n_rows, n_columns)
        elif name == "table:table":
            _check_rectangle(n_rows, n_columns, limits)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: errors.update([text.strip()] if is_error and text.strip() else [])
    parser.StartDoctypeDeclHandler = lambda *_: _Extent().add(b"<!DOCTYPE")
    for piece in pieces:
        parser.Parse(piece, False)
    parser.Parse(b"", True)
    return errors


# ---- sheets ----------------------------------------------------------------------------------------------------------


def _sheet_titles(book: Any) -> list[str]:
    return [sheet.name for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]


def _choose_sheet(book: Any, request: ReadRequest, n_uncached: int) -> tuple["_Sheet", list[str]]:
    """Return the sheet to read, and the titles of earlier ones that are no table or lack the `expected_names`."""
    requested, titles, skipped_titles = request.options.sheet, _sheet_titles(book), list[str]()
    if not titles:
        raise TableError("the workbook has no sheets; one with a row of names and rows of values was expected")
    hidden = {sheet.name for sheet in book.sheets_metadata if sheet.visible != calamine.SheetVisibleEnum.Visible}
    candidates = sorted(titles, key=lambda title: title in hidden)
    if requested is not None:
        candidates = [_requested_title(requested, titles)]
    first_filled_sheet = first_table_sheet = None
    for title in candidates:
        sheet = _Sheet.read(book.get_sheet_by_name(title), request)
        if sheet.n_rows > int(n_uncached > 0):  # a sheet of formulas without values has the row of names alone
            if requested is not None or sheet.looks_like_a_table():
                if requested is not None or sheet.has_names(request.expected_names):
                    return sheet, skipped_titles
                first_table_sheet = first_table_sheet or sheet
            first_filled_sheet = first_filled_sheet or sheet
            skipped_titles.append(title)
    if first_filled_sheet is not None:
        return first_table_sheet or first_filled_sheet, []
    if n_uncached:
        raise TableError(
            f"the workbook holds {n_uncached:,} formulas whose values the file does not keep, and no other row of "
            "values; open it in a spreadsheet program and save it again, or save it as CSV"
        )
    subject = "workbook" if requested is None else f"sheet {candidates[0]!r}"
    raise TableError(f"the {subject} is empty; a row of names and at least one row of values were expected")


def _requested_title(requested: str | int, titles: Sequence[str]) -> str:
    """Return the title of the sheet that the options name by title or by number, from 1."""
    if isinstance(requested, str) and requested in titles:
        return requested
    digits = str(requested)  # digits are a sheet's number, unless a sheet has that title, such as a year
    sheet_index = int(digits) - 1 if digits.isdecimal() and len(digits) <= MAX_INDEX_DIGITS else -1
    if not 0 <= sheet_index < len(titles):
        raise TableError(
            f"the workbook has no sheet {requested!r}{nearest(requested, titles)}; its {len(titles)} sheets are "
            + listed(titles)
        )
    return titles[sheet_index]


@dataclass
class _Column:
    """A column of a sheet: `codes` (rows,) into `texts`, -1 for an empty cell; `is_number` (texts,) is a mask."""

    codes: np.ndarray
    texts: list[str]
    is_number: np.ndarray

    @classmethod
    def from_cells(cls, codes: "array[int]", values: Collection[object]) -> "_Column":
        """Return a column of codes (N,), as bytes, into the distinct cell values."""
        texts = list(map(_text, values))
        is_number = [isinstance(value, int | float) and math.isfinite(value) for value in values]
        lookup = np.array([k if text.strip() else -1 for k, text in enumerate(texts)], dtype=np.int32)
        return cls(lookup[np.frombuffer(codes, dtype=np.int32)], texts, np.array([*is_number, False], dtype=bool))

    def text(self, rows: slice) -> TextColumn:
        """Return some rows as a column without a name."""
        codes = self.codes[rows]
        return TextColumn("", codes, pa.array(self.texts, type=pa.string()), self.is_number[codes])


@dataclass
class _Sheet:
    """The rows and columns of a sheet that are not empty."""

    title: str
    columns: list[_Column]
    n_rows: int
    merged_areas: list[tuple[int, int | None]]  # last row of merged cells, and the column if it is one with values
    start: tuple[int, int]  # row and column of the first cells, from 0
    later_starts: list[int]  # columns that follow an empty one

    @classmethod
    def read(cls, sheet: Any, request: ReadRequest) -> "_Sheet":
        """Return a sheet without empty rows and columns; `TableError` if it exceeds the limits."""
        codes = [array("i") for _ in range(sheet.width)]
        lookups: list[defaultdict[object, int]] = [defaultdict(count().__next__) for _ in codes]
        rows = sheet.iter_rows()
        while chunk := list(islice(rows, CHUNK_ROWS)):
            request.stop.check()
            for column_codes, lookup, cells in zip(codes, lookups, zip(*chunk, strict=True), strict=True):
                if bool in set(map(type, cells)):  # True == 1 would share its code
                    cells = tuple(str(cell) if isinstance(cell, bool) else cell for cell in cells)
                column_codes.extend(map(lookup.__getitem__, cells))
        columns = [_Column.from_cells(*column) for column in zip(codes, lookups, strict=True)]
        has_values = [bool((column.codes >= 0).any()) for column in columns]
        columns = list(compress(columns, has_values))
        request.limits.check(columns=len(columns))
        has_cells = np.zeros(len(columns[0].codes) if columns else 0, dtype=bool)
        for column in columns:
            has_cells |= column.codes >= 0
        n_rows = int(has_cells.sum())
        request.limits.check(n_rows - 1)
        for column in columns:
            column.codes = column.codes[has_cells]
        rows_so_far, columns_so_far = np.cumsum(has_cells), np.cumsum(has_values)
        first_row, first_column = sheet.start or (0, 0)  # rows are counted from the sheet's first, columns from this
        merged_areas = [
            (int(rows_so_far[end]) - 1, int(columns_so_far[k]) - 1 if left == right and has_values[k] else None)
            for (_, left), (end, right) in sheet.merged_cell_ranges or ()
            if end < len(has_cells) and 0 <= (k := left - first_column) < len(has_values)
        ]
        places = np.flatnonzero(has_values)
        later_starts = (np.flatnonzero(np.diff(places) > 1) + 1).tolist()
        return cls(sheet.name, columns, n_rows, merged_areas, (first_row, first_column), later_starts)

    def looks_like_a_table(self) -> bool:
        """Return whether it has several columns and rows, and a column of numbers or of texts that repeat."""
        if len(self.columns) < 2 or self.n_rows < MIN_ROWS:
            return False
        for column in self.columns:
            codes = column.codes[column.codes >= 0]
            texts = [column.texts[code] for code in dict.fromkeys(codes[: 10 * HEAD_ROWS].tolist())][:HEAD_ROWS]
            n_numbers = sum(bool(QUANTITY.match(text)) for text in texts)
            if len(codes) > 1 and (3 * len(column.texts) <= 2 * len(codes) or 2 * n_numbers > len(texts)):
                return True
        return False

    def has_names(self, names: Collection[str]) -> bool:
        """Return whether all of these names occur in the first rows."""
        return set(names) <= {cell for row in self.cells(0, HEAD_ROWS) for cell in row}

    def cells(self, begin: int, end: int) -> list[list[str]]:
        """Return the texts of some rows, "" for empty cells."""
        columns = [
            ["" if code < 0 else column.texts[code].strip() for code in column.codes[begin:end].tolist()]
            for column in self.columns
        ]
        return [list(row) for row in zip(*columns, strict=True)]


def _text(value: Any) -> str:
    """Return a cell's value as text: the shortest form of a number, ISO dates, durations as hours:minutes:seconds."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return number_text(value) if math.isfinite(value) else str(value)
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        sign, seconds = "-" if seconds < 0 else "", abs(seconds)
        return f"{sign}{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    if isinstance(value, datetime.time):
        return f"{value:%H:%M:%S}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    text: str = value.isoformat()
    return text
