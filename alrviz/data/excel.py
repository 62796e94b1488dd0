"""Excel workbooks (.xlsx): the first sheet with content, its shown values, never its formulas.

openpyxl reads them and is an extra. A workbook is a zip: what it says to unpack to is checked before it is opened.
"""

import datetime
import io
import zipfile
from dataclasses import replace

from alrviz.data.frames import number_text
from alrviz.data.interpret import Parsed, interpret
from alrviz.data.limits import Limits, check_bytes, check_columns, check_rows
from alrviz.data.names import clean_names
from alrviz.data.options import ReadOptions
from alrviz.data.source import Buffer
from alrviz.data.text import TextColumn
from alrviz.errors import AlrvizError, TableError
from alrviz.stop import StopToken


def read_excel(data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken) -> Parsed:
    """Return the columns of the first sheet that holds something, read as the same table saved as CSV would be."""
    _check_zip(data, limits)
    try:
        import openpyxl
    except ImportError as error:
        raise TableError(
            "reading .xlsx needs openpyxl: pip install 'alrviz[xlsx]', or save the sheet as CSV"
        ) from error
    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows, title = _rows(book, limits, stop)
        book.close()
    except AlrvizError:
        raise
    except Exception as error:  # openpyxl raises whatever the broken part of a file makes it stumble on
        raise TableError(f"the workbook is damaged or not an .xlsx file ({error})") from error
    notes = [f"the sheet {title!r} was read, of {len(book.sheetnames)}"] if len(book.sheetnames) > 1 else []
    width = max(len(row) for row in rows)
    names, renamed = clean_names([*rows[0], *[""] * (width - len(rows[0]))])
    columns = []
    for i, name in enumerate(names):
        stop.check()
        columns.append(TextColumn.from_values(name, [row[i] if i < len(row) else "" for row in rows[1:]]))
    plain = replace(options, header=True)
    return interpret(columns, plain, [*notes, *renamed], stop)


def _check_zip(data: Buffer, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            check_bytes(sum(entry.file_size for entry in archive.infolist()), limits, unpacked=True)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise TableError(f"the workbook or zip archive is damaged ({error})") from error
    if "xl/workbook.xml" not in names:
        raise TableError(
            "this is a zip archive, not a table; unpack it and read the CSV, Parquet, ARFF or xlsx file in it"
        )


def _rows(book: "openpyxl.Workbook", limits: Limits, stop: StopToken) -> tuple[list[list[str]], str]:  # type: ignore[name-defined]  # noqa: F821
    for sheet in book.worksheets:
        rows: list[list[str]] = []
        for count, values in enumerate(sheet.iter_rows(values_only=True)):
            if count % 100 == 0:
                stop.check()
            row = [_text(value) for value in values]
            while row and not row[-1]:
                row.pop()
            check_columns(len(row), limits)
            if row:
                rows.append(row)
                check_rows(len(rows) - 1, limits)
        if rows:
            return rows, sheet.title
    raise TableError("the workbook is empty; a row of names and at least one row of values were expected")


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return number_text(float(value))
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat()
    return str(value).strip()
