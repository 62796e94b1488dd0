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
from collections.abc import Collection, Sequence
from itertools import pairwise

from alrviz.data.numbers import short
from alrviz.data.options import DOUBTFUL, MISSING, MOST_NAMES
from alrviz.data.reading import FOOTER, MOST_TITLES

HEAD_ROWS = 200  # rows that say how many fields there are, and what a row of names looks like
FEWEST_VALUES = 20  # of a column, until what it lacks means something
LONG_NAME = 40  # characters: a row of longer ones holds questions, not names
NUMBER = re.compile(r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$")
QUANTITY = re.compile(r"^[+\-(]*[$€£]?\s?\d[\d.,' \u00a0\u202f:/-]*([eE][+-]?\d+)?\s?[%€$)]*$")
GAPS = {*MISSING, *DOUBTFUL}


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


def count_titles(rows: Sequence[Sequence[str]], width: int) -> int:
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
    count = 1
    while count < MOST_NAMES and len(rows) > count + 3 and _strange(rows[count], rows[count + 1 :]):
        count += 1
    return count


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
    count = 0
    while count < min(MOST_TITLES, len(rows) - 2) and _is_footer(rows[-1 - count], width):
        count += 1
    above = rows[: len(rows) - count]
    usual = any(FOOTER.match(cell.strip()) for row in above for cell in row[:1])  # "Total" is a level there
    return 0 if usual or count == MOST_TITLES else count


def _is_footer(row: Sequence[str], width: int) -> bool:
    cells = [cell.strip() for cell in row if cell.strip()]
    if not cells or len(row) > width:
        return False
    alone = width > 1 and len(cells) == 1 and len(row) < width and not QUANTITY.match(cells[0])
    return alone or bool(FOOTER.match(row[0].strip()))


def joined_names(rows: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Return names of several rows of them, and a note.

    Where a row below the first holds questions or JSON the first alone names. An empty cell of the first row takes the
    name to its left, as over merged cells.
    """
    first = [cell.strip() for cell in rows[0]]
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
        own = first[place] or len(parts) > 1
        names.append(" ".join(dict.fromkeys(parts)) if own else "")
    return names, f"{len(rows)} rows of names were joined: {', '.join(short(name) for name in names[:3])} ..."


def _filled(row: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in row)


def left_out(lines: Sequence[str], where: str) -> str:
    """Return a note about lines before or behind the table."""
    what = "line" if len(lines) == 1 else "lines"
    return f"{len(lines)} {what} {where} left out: {', '.join(short(line) for line in lines[:3])}" + (
        " ..." if len(lines) > 3 else ""
    )
