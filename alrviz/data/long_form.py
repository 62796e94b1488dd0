"""Tables in long form, with a row for each measurement of a case, pivoted to a row for each case.

    patient,test,value        patient,glucose,sodium
    1,glucose,90              1,90,140
    1,sodium,140         ->   2,95,
    2,glucose,95

It is done before types are detected, so that each new column has a type of its own. Part of score.py in every model
file.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from alrviz.data.doubts import Note, NoteCode
from alrviz.data.parse_values import clean_names
from alrviz.data.text import RawTable, ReadRequest
from alrviz.errors import TableError, listed, nearest, plural


def pivot(raw: RawTable, request: ReadRequest) -> RawTable:
    """Return a table with a row for each case, if the option `long_form` names the columns of a long form.

    Other columns are kept if they have one value in each case. By a `known_layout`, a table that has other columns than
    the long form is returned unchanged, as its rows may be cases already, and there is a column for each of its
    parameters.

    Raises:
        TableError: there is no column of such a name, no row has a case and a parameter, or the limits are exceeded.
    """
    columns = {column.name: column for column in raw.columns}
    *keys, parameter, value = long_form = request.options.long_form or ("", "")
    missing_names = [name for name in long_form if name not in columns]
    if not keys or (missing_names and request.known_layout is not None):
        return raw
    if missing_names:
        raise TableError(
            f"long_form: no column is called {missing_names[0]!r}{nearest(missing_names[0], [*columns])}; the columns "
            f"are {listed([*columns])}"
        )
    if request.options.fills_down:
        raise TableError(
            "long_form gives each case a row, and fill_down would then fill its empty cells from other cases; expected "
            "one of the two: fill the file's cells before it is read"
        )
    texts = {name: column.as_text for name, column in columns.items()}
    rows = np.flatnonzero(~np.logical_or.reduce([texts[name].is_empty for name in (*keys, parameter)]))
    if not len(rows):
        raise TableError(f"no row has a value in each of {listed([*keys, parameter])}, so there is nothing to pivot")
    case_codes = np.zeros(len(rows), dtype=np.int64)
    for name in keys:
        case_codes = np.unique(case_codes, return_inverse=True)[1] * len(texts[name].levels) + texts[name].codes[rows]
    first_of_case, case_of_row = _in_order_of_rows(case_codes)
    first_of_parameter, parameter_of_row = _in_order_of_rows(texts[parameter].codes[rows])
    shape = len(first_of_parameter), len(first_of_case)
    request.limits.check(shape[1], len(columns) + shape[0])
    cells = np.full(shape, -1)
    places, first_rows = np.unique(parameter_of_row * shape[1] + case_of_row, return_index=True)
    cells.reshape(-1)[places] = rows[first_rows]  # of several values the first is kept
    case_rows = rows[first_of_case]
    others = [name for name in columns if name not in long_form]
    codes = {name: texts[name].codes[rows] for name in others}
    kept = [name for name in others if (codes[name] == codes[name][first_of_case][case_of_row]).all()]
    levels = texts[parameter].levels
    parameters = [levels[int(code)].as_py() for code in texts[parameter].codes[rows[first_of_parameter]]]
    names = [name for name in columns if name in keys or name in kept]
    picked = [columns[name].take_rows(case_rows, name) for name in names]
    absent = [] if request.known_layout is None else request.known_layout.names
    absent = [name for name in absent if name not in (*names, *parameters)]
    new_names, notes = clean_names([*names, *parameters, *absent])
    new_cells = [*cells, *[np.full(shape[1], -1)] * len(absent)]
    values = zip(new_cells, new_names[len(names) :], strict=True)
    picked += [columns[value].take_rows(cell_rows, name) for cell_rows, name in values]
    left_out = {
        "without a case or a parameter": len(texts[parameter].codes) - len(rows),
        "with a parameter that their case has already": len(rows) - len(places),
    }
    summary = f"{len(rows):,} rows in long form were pivoted to {shape[1]:,}, one for each {' and '.join(keys)}"
    notes = [summary, *_notes(left_out, [name for name in others if name not in kept], absent, notes)]
    notes = [Note.with_code(NoteCode.LEFT_OUT, note) for note in notes]
    kinds = {name: kind for name, kind in raw.kinds.items() if name in names}
    return replace(raw, columns=picked, notes=[*raw.notes, *notes], kinds=kinds)


def _notes(left_out: Mapping[str, int], dropped: list[str], absent: list[str], name_notes: list[str]) -> list[str]:
    """Return what was left out or is missing, in words.

    Args:
        left_out: number of rows left out, by reason.
        dropped: columns that have several values in a case.
        absent: columns of the known layout that no row has.
        name_notes: notes on names that were changed.
    """
    notes = [f"{plural(n, 'row')} {reason} left out" for reason, n in left_out.items() if n] + name_notes
    notes += [f"{listed(dropped)} left out, with several values in a case"] if dropped else []
    notes += [f"no row has {listed(absent)}: missing"] if absent else []
    return notes


def _in_order_of_rows(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each distinct code, in ascending order, and the position there of each row's code."""
    _, first_rows, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first_rows)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first_rows[order], rank[inverse]
