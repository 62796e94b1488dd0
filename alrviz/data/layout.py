"""Detect title lines, rows of names and footer around a table in a file.

Sales by region                                  title lines: other fields than the rows below, or one cell alone
region,price,price,class                         rows of names: they do not look like the rows below
,net,gross,
north,1.5,1.8,yes
...
Total,,1234,                                     footer: a total, a source, a remark
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple

from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.options import DOUBTFUL, MAX_NAME_ROWS, MISSING
from alrviz.data.text import ReadRequest
from alrviz.errors import UNEVEN_LINES, TableError, short

HEAD_ROWS = 200  # rows from which the number of fields and the rows of names are detected
MIN_VALUES = 20  # of a column before a text that is not among them counts as evidence
MIN_ROWS = 6  # of a table before rows are compared with those in the middle
MIN_CELLS = 6  # of a column before repeated texts count as levels
MIN_LINES = 5  # of a text before it is refused as prose
MIN_EVEN_SHARE = 0.75  # of the lines; below, a text without numbers and levels is prose
NUMBERS_SHARE = 0.9  # of the cells, or distinct texts, of a column of numbers
MAX_SUPPRESSION_LENGTH = 3  # characters of a text that replaces a suppressed number
MIN_NUMBERS_PER_SUPPRESSION = 2  # cells of a column for each such text
ANSWER_NAMES = {"response", "open-ended response"}  # below a question, in the exports of surveys
MAX_NAME_LENGTH = 40  # characters: a row of longer ones holds questions, not names
NUMBER = re.compile(r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$")
QUANTITY = re.compile(
    r"^[+\-\u2212\u2013(]*[$€£¥]?\s?[+\-\u2212]?\d[\d.,' \u00a0\u202f:/-]*([eE][+-]?\d+)?\s?[%€$¥)]*$"
)
MAX_TITLE_LINES = 20  # of titles before a table, and of a footer
FOOTER = re.compile(
    r"^(grand |sub)?(total|sum|average|mean|median)s?\b|^(std\.? ?dev\.?|sd|n|min|max|minimum|maximum|count)$|"
    r"^(summe|gesamt|insgesamt|mittelwert|quelle|stand)\b|^(source|note)s?:|^[©*]",
    re.IGNORECASE,
)
TOTAL_LABEL = re.compile(
    r"^(grand |sub)?(total|sum|average|mean|median)s?\b[^a-z]*$|^(summe|gesamt|insgesamt)$", re.IGNORECASE
)
TITLE_NAMES = ("title", "title of the table")  # of the column of titles; the second if the first is in use
RULE_CELL = re.compile(r"^:?-{2,}:?$|^={2,}$|^_{3,}$")
MISSING_TEXTS = {*MISSING, *DOUBTFUL}


class ColumnProfile(NamedTuple):
    """The content of a column: whether it is of numbers, its levels if texts repeat, the shapes of its texts."""

    is_number: bool
    levels: frozenset[str] | None
    shapes: frozenset[str]

    @property
    def is_regular(self) -> bool:
        """Whether the column is regular enough to recognise a cell that does not belong to it."""
        return self.is_number or self.levels is not None

    def fits(self, cell: str) -> bool:
        """Return whether a cell may belong to this column."""
        if self.is_number:
            return bool(QUANTITY.match(cell.lstrip("<>=≤≥~ ")))  # limits such as <5 are numbers
        return cell in self.levels if self.levels is not None else _shape(cell) in self.shapes


def column_profiles(rows: Sequence[Sequence[str]], width: int) -> list[ColumnProfile]:
    """Return the profile of each column of some rows of the table; rows of another width are ignored."""
    profiles = []
    for column_index in range(width):
        cells = [row[column_index].strip() for row in rows if len(row) == width]
        cells = [cell for cell in cells if cell not in MISSING_TEXTS]
        distinct = set(cells)
        n_numbers = sum(bool(QUANTITY.match(cell)) for cell in cells)
        repeats = len(cells) >= MIN_CELLS and 2 * len(distinct) <= len(cells)
        profiles.append(
            ColumnProfile(
                bool(cells) and n_numbers >= NUMBERS_SHARE * len(cells),
                frozenset(distinct) if repeats else None,
                frozenset(map(_shape, distinct)),
            )
        )
    return profiles


def _shape(cell: str) -> str:
    """Return the sequence of character classes of a text: "Aa 9" for "Room 101"."""
    sorts = ("9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in cell[:MAX_NAME_LENGTH])
    return "".join(sort for sort, _ in groupby(sorts))


def _last_name_row(rows: Sequence[Sequence[str]], width: int) -> int | None:
    """Return the index of the last of the first rows that does not fit the middle rows; None if none can be judged."""
    if len(rows) < MIN_ROWS:
        return None
    first_middle_row = max(len(rows) // 3, 1)
    profiles = column_profiles(rows[first_middle_row:], width)
    if sum(profile.is_regular for profile in profiles) < min(2, width):
        return None
    for row_index in range(first_middle_row - 1, -1, -1):
        cells = zip(map(str.strip, rows[row_index]), profiles, strict=False)
        fits = [profile.fits(cell) for cell, profile in cells if profile.is_regular and cell not in MISSING_TEXTS]
        if len(fits) > 2 * sum(fits):
            return row_index
    return None


def _is_group_row(row: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a row has the names of groups of columns, above the columns' `names`."""
    filled = [k for k, cell in enumerate(row) if cell.strip()]
    are_apart = all(later - k > 1 for k, later in pairwise([*filled, len(row)]))
    texts = [name.strip() for name in names]
    has_twin = len(set(texts)) < len(texts) or any(row[k].strip() == texts[k] for k in filled[1:])
    return len(filled) > 1 and (are_apart or has_twin) and not any(NUMBER.match(row[k]) for k in filled)


def looks_like_data(first_row: Sequence[str]) -> bool:
    """Return whether a first row is no row of names: its numbers have decimals, repeat, or do not rise like years."""
    cells = [text.strip() for text in first_row]
    numbers = [text for text in cells if NUMBER.match(text)]
    if not all(re.match(r"^\d+$", text) for text in numbers):
        return True
    integers = [int(text) for text in numbers]
    return any(later <= earlier for earlier, later in pairwise(integers))


def common_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the commonest number of fields; the first one in a tie."""
    return Counter(map(len, rows)).most_common(1)[0][0]


def refuse_prose(rows: Sequence[Sequence[str]]) -> None:
    """Raise `TableError` for lines of uneven width without a column of numbers or levels: a letter, source code."""
    width = common_width(rows)
    even_rows = [row for row in rows if len(row) == width]
    if len(rows) < MIN_LINES or len(even_rows) >= MIN_EVEN_SHARE * len(rows):
        return
    for column_index in range(width):
        cells = [row[column_index].strip() for row in even_rows]
        if 2 * sum(map(bool, map(QUANTITY.match, cells))) >= len(cells) or 2 * len(set(cells)) <= len(cells):
            return
    raise TableError(
        f"this is no table of rows: {len(rows) - len(even_rows):,} of its first {len(rows):,} lines have not {width} "
        "cells, and no column holds numbers or levels. A text or source code was given, or another delimiter cuts the "
        "lines",
        code=UNEVEN_LINES,
    )


def count_titles(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the number of rows before the names of `width` columns.

    The names are in the first row that can hold them, unless it has gaps and a later row does not fit the rows below.
    """
    n_before = _count_rows_before_names(rows, width)
    last_row = _last_name_row(rows, width)
    if (
        last_row is None
        or last_row <= n_before
        or len(rows[last_row]) != width
        or _count_cells(rows[n_before]) == width
    ):
        return n_before
    if _count_cells(rows[last_row]) < width or last_row >= MAX_TITLE_LINES:
        return n_before
    return last_row - int(_is_group_row(rows[last_row - 1], rows[last_row]))


def _count_rows_before_names(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the number of rows before the first that can hold names of `width` columns; 0 if none can."""
    for n_before, row in enumerate(rows[: MAX_TITLE_LINES + 1]):
        if width < 2 or (
            len(row) == width and (_count_cells(row) > 1 or (width < 3 and _count_cells(row) == 1 and n_before == 0))
        ):
            return n_before
        if len(row) == width - 1 and len(rows) > n_before + 1 and _lacks_one_name(row, rows[n_before + 1 :], width):
            return n_before
        if n_before == 0 and _is_station_line(row, rows[1:], width):
            continue
        if len(row) > width or (_count_cells(row) > max(1, width // 2)):
            return 0  # too full for a title: an uneven row, which is reported later with its line
    return 0


def _is_station_line(row: Sequence[str], rows_below: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a wider row describes the logger whose names are in the next row, as in TOA5 files."""
    is_wider = len(row) > width and bool(rows_below) and all(len(row_below) == width for row_below in rows_below)
    has_numbers = [any(NUMBER.match(cell.strip()) for cell in cells) for cells in (row, *rows_below[:1])]
    return is_wider and has_numbers == [True, False]


def _lacks_one_name(row: Sequence[str], rows_below: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a row names all columns but one: R's row names in front, or an empty column at the end."""
    if _count_cells(row) < width - 1 or any(NUMBER.match(cell.strip()) for cell in row):
        return False
    rows = [row_below for row_below in rows_below if len(row_below) == width]
    if len(rows) < len(rows_below) or not rows:
        return False
    is_last_empty = all(not row_below[-1].strip() for row_below in rows)
    has_row_names = len({row_below[0] for row_below in rows}) == len(rows) and any(
        QUANTITY.match(cell.strip()) for cell in rows[0][1:]
    )
    return is_last_empty or has_row_names


class NameRows(NamedTuple):
    """The rows of names: their number, the cells of the first, a name for each column, kinds that they state."""

    n_rows: int
    first: tuple[str, ...]
    names: list[str]
    kinds: Mapping[int, str] = MappingProxyType({})
    notes: Sequence[str] = ()

    @property
    def header(self) -> bool | int:
        """The option `header` that reads these rows as names."""
        return bool(self.n_rows) if self.n_rows < 2 else self.n_rows


def read_names(rows: Sequence[Sequence[str]], width: int, request: ReadRequest, *, declared: bool = False) -> NameRows:
    """Return the rows of names of a table; those of `known_layout` if the first row agrees.

    Args:
        rows: the first rows after title lines.
        width: the number of cells that most rows have.
        request: its option `header` is the number of rows of names (True: 1, False: 0, None: detected).
        declared: whether the width is certain, so that a longer first row does not change it.
    """
    header, known_layout = request.options.header, request.known_layout
    first_cells = tuple(cell.strip() for cell in rows[0])
    if known_layout is not None and first_cells == known_layout.head and known_layout.long_form is None:
        names = [name for name in known_layout.names if name in first_cells or name not in TITLE_NAMES]
        if len(names) >= len(first_cells):  # fewer if another table beside it was dropped
            return NameRows(known_layout.n_names, first_cells, names)
    lacks_one_name = not declared and len(rows) > 1 and len(rows[0]) == width - 1 and header in (None, True, 1)
    if lacks_one_name:
        last_cells = [row[-1].strip() for row in rows[1:] if len(row) == width]
        if not all(last_cells) or not first_cells[0]:  # R writes NA in an empty cell, and no name for the row names
            return NameRows(1, first_cells, [*rows[0], ""])
        note = "the first row has one name less than the others have cells: the first column was read as names of rows"
        return NameRows(1, first_cells, ["row name", *rows[0]], notes=[note])
    width = width if declared else max(width, len(rows[0]))
    padded_rows = [[*row, *[""] * (width - len(row))] for row in rows if len(row) <= width]
    if header is None and (stated_names := stated_kinds(padded_rows)) is not None:
        return stated_names._replace(first=first_cells)
    if header is None:
        n_name_rows = count_names([row for row in padded_rows if any(row)], request.expected_names)
    else:
        n_name_rows = min(int(header), len(rows))
    if n_name_rows > 1:
        names, note = joined_names(padded_rows[:n_name_rows])
        return NameRows(n_name_rows, first_cells, names, notes=[note])
    if n_name_rows:
        return NameRows(1, first_cells, padded_rows[0])
    unnamed = "the first row looks like those below, so it was read as data, and the columns were numbered"
    note = DoubtNote.with_doubt(unnamed, DoubtCode.NO_HEADER, {"header": True})
    return NameRows(0, (), [""] * width, notes=[note] if header is None else [])


# ---- types and roles beside the names --------------------------------------------------------------------------------

# Orange's tab files have a row of types and a row of roles below the names, or both as a prefix of a name ("mS#id").
TYPES = {
    **dict.fromkeys(("c", "continuous", "n", "numeric"), "numeric"),
    **dict.fromkeys(("d", "discrete", "categorical"), "categorical"),
    **dict.fromkeys(("s", "string", "text", "t", "time"), ""),
}
ROLES = {
    **dict.fromkeys(("class", "c"), "target"),
    **dict.fromkeys(("meta", "m", "ignore", "i"), "ignore"),
    **dict.fromkeys(("weight", "w"), "weight"),
}
PREFIX = re.compile(r"^(?P<role>[cmiw]?)(?P<type>[CNDST]?)#(?P<name>\S.*)$")


def stated_kinds(rows: Sequence[Sequence[str]]) -> NameRows | None:
    """Return the rows of names with the kinds that they state by types and roles; None for none, or several targets."""
    first_cells = [cell.strip() for cell in rows[0]] if rows else []
    prefixes = [PREFIX.match(cell) for cell in first_cells]
    if any(match is not None and (match["role"] or match["type"]) for match in prefixes):
        names = [cell if match is None else match["name"] for cell, match in zip(first_cells, prefixes, strict=True)]
        stated = [("", "") if match is None else (match["type"].lower(), match["role"]) for match in prefixes]
        kinds, note = _kinds_by_column(stated), "types and roles before # in the names were used"
        return NameRows(1, tuple(first_cells), names, kinds, [note]) if [*kinds.values()].count("target") < 2 else None
    if len(rows) < 4:
        return None
    types, roles = ([cell.strip().lower() for cell in row] for row in rows[1:3])
    has_type = [cell in TYPES or bool(re.search(r"(?<!\\) ", cell)) for cell in types]  # a list of levels, or a type
    has_role = [not cell or cell.split()[0] in ROLES or "=" in cell for cell in roles]
    if not all(has_type) or not all(has_role) or not any(roles):
        return None
    stated = list(zip(types, (cell.split()[0] if cell else "" for cell in roles), strict=True))
    kinds, note = _kinds_by_column(stated), "the rows of types and roles below the names were used"
    return (
        NameRows(3, tuple(first_cells), first_cells, kinds, [note]) if [*kinds.values()].count("target") < 2 else None
    )


def _kinds_by_column(types_and_roles: Sequence[tuple[str, str]]) -> dict[int, str]:
    """Return the kind of each column with a type or a role, by its index; a role takes precedence."""
    kinds = {
        j: ROLES.get(role, "") or (TYPES.get(type_, "categorical") if type_ else "")
        for j, (type_, role) in enumerate(types_and_roles)
    }
    return {j: kind for j, kind in kinds.items() if kind}


# ---- rows of names ---------------------------------------------------------------------------------------------------


def count_names(rows: Sequence[Sequence[str]], expected_names: Collection[str] = ()) -> int:
    """Return the number of rows of names, 0 to 3, among rows of equal length.

    A first row that has one of the `expected_names`, such as the target's, is a row of names, whatever it looks like,
    unless the same text is also a value of that column.
    """
    if len(rows) < 2:
        first_cells = rows[0] if rows else ()
        is_expected = any(cell.strip() in expected_names for cell in first_cells)
        return int(bool(rows) and (is_expected or not looks_like_data(first_cells)))
    rows_below = [row for row in rows[1:] if list(row) != list(rows[0])]  # concatenated files repeat the names
    may_be_data = not rows_below or _fits(rows[0], rows_below, years=True)
    if may_be_data and len(rows_below) > MIN_ROWS:  # the next row may have names, too, some of them the same
        may_be_data = _fits(rows[0], rows_below[1:], years=True)
    if may_be_data:
        expected_cells = ((j, cell.strip()) for j, cell in enumerate(rows[0]) if cell.strip() in expected_names)
        return int(any(all(row[j].strip() != name for row in rows_below) for j, name in expected_cells))
    n_rows = 2 if _is_rule(rows[1]) else 1
    while n_rows < MAX_NAME_ROWS and len(rows) > n_rows + 3 and _cannot_be_data(rows[n_rows], rows[n_rows + 1 :]):
        n_rows += 1
    return n_rows


def _is_rule(row: Sequence[str]) -> bool:
    """Return whether a row is a rule below the names, as in Markdown tables."""
    cells = [cell.strip() for cell in row if cell.strip()]
    return len(cells) > 1 and all(RULE_CELL.match(cell) for cell in cells)


def _columns_below(row: Sequence[str], rows_below: Sequence[Sequence[str]]) -> list[tuple[str, set[str], bool, bool]]:
    """Return for each cell its text, the distinct values below it, whether these are numbers, whether they repeat."""
    columns = []
    suppressed = _suppression_text(rows_below)
    for column_index, cell in enumerate(row):
        values = [row_below[column_index].strip() for row_below in rows_below if column_index < len(row_below)]
        values = [value for value in values if value not in MISSING_TEXTS]
        distinct = set(values)
        if distinct - {suppressed} and all(QUANTITY.match(value) for value in distinct - {suppressed}):
            distinct.discard(suppressed)
            cell = "" if cell.strip() == suppressed else cell
        are_numbers = bool(distinct) and all(QUANTITY.match(value) for value in distinct)
        do_repeat = len(values) >= MIN_VALUES and 5 * len(distinct) <= len(values)
        columns.append((cell.strip(), distinct, are_numbers, do_repeat))
    return columns


def _suppression_text(rows: Sequence[Sequence[str]]) -> str:
    """Return the one short text, such as "c" or "..", that stands among the numbers of columns; "" without one."""
    texts = set[str]()
    for cells in zip(*rows, strict=False):
        values = [cell.strip() for cell in cells if cell.strip() not in MISSING_TEXTS]
        strays = [value for value in values if not QUANTITY.match(value)]
        if strays and MIN_NUMBERS_PER_SUPPRESSION * len(strays) <= len(values):
            texts.update(strays)
    text = texts.pop() if len(texts) == 1 else ""
    return text if len(text) <= MAX_SUPPRESSION_LENGTH else ""


def _fits(row: Sequence[str], rows_below: Sequence[Sequence[str]], *, years: bool) -> bool:
    """Return whether a row may belong to the rows below: its texts occur there, its numbers are no list of years."""
    columns = _columns_below(row, rows_below)
    texts = [(cell, values) for cell, values, numeric, _ in columns if cell and not numeric and not NUMBER.match(cell)]
    n_known_texts = sum(cell in values for cell, values in texts)
    n_names = sum(bool(cell) and numeric and not QUANTITY.match(cell) for cell, _, numeric, _ in columns)
    if looks_like_data(row):
        return n_names <= sum(bool(NUMBER.match(cell)) for cell, *_ in columns)
    is_level = [
        cell in values for cell, values, _, do_repeat in columns if do_repeat and cell
    ]  # a name would be no level
    if n_names == 0 and years and 2 * sum(is_level) > len(is_level):
        return True
    return n_names == 0 and 0 < len(texts) < 2 * n_known_texts and (len(texts) > 1 or not years)


def _cannot_be_data(row: Sequence[str], rows_below: Sequence[Sequence[str]]) -> bool:
    """Return whether a row cannot belong to the rows below: texts above numbers, and no text is a repeated level."""
    columns = [column for column in _columns_below(row, rows_below) if column[2] or column[3]]
    cells = [(cell, values, are_numbers) for cell, values, are_numbers, _ in columns if cell not in MISSING_TEXTS]
    if len(columns) < 2 or 2 * len(cells) < len(columns):
        return False
    return not any(QUANTITY.match(cell) if are_numbers else cell in values for cell, values, are_numbers in cells)


def count_footer(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many of the last rows of a file, `rows`, are a footer and no rows of the table."""
    profiles = column_profiles(rows[len(rows) // 3 : 1 + 2 * len(rows) // 3], width)  # no names, no footer
    most_cells = max(map(_count_cells, rows), default=0)
    fewest_cells = min(map(_count_cells, rows[len(rows) // 3 : len(rows) // 2]), default=0)
    n_footer = 0
    while n_footer < min(MAX_TITLE_LINES, len(rows) - 2) and (
        _is_footer(rows[-1 - n_footer], width, profiles, most_cells)
        or _is_code(rows[-1 - n_footer], rows[: -1 - n_footer], profiles, fewest_cells)
    ):
        n_footer += 1
    rows_above = rows[: len(rows) - n_footer]
    is_level = any(FOOTER.match(cell.strip()) for row in rows_above for cell in row[:1])  # "Total" is also a value
    return 0 if is_level or n_footer == MAX_TITLE_LINES else n_footer


def _is_footer(row: Sequence[str], width: int, profiles: Sequence[ColumnProfile], most_cells: int) -> bool:
    """Return whether a row is a total, or a remark: a single text that does not fit its column."""
    filled_columns = [column_index for column_index, cell in enumerate(row) if cell.strip()]
    if not filled_columns or len(row) > width:
        return False
    cell = row[filled_columns[0]].strip()
    is_single = width > 1 and len(filled_columns) == 1 and not QUANTITY.match(cell)
    is_remark = len(row) < width or (most_cells > 2 and not profiles[filled_columns[0]].fits(cell))
    first_cell = row[0].strip()
    if (is_single and is_remark) or not FOOTER.match(first_cell):
        return is_single and is_remark
    cells_with_profiles = zip(map(str.strip, row[1:]), profiles[1:], strict=False)
    is_row = any(not profile.is_number and cell in (profile.levels or ()) for cell, profile in cells_with_profiles)
    has_numbers = any(QUANTITY.match(cell.strip()) for cell in row[1:])
    # "Total loss" beside a level of another column is a row, and so is "Total" without a number.
    return bool(has_numbers and TOTAL_LABEL.match(first_cell)) or not is_row


def _is_code(
    row: Sequence[str], rows_above: Sequence[Sequence[str]], profiles: Sequence[ColumnProfile], fewest_cells: int
) -> bool:
    """Return whether a row belongs to a code book below the table: fewer cells than any row, and text among numbers.

    A text that occurs above belongs to the column and marks no footer.
    """
    if _count_cells(row) >= fewest_cells:
        return False
    return not _count_cells(row) or any(
        cell.strip() not in MISSING_TEXTS
        and profile.is_number
        and not profile.fits(cell.strip())
        and not any(len(above) > k and above[k] == cell for above in rows_above)
        for k, (cell, profile) in enumerate(zip(row, profiles, strict=False))
    )


def joined_names(rows: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Return the names of columns joined from several rows, and a note.

    An empty cell of the first row takes the name to its left, as in merged cells. Questions and JSON are left out.
    """
    first_cells = [cell.strip() for cell in rows[0]]
    if _is_rule(rows[1]):
        return first_cells, "the line between the names and the rows left out"
    short_rows = [
        row for row in rows[1:] if not any(len(cell) > MAX_NAME_LENGTH or cell.startswith("{") for cell in row)
    ]
    if not short_rows:
        return (
            first_cells,
            f"of {len(rows)} rows of names the first was taken; the next begins with {short(rows[1][0])}",
        )
    group_names, last_name = [], ""
    for cell in first_cells:
        last_name = cell or last_name
        group_names.append(last_name)
    names = []
    for j, group_name in enumerate(group_names):
        parts = [part for part in (group_name, *(row[j].strip() for row in short_rows)) if part]
        parts = [part for k, part in enumerate(parts) if not k or part.lower() not in ANSWER_NAMES]
        has_text = any(row[j].strip() for row in rows)
        names.append(" ".join(dict.fromkeys(parts)) if has_text else "")
    return names, f"{len(rows)} rows of names were joined: {', '.join(short(name) for name in names[:3])} ..."


def _count_cells(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)
