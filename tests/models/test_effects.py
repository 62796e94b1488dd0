import numpy as np
import pytest
from interpret.utils import purify as interpret_purify

from alrviz.data.encoded import Encoded
from alrviz.models.cell_space import AllOrders, space_of
from alrviz.models.effects import purify
from alrviz.models.index import Unseen, index_cells
from alrviz.models.linear import LinearModel
from tests.oracles.effects import pure_effects


def _rows(levels, n, seed, kind="plain"):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, level, n) for level in levels])
    if kind == "dependent":  # the second column is the first, but for a row in fifty
        codes[1] = np.where(rng.random(n) < 0.02, codes[1], codes[0] % levels[1])
    if kind == "equal":
        codes[1] = codes[0] % levels[1]
    if kind == "disconnected":  # even levels meet even ones alone
        codes[1] = (codes[1] // 2 * 2 + codes[0] % 2) % levels[1]
    if kind == "missing":
        codes[0][rng.random(n) < 0.1] = levels[0]
    return codes.astype(np.uint16)


def _model(levels, codes, tuples, classes, seed, unseen=False):
    rng = np.random.default_rng(seed)
    space = space_of(np.array(levels), tuples)
    every = [(np.arange(space.n_tuples), np.arange(codes.shape[1]))]
    seen = index_cells(space, every, codes).seen_cells
    seen = np.union1d(seen, rng.integers(0, space.n_cells, 5))  # cells that no row has, as smooth levels keep them
    phi, bias = rng.normal(size=(len(seen), classes)), rng.normal(size=classes)
    kept = Unseen(rng.normal(size=(space.n_tuples, classes)), seed % 2 == 0) if unseen else None
    return LinearModel(space, seen, phi, bias, kept)


def _encoded(levels, codes, classes, seed):
    rng = np.random.default_rng(seed)
    n = codes.shape[1]
    y, weights = rng.integers(0, classes, n), rng.exponential(size=n) * (rng.random(n) < 0.9)
    return Encoded(codes, y, weights, np.array(levels), np.arange(classes), tuple(map(str, range(len(levels)))))


CASES = [
    (order, classes, kind)
    for order, classes in ((1, 2), (2, 2), (2, 26), (3, 3), (4, 4))
    for kind in ("plain", "dependent", "equal", "disconnected", "missing")
]


@pytest.mark.parametrize(("order", "classes", "kind"), CASES)
def test_pure_effects_sum_to_the_score_and_have_no_slice_means(order, classes, kind):
    levels = [4, 4, 3, 2, 3]
    codes = _rows(levels, 300, order, kind)
    encoded = _encoded(levels, codes, classes, order)
    for tuples in (order, AllOrders(order), ((0, 1), (0,), (1, 2, 3), (4,))):
        model = _model(levels, codes, tuples, classes, order, unseen=True)
        found = purify(model, encoded, n_jobs=2)
        new = np.stack([np.random.default_rng(9).integers(0, level + 1, 400) for level in levels]).astype(np.uint16)
        for rows in (codes, new):  # of levels and cells never seen too
            scores = model.scores(rows)
            assert np.abs(found.scores(rows) - (scores - scores.mean(axis=1, keepdims=True))).max() < 1e-10
        effects = found.row_effects(codes)
        assert np.allclose(found.intercept + effects.sum(axis=1), found.scores(codes), atol=1e-12)
        for t, members in enumerate(found.space.members):
            for j in members:
                rest = [c for c in members if c != j]
                group = np.unique(codes[rest], axis=1, return_inverse=True)[1] if rest else np.zeros(300, int)
                for k in range(classes):
                    sums = np.bincount(group.ravel(), encoded.weights * effects[:, t, k])
                    mass = np.bincount(group.ravel(), encoded.weights)
                    assert np.abs(sums[mass > 0] / mass[mass > 0]).max() < 1e-10


@pytest.mark.parametrize("order", [2, 3])
def test_pure_effects_are_those_of_sweeps_over_dense_tables(order):
    levels = np.array([3, 4, 2, 3])
    codes = _rows(levels, 500, 1)
    encoded = _encoded(levels, codes, 3, 1)
    space = space_of(levels, order)
    rng = np.random.default_rng(2)
    model = LinearModel(space, np.arange(space.n_cells), rng.normal(size=(space.n_cells, 3)), np.zeros(3))
    tables = {
        tuple(own): model.phi[first : first + card].reshape(*levels[own], 3)
        for own, first, card in zip(space.members, space.first, space.cards, strict=True)
    }
    found, (expected, intercept) = purify(model, encoded), pure_effects(tables, codes, encoded.weights, levels)
    assert np.allclose(found.intercept, intercept, atol=1e-9)
    effects = found.row_effects(codes)
    for t, own in enumerate(found.space.members):
        assert np.allclose(effects[:, t], expected[tuple(own)][tuple(codes[own])], atol=1e-9)


def test_pairs_of_two_classes_are_purified_as_interpret_does():
    levels = [5, 4]
    codes = _rows(levels, 400, 3)
    encoded = _encoded(levels, codes, 2, 3)
    model = LinearModel(
        space_of(np.array(levels), 2), np.arange(20), np.random.default_rng(4).normal(size=(20, 2)), np.zeros(2)
    )
    weights = np.zeros(levels)
    np.add.at(weights, tuple(codes), encoded.weights)
    found = purify(model, encoded)
    pure, impurities, intercept = interpret_purify((model.phi[:, 1] - model.phi[:, 0]).reshape(levels), weights)
    parts = dict(impurities)
    effects = found.row_effects(codes)
    odds = effects[:, :, 1] - effects[:, :, 0]
    assert np.allclose(odds[:, found.numbers[0, 1]], pure[tuple(codes)], atol=1e-8)
    assert np.allclose(odds[:, found.numbers[(0,)]], parts[(0,)][codes[0]], atol=1e-8)
    assert np.allclose(odds[:, found.numbers[(1,)]], parts[(1,)][codes[1]], atol=1e-8)
    assert found.intercept[1] - found.intercept[0] == pytest.approx(float(intercept[0]), abs=1e-8)


def test_equal_columns_are_given_equal_shares():
    levels = [3, 3]
    codes = _rows(levels, 200, 1, "equal")
    found = purify(_model(levels, codes, 2, 2, 1), _encoded(levels, codes, 2, 1))
    effects = found.row_effects(codes)
    assert np.allclose(effects[:, found.numbers[(0,)]], effects[:, found.numbers[(1,)]])
    assert np.allclose(effects[:, found.numbers[0, 1]], 0.0, atol=1e-10)


def test_nearly_equal_columns_take_few_steps():
    """Sweeps alone would shrink what is left by a hundredth at a time."""
    levels = [20, 20]
    rng = np.random.default_rng(0)
    first = rng.integers(0, 20, 20_000)
    codes = np.stack([first, np.where(rng.random(20_000) < 0.01, (first + 1) % 20, first)]).astype(np.uint16)
    encoded = _encoded(levels, codes, 2, 0)
    found = purify(_model(levels, codes, 2, 2, 1), encoded)
    assert found.residual_means.max() < 1e-12


def test_the_number_of_threads_changes_no_bit():
    levels = [4, 3, 3, 2]
    codes = _rows(levels, 300, 5)
    model, encoded = _model(levels, codes, 3, 3, 5), _encoded(levels, codes, 3, 5)
    one, two = purify(model, encoded, n_jobs=1), purify(model, encoded, n_jobs=2)
    assert (one.f == two.f).all()
    assert (one.intercept == two.intercept).all()
