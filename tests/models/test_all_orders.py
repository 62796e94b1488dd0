"""All orders at once: what a row's score is made of by hand, blocks that hold lower tuples, the same over passes."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.stream.table import open_table
from alrviz.estimators.frames import _JOIN as JOIN
from alrviz.models.cell_space import AllOrders, CellSpace, space_of
from alrviz.models.plan import plan_cover
from tests.models.test_tuple_selection import planted


def test_an_unseen_cell_falls_back_to_its_parts_by_hand():
    rows = [("a", "x", "p"), ("a", "y", "q"), ("b", "x", "q"), ("b", "x", "p"), ("a", "x", "p"), ("c", "y", "q")] * 5
    frame = pd.DataFrame(rows, columns=["u", "v", "class"])
    model = alrviz.HALRClassifier(order=2, smoothing=1.0).fit(frame[["u", "v"]], frame["class"])
    new = pd.DataFrame({"u": ["b", "a", "new"], "v": ["y", "x", "y"]})  # b with y was never seen, nor was "new"
    cells = model.to_frame()["phi"]
    one, other = (cells.loc[key].to_numpy() for key in (("u", "b"), ("v", "y")))
    want = [
        one + other,
        cells.loc[[("u", "a"), ("v", "x"), (JOIN.join("uv"), JOIN.join("ax"))]].to_numpy().sum(axis=0),
        other,
    ]
    with pytest.warns(alrviz.UnseenLevelWarning):
        scores = model.decision_function(new)
    difference = np.array(want) + model.intercept_
    np.testing.assert_allclose(scores, difference[:, 1] - difference[:, 0], rtol=1e-12)
    counts = pd.crosstab([frame["u"], frame["v"]], frame["class"])
    theta = (counts.loc[("a", "x"), "p"] + 1 / 6) / ((frame["class"] == "p").sum() + 1)  # three levels by two
    log_theta = model.to_frame().loc[(JOIN.join("uv"), JOIN.join("ax")), ("log_theta", "p")]
    assert log_theta == pytest.approx(np.log(theta))


def test_one_order_is_alr_and_lower_tuples_come_first():
    data = alrviz.load_demo("tic-tac-toe")
    alr, halr = (alrviz.Run(data, alrviz.Recipe(family, order=1)) for family in ("alr", "halr"))
    assert [step.objective for step in alr.steps()] == [step.objective for step in halr.steps()]
    space = space_of(np.array([2, 3, 4]), AllOrders(3))
    assert space.members == [list(own) for size in (1, 2, 3) for own in combinations(range(3), size)]
    assert space.cards.tolist() == [2, 3, 4, 6, 8, 12, 24]


@pytest.mark.parametrize("order", [2, 3])
def test_blocks_of_the_highest_order_hold_the_lower_ones(order):
    codes = np.random.default_rng(0).integers(0, 3, (8, 2000)).astype(np.uint8)
    levels = np.full(8, 3)
    space = space_of(levels, AllOrders(order))
    plan, alone = plan_cover(codes, space), plan_cover(codes, CellSpace(levels, order))
    assert len(plan.blocks) == len(alone.blocks)
    assert sorted(t for block in plan.blocks for t in block.tuples) == list(range(space.n_tuples))
    for block in plan.blocks:
        for own in (block, *block.inner):
            assert all({*space.members[t]} <= {*own.columns.tolist()} for t in own.tuples)


@pytest.mark.parametrize("order", [2, 3])
def test_scores_by_blocks_are_those_of_single_cells(order):
    data = alrviz.load_demo("tic-tac-toe")
    run = alrviz.Run(data, alrviz.Recipe("halr", order=order, max_iter=5))
    list(run.steps())
    covered = run._prepared.covered(AllOrders(order))
    encoded, z = run.encoded, run.objective.scores(run.state.point.w, covered.heldout)
    assert run.trace[-1].nll == pytest.approx(
        -run.model.scores(encoded.codes)[np.arange(encoded.n_rows), encoded.y].sum()
        + np.logaddexp.reduce(run.model.scores(encoded.codes), axis=1).sum()
    )
    assert covered.cover.index.space.n_tuples == sum(1 for k in range(order) for _ in combinations(range(9), k + 1))
    assert z.shape[0] == covered.heldout.n_rows


def test_over_passes_it_is_the_model_in_memory_and_is_saved(tmp_path):
    X, y = planted(3000)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    recipe = alrviz.Recipe("halr", order=2, holdout=0.0, max_iter=3, solver="adagrad")
    run, whole = alrviz.Run(stream, recipe), alrviz.Run(alrviz.read_table(tmp_path / "t.parquet", "class"), recipe)
    list(run.steps()), list(whole.steps())
    np.testing.assert_array_equal(run.tables.log_theta, whole.tables.log_theta)
    assert run.trace[0].nll == pytest.approx(whole.trace[0].nll)
    assert run.trace[-1].nll < 0.9 * run.trace[0].nll
    assert run.price.parameters == 2 * (1 + len(run.tables.seen)) == whole.price.parameters
    alrviz.save_model(run.estimator(), tmp_path / "m.zip")
    np.testing.assert_array_equal(
        alrviz.load_model(tmp_path / "m.zip").predict_proba(X), run.estimator().predict_proba(X)
    )
