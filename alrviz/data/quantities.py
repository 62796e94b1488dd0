"""Numbers that carry something: $1,234, 12.5%, 70 kg, 19M, (1,234).

A column is one of quantities when every text is a number with the same sign, unit or word beside it, or with none. What
is beside the number goes, what it means stays: a bracket is a minus, k, M and B are factors. 12.5% is 12.5.
"""

import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.parse_values import LIMIT, QUANTITY_PATTERN, bare_numbers, without_limits
from alrviz.data.text import NUMBERLIKE, TextColumn, all_match

FEWEST = 5  # numbers beside which a limit is one
LOOKED_AT = 200  # levels asked first, so that a column of words costs nothing


def measured_limits(column: TextColumn) -> tuple[TextColumn, str] | None:
    """Return a column of measurements of which some are limits (<5), read as the number, and such a text; else None.

    Numbers have to be many more than limits: <20, 20, 30, >30 are levels.
    """
    signed = pc.match_substring_regex(column.levels, LIMIT)
    n_signed = pc.sum(signed).as_py() or 0
    if not n_signed or len(column.levels) - n_signed < max(FEWEST, 3 * n_signed):
        return None
    bare = without_limits(column.levels)
    if not all_match(bare, NUMBERLIKE) and not all_match(bare, QUANTITY_PATTERN):
        return None
    return TextColumn.of(column.name, column.codes, bare, column.typed), column.levels.filter(signed)[0].as_py()


def plain_numbers(column: TextColumn) -> tuple[TextColumn, str] | None:
    """Return the column with bare numbers in the marks it has, and what stood beside them; None where it is of others.

    A column of numbers alone is None as well: there is nothing to take away.
    """
    levels = column.levels
    if len(levels) < 2 or not all_match(levels[:LOOKED_AT], QUANTITY_PATTERN) or all_match(levels, NUMBERLIKE):
        return None
    if not all_match(levels, QUANTITY_PATTERN):
        return None
    bare = bare_numbers(levels)
    units = {unit for unit in bare.units if unit}
    if None in bare.numbers or not bare.changed or len(units) > 1:
        return None
    numbers = pa.array(bare.numbers, type=pa.string())
    return TextColumn.of(column.name, column.codes, numbers, column.typed), next(iter(units), "")
