"""Hostile and odd inputs by the hundred, made from a seed: tables, uploads, model files.

A table comes with what is known of it (`Truth`): what reading loses of it has to be said. Where nothing is known, as of
flipped bytes, it is read or refused. Made one by one when asked for: together they are small, and none is kept.
"""

import datetime
import decimal
import gzip
import io
import json
import os
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 60


@dataclass(frozen=True)
class Truth:
    """What is in a table: data rows, and of each column the values that differ, missing ones left out."""

    rows: int
    levels: dict[str, int]


@dataclass(frozen=True)
class Hostile:
    """An input by name; `make(folder)` returns what is handed to `read_table`."""

    name: str
    make: Callable[[Path], Any]
    truth: Truth | None = None


def truth_of(frame: pd.DataFrame) -> Truth:
    levels = {str(name): len({str(value) for value in frame[name] if not missing(value)}) for name in frame}
    return Truth(len(frame), levels)


def missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def given(value: Any) -> Callable[[Path], Any]:
    return lambda _: value


def small(**more: Any) -> pd.DataFrame:
    """A table that reads: numbers, words, a class, and whatever else is wanted."""
    number = [i % 9 + 0.5 for i in range(ROWS)]
    word = [f"v{i % 5}" for i in range(ROWS)]
    return pd.DataFrame({"number": number, "word": word, **more, "class": ["x", "y", "z"] * (ROWS // 3)})


def csv_of(frame: pd.DataFrame, delimiter: str = ",", end: str = "\n") -> str:
    return str(frame.to_csv(index=False, sep=delimiter, lineterminator=end))


# ---- text -----------------------------------------------------------------------------------------------------------


def texts() -> Iterator[Hostile]:
    odd = {
        "plain": [f"w{i % 7}" for i in range(ROWS)],
        "quoted": [f'say "{i % 7}", twice\nand again' for i in range(ROWS)],
        "accents": [f"caf\u00e9 {i % 7} \u00fc" for i in range(ROWS)],
        "long whole numbers": [str(2**62 + i % 20) for i in range(ROWS)],
        "long fractions": [f"1.0000000000000000{i % 20:02}" for i in range(ROWS)],
        "400 digits": ["1" * 399 + str(i % 7) for i in range(ROWS)],
        "leading zeros": [f"00{i % 7}" for i in range(ROWS)],
        "formulas": [f"=1+{i % 7}" for i in range(ROWS)],
    }
    for delimiter in ",;\t|":
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
            for sort, values in odd.items():
                frame = small(odd=values)
                content = csv_of(frame, delimiter, "\r\n" if encoding == "utf-16" else "\n").encode(encoding)
                yield Hostile(f"text {delimiter!r} {encoding} {sort}", given(content), truth_of(frame))
    text = csv_of(small())
    rng = random.Random(1)
    for i in range(24):
        data = bytearray(text.encode())
        for _ in range(1 + i // 4):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield Hostile(f"text with bytes changed {i}", given(bytes(data)))
    for name, broken in {
        "an open quote": text + '"',
        "quotes alone": '"' * 5000,
        "delimiters alone": "," * 2000,
        "line ends alone": "\r\n" * 5000,
        "NULs between": "\0".join(text),
        "one long line": "a,b," + "x" * 2_000_000,
        "endless name": "n" * 100_000 + ",class\n1,x\n2,y\n",
        "ragged": text + "1,2\n",
        "half a surrogate": "a,class\n\ud800,x\nb,y\n",
        "numbers beyond floats": "a,class\n1e999,x\n2,y\n",
    }.items():
        yield Hostile(f"text of {name}", lambda _, b=broken: io.StringIO(b))
        yield Hostile(f"bytes of {name}", given(broken.encode("utf-8", "surrogatepass")))


# ---- workbooks ------------------------------------------------------------------------------------------------------


def workbook(frame: pd.DataFrame) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in [list(frame.columns), *frame.to_numpy(dtype=object).tolist()]:
        book.active.append([None if missing(value) else value for value in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def edited(data: bytes, change: Callable[[str], str], part: str = "sheet1.xml") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content.decode()).encode() if name.endswith(part) else content)
    return buffer.getvalue()


def far_cell(place: str) -> Callable[[str], str]:
    row = re.sub("[A-Z]", "", place)
    cell = f'<row r="{row}"><c r="{place}" t="inlineStr"><is><t>far</t></is></c></row>'
    return lambda xml: xml.replace("</sheetData>", cell + "</sheetData>")


def far_workbook() -> bytes:
    """The smallest file that once stopped a server: sixty rows, and one cell as far away as cells go."""
    return edited(workbook(small()), far_cell("XFD1048576"))


def workbooks() -> Iterator[Hostile]:
    frame = small()
    sound, truth = workbook(frame), truth_of(frame)
    for said in ("A1:C31", "A1:B61", "A1", "C3", "A1:XFD1048576", "B2:C61", "nonsense", ""):
        change = re.compile(r'<dimension ref="[^"]*"')
        data = edited(sound, lambda xml, s=said, c=change: c.sub(f'<dimension ref="{s}"', xml))
        yield Hostile(f"workbook that says it is {said!r}", given(data), truth)
    numbers: dict[str, Callable[[int], int]] = {
        "jumping": lambda k: 7 * k,
        "going back": lambda k: k if k < 30 else k - 20,
        "falling": lambda k: 1000 - k,
        "all the same": lambda k: 5,
        "beyond Excel": lambda k: 2_000_000_000 + k,
    }
    for name, number in numbers.items():
        data = edited(
            sound,
            lambda xml, n=number: re.sub(r'r="([A-Z]*)(\d+)"', lambda m: f'r="{m[1]}{n(int(m[2]))}"', xml),
        )
        yield Hostile(f"workbook with rows {name}", given(data), truth)
    data = edited(sound, lambda xml: re.sub(r' r="[A-Z]*\d+"', "", xml))
    yield Hostile("workbook without places", given(data), truth)
    for place in ("XFD1048576", "A1048576", "ZZ100000", "D1048576"):
        far = edited(sound, far_cell(place))
        yield Hostile(f"workbook with a cell at {place}", given(far), truth)  # a remark below the table
    cell = '<c t="n"><v>1</v></c>'
    wide = f"<row>{cell}</row>" * 20_000 + f"<row>{cell * 16_384}</row></sheetData>"
    yield Hostile(
        "workbook whose last row is wide", given(edited(sound, lambda xml: xml.replace("</sheetData>", wide)))
    )
    large = edited(sound, lambda xml: re.sub(r"<v>(\d)\.5</v>", lambda m: f"<v>{2**62 + int(m[1])}</v>", xml))
    yield Hostile("workbook of long whole numbers", given(large), truth)
    for name, change in {
        "a document type": lambda xml: xml.replace("<worksheet", '<!DOCTYPE x [<!ENTITY a "b">]><worksheet', 1),
        "two in a cell": lambda xml: re.sub(r' r="[A-Z]+(\d+)"', r' r="A\1"', xml),
        "no text 999": lambda xml: re.sub('<c r="A1".*?</c>', '<c r="A1" t="s"><v>999</v></c>', xml),
        "a text below 0": lambda xml: re.sub('<c r="A1".*?</c>', '<c r="A1" t="s"><v>-1</v></c>', xml),
        "no style 999": lambda xml: re.sub('<c r="A2"', '<c s="999" r="A2"', xml),
        "numbers of letters": lambda xml: xml.replace("<v>0.5</v>", "<v>half</v>"),
        "infinite numbers": lambda xml: xml.replace("<v>0.5</v>", "<v>1e999</v>"),
        "uncached formulas": lambda xml: re.sub("<v>[^<]*</v>", "<f>1+1</f>", xml),
        "deep nesting": lambda xml: xml.replace("<sheetData>", "<a>" * 50_000 + "<sheetData>"),
        "nothing": lambda xml: "",
    }.items():
        yield Hostile(f"workbook with {name}", given(edited(sound, change)))  # type: ignore[arg-type]
    rng = random.Random(2)
    for i in range(12):
        yield Hostile(f"workbook cut {i}", given(sound[: len(sound) * (i + 1) // 13]))
        changed = bytearray(sound)
        changed[rng.randrange(len(sound))] ^= 1 << rng.randrange(8)
        yield Hostile(f"workbook with a bit flipped {i}", given(bytes(changed)))


# ---- frames and Parquet ---------------------------------------------------------------------------------------------


class Unsayable:
    def __str__(self) -> str:
        raise ZeroDivisionError("no text")


class Uncomparable:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    __hash__ = None  # type: ignore[assignment]


def some(value: Callable[[int], Any]) -> list[Any]:
    return [value(i % 20) for i in range(ROWS)]


def columns() -> dict[str, Any]:
    """Columns as odd as pandas and arrow can hold them."""
    exact = decimal.Decimal
    day = datetime.date(2020, 1, 1)
    return {
        "int64": some(lambda i: 2**62 + i),
        "uint64": np.array(some(lambda i: 2**63 + i), dtype=np.uint64),
        "Int64 with gaps": pd.array(some(lambda i: 2**62 + i if i else None), dtype="Int64"),
        "beyond floats": pd.Series(some(lambda i: 10**400 + i), dtype=object),
        "one beyond floats": pd.Series(some(lambda i: i or 10**400), dtype=object),
        "beyond texts": pd.Series(some(lambda i: 10**5000 + i), dtype=object),
        "decimals": some(lambda i: exact(1) + exact(i).scaleb(-25)),
        "short decimals": some(lambda i: exact(i).scaleb(-1)),
        "signalling decimals": some(lambda i: exact("sNaN") if i == 3 else exact(i)),
        "infinite decimals": some(lambda i: exact("Infinity") if i == 3 else exact(i)),
        "infinite": some(lambda i: float("inf") if i == 3 else float(i)),
        "float16": np.array(some(float), dtype=np.float16),
        "long floats": np.array(some(lambda i: i), dtype=np.longdouble) * np.finfo(np.longdouble).eps + 1,
        "complex": some(lambda i: complex(i, 1)),
        "bytes": some(lambda i: bytes([0xF0 + i % 8])),
        "surrogates": pd.Series(some(lambda i: chr(0xD800 + i)), dtype=object),
        "mixed": pd.Series(some(lambda i: i if i % 2 else str(i)), dtype=object),
        "lists": pd.Series(some(lambda i: [i]), dtype=object),
        "dicts": pd.Series(some(lambda i: {"a": i}), dtype=object),
        "sets": pd.Series(some(lambda i: {i}), dtype=object),
        "long arrays": pd.Series(some(lambda i: np.r_[np.zeros(1500), i, np.zeros(1500)]), dtype=object),
        "unsayable": pd.Series(some(lambda i: Unsayable()), dtype=object),
        "uncomparable": pd.Series(some(lambda i: Uncomparable()), dtype=object),
        "functions": pd.Series(some(lambda i: len), dtype=object),
        "dates": some(lambda i: day + datetime.timedelta(days=i)),
        "first and last days": some(lambda i: (datetime.date.min, datetime.date.max, day)[i % 3]),
        "times": some(datetime.time),
        "spans": pd.to_timedelta(some(lambda i: i), unit="s"),
        "zones": pd.date_range("2020-01-01", periods=ROWS, tz="Europe/Berlin"),
        "periods": pd.period_range("2020-01", periods=ROWS, freq="M"),
        "intervals": pd.interval_range(0, ROWS),
        "sparse": pd.arrays.SparseArray(some(float)),
        "nothing": [None] * ROWS,
        "empty texts": [""] * ROWS,
        "booleans with gaps": pd.array(some(lambda i: None if i % 3 == 0 else i % 2 == 0), dtype="boolean"),
        "levels of long numbers": pd.Categorical(some(lambda i: 2**62 + i)),
        "levels of both types": pd.Categorical(some(lambda i: i if i % 2 else str(i - 1))),
        "levels of intervals": pd.cut(np.arange(ROWS), 5),
        "scripts": some(lambda i: f"<script>alert({i})</script>"),
        "control characters": some(lambda i: f"a{chr(i % 9 + 1)}b"),
    }


UNKNOWN = {"dates", "first and last days", "times", "zones", "lists", "dicts", "sets", "long arrays", "spans"}


def frames() -> Iterator[Hostile]:
    for name, values in columns().items():
        frame = small(odd=values)
        known = name not in UNKNOWN and not name.startswith(("un", "levels of i", "beyond texts", "signal"))
        yield Hostile(f"frame of {name}", given(frame), truth_of(frame) if known else None)
        buffer = io.BytesIO()
        try:
            frame.to_parquet(buffer)
        except Exception:  # arrow has no such type
            continue
        yield Hostile(f"Parquet of {name}", given(buffer.getvalue()), truth_of(frame) if known else None)
    yield Hostile("frame with an unsayable name", lambda _: small().rename(columns={"word": Unsayable()}))
    yield Hostile("frame without rows", lambda _: small().head(0))
    yield Hostile("frame without columns", lambda _: pd.DataFrame(index=range(5)))
    yield Hostile("frame of one name", lambda _: pd.DataFrame([[1, 2, "x"], [2, 1, "y"]] * 9, columns=["a"] * 3))


def parquets() -> Iterator[Hostile]:
    buffer = io.BytesIO()
    small().to_parquet(buffer)
    sound, rng = buffer.getvalue(), random.Random(3)
    for i in range(12):
        yield Hostile(f"Parquet cut {i}", given(sound[: len(sound) * (i + 1) // 13]))
        changed = bytearray(sound)
        for _ in range(3):
            changed[rng.randrange(len(sound))] = rng.randrange(256)
        yield Hostile(f"Parquet with bytes changed {i}", given(bytes(changed)))
    nested = pa.table(
        {"s": [{"a": i} for i in range(9)], "m": [[(1, i)] for i in range(9)], "class": ["x", "y", "z"] * 3}
    )
    room = io.BytesIO()
    pq.write_table(nested, room)
    yield Hostile("Parquet of structs", lambda _: room.getvalue())


# ---- ARFF, streams, paths, bombs ------------------------------------------------------------------------------------

ARFF = "@relation r\n@attribute a numeric\n@attribute w {v0,v1}\n@attribute class {x,y}\n@data\n" + "".join(
    f"{i}.5,v{i % 2},{'xy'[i % 3 == 0]}\n" for i in range(30)
)


def arffs() -> Iterator[Hostile]:
    rng = random.Random(4)
    for i in range(12):
        data = bytearray(ARFF.encode())
        for _ in range(2):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield Hostile(f"ARFF with bytes changed {i}", given(bytes(data)))
    yield Hostile("ARFF with blanks", lambda _: (ARFF + "'1'" + " " * 100_000 + "x,v0,x\n").encode())
    yield Hostile("ARFF of long numbers", lambda _: re.sub(r"(\d+)\.5", r"46116860184273879\1", ARFF).encode())
    yield Hostile("ARFF without end", lambda _: ARFF.split("@data")[0].encode())


class Stream:
    def __init__(self, *answers: Any, again: bool = False):
        self._answers, self._again = list(answers), again

    def read(self, size: int) -> Any:
        answer = (self._answers[0] if self._again else self._answers.pop(0)) if self._answers else b""
        if isinstance(answer, Exception):
            raise answer
        return answer


def streams() -> Iterator[Hostile]:
    piece = b"1,x\n2,y\n" * 100_000
    yield Hostile("stream without end", lambda _: Stream(piece, again=True))
    yield Hostile("stream of text without end", lambda _: Stream(piece.decode(), again=True))
    answers: list[Any] = [
        7,
        [1],
        None,
        object(),
        "a,class\n1,x\n2,y\n",
        EOFError(),
        OSError("disk"),
        RuntimeError("no"),
    ]
    for answer in answers:
        yield Hostile(f"stream of {type(answer).__name__}", lambda _, a=answer: Stream(a))
    for name, source in {
        "text as a path": "a,class\n1,x\n",
        "a long name": "x" * 5000,
        "a NUL": "a\0b",
        "half a surrogate": "\ud800.csv",
        "nothing": "",
        "a number": 7,
        "none": None,
        "a list": [1, 2],
    }.items():
        yield Hostile(f"path: {name}", given(source))
    yield Hostile("path: a folder", lambda folder: folder)
    yield Hostile("path: below a file", lambda folder: _file(folder) / "below.csv")
    yield Hostile("path: a circle", _circle)
    if hasattr(os, "mkfifo"):
        yield Hostile("path: a pipe", _pipe)
        yield Hostile("path: a device", lambda _: "/dev/zero")
    yield Hostile("gzip bomb", lambda _: gzip.compress(b"a,class\n" + b"1,x\n" * 12_000_000, 1))
    yield Hostile("gzip in gzip", lambda _: gzip.compress(gzip.compress(csv_of(small()).encode())))
    yield Hostile("gzip cut", lambda _: gzip.compress(csv_of(small()).encode())[:-9])
    yield Hostile("a million columns", lambda _: b"," * 1_000_000 + b"\n")
    yield Hostile(
        "xlsx bomb", lambda _: _zip({"xl/workbook.xml": b"<a/>", "xl/worksheets/sheet1.xml": b" " * 50_000_000})
    )
    yield Hostile("Parquet bomb", _parquet_bomb)
    for start in (
        b"%PDF",
        b"\x89PNG",
        b"GIF8",
        b"MZ\x90",
        b"\x80\x04\x95",
        b"\xd0\xcf\x11\xe0",
        b"ARROW1",
        b"PK\x03\x04",
    ):
        yield Hostile(f"a file that begins {start!r}", lambda _, s=start: s + random.Random(5).randbytes(3000))


def _file(folder: Path) -> Path:
    (folder / "t.csv").write_text("a,class\n1,x\n2,y\n")
    return folder / "t.csv"


def _circle(folder: Path) -> Path:
    (folder / "circle").symlink_to(folder / "circle")
    return folder / "circle"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _zip(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _parquet_bomb(_: Path) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": np.zeros(20_000_000), "class": np.zeros(20_000_000)}), buffer, compression="zstd")
    return buffer.getvalue()


def tables() -> list[Hostile]:
    """All tables, their names all different."""
    makers = (texts, workbooks, frames, parquets, arffs, streams)
    return [table for maker in makers for table in maker()]


def uploads() -> list[tuple[str, bytes]]:
    """Twenty files for a drop zone, the two workbooks first."""
    chosen = [
        *(table for table in workbooks() if "with" in table.name and "flipped" not in table.name),
        *parquets(),
        *arffs(),
    ]
    step = len(chosen) // 18
    files = [(table.name, table.make(Path())) for table in chosen[::step]]
    return [("far 1.xlsx", far_workbook()), ("far 2.xlsx", far_workbook()), *files][:20]


# ---- model files ----------------------------------------------------------------------------------------------------

LIES = (None, -1, 0, 1e308, 2**70, "x", "", [], {}, [1e308], True)


def model_files(good: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield changed copies of a model file: lies in its JSON and its tables, flipped bits, cuts."""
    rng = random.Random(seed)
    with zipfile.ZipFile(io.BytesIO(good)) as zipped:
        parts = {name: zipped.read(name) for name in zipped.namelist()}
    about = json.loads(parts["model.json"])
    names = sorted(name for name in parts if name.endswith(".parquet"))
    for i in range(count):
        sort = ("json", "table", "bit", "cut")[i % 4]
        if sort == "json":
            lie = LIES[rng.randrange(len(LIES))]
            text, where = _lied(about, lie, rng)
            yield f"{i} {where} is {lie!r}", _zip(parts | {"model.json": text.encode()})
        elif sort == "table":
            name = names[rng.randrange(len(names))]
            content, what = _lied_table(parts[name], rng)
            yield f"{i} {name} {what}", _zip(parts | {name: content})
        elif sort == "bit":
            data = bytearray(good)
            for _ in range(1 + i % 8):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            yield f"{i} bits", bytes(data)
        else:
            yield f"{i} cut", good[: rng.randrange(len(good))]


def _lied(about: dict[str, Any], lie: Any, rng: random.Random) -> tuple[str, str]:
    copy = json.loads(json.dumps(about))
    place, path = copy, []
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.randrange(len(keys))]
        path.append(str(key))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.7:
            place = inner
            continue
        place[key] = lie
        return json.dumps(copy), ".".join(path)


def _lied_table(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    table = pq.read_table(pa.BufferReader(content)).to_pandas()
    column = str(table.columns[rng.randrange(len(table.columns))])
    what = ("gone", "large", "negative", "not a number", "twice", "halved", "text")[rng.randrange(7)]
    numeric = table[column].dtype.kind in "iuf"
    if what == "gone":
        table = table.drop(columns=column)
    elif what in ("large", "negative", "not a number") and numeric:
        value = {"large": 1e308, "negative": -1.0, "not a number": np.nan}[what]
        whole = table[column].dtype.kind in "iu"
        table[column] = (-1 if what != "large" else 2**31 - 1) if whole else value
    elif what == "twice":
        table = pd.concat([table, table])
    elif what == "halved":
        table = table.head(len(table) // 2)
    else:
        table[column] = "text"
    room = io.BytesIO()
    table.to_parquet(room)
    return room.getvalue(), f"{column} {what}"
