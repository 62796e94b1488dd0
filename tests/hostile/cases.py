"""Broken and hostile files, each with the text expected of the reader: an error, or notes beside a table that works.

`CASES` is used at the level of data (test_reading.py) and by whoever uploads the same files to a page.
"""

import gzip
import io
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from alrviz.data.limits import Limits

LIMITS = Limits(bytes=100_000_000, rows=1_000_000, columns=2_000, levels=100_000, classes=1_000)
SCRIPT = "<script>alert(1)</script>"
HOVER = "<b onmouseover=alert(2)>"
BIDI = "\u202eabc\u202c"
FORMULA = "=cmd|' /C calc'!A0"


@dataclass(frozen=True)
class Case:
    """A file: `make` returns its bytes; `error` is part of the text of its `TableError`, None where it reads.

    `notes` are parts of notes expected of the data set; `texts` must be found unchanged among names, levels, classes.
    """

    name: str
    filename: str
    make: Callable[[], bytes]
    error: str | None = None
    notes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def rows(count: int, *, head: str = "a,b,class", line: str = "{i},{j},{k}") -> str:
    """Return a small sound table: `i` counts, `j` is one of ten, `k` one of two."""
    lines = [line.format(i=i, j=f"v{i % 10}", k="yes" if i % 3 else "no") for i in range(count)]
    return "\n".join([head, *lines]) + "\n"


def text(content: str, encoding: str = "utf-8") -> Callable[[], bytes]:
    return lambda: content.encode(encoding)


def huge() -> bytes:
    return b"a,b,class\n" + b"11111111,22222222,yes\n" * 13_700_000


def bomb() -> bytes:
    return gzip.compress(b"a,b,class\n" + b"1,2,yes\n" * 20_000_000, compresslevel=1)


def many_levels() -> bytes:
    lines = [f"L{i % 200_000},{i % 7},{'yes' if i % 3 else 'no'}" for i in range(400_010)]
    return ("\n".join(["level,b,class", *lines]) + "\n").encode()


def binary() -> bytes:
    return random.Random(0).randbytes(50_000)


def excel_bomb() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("xl/workbook.xml", b"<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as sheet:
            for _ in range(110):
                sheet.write(b" " * 1_000_000)
    return buffer.getvalue()


def plain_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", rows(20))
        archive.writestr("other.csv", rows(20))
    return buffer.getvalue()


CASES = [
    Case("empty", "empty.csv", text(""), "the table is empty"),
    Case("blank lines", "blank.csv", text("\n  \n\r\n\n"), "the table is empty"),
    Case("header only", "header.csv", text("a,b,class\n"), "names but no rows"),
    Case("one column", "one.csv", text("class\nyes\nno\n"), "only one column"),
    Case("one class", "oneclass.csv", text("a,b,class\n1,2,yes\n2,3,yes\n"), "'class' is 'yes' on all 2 rows"),
    Case("no class", "noclass.csv", text("a,b,class\n1,2,\n2,3,?\n"), "'class' has no values"),
    Case(
        "all missing",
        "missing.csv",
        text(rows(30, head="a,b,gone,class", line="{i},{j},?,{k}")),
        notes=("1 column is without a value and ignored: 'gone'",),
    ),
    Case(
        "constant",
        "constant.csv",
        text(rows(30, head="a,b,same,class", line="{i},{j},x,{k}")),
        notes=("1 column is with one value only: 'same'",),
    ),
    Case(
        "duplicate names",
        "double.csv",
        text(rows(30, head="a,a,a,class", line="{i},{j},x{j},{k}")),
        notes=("2 columns had a name taken before, now called 'a (2)', 'a (3)'",),
        texts=("a (2)",),
    ),
    Case(
        "empty names",
        "unnamed.csv",
        text(rows(30, head="a,,class", line="{i},{j},{k}")),
        notes=("1 column had no name, now called 'column 2'",),
        texts=("column 2",),
    ),
    Case(
        "endless name",
        "longname.csv",
        text(rows(30, head="a," + "n" * 5000 + ",class")),
        notes=("had an endless name",),
    ),
    Case("ragged, too many", "ragged.csv", text(rows(30) + "1,2,3,4\n" * 3), "3 of 33 lines have more than"),
    Case("ragged, once", "once.csv", text(rows(8) + "1,2,3,4\n"), notes=("1 line has more cells", "line 10")),
    Case("ragged, too few", "short.csv", text(rows(8) + "\n\n1,2\n"), notes=("1 line has fewer cells", "line 12")),
    Case("open quote", "quote.csv", text(rows(8) + '"open,v1,yes\n1,v2,no\n'), notes=("quotation mark that is never",)),
    Case("binary", "binary.csv", binary, "binary data, not a table"),
    Case("picture", "picture.csv", lambda: b"\x89PNG\r\n\x1a\n" + binary(), "a PNG image, not a table"),
    Case("zeros", "zeros.csv", lambda: bytes(100_000), "NUL"),
    Case(
        "wrong encoding",
        "latin1.csv",
        text(rows(30).replace("v1,", "caf\u00e9,"), "cp1252"),
        notes=("not UTF-8, so it was read as cp1252",),
        texts=("caf\u00e9",),
    ),
    Case("300 MB", "huge.csv", huge, "more than the 100 MB allowed here"),
    Case("gzip bomb", "bomb.csv.gz", bomb, "unpacks to more than the 100 MB allowed here"),
    Case("damaged gzip", "cut.csv.gz", lambda: gzip.compress(rows(5000).encode())[:-200], "damaged or cut short"),
    Case("xlsx bomb", "bomb.xlsx", excel_bomb, "unpacks to more than the 100 MB allowed here"),
    Case("zip", "table.zip", plain_zip, "this zip archive holds 2 files"),
    Case("damaged Parquet", "cut.parquet", lambda: b"PAR1" + binary() + b"PAR1", "the Parquet file is damaged"),
    Case("broken ARFF", "broken.arff", text("@relation x\n@attribute a numric\n@data\n1\n"), "'a' the type 'numric'"),
    Case("200,000 levels", "levels.csv", many_levels, notes=("1 column is guessed to be ids and ignored: 'level'",)),
    Case(
        "too many rows",
        "rows.csv",
        lambda: b"a,class\n" + b"1,y\n2,n\n" * 600_000,
        "more than the 1,000,000 rows",
    ),
    Case(
        "too many columns",
        "wide.csv",
        text(",".join(f"c{i}" for i in range(5000)) + "\n"),
        "5,000 columns, at most",
    ),
    Case(
        "too many classes",
        "classes.csv",
        text(rows(3000, head="a,b,class", line="{i},{j},c{i}")),
        "3,000 classes, at",
    ),
    Case(
        "script in names and levels",
        "script.csv",
        text(rows(30, head=f"a,{SCRIPT},class").replace("v1,", f"{SCRIPT},").replace(",yes", f",{HOVER}")),
        texts=(SCRIPT, HOVER),
    ),
    Case(
        "formula injection",
        "formula.csv",
        text(rows(30, head=f"a,{FORMULA},class").replace("v1,", f"{FORMULA},").replace(",no", ",@SUM(1+1)")),
        texts=(FORMULA, "@SUM(1+1)"),
    ),
    Case(
        "NUL bytes",
        "nul.csv",
        text(rows(30).replace("v1", "v\0001")),
        notes=("3 NUL bytes were removed",),
        texts=("v1",),
    ),
    Case(
        "a class with one row",
        "rare.csv",
        text(rows(30) + "31,v1,rare\n"),
        notes=("class 'rare' has a single row",),
        texts=("rare",),
    ),
    Case("beyond float", "float.csv", text(rows(30) + "1e999,v1,no\n"), "column 'a' has '1e999' in data row 31"),
    Case("infinite", "inf.csv", text(rows(30) + "-inf,v1,no\n"), "column 'a' has '-inf' in data row 31"),
    Case("very long line", "long.csv", text(rows(30) + "31," + "x" * 5_000_000 + ",no\n")),
    Case("bidirectional text", "bidi.csv", text(rows(30).replace("v1,", f"{BIDI},")), texts=(BIDI,)),
]
