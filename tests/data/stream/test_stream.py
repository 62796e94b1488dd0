"""Tables read in batches: the same meaning and codes as in memory, whatever the format and the number of files; what is
wrong with a file is said with its place.
"""

import gzip
import os
import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data import splits
from alrviz.data.encode import Encoder
from alrviz.data.options import ReadOptions
from alrviz.data.read import read_table
from alrviz.data.splits import SHUFFLE_SEED, row_hash
from alrviz.data.stream import table as table_module
from alrviz.data.stream.cache import CacheWriter, keep_quota, open_cache
from alrviz.data.stream.table import open_table
from alrviz.errors import NOT_IN_BATCHES, MissingFileError, RecipeError, TableError, TableFileError
from alrviz.fitting.prepare import prepare

ROWS = 3000


def messy(rows: int = ROWS) -> pd.DataFrame:
    """Numbers with gaps, whole numbers, texts in several spellings, an order, dates, a class that hangs on them."""
    rng = np.random.default_rng(3)
    x, k = rng.normal(size=rows), rng.integers(0, 40, rows)
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(rows) < 0.1, np.nan, np.round(x, 3)),
            "k": k,
            "code": rng.integers(0, 3, rows),
            "colour": rng.choice(["red", "Red", "green", "blue", None], rows),
            "size": rng.choice(["low", "medium", "high"], rows),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D"),
        }
    )
    frame["class"] = np.where(x + (frame["colour"] == "blue") + k / 20 + rng.normal(size=rows) > 1, "yes", "no")
    frame.loc[[5, 17], "class"] = None
    return frame


def written(folder, frame: pd.DataFrame, ending: str):
    path = folder / f"table.{ending}"
    writers = {
        "csv": lambda: frame.to_csv(path, index=False),
        "csv.gz": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path, index=False),
        "feather": lambda: frame.to_feather(path, compression="uncompressed"),
    }
    writers[ending]()
    return path


@pytest.mark.parametrize("chunk", [400, 2**18])
def test_validation_rows_leave_every_class_a_training_row(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(splits, "CHUNK", chunk)
    frame = messy(600).fillna({"class": "no"})
    rows = splits.validation_rows(np.zeros(600, np.int32), 0)[0]
    frame.loc[rows[:2], "class"] = "rare"
    frame.loc[rows[-1], "class"] = "single"
    path = written(tmp_path, frame, "parquet")
    coded = open_table(path, "class", cache=tmp_path / "codes").coded(holdout=0.0)
    n = splits.n_validation_rows(600)
    chosen = next(iter(coded.cache.chunks("train", [0])))[1][:n]
    left = np.concatenate([y for _, y in coded.cache.rest("train", n)])
    assert set(left) == {0, 1, 2, 3}
    assert coded.classes.tolist() == ["no", "rare", "single", "yes"]
    numbers, last = splits.validation_rows(np.unique(frame["class"], return_inverse=True)[1], 0)
    assert sorted(frame["class"][last]) == ["rare", "single"]
    np.testing.assert_array_equal(frame["class"][numbers[:n]], np.array(coded.classes)[chosen])
    apart = prepare(alrviz.read_table(path, "class"), alrviz.Recipe("alr", order=1, holdout=0.0, alpha=1.0)).validation(
        0
    )
    assert (np.bincount(apart.encoded.y, minlength=4) > 0).all()


def in_its_order(rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Numbers of rows in the order in which a cache of one chunk has them."""
    return rows[np.argsort(row_hash(0, ROWS, seed + SHUFFLE_SEED)[rows], kind="stable")]


def held_out(rows: int, share: float, seed: int = 0) -> np.ndarray:
    return row_hash(0, rows, seed) < np.uint64(share * (2**64 - 1))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
@pytest.mark.parametrize("missing", ["level", "skip"])
def test_codes_are_those_of_the_table_in_memory(tmp_path, ending, missing):
    frame = messy()
    path = written(tmp_path, frame, ending)
    stream, whole = open_table(path, "class", cache=tmp_path / "codes"), alrviz.read_table(path, "class")
    assert stream.kinds == whole.kinds
    coded = stream.coded("mdl", missing=missing, holdout=0.2)
    there = frame["class"].notna().to_numpy()
    held, place = held_out(ROWS, 0.2), np.cumsum(there) - 1  # of a row among those that have a class
    train = (~held)[there]
    encoder = Encoder(missing=missing).fit(whole.X[train], whole.y[train])
    for part, rows in (("train", ~held & there), ("test", held & there)):
        own = place[in_its_order(np.flatnonzero(rows))]
        want, got = encoder.encode(whole.X.iloc[own], whole.y[own]), coded.cache.whole(part)
        np.testing.assert_array_equal(got.codes, want.codes)
        np.testing.assert_array_equal(got.y, want.y)
    assert [c.labels for c in coded.encoder.columns_] == [c.labels for c in encoder.columns_]
    assert coded.encoder.lost_ == encoder.lost_
    assert coded.notes[0] == "2 of 3,000 rows have no class and are not used"


def test_coding_keeps_few_bytes_a_row_of_categories(tmp_path, monkeypatch):
    monkeypatch.setattr(splits, "CHUNK", 2**14)
    peaks = []
    for rows in (50_000, 450_000):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.integers(0, 3, (rows, 2), dtype=np.int8), columns=["a", "b"])
        stream = open_table(written(tmp_path, frame.assign(**{"class": frame.a}), "parquet"), "class", cache=tmp_path)
        stream = stream.with_kinds(a="categorical", b="categorical")
        tracemalloc.start()
        stream.coded()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 400_000 < 16


def test_a_table_in_several_files_is_the_same_table(tmp_path):
    frame = messy()
    whole = open_table(written(tmp_path, frame, "parquet"), "class", cache=tmp_path / "a").coded()
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(4):
        frame[k * 750 : (k + 1) * 750].to_parquet(folder / f"part-{k}.parquet", index=False)
    parts = open_table(str(folder / "part-*.parquet"), "class", cache=tmp_path / "b").coded()
    for part in ("train", "test"):
        np.testing.assert_array_equal(parts.cache.whole(part).codes, whole.cache.whole(part).codes)


def test_codes_are_cached_by_every_setting(tmp_path, monkeypatch):
    path = written(tmp_path, messy(), "csv")
    stream = open_table(path, "class", cache=tmp_path / "codes")
    first = stream.coded().cache.path
    made = []
    monkeypatch.setattr(table_module, "code_table", lambda *args: made.append(args) or pytest.fail("coded again"))
    assert open_table(path, "class", cache=tmp_path / "codes").coded().cache.path == first
    for other in (
        lambda: stream.coded(holdout=0.1),
        lambda: stream.coded(seed=1),
        lambda: stream.coded("quantile"),
        lambda: stream.with_kinds(k="categorical").coded(),
    ):
        with pytest.raises(pytest.fail.Exception, match="coded again"):
            other()
    assert len({str(args[1]) for args in made}) == 4


def test_kinds_are_guessed_from_a_sample_and_checked_on_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(table_module, "SAMPLE_ROWS", 500)
    frame = messy()
    frame["k"] = frame["k"].astype(object)
    row = int(row_hash(0, ROWS, table_module._SAMPLE_SEED).argmax())  # the last to be drawn
    frame.loc[row, "k"] = "many"
    path = written(tmp_path, frame, "csv")
    stream = open_table(path, "class", cache=tmp_path / "codes")
    assert stream.sample.table.n_rows == 500
    assert stream.kinds["k"] == "numeric"
    with pytest.raises(
        TableError, match=rf"column 'k' holds 'many' in row {row + 1:,} \('table.csv'\).*a number.*unreadable"
    ):
        stream.coded()
    assert not list((tmp_path / "codes").iterdir())  # nothing half-made is left
    forgiving = open_table(path, "class", cache=tmp_path / "codes", unreadable="missing").coded()
    assert any("1 values of 'k'" in note for note in forgiving.notes)


def test_a_class_that_comes_last_is_a_class(tmp_path):
    frame = messy()
    frame.loc[ROWS - 1, "class"] = "zz"
    coded = open_table(written(tmp_path, frame, "csv"), "class", cache=tmp_path / "codes").coded(holdout=0.9, seed=3)
    assert coded.classes.tolist() == ["no", "yes", "zz"]
    assert (coded.cache.whole("train").y == 2).sum() == 1  # learned from, though nine rows of ten are held out


def damaged(folder, ending: str):
    path = written(folder, messy(), ending)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


@pytest.mark.parametrize("ending", ["csv.gz", "parquet", "feather"])
def test_a_file_that_is_cut_short_is_named(tmp_path, ending):
    with pytest.raises(TableError, match=r"'table.*' is damaged or cut short.*fetch it again"):
        open_table(damaged(tmp_path, ending), "class", cache=tmp_path / "codes")


def test_files_of_other_columns_are_named(tmp_path):
    frame = messy(100)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.rename(columns={"k": "l"}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(TableError, match=r"'b.csv' has other columns than 'a.csv': without 'k' and with 'l' besides"):
        open_table(tmp_path / "*.csv", "class", cache=tmp_path)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    frame.assign(k=frame["k"].astype(float)).to_parquet(tmp_path / "b.parquet", index=False)
    with pytest.raises(TableError, match="'k' is double, not int64"):
        open_table(tmp_path / "*.parquet", "class", cache=tmp_path)
    with pytest.raises(TableError, match=r"'a.csv' is delimited and 'a.parquet' is parquet"):
        open_table([tmp_path / "a.csv", tmp_path / "a.parquet"], "class", cache=tmp_path)


def test_a_file_that_changes_between_passes_is_refused(tmp_path):
    path = written(tmp_path, messy(), "csv")
    stream = open_table(path, "class", cache=tmp_path / "codes")
    with path.open("a") as file:
        file.write("1,2,1,red,low,2020-01-01,yes\n")
    with pytest.raises(TableFileError, match=r"'table.csv' has changed since it was opened"):
        stream.coded()
    path.unlink()
    with pytest.raises(TableFileError, match="gone"):
        stream.coded()


def test_missing_files_and_unsupported_formats_raise(tmp_path):
    (tmp_path / "tabel.csv").write_text("a,class\n1,x\n")
    with pytest.raises(MissingFileError, match=r"table.csv.*did you mean 'tabel.csv'"):
        open_table(tmp_path / "table.csv", cache=tmp_path)
    (tmp_path / "t.json").write_text('[{"a": 1, "class": "x"}]')
    with pytest.raises(TableError, match=r"'t.json' is JSON, which is not read in batches"):
        open_table(tmp_path / "t.json", cache=tmp_path)
    with pytest.raises(TableError, match=r"unreadable='drop'"):
        open_table(tmp_path / "tabel.csv", cache=tmp_path, unreadable="drop")
    for what, said in ((None, "NoneType"), ([], "an empty list"), (messy(50), "DataFrame")):
        with pytest.raises(TableError, match=f"cannot be opened from {said}; a path, a folder"):
            open_table(what, cache=tmp_path)
    (tmp_path / "names.csv").write_text("a,b,class\n")
    with pytest.raises(TableError, match="names but no rows"):
        open_table(tmp_path / "names.csv", cache=tmp_path)
    messy(200)[["x", "k"]].to_csv(tmp_path / "many.csv", index=False)
    with pytest.raises(TableError, match=r"column 'x' holds \d+ different numbers.*a class of few values was expected"):
        open_table(tmp_path / "many.csv", "x", cache=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="holds no file"):
        open_table(tmp_path / "empty", cache=tmp_path)
    for name, content, error in [
        ("nothing.csv", b"", r"^'nothing.csv': the table is empty"),
        ("picture.bin", bytes(range(256)) * 9, r"^'picture.bin': this is binary data, not a table"),
        ("notes.txt", b"one line, no more", r"names but no rows"),
    ]:
        (folder := tmp_path / name.partition(".")[0]).mkdir()
        (folder / name).write_bytes(content)
        with pytest.raises(TableError, match=error):
            open_table(folder, cache=tmp_path)


def test_a_quotation_mark_swallows_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{i},{'ab'[i % 2]},{'yn'[i % 3 > 0]}\n" for i in range(60)]
    path.write_text("size,text,class\n" + "".join(rows).replace("30,a,y", '30,a,"y'))
    stream = open_table(path, "class")
    assert stream.n_rows == 60
    assert any("never closed" in note for note in stream.notes)
    path.write_text("size,text,class\n" + "".join(rows).replace("30,a,", '30,"a, b\n1\n2\n3\n4\n5\n6\n7",'))
    assert open_table(path, "class").n_rows == 60


def test_options_of_text_are_respected(tmp_path):
    lines = ["x;class", *(f"{k}.{k % 10}00,5;{'a' if k % 3 else 'b'}" for k in range(1, 200))]
    path = tmp_path / "german.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    options = ReadOptions(decimal=",", thousands=".")
    stream = open_table(path, "class", options=options, cache=tmp_path / "codes")
    frame = alrviz.read_table(path, "class", options=options).frame
    assert stream.sample.frame["x"].tolist() == frame["x"].tolist()
    assert stream.kinds == {"x": "numeric"}


# ---- the cache -------------------------------------------------------------------------------------------------------


def small_cache(path):
    writer = CacheWriter(path, 2, ("uint8", "uint8"))
    for k in range(3):
        writer.add("train", np.full((2, 4), k, np.uint8), np.arange(4))
    return writer.close({"name": "t"})


@pytest.mark.skipif(os.name == "nt", reason="permissions are not those of POSIX")
def test_codes_and_their_folders_are_private(tmp_path, monkeypatch):
    """A home folder that is new, as by the first `alrviz fit`."""
    before = os.umask(0o022)
    try:
        monkeypatch.setenv("ALRVIZ_HOME", str(tmp_path / "share" / "home"))
        made = open_table(written(tmp_path, messy(200), "csv"), "class").coded()
    finally:
        os.umask(before)
    assert made.cache.path.parent == tmp_path / "share" / "home" / "codes"
    assert made.cache.path.stat().st_mode & 0o777 == 0o600
    folders = list(made.cache.path.parents)[:3]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 3


def test_cache_round_trip_in_any_order(tmp_path):
    cache = small_cache(tmp_path / "t.codes")
    assert [int(chunk.codes[0, 0]) for chunk in cache.chunks("train", [2, 0, 1])] == [2, 0, 1]
    assert [c.y.tolist() for c in cache.chunks("train")] == [[0, 1, 2, 3]] * 3
    assert cache.n_rows("train") == 12
    chunks = cache.chunks("train", [0, 1, 2] * 10)
    next(chunks)
    chunks.close()  # whoever leaves early leaves no thread that waits for ever
    readers = [thread for thread in threading.enumerate() if thread.name == "alrviz-code-cache"]
    for thread in readers:
        thread.join(10)
    assert not any(thread.is_alive() for thread in readers)


def test_corrupt_cache_raises_and_is_removed(tmp_path):
    path = tmp_path / "t.codes"
    cache = small_cache(path)
    data = bytearray(path.read_bytes())
    data[cache.parts["train"][1].offset + 3] ^= 4
    path.write_bytes(data)
    with pytest.raises(TableError, match=r"t.codes' are damaged \(at byte \d+\); the file was removed"):
        list(cache.chunks("train"))
    assert open_cache(path) is None


SPOILT = {
    "short": lambda data: data[:-3],
    "older": lambda data: b"ALRVIZC0" + data[8:],
    "empty": lambda data: b"",
    "overwritten": lambda data: data[:-9] + b"\xff" * 9,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_incomplete_or_old_cache_is_ignored(tmp_path, spoil):
    path = tmp_path / "t.codes"
    small_cache(path)
    path.write_bytes(spoil(path.read_bytes()))
    assert open_cache(path) is None


def test_cache_is_renamed_when_complete(tmp_path):
    writer = CacheWriter(tmp_path / "t.codes", 1, ("uint8", "uint8"))
    writer.add("train", np.zeros((1, 3), np.uint8), np.zeros(3))
    assert not (tmp_path / "t.codes").exists()
    writer.abandon()
    assert not list(tmp_path.iterdir())


def test_removed_cache_raises(tmp_path):
    cache = small_cache(tmp_path / "t.codes")
    cache.path.unlink()
    with pytest.raises(TableFileError, match="are gone"):
        list(cache.chunks("train"))


def test_abandoned_files_are_removed_after_days(tmp_path):
    (tmp_path / "reading-x").mkdir()
    (tmp_path / "reading-x" / "0").write_bytes(b"1")
    (tmp_path / "y.part").write_bytes(b"1")
    (tmp_path / "z.part").write_bytes(b"1")
    for name in ("reading-x", "y.part"):
        os.utime(tmp_path / name, (1, 1))
    small_cache(tmp_path / "t.codes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.codes", "z.part"]


def test_oldest_caches_beyond_the_quota_are_removed(tmp_path):
    for k in range(4):
        small_cache(tmp_path / f"{k}.codes")
        os.utime(tmp_path / f"{k}.codes", (k, k))
    size = (tmp_path / "0.codes").stat().st_size
    keep_quota(tmp_path / "3.codes", 2 * size)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.codes", "3.codes"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_full_disk_raises(tmp_path, monkeypatch):
    writer = CacheWriter(tmp_path / "t.codes", 1, ("uint8", "uint8"))
    writer._file.close()
    writer._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 (closed by the writer)
    with pytest.raises(TableFileError, match=r"no space is left for the codes in .* free\)"):
        writer.add("train", np.zeros((1, 3), np.uint8), np.zeros(3))
    writer.abandon()


def test_sorted_rows_are_spread_over_all_chunks(tmp_path, monkeypatch):

    monkeypatch.setattr(splits, "CHUNK", 500)
    frame = pd.DataFrame({"a": np.arange(4000) % 7, "class": np.repeat(["p", "q", "r", "s"], 1000)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    cache = open_table(tmp_path / "t.csv", "class", cache=tmp_path / "codes").coded(holdout=0.0).cache
    chunks = list(cache.chunks("train"))
    assert len(chunks) == 8
    assert cache.n_rows("train") == 4000
    for chunk in chunks:
        assert (np.bincount(chunk.y, minlength=4) > 80).all()  # of about 500 rows


def test_sample_is_independent_of_test_rows(monkeypatch):
    sampled = row_hash(0, 100_000, table_module._SAMPLE_SEED) < np.uint64(0.05 * 2**64)
    assert held_out(100_000, 0.05)[sampled].mean() < 0.07


@pytest.mark.parametrize("given", [{"holdout": -0.1}, {"holdout": 1.5}, {"holdout": "x"}, {"seed": -5}])
def test_invalid_settings_of_coded_raise(tmp_path, given):
    stream = open_table(written(tmp_path, messy(200), "csv"), "class", cache=tmp_path / "codes")
    with pytest.raises(RecipeError, match="is out of range; expected"):
        stream.coded(**given)


@pytest.mark.parametrize("rows", [30, 3_000, 400_000])
def test_footer_is_left_out_as_in_read_table(tmp_path, rows):
    lines = [
        "a,b,class",
        *(f"{i * 7 % 13},{'xyz'[i % 3]},{'pq'[i % 2]}" for i in range(rows)),
        "Total,,",
        "",
        "Source: us",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream, whole = open_table(tmp_path / "t.csv", "class", cache=tmp_path), read_table(tmp_path / "t.csv", "class")
    assert stream.n_rows == whole.n_rows == rows
    assert stream.kinds == whole.kinds == {"a": "numeric", "b": "categorical"}
    assert all(any("2 lines behind the table" in note for note in table.notes) for table in (stream, whole))
    assert not any("cells" in note for note in stream.notes)
    said = open_table(tmp_path / "t.csv", "class", options=ReadOptions(skip_footer=0), cache=tmp_path)
    assert said.n_rows == rows + 2


@pytest.mark.parametrize("rows", [40, 300_000])
def test_tables_under_one_another_are_refused(tmp_path, rows):
    part = "a,b,class\n" + "1,x,p\n2,y,q\n" * (rows // 2)
    (tmp_path / "t.csv").write_text(f"{part}\n{part}")
    with pytest.raises(TableError, match=r"t\.csv.*(repeats the|repeated) names") as refusal:
        open_table(tmp_path / "t.csv", "class", cache=tmp_path)
    assert refusal.value.code == NOT_IN_BATCHES
    assert read_table(tmp_path / "t.csv", "class").n_rows == 2 * rows
    (tmp_path / "titled.csv").write_text(f"Ward A\n{part}\nWard B\n{part}")
    with pytest.raises(TableError, match=r"titled\.csv.*(repeats the|repeated) names") as refusal:
        open_table(tmp_path / "titled.csv", "class", cache=tmp_path)
    assert refusal.value.code == NOT_IN_BATCHES


def test_stray_bytes_need_the_encoding_option(tmp_path):
    lines = ["ort,class", *(f"{('Köln', 'Zürich')[i % 2]},{'pq'[i % 2]}" for i in range(400))]
    data = "\n".join(lines).encode().replace("Köln".encode(), "Köln".encode("cp1252"), 2)
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(TableError, match=r"not UTF-8.*utf-8-cp1252"):
        open_table(tmp_path / "t.csv", "class", cache=tmp_path)
    stream = open_table(tmp_path / "t.csv", "class", options=ReadOptions(encoding="utf-8-cp1252"), cache=tmp_path)
    whole = read_table(tmp_path / "t.csv", "class")
    assert set(stream.sample.X["ort"]) == set(whole.X["ort"]) == {"Köln", "Zürich"}
    assert sum("2 lines are not UTF-8 (first in line 2)" in note for note in whole.notes) == 1


def test_given_layout_is_used_in_batches(tmp_path):
    lines = "a,b,class\n" + "1,x,p\n2,y,q\n" * 100_000
    (tmp_path / "wide.csv").write_bytes(lines.encode("utf-16"))
    assert open_table(tmp_path / "wide.csv", "class", cache=tmp_path).n_rows == 200_000
    (tmp_path / "late.csv").write_bytes(lines.encode() + "3,\xfc,p\n".encode("cp1252"))
    with pytest.raises(TableError, match=r"not UTF-8 throughout .*say its encoding, such as .*cp1252"):
        open_table(tmp_path / "late.csv", "class", cache=tmp_path)
    assert open_table(tmp_path / "late.csv", "class", options=ReadOptions(encoding="cp1252"), cache=tmp_path).n_rows
    with pytest.raises(TableError, match="skip_footer=1 is not available for a table read in batches"):
        open_table(tmp_path / "wide.csv", options=ReadOptions(skip_footer=1), cache=tmp_path)
