"""Scores of new rows: seen cells, unseen cells, rows without a level, contributions that add up."""

import pickle

import numpy as np
import pytest
from scipy.special import log_softmax as scipy_log_softmax

from alrviz.errors import Stopped
from alrviz.models import linear
from alrviz.models.cell_space import CellSpace
from alrviz.models.index import Unseen
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.models.score_table import ScoreTable
from alrviz.stop import StopToken
from tests.fitting.tables import drain, run_of, table
from tests.oracles.rows import cell_numbers, naive_forward

LEVELS = np.array([3, 2, 4])


def make(unseen=None, order=2, C=3, seed=0):
    rng = np.random.default_rng(seed)
    space = CellSpace(LEVELS, order)
    seen = np.sort(rng.choice(space.n_cells, space.n_cells - 3, replace=False))
    phi, bias = rng.normal(size=(len(seen), C)), rng.normal(size=C)
    codes = rng.integers(0, LEVELS[:, None] + 1, (3, 80)).astype(np.uint8)
    more = None if unseen is None else Unseen(rng.normal(size=(space.n_tuples, C)), unseen == "known only")
    return LinearModel(space, seen, phi, bias, more), codes


def naive_table(model):
    out = np.zeros((model.space.n_cells + model.space.n_tuples, model.n_classes))
    tuples = [t for t, _ in cell_numbers(LEVELS.tolist(), model.space.order)]
    if model.unseen is not None:
        order_of = {t: k for k, t in enumerate(dict.fromkeys(tuples))}
        out[: model.space.n_cells] = [model.unseen.phi[order_of[t]] for t in tuples]
        if not model.unseen.known_only:
            out[model.space.n_cells :] = model.unseen.phi
    out[model.seen_cells] = model.phi
    return out


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("unseen", [None, "all", "known only"])
def test_scores_equal_the_definition(unseen, order):
    model, codes = make(unseen, order)
    expected = naive_forward(codes, LEVELS.tolist(), order, naive_table(model), model.bias)
    np.testing.assert_allclose(model.scores(codes, 1), expected, rtol=1e-12)


def test_unseen_cells_are_neutral_by_default():
    space = CellSpace(np.array([3]), 1)
    model = LinearModel(space, np.array([0, 2]), np.array([[1.0, 2], [3, 4]]), np.array([10.0, 20]))
    assert model.scores(np.array([[0, 1, 2, 3]], np.uint8), 1).tolist() == [[11, 22], [10, 20], [13, 24], [10, 20]]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("unseen", [None, "all", "known only"])
@pytest.mark.parametrize("C", [2, 5, 17])
def test_many_rows_are_scored_by_a_table_of_their_joint_values(C, unseen, order, monkeypatch):
    model, codes = make(unseen, order, C)
    plain = model.scores(codes, 1)
    for name in ("_MIN_UNPLANNED_LOOKUPS", "_MIN_PLANNED_LOOKUPS", "_MIN_PLANNING_ROWS", "_MIN_TABLE_LOOKUPS"):
        monkeypatch.setattr(linear, name, 0)
    by_table = model.scores(codes, 1)
    assert model.blocks is not None
    assert by_table.shape == (80, C)
    np.testing.assert_allclose(by_table, plain, rtol=1e-12, atol=1e-13)
    for n_jobs in (1, 2, 5):
        assert np.array_equal(model.scores(codes, n_jobs), by_table)
    assert model.scores(codes[:, :0]).shape == (0, C)


def test_score_table_is_planned_after_enough_lookups_of_all_calls(monkeypatch):
    model, codes = make()
    tables = []
    monkeypatch.setattr(linear, "ScoreTable", lambda *args: tables.append(ScoreTable(*args)) or tables[-1])
    monkeypatch.setattr(linear, "_MIN_UNPLANNED_LOOKUPS", 161 * model.space.n_tuples)
    monkeypatch.setattr(linear, "_MIN_PLANNED_LOOKUPS", 0)
    monkeypatch.setattr(linear, "_MIN_PLANNING_ROWS", 80)
    monkeypatch.setattr(linear, "_MIN_TABLE_LOOKUPS", 0)
    model.scores(codes, 1)
    model.scores(codes, 1)
    model.scores(codes[:, :1], 1)  # enough by now, but one row is no sample
    assert tables == []
    assert model.blocks is None
    model.scores(codes, 1)
    model.scores(codes, 1)
    assert len(tables) == 1
    assert model.blocks is not None  # a pickle has them, so that a model that is read again need not plan


def test_fitted_model_reuses_the_cover_of_its_fit(monkeypatch):
    encoded = table(60, (3, 2, 4), gaps=0.05)
    model = drain(run_of(encoded, "alr", order=2, max_iter=2)).model
    plain = model.scores(encoded.codes)
    assert sorted(t for block in model.blocks for t in block.tuples) == [0, 1, 2]
    monkeypatch.setattr(linear, "_MIN_PLANNED_LOOKUPS", 0)
    monkeypatch.setattr(linear, "_MIN_TABLE_LOOKUPS", 0)
    monkeypatch.setattr(linear, "plan_cover", None)
    np.testing.assert_allclose(model.scores(encoded.codes), plain, rtol=1e-12)
    assert model._score_table.n_rows > 0


def test_pickle_excludes_the_lookup_index():
    model, codes = make()
    scores = model.scores(codes, 1)
    assert "_index_and_cells" in model.__dict__
    again = pickle.loads(pickle.dumps(model))
    assert set(again.__dict__) == {"space", "seen_cells", "phi", "bias", "unseen", "blocks"}
    assert np.array_equal(again.scores(codes, 1), scores)


@pytest.mark.parametrize("many", [0, 10**9])
def test_scoring_hears_a_stop(many, monkeypatch):
    model, codes = make()
    for name in ("_MIN_UNPLANNED_LOOKUPS", "_MIN_PLANNING_ROWS", "_MIN_TABLE_LOOKUPS"):
        monkeypatch.setattr(linear, name, many)
    stop = StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        model.scores(codes, 1, stop)


def test_log_softmax_is_scipy_s():
    z = np.random.default_rng(0).normal(size=(50, 4)) * 300
    np.testing.assert_allclose(log_softmax(z), scipy_log_softmax(z, axis=1), rtol=1e-12, atol=1e-300)
