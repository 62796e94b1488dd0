"""Excel workbooks (.xlsx): a sheet's shown values, never its formulas.

    zip -> workbook.xml (sheets), styles.xml (which formats are dates), sharedStrings.xml (texts) -> sheet.xml (cells)

Read as a stream, cell by cell, into columns of codes: what a sheet says of its own size (the dimension tag, row
numbers, a lone cell at XFD1048576) allocates nothing and drops nothing. The libraries were measured and left: openpyxl
fills the rectangle around all cells and believes the dimension tag; calamine fills that rectangle too, in one piece
(17 billion cells end the whole process), and makes every number a float, in which long ids merge. A document type, with
which XML texts explode, is refused.
"""

import datetime
import io
import math
import posixpath
import re
import zipfile
import zlib
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from alrviz.data.column_names import clean_names
from alrviz.data.layout import (
    HEAD_ROWS,
    QUANTITY,
    count_footer,
    count_titles,
    kinds_by_name,
    left_out,
    read_names,
)
from alrviz.data.limits import Limits, check_bytes, check_cells, check_columns, check_rows
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import Layout
from alrviz.data.parse_values import number_text
from alrviz.data.text import Buffer, RawTable, TextColumn
from alrviz.errors import TableError, listed, nearest
from alrviz.stop import StopToken

PIECE = 1 << 18  # bytes of XML between two looks at the stop token: some 20 ms
FEWEST_ROWS = 3  # of a table, names included: a sheet of less may be a title or a remark
MOST_DIGITS = 9  # of a sheet's place
EXACT_DIGITS = 15  # more of them are no float's: such whole numbers stay as they are written
# What a format's code shows when words in quotes, colours and escaped characters are taken out of it.
NOT_SHOWN = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
DURATION = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}  # built in, without a code
DURATION_FORMAT = 46
EPOCHS = (datetime.datetime(1899, 12, 30), datetime.datetime(1904, 1, 1))


def read_excel(
    data: Buffer,
    options: ReadOptions,
    limits: Limits,
    stop: StopToken,
    known: Layout | None = None,
    expected: Collection[str] = (),
) -> RawTable:
    """Return the columns of the first visible sheet that looks like a table, read as the same table saved as CSV.

    Where none does it is the first that holds something.

    `known` are the names of a table like it that was read before, `expected` names that the caller gave.
    """
    with _damage_told(), zipfile.ZipFile(io.BytesIO(data)) as archive:
        book = _Book(archive, limits, stop)
        sheet, title, passed = _chosen_sheet(book, options.sheet)
    others = [name for name, _ in book.sheets if name != title]
    why = f", as {listed(passed)} {'looks' if len(passed) == 1 else 'look'} like no table" if passed else ""
    there = f"the sheet {title!r} was read, of {len(book.sheets)}{why}; there are also {listed(others)}"
    notes = [there] if others else []
    places = sorted(sheet.columns)
    head = sheet.cells(places, 0, HEAD_ROWS)
    titles = count_titles(head, len(places)) if options.skip_rows is None else min(options.skip_rows, sheet.rows - 1)
    if titles and options.skip_rows is None:
        notes.append(left_out([" ".join(filter(None, row)) for row in head[:titles]], "before the names"))
    tail = sheet.cells(places, max(titles, sheet.rows - HEAD_ROWS), sheet.rows)
    footer = count_footer(tail, len(places)) if options.skip_footer is None else options.skip_footer
    if footer and options.skip_footer is None:
        notes.append(left_out([" ".join(filter(None, row)) for row in tail[-footer:]], "behind the table"))
    rows = head[titles:] if titles < len(head) else sheet.cells(places, titles, titles + HEAD_ROWS)
    named = read_names(rows, len(places), options.header, expected, known)
    notes += named.notes
    names, renamed = clean_names(named.names, numbered=not named.n_rows)
    columns = []
    for name, place in zip(names, places, strict=True):
        stop.check()
        columns.append(sheet.columns.pop(place).text(name, sheet.rows, titles + named.n_rows, footer))
    in_force = replace(
        options,
        header=bool(named.n_rows) if named.n_rows < 2 else named.n_rows,
        skip_rows=titles,
        skip_footer=footer,
        sheet=title,
    )
    return RawTable(
        columns,
        in_force,
        [*notes, *sheet.remarks(), *renamed],
        tuple(name for name, _ in book.sheets),
        named.first,
        "text",
        kinds_by_name(names, named.kinds),
    )


def _chosen_sheet(book: "_Book", wanted: str | int | None) -> tuple["_Sheet", str, list[str]]:
    """Return the sheet to read, its title, and the titles of those before it that look like no table."""
    formulas, passed = 0, list[str]()
    first: tuple[_Sheet, str, list[str]] | None = None
    sheets = sorted(book.sheets, key=lambda sheet: sheet[1] in book.hidden)
    if wanted is not None:
        names = [name for name, _ in book.sheets]
        if isinstance(wanted, str) and wanted in names:
            place = names.index(wanted)
        else:  # a text of digits is a place only where no sheet is called so, as those of years are
            digits = str(wanted)
            place = int(digits) - 1 if digits.isdecimal() and len(digits) <= MOST_DIGITS else -1
        if not 0 <= place < len(names):
            raise TableError(
                f"the workbook has no sheet {wanted!r}{nearest(wanted, names)}; its {len(names)} sheets are "
                + listed(names)
            )
        sheets = [book.sheets[place]]
    for title, part in sheets:
        sheet = _Sheet(book)
        book.parse(part, sheet.start, sheet.end, sheet.data)
        formulas += sheet.uncached
        if sheet.rows:
            if sheet.rows == 1 and sheet.uncached:
                raise TableError(_only_formulas(title, sheet.uncached))
            if wanted is not None or sheet.looks_like_a_table():
                return sheet, title, passed
            first = first or (sheet, title, [])
            passed.append(title)
    if first is not None:
        return first
    if formulas:
        raise TableError(_only_formulas(sheets[0][0], formulas))
    what = "workbook" if wanted is None else f"sheet {sheets[0][0]!r}"
    raise TableError(f"the {what} is empty; a row of names and at least one row of values were expected")


def _only_formulas(title: str, count: int) -> str:
    return (
        f"the sheet {title!r} holds {count:,} formulas whose values the file does not keep, and no other row of "
        "values; open it in a spreadsheet program and save it again, or save it as CSV"
    )


@contextmanager
def _damage_told() -> Iterator[None]:
    """Say of whatever goes wrong in a zip or its XML that the workbook is damaged."""
    try:
        yield
    except TableError:
        raise
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError, RuntimeError, NotImplementedError,
            ValueError, LookupError, OverflowError) as error:  # fmt: skip
        raise TableError(
            f"the workbook or zip archive is damaged ({error or type(error).__name__}); open it in a spreadsheet "
            "program and save it again, or save the sheet as CSV"
        ) from error


class _Book:
    """The parts of a workbook that its sheets stand on: their places, formats that show dates, shared texts."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits, stop: StopToken):
        self.limits, self.stop = limits, stop
        self._archive = archive
        self._read = 0
        entries = {entry.filename: entry for entry in archive.infolist()}
        if "xl/workbook.xml" not in entries:
            raise TableError(
                "this is a zip archive, not a table; unpack it and read the CSV, Parquet, ARFF or xlsx file in it"
            )
        parts = [entry for entry in entries.values() if entry.filename.endswith((".xml", ".rels"))]
        check_bytes(sum(entry.file_size for entry in parts), limits, unpacked=True)
        self.sheets: list[tuple[str, str]] = []  # title, name of the part
        self.hidden: set[str] = set()
        self.epoch = EPOCHS[0]
        self._targets: dict[str, tuple[str, str]] = {}  # relation: type, name of the part
        self.parse("xl/_rels/workbook.xml.rels", self._relation)
        self.parse("xl/workbook.xml", self._sheet)
        if not self.sheets:
            raise TableError("the workbook has no sheets; one with a row of names and rows of values was expected")
        self.shows = self._formats()
        self.texts = self._shared()

    def part(self, kind: str) -> str:
        """Return the name of the first part of this kind, empty without one."""
        return next((part for what, part in self._targets.values() if what == kind), "")

    def parse(
        self,
        part: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        data: Callable[[str], None] | None = None,
    ) -> None:
        """Send a part's elements to `start`, `end` and `data`; names come without their namespace's prefix."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, attributes: start(name.rpartition(":")[2], attributes)
        if end is not None:
            parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
        parser.CharacterDataHandler = data
        parser.StartDoctypeDeclHandler = _no_doctype
        entry = self._archive.getinfo(part)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack all or nothing
            raise TableError("the workbook is packed in a way that no spreadsheet program uses; save it again")
        with self._archive.open(entry) as file:
            while piece := file.read(PIECE):
                self.stop.check()
                self._read += len(piece)
                check_bytes(self._read, self.limits, unpacked=True)
                parser.Parse(piece, False)
        parser.Parse(b"", True)

    def _relation(self, name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/xl", attributes.get("Target", ""))).lstrip("/")
            self._targets[attributes.get("Id", "")] = (attributes.get("Type", "").rpartition("/")[2], target)

    def _sheet(self, name: str, attributes: dict[str, str]) -> None:
        if name == "workbookPr":
            self.epoch = EPOCHS[attributes.get("date1904") in ("1", "true")]
        elif name == "sheet":
            relation = next((value for key, value in attributes.items() if key.rpartition(":")[2] == "id"), "")
            kind, part = self._targets.get(relation, ("", ""))
            if kind == "worksheet":  # others are charts and dialogs
                self.sheets.append((attributes.get("name", ""), part))
                if attributes.get("state", "visible") != "visible":
                    self.hidden.add(part)

    def _formats(self) -> list[str]:
        """Return what each style of a cell shows: "" for numbers, "date" or "duration"."""
        part = self.part("styles")
        codes: dict[str, str] = {}
        shows: list[str] = []
        inside: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if name == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            elif name in ("cellXfs", "cellStyleXfs"):
                inside[:] = [name]
            elif name == "xf" and inside == ["cellXfs"]:
                number = attributes.get("numFmtId", "0")
                shows.append(_what_shows(number, codes.get(number)))

        if part:
            self.parse(part, start)
        return shows

    def _shared(self) -> list[str]:
        part, texts = self.part("sharedStrings"), _Texts()
        if part:
            self.parse(part, texts.start, texts.end, texts.data)
        return texts.found


def _no_doctype(*_: object) -> None:
    raise TableError("the workbook holds a document type, which no spreadsheet program writes; it was not opened")


def _what_shows(number: str, code: str | None) -> str:
    if code is None:
        known = int(number) if number.isdecimal() else 0
        return "duration" if known == DURATION_FORMAT else "date" if known in DATE_FORMATS else ""
    shown = NOT_SHOWN.sub("", code.split(";")[0])
    if DURATION.search(shown):
        return "duration"
    return "date" if re.search(r"[dmyhs]", shown, re.IGNORECASE) and "general" not in shown.lower() else ""


class _Texts:
    """The shared texts: of each the parts in all its fonts, without the small letters that say how it sounds."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._parts: list[str] = []
        self._open = self._aside = False

    def start(self, name: str, _: dict[str, str]) -> None:
        self._open = name == "t" and not self._aside
        if name == "si":
            self._parts.clear()
        elif name == "rPh":
            self._aside = True

    def end(self, name: str) -> None:
        self._open = False
        if name == "rPh":
            self._aside = False
        elif name == "si":
            self.found.append("".join(self._parts))

    def data(self, text: str) -> None:
        if self._open:
            self._parts.append(text)


def _is_number(text: str) -> bool:
    return bool(QUANTITY.match(text))


def _cell(codes: "array[int]", row: int, texts: list[str]) -> str:
    code = codes[row] if row < len(codes) else -1
    return texts[code] if code >= 0 else ""


@dataclass
class _Column:
    """A column under way: a code per row as far as it reaches, and the texts by code."""

    codes: "array[int]" = field(default_factory=lambda: array("i"))
    levels: dict[str, int] = field(default_factory=dict)
    typed: bytearray = field(default_factory=bytearray)  # of each code whether its cell held a number

    def put(self, row: int, text: str, typed: bool) -> None:
        if row > len(self.codes):
            self.typed.extend(bytes(row - len(self.codes)))
            self.codes.frombytes(b"\xff" * 4 * (row - len(self.codes)))
        self.codes.append(self.levels.setdefault(text, len(self.levels)))
        self.typed.append(typed)

    def text(self, name: str, rows: int, skip: int, footer: int) -> TextColumn:
        codes = np.full(rows, -1, dtype=np.int32)
        codes[: len(self.codes)] = self.codes
        typed = np.zeros(rows, dtype=bool)
        typed[: len(self.typed)] = self.typed
        kept = slice(skip, rows - footer)
        return TextColumn.of(name, codes[kept], pa.array(list(self.levels), type=pa.string()), typed[kept])


class _Sheet:
    """The cells of a sheet, row by row; a row's number is not asked, as empty rows are left out anyway."""

    def __init__(self, book: _Book):
        self._book = book
        self.columns: dict[int, _Column] = {}
        self.rows = self.uncached = self.merged = 0
        self._places: dict[str, int] = {}  # letters of a column: its place
        self._cells: list[tuple[int, str, bool]] = []  # place, text, whether it was a number
        self._place = -1
        self._kind = self._style = ""
        self._formula = self._open = self._aside = False
        self._parts: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._place = self._place_of(attributes["r"]) if "r" in attributes else self._place + 1
            self._formula = False
            self._parts.clear()
        elif name == "v" or name == "t":
            self._open = not self._aside
        elif name == "f":
            self._formula = True
        elif name == "row":
            self._place = -1
        elif name == "rPh":
            self._aside = True
        elif name == "mergeCell":
            self.merged += 1

    def data(self, text: str) -> None:
        if self._open:
            self._parts.append(text)

    def end(self, name: str) -> None:
        if name == "v" or name == "t":
            self._open = False
        elif name == "c":
            if self._parts:
                value = "".join(self._parts)
                shows = self._shows() if self._kind == "n" else ""
                text = self._text(value, shows).strip()
                if text:
                    self._cells.append((self._place, text, self._kind == "n" and not shows and _is_finite(value)))
            elif self._formula:
                self.uncached += 1
        elif name == "row" and self._cells:
            self._end_row()
        elif name == "rPh":
            self._aside = False

    def _end_row(self) -> None:
        if len({place for place, _, _ in self._cells}) < len(self._cells):
            raise TableError(
                f"the workbook is damaged: row {self.rows + 1:,} of those with values has two in one cell; open it in "
                "a spreadsheet program and save it again"
            )
        for place, text, typed in self._cells:
            if place not in self.columns:
                self.columns[place] = _Column()
                check_columns(len(self.columns), self._book.limits)
                self._check_size(self.rows + 1)  # it is filled as far as the others reach
            self.columns[place].put(self.rows, text, typed)
        self._cells.clear()
        self.rows += 1
        check_rows(self.rows - 1, self._book.limits)
        if self.rows & 1023 == 0:
            self._check_size(self.rows)

    def _check_size(self, rows: int) -> None:
        check_bytes(5 * rows * len(self.columns), self._book.limits, unpacked=True)
        check_cells(rows, len(self.columns), self._book.limits)

    def _place_of(self, reference: str) -> int:
        letters = reference.rstrip("0123456789")
        place = self._places.get(letters)
        if place is None:
            if not re.fullmatch("[A-Za-z]{1,3}", letters):
                raise TableError(f"the workbook is damaged: {reference[:20]!r} is no cell")
            place = 0
            for letter in letters.upper():
                place = 26 * place + ord(letter) - 64
            self._places[letters] = place
        return place

    def _shows(self) -> str:
        """What the format of a cell makes of its number, empty for a number."""
        return self._book.shows[int(self._style)] if self._style and self._book.shows else ""

    def _text(self, value: str, shows: str) -> str:
        kind = self._kind
        if kind == "s":
            number = int(value)
            if not 0 <= number < len(self._book.texts):
                raise TableError(f"the workbook is damaged: a cell shows text {number}, and there is none")
            return self._book.texts[number]
        if kind == "n":
            return _date_text(float(value), shows, self._book.epoch) if shows else _plain_number(value)
        if kind == "b":
            return str(value.strip() not in ("0", "false"))
        return value.removesuffix("T00:00:00") if kind == "d" else value

    def looks_like_a_table(self) -> bool:
        """Whether it has several columns and rows, and in one of them numbers, or texts that repeat: no remarks."""
        if len(self.columns) < 2 or self.rows < FEWEST_ROWS:
            return False
        for column in self.columns.values():
            self._book.stop.check()
            filled = int((np.frombuffer(column.codes, dtype=np.int32) >= 0).sum())
            texts = list(islice(column.levels, HEAD_ROWS))  # enough to tell numbers from words
            if filled > 1 and (3 * len(column.levels) <= 2 * filled or 2 * sum(map(_is_number, texts)) > len(texts)):
                return True
        return False

    def cells(self, places: Sequence[int], begin: int, end: int) -> list[list[str]]:
        """Return the texts of some rows, empty where there is none."""
        texts = {place: list(self.columns[place].levels) for place in places}
        rows = range(begin, min(end, self.rows))
        return [[_cell(self.columns[place].codes, row, texts[place]) for place in places] for row in rows]

    def remarks(self) -> Sequence[str]:
        """Return what a reader should know of cells whose content is not, or not everywhere, in the table."""
        notes = []
        if self.uncached:
            cells = "1 formula is" if self.uncached == 1 else f"{self.uncached:,} formulas are"
            notes.append(
                f"{cells} missing, as the file keeps no values of them; open it in a spreadsheet program and save it"
            )
        if self.merged:
            areas = "1 area" if self.merged == 1 else f"{self.merged:,} areas"
            notes.append(f"{areas} of merged cells: the value is in the first cell of each, the others are missing")
        return notes


def _is_finite(value: str) -> bool:
    return math.isfinite(float(value))


def _plain_number(value: str) -> str:
    """Return a number as people write it; a whole one of many digits exactly as it stands."""
    digits = value.strip()
    if digits.lstrip("-").isdecimal() and len(digits) > EXACT_DIGITS:
        return digits
    number = float(digits)
    return number_text(number) if math.isfinite(number) else digits


def _date_text(serial: float, shows: str, epoch: datetime.datetime) -> str:
    """Return days since the epoch as a date, a date with its time, or where there is no day a time."""
    try:
        span = datetime.timedelta(milliseconds=round(serial * 86_400_000))
        if shows == "duration":
            return _clock(span)
        if 0 <= serial < 1 and epoch == EPOCHS[0]:
            return _clock(span)
        if serial < 60 and epoch == EPOCHS[0]:
            span += datetime.timedelta(days=1)  # its first 60 days count a 29 February 1900 that never was
        when: Any = epoch + span
    except (OverflowError, ValueError):
        return number_text(serial)  # what no calendar has is shown as the number that it is
    return when.date().isoformat() if when.time() == datetime.time() else when.isoformat()


def _clock(span: datetime.timedelta) -> str:
    seconds = round(span.total_seconds())
    sign, seconds = "-" if seconds < 0 else "", abs(seconds)
    return f"{sign}{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
