"""Read files of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt), by pyreadstat.

Value labels become levels, in the order of the codes, if every value of a column has one. If only some have, as in an
age with 99 = "refused", the column stays numeric and a note names the labels.
"""

import io
from typing import Any

import pandas as pd

from alrviz.data.frames import read_frame
from alrviz.data.source import STAT_STARTS
from alrviz.data.text import Buffer, RawTable, ReadRequest
from alrviz.errors import TableError, short


def read_stat_file(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of a file of SPSS, Stata or SAS.

    Raises:
        TableError: pyreadstat is not installed, the file is damaged, or exceeds the limits.
    """
    format_name, reader = next(names for start, names in STAT_STARTS.items() if start.match(data))
    try:
        import pyreadstat
    except ImportError as error:
        raise TableError(
            f"this is {format_name}, which is read by pyreadstat: pip install 'alrviz[stat]', or save it as CSV"
        ) from error
    read = getattr(pyreadstat, reader)
    try:
        _, metadata = read(io.BytesIO(data), metadataonly=True)
        request.limits.check(metadata.number_rows or 0, metadata.number_columns)  # no rows in a SAS transport file
        request.stop.check()
        frame, metadata = read(io.BytesIO(data), dates_as_pandas_datetime=True)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OverflowError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"this is {format_name} that is damaged or cut short ({error}); save it again, or as CSV"
        ) from error
    request.stop.check()
    notes = list[str]()
    for name, labels in metadata.variable_value_labels.items():
        is_ordinal = metadata.variable_measure.get(name) == "ordinal"
        frame[name] = _labelled(frame[name], labels, is_ordinal, notes)
    raw = read_frame(frame, request)
    return RawTable(raw.columns, raw.options, [*notes, *raw.notes])


def _labelled(values: pd.Series, labels: dict[Any, str], is_ordinal: bool, notes: list[str]) -> pd.Series:
    """Return a column with its values' labels as levels; unchanged, with a note, if a value has no label."""
    present = set(values.dropna())
    if not present <= set(labels):
        if unused := [f"{code:g} = {short(labels[code])}" for code in labels if code in present and code == code]:
            notes.append(
                f"labels of some values in {values.name!r} were not used, as others have none: {', '.join(unused[:5])}"
            )
        return values
    codes = [code for code in labels if code in present]
    names = [str(labels[code]).strip() for code in codes]
    names = [name if names.count(name) == 1 else f"{name} ({code})" for name, code in zip(names, codes, strict=True)]
    levels = pd.CategoricalDtype(names, ordered=is_ordinal)
    return values.map(dict(zip(codes, names, strict=True)), na_action="ignore").astype(levels)
