"""Corrupt model files raise errors: bad JSON or tables, damaged zips, and sizes that would not fit into memory."""

import io
import json
import zipfile
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alrviz import (
    AnDEClassifier,
    DLRClassifier,
    ELRClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    load_model,
)
from alrviz.errors import MemoryLimitError, ModelFileError
from tests.estimators.model_files import about_of, file_of, rewritten
from tests.estimators.tables import drawn, mixed


@pytest.fixture(scope="module")
def good():
    return file_of(KDBClassifier(k=1, selective=False).fit(*drawn(60)))


@pytest.fixture(scope="module")
def density():
    return file_of(DLRClassifier(alpha=10.0).fit(*mixed(60)))


@pytest.fixture(scope="module")
def average():
    return file_of(AnDEClassifier().fit(*drawn(60)))


@pytest.fixture(scope="module")
def tree():
    """Of tuples (0), (0, 1), (1, 2), (1, 3)."""
    parents = {"c1": "c0", "c2": "c1", "c3": "c1"}
    model = ELRClassifier(structure=parents, sum_missing=True, cross_tuning=False, tol=0.05)
    return file_of(model.fit(*drawn(60)))


@pytest.fixture(scope="module")
def linear():
    return file_of(NaiveBayesClassifier().fit(*drawn(60)))


def changed_about(file, change):
    about = about_of(file)
    change(about)
    return rewritten(file, **{"model.json": json.dumps(about)})


def column(about):
    return about["encoder"]["columns"][0]


CORRUPTIONS = {
    "another format": (lambda a: a.update(format=99), "format 99.*reads format 1"),
    "no format": (lambda a: a.pop("format"), "has no field 'format'"),
    "another form": (lambda a: a.update(form="pickle"), "form 'pickle'"),
    "an unknown class": (lambda a: a.update(estimator="Popen"), "estimator 'Popen'"),
    "another family's class": (lambda a: a.update(estimator="KDBClassifier"), "does not fit a recipe of family 'anje'"),
    "too few classes": (lambda a: a["bias"].pop(), "classes|tuples|columns"),
    "a bias of text": (lambda a: a.update(bias=["x", "y", "z"]), "finite numbers"),
    "a bias beyond sums": (lambda a: a.update(bias=[1e308, 0.0, -1e308]), "finite numbers from"),
    "no recipe": (lambda a: a.update(recipe="{}"), "not a recipe"),
    "wide classes": (lambda a: a["encoder"]["classes"].update(dtype="<U100000000"), None),
    "classes of objects": (lambda a: a["encoder"]["classes"].update(dtype="V8"), "classes must be all"),
    "columns called alike": (lambda a: column(a).update(name="c1"), "no name twice"),
    "a level too many": (lambda a: column(a)["labels"].append("more"), "levels, which are not"),
    "cuts and values": (lambda a: column(a).update(cuts=[1.0]), "neither cuts nor values, or both"),
    "falling cuts": (
        lambda a: column(a).update(cuts=[2.0, 1.0], values=None, kind="numeric"), "finite and ascending"
    ),
    "a missing code in between": (lambda a: column(a).update(missing_code=0), "levels, which are not"),
    "an order that the table has not": (
        lambda a: a.update(recipe=a["recipe"].replace('"order":1', '"order":4')), "order 4"
    ),
    "a list for an object": (lambda a: a.update(encoder=[]), "damaged, incomplete or no model"),
}  # fmt: skip


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_corrupt_metadata_raises(linear, corruption):
    change, message = CORRUPTIONS[corruption]
    if message is None:  # mended: what it says is not needed
        assert load_model(changed_about(linear, change)).classes_.dtype.itemsize < 100
        return
    with pytest.raises(ValueError, match=message):
        load_model(changed_about(linear, change))


def corrupt_table(file, name, change):
    with zipfile.ZipFile(file) as zipped:
        table = pq.read_table(pa.BufferReader(zipped.read(name))).to_pandas()
    out = io.BytesIO()
    change(table).to_parquet(out)
    return rewritten(file, **{name: out.getvalue()})


TABLE_CORRUPTIONS = {
    "a cell of no tuple": ("cells.parquet", lambda t: t.assign(tuple=10_000), "4 tuples"),
    "a cell beyond": ("cells.parquet", lambda t: t.assign(cell=2**40), "beyond its tuple's levels"),
    "a cell below 0": ("cells.parquet", lambda t: t.assign(cell=-1), "below 0"),
    "the same cell": ("cells.parquet", lambda t: pd.concat([t, t]), "ascending"),
    "phi of infinity": ("cells.parquet", lambda t: t.assign(phi_0=np.inf), "not finite"),
    "phi beyond sums": ("cells.parquet", lambda t: t.assign(phi_0=1e308), "not finite or beyond"),
    "phi of text": ("cells.parquet", lambda t: t.assign(phi_1="x"), "expected numbers"),
    "no phi": ("cells.parquet", lambda t: t.drop(columns="phi_2"), "no column 'phi_2'"),
    "a parent that is no column": ("tuples.parquet", lambda t: t.assign(members=[[9]] * 4), "no tuple of 4 columns"),
    "a long tuple": (
        "tuples.parquet",
        lambda t: t.assign(members=[[0] * 5] * 4),
        "a list of 5 is no tuple of 4 columns",
    ),
    "a child twice": ("tuples.parquet", lambda t: t.assign(members=[[0]] * 4), "lists a column twice"),
    "fewer levels": ("levels.parquet", lambda t: t.head(3), "3 lines"),
}


DENSITY_CORRUPTIONS = {
    "no such column": ("features.parquet", lambda t: t.assign(column=99), "columns of the table"),
    "a column twice": ("features.parquet", lambda t: pd.concat([t, t]), "at most once"),
    "a bandwidth of nothing": ("features.parquet", lambda t: t.assign(log_h=-99.0), "thousand times"),
    "gaps below 0": ("features.parquet", lambda t: t.assign(missing_0=-1.0), "outside the range"),
    "votes in disorder": ("votes.parquet", lambda t: t[::-1], "by feature, class and value"),
    "votes of no class": ("votes.parquet", lambda t: t.assign(**{"class": 9}), "must be sorted"),
    "votes beyond all numbers": ("votes.parquet", lambda t: t.assign(value=1e200), "outside the range"),
    "votes without weight": ("votes.parquet", lambda t: t.assign(weight=0.0), "outside the range"),
    "votes all alike": ("votes.parquet", lambda t: t.assign(value=1.0), "do not vary"),
    "no votes": ("votes.parquet", lambda t: t.head(0), "do not vary"),
    "fewer levels": ("levels.parquet", lambda t: t.head(1), "1 lines"),
}


AVERAGE_CORRUPTIONS = {
    "counts below 0": ("cells.parquet", lambda t: t.assign(count_0=-1.0), "below 0"),
    "fewer tuples": ("tuples.parquet", lambda t: t.head(2), "does not list"),
    "a parent's cell beyond": ("parents.parquet", lambda t: t.assign(cell=99), "beyond its tuple"),
    "fewer levels": ("levels.parquet", lambda t: t.head(3), "3 lines"),
}


def tuples(*members):
    return "tuples.parquet", lambda t: pd.DataFrame({"columns": "", "members": members})


TREE_CORRUPTIONS = {
    "a cell less at the end": ("cells.parquet", lambda t: t.head(-1), "lacks some"),
    "two cells less at the end": ("cells.parquet", lambda t: t.head(-2), "lacks some"),
    "a cell less within": ("cells.parquet", lambda t: t.drop(index=1), "lacks some"),
    "a cell less that begins a table": ("cells.parquet", lambda t: t.drop(index=0), "lacks some"),
    "two parents": (*tuples([0], [0, 1], [0, 1, 2], [1, 3]), "two parents"),
    "a column less": (*tuples([0], [0, 1], [1, 2]), "all 4 columns.* has 3"),
    "columns in a circle": (*tuples([0], [3, 1], [1, 2], [1, 3]), "that comes later"),
}


# To the fixture of that name.
CORRUPTIONS_OF = {
    "good": TABLE_CORRUPTIONS,
    "density": DENSITY_CORRUPTIONS,
    "average": AVERAGE_CORRUPTIONS,
    "tree": TREE_CORRUPTIONS,
}


@pytest.mark.parametrize(
    ("model", "corruption"),
    [(model, corruption) for model, corruptions in CORRUPTIONS_OF.items() for corruption in corruptions],
)
def test_corrupt_table_raises(model, corruption, request):
    name, change, message = CORRUPTIONS_OF[model][corruption]
    with pytest.raises(ModelFileError, match=message):
        load_model(corrupt_table(request.getfixturevalue(model), name, change))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"cards": [0.5]}, "'cards' is"), ({"class_counts": [1.0]}, "'class_counts' is"), ({"bias": None}, "'bias'")],
)
def test_corrupt_average_metadata_raises(average, change, message):
    with pytest.raises(ModelFileError, match=message):
        load_model(changed_about(average, lambda about: about.update(change)))


@pytest.mark.parametrize(("of", "summed"), [("tree", 1), ("tree", "yes"), ("tree", None), ("good", True)])
def test_invalid_summed_raises(of, summed, request):
    with pytest.raises(ModelFileError, match=r"'summed' is .*; expected false, or true for an elr model"):
        load_model(changed_about(request.getfixturevalue(of), lambda about: about.update(summed=summed)))


@pytest.mark.parametrize("change", [{"thin": 1.0}, {"thin": "x"}, {"class_counts": [0.0, 1.0]}])
def test_corrupt_density_metadata_raises(density, change):
    with pytest.raises(ModelFileError, match=r"class counts|finite numbers"):
        load_model(changed_about(density, lambda about: about.update(change)))


def test_a_damaged_zip_is_refused(good, tmp_path):
    data = good.getvalue()
    for end in range(0, len(data), 397):
        with pytest.raises(ModelFileError, match=r"damaged|has no"):
            load_model(io.BytesIO(data[:end]))
    flipped = bytearray(data)
    with zipfile.ZipFile(good) as file:  # within the numbers: the script beside them is not read
        member = next(each for each in file.infolist() if each.filename.endswith(".parquet"))
    flipped[member.header_offset + 30 + len(member.filename) + member.compress_size // 2] ^= 0xFF
    with pytest.raises(ModelFileError, match=r"damaged|holds|expected"):
        load_model(io.BytesIO(bytes(flipped)))
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.zip")


@pytest.mark.parametrize("name", ["../score.py", "/etc/passwd", "model.pkl", "a/model.json"])
def test_other_names_are_refused_and_nothing_is_written(good, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError, match="nothing was unpacked"):
        load_model(rewritten(good, **{name: b"x"}))
    assert list(tmp_path.iterdir()) == []


def test_a_bomb_is_refused_before_it_is_unpacked(good, monkeypatch):
    bomb = rewritten(good, **{"cells.parquet": b"\0" * 50_000_000})
    assert len(bomb.getvalue()) < 150_000
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was read"))
    with pytest.raises(MemoryLimitError, match="max_memory"):
        load_model(bomb, max_memory=10_000_000)


def test_zip_bomb_within_memory_is_refused_by_its_ratio(good, monkeypatch):
    bomb = rewritten(good, **{"cells.parquet": b"PAR1" + b"\0" * 50_000_000})
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ModelFileError, match="times its size, which no model's table does; nothing was unpacked"):
        load_model(bomb, max_memory=10**9)


def test_no_more_is_unpacked_than_the_zip_states(good, monkeypatch):
    """The sizes in a zip are its own words: it says a hundred bytes and holds fifty million."""
    unpacked, original = [], zipfile.ZipExtFile._read1

    def read(self, n):
        unpacked.append(n)
        return original(self, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "_read1", read)
    for kind, message in ((zipfile.ZIP_DEFLATED, "damaged"), (zipfile.ZIP_BZIP2, "compressed in another way")):
        bomb = rewritten(good, **{"cells.parquet": None})
        with zipfile.ZipFile(bomb, "a", kind) as zipped:
            zipped.writestr("cells.parquet", b"\0" * 50_000_000)
            info = zipped.getinfo("cells.parquet")
            info.file_size, info.CRC = 100, zlib.crc32(b"\0" * 100)
        unpacked.clear()
        with pytest.raises(ModelFileError, match=message):
            load_model(bomb, max_memory=10_000_000)
        assert sum(unpacked) < 1_000_000


@pytest.mark.parametrize(
    "make_column",
    [
        lambda: pa.array([np.zeros(3_000_000, np.int64)]),
        lambda: pa.array(["x" * 1_000_000] * 100).dictionary_encode(),
        lambda: pa.array(["x"]),
    ],
)
def test_highly_compressed_parquet_is_refused(good, monkeypatch, make_column):
    out = io.BytesIO()
    pq.write_table(pa.table({"members": make_column()}), out, compression="zstd")
    assert len(out.getvalue()) < 100_000
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises((MemoryLimitError, ModelFileError), match=r"MiB may be used|expected numbers"):
        load_model(rewritten(good, **{"tuples.parquet": out.getvalue()}), max_memory=20_000_000)


def test_a_bomb_of_parquet_is_refused(good):
    out = io.BytesIO()
    pq.write_table(pa.table({name: np.zeros(3_000_000) for name in ("phi_0", "phi_1")}), out, compression="zstd")
    assert len(out.getvalue()) < 100_000
    with pytest.raises(MemoryLimitError, match="MiB may be used"):
        load_model(rewritten(good, **{"cells.parquet": out.getvalue()}), max_memory=20_000_000)
