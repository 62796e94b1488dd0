"""Which tuples are chosen: scores by another library and by hand, hierarchy by a list, the gain by a planted pair."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

import alrviz
from alrviz.data.encoded import Encoded
from alrviz.data.stream.table import open_table
from alrviz.fitting.prepare import TrainingData
from alrviz.models.tuple_selection import (
    SelectionRows,
    extend_tuples,
    levels,
    miller_madow,
    mutual_information,
    top_scores,
)


def planted(rows: int = 4000, columns: int = 7, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of two levels; the class is the exclusive or of the last two, with noise, and a little of the first."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 2, rows).astype(str) for j in range(columns)})
    told = (X.iloc[:, -1] != X.iloc[:, -2]) * 2.0 + (X["c0"] == "1") * 0.5
    return X, np.where(rng.random(rows) < 1 / (1 + np.exp(1.2 - told)), "yes", "no")


def prepared(X, y) -> TrainingData:
    codes = np.array([X[name].astype(int) for name in X]).astype(np.uint8)
    levels, labels = codes.max(axis=1).astype(np.int64) + 1, np.unique(y)
    of = np.searchsorted(labels, y).astype(np.int32)
    return TrainingData(Encoded(codes, of, np.ones(len(y)), levels, labels, tuple(X)), None, n_jobs=1)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_mutual_information_is_scikit_learns(order):
    X, y = planted(200)
    tables = prepared(X, y).tables(order, 1.0)
    want = [mutual_info_score(X.iloc[:, columns].agg("".join, axis=1), y) for columns in tables.space.tuples.tolist()]
    np.testing.assert_allclose(mutual_information(tables), want, rtol=1e-9, atol=1e-12)


def test_miller_and_madow_by_hand_and_of_chance():
    X, y = planted(200, 3)
    tables = prepared(X[["c0"]], y).tables(1, 1.0)
    assert miller_madow(tables)[0] == pytest.approx(mutual_information(tables)[0] - (4 - 2 - 2 + 1) / 400)
    rng = np.random.default_rng(5)
    noise = pd.DataFrame({"a": rng.integers(0, 20, 3000).astype(str), "b": rng.integers(0, 20, 3000).astype(str)})
    of_chance = prepared(noise, rng.choice(["p", "q"], 3000)).tables(2, 1.0)
    assert mutual_information(of_chance)[0] > 0.05
    assert abs(miller_madow(of_chance)[0]) < 0.02


def test_the_best_are_a_share_and_of_equals_the_first():
    assert top_scores(np.array([0.1, 0.5, 0.5, 0.2]), 0.5).tolist() == [1, 2]
    assert top_scores(np.array([0.3, 0.3, 0.3, 0.3]), 0.5).tolist() == [0, 1]
    assert top_scores(np.zeros(10), 0.001).tolist() == [0]
    assert top_scores(np.zeros(10), 0.3).tolist() == [0, 1, 2]


def test_tuples_grow_from_one_part_or_from_all():
    kept = [(0, 1), (1, 2), (0, 2)]
    assert extend_tuples(kept, 4, strong=False) == [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert extend_tuples(kept, 4, strong=True) == [(0, 1, 2)]
    assert extend_tuples([(2,)], 4, strong=False) == [(0, 2), (1, 2), (2, 3)]


def levels_of(data, family: str, **params) -> tuple:
    run = alrviz.Run(data, alrviz.Recipe(family, **{"alpha": 1.0, **params}))
    run.advance()
    return run.levels


def chosen(data, family: str, **params) -> list[list[int]]:
    run = alrviz.Run(data, alrviz.Recipe(family, **{"alpha": 1.0, **params}))
    list(run.steps())
    return run.model.space.tuples.tolist()


def test_exclusive_or_is_found_by_its_gain_and_not_from_below_by_mutual_information():
    data = alrviz.Dataset.from_arrays(*planted())
    assert [5, 6] in chosen(data, "salr", order=2, keep=0.05)  # all pairs at once show it
    below = chosen(data, "hsalr", order=2, keep=0.2, grow="strong")
    assert [5, 6] not in below
    gained = chosen(data, "salr", order=2, keep=1.0, selection="gain")
    assert [5, 6] in gained
    assert [j for j, k in gained if j == k] == list(range(7))  # the columns, beside which a pair gains
    assert len(gained) <= 7 + 9  # of 21: noise is above 0 in one of six


def test_cell_gain_is_close_to_the_gain_of_a_refit():
    """Twice: where the pair tells, and where no pair does."""
    train, test = planted(20_000, seed=1), planted(20_000, seed=2)
    losses = {}
    for order in (1, 2):
        model = alrviz.ALRClassifier(order=order, alpha=1e-3).fit(*train)
        p = model.predict_proba(test[0])
        losses[order] = -np.log(p[np.arange(len(p)), (test[1] == "yes").astype(int)]).mean()
    gains = gains_of(*train)
    pair = gains[-1]
    assert pair == pytest.approx(losses[1] - losses[2], rel=0.15)
    assert np.abs(gains[:-1]).max() < 0.02 * pair


def test_gains_do_not_hang_on_the_solver_of_the_model():
    found = [gains_of(*planted(4000), solver=solver) for solver in ("auto", "adagrad", "sgd")]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def gains_of(X, y, **more) -> np.ndarray:
    from alrviz.fitting.families.family import FitRequest
    from alrviz.fitting.families.selection_rows import InMemory
    from alrviz.models.tuple_selection import predicted_gain

    recipe = alrviz.Recipe("salr", order=2, alpha=1e-3, **more)
    counted = InMemory(FitRequest(prepared(X, y), recipe, recipe.params, lambda what: None))
    return predicted_gain(counted.tables(2), counted.excess(2, 1))


def test_keeping_all_tuples_equals_alr_bit_for_bit():
    data = alrviz.load_demo("tic-tac-toe")
    phis = []
    for family, more in (
        ("alr", {}),
        ("salr", {"keep": 1.0}),
        ("hsalr", {"keep": 1.0}),
        ("hsalr", {"keep": 1.0, "grow": "strong"}),
    ):
        run = alrviz.Run(data, alrviz.Recipe(family, order=2, alpha=1.0, max_iter=20, solver="lbfgs", **more))
        list(run.steps())
        phis.append((run.model.phi, run.trace[-1].objective))
    np.testing.assert_array_equal(phis[1][0], phis[2][0])
    np.testing.assert_array_equal(phis[1][0], phis[3][0])
    np.testing.assert_allclose(phis[1][0], phis[0][0], rtol=1e-6, atol=1e-9)  # alr's super-tables add in another order


@pytest.mark.parametrize(
    ("family", "selection"), [("salr", "mi"), ("salr", "cv"), ("salr", "gain"), ("hsalr", "mi-mm"), ("hsalr", "gain")]
)
def test_a_table_in_batches_has_the_tuples_of_the_one_in_memory(tmp_path, family, selection):
    X, y = planted(3000)
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet", index=False)
    stream = open_table(tmp_path / "t.parquet", "class", cache=tmp_path / "codes")
    params = {"order": 2, "keep": 0.3, "selection": selection, "holdout": 0.0}
    whole = alrviz.read_table(tmp_path / "t.parquet", "class")
    of_stream, of_whole = (levels_of(data, family, max_iter=1, **params) for data in (stream, whole))
    for one, other in zip(of_stream, of_whole, strict=True):
        # beside what is fitted until a step hardly lowers F, gains are equal to what it would still be lowered by
        near = 0.01 * np.abs(other.scores).max() if selection == "gain" and len(other.tuples) > 7 else 1e-15
        np.testing.assert_array_equal(one.tuples, other.tuples)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12, atol=near)
    if family == "salr":
        assert [5, 6] in chosen(stream, family, max_iter=1, order=2, keep=0.05, selection="gain")


@pytest.mark.parametrize("unit", ["tuple", "cell"])
@pytest.mark.parametrize("family", ["salr", "hsalr"])
def test_a_model_of_tuples_that_gain_beside_their_parts_has_the_parts(tmp_path, family, unit):
    """Where the class is a sum over columns no triple gains beside pairs: without parts nothing would be left."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 3, 3000).astype(str) for j in range(5)})
    told = X.astype(int).to_numpy() @ [3, 2, 2, 1, 0] + rng.normal(size=3000)
    y = np.where(told > 8, "high", "low")
    data = alrviz.Dataset.from_arrays(X, y)
    run, alr = (
        alrviz.Run(data, alrviz.Recipe(name, order=3, alpha=1.0, **more))
        for name, more in ((family, {"selection": "gain", "keep": 1.0, "unit": unit}), ("alr", {}))
    )
    losses = [[step.extra["heldout_log_loss"] for step in own.steps()][-1] for own in (run, alr)]
    assert losses[0] < losses[1]
    assert 2 in map(len, run.model.space.members)
    assert run.estimate.cost.parameters >= run.model.phi.size
    model = alrviz.estimator_of(run)
    alrviz.save_model(model, tmp_path / "m.zip")
    np.testing.assert_array_equal(alrviz.load_model(tmp_path / "m.zip").predict_proba(X), model.predict_proba(X))


def test_a_model_of_chosen_tuples_is_saved_and_explained(tmp_path):
    data = alrviz.load_demo("tic-tac-toe")
    model = alrviz.SelectiveALRClassifier(order=2, keep=0.4, alpha=1.0).fit(data.X, data.y)
    alrviz.save_model(model, tmp_path / "m.zip")
    again = alrviz.load_model(tmp_path / "m.zip")
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    assert again.cells_.tuples.tolist() == model.cells_.tuples.tolist()
    parts = model.explain(data.X[:5]).groupby(level=0).sum()
    scores = np.log(model.predict_proba(data.X[:5]))
    np.testing.assert_allclose(parts.iloc[:, 0] - parts.iloc[:, 1], scores[:, 0] - scores[:, 1], rtol=1e-9)


def test_selection_reports_progress():
    """Levels by hand: the columns 0 and 2 first, then what grows from them."""

    class Told(SelectionRows):
        def __init__(self):
            self.looked = []

        def tables(self, tuples):
            self.looked.append(tuples)
            X, y = planted(300, 4)
            return prepared(X, y).tables(tuples, 1.0)

    told = Told()
    singles, pairs = levels(told, 4, 2, "mi", 0.5, "weak")
    first, second = told.looked
    assert first == 1
    kept = top_scores(mutual_information(Told().tables(1)), 0.5).tolist()
    assert second == tuple(extend_tuples([(j,) for j in kept], 4, False))
    assert singles.kept_indices.tolist() == kept
    assert [tuple(t) for t in pairs.tuples.tolist()] == list(second)


def test_run_reports_selection_levels_as_they_are_scored():
    run = alrviz.Run(alrviz.Dataset.from_arrays(*planted(500)), alrviz.Recipe("hsalr", order=3, keep=0.4, alpha=1.0))
    assert run.levels == ()
    run.advance()
    assert [level.tuples.shape[1] for level in run.levels] == [1, 2, 3]
    assert run.levels[-1].kept_tuples == tuple(map(tuple, run.model.space.tuples.tolist()))


@pytest.mark.parametrize("selection", ["gain", "cv"])
def test_a_path_of_alpha_on_which_the_tuples_change_is_fitted(selection):
    """Each alpha has tuples of its own: none starts from another's weights, which are of other cells."""
    data = alrviz.load_demo("twelve-bits", 400)
    model = alrviz.SelectiveALRClassifier(selection=selection, alpha="cv", keep=1.0).fit(data.X, data.y)
    assert model.alpha_ > 0
    recipe = alrviz.Recipe("salr", order=2, selection=selection, keep=1.0, alpha=1.0)
    study = alrviz.alpha_path(data, [recipe], alphas=[10.0, 0.1], n_jobs=1).run()
    assert study.progress.failed == 0


def test_gain_is_measured_beside_all_other_tuples_of_the_model(monkeypatch):
    """Columns that were kept are still in the model when triples are scored, not the pairs alone."""
    from alrviz.fitting.families.selection_rows import InMemory

    beside, excess = [], InMemory.excess

    def told(own, looked, below):
        beside.append(below)
        return excess(own, looked, below)

    monkeypatch.setattr(InMemory, "excess", told)
    run = alrviz.Run(
        alrviz.load_demo("led", 500), alrviz.Recipe("hsalr", order=3, keep=0.6, selection="gain", alpha=1.0)
    )
    run.advance()
    assert beside[0] == 0
    assert {len(columns) for columns in beside[2]} == {1, 2}
    assert set(beside[1]) < set(beside[2]) < set(map(tuple, run.model.space.members))
