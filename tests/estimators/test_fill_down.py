"""Empty cells have the value above them, wherever a table is read: a kind is changed, by a spec, as new rows."""

import io

import numpy as np
import pandas as pd
import pytest

from alrviz import AnJEClassifier, ReadOptions, read_table, save_model, save_sql
from alrviz.data.apply_spec import read_new_rows
from alrviz.data.stream import new_rows
from alrviz.errors import ModelFileError
from alrviz.estimators import score_script

FILL = ReadOptions(fill_down=True)
N_ROWS = 60
CELLS = {  # the value of each third row, and the kind that the column is given
    "levels": (["red", "green", "blue"], None),
    "numbers": ([1.5, 2.5, 3.5, 4.5, 5.5, 6.5], None),
    "versions": (["1.10", "1.20", "1.30"], "categorical"),
    "money": (["$1.20", "NA", "$30", "$7"], "numeric"),
    "pressures": (["120/80", "167/92", "135/85"], None),
    "dates": ([f"2020-0{k}-11" for k in range(1, 8)], None),
}


def frame_of(cells, *, filled):
    column = [cells[k // 3 % len(cells)] if filled or k % 3 == 0 else None for k in range(N_ROWS)]
    return pd.DataFrame({"v": column, "class": ["no" if (k // 3 + k % 5 // 4) % 2 else "yes" for k in range(N_ROWS)]})


def source_of(frame, form):
    if form == "csv":
        return frame.to_csv(index=False).encode()
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("name", CELLS)
def test_fill_down_holds_for_kinds_specs_new_rows_and_the_script(name, form, tmp_path, monkeypatch):
    cells, kind = CELLS[name]
    source = source_of(frame_of(cells, filled=False), form)
    full_source = source_of(frame_of(cells, filled=True), form)
    data, full_data = read_table(source, "class", options=FILL), read_table(full_source, "class")
    if kind:
        data, full_data = data.with_kinds(v=kind), full_data.with_kinds(v=kind)
    pd.testing.assert_frame_equal(data.X, full_data.X, check_dtype=False)
    again = read_table(source, spec=data.spec.to_dict())
    pd.testing.assert_frame_equal(again.X, full_data.X, check_dtype=False)

    model = AnJEClassifier(order=1).fit(data.X, data.y)
    p = model.predict_proba(full_data.X)
    np.testing.assert_allclose(model.predict_proba(read_new_rows(source, data.spec).X), p, atol=1e-12)
    rows, model_file = tmp_path / f"rows.{form}", tmp_path / "model.zip"
    rows.write_bytes(source)
    save_model(model, model_file, dataset=data)
    monkeypatch.setattr(score_script, "BATCH_ROWS", 20)
    assert score_script.main([str(rows), "--model", str(model_file), "-o", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(scores.iloc[:, 2:4], p, atol=1e-12)
    with pytest.raises(ModelFileError, match="fill_down"):
        save_sql(model, io.BytesIO(), dataset=data)


def test_options_beside_a_spec_add_spellings_and_fill_down(tmp_path, monkeypatch):
    frame = frame_of(["red", "green", "blue"], filled=True)
    spec = read_table(frame, "class").spec
    gaps = frame_of(["red", "gren", "blue"], filled=False)
    options = ReadOptions(fill_down=True, spellings={"gren": "green"})
    assert read_table(gaps, spec=spec, options=options).X["v"].tolist() == frame["v"].tolist()
    assert read_new_rows(gaps, spec, options=options).X["v"].tolist() == frame["v"].tolist()
    file = tmp_path / "rows.csv"
    gaps.to_csv(file, index=False)
    monkeypatch.setattr(new_rows, "MIN_LARGE_BYTES", 0)
    assert new_rows.open_large(file, spec, options, []) is None
    assert new_rows.open_large(file, spec, ReadOptions(), []) is not None
