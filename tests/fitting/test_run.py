"""Runs: the same bits whatever happens in between, the trace, the meter, errors that become outcomes."""

import pickle

import numpy as np
import pytest

from alrviz import load_demo
from alrviz.errors import MemoryLimitError, RecipeError, TableError
from alrviz.fitting.families.cells import CellFamily
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs import run as run_module
from alrviz.fitting.runs.run import Run
from tests.fitting.tables import drain, run_of, same_steps, table
from tests.oracles.scores import naive_loss_and_residual

PATIENCE = 60


def wait_for(run, phase):
    """Join the thread in short turns until the run is in that phase."""
    for _ in range(PATIENCE * 100):
        if run.phase == phase:
            return
        run.join(0.01)
    pytest.fail(f"still {run.phase} ({run.activity}), wanted {phase}")


def make(family="alr", **params):
    encoded = table(300, (3, 4, 2, 5), 3, weights="fractions")
    settings = {"order": 2, "alpha": 0.0, "tol": 0.0, "max_iter": 80, **params}
    return run_of(encoded.take(np.arange(200)), family, encoded.take(np.arange(200, 300)), **settings)


RACERS = [("lr", {}), ("alr", {"start": "anje"}), ("lr", {"scale": "diagonal"}), ("alr", {"solver": "gd"})]


@pytest.mark.parametrize(("family", "params"), RACERS)
def test_the_first_steps_are_those_of_a_shorter_fit(family, params):
    long = drain(make(family, **params))
    for k in (0, 1, 7, 49, 50, 51):
        short = drain(make(family, max_iter=k, **params))
        assert len(short.trace) == k + 1
        assert same_steps(short.trace, long.trace.since(0)[: k + 1])
        assert np.array_equal(short.state.point.w, long.replay(k).state.point.w)


@pytest.mark.parametrize(("family", "params"), RACERS)
def test_back_forward_and_resume_end_where_an_uninterrupted_run_ends(family, params):
    whole = drain(make(family, **params))
    run = make(family, **params)
    run.step(31)
    wait_for(run, "paused")
    assert len(run.trace) == 31
    at_30 = run.state.point.w.copy()
    for index, w in ((20, run.replay(20).state.point.w), (30, at_30)):
        kept, model = run.model_at(index)  # the view moves, the run stays
        assert kept == index
        np.testing.assert_allclose(np.vstack([model.phi, model.bias]), run.scale * w, rtol=1e-6)
    assert np.array_equal(run.state.point.w, at_30)
    run.step(10)
    wait_for(run, "paused")
    assert len(run.trace) == 41
    run.resume()
    assert run.join(PATIENCE)
    assert run.phase == "ended"
    assert same_steps(run.trace, whole.trace)
    assert np.array_equal(run.state.point.w, whole.state.point.w)
    assert run.outcome == whole.outcome


def test_resuming_from_a_step_replays_to_it_bit_for_bit():
    whole = drain(make())
    replayed = whole.replay(20)
    assert len(replayed.trace) == 21
    assert replayed.outcome is None
    assert same_steps(drain(replayed).trace, whole.trace)
    assert np.array_equal(replayed.state.point.w, whole.state.point.w)
    assert whole.replay(10_000).outcome == whole.outcome


def test_concurrent_steps_take_turns():
    """A loop over the steps of a run that was also started: every step once, in order."""
    run, alone = (make("lr", max_iter=60, tol=0.0) for _ in range(2))
    run.start()
    own = list(run.steps())
    assert run.join(PATIENCE)
    assert same_steps(drain(alone).trace, run.trace)
    assert {step.index for step in own} <= set(range(61))


def test_a_replay_keeps_the_limit_on_memory():
    encoded = table()
    run = drain(Run.on_encoded(encoded, Recipe("lr", order=1, max_iter=2, alpha=0.3), max_memory=10**9))
    assert run.replay(1).estimate.max_bytes == 10**9


def test_threads_change_nothing():
    encoded = table(6000, (6, 5, 4, 7, 6, 5), 3, seed=1)
    recipe = Recipe("alr", order=2, alpha=0.0, max_iter=12, tol=0.0)
    one, two = (drain(Run.on_encoded(encoded, recipe, encoded.take(np.arange(700)), n_jobs=jobs)) for jobs in (1, 2))
    assert same_steps(one.trace, two.trace)
    assert np.array_equal(one.state.point.w, two.state.point.w)


def test_trace_agrees_with_the_weights():
    run = drain(make("alr", alpha=0.3, center="anje"))
    trace, frame = run.trace, run.trace.frame()
    assert [step.index for step in trace] == list(range(len(trace)))
    assert (frame.kind == "inner").all()
    for name in ("evaluations", "passes", "seconds", "heldout_seconds"):
        assert (frame[name].diff().dropna() >= 0).all()
    assert (frame.objective.diff().dropna() <= 1e-9).all()
    assert np.array_equal(frame.objective, frame.nll + frame.penalty)
    assert (trace.rows, trace.heldout_rows) == pytest.approx((run.encoded.total, run.holdout.total), rel=1e-15)
    last = trace[-1]
    for rows, prefix in ((run.encoded, "train"), (run.holdout, "heldout")):
        z = run.model.scores(rows.codes, 1)
        (nll, wrong, tied, squares), _ = naive_loss_and_residual(z, rows.y, rows.weights)
        assert last.extra[f"{prefix}_error"] == pytest.approx(wrong / rows.total, rel=1e-12)
        assert last.extra[f"{prefix}_rmse"] == pytest.approx((squares / rows.total / 3) ** 0.5, rel=1e-9)
        if prefix == "heldout":
            assert last.extra["heldout_log_loss"] == pytest.approx(nll / rows.total, rel=1e-9)
        else:
            assert last.nll == pytest.approx(nll, rel=1e-9)
            assert last.extra["lead"] == pytest.approx(1 - tied / rows.total, rel=1e-12)
    phi = np.concatenate([run.model.phi, run.model.bias[None]])
    assert last.extra["phi_norm"] == pytest.approx(np.linalg.norm(phi), rel=1e-12)
    assert last.grad_norm == pytest.approx(np.linalg.norm(run.state.point.gradient), rel=1e-12)
    assert run.separation == {
        "empty_share": run.tables.empty_share, "lead": last.extra["lead"], "phi_norm": last.extra["phi_norm"],
    }  # fmt: skip


def test_rows_that_tie_do_not_lead():
    """At the start from zero all scores are equal: the first class is told, and nobody leads."""
    run = make("lr", max_iter=0)
    start = run.advance()
    assert start.extra["lead"] == 0.0
    share = run.encoded.weights[run.encoded.y == 0].sum() / run.encoded.total
    assert start.extra["train_error"] == pytest.approx(1 - share, rel=1e-12)


def test_alpha_is_in_the_diagonal_scale_only_with_the_penalty_on_phi():
    scales = {}
    for alpha, penalty in [(0.0, "phi"), (0.0, "w"), (5.0, "w"), (5.0, "phi")]:
        run = make("lr", scale="diagonal", alpha=alpha, penalty=penalty, max_iter=0)
        run.advance()
        scales[alpha, penalty] = run.scale
    assert np.array_equal(scales[5.0, "w"], scales[0.0, "w"])
    assert np.array_equal(scales[0.0, "phi"], scales[0.0, "w"])
    np.testing.assert_allclose(scales[5.0, "phi"] ** -2, scales[0.0, "phi"] ** -2 + 10)


def test_baselines_are_class_shares_and_anje():
    run = drain(make("lr"))
    anje = drain(run_of(run.encoded, "anje", run.holdout, order=2))
    assert run.trace.baseline["anje"] == pytest.approx(anje.trace[0].nll / run.encoded.total, rel=1e-13)
    assert run.trace.baseline["heldout_anje"] == pytest.approx(anje.trace[0].extra["heldout_log_loss"], rel=1e-13)
    shares = run.tables.log_pi
    for name, rows in (("class_shares", run.encoded), ("heldout_class_shares", run.holdout)):
        assert run.trace.baseline[name] == pytest.approx(-(rows.weights * shares[rows.y]).sum() / rows.total)
    alone = drain(run_of(run.encoded, "lr", max_iter=1))
    assert set(alone.trace.baseline) == {"class_shares", "anje"}
    assert alone.holdout is None
    assert not any(name.startswith("heldout") for name in alone.trace[-1].extra)


def test_baselines_of_training_rows_know_class_weights_as_the_curve_does():
    run = make("lr", start="anje", class_weight={"class 0": 5.0}, max_iter=1)
    start = run.advance()
    assert run.trace.baseline["anje"] == pytest.approx(start.nll / run.trace.rows, rel=1e-13)
    assert run.trace.rows > run.encoded.total


def test_anje_is_one_step_and_converged():
    run = drain(run_of(table(), "anje", order=2))
    assert len(run.trace) == 1
    assert run.outcome.code == "converged"
    assert run.trace[0].penalty == 0


def test_phases_and_activities():
    run = make()
    assert (run.phase, run.activity) == ("waiting", "")
    assert (run.model, run.state, run.scale, run.tables, run.estimate) == (None,) * 5
    assert np.isnan(run.separation["empty_share"])
    run.step()
    wait_for(run, "paused")
    assert run.activity == "fitting"
    assert len(run.trace) == 1
    assert run.estimate.cost.parameters == run.tables.space.n_parameters(3)
    run.resume()
    assert run.join(PATIENCE)
    assert run.phase == "ended"
    assert run.outcome.code == "step limit"
    run.start()  # an ended run stays ended
    assert run.join(PATIENCE)
    assert run.advance() is None
    assert len(run.trace) == 81


def test_a_run_on_a_data_set_splits_encodes_and_fits():
    dataset = load_demo("iris")
    run = drain(Run(dataset, Recipe("alr", order=2, max_iter=5, seed=3, alpha=1.0), n_jobs=1))
    assert (run.encoded.n_rows, run.holdout.n_rows) == (105, 45)
    assert run.encoder.levels_.tolist() == run.encoded.levels.tolist()
    assert run.trace.heldout_rows == 45
    other = drain(Run(dataset, Recipe("alr", order=2, max_iter=5, seed=4, alpha=1.0), n_jobs=1))
    assert other.trace[-1].nll != run.trace[-1].nll
    whole = drain(Run(dataset, Recipe("alr", order=2, max_iter=5, holdout=0, alpha=1.0), n_jobs=1))
    assert (whole.encoded.n_rows, whole.holdout) == (150, None)


def test_errors_are_raised_by_steps_and_become_the_outcome_of_a_thread():
    recipe = {"order": 9}
    run = run_of(table(), "lr", **recipe)
    with pytest.raises(RecipeError, match=r"order=9.*9 columns.*4"):
        next(run.steps())
    assert run.outcome.code == "failed"
    assert list(run.steps()) == []
    threaded = run_of(table(), "lr", **recipe)
    threaded.start()
    assert threaded.join(PATIENCE)
    assert threaded.outcome == run.outcome
    assert "order=9 needs at least 9 columns" in threaded.outcome.sentence
    assert threaded.trace.closed
    assert len(threaded.trace) == 0


def test_internal_error_is_reported_as_such(monkeypatch, caplog):
    def broken(*args, **more):
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(CellFamily, "make", broken)
    run = make()
    with pytest.raises(ZeroDivisionError):
        run.advance()
    assert run.outcome.code == "failed"
    assert run.outcome.sentence == "an error in alrviz itself: ZeroDivisionError: a fault"
    threaded = make()
    threaded.start()
    assert threaded.join(PATIENCE)
    assert threaded.outcome == run.outcome
    assert "a fault" in caplog.text


def test_a_model_too_large_is_refused_before_it_is_counted(monkeypatch):
    monkeypatch.setattr(run_module.TrainingData, "tables", lambda *a, **k: pytest.fail("counted"))
    run = Run.on_encoded(table(), Recipe("lr", alpha=0.3), max_memory=1000)
    with pytest.raises(MemoryLimitError, match=r"order 2 needs about .* MiB here and 0 MiB may be used"):
        run.advance()
    assert run.outcome.code == "failed"
    assert run.estimate.refusal == run.outcome.sentence


@pytest.mark.parametrize("family", ["lr", "alr", "anje"])
def test_one_class_is_an_error_with_the_number(family):
    encoded = table(20, (3, 2), 1)
    with pytest.raises((TableError, RecipeError), match="1 class"):
        drain(run_of(encoded, family, order=1))


def test_no_rows_are_an_error_with_the_number():
    encoded = table(20, (3, 2), 2)
    with pytest.raises((TableError, RecipeError), match="0 rows"):
        drain(run_of(encoded.take(np.arange(0)), "lr", order=1))


@pytest.mark.parametrize("weights", [{"class 0": 0.0, "class 1": 0.0, "class 2": 0.0}, {"class 9": 2.0}])
def test_class_weights_that_leave_nothing_or_name_nothing_are_refused(weights):
    with pytest.raises(RecipeError, match="class_weight"):
        drain(run_of(table(), "lr", class_weight=weights))


def test_class_weights_multiply_the_loss_and_leave_the_tables_alone():
    encoded = table(200, seed=4)
    plain = run_of(encoded, "alr", order=2, max_iter=3, alpha=1)
    weighted = run_of(encoded, "alr", order=2, max_iter=3, alpha=1, class_weight={"class 1": 3.0})
    drain(plain), drain(weighted)
    assert np.array_equal(plain.scale, weighted.scale)
    assert weighted.trace[0].nll == pytest.approx(plain.trace[0].nll + 2 * np.log(3) * (encoded.y == 1).sum())
    balanced = drain(run_of(encoded, "lr", class_weight="balanced", max_iter=0))
    assert balanced.trace.rows == pytest.approx(200)
    rows = balanced._fit.objective.rows
    mass = np.bincount(rows.y, rows.weights)
    np.testing.assert_allclose(mass, 200 / 3)


def test_smoothing_of_zero_is_refused_only_where_a_logarithm_of_it_is_used():
    holes = table(30, (5, 5), 4)
    assert drain(run_of(holes, "lr", order=2, smoothing=0, max_iter=2)).outcome.code == "step limit"
    assert drain(run_of(holes, "lr", order=2, smoothing=0, max_iter=2, scale="diagonal")).outcome.code == "step limit"
    for family, params in [("alr", {}), ("lr", {"start": "anje"}), ("lr", {"center": "anje"}), ("anje", {})]:
        with pytest.raises(RecipeError, match=r"smoothing=0.*0"):
            drain(run_of(holes, family, order=2, smoothing=0, **params))


def test_unseen_cells_take_the_center_s_phi_or_the_start_s():
    encoded = table(40, (4, 4, 3), 3)
    new = encoded.levels[:, None].astype(np.uint8)  # no levels at all
    run = drain(run_of(encoded, "lr", order=2, alpha=1.0, max_iter=3))
    np.testing.assert_allclose(run.model.scores(new, 1)[0], run.model.bias)
    for params, model in [
        ({"alpha": 1.0, "center": "anje"}, "anje"),
        ({"alpha": 0.0, "start": "one", "center": "anje"}, "one"),
        ({"alpha": 1.0, "center": 0, "start": "one"}, "zero"),
    ]:
        run = drain(run_of(encoded, "alr", order=2, max_iter=3, unseen="m-estimate", **params))
        per_tuple = run._fit.objective.parameterisation.unseen_phi(model)
        np.testing.assert_allclose(run.model.scores(new, 1)[0], run.model.bias + per_tuple.sum(axis=0), rtol=1e-12)
        skipping = drain(run_of(encoded, "alr", order=2, max_iter=3, unseen="m-estimate", missing="skip", **params))
        np.testing.assert_allclose(skipping.model.scores(new, 1)[0], skipping.model.bias, rtol=1e-12)


def test_snapshots_follow_the_steps():
    run = drain(make(max_iter=10))
    assert run.snapshots == list(range(11))
    with pytest.raises(IndexError, match="no weights are stored at or before step -1"):
        run.model_at(-1)
    assert run.model_at(10_000)[0] == 10


def test_a_trace_can_be_pickled_and_read_on():
    trace = drain(make(max_iter=4)).trace
    again = pickle.loads(pickle.dumps(trace))
    assert same_steps(again, trace)
    assert again.closed
    assert again.baseline == trace.baseline
    assert not again.append(trace[0])
