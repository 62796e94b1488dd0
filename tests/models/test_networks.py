"""Bayesian network classifiers: tables and scores against the formulas, with weights, gaps and unseen parents."""

import pickle

import numpy as np
import pytest

from alrviz.errors import MemoryLimitError
from alrviz.models import averages
from alrviz.models.averages import AverageModel
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.models.networks import count_network, select_network
from alrviz.models.parameterisation import anje_phi
from alrviz.models.structures import Structure, class_information, kdb_structure, naive_structure
from tests.fitting.tables import counted, kernel_codes, table
from tests.oracles.networks import naive_average, naive_network

STRUCTURES = {
    "naive": naive_structure(4),
    "tree": Structure(((), (0,), (0,), (2,)), (0, 1, 2, 3)),
    "two parents": Structure(((2,), (0, 2), (), (1, 0)), (2, 0, 1, 3)),
}


def network(encoded, structure, m=1.0, **named):
    return count_network(structure, counted(encoded, 1, m), encoded.codes, encoded.y, encoded.weights, **named).model()


def new_rows(encoded, n=60, seed=9):
    """Codes of every kind: seen, unseen together, and no level."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, top + 1, n) for top in encoded.levels]).astype(np.uint16)


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize(("weights", "gaps", "m"), [(None, 0.0, 1.0), ("fractions", 0.2, 0.3)])
def test_scores_equal_the_formulas(structure, weights, gaps, m):
    encoded = table(40, (3, 4, 2, 5), weights=weights, gaps=gaps, seed=2)
    model, codes = network(encoded, structure, m), new_rows(encoded)
    given = encoded.codes.tolist(), encoded.levels.tolist(), encoded.y.tolist(), encoded.weights.tolist(), 3, m
    expected = [naive_network(*given, structure.parents, row) for row in codes.T.tolist()]
    np.testing.assert_allclose(model.scores(codes), expected, rtol=1e-12)
    parts = model.contributions(codes)
    assert parts.shape == (60, 4, 3)
    np.testing.assert_allclose(model.bias + parts.sum(axis=1), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("weights", "m", "together"),
    [(None, 1.0, None), ("fractions", 0.3, None), *(("fractions", 0.3, together) for together in (1, 32, 10**6))],
)
def test_averages_equal_the_formulas(n, weights, m, together, monkeypatch):
    """Row by row (None), and parent by parent: column by column, some of them together, all together."""
    monkeypatch.setattr(AverageModel, "_is_faster_by_parent", lambda *of: together is not None)
    monkeypatch.setattr(averages, "_MAX_GROUP_VALUES", together or 32)
    encoded = table(40, (3, 4, 2, 5), weights=weights, seed=4)
    model = average(encoded, n, m)
    codes = np.column_stack([new_rows(encoded), encoded.levels]).astype(np.uint16)  # the last row has no level
    given = encoded.codes.tolist(), encoded.levels.tolist(), encoded.y.tolist(), encoded.weights.tolist(), 3, m
    orders, fallbacks = [], model.naive_bayes.scores(codes)
    for row, scores, fallback in zip(codes.T.tolist(), model.scores(codes), fallbacks, strict=True):
        means = {order: naive_average(*given, order, row) for order in range(n, 0, -1)}
        order = next((order for order, mean in means.items() if mean is not None), 0)
        np.testing.assert_allclose(scores, means[order] if order else fallback, rtol=1e-11)
        orders.append(order)
    assert {n, n - 1, 0} <= set(orders)


def average(encoded, n, m=1.0):
    return AverageModel(counted(encoded, n, m), counted(encoded, n + 1, m), network(encoded, naive_structure(4), m))


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_many_rows_are_scored_parent_by_parent(dtype, monkeypatch):
    """In pieces of rows and of tables, of a parent with cells that are hashed, with rows that share no cell."""
    encoded = table(300, (3, 40, 2, 50, 3), 7, dtype=dtype, seed=9)
    model = AverageModel(counted(encoded, 2), counted(encoded, 3), network(encoded, naive_structure(5)))
    codes = np.random.default_rng(0).integers(0, encoded.levels[:, None] + 1, (5, 3000)).astype(dtype)
    groups = averages._ColumnGroups.from_codes(codes, encoded.levels)
    assert not model._is_faster_by_parent(10, groups)
    assert model._is_faster_by_parent(3000, groups)
    whole = model.scores(codes, 1)
    monkeypatch.setattr(averages, "_ROWS_PER_CALL", 100)
    for most, batch in ((0, 3000), (2**14, 3000), (2**25, 700)):
        monkeypatch.setattr(averages, "_ROWS_PER_BATCH", batch)
        with monkeypatch.context() as patch:
            patch.setattr(AverageModel, "_is_faster_by_parent", lambda *of: True)
            patch.setattr(averages, "_MAX_TABLE_BYTES", most)
            found = model.scores(codes, 2)
            np.testing.assert_allclose(found, whole, rtol=1e-12)
            assert batch < 3000 or np.array_equal(found, whole)
    monkeypatch.setattr(averages, "_MAX_TABLE_BYTES", 1000)  # a table of a parent alone is larger
    assert not model._is_faster_by_parent(3000, groups)
    np.testing.assert_allclose(model.scores(codes, 2), whole, rtol=1e-12)


def test_products_of_many_small_shares_do_not_vanish():
    encoded = table(40, (3, *(200,) * 100), 2, seed=5)
    model = AverageModel(
        counted(encoded, 1, 0.01), counted(encoded, 2, 0.01), network(encoded, naive_structure(101), 0.01)
    )
    scores = model.scores(new_rows(encoded))
    assert np.isfinite(scores).all()
    assert scores.min() < -750  # beyond what a float64 holds as a product


def test_naive_bayes_is_kdb_without_parents_and_anje_of_order_one():
    encoded = table(100, (3, 4, 2, 5), weights="fractions", seed=6)
    tables, codes = counted(encoded, 1), new_rows(encoded)
    codes = np.where(codes < encoded.levels[:, None], codes, 0).astype(np.uint16)
    anje = LinearModel(tables.space, tables.seen_cells, anje_phi(tables)[:-1], tables.log_pi).scores(codes)
    for structure in (naive_structure(4), kdb_structure(np.arange(4.0), np.ones((4, 4)), 0)):
        np.testing.assert_allclose(network(encoded, structure).scores(codes), anje, rtol=1e-12)


def test_every_table_is_a_distribution():
    encoded = table(60, (3, 4, 2, 5), seed=7)
    for structure in STRUCTURES.values():
        model = network(encoded, structure)
        for t, j in enumerate(structure.order):
            codes = np.tile(encoded.codes[:, :1], (1, int(encoded.levels[j]))).astype(np.uint16)
            codes[j] = np.arange(encoded.levels[j])
            np.testing.assert_allclose(np.exp(model.contributions(codes)[:, t]).sum(axis=0), 1.0, rtol=1e-12)


def test_a_cut_structure_scores_by_its_own_columns_alone():
    encoded = table(60, (3, 4, 2, 5), seed=8)
    whole = STRUCTURES["two parents"]
    cut = network(encoded, whole.cut(2, 2))
    full = network(encoded, whole)
    codes = new_rows(encoded)
    np.testing.assert_allclose(cut.scores(codes), full.bias + full.contributions(codes)[:, :2].sum(axis=1), rtol=1e-12)


def test_the_same_bits_for_every_number_of_threads_and_after_pickling():
    encoded = table(3000, (3, 4, 2, 5), seed=1)
    model, mean, codes = network(encoded, STRUCTURES["tree"]), average(encoded, 2), kernel_codes(encoded)
    codes = np.tile(codes, (1, 50))
    for of in (model, mean):
        once = of.scores(codes, 1)
        assert (of.scores(codes, 2) == once).all()
        assert (pickle.loads(pickle.dumps(of)).scores(codes, 1) == once).all()
    assert np.isfinite(log_softmax(once)).all()


def test_too_many_cells_are_refused():
    encoded = table(50, (2,) * 5, 2)
    encoded.levels[:] = 2**16
    with pytest.raises(MemoryLimitError, match=r"tuples of up to 5 columns .* choose fewer columns"):
        network(encoded, Structure(((), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)), (0, 1, 2, 3, 4)))


@pytest.mark.parametrize("weights", [None, "fractions"])
def test_selective_kdb_scores_every_row_by_the_others(weights):
    """Against a network counted anew without each row."""
    encoded = table(40, (3, 4, 2, 5), weights=weights, seed=2)
    structure = STRUCTURES["two parents"]
    tables = counted(encoded, 1)
    counts, rmse = select_network(structure, tables, encoded.codes, encoded.y, encoded.weights)
    squares = np.zeros((3, 5))
    rows = encoded.codes.tolist(), encoded.levels.tolist(), encoded.y.tolist()
    for i in range(40):
        lighter = encoded.weights.copy()
        lighter[i] -= min(1.0, lighter[i])
        for k in range(3):
            for s in range(5):
                cut = structure.cut(k, s)
                row = [v if j in cut.order else encoded.levels[j] for j, v in enumerate(encoded.codes[:, i].tolist())]
                p = np.exp(log_softmax(naive_network(*rows, lighter.tolist(), 3, 1.0, cut.parents, row)[None])[0])
                squares[k, s] += encoded.weights[i] * ((p - np.eye(3)[encoded.y[i]]) ** 2).mean()
    np.testing.assert_allclose(rmse, np.sqrt(squares / encoded.weights.sum()), rtol=1e-9)
    k, s = np.unravel_index(rmse.argmin(), rmse.shape)
    assert counts.structure == structure.cut(k, s)


def test_selective_kdb_leaves_noise_out():
    rng = np.random.default_rng(0)
    encoded = table(400, (3, 2, 4, 4, 4), 2, seed=0)
    encoded.y[:] = rng.integers(0, 2, 400)
    encoded.codes[1] = np.where(rng.random(400) < 0.1, 1 - encoded.y, encoded.y)
    encoded.codes[2:] = rng.integers(0, 4, (3, 400))
    structure = kdb_structure(class_information(counted(encoded, 1)), np.zeros((5, 5)), 1)
    data = (structure, counted(encoded, 1), encoded.codes, encoded.y, encoded.weights)
    counts, rmse = select_network(*data)
    assert counts.structure.order == (1,)
    assert (select_network(*data, n_jobs=2)[1] == rmse).all()


def test_uninformative_columns_leave_the_class_shares():
    encoded = table(30, (1, 1, 1), 2, seed=0)
    counts, _ = select_network(naive_structure(3), counted(encoded, 1), encoded.codes, encoded.y, encoded.weights)
    assert counts.structure.order == ()
    model = counts.model()
    np.testing.assert_array_equal(model.scores(encoded.codes), np.tile(model.bias, (30, 1)))
    assert model.contributions(encoded.codes).shape == (30, 0, 2)
