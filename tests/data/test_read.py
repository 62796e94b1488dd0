import gzip
import io
import os
import threading
import time

import numpy as np
import pandas as pd
import pytest

from alrviz.data.options import ReadOptions
from alrviz.data.read import Limits, read_columns, read_table
from alrviz.data.stream.table import open_table
from alrviz.errors import MemoryLimitError, Stopped, TableError, TableFileError
from alrviz.stop import StopToken
from tests.data.test_layout import workbook

WORDS = ("älter", "größe", "naïve", "plain")
TABLE = "größe;preis;class\n" + "".join(
    f"{word};{i},5;{'ja' if i % 2 else 'nein'}\n" for i, word in enumerate(WORDS * 5)
)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-be", "utf-16"),
        ("cp1252", "cp1252"),
        ("latin-1", "cp1252"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_are_detected_and_shown(encoding: str, shown: str, packed: bool):
    data = TABLE.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data
    dataset = read_table(gzip.compress(data) if packed else data)
    assert dataset.options == ReadOptions(";", shown, ",", "", ("",), True, 0, 0, "")
    assert list(dataset.X["größe"].cat.categories) == sorted(WORDS)
    assert dataset.X["preis"].tolist() == [i + 0.5 for i in range(20)]


@pytest.mark.parametrize(
    ("encoding", "script", "words"),
    [
        ("cp1251", "Cyrillic", ["Иван Петров", "Ольга Иванова", "Мария Сидорова", "Дмитрий Кузнецов"]),
        ("koi8_r", "Cyrillic", ["Москва", "Казань", "Новосибирск", "Екатеринбург"]),
        ("cp1253", "Greek", ["Γιώργος Παπαδόπουλος", "Ελένη Νικολάου", "Θεσσαλονίκη"]),
        ("shift_jis", "Japanese", ["田中太郎", "鈴木花子", "佐藤さん", "京都に住む"]),
        ("gb18030", "Chinese", ["王小明", "李大伟", "张的朋友", "刘在上海"]),
        ("cp1252", "Western European", ["Müller", "groß", "Käse"]),
        ("cp1252", "Western European", ["Hélène", "François", "Besançon"]),
        ("cp1252", "Western European", ["Ä", "Ö", "Ü"]),
        ("cp1252", "Western European", ["7 °C", "3½", "µm", "5 €"]),
    ],
)
def test_letters_tell_the_code_page(encoding, script, words):
    plain = "".join(f"plain,{i},no\n" for i in range(40_000))  # beyond what a look at the head shows
    text = "name,n,class\n" + plain + "".join(f"{words[i % len(words)]},{i},yes\n" for i in range(60))
    dataset = read_table(text.encode(encoding))
    assert dataset.options.encoding == encoding
    assert set(words) < set(dataset.X["name"])
    assert any(f"read as {encoding} ({script})" in note for note in dataset.notes)


def test_bytes_undefined_in_cp1252_make_it_latin_1():
    dataset = read_table(TABLE.encode("latin-1") + b"a\x81b;1,5;ja\n")
    assert dataset.options.encoding == "latin-1"


def test_a_wrong_encoding_names_line_and_a_better_one():
    with pytest.raises(TableError, match=r"not utf-8: .* in line 1; leave the encoding open .* or try cp1252"):
        read_table(TABLE.encode("cp1252"), options=ReadOptions(encoding="utf-8"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(delimiter: str, end: str):
    lines = ["a,b,class", *[f"{i},{i}.5,{'x' if i % 2 else 'y'}" for i in range(10)]]
    dataset = read_table(end.join(line.replace(",", delimiter) for line in lines).encode(), a="numeric")
    assert dataset.options.delimiter == delimiter
    assert dataset.X["b"].tolist() == [i + 0.5 for i in range(10)]


def test_delimiters_inside_quotes_do_not_count():
    text = "name|text|class\n" + 'a|"x,y,z;w"|p\nb|"u,v,w;x"|q\n' * 4
    dataset = read_table(text.encode())
    assert dataset.options.delimiter == "|"
    assert list(dataset.X["text"].cat.categories) == ["u,v,w;x", "x,y,z;w"]


def test_excel_says_its_delimiter():
    assert read_table(b"sep=;\na;b\n1,5;x\n2,5;y\n").X["a"].tolist() == [1.5, 2.5]


def test_quotes_hold_delimiters_quotes_and_line_ends():
    dataset = read_table(b'a,class\n"x, ""y""\nz",p\nw,q\n"x, ""y""\nz",q\n')
    assert list(dataset.X["a"].cat.categories) == ["w", 'x, "y"\nz']


@pytest.mark.parametrize(
    ("cells", "delimiter", "convention", "numbers"),
    [
        (["1.5", "-2", "3e2"], ",", (".", ""), [1.5, -2, 300]),
        (["1,5", "-2", "0,25"], ";", (",", ""), [1.5, -2, 0.25]),
        (["1,5", "-2", "0,25"], ",", (",", ""), [1.5, -2, 0.25]),
        (["1,234", "12", "1,234,567"], ",", (".", ","), [1234, 12, 1234567]),
        (["1,234", "12,345", "123,456"], ",", (".", ","), [1234, 12345, 123456]),
        (["1,234", "12,345", "123,456"], ";", (",", ""), [1.234, 12.345, 123.456]),
        (["1.234,5", "12", "1.000.000"], ";", (",", "."), [1234.5, 12, 1e6]),
        (["1 234,5", "12", "1 000 000"], ";", (",", " "), [1234.5, 12, 1e6]),
        (["1\u00a0234", "12", "1\u202f000"], ",", (".", " "), [1234, 12, 1000]),
        (["1'234.5", "12", "1'000"], ",", (".", "'"), [1234.5, 12, 1000]),
        (["+1.5", ".5", "2."], ",", (".", ""), [1.5, 0.5, 2]),
    ],
)
def test_conventions_of_numbers(cells, delimiter, convention, numbers):
    lines = [f'"{cell}"{delimiter}{"x" if i % 2 else "y"}' for i, cell in enumerate(cells)]
    dataset = read_table("\n".join([f"a{delimiter}class", *lines]).encode(), a="numeric")
    assert dataset.X["a"].tolist() == numbers
    assert (dataset.options.decimal, dataset.options.thousands) == convention


def test_options_decimal_and_thousands():
    text = b'a,class\n"1,234",x\n"5,678",y\n'
    said = read_table(text, options=ReadOptions(decimal=","), a="numeric")
    assert said.X["a"].tolist() == [1.234, 5.678]
    assert said.options.decimal == ","
    text = read_table(text, options=ReadOptions(decimal=".", thousands=""))
    assert list(text.X["a"].cat.categories) == ["1,234", "5,678"]


POINTS_AND_COMMAS = "a;b;c;class\n" + "".join(f"{k}.5;{k % 3},25;{k}.75;{'xy'[k % 2]}\n" for k in range(9))


def test_columns_with_different_decimal_marks_are_noted():
    dataset = read_table(POINTS_AND_COMMAS.encode())
    assert dataset.X["b"].tolist() == [k % 3 + 0.25 for k in range(9)]
    assert dataset.X["a"].tolist() == [k + 0.5 for k in range(9)]
    note = next(note for note in dataset.notes if "decimal" in note)
    assert note.startswith("numbers in 'b' have a decimal comma, those of other columns a decimal point")
    assert dataset.options.decimal is None
    assert read_table(POINTS_AND_COMMAS.encode(), options=dataset.options).hash == dataset.hash
    turned = read_table(POINTS_AND_COMMAS.translate(str.maketrans(".,", ",.")).encode())
    assert np.array_equal(turned.X, dataset.X)
    assert "numbers in 'b' have a decimal point" in " ".join(turned.notes)


def test_codes_said_to_be_numbers_have_a_decimal_mark_of_their_own_where_columns_differ():
    rows = "".join(f"{k}.5;{k % 3},25;0{k},5;0{k}.5;{'xy'[k % 2]}\n" for k in range(9))
    dataset = read_table(b"a;b;c;d;class\n" + rows.encode(), c="numeric", d="numeric")
    assert dataset.options.decimal is None
    assert dataset.X["c"].tolist() == dataset.X["d"].tolist() == [k + 0.5 for k in range(9)]


def test_given_decimal_mark_leaves_other_columns_as_text():
    dataset = read_table(POINTS_AND_COMMAS.encode(), options=ReadOptions(decimal="."))
    assert dataset.kinds == {"a": "numeric", "b": "categorical", "c": "numeric"}
    assert dataset.options.decimal == "."
    assert not any("decimal" in note for note in dataset.notes)
    b = next(column for column in dataset.columns if column.name == "b")
    assert "all values are numbers with a decimal comma" in b.why


def test_missing_tokens_are_detected_shown_and_editable():
    cells = ["1", "?", "NA", "N/A", "NaN", "null", "-", "", "2.5", "3"]
    text = "\n".join(["a,class", *[f"{cell},{'x' if i % 2 else 'y'}" for i, cell in enumerate(cells)]]).encode()
    dataset = read_table(text, a="numeric")
    assert dataset.options.missing == ("", "?", "NA", "N/A", "NaN", "null", "-")
    np.testing.assert_array_equal(dataset.X["a"], [1, *[np.nan] * 7, 2.5, 3])
    kept = read_table(text, options=ReadOptions(missing=("?",)), a="categorical")
    assert kept.options.missing == ("", "?")
    assert {"NA", "null", "-"} <= set(kept.X["a"].cat.categories)


def test_a_dash_is_a_level_beside_a_plus_and_missing_among_numbers():
    dataset = read_table(b"a,b,class\n1,uu,+\n2,vv,-\n3,ww,-\n-,xx,+\n", a="numeric")
    assert dataset.n_classes == 2
    assert dataset.n_rows == 4
    assert dataset.options.missing == ("",)
    assert dataset.X["a"].isna().tolist() == [False, False, False, True]
    assert "'-' is missing in 'a', but a level of 'class'" in dataset.notes


def test_codes_stay_levels():
    dataset = read_table(b"code,long,class\n" + b"00202,12345678901234567,x\n01000,12345678901234568,y\n" * 4)
    assert list(dataset.X["code"].cat.categories) == ["00202", "01000"]
    assert list(dataset.X["long"].cat.categories) == ["12345678901234567", "12345678901234568"]


def test_spaces_around_values_and_names_are_trimmed():
    dataset = read_table(b" a , class\n 1.5 , yes\n 2.5 ,no \n3, yes\n")
    assert dataset.X["a"].tolist() == [1.5, 2.5, 3]
    assert list(dataset.classes) == ["no", "yes"]


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("5.1,3.5,Iris-setosa", False),
        ("39,State-gov,39", False),
        ("7,5,x", False),
        ("2019,2020,class", True),
        ("0,1,class", True),
        ("a,b,class", True),
    ],
)
def test_a_first_row_of_data_is_no_header(first: str, header: bool):
    rest = "4.9,3.0,x\n5.0,3.1,y\n"
    table = read_columns(f"{first}\n{rest}".encode())
    assert table.options.header is header
    assert table.n_rows == (2 if header else 3)
    assert read_columns(f"{first}\n{rest}".encode(), options=ReadOptions(header=not header)).n_rows == (
        3 if header else 2
    )


ODD_HEADER = "1.0,klass\n" + "2.5,yes\n3.5,no\n4.5,yes\n" * 5


@pytest.mark.parametrize("read", [read_table, open_table])
def test_a_first_row_that_holds_the_targets_name_is_a_header(tmp_path, read):
    path = tmp_path / "t.csv"
    path.write_text(ODD_HEADER)
    assert not read_columns(path).options.header, "nothing but the name says what it is"
    found = read(path, "klass")
    assert (found.n_rows, set(found.kinds)) == (15, {"1.0"})
    assert read_columns(path, expected_names={"1.0"}).options.header
    assert read_table(workbook({"t": ODD_HEADER}), "klass").n_rows == 15
    path.write_text(ODD_HEADER + "5.5,klass\n")
    assert not read_columns(path, expected_names={"klass"}).options.header, "a level of that name"


def test_a_ragged_row_is_named_by_its_line_in_the_file():
    text = b'\n\na,b,class\n"two\nlines",1,x\n\n3,4\n5,6,y\n'
    assert any("fewer cells" in note and "line 7" in note for note in read_table(text, "class").notes)


def test_a_value_that_is_no_number_is_named():
    with pytest.raises(TableError, match=r"'a'.*'two'.*2"):
        read_table(b"a,class\n1,x\ntwo,y\n3,x\n", a="numeric")


@pytest.mark.parametrize("source", ["path", "str", "bytes", "file", "bytearray"])
def test_sources(source: str, tmp_path):
    path = tmp_path / "little.table.csv"
    path.write_bytes(b"a,class\n1.5,x\n2.5,y\n")
    given = {
        "path": path,
        "str": str(path),
        "bytes": path.read_bytes(),
        "file": io.BytesIO(path.read_bytes()),
        "bytearray": bytearray(path.read_bytes()),
    }[source]
    dataset = read_table(given)
    assert dataset.X["a"].tolist() == [1.5, 2.5]
    assert dataset.name == ("little.table" if source in ("path", "str") else "table")
    assert read_table(given if source != "file" else path, name="mine").name == "mine"


def test_a_missing_file_names_the_nearest(tmp_path):
    (tmp_path / "adult.csv").write_text("a")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'adult\.csv'"):
        read_table(tmp_path / "adlt.csv")


@pytest.mark.parametrize("source", [3, None, object()])
def test_foreign_formats_raise(source):
    with pytest.raises(TableError, match="expected"):
        read_table(source)


def test_text_at_hand_is_a_stream(tmp_path):
    text = "a,class\n1.5,x\ncaf\u00e9,y\n"
    dataset = read_table(io.StringIO(text), options=ReadOptions(encoding="cp1252"))
    assert list(dataset.frame["a"]) == ["1.5", "caf\u00e9"]
    (tmp_path / "t.csv").write_text(text, encoding="utf-16")
    with (tmp_path / "t.csv").open(encoding="utf-16") as file:
        assert read_table(file).hash == dataset.hash
    for given in (text, "a,b,class\r\n", "a,b;" * 2000, "a\0b"):
        with pytest.raises(TableError, match=r"io\.StringIO\(text\)"):
            read_table(given)
    with pytest.raises(TableError, match=r"io\.StringIO\(text\)"):
        read_table("x" * 300)


def test_special_files_are_refused_without_opening(tmp_path):
    folder, pipe, circle = tmp_path / "folder", tmp_path / "pipe", tmp_path / "circle"
    folder.mkdir()
    (folder / "part-0.csv").write_text("a")
    circle.symlink_to(circle)
    with pytest.raises(TableFileError, match=r"is a folder; a file was expected, such as .*part-0\.csv"):
        read_table(folder)
    with pytest.raises(TableFileError, match="cannot be read"):
        read_table(circle)
    with pytest.raises(OSError, match="no file"):
        read_table(folder / "part-0.csv" / "deeper.csv")
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
        with pytest.raises(TableFileError, match="is a pipe"):
            read_table(pipe)
        with pytest.raises(TableFileError, match="is a device"):
            read_table("/dev/zero")


def test_a_home_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "t.csv").write_text("a,class\n1.5,x\n2.5,y\n")
    assert read_table("~/t.csv").name == "t"


class Endless:
    given = 0

    def read(self, size):
        self.given += size
        return b"1,x\n" * (size // 4)


def test_an_endless_stream_ends_at_the_memory_allowed():
    stream = Endless()
    with pytest.raises(MemoryLimitError, match="pass max_memory to allow more"):
        read_table(stream, max_memory=30_000_000)
    assert stream.given < 20_000_000


class Broken:
    def __init__(self, outcome):
        self.outcome = outcome

    def read(self, size):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.mark.parametrize("outcome", [7, [1, 2], None, EOFError("e"), ConnectionResetError("gone"), ZeroDivisionError()])
def test_a_stream_of_anything_else_is_refused(outcome):
    with pytest.raises(TableError, match=r"bytes or text were expected|broke off"):
        read_table(Broken(outcome))


def parquet_of(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "source",
    [
        b"," * 200_000 + b"\n",
        b"a,class\n" + b"1,x\n2,y\n" * 300_000,
        gzip.compress(b"a,class\n" + b"1,x\n" * 3_000_000),
        parquet_of(pd.DataFrame({"a": np.zeros(2_000_000), "class": ["x"] * 2_000_000})),
        pd.DataFrame(np.zeros((1000, 1000))),
    ],
    ids=["columns", "cells", "gzip", "Parquet", "frame"],
)
def test_max_memory_is_respected(source):
    with pytest.raises(MemoryLimitError, match="10 MB may be used"):
        read_table(source, max_memory=10_000_000, limits=Limits())


def test_columns_that_no_model_has_are_refused_by_the_first_row():
    looks = []

    class Watch(StopToken):
        def check(self) -> None:
            looks.append(1)

    with pytest.raises(TableError, match="60,000 columns, at most 50,000"):
        read_table(b",".join(b"c%d" % i for i in range(60_000)) + b"\n", stop=Watch())
    assert len(looks) < 20


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delimiter": ", "}, "one ASCII character"),
        ({"delimiter": "→"}, "one ASCII character"),
        ({"decimal": "x"}, "decimal is 'x'"),
        ({"thousands": "_"}, "thousands is '_'"),
        ({"decimal": ",", "thousands": ","}, "must differ"),
        ({"missing": "?"}, "a tuple of texts"),
        ({"encoding": "utf8000"}, "encoding is 'utf8000'"),
        ({"encoding": "hex"}, "encoding is 'hex'"),
    ],
)
def test_options_are_checked(options, text):
    with pytest.raises(TableError, match=text):
        ReadOptions(**options)


def big_table() -> bytes:
    numbers = np.random.default_rng(0).integers(0, 10_000, size=(60_000, 12))
    frame = pd.DataFrame(numbers).add_prefix("c").assign(cls=np.where(numbers[:, 0] % 2, "x", "y"))
    return frame.to_csv(index=False).encode()


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_stop_ends_the_reading_at_any_check(at: int):
    class Countdown(StopToken):
        left = at

        def check(self) -> None:
            self.left -= 1
            if self.left < 0:
                self.stop()
            super().check()

    with pytest.raises(Stopped):
        read_table(BIG, stop=Countdown())


def test_stop_is_looked_at_often():
    """Between two looks a second thread could wait; on a slow machine they are still short beside 200 ms."""

    class Watch(StopToken):
        looks: list[float] = []  # noqa: RUF012

        def check(self) -> None:
            self.looks.append(time.perf_counter())

    watch = Watch()
    read_table(BIG * 1, stop=watch)
    assert len(watch.looks) > 60
    assert max(np.diff(watch.looks)) < 2  # no timing test: only that no single step swallows the whole reading


def test_stop_from_another_thread():
    token, ended = StopToken(), threading.Event()

    def work() -> None:
        try:
            while True:
                read_table(BIG, stop=token)
        except Stopped:
            ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    token.stop()
    thread.join(timeout=30)
    assert ended.is_set()


BIG = big_table()
