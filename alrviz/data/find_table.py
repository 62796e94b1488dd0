"""Find the table among the rows of a text or a sheet.

    Sales by region             title
    region,price,class          row of names
    north,1.5,yes
    ...
    Total,1234,                 footer

Part of score.py in every model file.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.doubts import DoubtCode, DoubtNote, Note, NoteCode
from alrviz.data.layout import (
    HEAD_ROWS,
    MIN_ROWS,
    NUMBERS_SHARE,
    TITLE_NAMES,
    NameRows,
    common_width,
    count_footer,
    count_titles,
    read_names,
)
from alrviz.data.options import ReadOptions
from alrviz.data.parse_values import as_floats, bare_numbers, clean_names, number_pattern
from alrviz.data.text import NUMBERLIKE, RawTable, ReadRequest, TextColumn
from alrviz.errors import listed, plural
from alrviz.stop import StopToken

SUBTOTAL_LABEL = r"(?i)^(grand |sub-?)?totals?\b|\btotal$|^(zwischen)?summe\b|^gesamt|^sum$"  # amid the rows
MAX_SUBTOTAL_SHARE = 0.34  # of the rows: a total sums at least two rows
MAX_LABEL_COLUMNS = 3  # only the first columns may label totals or groups
MAX_LABELS = 10_000  # levels of such a column; one with more, of measurements, labels no totals
MIN_GROUPS = 3
NUMBERS_PER_NAME = 4  # distinct numbers of a column for each text that may be the name of a second table's column
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TableRegion:
    """The position of a table among rows.

    Attributes:
        n_titles: number of rows before the names.
        names: the rows of names.
        n_footer: number of rows behind the table; 0 if they were not looked for.
        title: the text of the last row before the names; "" without one.
        notes: sentences on lines that were left out, and on the names.
    """

    n_titles: int
    names: NameRows
    n_footer: int
    title: str
    notes: list[str]

    @property
    def first_row(self) -> int:
        """The index of the first row of values."""
        return self.n_titles + self.names.n_rows

    def named_table(
        self,
        columns: Sequence[TextColumn],
        in_force: ReadOptions,
        notes: Sequence[str],
        stop: StopToken,
        sheets: tuple[str, ...] = (),
        later_starts: Collection[int] = (),
    ) -> RawTable:
        """Return the named columns as a table: the largest one side by side, stacked ones joined, without totals.

        `notes` are put before the region's own; `later_starts` are those of `largest_table`.
        """
        columns = [TextColumn.from_codes("", c.codes, c.levels, c.is_number) for c in columns]
        kept, rows, beside_notes = largest_table(columns, self.names.names, later_starts)
        names, name_notes = clean_names(self.names.names[kept], has_no_names=not self.names.n_rows)
        columns = [column.select_rows(rows) for column in columns[kept]] if beside_notes else columns
        named_columns = [replace(column, name=name) for name, column in zip(names, columns, strict=True)]
        stacked_notes = list[Note]()
        if self.names.n_rows:
            named_columns, stacked_notes = join_stacked(named_columns, self.title, stop)
        first_columns, second_notes = cut_second_table(named_columns)
        kept_columns, total_notes = drop_subtotals(first_columns)
        is_parted = bool(beside_notes or stacked_notes) or kept_columns is not named_columns
        kinds = {name: self.names.kinds[j] for j, name in enumerate(names, kept.start) if j in self.names.kinds}
        notes = [*notes, *self.notes, *beside_notes, *stacked_notes, *second_notes, *total_notes, *name_notes]
        return RawTable(kept_columns, in_force, notes, sheets, self.names.first, "text", kinds, is_stacked=is_parted)


def find_table(
    head: Rows,
    read_tail: Callable[[int], Rows],
    request: ReadRequest,
    *,
    width: int | None = None,
    is_whole: bool = False,
) -> TableRegion:
    """Return the position of the table.

    Args:
        head: the first rows, without those that the options skip.
        read_tail: returns the last rows, given the number of title rows.
        request: its options `skip_rows` and `skip_footer` are None if titles and footers are to be detected.
        width: number of columns (default: the commonest number of cells).
        is_whole: whether `head` has all rows.
    """
    declared = width is not None
    width = width or common_width(head[:HEAD_ROWS])
    notes = list[str]()
    n_titles = count_titles(head[:HEAD_ROWS], width) if request.options.skip_rows is None else 0
    if n_titles:
        notes.append(omitted_rows_note(head[:n_titles], "before the names"))
    n_footer = 0
    if request.options.skip_footer is None:
        tail = read_tail(n_titles)
        n_footer = count_footer(tail, width)
        notes += [omitted_rows_note(tail[-n_footer:])] if n_footer else []
    rows = head[n_titles:]
    if is_whole:
        rows = rows[: max(1, len(rows) - n_footer)]
    names = read_names(rows[:HEAD_ROWS], width, request, declared=declared)
    return TableRegion(
        n_titles, names, n_footer, _row_text(head[n_titles - 1]) if n_titles else "", [*notes, *names.notes]
    )


def omitted_rows_note(rows: Rows, position: str = "behind the table") -> Note:
    """Return the note on rows before or behind the table that were left out."""
    text = f"{plural(len(rows), 'line')} {position} left out: {listed([_row_text(row) for row in rows], 3)}"
    return Note.with_code(NoteCode.LEFT_OUT, text)


def _row_text(row: Sequence[str]) -> str:
    return " ".join(cell.strip() for cell in row if cell.strip())


# ---- tables under one another ----------------------------------------------------------------------------------------


def join_stacked(columns: list[TextColumn], title: str, stop: StopToken) -> tuple[list[TextColumn], list[Note]]:
    """Join tables under one another with the same names; return the columns, without names and titles, and notes.

    Titles that differ become a first column; `title` is that of the first table, "" without one.
    """
    if len(columns) < 2:
        return columns, []
    masks: list[np.ndarray] = []
    for column in columns:
        code_of_name = pc.index(column.levels, column.name).as_py()
        if code_of_name < 0:
            return columns, []
        masks.append(column.codes == code_of_name)
        if not np.array_equal(masks[0], masks[-1]):  # the column's name is also one of its values
            return columns, []
    stop.check()
    name_rows, is_title = np.flatnonzero(masks[0]), masks[0].copy()
    is_bare = np.logical_and.reduce([column.is_empty for column in columns[1:]])  # a title, or nothing
    has_text = ~columns[0].is_empty
    titles = [title]
    for name_row in name_rows:
        title_row = name_row
        while title_row > 0 and is_bare[title_row - 1]:
            title_row -= 1
        is_title[title_row:name_row] = True
        rows = title_row + np.flatnonzero(has_text[title_row:name_row])
        titles.append(columns[0].levels[int(columns[0].codes[rows[-1]])].as_py() if len(rows) else "")
    joined = [replace(column.select_rows(~is_title), n_trimmed=column.n_trimmed) for column in columns]
    repeats_text = plural(len(name_rows), "row that repeats", "rows that repeat")
    notes = [Note.with_code(NoteCode.LEFT_OUT, f"{repeats_text} the names left out")]
    if len(set(filter(None, titles))) > 1:
        table_of_row = np.searchsorted(name_rows, np.flatnonzero(~is_title))
        name = TITLE_NAMES[any(column.name == TITLE_NAMES[0] for column in columns)]
        joined.insert(0, TextColumn.from_values(name, [titles[k] or None for k in table_of_row]))
        note = f"{len(titles):,} tables under one another were joined; their titles are the column {name!r}"
        notes.append(Note.with_code(NoteCode.STACKED, note))
    return joined, notes


def cut_second_table(columns: list[TextColumn]) -> tuple[list[TextColumn], list[Note]]:
    """Leave out a table below with other names; return the columns and a note.

    Its names are a row of texts that occur nowhere else, above and below numbers in two columns or more.
    """
    n_rows, n_number_columns = len(columns[0].codes) if columns else 0, 0
    if n_rows < MIN_ROWS:
        return columns, []
    is_names = np.ones(n_rows, dtype=bool)
    for column in columns:
        if len(column.levels) > MAX_LABELS or not is_names.any():
            return columns, []
        is_number = pc.match_substring_regex(column.levels, NUMBERLIKE).to_numpy(zero_copy_only=False)
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        is_word = pc.match_substring_regex(column.levels, r"^\pL").to_numpy(zero_copy_only=False) & (counts == 1)
        n_number_columns += is_number.sum() >= NUMBERS_PER_NAME * (~is_number).sum() > 0
        is_names &= np.append(is_word, False)[column.codes]
    row = int(is_names.argmax())
    if n_number_columns < 2 or not is_names.any() or not 1 < row < n_rows - 2:
        return columns, []
    names = [column.levels[int(column.codes[row])].as_py() for column in columns]
    is_title = np.logical_and.reduce([column.is_empty for column in columns[1:]])
    end = row
    while is_title[end - 1]:
        end -= 1
    text = f"a second table below, with the names {listed(names, 4)}, was left out ({plural(n_rows - row - 1, 'row')})"
    return [column.select_rows(slice(0, end)) for column in columns], [Note.with_code(NoteCode.LEFT_OUT, text)]


# ---- totals amid the rows --------------------------------------------------------------------------------------------


def drop_subtotals(columns: list[TextColumn]) -> tuple[list[TextColumn], list[str]]:
    """Drop rows that are totals of the rows above; return the columns and notes.

    A total is labelled as one in one of the first columns, has no other text, and its numbers are the sums of the rows
    above: of all, or since the last total. A row with the label alone is kept.
    """
    n_rows = len(columns[0].codes) if columns else 0
    if len(columns) < 2 or n_rows < MIN_ROWS:
        return columns, []
    label_column = np.full(n_rows, -1)  # column of the label of a total
    for k, column in enumerate(columns[:MAX_LABEL_COLUMNS]):
        if len(column.levels) > MAX_LABELS:
            continue
        matches = pc.match_substring_regex(column.levels, SUBTOTAL_LABEL).to_numpy(zero_copy_only=False)
        label_column[np.append(matches, False)[column.codes]] = k
    is_named = label_column >= 0
    rows = np.flatnonzero(is_named)
    if not 0 < len(rows) <= MAX_SUBTOTAL_SHARE * n_rows:
        return columns, []
    numbers_by_column, is_empty = list(map(_rough_numbers, columns)), np.array([column.is_empty for column in columns])
    is_total, sum_start = np.zeros(n_rows, dtype=bool), 0
    for row in rows.tolist():
        number_columns = [k for k in range(label_column[row] + 1, len(columns)) if not is_empty[k, row]]
        sums = [
            (values := numbers_by_column[k]) is not None and _is_sum(values, row, sum_start, is_named)
            for k in number_columns
        ]
        # A single sum may be chance if the row has no empty cell.
        if all(sums) and len(sums) >= (1 if is_empty[:, row].any() else 2):
            is_total[row], sum_start = True, row + 1
    notes = list[str]()
    if n_totals := int(is_total.sum()):
        first_text = f"the first is data row {int(is_total.argmax()) + 1:,}"
        text = f"{plural(n_totals, 'row of totals', 'rows of totals')} amid the others left out: {first_text}"
        notes.append(Note.with_code(NoteCode.LEFT_OUT, text))
        columns = [replace(column.select_rows(~is_total), n_trimmed=column.n_trimmed) for column in columns]
    is_kept = is_named & ~is_total
    if (n_kept := int(is_kept.sum())) and is_empty[:, is_kept].any(axis=0).all():  # full rows have a level of that name
        rows_text = (
            "row is named like a total, but is no sum" if n_kept == 1 else "rows are named like totals, but are no sums"
        )
        notes.append(f"{n_kept:,} {rows_text} of those above: read like the others")
    return columns, notes


def _rough_numbers(column: TextColumn) -> np.ndarray | None:
    """Return a column's numbers (N,), NaN in other rows, with "." or "," as decimal mark, without currency and % signs.

    None unless more than NUMBERS_SHARE of its distinct texts are numbers.
    """
    conventions = ((".", ","), (",", "."))
    bare = pc.replace_substring_regex(column.levels, r"\s", "")
    # Only texts with more than a number are parsed one by one, in Python.
    is_other = pc.invert(pc.match_substring_regex(bare, "|".join(number_pattern(*marks) for marks in conventions)))
    quantities = pa.array(bare_numbers(column.levels.filter(is_other)).numbers, pa.string())
    bare = pc.replace_with_mask(bare, is_other, pc.replace_substring_regex(pc.fill_null(quantities, ""), r"\s", ""))
    for marks in conventions:
        fits = pc.match_substring_regex(bare, number_pattern(*marks)).to_numpy(zero_copy_only=False)
        if fits.sum() > NUMBERS_SHARE * (len(bare) - 1):  # the empty text is not counted
            numbers = np.full(len(bare) + 1, np.nan)
            numbers[:-1][fits] = as_floats(bare.filter(pa.array(fits)), *marks)
            result: np.ndarray = numbers[column.codes]
            return result
    return None


def _is_sum(numbers: np.ndarray, row: int, sum_start: int, is_named: np.ndarray) -> bool:
    """Return whether a row's number is the sum of the rows above, from `sum_start` or from 0, without other totals."""
    for first_row in (sum_start, 0):
        summands = numbers[first_row:row][~is_named[first_row:row]]
        summands = summands[~np.isnan(summands)]
        if len(summands) > 1 and summands.any() and np.isclose(numbers[row], summands.sum(), rtol=1e-4, atol=1e-9):
            return True
    return False


# ---- tables side by side ---------------------------------------------------------------------------------------------


def largest_table(
    columns: Sequence[TextColumn], names: Sequence[str], later_starts: Collection[int] = ()
) -> tuple[slice, slice, list[Note]]:
    """Return the columns and rows of the largest of several tables side by side, and a note that names the others.

    A column without name and values separates them, unless all have the same number of rows. A table whose names are
    not in the row of `names` has none there at all.

    Args:
        columns: of the file.
        names: their names in the file.
        later_starts: columns that follow an empty one that is not among `columns`.
    """
    whole = slice(0, len(columns)), slice(0, None), list[Note]()
    gaps = [j for j, column in enumerate(columns) if not names[j].strip() and column.is_empty.all()]
    starts = sorted({0, *(j + 1 for j in gaps), *later_starts})
    spans = [range(start, end) for start, end in pairwise([*starts, len(columns)])]
    spans = [range(span.start, span.stop - (span.stop - 1 in gaps)) for span in spans if len(span)]
    tables = [_TableBeside.of_columns(columns, names, span) for span in spans if len(span) > 1]
    if len(tables) < 2 or any(table.n_names not in (0, len(table.span)) for table in tables):
        return whole
    largest = max(tables, key=lambda table: table.n_rows * len(table.span))
    if len({table.n_rows for table in tables}) == 1 or not largest.n_names or not all(t.n_rows for t in tables):
        return whole
    other_names = [name for table in tables if table is not largest for name in table.first_texts]
    text = f"{len(tables)} tables side by side: the largest was read, and {listed(other_names)} were left out"
    kept = slice(largest.span.start, largest.span.stop)
    return kept, slice(0, largest.n_rows), [Note.with_code(NoteCode.LEFT_OUT, text)]


class _TableBeside(NamedTuple):
    """One of several tables side by side: its columns, its number of rows, how many names it has, its first texts."""

    span: range
    n_rows: int
    n_names: int
    first_texts: list[str]

    @classmethod
    def of_columns(cls, columns: Sequence[TextColumn], names: Sequence[str], span: range) -> "_TableBeside":
        """Return the table of some of the columns; rows above its first text count only if it has names."""
        n_names = sum(bool(names[j].strip()) for j in span)
        rows = np.flatnonzero(~np.logical_and.reduce([columns[j].is_empty for j in span]))
        if not len(rows):
            return cls(span, 0, n_names, [names[j] for j in span if names[j].strip()])
        n_rows = int(rows[-1]) + 1 - (0 if n_names else int(rows[0]))
        codes = [int(columns[j].codes[rows[0]]) for j in span]
        first_row = [columns[j].levels[code].as_py() for j, code in zip(span, codes, strict=True) if code >= 0]
        return cls(span, n_rows, n_names, [names[j] for j in span] if n_names else first_row)


# ---- labels of groups ------------------------------------------------------------------------------------------------


def group_label_doubts(columns: Sequence[TextColumn]) -> list[str]:
    """Return a doubt for each of the first columns that has values only in the first row of each group."""
    notes: list[str] = []
    has_full_column = any((column.codes >= 0).all() for column in columns)
    for column in columns[:MAX_LABEL_COLUMNS] if has_full_column else ():
        rows = np.flatnonzero(column.codes >= 0)
        n_empty = len(column.codes) - len(rows)
        labels = column.codes[rows]
        if len(rows) < MIN_GROUPS or rows[0] != 0 or n_empty < len(rows) or (labels[1:] == labels[:-1]).any():
            break
        if len(np.unique(labels)) < len(labels) and not notes:
            break
        notes.append(group_labels_doubt(column))
    return notes


def group_labels_doubt(column: TextColumn) -> DoubtNote:
    """Return the doubt whether an empty cell of a column has the value above it."""
    n_empty = int(column.is_empty.sum())
    note = f"{column.name!r} has values over empty cells ({n_empty:,}): read as missing"
    change = {"columns": {column.name: {"fill_down": True}}}
    return DoubtNote.with_doubt(note, DoubtCode.GROUP_LABELS, change, [column.name], n_empty)
