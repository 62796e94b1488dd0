"""The score test of what a model lacks, and what rows say without one, on tables whose truth is known."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

import alrviz
from alrviz.data.encoded import Encoded
from alrviz.errors import RecipeError, Stopped
from alrviz.fitting.tuple_tests import TupleCounts, associations, score_tests
from alrviz.kernels import effects as kernels
from alrviz.stop import NEVER, StopToken


def table(seed, n, levels, classes, strength=0.0, order=2):
    """Rows whose class hangs on single columns and, if strength > 0, on what the first `order` say together."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.choice(level, n, p=rng.dirichlet(np.full(level, 3.0))) for level in levels])
    scores = sum(rng.normal(size=(level, classes))[column] for level, column in zip(levels, codes, strict=True))
    scores = scores + strength * rng.normal(size=(*levels[:order], classes))[tuple(codes[:order])]
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1).astype(np.int32)
    names = tuple(map(str, range(len(levels))))
    return Encoded(codes.astype(np.uint8), y, np.ones(n), np.array(levels), np.arange(classes), names)


def _tested(encoded, order=2, alpha=0.01):
    run = alrviz.Run.on_encoded(encoded, alrviz.Recipe("lr", order=order - 1, alpha=alpha, max_iter=60), n_jobs=1)
    for _ in run.steps():
        pass
    every = list(combinations(range(encoded.n_columns), order))
    return score_tests(run.model.scores(encoded.codes), encoded, every, n_jobs=1)


@pytest.mark.parametrize(("n", "levels", "classes"), [(1000, [3, 3, 2, 4], 2), (3000, [4, 4, 3, 3], 3)])
def test_tables_without_interactions_give_few_false_alarms(n, levels, classes):
    p = np.concatenate([_tested(table(seed, n, levels, classes))["p"] for seed in range(12)])
    assert (p < 0.05).sum() <= binom.ppf(0.999, len(p), 0.05)


@pytest.mark.parametrize(("n", "levels", "classes"), [(600, [12, 10, 8], 2), (3000, [8, 8, 8], 10)])
def test_cells_that_few_rows_are_in_do_not_silence_it(n, levels, classes):
    found = [_tested(table(seed, n, levels, classes)) for seed in range(12)]
    ratio = np.concatenate([one["chi2"] / one["df"] for one in found])
    assert 0.8 < ratio.mean() < 1.1


def test_a_penalty_that_shrinks_main_effects_makes_no_pair():
    p = np.concatenate([_tested(table(seed, 1000, [3, 3, 2, 4], 2), alpha=5.0)["p"] for seed in range(12)])
    assert (p < 0.05).sum() <= binom.ppf(0.999, len(p), 0.05)


@pytest.mark.parametrize("order", [2, 3])
def test_planted_pair_is_found(order):
    encoded = table(1, 6000, [3, 3, 3, 3], 2, 1.0, order)
    found = _tested(encoded, order)
    assert found["gain"].idxmax() == 0
    assert found["p"][0] < 1e-6
    assert found["gain"][0] > 5 * found["gain"].drop(0).max()


def test_exclusive_or_is_seen_without_a_model():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (4, 1000)).astype(np.uint8)
    y = (codes[0] ^ codes[1] ^ (rng.random(1000) < 0.1)).astype(np.int32)
    encoded = Encoded(codes, y, np.ones(1000), np.full(4, 2), np.arange(2), tuple("abcd"))
    pairs = associations(encoded, list(combinations(range(4), 2)))
    entropy = -(0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    assert pairs["interaction"].idxmax() == 0
    assert pairs["interaction"][0] == pytest.approx(np.log(2) - entropy, abs=0.03)
    assert (pairs["g2"] >= 0).all()
    assert pairs["interaction"].drop(0).abs().max() < 0.01
    singles = associations(encoded, [(j,) for j in range(4)])
    assert np.allclose(singles["g2"], 2 * 1000 * singles["mi"])  # of one column: mutual information


@pytest.mark.parametrize("levels", [[53, 33, 4], [12, 10, 8], [3, 3, 2]])
def test_without_a_model_classes_that_are_drawn_anew_interact_with_nothing(levels):
    p = []
    for seed in range(25):
        drawn = table(seed, 1000, levels, 2)
        drawn = replace(drawn, y=np.random.default_rng(seed).permutation(drawn.y))
        p.extend(associations(drawn, list(combinations(range(3), 2)), n_jobs=1)["p"])
    assert (np.array(p) < 0.05).sum() <= binom.ppf(0.999, len(p), 0.05)


def test_fitted_margins_are_those_of_a_logistic_regression():
    """The saturated table's likelihood ratio against all parts is that of logistic regression of the parts' cells."""
    encoded = table(3, 800, [3, 2, 2], 2, 0.8)
    pair = Encoded(encoded.codes[:2], encoded.y, encoded.weights, encoded.levels[:2], encoded.classes, ("0", "1"))
    losses = []
    for order in (1, 2):
        run = alrviz.Run.on_encoded(
            pair, alrviz.Recipe("lr", order=order, alpha=0.0, max_iter=300, tol=1e-12), n_jobs=1
        )
        for step in run.steps():
            last = step.nll
        losses.append(last)
    assert associations(pair, [(0, 1)])["g2"][0] == pytest.approx(2 * (losses[0] - losses[1]), abs=1e-4)


def test_absent_tuples_names_the_missing_pair():
    data = alrviz.load_demo("xor")
    found = alrviz.interactions(alrviz.LRClassifier(order=1, alpha=0.3).fit(data.X, data.y), data)
    assert found.absent_tuples().index[0] == "bit_1 & bit_2"
    assert found.associations().index[0] == "bit_1 & bit_2"
    assert found.absent_tuples(3)["p"].min() > 0  # triples beside their pairs
    whole = alrviz.interactions(alrviz.LRClassifier(order=4, alpha=0.3).fit(data.X, data.y), data)
    with pytest.raises(RecipeError, match="nothing is lacking"):
        whole.absent_tuples()
    with pytest.raises(RecipeError, match="expected 1 to 4"):
        found.associations(5)


@pytest.mark.parametrize("levels", [[4, 3], [5, 4, 3], [3, 3, 2, 3]])
@pytest.mark.parametrize("rows", [12, 40, 4000])
def test_degrees_of_freedom_are_cells_less_the_rank_of_their_slices(levels, rows):
    encoded, every = table(rows, rows, levels, 3), tuple(range(len(levels)))
    counted = TupleCounts.from_rows(encoded, [every], 1, NEVER)
    begin, end = counted.index.begin[counted.tuples[0]], counted.index.begin[counted.tuples[0] + 1]
    looked = np.random.default_rng(rows).random((len(counted.index.local_cells), 3)) < 0.7
    ranks = []
    for k in range(3):
        at = counted.slices.slices[begin:end][looked[begin:end, k], : len(levels)]
        slices = np.zeros((len(at), at.max() + 1))
        slices[np.arange(len(at))[:, None], at] = 1.0
        ranks.append(len(at) - np.linalg.matrix_rank(slices))
    assert counted.degrees_of_freedom(looked, np.full(looked.shape, 2 / 3))[0] == pytest.approx(sum(ranks) * 2 / 3)
    if rows == 4000:  # all cells
        whole = counted.degrees_of_freedom(np.ones_like(looked), np.full(looked.shape, 2 / 3))
        assert whole[0] == pytest.approx(2 * np.prod(np.array(levels) - 1))


@pytest.mark.parametrize("max_p", [1e-3, 0.1, 0.5])
@pytest.mark.parametrize(("n", "levels", "classes", "order"), [(150, [4, 3, 3, 5], 3, 2), (400, [5, 4, 3, 3], 2, 3)])
def test_p_of_interest_needs_no_other_ranks(monkeypatch, n, levels, classes, order, max_p):
    ranks, margin_rank = [0], kernels.margin_rank

    def counted(*args):
        ranks[0] += 1
        return margin_rank(*args)

    monkeypatch.setattr("alrviz.fitting.tuple_tests.kernels.margin_rank", counted)
    n_small, n_ranks = 0, np.zeros(2, int)
    for seed in range(10):
        encoded = table(seed, n, levels, classes, strength=seed % 3, order=order)
        shares = np.log(np.bincount(encoded.y, minlength=classes) / n)
        scores = shares + 0.3 * np.random.default_rng(seed).normal(size=(n, classes))
        tuples = list(combinations(range(4), order))
        whole, n_ranks[0] = score_tests(scores, encoded, tuples), n_ranks[0] + ranks[0]
        ranks[0] = 0
        bounded, n_ranks[1] = score_tests(scores, encoded, tuples, max_p=max_p), n_ranks[1] + ranks[0]
        ranks[0] = 0
        small = whole["p"] < max_p
        n_small += small.sum()
        assert ((bounded["p"] < max_p) == small).all()
        np.testing.assert_allclose(bounded["p"][small], whole["p"][small], rtol=1e-9)
        assert (bounded["chi2"] == whole["chi2"]).all()
        assert (bounded["df"] <= whole["df"] + 1e-12).all()
    assert 0 < n_small < 10 * len(tuples)
    assert n_ranks[1] < n_ranks[0]


def test_triples_of_which_few_cells_are_filled_are_not_silenced():
    found = [_tested(table(seed, 3000, [9, 8, 7], 2), order=3, alpha=0.05) for seed in range(10)]
    ratio = np.concatenate([one["chi2"] / one["df"] for one in found])
    assert 0.75 < ratio.mean() < 1.1


def test_degrees_of_freedom_stop_and_hold_no_more_than_they_may():
    counted = TupleCounts.from_rows(table(0, 3_000, (12, 12), 2), [(0, 1)], 1, NEVER)
    looked = np.ones(counted.tables.counts.shape, bool)
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        counted.degrees_of_freedom(looked, np.ones(looked.shape), token)
    cells = np.arange(counted.index.begin[counted.tuples[0]], counted.index.begin[counted.tuples[0] + 1])
    room = counted.slices.first_slice[counted.tuples[0]]
    slices = counted.slices.slices, room[0], room[2] - room[0]
    assert kernels.margin_rank(cells, 2, *slices, 10_000) == 23
    assert kernels.margin_rank(cells, 2, *slices, 20) == -1, "less than a number for each slice"
