"""Workbooks made of rows of values."""

import io
from collections.abc import Sequence

import openpyxl


def workbook_of_rows(rows: Sequence[Sequence[object]], merged: Sequence[str] = ()) -> bytes:
    """Return a workbook of one sheet; `merged` are areas of merged cells such as "C1:D1"."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(list(row))
    for cells in merged:
        sheet.merge_cells(cells)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()
