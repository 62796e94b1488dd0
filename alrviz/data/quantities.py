"""Detect columns of quantities: $1,234, 12.5%, 70 kg, 19M, (1,234); and tables of counts.

A column has quantities if all texts are numbers with the same currency, unit or word, or without one. It is removed;
brackets become a minus, and k, M and B factors. 12.5% becomes 12.5.
"""

import re
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import DECADE, FIRST_SAMPLE
from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.parse_values import LIMIT, QUANTITY_PATTERN, bare_numbers, without_limits
from alrviz.data.text import NUMBERLIKE, TextColumn, all_match
from alrviz.errors import Sentence, plural

MIN_NUMBERS = 5  # other numbers of a column with limits
COUNT_NAME = re.compile(r"^(n|freq|frequency|counts?|n_?cases|cases|anzahl|häufigkeit)$")
TOTAL_NAME = re.compile(r"^((row )?totals?|all|sum|summe|gesamt)$", re.IGNORECASE)
# Names of the columns of the long form, with one row for each measurement of a case.
PARAMETER_NAME = re.compile(
    r"^(param(eter)?s?|variable|measure(ment)?|metric|indicator|attribute|property|characteristic|question|test|analyte|"
    r"assay|sensor|channel|feature|key|merkmal|kennzahl|frage)[\W_]*(name|id|code|type)?$",
    re.IGNORECASE,
)
VALUE_NAME = re.compile(
    r"^(values?|val|results?|reading|measurement|answer|response|score|(mess)?wert|ergebnis|antwort)[\W_]*(\w+)?$",
    re.IGNORECASE,
)
MAX_KEY_COLUMNS = 6  # among which one or two that number the cases are looked for
MIN_ROWS_PER_CASE = 1.5
MAX_LONG_FORM_ROWS = 20_000  # first rows of a table that are searched for the long form
MIN_COUNTS, MAX_COUNTS, MAX_COUNT_COLUMNS = 2, 10_000, 12  # rows and columns of a table of counts
MAX_UNITS = 4  # of a column; with more they are words
PERCENT = r"^[0-9.,]+ ?%$"
SHARE = r"^0?[.,][0-9]+$"
MAX_FEATURES, MIN_CASES = 500, 6  # rows and columns of a transposed table


def counts_column(columns: Sequence[pd.Series]) -> str | None:
    """Return the name of the column with the number of cases of each row; None without one.

    It is named like counts, all others have levels, and no combination of these occurs twice.
    """
    whole_columns, level_columns = _split_count_columns(columns)
    count_columns = [column for column in whole_columns if COUNT_NAME.search(str(column.name).lower())]
    if (
        len(count_columns) != 1
        or len(level_columns) != len(columns) - 1
        or pd.concat(level_columns, axis=1).duplicated().any()
    ):
        return None
    n_cells = np.prod([column.nunique() for column in level_columns], dtype=float)
    return str(count_columns[0].name) if 2 * len(columns[0]) >= n_cells else None


def cross_table_note(columns: Sequence[pd.Series]) -> str:
    """Return a note on a cross table of counts with a column of totals; "" for other tables."""
    whole_columns, level_columns = _split_count_columns(columns)
    totals = [column for column in whole_columns if TOTAL_NAME.match(str(column.name))]
    if (
        len(level_columns) != 1
        or len(totals) != 1
        or len(whole_columns) != len(columns) - 1
        or not level_columns[0].is_unique
    ):
        return ""
    if (sum(column for column in whole_columns if column is not totals[0]) != totals[0]).any():
        return ""
    name = str(level_columns[0].name)
    return (
        "this looks like a cross table of counts, with totals at its edge, not like rows of cases: without its totals "
        f'frame.melt({name!r}, value_name="count") has a row for each cell, and the count as a weight'
    )


def long_form_doubt(columns: Sequence[pd.Series]) -> list[str]:
    """Return a doubt about a table in long form, with one row for each measurement of a case; [] for other tables.

    One or two columns number the cases, each of which has several rows, and each parameter once.
    """
    parameters = [column for column in columns if PARAMETER_NAME.match(str(column.name)) and column.nunique() > 1]
    values = [column for column in columns if VALUE_NAME.match(str(column.name))]
    if len(parameters) != 1 or not values or parameters[0].dtype.kind != "O":
        return []
    others = [
        column[:MAX_LONG_FORM_ROWS] for column in columns if column is not parameters[0] and column is not values[0]
    ]
    for keys in chain(*(combinations(others[:MAX_KEY_COLUMNS], n_keys) for n_keys in (1, 2))):
        cases = pd.concat(keys, axis=1)
        n_cases = len(cases.drop_duplicates())
        is_case = n_cases > 1 and MIN_ROWS_PER_CASE * n_cases <= len(cases)
        if is_case and not pd.concat([cases, parameters[0][:MAX_LONG_FORM_ROWS]], axis=1).duplicated().any():
            names = [str(key.name) for key in keys]
            long_form, words = [*names, str(parameters[0].name), str(values[0].name)], " and ".join(names)
            note = f"this looks like a long form, with a row for each {long_form[-2]!r} of each {words}: it was read so"
            note = Sentence(f"{note} (pivot={tuple(long_form)!r} reads a row for each {words})", note)
            change = {"long_form": long_form}
            return [DoubtNote.with_doubt(note, DoubtCode.LONG_FORM, change, such=repr(long_form[-2]), what=words)]
    return []


def _split_count_columns(columns: Sequence[pd.Series]) -> tuple[list[pd.Series], list[pd.Series]]:
    """Return the columns of whole numbers from 0, and those without numbers; empty lists for a table without counts."""
    if not 3 <= len(columns) <= MAX_COUNT_COLUMNS or not MIN_COUNTS <= len(columns[0]) <= MAX_COUNTS:
        return [], []
    whole_columns = [column for column in columns if column.dtype.kind == "i" and column.min() >= 0]
    return whole_columns, [column for column in columns if column.dtype.kind not in "if"]


def percent_note(column: TextColumn) -> str:
    """Return a note on a column that mixes percentages with numbers that may be shares; "" for other columns."""
    percents = pc.match_substring_regex(column.levels, PERCENT)
    if not pc.any(percents).as_py() or pc.all(percents).as_py():
        return ""
    share_texts = column.levels.filter(pc.match_substring_regex(column.levels, SHARE))
    if not len(share_texts):
        return ""
    percent_example, share_example = column.levels.filter(percents)[0].as_py(), share_texts[0].as_py()
    rows_text = plural(column.count(share_texts.to_pylist()), "share such as", "shares such as")
    return (
        f"{column.name!r} mixes percents such as {percent_example!r} with {rows_text} {share_example!r}: each is read "
        "as the number that is written, so bring them to one unit"
    )


def units_note(column: TextColumn) -> str:
    """Return a note on a column of quantities with several units, which is read as text; "" for other columns."""
    levels = column.levels
    if (
        len(levels) < MIN_NUMBERS
        or not all_match(levels[:FIRST_SAMPLE], QUANTITY_PATTERN)
        or all_match(levels, NUMBERLIKE)
    ):
        return ""
    bare = bare_numbers(levels)
    units = list(dict.fromkeys(filter(None, bare.units)))
    if len(units) < 2 or len(units) > MAX_UNITS or None in bare.numbers:
        return ""
    return (
        f"{column.name!r} mixes units, {' and '.join(units)}: it is read as text; bring it to one unit to read numbers"
    )


def transposed_note(columns: Sequence[TextColumn]) -> str:
    """Return a note on a transposed table, with features in rows and their names in the first column; "" for others.

    Each row has only numbers or only words, with some rows of both sorts.
    """
    n_rows = len(columns[0].codes) if columns else 0
    if not 2 <= n_rows <= MAX_FEATURES or len(columns) < MIN_CASES + 1:
        return ""
    names = columns[0]
    if len(names.levels) < n_rows or pc.any(pc.match_substring_regex(names.levels, NUMBERLIKE)).as_py():
        return ""
    cells = np.empty((len(columns) - 1, n_rows))  # 1 a number, 0 a word, NaN nothing
    for k, column in enumerate(columns[1:]):
        is_number = pc.match_substring_regex(column.levels, NUMBERLIKE).to_numpy(zero_copy_only=False)
        cells[k] = np.append(is_number.astype(float), np.nan)[column.codes]
    present = ~np.isnan(cells)
    number_shares = np.where(present, cells, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    if not (
        present.any(axis=0).all() and np.isin(number_shares, (0.0, 1.0)).all() and 0 < number_shares.sum() < n_rows
    ):
        return ""
    word_rows = np.flatnonzero(number_shares == 0)
    distinct = min(len({column.levels[int(c)] for column in columns[1:] if (c := column.codes[row]) >= 0})
                   for row in word_rows)  # fmt: skip
    if 2 * distinct > len(columns) - 1:
        return ""
    return (
        "this table looks transposed: its rows are features and its columns are cases. Transpose it first, such as by "
        "pandas.read_csv(path, index_col=0).T, or Paste special, Transpose in a spreadsheet"
    )


def measured_limits(column: TextColumn) -> tuple[TextColumn, str] | None:
    """Return a column of measurements with limits (<5) replaced by the number, and an example of a limit; else None.

    Numbers must be far more frequent than limits: <20, 20, 30, >30 are levels.
    """
    signed = pc.match_substring_regex(column.levels, LIMIT)
    n_signed = pc.sum(signed).as_py() or 0
    if not n_signed or len(column.levels) - n_signed < max(MIN_NUMBERS, 3 * n_signed):
        return None
    bare = without_limits(column.levels)
    if not all_match(bare, NUMBERLIKE) and not all_match(bare, QUANTITY_PATTERN):
        return None
    numbers = TextColumn.from_codes(column.name, column.codes, bare, column.is_number)
    return numbers, column.levels.filter(signed)[0].as_py()


def plain_numbers(column: TextColumn) -> tuple[TextColumn, str] | None:
    """Return a column of quantities as bare numbers, with their marks of numbers, and the unit; None for other columns.

    None also for a column of bare numbers.
    """
    levels = column.levels
    if len(levels) < 2 or not all_match(levels[:FIRST_SAMPLE], QUANTITY_PATTERN) or all_match(levels, NUMBERLIKE):
        return None
    if not all_match(levels, QUANTITY_PATTERN):
        return None
    bare = bare_numbers(levels)
    units = {unit for unit in bare.units if unit}
    if None in bare.numbers or not bare.has_marks or len(units) > 1:
        return None
    if units == {"s"} and all_match(levels, DECADE):
        return None
    numbers = pa.array(bare.numbers, type=pa.string())
    return TextColumn.from_codes(column.name, column.codes, numbers, column.is_number), next(iter(units), "")
