"""CSV that leaves the program: what a stranger's names would have a spreadsheet compute stays text."""

import io
import json

import numpy as np
import pandas as pd

import alrviz
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.export import provenance_lines, to_csv, weights_csv


def test_the_export_is_safe_to_open_in_a_spreadsheet():
    frame = pd.DataFrame({"=1+1": [-1.5, 2.0, 3.0], "b": ["+cmd", "@x", "fine"], "class": ["-", "a", "b"]})
    text = to_csv(frame, {"hash": "abc\n=evil", "seed": 3})
    assert text.splitlines() == [
        '# hash: "abc\\n=evil"',
        "# seed: 3",
        "'=1+1,b,class",
        "-1.5,'+cmd,'-",
        "2.0,'@x,a",
        "3.0,fine,b",
    ]


def test_no_cell_of_a_comment_line_is_a_formula_and_its_json_still_reads():
    name = 'x,=1+1;@y,"=2'
    recipe = Recipe("lr", class_weight={"=cmd()": 2.0, "b,-1": 3.0}, alpha=0.3)
    data, made = provenance_lines({"data": name}, [recipe])
    for line in (data, made):
        cells = line.replace(";", ",").split(",")
        assert not any(cell.lstrip('"').startswith(("=", "+", "-", "@")) for cell in cells)
    assert json.loads(data.removeprefix("# data: ")) == name
    assert Recipe.from_json(made.removeprefix("# recipe 0: ")) == recipe


def test_weights_are_a_line_a_cell_and_no_formula():
    X = pd.DataFrame({"=u": ["@a", "b", "@a", "b"] * 5, "v": ["x", "x", "y", "y"] * 5})
    model = alrviz.NaiveBayesClassifier().fit(X, ["-1", "1", "1", "1"] * 5)
    text = weights_csv(model, {"data": "by hand"}, [model.to_recipe()])
    table = pd.read_csv(io.StringIO(text), comment="#", keep_default_na=False)
    assert table["columns"].tolist() == ["class weights", "'=u", "'=u", "v", "v"]
    assert table["levels"].tolist() == ["", "'@a", "b", "x", "y"]
    phi = table[["phi -1", "phi 1"]].to_numpy(float)
    np.testing.assert_allclose(phi, np.vstack([model.intercept_, model.phi_]), rtol=1e-15)
    np.testing.assert_array_equal(table["count 1"][1:].astype(float), model.tables_.counts[:, 1])
