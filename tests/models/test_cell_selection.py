"""Single cells chosen in place of tuples: scores by another library, growth by hand, the same over passes, saved."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

import alrviz
from alrviz.data.stream.table import open_table
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.models.cell_selection import cell_information
from alrviz.models.cell_space import SelectedCells, TupleSpace
from tests.models.test_tuple_selection import levels_of, planted, prepared


def test_a_cell_is_scored_as_a_feature_of_two_values():
    X, y = planted(400, 4)
    tables = prepared(X, y).tables(2, 1.0)
    space, codes = tables.space, tables.space.codes_of(tables.seen_cells)
    columns = space.tuples[tables.tuple_of_seen]
    inside = [
        (X.iloc[:, own].astype(int).to_numpy() == level).all(axis=1) for own, level in zip(columns, codes, strict=True)
    ]
    want = np.array([mutual_info_score(each, y) for each in inside])
    np.testing.assert_allclose(cell_information(tables), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(cell_information(tables, True), want - 1 / 800, rtol=1e-9, atol=1e-12)  # 4 - 2 - 2 + 1


@pytest.mark.parametrize("strong", [False, True])
def test_cells_grow_from_kept_parts(strong):
    levels, rng = np.array([2, 3, 2, 4]), np.random.default_rng(0)
    parts, wide = ((0, 1), (0, 2), (1, 2)), ((0, 1, 2), (0, 1, 3))
    below, space = TupleSpace(levels, parts), TupleSpace(levels, wide)
    listed = np.sort(rng.choice(below.n_cells, 12, replace=False))
    of = SelectedCells(wide, parts, listed.astype(np.int64).tobytes(), strong)

    def levels_of_columns(space, cells) -> list[dict[int, int]]:
        columns = space.tuples[space.tuple_of(cells)].tolist()
        return [dict(zip(*pair, strict=True)) for pair in zip(columns, space.codes_of(cells).tolist(), strict=True)]

    own, seen, want = levels_of_columns(below, listed), np.arange(space.n_cells), []
    for cell, row in enumerate(levels_of_columns(space, seen)):
        hits = [{j: level for j, level in row.items() if j != left_out} in own for left_out in row]
        want += [cell] * (all(hits) if strong else any(hits))
    assert of.select(space, seen).tolist() == want
    assert 0 < len(want) < space.n_cells


def test_keeping_all_cells_equals_alr():
    data = alrviz.load_demo("tic-tac-toe")
    losses = []
    for family, more in (
        ("alr", {}),
        ("salr", {"keep": 1.0, "unit": "cell"}),
        ("hsalr", {"keep": 1.0, "unit": "cell"}),
    ):
        run = alrviz.Run(data, alrviz.Recipe(family, order=2, alpha=1.0, max_iter=20, solver="lbfgs", **more))
        losses.append([step.objective for step in run.steps()])
        assert len(run.tables.seen_cells) == 324
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-9)
    np.testing.assert_allclose(losses[2], losses[0], rtol=1e-9)


@pytest.mark.parametrize("params", [{"keep": 9}, {"keep": 0.5, "grow": "strong"}, {"keep": 12, "selection": "mi-mm"}])
def test_over_passes_cells_and_scores_are_those_in_memory(tmp_path, params):
    X, y = planted(3000)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    whole = alrviz.read_table(tmp_path / "t.parquet", "class")
    params = {"order": 3, "holdout": 0.0, "max_iter": 1, "unit": "cell", "alpha": 1.0, **params}
    of_stream, of_whole = (levels_of(data, "hsalr", **params) for data in (stream, whole))
    for one, other in zip(of_stream, of_whole, strict=True):
        np.testing.assert_array_equal(one.tuples, other.tuples)
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.kept_indices, other.kept_indices)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12, atol=1e-15)
    run = alrviz.Run(stream, alrviz.Recipe("hsalr", **params))
    run.advance()
    assert run.estimate.cells_seen == len(of_whole[-1].kept_indices)


def test_of_exclusive_or_its_four_cells_are_kept_and_what_is_not_kept_adds_nothing(tmp_path):
    X, y = planted()
    model = alrviz.SelectiveALRClassifier(order=2, keep=4, unit="cell", alpha=1.0).fit(X, y)
    assert model.cells_.tuples.tolist() == [[5, 6]]
    three = alrviz.SelectiveALRClassifier(order=2, keep=3, unit="cell", alpha=1.0).fit(X, y)
    assert len(three.phi_) == 3
    alrviz.save_model(three, tmp_path / "m.zip")
    again = alrviz.load_model(tmp_path / "m.zip")
    np.testing.assert_array_equal(again.predict_proba(X), three.predict_proba(X))
    kept = {tuple(three.cells_.codes_of(three.tables_.seen_cells)[k].tolist()) for k in range(3)}
    (lost,) = {(a, b) for a in (0, 1) for b in (0, 1)} - kept
    rows = X[(X["c5"].astype(int) == lost[0]) & (X["c6"].astype(int) == lost[1])]
    scores = three.decision_function(rows)
    assert np.ptp(scores) == 0
    assert scores[0] == pytest.approx(three.intercept_[1] - three.intercept_[0])


def test_informative_cells_of_columns_with_many_levels_are_found_in_little_memory(tmp_path):
    rng, rows = np.random.default_rng(0), 40_000
    frame = pd.DataFrame({f"c{j}": np.char.add("v", rng.integers(0, 3000, rows).astype(str)) for j in range(4)})
    for j in (0, 1):  # one level of a column in ten rows
        frame.loc[rng.random(rows) < 0.3, f"c{j}"] = "often"
    both = (frame["c0"] == "often") & (frame["c1"] == "often")
    frame["class"] = np.where(rng.random(rows) < np.where(both, 0.9, 0.3), "yes", "no")
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    few = {"order": 2, "keep": 2, "alpha": 1.0, "max_iter": 1, "holdout": 0.1}
    with pytest.raises(MemoryLimitError, match="counting"):
        alrviz.Run(stream, alrviz.Recipe("hsalr", **few), max_memory=12 * 2**20).advance()
    run = alrviz.Run(stream, alrviz.Recipe("hsalr", unit="cell", **few), max_memory=12 * 2**20)
    run.advance()
    best = run.levels[-1].scores.argmax()
    assert run.levels[-1].tuples[best].tolist() == [0, 1]
    assert len(run.levels[-1].tuples) < 40_000 < rows * 3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"selection": "cv"}, "would fit a model without each cell; expected unit='tuple'"),
        ({"unseen": "m-estimate"}, "expected unseen='neutral'"),
        ({"unit": "row"}, "unit='row' is not known; expected one of 'tuple', 'cell'"),
    ],
)
def test_settings_incompatible_with_cell_selection_raise(params, message):
    with pytest.raises(RecipeError, match=message):
        alrviz.Recipe("hsalr", **{"unit": "cell", "alpha": 1.0, **params})
