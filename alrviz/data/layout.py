"""Where in a file the table is: the lines before it, its rows of names, the lines behind it.

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
from dataclasses import replace
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.doubts import Doubt, DoubtCode, DoubtNote, Note, NoteCode
from alrviz.data.options import DOUBTFUL, MISSING, MOST_NAMES
from alrviz.data.parse_spec import Layout
from alrviz.data.parse_values import FOOTER, MOST_TITLES, as_floats, number_pattern
from alrviz.data.text import TextColumn
from alrviz.errors import UNEVEN_LINES, TableError, listed, plural, short
from alrviz.stop import StopToken

HEAD_ROWS = 200  # rows that say how many fields there are, and what a row of names looks like
FEWEST_VALUES = 20  # of a column, until what it lacks means something
FEWEST_ROWS = 6  # until what differs from the rows in the middle means something
FEWEST_CELLS = 6  # of a column, until texts that repeat are its levels
FEWEST_LINES = 5  # of a text that is told from a table
MIN_EVEN_SHARE = 0.75  # of the lines of a table without numbers and levels
NUMBERS_SHARE = 0.9  # of the cells of a column of numbers
ANSWER_NAMES = {"response", "open-ended response"}  # below a question, in the exports of surveys
LONG_NAME = 40  # characters: a row of longer ones holds questions, not names
NUMBER = re.compile(r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$")
QUANTITY = re.compile(r"^[+\-\u2212\u2013(]*[$€£¥]?\s?\d[\d.,' \u00a0\u202f:/-]*([eE][+-]?\d+)?\s?[%€$¥)]*$")
TOTAL = re.compile(
    r"^(grand |sub)?(total|sum|average|mean|median)s?\b[^a-z]*$|^(summe|gesamt|insgesamt)$", re.IGNORECASE
)
SUBTOTAL = r"(?i)^(grand |sub-?)?totals?\b|\btotal$|^(zwischen)?summe\b|^gesamt|^sum$"  # amid the rows
MAX_SUBTOTAL_SHARE = 0.34  # of the rows: a total of two rows at least
MOST_LABEL_COLUMNS = 3  # the first ones, in which a total is named, or a group
MAX_LABELS = 10_000  # levels of such a column: of more, as of measurements, nobody makes totals
MIN_GROUPS = 3
TITLE_NAMES = ("title", "title of the table")  # of a column of titles, the second where the first is taken
RULE = re.compile(r"^:?-{2,}:?$|^={2,}$|^_{3,}$")
GAPS = {*MISSING, *DOUBTFUL}


class ColumnProfile(NamedTuple):
    """What the cells of a column look like: numbers, or levels that repeat, and the shapes of its texts."""

    is_number: bool
    levels: frozenset[str] | None
    shapes: frozenset[str]

    @property
    def tells(self) -> bool:
        """Whether a cell can be strange to this column."""
        return self.is_number or self.levels is not None

    def fits(self, cell: str) -> bool:
        """Whether a cell may be one of this column's."""
        if self.is_number:
            return bool(QUANTITY.match(cell.lstrip("<>=≤≥~ ")))  # a limit is a number, too
        return cell in self.levels if self.levels is not None else _shape(cell) in self.shapes


def column_profiles(rows: Sequence[Sequence[str]], width: int) -> list[ColumnProfile]:
    """Return the profile of each column of some rows of the table; rows of another width are not asked."""
    profiles = []
    for place in range(width):
        cells = [row[place].strip() for row in rows if len(row) == width]
        cells = [cell for cell in cells if cell not in GAPS]
        distinct = set(cells)
        numbers = sum(bool(QUANTITY.match(cell)) for cell in cells)
        repeats = len(cells) >= FEWEST_CELLS and 2 * len(distinct) <= len(cells)
        profiles.append(
            ColumnProfile(
                bool(cells) and numbers >= NUMBERS_SHARE * len(cells),
                frozenset(distinct) if repeats else None,
                frozenset(map(_shape, distinct)),
            )
        )
    return profiles


def _shape(cell: str) -> str:
    """Return what sort of characters follow each other in a text: "Aa 9" of "Room 101"."""
    sorts = ("9" if c.isdigit() else "A" if c.isupper() else "a" if c.isalpha() else c for c in cell[:LONG_NAME])
    return "".join(sort for sort, _ in groupby(sorts))


def _is_strange(row: Sequence[str], profiles: Sequence[ColumnProfile]) -> bool:
    """Whether most cells of a row do not fit columns that tell."""
    told = [profile.fits(cell) for cell, profile in zip(map(str.strip, row), profiles, strict=False)
            if profile.tells and cell not in GAPS]  # fmt: skip
    return len(told) > 2 * sum(told)


def _last_names(rows: Sequence[Sequence[str]], width: int) -> int | None:
    """Return the last of the first rows that is strange to those in the middle; None where no column tells."""
    if len(rows) < FEWEST_ROWS:
        return None
    start = max(len(rows) // 3, 1)
    profiles = column_profiles(rows[start:], width)
    if sum(profile.tells for profile in profiles) < min(2, width):
        return None
    return next((k for k in range(start - 1, -1, -1) if _is_strange(rows[k], profiles)), None)


def _is_group_row(row: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a row holds the names of groups of columns, over the names of these."""
    filled = [place for place, cell in enumerate(row) if cell.strip()]
    wide = all(later - place > 1 for place, later in pairwise([*filled, len(row)]))
    texts = [name.strip() for name in names]
    return len(filled) > 1 and (wide or len(set(texts)) < len(texts)) and not any(NUMBER.match(row[k]) for k in filled)


def looks_like_data(first: Sequence[str]) -> bool:
    """Whether a first row is no row of names: its numbers have decimals, repeat, or do not rise as years do."""
    texts = [text.strip() for text in first]
    numbers = [text for text in texts if NUMBER.match(text)]
    if not all(re.match(r"^\d+$", text) for text in numbers):
        return True
    values = [int(text) for text in numbers]
    return any(later <= earlier for earlier, later in pairwise(values))


def common_width(rows: Sequence[Sequence[str]]) -> int:
    """Return how many fields most rows have; of as many the first seen."""
    return Counter(map(len, rows)).most_common(1)[0][0]


def refuse_prose(rows: Sequence[Sequence[str]]) -> None:
    """Raise `TableError` for lines of uneven width without a column of numbers or levels: a letter, source code."""
    width = common_width(rows)
    even = [row for row in rows if len(row) == width]
    if len(rows) < FEWEST_LINES or len(even) >= MIN_EVEN_SHARE * len(rows):
        return
    for place in range(width):
        cells = [row[place].strip() for row in even]
        if 2 * sum(map(bool, map(QUANTITY.match, cells))) >= len(cells) or 2 * len(set(cells)) <= len(cells):
            return
    raise TableError(
        f"this is no table of rows: {len(rows) - len(even):,} of its first {len(rows):,} lines have not {width} cells, "
        "and no column holds numbers or levels. A text or source code was given, or another delimiter cuts the lines",
        code=UNEVEN_LINES,
    )


def count_titles(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many rows come before the names of `width` columns.

    They are the first that can hold names, unless that row has gaps and the rows below it are none of the table.
    """
    first = _first_names(rows, width)
    last = _last_names(rows, width)
    if last is None or last <= first or len(rows[last]) != width or _filled(rows[first]) == width:
        return first
    if _filled(rows[last]) < width or last >= MOST_TITLES:
        return first
    return last - int(_is_group_row(rows[last - 1], rows[last]))


def _first_names(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many rows come before the first that can hold names of `width` columns; 0 where none can."""
    for count, row in enumerate(rows[: MOST_TITLES + 1]):
        if width < 2 or (len(row) == width and (_filled(row) > 1 or (width < 3 and _filled(row) == 1 and count == 0))):
            return count
        if len(row) == width - 1 and len(rows) > count + 1 and _names_less_one(row, rows[count + 1 :], width):
            return count
        if len(row) > width or (_filled(row) > max(1, width // 2)):
            return 0  # no title: a row that is wrong, which is told with its line
    return 0


def _names_less_one(row: Sequence[str], below: Sequence[Sequence[str]], width: int) -> bool:
    """Whether a row holds the names of all columns but one: of R's row names, in front, or an empty one, at the end."""
    if _filled(row) < width - 1 or any(NUMBER.match(cell.strip()) for cell in row):
        return False
    rows = [other for other in below if len(other) == width]
    if len(rows) < len(below) or not rows:
        return False
    ends = all(not other[-1].strip() for other in rows)
    named = len({other[0] for other in rows}) == len(rows) and any(QUANTITY.match(cell.strip()) for cell in rows[0][1:])
    return ends or named


def names_less_one(row: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a name for each of `width` columns where the row of names lacks one."""
    if len(row) >= width:
        return list(row)
    return [*row, ""] if all(not other[-1].strip() for other in rows if len(other) == width) else ["row name", *row]


class NameRows(NamedTuple):
    """The rows of names: how many there are, the cells of the first, a name and perhaps a kind for each column."""

    n_rows: int
    first: tuple[str, ...]
    names: list[str]
    kinds: Mapping[int, str] = MappingProxyType({})
    notes: Sequence[str] = ()

    @property
    def header(self) -> bool | int:
        """The option `header` that reads these rows as names."""
        return bool(self.n_rows) if self.n_rows < 2 else self.n_rows


def read_names(
    rows: Sequence[Sequence[str]],
    width: int,
    header: bool | int | None,
    expected: Collection[str],
    known: Layout | None,
    *,
    declared: bool = False,
) -> NameRows:
    """Return the names of a table whose first rows are given.

    Args:
        rows: the first rows, titles left out.
        width: how many cells most rows have.
        header: how many rows hold names (None: detected).
        expected: names that the caller gave.
        known: the names of a table like it that was read before.
        declared: whether the width is stated elsewhere, and the first row has no say in it.
    """
    first = tuple(cell.strip() for cell in rows[0])
    if known is not None and first == known.head:
        names = [name for name in known.names if name in first or name not in TITLE_NAMES]
        if len(names) >= len(first):  # else a table beside it was left out
            return NameRows(known.n_names, first, names)
    one_less = not declared and len(rows) > 1 and len(rows[0]) == width - 1 and header in (None, True, 1)
    if one_less:
        return NameRows(1, first, names_less_one(rows[0], rows[1:], width))
    width = width if declared else max(width, len(rows[0]))
    even = [[*row, *[""] * (width - len(row))] for row in rows if len(row) <= width]
    if header is None and (stated := stated_kinds(even)) is not None:
        return NameRows(stated.rows, first, stated.names, stated.kinds, stated.notes)
    count = count_names([row for row in even if any(row)], expected) if header is None else min(int(header), len(rows))
    if count > 1:
        names, note = joined_names(even[:count])
        return NameRows(count, first, names, notes=[note])
    if count:
        return NameRows(1, first, even[0])
    unnamed = "the first row looks like those below, so it was read as data, and the columns were numbered"
    note = DoubtNote.with_doubt(unnamed, Doubt.from_change(DoubtCode.NO_HEADER, {"header": True}))
    return NameRows(0, (), [""] * width, notes=[note] if header is None else [])


# ---- types and roles beside the names --------------------------------------------------------------------------------

# Of Orange's tab files: a row of types and a row of roles below the names, or both as a prefix of a name ("mS#id").
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


class StatedKinds(NamedTuple):
    """Names with the kinds that the file states for them, by place."""

    rows: int
    names: list[str]
    kinds: dict[int, str]
    notes: Sequence[str]


def stated_kinds(rows: Sequence[Sequence[str]]) -> StatedKinds | None:
    """Return what the first rows state of types and roles; None where they state nothing, or several classes."""
    first = [cell.strip() for cell in rows[0]] if rows else []
    prefixes = [PREFIX.match(cell) for cell in first]
    if any(found is not None and (found["role"] or found["type"]) for found in prefixes):
        names = [cell if found is None else found["name"] for cell, found in zip(first, prefixes, strict=True)]
        stated = [("", "") if found is None else (found["type"].lower(), found["role"]) for found in prefixes]
        kinds, note = _kinds(stated), "types and roles before # in the names were used"
        return StatedKinds(1, names, kinds, [note]) if _count_targets(kinds) < 2 else None
    if len(rows) < 4:
        return None
    types, roles = ([cell.strip().lower() for cell in row] for row in rows[1:3])
    has_type = [cell in TYPES or len(_levels_stated(cell)) > 1 for cell in types]
    known = [not cell or cell.split()[0] in ROLES or "=" in cell for cell in roles]
    if not all(has_type) or not all(known) or not any(roles):
        return None
    stated = list(zip(types, (cell.split()[0] if cell else "" for cell in roles), strict=True))
    kinds, note = _kinds(stated), "the rows of types and roles below the names were used"
    return StatedKinds(3, first, kinds, [note]) if _count_targets(kinds) < 2 else None


def _levels_stated(cell: str) -> list[str]:
    """Return the levels that a type lists, blanks within a level being escaped."""
    return re.split(r"(?<!\\) ", cell)


def _kinds(stated: Sequence[tuple[str, str]]) -> dict[int, str]:
    kinds = {}
    for place, (type_, role) in enumerate(stated):
        kind = ROLES.get(role, "") or (TYPES.get(type_, "categorical") if type_ else "")
        if kind:
            kinds[place] = kind
    return kinds


def _count_targets(kinds: Mapping[int, str]) -> int:
    return sum(kind == "target" for kind in kinds.values())


def kinds_by_name(names: Sequence[str], kinds: Mapping[int, str]) -> dict[str, str]:
    """Return stated kinds by the column's name."""
    return {names[place]: kind for place, kind in kinds.items()}


# ---- rows of names ---------------------------------------------------------------------------------------------------


def count_names(rows: Sequence[Sequence[str]], expected: Collection[str] = ()) -> int:
    """Return how many rows of names there are, 0 to 3, rows of equal length given.

    `expected`: names that the caller gave, such as the target's. A first row that has one of them holds names, whatever
    it looks like, unless the same text is a value of that column, too.
    """
    count = _count_names(rows)
    if count or not rows:
        return count
    below = [row for row in rows[1:] if list(row) != list(rows[0])]
    named = ((place, cell.strip()) for place, cell in enumerate(rows[0]) if cell.strip() in expected)
    return int(any(all(row[place].strip() != name for row in below) for place, name in named))


def _count_names(rows: Sequence[Sequence[str]]) -> int:
    if not rows:
        return 0
    if len(rows) == 1:
        return int(not looks_like_data(rows[0]))
    below = [row for row in rows[1:] if list(row) != list(rows[0])]  # names may come again, as in files joined
    if not below or _fits(rows[0], below, years=True):
        return 0
    count = 2 if len(rows) > 1 and _is_rule(rows[1]) else 1
    while count < MOST_NAMES and len(rows) > count + 3 and _strange(rows[count], rows[count + 1 :]):
        count += 1
    return count


def _is_rule(row: Sequence[str]) -> bool:
    """Whether a row is a line drawn below the names, as tables in Markdown have it."""
    cells = [cell.strip() for cell in row if cell.strip()]
    return len(cells) > 1 and all(RULE.match(cell) for cell in cells)


def _columns(row: Sequence[str], below: Sequence[Sequence[str]]) -> list[tuple[str, set[str], bool, bool]]:
    """Each cell with the values below it, whether these are numbers, and whether they repeat."""
    found = []
    for place, cell in enumerate(row):
        values = [other[place].strip() for other in below if place < len(other)]
        values = [value for value in values if value not in GAPS]
        distinct = set(values)
        numbers = bool(distinct) and all(QUANTITY.match(value) for value in distinct)
        repeat = len(values) >= FEWEST_VALUES and 5 * len(distinct) <= len(values)
        found.append((cell.strip(), distinct, numbers, repeat))
    return found


def _fits(row: Sequence[str], below: Sequence[Sequence[str]], *, years: bool) -> bool:
    """Whether a row may be one of those below: its texts occur among theirs, its numbers are no list of years."""
    columns = _columns(row, below)
    words = [(cell, values) for cell, values, numbers, _ in columns if cell and not numbers and not NUMBER.match(cell)]
    among = sum(cell in values for cell, values in words)
    names = sum(bool(cell) and numbers and not QUANTITY.match(cell) for cell, _, numbers, _ in columns)
    if looks_like_data(row):
        return names <= sum(bool(NUMBER.match(cell)) for cell, *_ in columns)
    levels = [cell in values for cell, values, _, repeat in columns if repeat and cell]  # a name is none of its levels
    if names == 0 and years and 2 * sum(levels) > len(levels):
        return True
    return names == 0 and 0 < len(words) < 2 * among and (len(words) > 1 or not years)


def _strange(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row cannot be one of those below: texts over numbers, and none of the levels that repeat there."""
    columns = [column for column in _columns(row, below) if column[2] or column[3]]
    cells = [(cell, values, numbers) for cell, values, numbers, _ in columns if cell not in GAPS]
    if len(columns) < 2 or 2 * len(cells) < len(columns):
        return False
    return not any(QUANTITY.match(cell) if numbers else cell in values for cell, values, numbers in cells)


def count_footer(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many rows at the end are no rows of the table; `rows` are its last."""
    profiles = column_profiles(rows[len(rows) // 3 : 1 + 2 * len(rows) // 3], width)  # no names, no footer
    fullest = max(map(_filled, rows), default=0)
    least = min(map(_filled, rows[len(rows) // 3 : len(rows) // 2]), default=0)
    count = 0
    while count < min(MOST_TITLES, len(rows) - 2) and (
        _is_footer(rows[-1 - count], width, profiles, fullest) or _is_code(rows[-1 - count], profiles, least)
    ):
        count += 1
    above = rows[: len(rows) - count]
    usual = any(FOOTER.match(cell.strip()) for row in above for cell in row[:1])  # "Total" is a level there
    return 0 if usual or count == MOST_TITLES else count


def _is_footer(row: Sequence[str], width: int, profiles: Sequence[ColumnProfile], fullest: int) -> bool:
    """Whether a row is a total, or a remark: one text alone that is none of its column's."""
    filled = [place for place, cell in enumerate(row) if cell.strip()]
    if not filled or len(row) > width:
        return False
    cell = row[filled[0]].strip()
    alone = width > 1 and len(filled) == 1 and not QUANTITY.match(cell)
    remark = len(row) < width or (fullest > 2 and not profiles[filled[0]].fits(cell))
    first = row[0].strip()
    if (alone and remark) or not FOOTER.match(first):
        return alone and remark
    others = zip(map(str.strip, row[1:]), profiles[1:], strict=False)
    is_row = any(not profile.is_number and cell in (profile.levels or ()) for cell, profile in others)
    return bool(TOTAL.match(first)) or not is_row  # "Total loss" and Max are rows where the class is one of its levels


def _is_code(row: Sequence[str], profiles: Sequence[ColumnProfile], least: int) -> bool:
    """Whether a row, of a code book below the table, is less filled than all of its rows and has text among numbers."""
    cells = [(cell.strip(), profile) for cell, profile in zip(row, profiles, strict=False)]
    among_numbers = any(cell not in GAPS and profile.is_number and not profile.fits(cell) for cell, profile in cells)
    return _filled(row) < least and (among_numbers or not _filled(row))


def joined_names(rows: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Return names of several rows of them, and a note.

    Where a row below the first holds questions or JSON the first alone names. An empty cell of the first row takes the
    name to its left, as over merged cells.
    """
    first = [cell.strip() for cell in rows[0]]
    if _is_rule(rows[1]):
        return first, "the line between the names and the rows left out"
    short_rows = [row for row in rows[1:] if not any(len(cell) > LONG_NAME or cell.startswith("{") for cell in row)]
    if not short_rows:
        return first, f"of {len(rows)} rows of names the first was taken; the next begins with {short(rows[1][0])}"
    filled, last = [], ""
    for cell in first:
        last = cell or last
        filled.append(last)
    names = []
    for place, top in enumerate(filled):
        parts = [part for part in (top, *(row[place].strip() for row in short_rows)) if part]
        parts = [part for k, part in enumerate(parts) if not k or part.lower() not in ANSWER_NAMES]
        own = any(row[place].strip() for row in rows)
        names.append(" ".join(dict.fromkeys(parts)) if own else "")
    return names, f"{len(rows)} rows of names were joined: {', '.join(short(name) for name in names[:3])} ..."


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def left_out(lines: Sequence[str], where: str) -> Note:
    """Return a note about lines before or behind the table."""
    return Note.with_code(NoteCode.LEFT_OUT, f"{plural(len(lines), 'line')} {where} left out: {listed(lines, 3)}")


# ---- tables under one another ----------------------------------------------------------------------------------------


def join_stacked(columns: list[TextColumn], title: str, stop: StopToken) -> tuple[list[TextColumn], list[Note]]:
    """Return the rows of tables under one another that have the same names, without these and the titles; and notes.

    Titles that differ become a column in front; `title` is that of the first table, "" where it has none.
    """
    if len(columns) < 2:
        return columns, []
    masks: list[np.ndarray] = []
    for column in columns:
        place = pc.index(column.levels, column.name).as_py()
        if place < 0:
            return columns, []
        masks.append(column.codes == place)
        if not np.array_equal(masks[0], masks[-1]):  # the text is a level of its column, too
            return columns, []
    stop.check()
    starts, gone = np.flatnonzero(masks[0]), masks[0].copy()
    bare = np.logical_and.reduce([column.is_empty for column in columns[1:]])  # a title, or nothing
    filled = ~columns[0].is_empty
    titles = [title]
    for start in starts:
        begin = start
        while begin > 0 and bare[begin - 1]:
            begin -= 1
        gone[begin:start] = True
        rows = begin + np.flatnonzero(filled[begin:start])
        titles.append(columns[0].levels[int(columns[0].codes[rows[-1]])].as_py() if len(rows) else "")
    joined = []
    for column in columns:
        is_number = None if column.is_number is None else column.is_number[~gone]
        rest = TextColumn.from_codes(column.name, column.codes[~gone], column.levels, is_number)
        joined.append(replace(rest, n_trimmed=column.n_trimmed))
    repeats = plural(len(starts), "row that repeats", "rows that repeat")
    notes = [Note.with_code(NoteCode.LEFT_OUT, f"{repeats} the names left out")]
    if len(set(filter(None, titles))) > 1:
        part = np.searchsorted(starts, np.flatnonzero(~gone))
        name = TITLE_NAMES[any(column.name == TITLE_NAMES[0] for column in columns)]
        joined.insert(0, TextColumn.from_values(name, [titles[k] or None for k in part]))
        note = f"{len(titles):,} tables under one another were joined; their titles are the column {name!r}"
        notes.append(Note.with_code(NoteCode.STACKED, note))
    return joined, notes


# ---- totals amid the rows --------------------------------------------------------------------------------------------


def drop_subtotals(columns: list[TextColumn]) -> tuple[list[TextColumn], list[str]]:
    """Return the rows without totals of those above, and notes.

    A total is named so in one of the first columns, its numbers are the sums of the rows above, since the last total or
    of all, and it has no text behind its name. A row that is only named so stays.
    """
    n_rows = len(columns[0].codes) if columns else 0
    if len(columns) < 2 or n_rows < FEWEST_ROWS:
        return columns, []
    place = np.full(n_rows, -1)  # of the name of a total
    for k, column in enumerate(columns[:MOST_LABEL_COLUMNS]):
        if len(column.levels) > MAX_LABELS:
            continue
        named = pc.match_substring_regex(column.levels, SUBTOTAL).to_numpy(zero_copy_only=False)
        place[np.append(named, False)[column.codes]] = k
    is_named = place >= 0
    rows = np.flatnonzero(is_named)
    if not 0 < len(rows) <= MAX_SUBTOTAL_SHARE * n_rows:
        return columns, []
    numbers, empty = list(map(_rough_numbers, columns)), np.array([column.is_empty for column in columns])
    is_total, start = np.zeros(n_rows, dtype=bool), 0
    for row in rows.tolist():
        behind = [k for k in range(place[row] + 1, len(columns)) if not empty[k, row]]
        sums = [(each := numbers[k]) is not None and _is_sum(each, row, start, is_named) for k in behind]
        # A single sum may be chance where the row is as full as others.
        if all(sums) and len(sums) >= (1 if empty[:, row].any() else 2):
            is_total[row], start = True, row + 1
    notes = list[str]()
    if n_totals := int(is_total.sum()):
        first = f"the first is data row {int(is_total.argmax()) + 1:,}"
        text = f"{plural(n_totals, 'row of totals', 'rows of totals')} amid the others left out: {first}"
        notes.append(Note.with_code(NoteCode.LEFT_OUT, text))
        columns = [
            replace(
                TextColumn.from_codes(
                    c.name, c.codes[~is_total], c.levels, None if c.is_number is None else c.is_number[~is_total]
                ),
                n_trimmed=c.n_trimmed,
            )
            for c in columns
        ]
    kept = is_named & ~is_total
    if (n_kept := int(kept.sum())) and empty[:, kept].any(axis=0).all():  # others are rows of a level of that name
        notes.append(f"{plural(n_kept, 'row is', 'rows are')} named like totals, but are no sums of those above: kept")
    return columns, notes


def _rough_numbers(column: TextColumn) -> np.ndarray | None:
    """Return a column's numbers (N,), NaN where there is none, in either usual convention; None for one of words."""
    bare = pc.replace_substring_regex(column.levels, r"[$€£¥%\s]", "")
    for marks in ((".", ","), (",", ".")):
        fits = pc.match_substring_regex(bare, number_pattern(*marks)).to_numpy(zero_copy_only=False)
        if fits.sum() > NUMBERS_SHARE * (len(bare) - 1):  # the empty text is none
            numbers = np.full(len(bare) + 1, np.nan)
            numbers[:-1][fits] = as_floats(bare.filter(pa.array(fits)), *marks)
            result: np.ndarray = numbers[column.codes]
            return result
    return None


def _is_sum(numbers: np.ndarray, row: int, start: int, is_named: np.ndarray) -> bool:
    """Whether a number is the sum of the rows above, since `start` or of all; other totals left out."""
    for first in (start, 0):
        parts = numbers[first:row][~is_named[first:row]]
        parts = parts[~np.isnan(parts)]
        if len(parts) > 1 and parts.any() and np.isclose(numbers[row], parts.sum(), rtol=1e-4, atol=1e-9):
            return True
    return False


# ---- tables side by side ---------------------------------------------------------------------------------------------


def largest_table(columns: list[TextColumn], names: Sequence[str]) -> tuple[list[TextColumn], list[Note]]:
    """Return the columns of the largest of tables side by side, and a note that names the others.

    Between them is a column without name and values; `names` are those in the file. Tables of as many rows are one.
    """
    gaps = [place for place, column in enumerate(columns) if not names[place].strip() and column.is_empty.all()]
    edges = [-1, *gaps, len(columns)]
    parts = [range(left + 1, right) for left, right in pairwise(edges) if right - left > 2]
    if not gaps or len(parts) < 2 or any(not names[place].strip() for part in parts for place in part):
        return columns, []
    heights = []
    for part in parts:
        filled = ~np.logical_and.reduce([columns[place].is_empty for place in part])
        heights.append(int(np.flatnonzero(filled).max(initial=-1)) + 1)
    if len(set(heights)) == 1:
        return columns, []
    best = max(range(len(parts)), key=lambda k: heights[k] * len(parts[k]))
    others = [columns[place].name for k, part in enumerate(parts) for place in part if k != best]
    rows = slice(0, heights[best])
    result = [
        TextColumn.from_codes(c.name, c.codes[rows], c.levels, None if c.is_number is None else c.is_number[rows])
        for c in (columns[place] for place in parts[best])
    ]
    text = f"{len(parts)} tables side by side: the largest was read, and {listed(others)} were left out"
    return result, [Note.with_code(NoteCode.LEFT_OUT, text)]


# ---- labels of groups ------------------------------------------------------------------------------------------------


def group_label_doubts(columns: Sequence[TextColumn]) -> list[str]:
    """Return a doubt for each of the first columns that has a value in the first row of each group alone."""
    notes: list[str] = []
    full = any((column.codes >= 0).all() for column in columns)
    for column in columns[:MOST_LABEL_COLUMNS] if full else ():
        rows = np.flatnonzero(column.codes >= 0)
        n_empty = len(column.codes) - len(rows)
        labels = column.codes[rows]
        if len(rows) < MIN_GROUPS or rows[0] != 0 or n_empty < len(rows) or (labels[1:] == labels[:-1]).any():
            break
        if len(np.unique(labels)) < len(labels) and not notes:
            break
        note = f"{column.name!r} has {len(rows):,} values, each over empty cells ({n_empty:,}): read as missing"
        change = {"columns": {column.name: {"fill_down": True}}}
        notes.append(
            DoubtNote.with_doubt(note, Doubt.from_change(DoubtCode.GROUP_LABELS, change, [column.name], n_empty))
        )
    return notes
