"""Learners over chunks of rows: a pass along a line, full passes to the optimum of the fit in memory, means of steps,
what a sample chooses, a fit that goes on, a race.

Equal bit for bit: for 1, 2 and 4 threads, rows in memory and in a file of any format, a fit left alone and one that was
broken off. Equal to rounding: sums over chunks and over all rows at once, so that F of the two agrees to 1e-12 and
optima to 1e-8 of F.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import alrviz
from alrviz.data.stream.table import open_table
from alrviz.fitting.density.weights import minimise
from alrviz.fitting.families import build_fit
from alrviz.fitting.families.build_fit import assemble_stream
from alrviz.fitting.families.selection_rows import sample_trial
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.objectives.streamed import STEP_MULTIPLES, CodedRows, StreamPoint, TrainValidationChunk
from alrviz.fitting.solvers import full_passes
from alrviz.fitting.solvers.state import SolverState, line_search_step
from alrviz.fitting.solvers.step import DIVERGED, STEP_LIMIT
from alrviz.fitting.solvers.stream_adagrad import StreamAdaGrad, descend
from alrviz.models.parameterisation import parameterise
from alrviz.models.streamed import count_stream
from alrviz.passes.cluster import local_chunks
from alrviz.passes.stream import single_table
from tests.data.stream.test_stream import messy, written
from tests.fitting.test_streamed import CLASSES, counted, in_memory, objective, rows

SOLVERS = ("adagrad", "averaged", "tron", "lbfgs")


def whole_objective(codes, y, family="alr", order=2, **params) -> LinearObjective:
    prepared = in_memory(codes, y)
    covered = prepared.covered_rows(order)
    of = {"alpha": 0.7, "penalty": "w", "center": 1 if family == "alr" else 0, **params}
    return LinearObjective(covered.rows, covered.cover, parameterise(family, prepared.tables(order, 1.0)), **of)


@pytest.mark.parametrize("cells", ["dense", "seen"])
def test_one_pass_along_a_line_gives_f_and_the_gradient_at_the_guess(cells):
    codes, y = rows()
    own, whole = objective(counted(codes, y, 2, cells), "alr", codes, y), whole_objective(codes, y)
    rng = np.random.default_rng(0)
    w, d = 0.3 * rng.normal(size=own.scale.shape), 0.1 * rng.normal(size=own.scale.shape)
    start, before = own.value_grad(w), own.passes.n_passes
    line, other = own.line_along(start, d, 0.8), whole.line_along(whole.value_grad(w), d)
    assert own.passes.n_passes == before + 1
    for t in (0.0, 0.05, 0.3, 0.8, 1.1, 6.0):
        near = 1e-12 if t / 0.8 in STEP_MULTIPLES else 1e-3
        np.testing.assert_allclose(
            line.derivatives_at(t), other.derivatives_at(t), rtol=near, atol=near * abs(other.derivatives_at(t)[0])
        )
    moved = line.move(0.8)
    assert own.passes.n_passes == before + 1, "the gradient at the guess was taken along"
    want = whole.value_grad(w + 0.8 * d)
    np.testing.assert_allclose(moved.gradient, want.gradient, rtol=1e-9, atol=1e-9 * np.abs(want.gradient).max())
    assert moved.objective == pytest.approx(want.objective, rel=1e-12)
    line.move(0.3)
    assert own.passes.n_passes == before + 2
    line.derivatives_at(20.0)
    assert own.passes.n_passes == before + 3, "beyond what is known a pass looks"


@pytest.mark.parametrize("far", [1.0, 30.0, 1e3, 1e5])
def test_no_step_raises_f_however_far_the_guess(far):
    """Between 0 and the nearest length F may turn: what lies there is not made up from the ends."""
    codes, y = rows()
    own = objective(counted(codes, y, 2, "dense"), "alr", codes, y, alpha=0.0)
    rng = np.random.default_rng(2)
    for _ in range(5):
        state = SolverState(0, own.value_grad(0.1 * rng.normal(size=own.scale.shape)), 1, 1.0)
        steep = -state.point.gradient / np.abs(state.point.gradient).max()
        new, falls = line_search_step(own, state, far * (steep + 0.2 * rng.normal(size=steep.shape)), 1.0)
        assert new.point.objective < state.point.objective if falls else new.point is state.point


def test_products_with_a_sample_of_all_rows_are_exact_and_cells_it_lacks_are_bent_by_the_diagonal():
    codes, y = rows()
    own, whole = objective(counted(codes, y, 2, "dense"), "alr", codes, y), whole_objective(codes, y)
    own.with_curvature = True
    rng = np.random.default_rng(0)
    w, d = 0.3 * rng.normal(size=own.scale.shape), rng.normal(size=own.scale.shape)
    point, there = own.value_grad(w), whole.value_grad(w)
    assert isinstance(point, StreamPoint)
    np.testing.assert_allclose(own.hvp(point, d), whole.hvp(there, d), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(own.hessian_diagonal(point), whole.hessian_diagonal(there), rtol=1e-9, atol=1e-9)
    few = objective(counted(codes, y, 2, "dense"), "alr", codes, y)
    few.sample, few.with_curvature = replace(few.sample, training=few.sample.training.part(0, 100)), True
    point = few.value_grad(w)
    assert (few.hessian_diagonal(point) >= whole.hessian_diagonal(there) * (1 - 1e-9)).all()
    none = few.sampled.diagonal(point) == few.ridge
    assert none[:-1].any()
    np.testing.assert_allclose(few.hvp(point, d)[none], (whole.hessian_diagonal(there) * d)[none], rtol=1e-9)


@pytest.mark.parametrize("family", ["alr", "lr"])
@pytest.mark.parametrize("solver", ["tron", "lbfgs"])
def test_full_passes_come_to_the_optimum_of_the_fit_in_memory(solver, family):
    codes, y = rows()
    params = {"alpha": 0.7, "penalty": "w", "center": 0, "order": 2, "scale": "theta" if family == "alr" else "none"}
    of = {"unseen": "neutral", "missing": "level", "start": "zero", "share": "cell-class", "memory": 10, "tol": 0.0}
    part = CodedRows(codes, y, CLASSES)
    sample = TrainValidationChunk(part.part(0, 400), part.part(400, 700))
    fit = assemble_stream(counted(codes, y, 2, "dense"), sample, sample, {**params, **of, "solver": solver})
    state = fit.solver.init(fit.objective, fit.w0)
    for _ in range(150 if solver == "lbfgs" else 40):
        if state.stalled:
            break
        state = fit.solver.advance(fit.objective, state)
    whole = whole_objective(codes, y, family, center=0)
    best = minimise(whole, np.zeros(fit.w0.shape))[0].objective
    assert state.point.objective == pytest.approx(best, rel=1e-8)
    assert state.passes == fit.objective.passes.n_passes - 1, "every pass is counted; one was the counting"


def test_a_step_where_the_guess_is_right_is_one_pass():
    codes, y = rows()
    part = CodedRows(codes, y, CLASSES)
    params = {"solver": "tron", "alpha": 1.0, "penalty": "w", "center": 0, "scale": "theta", "unseen": "neutral"}
    of = {"missing": "level", "start": "zero", "share": "cell-class", "memory": 10, "max_iter": 5, "tol": 0.0}
    sample = TrainValidationChunk(part, part)
    fit = assemble_stream(counted(codes, y, 1, "dense"), sample, sample, {**params, **of}, passes_before=3.0)
    states = [fit.solver.init(fit.objective, fit.w0 + 0.1)]
    for _ in range(2):
        states.append(fit.solver.advance(fit.objective, states[-1]))
    assert [state.passes for state in states] == [4.0, 5.0, 6.0]
    assert [state.step_size for state in states[1:]] == [1.0, 1.0]


@pytest.fixture
def stream(tmp_path):
    return open_table(written(tmp_path, messy(), "parquet"), "class", cache=tmp_path / "codes")


def recipe(solver: str, **more) -> alrviz.Recipe:
    return alrviz.Recipe(
        "alr", order=2, solver=solver, holdout=0.2, **{"alpha": 1.0, "max_iter": 6, "tol": 0.0, **more}
    )


def fitted(stream, of, **more) -> alrviz.Run:
    run = alrviz.Run(stream, of, **more)
    list(run.steps())
    return run


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_the_bits_are_the_same_for_any_number_of_threads_and_any_file(solver, stream, tmp_path):
    runs = [fitted(stream, recipe(solver), n_jobs=jobs) for jobs in (1, 2, 4)]
    (tmp_path / "other").mkdir()
    text = open_table(written(tmp_path / "other", messy(), "csv"), "class", cache=tmp_path / "codes")
    runs.append(fitted(text, recipe(solver)))
    for other in runs[1:]:
        np.testing.assert_array_equal(other.model.phi, runs[0].model.phi)
        assert [step.objective for step in other.trace] == [step.objective for step in runs[0].trace]


@pytest.mark.parametrize("solver", SOLVERS)
def test_interrupted_fit_resumes_to_the_same_steps(solver, stream, tmp_path):
    of = recipe(solver, tol=0.0) if solver == "tron" else recipe(solver, tol=1e-3, max_iter=40)
    whole = fitted(stream, of)
    assert len(whole.trace) > 3
    for last in (1, len(whole.trace) - 2):
        kept = tmp_path / f"kept{last}"
        fitted(stream, of, checkpoint=kept, on_step=lambda step, k=last: step.index == k)
        after = fitted(stream, of, checkpoint=kept)
        steps = [(step.index, step.passes, step.objective) for step in whole.trace]
        assert [(step.index, step.passes, step.objective) for step in after.trace] == steps[last:]
        assert after.outcome == whole.outcome
        np.testing.assert_array_equal(after.model.phi, whole.model.phi)


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_max_iter_is_a_budget_of_passes(solver, stream):
    run = fitted(stream, recipe(solver))
    learned = [step.passes - run.passes_before for step in run.trace]
    assert run.passes_before == 1.0
    assert learned[0] == (0.0 if run.solver in ("adagrad", "averaged") else 1.0)
    assert learned[-2] < 6 <= learned[-1]
    assert run.outcome.code == STEP_LIMIT
    assert "6 passes were taken" in run.outcome.sentence


def test_a_run_is_called_by_the_solver_that_runs(stream):
    run = alrviz.Run(stream, recipe("auto"))
    assert "a solver that a sample chooses" in run.name
    assert "TRON" not in repr(run)
    run.advance()
    assert run.solver in ("averaged", "tron")
    assert run.name.endswith({"averaged": "averaged AdaGrad", "tron": "TRON"}[run.solver])
    assert "others is" in run.estimate.choice.reason
    assert fitted(stream, recipe("adagrad", max_iter=1)).name.endswith(", AdaGrad")


def test_weights_are_the_mean_of_moments_of_the_second_half_of_a_pass():
    codes, y = rows()
    own = objective(counted(codes, y, 2, "dense", size=len(y)), "alr", codes, y)
    w0 = np.zeros(own.scale.shape)
    learner = StreamAdaGrad(3, averaged=True, eta0=0.05)
    state = learner.advance(own, learner.init(own, w0))
    draw = np.random.default_rng((3, 0))
    draw.permutation(1)
    order, table, found = draw.permutation(len(y)), own.step_table(w0), []
    for begin, end in pairwise([0, 394, 438, 482, 525, 569, 613, 657, 700]):
        own.passes.visit(codes, y, order[begin:end], table, 0.05)
        found.append(own.weights_in(table))
    np.testing.assert_allclose(state.carry.weights, np.mean(found, axis=0, dtype=np.float64), rtol=1e-12)
    assert not np.array_equal(state.carry.weights, found[-1])
    plain = replace(learner, averaged=False)
    np.testing.assert_array_equal(plain.advance(own, plain.init(own, w0)).carry.weights, found[-1])


@pytest.mark.parametrize(("loss", "solver"), [(0.0, "tron"), (99.0, "averaged")])
def test_solver_with_the_lower_loss_on_a_sample_is_chosen(stream, monkeypatch, loss, solver):
    monkeypatch.setattr(build_fit, "fit_sample", lambda objective, w0: (w0, loss))
    run = alrviz.Run(stream, recipe("auto", max_iter=1))
    run.advance()
    assert run.solver == solver
    assert f"{loss:.4f}" in run.estimate.choice.reason


@pytest.mark.parametrize(("drawn", "name"), [(29, "averaged"), (30, "tron")])
def test_where_a_sample_has_hardly_a_row_of_a_class_steps_go_row_by_row(monkeypatch, drawn, name):
    monkeypatch.setattr(build_fit, "fit_sample", lambda objective, w0: (w0, 0.0))  # tron is better on it
    codes, y = rows(4000)
    own = objective(counted(codes, y, 1, "dense", size=1000), "alr", codes, y)
    chosen = np.flatnonzero((y != 2) | (np.cumsum(y == 2) <= drawn))
    own.sample = replace(own.sample, training=CodedRows(codes[:, chosen].copy(), y[chosen], CLASSES))
    found, why, learner = build_fit.chosen_learner(own, np.zeros(own.scale.shape), 10, 0)
    assert found == name
    assert isinstance(learner, StreamAdaGrad) == (name == "averaged")
    assert ("1 class has fewer than 30 of the " in why) == (name == "averaged")


def test_few_rows_used_for_both_training_and_validation_are_reported(tmp_path):
    few = open_table(written(tmp_path, messy(200), "csv"), "class", cache=tmp_path / "codes")
    run = alrviz.Run(few, alrviz.Recipe("alr", order=1, max_iter=1, holdout=0.0, alpha=1.0))
    run.advance()
    assert "fitted to 198 rows its log loss on these is" in run.estimate.choice.reason


@pytest.mark.parametrize("solver", ["averaged", "tron", "lbfgs", "auto"])
def test_a_given_start_is_where_the_first_step_is(stream, monkeypatch, solver):
    before = fitted(stream, recipe("averaged", max_iter=1))
    for module in (full_passes, build_fit):
        monkeypatch.setattr(module, "fit_sample", lambda objective, w0: (w0 + 1.0, 0.0))  # "auto" takes tron
    run = alrviz.Run(stream, recipe(solver, alpha=0.3), start=before.model)
    assert run.advance().nll == pytest.approx(before.trace[-1].nll, rel=1e-9)


@pytest.mark.parametrize("solver", ["averaged", "tron", "auto"])
def test_without_a_step_the_model_is_the_start(stream, monkeypatch, solver):
    for module in (full_passes, build_fit):
        monkeypatch.setattr(module, "fit_sample", lambda objective, w0: (w0 + 1.0, 0.0))
    run = fitted(stream, recipe(solver, max_iter=0))
    np.testing.assert_array_equal(run.model.phi, 0.0)
    assert run.trace[-1].nll == pytest.approx(run.trace.rows * np.log(2.0), rel=1e-12)


def test_reading_one_chunk_is_not_counted_as_a_pass(stream):
    coded = stream.coded(holdout=0.2)
    chunks = local_chunks(coded, "train")
    assert chunks.n_chunks == 1
    list(chunks.read([0]))
    assert chunks.passes == 0
    streamed_rows = count_stream(coded.levels, 2, chunks, 2, 1.0, 2**24, 1)
    assert chunks.passes == 1
    streamed_rows.passes.adagrad(single_table(streamed_rows.passes.cells.n_rows, 3, 8), 0.1, (0, 0))
    assert chunks.passes == 2


def test_nan_state_is_not_continued(stream, tmp_path):
    model = fitted(stream, recipe("tron", max_iter=1)).model
    nowhere = replace(model, phi=np.full(model.phi.shape, np.nan))
    run = fitted(stream, recipe("tron"), start=nowhere, checkpoint=tmp_path / "kept")
    assert run.outcome.code == DIVERGED
    assert not (tmp_path / "kept").exists()


def test_a_race_of_learners_runs_over_one_stream(stream):
    racing = alrviz.race(stream, [recipe(solver) for solver in ("averaged", "tron")])
    racing.start()
    assert racing.join(120)
    frame = racing.frame()
    assert set(frame["racer"]) == {0, 1}
    assert {run.outcome.code for run in racing.runs} == {STEP_LIMIT}
    assert frame["name"].str.contains("averaged AdaGrad").any()
    assert (frame.groupby("racer")["passes"].max() <= 8.0).all()


def test_the_lowest_of_a_valley_is_found_downhill():
    asked = []

    def value(x: float) -> float:
        asked.append(x)
        return (x + 3.6) ** 2

    assert descend(value, -2.0, (0.5, 0.25)) == -3.5
    assert len(asked) == len(set(asked)) < 10


def test_learners_of_batches_are_none_for_tables_in_memory():
    run = alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("alr", order=1, solver="averaged", alpha=1.0))
    with pytest.raises(alrviz.errors.RecipeError, match=r"needs 'batches', which objective='nll' does not offer"):
        run.advance()


@pytest.mark.parametrize(("n", "learned", "judged"), [(200, 200, 200), (600, 400, 200), (90_000, 65_536, 8192)])
def test_learners_are_judged_by_other_rows_than_they_learned_from_where_there_are_some(n, learned, judged):
    codes, y = rows(n)
    found = sample_trial(in_memory(codes, y).encoded)
    assert (found.training.n_rows, found.validation.n_rows) == (learned, judged)
    np.testing.assert_array_equal(
        found.validation.codes, codes[:, :n] if n == 200 else codes[:, learned : learned + judged]
    )
