"""SGD and AdaGrad against their naive selves; the search of eta0; one stream of states; the seed."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from alrviz.errors import RecipeError, Stopped
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers import Stochastic, stochastic
from alrviz.fitting.solvers.stochastic import ENDS, ETA_HALF_LIFE_PASSES, TRIAL_PASSES, Search, Training, draw_sample
from alrviz.stop import StopToken
from tests.fitting.tables import drain, prepared_objective, run_of, same_steps, states, table
from tests.oracles.stochastic import naive_adagrad, naive_loss, naive_sgd

METHODS = ["sgd", "adagrad"]
METRICS = [
    ("lr", {}),
    ("alr", {"center": "anje"}),
    ("lr", {"scale": "diagonal", "missing": "skip"}),
    ("alr", {"share": "cell"}),
    ("alr", {"share": "tuple", "penalty": "w"}),
    ("alr", {"share": "all", "center": 1}),
]


def make(family="lr", params=None, rows=60, weights="whole", **more):
    encoded = table(rows, (3, 4, 2), 3, weights=weights, gaps=0.1 if (params or {}).get("missing") else 0.0)
    return prepared_objective(encoded, family, **{"order": 2, "alpha": 0.5, "penalty": "phi", **(params or {}), **more})


def naive_parts(objective):
    """The places of each row, from the plain path, and the weight indices of each place."""
    cover, rows = objective._cover, objective.rows
    blocks, outside = cover.blocks, 2 * cover.index.space.n_tuples
    last = len(objective.scale) - 1
    places = []
    for i in range(rows.n_rows):
        found = []
        for b in range(blocks.n_blocks):
            joint = blocks.first[b + 1] - blocks.first[b]
            links = blocks.links[blocks.first_link[b] : blocks.first_link[b + 1]].reshape(joint, -1)
            found += (links[rows.keys[b, i]] - outside).tolist()
        places.append([c for c in found if c >= 0] + [last])
    weight_index = objective.parameterisation.weight_index
    weight_index = (
        np.arange(objective.scale.size).reshape(objective.scale.shape) if weight_index is None else weight_index
    )
    return places, weight_index


def naive_pull(objective, places, weight_index, order):
    looked = np.zeros(objective.center.size)
    for row in order:
        looked[np.unique(weight_index[places[row]])] += 1
    return objective.ridge.ravel() / np.maximum(1, looked), looked


@pytest.mark.parametrize("loss", ["nll", "mse"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(("family", "params"), METRICS)
def test_sgd_and_adagrad_match_naive_implementation(family, params, alpha, loss):
    objective, w0 = make(family, params, alpha=alpha, objective=loss)
    single = objective.single_rows()
    places, weight_index = naive_parts(objective)
    assert [len(p) for p in places] == [4] * len(places) or params.get("missing")
    order = np.random.default_rng(0).permutation(single.visit_order)[:80]
    weights, center = single.weights, objective.center.ravel()
    start = w0.ravel() + 0.1 * np.random.default_rng(1).normal(size=w0.size)

    ridge = objective.ridge.ravel() / len(single.visit_order)
    w, clock = start.copy(), np.zeros(2)
    single.sgd(order[:50], w, center, ridge, 0.3, 0.01, clock)
    single.sgd(order[50:], w, center, ridge, 0.3, 0.01, clock)
    of_rows = (order, places, single.y, weights, objective.scale, weight_index)
    expected = naive_sgd(*of_rows, start, center, ridge, 0.3, 0.01, loss)
    np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-12)
    assert clock[0] == 80

    ridge, looked = naive_pull(objective, places, weight_index, single.visit_order)
    np.testing.assert_array_equal(single.visits(single.visit_order, len(w)), looked)
    w, squares = start.copy(), np.zeros(len(start))
    single.adagrad(order[:50], w, center, ridge, 0.3, squares)
    single.adagrad(order[50:], w, center, ridge, 0.3, squares)
    expected, total = naive_adagrad(*of_rows, start, center, ridge, 0.3, loss)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(squares, total, rtol=1e-9, atol=1e-20)
    assert single.loss(order, w) == pytest.approx(naive_loss(*of_rows, w, loss), rel=1e-12)
    assert single.loss(order, w * np.inf) == np.inf


def test_a_row_of_weight_three_is_three_rows_and_one_of_none_is_none():
    encoded = table(40, (3, 4, 2), 3)
    encoded.weights[:] = np.random.default_rng(0).integers(0, 4, 40)
    repeated = encoded.take(np.repeat(np.arange(40), encoded.weights.astype(int)))
    repeated.weights[:] = 1.0
    ends = []
    for rows in (encoded, repeated):
        objective, w0 = prepared_objective(rows, "lr", order=2, alpha=0.5)
        single = objective.single_rows()
        kept = np.argsort(single.visit_order, kind="stable")
        assert len(kept) == encoded.weights.sum()
        assert set(single.weights[single.visit_order]) == {1.0}
        w = w0.ravel().copy()
        single.sgd(
            single.visit_order, w, objective.center.ravel(), objective.ridge.ravel() / len(kept), 0.1, 0.01, np.zeros(2)
        )
        ends.append(objective.value_grad(w.reshape(w0.shape)).objective)
    assert ends[0] == pytest.approx(ends[1], rel=0.02)  # merged rows stand in another order
    encoded.weights[:] = np.random.default_rng(0).uniform(0.1, 2.9, 40)
    single = prepared_objective(encoded, "lr")[0].single_rows()
    assert single.weights[single.visit_order].sum() == pytest.approx(encoded.weights.sum())


def test_huge_weights_do_not_make_a_pass_endless():
    encoded = table(50)
    encoded.weights[:] = 1e9
    single = prepared_objective(encoded, "lr")[0].single_rows()
    assert len(single.visit_order) <= 2_000_000
    assert single.weights[single.visit_order].sum() == pytest.approx(50e9)


@pytest.mark.parametrize("method", METHODS)
def test_trials_come_first_and_passes_follow(method):
    objective, w0 = make(rows=300)
    fitted = list(islice(states(Stochastic(method, 3), objective, w0), 60))
    kinds = [state.kind for state in fitted]
    searched = kinds.count("search")
    assert kinds == ["inner"] + ["search"] * searched + ["inner"] * (59 - searched)
    assert searched >= 11
    assert [state.index for state in fitted] == [0] * (searched + 1) + list(range(1, 60 - searched))
    assert all(state.point is fitted[0].point for state in fitted[: searched + 1])
    tried = [state.extra["eta0"] for state in fitted[1:12]]
    np.testing.assert_allclose(np.log10(tried), np.linspace(*ENDS[method], 11), atol=1e-12)
    plan = fitted[1].carry.plan
    trial = (TRIAL_PASSES + 0.5) * len(plan.sample) / len(plan.rows.visit_order)
    spent = np.diff([state.passes for state in fitted])
    np.testing.assert_allclose(spent, [trial] * searched + [1.0] * (59 - searched), rtol=1e-9)
    assert fitted[-1].evaluations == 1  # a look for the report is on nobody's account
    assert fitted[-1].point.objective < 0.9 * fitted[0].point.objective
    assert fitted[-1].point.objective == objective.value_grad(fitted[-1].point.w).objective


def test_the_search_keeps_the_neighbours_of_the_best_until_they_are_close(monkeypatch):
    objective, w0 = make()
    state = Stochastic("sgd").init(objective, w0)
    plan = Stochastic("sgd")._plan(objective)
    asked = []

    def trial(self, objective, state, search, x):
        asked.append(x)
        return replace(state, kind="search", carry=replace(search, values={**search.values, x: 1.0 + abs(x - 0.3)}))

    monkeypatch.setattr(Stochastic, "_trial", trial)
    monkeypatch.setattr(stochastic, "CLOSE_DIFFERENCE", 0.05)
    state = replace(state, carry=Search(plan, -5.0, 2.0))
    while not isinstance(state.carry, Training):
        state = Stochastic("sgd").advance(objective, state)
    assert len(asked) == len(set(asked))  # nothing is tried twice
    first, second = np.linspace(-5, 2, 11), np.linspace(-0.1, 1.3, 11)
    np.testing.assert_allclose(asked[:11], first)
    np.testing.assert_allclose(asked[11:19], np.delete(second, [0, 5, 10]))  # about 0.6, the nearest to 0.3
    assert len(asked) == 11 + 8 + 8  # twice drawn together: then F at the ends is within CLOSE of the best
    assert np.log10(state.carry.eta0) == pytest.approx(0.3, abs=0.02)
    assert min(abs(np.array(asked) - 0.3)) == abs(np.log10(state.carry.eta0) - 0.3)


def test_the_search_is_clamped_at_its_ends(monkeypatch):
    objective, w0 = make()
    solver = Stochastic("adagrad")
    search = Search(solver._plan(objective), -6.0, 6.0, {x: -x for x in np.linspace(-6, 6, 11).tolist()})
    state = solver.init(objective, w0)
    narrowed = solver._narrow(state, search, np.linspace(-6, 6, 11).tolist())
    assert (narrowed.low, narrowed.high) == pytest.approx((4.8, 6.0))
    far = replace(search, rounds=stochastic.MAX_ROUNDS - 1)
    assert isinstance(solver._narrow(state, far, np.linspace(-6, 6, 11).tolist()), Training)


@pytest.mark.parametrize("method", METHODS)
def test_a_trial_is_a_short_fit_of_the_sample_judged_by_its_share_of_f(method, monkeypatch):
    monkeypatch.setattr(stochastic, "MIN_SAMPLE_ROWS", 100)
    objective, w0 = make(rows=400, alpha=0.1)
    state = list(islice(states(Stochastic(method, 5), objective, w0), 3))[2]
    plan, eta0 = state.carry.plan, state.extra["eta0"]
    assert len(plan.sample) == 100 < len(plan.rows.visit_order)

    def penalty(w):
        return 0.1 * ((w.reshape(w0.shape) * objective.scale) ** 2).sum()

    w, memory = w0.ravel().copy(), np.zeros(2 if method == "sgd" else w0.size)
    mean = w
    for k in range(TRIAL_PASSES):
        order = np.random.default_rng((5, 1, k)).permutation(plan.sample)
        decay = (1 / (ETA_HALF_LIFE_PASSES * 100),) if method == "sgd" else ()
        getattr(plan.rows, method)(order, w, plan.center, plan.ridge, eta0, *decay, memory)
        mean = mean + 4 / (k + 4) * (w - mean)
    expected = plan.rows.loss(plan.sample, mean) * len(plan.rows.visit_order) / 100 + penalty(mean)
    assert state.extra["search_objective"] == pytest.approx(expected, rel=1e-12)
    whole = plan.rows.loss(plan.rows.visit_order, mean) + penalty(mean)
    assert whole == pytest.approx(objective.value_grad(mean.reshape(w0.shape)).objective, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_weights_shown_are_the_later_passes_mean(method):
    """Each pass k of p weighs as 4 (k+2)! (p-1)! / ((k-1)! (p+3)!): those of the last half nine times the others."""
    objective, w0 = make(rows=100)
    passes = [state for state in islice(states(Stochastic(method), objective, w0), 60) if state.index]
    ends = np.stack([state.carry.w for state in passes])
    p, k = len(ends), np.arange(1, len(ends) + 1)
    weights = 4.0 * k * (k + 1) * (k + 2) / (p * (p + 1) * (p + 2) * (p + 3))
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(passes[-1].point.w.ravel(), weights @ ends, rtol=1e-9, atol=1e-12)
    assert passes[0].point.w.ravel() == pytest.approx(ends[0])


@pytest.mark.parametrize("method", METHODS)
def test_advancing_leaves_the_old_state_as_it_was(method):
    objective, w0 = make(rows=100)
    for state in islice(states(Stochastic(method), objective, w0), 45):
        carry = state.carry
        kept = (carry.w.copy(), carry.memory.copy()) if isinstance(carry, Training) else ()
        first, second = (Stochastic(method).advance(objective, state) for _ in range(2))
        for before, after in zip(kept, (carry.w, carry.memory) if kept else (), strict=True):
            assert np.array_equal(before, after)
        assert (first.kind, first.passes, dict(first.extra)) == (second.kind, second.passes, dict(second.extra))
        if isinstance(first.carry, Training):
            assert np.array_equal(first.carry.w, second.carry.w)


def test_the_sample_is_stratified():
    y = np.repeat([0, 1, 2], [30_000, 9000, 1000])
    sample = draw_sample(np.arange(40_000), y, 1)
    assert len(set(sample)) == len(sample) == 2000
    np.testing.assert_allclose(np.bincount(y[sample]) / 2000, [0.75, 0.225, 0.025], atol=0.001)
    assert set(draw_sample(np.arange(40_000), y, 2)) != set(sample)
    assert sorted(draw_sample(np.arange(3), np.array([0, 1, 1]), 0)) == [0, 1, 2]


@pytest.mark.parametrize("method", METHODS)
def test_a_run_is_one_stream_and_its_seed_decides(method):
    encoded = table(150)

    def run(seed=0, **more):
        return drain(run_of(encoded, "alr", solver=method, seed=seed, tol=0.0, **{"max_iter": 4, **more}))

    long, short = run(), run(max_iter=2)
    cut = len(short.trace)
    assert same_steps(short.trace, long.trace.since(0)[:cut])
    assert long.trace[-1].index == 4
    assert long.outcome.code == "step limit"
    assert same_steps(run().trace, long.trace)
    assert run(seed=1).trace[-1].objective != long.trace[-1].objective
    assert same_steps(long.replay(2).trace, short.trace)
    frame = long.trace.frame()
    assert frame["search_objective"].notna().sum() == (frame["kind"] == "search").sum() > 0
    assert frame.loc[frame["kind"] == "inner", "train_error"].notna().all()
    assert run(max_iter=0).trace[-1].index == 0
    assert len(run(max_iter=0).trace) == 1


def test_a_solver_of_single_rows_needs_probabilities():
    with pytest.raises(RecipeError, match=r"solver='sgd'.*'rows'.*objective='hinge'"):
        Recipe("lr", solver="sgd", objective="hinge", alpha=0.3)


def test_stop_token_ends_a_pass():
    objective, w0 = make()
    solver = Stochastic("sgd")
    state = next(islice(states(solver, objective, w0), 40, None))
    objective.stop = StopToken()
    objective.stop.stop()
    with pytest.raises(Stopped):
        solver.advance(objective, state)
