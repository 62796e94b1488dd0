"""A spec: read by it, a table is the one that it was made of; whatever form the same cells have, it reads them alike.

`ALRVIZ_TABLES=20000 pytest -n 0 tests/data/test_parse_spec.py -k random` goes over so many random tables, from the seed
`ALRVIZ_FIRST_TABLE` on.
"""

import io
import json
import os

import numpy as np
import pandas as pd
import pytest

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.read import read_columns, read_table
from alrviz.data.stream.new_rows import read_batches_again
from alrviz.data.stream.source import open_source
from alrviz.data.stream.table import open_table
from alrviz.errors import AlrvizError, TableError
from tests.estimators.test_new_rows import TABLES, dataset_of_table, rows_of_table

N_TABLES = int(os.environ.get("ALRVIZ_TABLES", "24"))
FIRST_SEED = int(os.environ.get("ALRVIZ_FIRST_TABLE", "0"))


def same(one, other):
    """Whether two data sets are the same bit for bit, ordered levels in their order, and their specs are."""
    pd.testing.assert_frame_equal(one.X, other.X, check_categorical=False)
    for name in [name for name, kind in one.kinds.items() if kind == "ordinal"]:
        assert one.X[name].cat.categories.tolist() == other.X[name].cat.categories.tolist()
    return one.hash == other.hash and one.spec.columns == other.spec.columns


@pytest.mark.parametrize("name", TABLES)
def test_a_table_read_by_its_own_spec_is_the_same(name):
    dataset = dataset_of_table(name)
    again = read_table(TABLES[name].of(rows_of_table(name)), spec=json.loads(dataset.spec.to_json()))
    assert same(again, dataset)
    assert again.spec == dataset.spec == ParseSpec.from_dict(dataset.spec.to_dict())


def test_stray_bytes_are_read_by_a_spec_as_before():
    towns = ["Zürich", "Genève", "Köln", "Århus"]
    lines = ["ort,wert,class", *(f"{towns[i % 4]},{i},{'pq'[i % 2]}" for i in range(40))]
    data = "\n".join(lines).encode().replace("Genève".encode(), "Genève".encode("cp1252"), 2)
    dataset = read_table(data, "class")
    assert any("2 lines are not UTF-8 (first in line 3)" in note for note in dataset.notes)
    assert same(read_table(data, spec=dataset.spec), dataset)
    for encoding in ("utf-8", "cp1252"):
        rows = read_new_rows("ort,wert\nGenève,3\n".encode(encoding), dataset.spec)
        assert rows.X["ort"].tolist() == ["Genève"]
    with pytest.raises(TableError, match=r"encoding is .*utf-8-cp1252"):
        ReadOptions(encoding="utf-8-cp1251")


def test_a_bad_text_of_a_height_or_a_blood_pressure_is_named_by_what_was_expected():
    frame = pd.DataFrame(
        {
            "height": [f"{4 + i % 3}'{i % 12}\"" for i in range(40)],
            "pressure": [f"{110 + i}/{60 + i % 20}" for i in range(40)],
            "sleep": [f"{5 + i % 4}h {i}min" for i in range(40)],
            "start": [f"{7 + i % 9}:{10 + i}" for i in range(40)],
            "class": ["p", "q"] * 20,
        }
    )
    spec = read_table(frame.to_csv(index=False).encode(), "class").spec
    new = read_new_rows([dict.fromkeys(frame, "tall"), *frame.to_dict("records")], spec)
    words = " ".join(new.unread[0])
    assert all(part in words for part in ("height=tall (not a height", "120/80", "not a length of time", "not a time"))


CELLS = pd.DataFrame(
    {
        "when": [f"{i % 28 + 1:02}/{i % 12 + 1:02}/2020" for i in range(40)],
        "size": [f"{i * 7 % 11},5 kg" if i % 9 else "NA" for i in range(40)],
        "code": ["NA" if i % 4 == 0 else ["ZA", "BW", "ZM"][i % 3] for i in range(40)],
        "n": [str(i % 13) if i % 13 != 5 else "-99" for i in range(40)],
        "class": ["yes" if i % 3 else "No" for i in range(40)],
    }
)


def as_workbook(frame):
    frame.to_excel(out := io.BytesIO(), index=False)
    return out.getvalue()


FORMS = {
    "CSV": lambda frame: frame.to_csv(index=False).encode(),
    "semicolons": lambda frame: frame.to_csv(index=False, sep=";").encode("utf-16"),
    "title lines": lambda frame: b"a title\nof two lines\n" + frame.to_csv(index=False, sep="\t").encode(),
    "frame": lambda frame: frame,
    "Parquet": lambda frame: frame.to_parquet(index=False),
    "workbook": as_workbook,
    "JSON": lambda frame: frame.to_json(orient="records", lines=True).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_spec_of_a_csv_file_reads_the_same_cells_in_any_form(form):
    options = ReadOptions(columns={"n": {"missing": ["-99"]}})
    dataset = read_table(FORMS["CSV"](CELLS), "class", options=options)
    again = read_table(FORMS[form](CELLS), spec=dataset.spec)
    assert same(again, dataset)
    assert dataset.X["n"].isna().sum() == 3
    assert "NA" in set(dataset.X["code"])


@pytest.mark.parametrize("form", FORMS)
def test_the_spec_of_any_form_reads_a_csv_file(form):
    frame = pd.DataFrame({"x": [1.5, 2.5, 4.0, np.nan] * 9, "k": ["a", "b", "c"] * 12, "class": ["u", "v"] * 18})
    dataset = read_table(FORMS[form](frame), "class")
    assert read_table(FORMS["CSV"](frame), spec=dataset.spec).hash == dataset.hash


def test_arguments_take_precedence_over_a_spec():
    dataset = read_table(FORMS["CSV"](CELLS), "class")
    other = read_table(FORMS["CSV"](CELLS), "code", spec=dataset.spec, size="ignore")
    assert (other.target, other.kinds["size"], other.kinds["class"]) == ("code", "ignore", "categorical")


def test_options_of_one_column_take_precedence_over_a_spec():
    text = "born,age,class\n" + "".join(f"0{1 + k % 9}/0{1 + k % 7}/{k % 60:02},{k},{'ab'[k % 2]}\n" for k in range(60))
    spec = read_table(io.StringIO(text), "class").spec
    options = ReadOptions(columns={"age": {"missing": ["7"]}, "born": {"dayfirst": True, "pivot": 0}})
    dataset = read_table(io.StringIO(text), spec=spec, options=options)
    assert np.flatnonzero(dataset.frame["age"].isna()).tolist() == [7]
    assert dataset.frame["born"].iloc[9].isoformat() == "1909-03-01T00:00:00"
    assert read_table(io.StringIO(text), spec=spec).frame["born"].iloc[9].isoformat() == "2009-01-03T00:00:00"


def test_an_edited_spec_is_read_by():
    state = read_table(FORMS["CSV"](CELLS), "class").spec.to_dict()
    column = next(column for column in state["columns"] if column["name"] == "n")
    column["missing"] = ["", "-99"]
    assert read_table(FORMS["CSV"](CELLS), spec=state).X["n"].isna().sum() == 3


def test_values_that_do_not_fit_are_missing_and_counted():
    dataset = read_table(FORMS["CSV"](CELLS), "class")
    strange = CELLS.assign(size=["much", *CELLS["size"][1:]], extra="?")
    again = read_table(FORMS["CSV"](strange), spec=dataset.spec)
    assert np.isnan(again.X["size"].iloc[0])
    assert any("1 value of 'size'" in note and "'much'" in note for note in again.notes)
    assert any("left out" in note and "'extra'" in note for note in again.notes)


def test_quartiles_are_part_of_a_spec():
    frame = pd.DataFrame({"x": np.arange(60) % 7, "y": np.arange(60) / 4})
    dataset = read_table(frame, "y", quartiles=True)
    assert same(read_table(frame, spec=dataset.spec), dataset)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state.update(format=2), "format 2"),
        (lambda state: state.update(collums=[]), "columns"),
        (lambda state: state["columns"][0].update(typ="date"), "type"),
        (lambda state: state["columns"][0].update(type="datum"), "date"),
        (lambda state: state["columns"][0].pop("name"), "name"),
        (lambda state: state["columns"][1].update(decimal=";"), "decimal"),
        (lambda state: state["layout"].update(fixed=["delimeter"]), "delimiter"),
        (lambda state: state["layout"].update(delimiter=";;"), "delimiter"),
        (lambda state: state["columns"][4].update(source="sise"), "size"),
    ],
)
def test_invalid_spec_raises(change, said):
    state = read_table(FORMS["CSV"](CELLS), "class").spec.to_dict()
    change(state)
    with pytest.raises(TableError, match=said):
        read_table(FORMS["CSV"](CELLS), spec=state)


def test_a_spec_is_read_from_a_file(tmp_path):
    dataset = read_table(FORMS["CSV"](CELLS), "class")
    (tmp_path / "spec.json").write_text(dataset.spec.to_json(), "utf-8")
    assert same(read_table(FORMS["CSV"](CELLS), spec=tmp_path / "spec.json"), dataset)
    (tmp_path / "spec.json").write_text("{", "utf-8")
    for path in (tmp_path / "spec.json", tmp_path / "none.json"):
        with pytest.raises(TableError, match="cannot be read"):
            read_table(FORMS["CSV"](CELLS), spec=path)


# ---- random tables ---------------------------------------------------------------------------------------------------

WORDS = [
    "red",
    "Red",
    "blue",
    "dark blue",
    "NA",
    "-",
    "none",
    "a,b",
    'say "x"',
    "é",
    "x;y",
    "",
    "2 rooms",
    "Total",
    "1",
]


FRENCH_MONTHS = "janvier février mars avril mai juin juil. août sept. octobre nov. décembre"


def random_column(rng, n):
    """Texts of one sort."""
    words = [WORDS[k] for k in rng.integers(0, len(WORDS), 4)]
    marks = [(".", ""), (".", ","), (",", "."), (",", "")][rng.integers(0, 4)]
    number = [
        f"{x:,.2f}".replace(",", "_").replace(".", marks[0]).replace("_", marks[1]) for x in rng.normal(size=n) * 999
    ]
    whole = [str(k) for k in rng.integers(-3, 60, n)]
    day = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    form = ["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%d.%m.%y", "%b %d, %Y"][rng.integers(0, 5)]
    column = [
        lambda: [words[k] for k in rng.integers(0, 4, n)],
        lambda: number,
        lambda: whole,
        lambda: [f"{text} kg" for text in whole],
        lambda: [f"${text}" for text in number],
        lambda: list(day.strftime(form)),
        lambda: [f"{k % 24}:{k % 60:02}" for k in rng.integers(0, 1000, n)],
        lambda: [f"<{text}" if k % 7 == 0 else text for k, text in enumerate(whole)],
        lambda: [text.replace("-", "\u2212") for text in number],
        lambda: [f"{k % 28 + 1} {FRENCH_MONTHS.split()[k % 12]} {2000 + k % 9}" for k in rng.integers(0, 300, n)],
        lambda: [f"{text}{'%' if k % 3 else ''}" for k, text in enumerate(whole)],
        lambda: [f"R{k % 5 + 1}/{k % 12 + 1}/{k % 28 + 1}" for k in rng.integers(0, 300, n)],
        lambda: [f"{k} - {['Never', 'Rarely', 'Often', 'Always', 'Refused'][k]}" for k in rng.integers(0, 5, n)],
        lambda: [f"Q{k % 4 + 1} {2018 + k % 3}" for k in rng.integers(0, 300, n)],
    ][rng.integers(0, 14)]()
    gap = ["", "NA", "?", "-99", "31.02.2020", "#DIV/0!", "what", "2020-01-05", "n.d.", "./."][rng.integers(0, 10)]
    return [
        gap if lost else text for text, lost in zip(column, rng.random(n) < rng.choice([0, 0.03, 0.1]), strict=True)
    ]


def random_table(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    frame = pd.DataFrame({f"x{j}": random_column(rng, n) for j in range(int(rng.integers(1, 4)))})
    return frame.assign(**{"class": ["k0", "k1", *(f"k{k}" for k in rng.integers(0, 2, n - 2))]})


@pytest.fixture(scope="module")
def script():
    from tests.estimators.test_same_answer import script as make

    return make.__wrapped__()


MEMORY_ALLOWED = 2**30  # stated, as asking the system for the free memory takes longer than reading such a table
# Forms of the same cells, one for each table in turn.
RANDOM_FORMS = {**FORMS, "tabs": lambda frame: frame.to_csv(index=False, sep="\t").encode()}
RANDOM_FORM_NAMES = ("tabs", "frame", "Parquet", "JSON", "tabs", "frame", "Parquet", "workbook")


def cells(series):
    """The values of a column as a list, None where there is none."""
    return [None if gap else value for value, gap in zip(series.tolist(), pd.isna(series).tolist(), strict=True)]


def check_random_table(seed, folder, script):
    """One spec reads a table in another form, as training rows, new rows, in batches and by the script."""
    frame = random_table(seed)
    data = frame.to_csv(index=False).encode()
    dataset = read_table(data, "class", max_memory=MEMORY_ALLOWED)
    (folder / "rows.csv").write_bytes(data)
    form = RANDOM_FORM_NAMES[seed % len(RANDOM_FORM_NAMES)]
    table = read_columns(RANDOM_FORMS[form](frame), spec=dataset.spec, max_memory=MEMORY_ALLOWED)
    for column in table.values:
        assert cells(column.series) == cells(dataset.frame[column.name]), (form, column.name)
    if seed % 25 == 0:
        assert same(read_table(data, spec=dataset.spec), dataset)
        assert open_table(folder / "rows.csv", "class", cache=folder).spec.columns == dataset.spec.columns
    spec = ParseSpec(dataset.spec.layout, dataset.spec.features)
    if not spec.columns:
        return
    readings = {"new rows": read_new_rows(data, spec).X}
    if seed % 3 == 0:
        source = open_source(folder / "rows.csv", dataset.options)
        batches = read_batches_again(source, spec, ReadOptions(), [])
        readings["stream"] = pd.concat([batch.X for batch in batches])
    table = script.read_rows(folder / "rows.csv", script_spec := script.ParseSpec.from_dict(spec.to_dict()))
    for column in script_spec.columns:
        by_script, _ = script.parse_column(script.source_column("", script._array(table[column.source])), column)
        expected = cells(dataset.X[column.name])
        assert cells(pd.Series(by_script)) == expected, ("script", column.name)
        for reading, X in readings.items():
            assert cells(X[column.name]) == expected, (reading, column.name)


def test_a_random_table_is_read_alike_in_every_way(tmp_path, script):
    refused = 0
    for seed in range(FIRST_SEED, FIRST_SEED + N_TABLES):
        try:
            check_random_table(seed, tmp_path, script)
        except AlrvizError:
            refused += 1
        except AssertionError as error:
            raise AssertionError(f"table {seed}: {error}") from error
    assert refused <= N_TABLES // 4


def test_an_ignored_column_that_cannot_be_read_is_noted_and_refuses_nothing():
    frame = pd.DataFrame({"id": range(101, 141), "size": [1.5, 2.5, 3.5, 9.5] * 10, "class": ["no", "yes"] * 20})
    dataset = read_table(frame.to_csv(index=False).encode(), "class")
    assert dataset.spec.columns[0].kind == "ignore"
    letters = frame.assign(id=[f"a{k}" for k in range(40)]).to_csv(index=False).encode()
    again = read_table(letters, spec=dataset.spec)
    pd.testing.assert_frame_equal(again.X, dataset.X)
    assert any("40 values of 'id'" in note for note in again.notes)
    words = frame.assign(size="big").to_csv(index=False).encode()
    with pytest.raises(TableError, match=r"'size'.*the spec's table"):
        read_table(words, spec=dataset.spec)
