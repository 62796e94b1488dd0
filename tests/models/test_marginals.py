"""Missing columns summed out along a tree: against all completions, what drops out, and products that underflow."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from alrviz.models import marginals, networks
from alrviz.models.conditional import ConditionalTables
from alrviz.models.marginals import Parts
from alrviz.models.networks import count_network
from alrviz.models.structures import Structure, naive_structure
from tests.fitting.tables import counted, table
from tests.oracles.networks import naive_marginal

LEVELS = (3, 4, 2, 3, 2, 4)
TREES = {
    "forest": Structure(((), (0,), (0,), (2,), (), (1,)), (0, 1, 2, 3, 4, 5)),
    "chain": Structure(((1,), (2,), (3,), (4,), (5,), ()), (5, 4, 3, 2, 1, 0)),
    "star": Structure(((3,), (3,), (3,), (), (3,), (3,)), (3, 0, 1, 2, 4, 5)),
    "three": Structure(((2,), (2,), ()), (2, 0, 1)),
}


def network(structure, levels=LEVELS, gaps=0.2, noise=1.0, rows=60, **settings):
    encoded = table(rows, levels[: len(structure.parents)], seed=3, gaps=gaps, **settings)
    counts = count_network(structure, counted(encoded, 1), encoded.codes, encoded.y, encoded.weights)
    tables = ConditionalTables.from_counts(counts, sums_missing=True)
    w = tables.start + np.random.default_rng(1).normal(scale=noise, size=tables.start.shape)
    return tables.model(tables.phi(w), counts.model().bias)


def rows_with_gaps(model, n=120, gaps=0.4, seed=5):
    rng, levels = np.random.default_rng(seed), model.space.levels
    codes = np.stack([rng.integers(0, top, n) for top in levels])
    return np.where(rng.random(codes.shape) < gaps, levels[:, None], codes).astype(np.uint16)


@pytest.mark.parametrize("structure", TREES.values(), ids=TREES)
@pytest.mark.parametrize("rows", [60, 6])
def test_scores_are_sums_over_all_completions(structure, rows):
    """Of six rows some levels were never seen, and many not under many parents' levels: they count alone."""
    model = network(structure, rows=rows)
    codes = rows_with_gaps(model, n=60)

    def log_p(row):
        return model.scores(np.array(row, np.uint16)[:, None])[0]

    expected = [naive_marginal(log_p, model.space.levels.tolist(), row) for row in codes.T.tolist()]
    np.testing.assert_allclose(model.scores(codes), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.scores(codes, 2), model.scores(codes, 1))
    parts = model.contributions(codes)
    np.testing.assert_allclose(model.bias + parts.sum(axis=1), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores(codes), model.scores(codes))


def test_rows_without_gaps_and_naive_bayes_are_scored_as_ever():
    for structure, gaps in ((TREES["forest"], 0.0), (naive_structure(6), 0.4)):
        model = network(structure)
        codes = rows_with_gaps(model, gaps=gaps)
        np.testing.assert_array_equal(model.scores(codes), replace(model, sums_missing=False).scores(codes))
        assert not len(Parts.from_rows(model.tree, codes))


def test_missing_leaves_drop_out_and_others_do_not():
    model = network(TREES["forest"])
    codes = rows_with_gaps(model, gaps=0.0)
    codes[5], codes[3] = LEVELS[5], LEVELS[3]  # leaves
    without = model.bias + model.contributions(codes)[:, [0, 1, 2, 4]].sum(axis=1)
    np.testing.assert_allclose(model.scores(codes), without, rtol=1e-13)
    codes[2] = LEVELS[2]  # above a leaf that is missing too
    assert not len(Parts.from_rows(model.tree, codes))
    codes[0] = LEVELS[0]  # above a column that is there
    assert len(Parts.from_rows(model.tree, codes))
    codes[:] = np.array(LEVELS)[:, None]
    np.testing.assert_array_equal(model.scores(codes), np.tile(model.bias, (120, 1)))


def test_equal_parts_are_computed_once():
    model = network(TREES["forest"])
    codes = rows_with_gaps(model, gaps=0.0)
    codes[0] = LEVELS[0]
    parts = Parts.from_rows(model.tree, codes)
    assert len(parts) == len({tuple(row) for row in codes[[1, 2]].T.tolist()}) <= 4 * 2
    assert len(parts.rows) == 120
    codes[1] = LEVELS[1]  # now its children's levels count as well
    assert len(Parts.from_rows(model.tree, codes)) == len({tuple(row) for row in codes[[2, 5]].T.tolist()})


@pytest.mark.parametrize("wide", [False, True])
def test_products_of_many_tables_do_not_underflow(wide):
    """A missing parent of 600 columns, each unlikely in every level."""
    a = 600
    model = network(Structure(((), *[(0,)] * (a - 1)), tuple(range(a))), (3,) * a, 0.0, 4.0, 40, n_classes=2)
    codes = rows_with_gaps(model, 20, gaps=0.0)
    codes[0] = 3
    codes = codes.astype(np.uint32) if wide else codes
    found = model.scores(codes)
    assert (found < -800).all()  # e**-800 is 0
    phi = [model.scores(np.concatenate([np.full((1, 20), u, codes.dtype), codes[1:]])) for u in range(3)]
    np.testing.assert_allclose(found, np.logaddexp.reduce(phi, axis=0), rtol=1e-13)


def test_a_long_chain_is_summed_as_a_hidden_markov_model_is():
    """600 states in a row, none known, and what each one shows: forward, brought to a sum of 1 at every step."""
    a, n = 600, 20
    structure = Structure(((), *[(j,) for j in range(a - 1)], *[(j,) for j in range(a)]), tuple(range(2 * a)))
    model = network(structure, (3,) * 2 * a, 0.0, 2.0, 40, n_classes=2)
    shown = rows_with_gaps(model, n, gaps=0.0)[a:]
    found = model.scores(np.concatenate([np.full((a, n), 3, np.uint16), shown]))
    first, rest = np.exp(model.phi[:3]), np.exp(model.phi[3:]).reshape(2 * a - 1, 3, 3, 2)
    expected = np.tile(model.bias, (n, 1))
    state = np.tile(first.T, (n, 1, 1))  # (rows, classes, levels)
    for j in range(a):
        if j:
            state = np.einsum("iku,uvk->ikv", state, rest[j - 1])
        state *= rest[a - 1 + j][:, shown[j]].transpose(1, 2, 0)
        expected += np.log(state.sum(axis=2))
        state /= state.sum(axis=2, keepdims=True)
    assert (found < -800).all()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_chunked_work_gives_the_same_result(monkeypatch):
    model = network(TREES["forest"])
    codes, residual = rows_with_gaps(model), np.random.default_rng(0).normal(size=(120, model.n_classes))
    parts = Parts.from_rows(model.tree, codes)
    scores, slopes = model.scores(codes), parts.slopes(residual, model.phi, model.level_log_p)
    monkeypatch.setattr(marginals, "_PAIRS_PER_CALL", 40)
    monkeypatch.setattr(networks, "LOOKUPS_PER_CALL", 1)  # 16 rows at a time
    pieces = parts._pieces()
    assert 4 < len(pieces) < len(parts)
    assert [begin for begin, _ in pieces] == [0, *[end for _, end in pieces[:-1]]]
    np.testing.assert_array_equal(model.scores(codes, 2), scores)
    np.testing.assert_array_equal(parts.slopes(residual, model.phi, model.level_log_p), slopes)


def test_numbers_of_distinct_parts_do_not_overflow():
    """Of 40 columns of 127 levels there are 2**280 possible parts."""
    star = Structure(((), *[(0,)] * 39), tuple(range(40)))
    model = network(star, (127,) * 40, rows=300)
    codes = np.tile(rows_with_gaps(model, 1, gaps=0.0), 50)
    codes[0], codes[1] = 127, np.arange(50)
    twice = np.concatenate([codes, codes], axis=1)
    assert len(Parts.from_rows(model.tree, twice)) == 50
    np.testing.assert_array_equal(*np.split(model.scores(twice), 2))
