"""DLR in the stream: weights inside, bandwidths outside, and all that a run does with any fit."""

from itertools import pairwise

import numpy as np
import pytest

from alrviz.data.demos import load_demo
from alrviz.errors import RecipeError
from alrviz.fitting.density import hierarchical
from alrviz.fitting.density.hierarchical import MAX_LOG_STEP, MIN_LOG_STEP, STEP_GROWTH, Hierarchical, OuterCarry, _bfgs
from alrviz.fitting.recipe import Recipe, paper_mode
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.state import SolverState
from alrviz.models import density as of_density
from alrviz.models import density_votes
from alrviz.models.linear import log_softmax
from alrviz.studies.race.milestones import heldout_losses
from alrviz.studies.race.race import race
from tests.fitting.mixed import density_objective, density_run, mixed
from tests.fitting.tables import drain, same_steps

MODES = ["loo", "silverman", "validation", "paper"]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_inner_steps_move_weights_and_outer_ones_bandwidths(mode, n_classes):
    run = density_run(mixed(120, n_classes), bandwidth=mode, alpha=0.3)
    seen = []
    for step in run.steps():
        assert {name for name in step.extra if name.startswith("h_")} == {"h_0", "h_2"}
        assert ("validation_log_loss" in step.extra) == (mode in ("validation", "paper"))
        seen.append((step, run.state.point))
    assert run.outcome.code == "converged", run.outcome
    for (before, earlier), (step, point) in pairwise(seen[:-1]):  # the last one says that it ends
        still = np.array_equal(earlier.features.log_h, point.features.log_h)
        assert still == (step.kind == "inner")
        if step.kind == "inner":
            assert step.objective < before.objective
        else:
            assert point.e < earlier.e
            assert np.abs(point.features.log_h - earlier.features.log_h).max() <= MAX_LOG_STEP * (1 + 1e-12)
    kinds = {step.kind for step, _ in seen}
    assert kinds == ({"inner"} if mode == "silverman" else {"inner", "outer"})


def test_leaving_rows_out_lowers_one_objective_at_every_step():
    run = drain(density_run(mixed(200, 3), bandwidth="loo", alpha=0.1))
    values = [step.objective for step in run.trace]
    assert (np.diff(values)[:-1] < 0).all()
    fixed = drain(density_run(mixed(200, 3), bandwidth="silverman", alpha=0.1))
    assert [step.kind for step in fixed.trace] == ["inner"] * len(fixed.trace)


def test_the_inverse_hessian_knows_its_last_step():
    rng = np.random.default_rng(0)
    s, bend = rng.normal(size=3), np.diag([1.0, 2.0, 5.0])
    inverse = _bfgs(np.eye(3), s, bend @ s)
    np.testing.assert_allclose(inverse @ (bend @ s), s, rtol=1e-12)  # the secant equation
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12)
    assert np.linalg.eigvalsh(inverse).min() > 0.0
    np.testing.assert_array_equal(_bfgs(inverse, s, -s), STEP_GROWTH * inverse)


@pytest.mark.parametrize("mode", ["loo", "validation"])
def test_a_step_of_the_bandwidths_is_halved_until_it_lowers_the_loss_as_far_as_its_slope_says(mode, monkeypatch):
    """On rows so few that sums are exact; a full step lowers a quadratic by half of what its slope says."""
    share = 0.9
    monkeypatch.setattr(hierarchical, "SUFFICIENT_DECREASE", share)
    run = density_run(mixed(120, 2, overlap=1.5), bandwidth=mode, alpha=0.5, max_iter=25)
    halved, before = 0, None
    for step in run.steps():
        point = run.state.point
        if before is not None and step.kind == "outer" and step.step_size > 0.0:
            moved = point.features.log_h - before.features.log_h
            assert point.e <= before.e + share * float(before.slopes @ moved) + 1e-9
            halved += step.step_size < 1.0
        before = point
    assert halved > 2


@pytest.mark.parametrize("mode", ["loo", "validation"])
@pytest.mark.parametrize("overlap", [1.0, 2.5])
def test_categorical_features_are_computed_once(mode, overlap, monkeypatch):
    """Features of levels are taken from the point, and the fit is the same to the last bit."""
    counted = []
    fill_categorical = density_votes.passes.fill_categorical
    monkeypatch.setattr(
        density_votes.passes, "fill_categorical", lambda *given: (counted.append(1), fill_categorical(*given))
    )
    encoded = mixed(200, 3, overlap=overlap)
    kept = drain(density_run(encoded, bandwidth=mode, max_iter=15))
    few = len(counted)
    fill = of_density.DensityFeatures._compute_features
    monkeypatch.setattr(
        of_density.DensityFeatures, "_compute_features", lambda self, *given: fill(self, *given[:-2], None, given[-1])
    )
    anew = drain(density_run(encoded, bandwidth=mode, max_iter=15))
    assert same_steps(kept.trace, anew.trace)
    assert np.array_equal(kept.state.point.w, anew.state.point.w)
    assert few < 0.5 * (len(counted) - few)


@pytest.mark.parametrize("mode", ["loo", "validation"])
def test_at_the_end_all_slopes_are_0(mode):
    run = drain(density_run(mixed(150, 3, overlap=1.5), bandwidth=mode, alpha=0.5, tol=1e-12))
    point = run.state.point
    assert point.weights_objective.criterion(point.inner) < 1e-8
    assert run.objective.unrest(point) < 1e-5


def test_algorithm_1_ends_when_the_bandwidths_stand_still():
    run = drain(density_run(mixed(150, 2, overlap=1.5), bandwidth="paper", alpha=0.0, max_iter=2000))
    assert "no bandwidth by more than a hundredth" in run.outcome.sentence
    moved = [step for step in run.trace if step.kind == "outer"]
    last, before = (
        np.array([step.extra["h_0"], step.extra["h_2"]]) for step in (moved[-1], run.trace[moved[-1].index - 1])
    )
    assert np.abs(np.log(last / before)).max() < MIN_LOG_STEP


@pytest.mark.parametrize("mode", MODES)
def test_the_first_steps_are_those_of_a_shorter_fit(mode):
    encoded = mixed(120, 3)
    whole = drain(density_run(encoded, bandwidth=mode))
    for k in (0, 3, len(whole.trace) // 2):
        part = drain(density_run(encoded, bandwidth=mode, max_iter=k))
        assert same_steps(part.trace, whole.trace.since(0)[: k + 1])


@pytest.mark.parametrize("mode", MODES)
def test_the_bits_do_not_depend_on_threads(mode):
    encoded = mixed(6000, 3, numeric=5, overlap=3.0, gaps=0.02)
    one, two = (drain(density_run(encoded, n_jobs=k, bandwidth=mode, max_iter=12)) for k in (1, 2))
    assert same_steps(one.trace, two.trace)
    np.testing.assert_array_equal(one.state.point.w, two.state.point.w)


@pytest.mark.parametrize("mode", ["loo", "silverman"])
@pytest.mark.parametrize("rows", [60, 4000])
def test_weights_are_repeated_rows(mode, rows):
    weighted = mixed(rows, 3, weights="whole", gaps=0.05, overlap=2.0)
    again = np.repeat(np.arange(rows), weighted.weights.astype(int))
    plain = weighted.take(again)
    plain.weights[:] = 1.0
    one, other = (drain(density_run(of, bandwidth=mode, alpha=0.5, tol=1e-9)) for of in (weighted, plain))
    np.testing.assert_allclose(one.state.point.w, other.state.point.w, rtol=1e-4, atol=1e-6)
    assert one.trace[-1].objective == pytest.approx(other.trace[-1].objective, rel=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_held_out_rows_are_scored_as_the_model_scores_them(mode):
    encoded = mixed(160, 3, gaps=0.1)
    held = encoded.take(np.arange(0, 160, 4))
    run = drain(density_run(encoded.take(np.flatnonzero(np.arange(160) % 4)), held, bandwidth=mode))
    log_p = log_softmax(run.model.scores_of(held))
    assert run.trace[-1].extra["heldout_log_loss"] == pytest.approx(-log_p[np.arange(40), held.y].mean(), rel=1e-9)
    np.testing.assert_allclose(heldout_losses(run), -log_p[np.arange(40), held.y])
    assert run.trace.baseline.keys() == {"class_shares", "heldout_class_shares"}
    assert run.trace.baseline["class_shares"] == pytest.approx(np.log(3), abs=0.01)


def test_a_run_is_paused_stepped_replayed_and_looked_at_in_the_past():
    dataset = load_demo("two-moons")
    run = Run(dataset, Recipe("dlr", bandwidth="loo", alpha=0.1), n_jobs=1)
    run.step(9)
    while len(run.trace) < 9:
        assert run.outcome is None
    assert run.phase in ("running", "paused")
    kept, model = run.model_at(4)
    again = run.replay(4)
    assert kept == again.state.index == 4
    np.testing.assert_allclose(model.w, again.model.w, rtol=1e-6)
    np.testing.assert_allclose(model.bandwidths, again.model.bandwidths, rtol=1e-6)
    assert run.snapshots == list(range(9))
    run.resume()
    assert run.join(60)
    assert run.outcome.code == "converged"
    assert same_steps(run.replay(run.state.index).trace, run.trace)
    assert run.solver == "newton"
    assert run.estimate.cost.parameters == 5
    assert run.tables is None
    assert run.scale is None


def test_a_run_begins_where_another_ended():
    encoded = mixed(150, 3)
    end = drain(density_run(encoded, alpha=0.3))
    again = Run.on_encoded(encoded, Recipe("dlr", bandwidth="loo", alpha=0.3), n_jobs=1, start=end.model)
    assert again.advance().objective == pytest.approx(end.trace[-1].objective, rel=1e-12)
    assert len(drain(again).trace) < len(end.trace) / 2
    other = Run.on_encoded(mixed(150, 2), Recipe("dlr", bandwidth="loo", alpha=10.0), n_jobs=1, start=end.model)
    with pytest.raises(RecipeError, match=r"start is not a model of these 3 columns and 2 classes"):
        other.advance()


def test_a_run_is_stopped():
    run = Run(load_demo("two-moons"), Recipe("dlr", bandwidth="loo", alpha=10.0), n_jobs=1)
    run.advance()
    run.stop()
    assert run.outcome.code == "stopped"
    assert run.advance() is None
    assert len(run.trace) == 1


def test_a_race_of_families():
    dataset = load_demo("two-moons")
    found = race(
        dataset,
        [Recipe("lr", order=1, alpha=0.3), Recipe("dlr", alpha=10.0), Recipe("dlr", bandwidth="paper", alpha=10.0)],
        n_jobs=1,
    )
    found.start()
    assert found.join(120)
    assert [run.outcome.code for run in found.runs] == ["converged"] * 3
    frame = found.frame()
    assert list(dict.fromkeys(frame["label"])) == ["lr", "dlr"]
    assert (frame["h_0"].isna() == (frame["label"] == "lr")).all()
    assert frame["heldout_log_loss"].notna().all()


def test_weights_are_refitted_when_a_bandwidth_is_moved():
    run = drain(density_run(mixed(150, 2), alpha=0.2))
    objective, point = run.objective, run.state.point
    moved = objective.follow(point.features.log_h + np.array([0.5, 0.0]), point.inner.w, point.features)
    assert moved.e > point.e
    assert moved.weights_objective.criterion(moved.inner) < 1e-8
    np.testing.assert_array_equal(moved.features.phi[1], point.features.phi[1])
    far = objective.follow(np.full(2, 1e9), point.inner.w)
    np.testing.assert_allclose(far.features.log_h, objective.features.bounds[1])


@pytest.mark.parametrize("tol", [1e-6, 0.0])
@pytest.mark.parametrize("learned", [None, np.eye(2)])
def test_weights_of_0_leave_the_bandwidths_nothing_to_gain(learned, tol):
    """Neither slopes nor curvature: the fit is at its end, and nothing overflows on the way there."""
    objective, start = density_objective(mixed(60), start="zero")
    point = objective.value_grad(start)
    assert not point.slopes.any()
    assert not objective.curvature(point).any()
    end = Hierarchical(tol).advance(objective, SolverState(3, point, 4, 5.0, carry=OuterCarry(True, learned)))
    assert end.stalled
    assert "no step of the bandwidths would lower the loss" in end.note
    assert (end.index, end.passes) == (4, 5.0)
    assert end.point is point


def test_separation_without_a_penalty_is_reported():
    encoded = mixed(40, 2, overlap=0.01)
    for mode in MODES:
        run = drain(density_run(encoded, bandwidth=mode, alpha=0.0))
        assert run.outcome.code in ("separated", "converged"), mode
        assert np.isfinite(run.state.point.w).all()
    assert drain(density_run(encoded, bandwidth="silverman", alpha=0.0)).outcome.code == "separated"


def test_names_and_paper_mode():
    assert Recipe("dlr", bandwidth="loo", alpha=0.5).name == "dlr loo from zero, L2 penalty 0.5"
    assert Recipe("dlr", alpha=0, bandwidth="paper", start="one").name == "dlr paper from one"
    assert Recipe("dlr", alpha=10.0).label == "dlr"
    paper = paper_mode(Recipe("dlr", bandwidth="loo", alpha=2, start="one"))
    assert dict(paper.params, max_iter=0, tol=0) == {
        "bandwidth": "paper", "validation_fraction": 0.2, "alpha": 0.0, "center": 0, "start": "zero", "smoothing": 1.0,
        "class_weight": None, "max_iter": 0, "tol": 0,
    }  # fmt: skip
    assert paper.is_paper_fit
    assert paper_mode(Recipe("dlr", bandwidth="silverman", alpha=10.0)).params["bandwidth"] == "silverman"
    assert not Recipe("dlr", bandwidth="loo", alpha=0).is_paper_fit
    assert [Recipe("dlr", bandwidth=mode, alpha=10.0).is_random for mode in MODES] == [False, False, True, True]
    with pytest.raises(RecipeError, match=r"bandwidth='silvermann' is not known.*did you mean 'silverman'"):
        Recipe("dlr", bandwidth="silvermann", alpha=10.0)
    with pytest.raises(RecipeError, match=r"dlr has no parameter 'order'"):
        Recipe("dlr", order=2, alpha=10.0)
