"""Tables in long form: noticed, pivoted by one option, and read by its spec in every way."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.doubts import DoubtCode, notes_about
from alrviz.data.options import ReadOptions
from alrviz.data.read import read_table
from alrviz.data.stream.new_rows import open_large
from alrviz.data.stream.source import open_source
from alrviz.errors import NOT_IN_BATCHES, TableError
from tests.estimators.test_same_answer import script  # noqa: F401 - a fixture

PIVOT = ("patient", "test", "value")


def long_form(names: str = "patient,test,value,unit", n: int = 30) -> str:
    """Return three measurements of each of `n` patients, one a row."""
    tests = (("glucose", 90, "mg/dL"), ("sodium", 140, "mmol/L"), ("height", 170, "cm"))
    lines = [f"{k},{test},{mean + k * 7 % 20 / 2},{unit}" for k in range(n) for test, mean, unit in tests]
    return "\n".join([names, *lines]) + "\n"


def patients(n: int = 40) -> pd.DataFrame:
    """Return measurements of patients with a class, in which one value of every fifth is not there."""
    rows = [
        (f"p{k}", test, text, "mmol" if test == "K" else "", "ill" if k % 3 else "well")
        for k in range(n)
        for test, text in (
            ("K", f"{3 + k % 9 / 4}"),
            ("smokes", "yes" if k % 2 else "no"),
            ("seen", f"{k % 28 + 1}.05.2020"),
        )
        if test != "K" or k % 5
    ]
    return pd.DataFrame(rows, columns=["patient", "test", "value", "unit", "class"])


def csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


@pytest.mark.parametrize("names", ["patient,test,value,unit", "id,Parameter,Result,u", "when,sensor,reading,unit"])
def test_the_doubt_about_a_long_form_pivots_it(names):
    key, parameter, value, _ = names.split(",")
    dataset = read_table(long_form(names).encode(), parameter)
    (doubt,) = [doubt for doubt in dataset.doubts if doubt.code is DoubtCode.LONG_FORM]
    assert doubt.change == {"long_form": [key, parameter, value]}
    options = ReadOptions().with_change(doubt.change)
    wide = read_table(long_form(names).encode(), "height", options=options, quartiles=True)
    assert (wide.frame.shape, set(wide.frame)) == ((30, 4), {key, "glucose", "sodium", "height"})
    assert wide.frame["glucose"].tolist() == [90 + k * 7 % 20 / 2 for k in range(30)]
    assert not notes_about(wide.notes, {DoubtCode.LONG_FORM})


def test_a_long_form_is_noticed_though_its_last_column_is_no_class():
    with pytest.raises(TableError) as refusal:
        read_table("\n".join(line.rsplit(",", 1)[0] for line in long_form().splitlines()).encode())
    assert any("long form" in note and "long_form=" in note for note in refusal.value.__notes__)


@pytest.mark.parametrize("names", ["patient,drug,value,unit", "patient,test,dose,unit"])
def test_other_tables_are_in_no_long_form(names):
    assert not notes_about(read_table(long_form(names).encode(), names.split(",")[1]).notes, {DoubtCode.LONG_FORM})
    rows = "".join(f"{k},{'ab'[k % 2]},{k / 3:.2f},{'xy'[k % 3 > 0]}\n" for k in range(60))
    table = read_table(f"patient,test,value,class\n{rows}".encode(), "class")
    assert not notes_about(table.notes, {DoubtCode.LONG_FORM})


def test_each_parameter_is_a_column_with_a_type_of_its_own():
    dataset = read_table(csv(patients()), "class", pivot=PIVOT)
    assert (dataset.kinds["K"], dataset.kinds["smokes"]) == ("numeric", "categorical")
    assert dataset.frame["seen"].dtype.kind == "M"
    assert np.flatnonzero(dataset.frame["K"].isna()).tolist() == list(range(0, 40, 5))
    assert dataset.labels.tolist() == ["ill" if k % 3 else "well" for k in range(40)]
    assert any("'unit' left out" in note for note in dataset.notes)


@pytest.mark.parametrize("form", ["CSV", "frame", "Parquet", "workbook"])
def test_the_spec_of_a_long_form_reads_it_alike(form, tmp_path, script):  # noqa: F811
    frame = patients()
    dataset = read_table(csv(frame), "class", pivot=PIVOT)
    spec = json.loads(dataset.spec.to_json())
    frame.to_excel(book := io.BytesIO(), index=False)
    source = {"CSV": csv(frame), "frame": frame, "Parquet": frame.to_parquet(index=False), "workbook": book.getvalue()}
    assert read_table(source[form], spec=spec).hash == dataset.hash
    rows = read_new_rows(source[form], dataset.spec)
    pd.testing.assert_frame_equal(rows.X, dataset.X, check_dtype=False, check_categorical=False)
    (tmp_path / "rows.csv").write_bytes(csv(frame))
    table = script.read_rows(tmp_path / "rows.csv", script.ParseSpec.from_dict(spec))
    assert table["K"].to_pylist() == [f"{3 + k % 9 / 4}" if k % 5 else None for k in range(40)]


def test_new_rows_may_be_cases_already_or_lack_a_parameter():
    dataset = read_table(csv(patients()), "class", pivot=PIVOT)
    wide = pd.DataFrame({"patient": ["a", "b"], "K": [4.5, 5.0], "smokes": ["no", "yes"], "seen": "01.05.2020"})
    assert read_new_rows(csv(wide), dataset.spec).X["K"].tolist() == [4.5, 5.0]
    frame = patients()
    rows = read_new_rows(csv(frame[frame.test != "smokes"]), dataset.spec)
    assert rows.X["smokes"].isna().all()
    assert any("no row has 'smokes'" in note for note in rows.notes)


def test_rows_that_are_not_used_are_counted():
    frame = patients()
    twice = frame.iloc[[0]].assign(value="9")
    frame = pd.concat([frame, twice, frame.iloc[[1, 2]].assign(patient="")])
    dataset = read_table(csv(frame), "class", pivot=PIVOT)
    assert (dataset.n_rows, dataset.frame["smokes"].iloc[0]) == (40, "no")
    assert any("2 rows without a case" in note for note in dataset.notes)
    assert any("1 row with a parameter" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("pivot", "words"),
    [(("patient", "tset", "value"), "test"), (("patient", "test"), "cases, parameter, value"), ("ppp", "cases")],
)
def test_invalid_columns_are_refused(pivot, words):
    with pytest.raises(TableError, match=words):
        read_table(csv(patients()), "class", pivot=pivot)


def test_filled_cells_are_not_pivoted():
    with pytest.raises(TableError, match=r"long_form.*fill_down"):
        read_table(csv(patients()), "class", options=ReadOptions(fill_down=True, long_form=PIVOT))


def test_a_long_form_is_not_read_in_batches(tmp_path):
    (tmp_path / "rows.csv").write_bytes(csv(patients(60_000)))
    spec = read_table(tmp_path / "rows.csv", "class", pivot=PIVOT).spec
    assert open_large(tmp_path / "rows.csv", spec, ReadOptions(), []) is None
    with pytest.raises(TableError, match="long_form") as refusal:
        open_source(tmp_path / "rows.csv", ReadOptions(long_form=PIVOT))
    assert refusal.value.code == NOT_IN_BATCHES
