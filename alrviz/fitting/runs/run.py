"""A run: one fit of one recipe on one data set, as a stream of steps that can be watched, paused and stopped.

    run = Run(load_demo("led"), Recipe("alr", order=2, alpha=0))
    for step in run.steps(): ...            # in this thread
    run.start(); run.pause(); run.step(); run.resume(); run.stop(); run.join()      # on a thread of its own

The first k steps of a run are those of a fit with max_iter=k, bit for bit, however it was paused in between.
"""

import json
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import lost_text
from alrviz.data.stream.coding import Progress
from alrviz.data.stream.table import EncodedTable, Stream, no_progress
from alrviz.errors import AlrvizError, LostColumnsWarning, RecipeError, Stopped
from alrviz.fitting.choose_order import Build, choose_n_tuples, choose_order
from alrviz.fitting.cost.estimate import Estimate, allowed_bytes, estimate, require_memory
from alrviz.fitting.cost.peak_memory import MAX_SNAPSHOT_BYTES
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families import RUNS, observers, require_streams
from alrviz.fitting.families.alpha_folds import AUTO, first_weights
from alrviz.fitting.families.build_fit import Fit
from alrviz.fitting.families.family import FitProblem, FitRequest, StreamRequest
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.families.selection_rows import MAX_LEARNER_ROWS, first_training_rows
from alrviz.fitting.fit_settings import Params
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.prepare import TrainingData, prepare, require_learnable
from alrviz.fitting.recipe import Recipe, require_recipe
from alrviz.fitting.runs.pass_checkpoint import ROWS, PassCheckpoint
from alrviz.fitting.runs.run_attributes import RunAttributes
from alrviz.fitting.runs.snapshots import Snapshots
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.alpha_tuned import ChosenAlpha
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.state import SolverState
from alrviz.fitting.solvers.step import DIVERGED, FAILED, STOPPED, Outcome, Step
from alrviz.fitting.warm import warm_covers
from alrviz.job import Job
from alrviz.memory import give_back
from alrviz.models.linear import LinearModel
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import Level
from alrviz.passes.cluster import ClusterChunks, connect, local_chunks, require_dask
from alrviz.passes.stream import Chunks
from alrviz.stop import Deadline, StopToken

if TYPE_CHECKING:
    from distributed import Client

    from alrviz.data.encoded import Encoded

_log = logging.getLogger(__name__)


class Run(RunAttributes, Job[Step]):
    """One fit: a job whose turns are steps.

    Args:
        dataset: the table; for one read in batches (`open_table`) a step is a pass over all rows.
        recipe: what to fit and how.
        n_jobs: threads for the passes; None for all.
        max_memory: bytes the fit may take; None for half of the memory that is free when it starts.
        start: a model fitted to the same rows and order, such as `earlier.model`: the first step starts at its phi, in
            place of the recipe's start or a fit to a sample. For paths along alpha.
        on_step: called with every `Step` in the thread that fits; if it returns True the run is stopped.
        checkpoint: for a table read in batches, a file that stores the state after every pass; a run resumes from it,
            with the same model in the end. The caller deletes it.
        scheduler: for a table read in batches, the Dask cluster that passes over its rows, as the scheduler's address
            or a `distributed.Client`: the same bits, sooner. Steps row by row (AdaGrad's) run on this machine.
        progress: for a table read in batches, called with what is read or encoded, and the number of rows so far.
        on_trial: called with each entry of `trials` as it comes.
        time_limit: seconds of the search for order, levels, share of tuples and alphas; None for no limit. It ends with
            the best settings so far; the first order is always tried.
        estimate: an earlier estimate for the same rows and threads; None to estimate when the run starts, which also
            happens if less memory is free by then than the estimate needs.

    Raises:
        RecipeError: a family whose fit has no steps, such as tan; something that is no recipe.
        TableError: something that is no data set.

    The logger "alrviz.fitting.runs.run" records begin and end of every run (INFO) and its steps (DEBUG).

    Attributes:
        trace: the steps so far; readable from any thread at any time.
        trials: the trials of order="auto" so far: order, alpha_1, ... (if alphas are chosen), log_loss, and the number
        of
            folds it is over.
        outcome: None until the run has ended, then why.
        activity: the current work before the first step: "encoding", "counting cells", "compiling", then "fitting".
        estimate: the cost of the fit, the solver that will run, or why it is refused; None until known.
        compile_seconds: seconds of compiling, which no other number includes.
        coded: the rows of a table read in batches as codes, once read; None for a table in memory.
        tables: counts and log theta, once prepared.
        state: the solver's state at the latest step.

    >>> import alrviz
    >>> run = alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("alr", order=1))
    >>> run.start()
    >>> run.join()
    True
    >>> run.outcome.code
    'converged'
    """

    def __init__(
        self,
        dataset: Dataset | Stream | None,
        recipe: Recipe,
        *,
        n_jobs: int | None = None,
        max_memory: int | None = None,
        start: LinearModel | None = None,
        on_step: Callable[[Step], object] | None = None,
        checkpoint: Path | str | None = None,
        scheduler: "str | Client | None" = None,
        progress: Progress = no_progress,
        estimate: Estimate | None = None,
        on_trial: Callable[[Mapping[str, float]], object] | None = None,
        time_limit: float | None = None,
    ):
        if dataset is not None and not isinstance(dataset, Stream):  # rows of `of` and `on` are encoded already
            require_dataset(dataset)
        require_recipe(recipe)
        if scheduler is not None:
            require_dask()
            if not isinstance(dataset, Stream):
                raise RecipeError("scheduler= is for tables read in batches; expected a table of open_table")
        if isinstance(dataset, Stream):
            require_streams(recipe.family)
            recipe.definition.check_stream(recipe.params, len(dataset.spec.features))
        if not recipe.definition.has_steps:
            raise RecipeError(
                f"{recipe.family} is fitted without steps, so it cannot be run; expected one of "
                f"{', '.join(map(repr, RUNS))}, or make_estimator(recipe).fit(X, y)"
            )
        if recipe.params.get("alpha") == "cv":
            raise RecipeError(
                'alpha="cv" takes many fits, and a run is one fit; expected a number, or '
                "make_estimator(recipe).fit(X, y)"
            )
        super().__init__(self._remaining_steps, f"alrviz-run-{recipe.label}")
        self.dataset = dataset
        self.recipe = recipe
        self.trace = Trace()
        self.outcome: Outcome | None = None
        self.activity = ""
        self.estimate = estimate
        self.compile_seconds = 0.0
        self._n_jobs = n_jobs
        self._max_memory, self._time_limit = max_memory, time_limit
        self._start = start
        self._on_step, self._on_trial = on_step, on_trial
        self._advancing = threading.Lock()
        self._ending = threading.Lock()
        self._scheduler, self._connection = scheduler, ExitStack()
        self._prepared: TrainingData | None = None
        self.coded: EncodedTable | None = None
        self._checkpoint: PassCheckpoint | None = None
        self._checkpoint_path, self._progress = None if checkpoint is None else Path(checkpoint), progress
        self._fit: Fit | None = None
        self.tables: Tables | None = None
        self._levels: list[Level] = []
        self._choices: list[str] = []
        self.trials: list[Mapping[str, float]] = []
        self._encode: Callable[[Recipe], TrainingData] | None = None
        self._alpha_was_chosen = False  # the fit then begins where the search has ended, if possible
        self._fold_model: LinearModel | None = None  # of a fold at the chosen alphas
        self._selection_passes = 0
        self.state: SolverState | None = None
        self._seconds = 0.0
        self._snapshots = Snapshots(MAX_SNAPSHOT_BYTES // (4 if isinstance(dataset, Stream) else 1))

    @classmethod
    def on_encoded(
        cls,
        encoded: "Encoded",
        recipe: Recipe,
        holdout: "Encoded | None" = None,
        *,
        n_jobs: int | None = None,
        max_memory: int | None = None,
        start: LinearModel | None = None,
        on_step: Callable[[Step], object] | None = None,
    ) -> "Run":
        """Return a run on rows that are already encoded; the recipe's split and discretisation are not used.

        holdout: encoded held-out rows, or None. The other arguments are those of `Run`.
        """
        prepared = TrainingData(encoded, holdout, None, n_jobs)
        return cls.on_prepared(prepared, recipe, max_memory=max_memory, start=start, on_step=on_step)

    @classmethod
    def on_prepared(
        cls,
        prepared: TrainingData,
        recipe: Recipe,
        *,
        max_memory: int | None = None,
        start: LinearModel | None = None,
        on_step: Callable[[Step], object] | None = None,
        encode: Callable[[Recipe], TrainingData] | None = None,
        on_trial: Callable[[Mapping[str, float]], object] | None = None,
        time_limit: float | None = None,
    ) -> "Run":
        """Return a run on prepared rows, sharing their covers and counts with other runs.

        `encode` returns the same rows encoded as another recipe says; None if only codes are known, which then serve
        every order that is tried (order="auto"). The other arguments are those of `Run`.
        """
        run = cls(
            None, recipe, n_jobs=prepared.n_jobs, max_memory=max_memory, start=start, on_step=on_step,
            on_trial=on_trial, time_limit=time_limit,
        )  # fmt: skip
        run._prepared, run._encode = prepared, encode
        return run

    # -- driving ------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End the run at once, from any state and thread: no step is added after this returns."""
        self._end(Outcome(STOPPED, "stopped on request"))
        super().stop()
        self._disconnect()

    def steps(self) -> Iterator[Step]:
        """Yield the remaining steps, fitting in this thread; an error is raised here and ends the run."""
        while (step := self.advance()) is not None:
            yield step

    def advance(self) -> Step | None:
        """Take one step in this thread and return it; None if the run has ended."""
        try:
            with self._advancing:  # other callers take turns with the run's own thread: no step is computed twice
                if self.outcome is not None:
                    return None
                try:
                    state, step, verdict = self._next_step()
                except Stopped:
                    return None
                except Exception as error:
                    if self.trace.closed:  # a stop has released the solver's state during the step
                        return None
                    is_explained = isinstance(error, AlrvizError)
                    sentence = (
                        str(error) if is_explained else f"an error in alrviz itself: {type(error).__name__}: {error}"
                    )
                    self._end(Outcome(FAILED, sentence))
                    raise
                with self._ending:  # a step that was overtaken by a stop is dropped, with its weights
                    if self.trace.closed:
                        state.released()
                        return None
                    self.state = state
                    self._adopt_choices(state)
                    self._snapshots.add(state.index, state.point.w)
                    self.trace.append(step)
                _log.debug("%s: step %d, objective %.9g", self.name, step.index, step.objective)
                if verdict is not None:
                    self._end(verdict)
                if self._on_step is not None and self._on_step(step) is True:
                    self.stop()
                return step
        finally:
            self._disconnect()

    def _adopt_choices(self, state: SolverState) -> None:
        """Enter the settings that the solver has chosen into the recipe, with a sentence on them."""
        chosen_params = {} if self._fit is None else self._fit.solver.chosen_params(state)
        if any(self.recipe.params[name] != value for name, value in chosen_params.items()):
            self.recipe, self._alpha_was_chosen = self.recipe.replace(**chosen_params), True
            values_text = ", ".join(f"{name}={in_digits(value)}" for name, value in chosen_params.items())
            n_trials = sum(step.kind == "search" for step in self.trace.since(0))
            choice_text = f"was chosen by validation log loss of folds, in {n_trials} trials"
            if isinstance(state.carry, ChosenAlpha) and state.carry.ended_early:
                choice_text = (choice_text if n_trials else "is the first guess") + (
                    f"; further ones were not tried, as time_limit={self._time_limit:g} was over"
                )
            self._choices = [
                *self._choices,
                f"{values_text} {choice_text}",
            ]

    def replay(self, index: int) -> "Run":
        """Return a new run of the same recipe, fitted up to step `index`, with the same bits."""
        # the limit of this run: with the memory that is free now, another solver might be chosen
        max_memory = self.estimate.max_bytes if self.estimate else self._max_memory
        limits: dict[str, Any] = {"n_jobs": self._n_jobs, "max_memory": max_memory, "start": self._start}
        if self.dataset is None and self._prepared is not None:
            replayed = Run.on_encoded(self._prepared.encoded, self.recipe, self._prepared.holdout, **limits)
        else:
            replayed = Run(self.dataset, self.recipe, scheduler=self._scheduler, **limits)
        # the recipe has the chosen values already
        replayed._choices, replayed.trials, replayed._selection_passes = (
            [*self._choices],
            [*self.trials],
            self._selection_passes,
        )
        replayed._alpha_was_chosen, replayed._fold_model = self._alpha_was_chosen, self._fold_model
        while (not len(replayed.trace) or replayed.trace[-1].index < index) and replayed.advance() is not None:
            pass
        return replayed

    # -- looking ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        position = f"step {self.trace[-1].index}" if len(self.trace) else "no step yet"
        table_name = self.dataset.name if self.dataset is not None else "encoded rows"
        return f"<Run of {self.name} on {table_name}: {self.outcome.code if self.outcome else self.phase}, {position}>"

    @property
    def phase(self) -> str:
        """One of "waiting", "preparing", "running", "paused" or "ended"."""
        if self.outcome is not None:
            return "ended"
        if self.paused:
            return "paused"
        if self.state is not None:
            return "running"
        return "preparing" if self.activity else "waiting"

    # -- inside -------------------------------------------------------------------------------------------------------

    def _remaining_steps(self, stop: StopToken) -> Iterator[Step]:
        """Yield the remaining steps, on the run's own thread.

        An `AlrvizError` is not raised here: `advance` has made it the outcome, which watchers read. stop: not used.
        """
        with suppress(AlrvizError):
            for step in self.steps():
                if self.outcome is not None:
                    return
                yield step

    def _end(self, outcome: Outcome) -> None:
        """Set the outcome, unless there is one, and release the solver's memory."""
        with self._ending:
            if self.outcome is None:
                self.trace.close()
                self.outcome = outcome
                n_steps = self.trace[-1].index if len(self.trace) else 0
                _log.info("%s: %s, after step %d and %.3g s", self.name, outcome, n_steps, self._seconds)
                if self.state is not None:
                    self.state = self.state.released()
                if self._fit is not None:
                    self._fit.objective.release(self.state.point if self.state else None)

    def _disconnect(self) -> None:
        """Close the run's own connection after it has ended and no step is running."""
        if self.outcome is not None and self._advancing.acquire(blocking=False):
            try:
                self._connection.close()
            finally:
                self._advancing.release()

    def _next_step(self) -> tuple[SolverState, Step, Outcome | None]:
        """Return the next state, its step, and the outcome if it is the last."""
        fit = self._fit or self._prepare()
        started_at = time.perf_counter()
        previous = self.state  # read once: a stop may replace it
        state = self._begin(fit) if previous is None else fit.solver.advance(fit.objective, previous)
        self._seconds += time.perf_counter() - started_at
        with self._ending:
            if previous is not None and previous is self.state and self.coded is not None:
                # they are as large as the weights, and no longer needed
                self.state = replace(previous, point=replace(previous.point, gradient=np.empty(0)), carry=None)
        del previous
        state = fit.solver.with_report_point(fit.objective, state)
        verdict = self._convergence_test.verdict(state)
        if self._checkpoint is not None and state.carry is not None and not (verdict and verdict.code == DIVERGED):
            progress_state = {"seconds": self._seconds, "judged": self._convergence_test.history}
            self._checkpoint.write({**fit.solver.checkpoint(fit.objective, state), **progress_state})
        if verdict is not None:
            verdict = self._convergence_test.confirm(verdict, state)
        extra = dict(state.extra)
        if state.kind != "search":  # a trial fit leaves the weights unchanged
            for observe in self._observers:
                extra.update(observe(state))
        return state, self._step_of(state, extra), verdict

    def _begin(self, fit: Fit) -> SolverState:
        """Return the state at the start, or after the last stored pass."""
        if self._checkpoint_path is not None and self.coded is not None:
            settings = json.loads(self.recipe.to_json())
            settings |= settings.pop("params", {})  # the fit's identity: all settings of its recipe by name
            self._checkpoint = PassCheckpoint(self._checkpoint_path, {**settings, ROWS: self.coded.cache.path.name})
        checkpoint = self._checkpoint.read() if self._checkpoint else None
        self._seconds = float(checkpoint["seconds"]) if checkpoint else 0.0
        if checkpoint:
            self._convergence_test.resume(checkpoint["judged"])
        return (
            fit.solver.init(fit.objective, fit.w0)
            if checkpoint is None
            else fit.solver.resume(fit.objective, checkpoint)
        )

    def _step_of(self, state: SolverState, extra: dict[str, float]) -> Step:
        """Return the step of a state; extra: further values by name."""
        point = state.point
        return Step(
            index=state.index,
            kind=state.kind,
            evaluations=state.evaluations,
            passes=state.passes,
            seconds=self._seconds,
            objective=point.objective,
            nll=point.sums.nll,
            penalty=point.penalty,
            grad_norm=float((point.gradient**2).sum()) ** 0.5,
            step_size=state.step_size,
            extra=extra,
        )

    def _prepare(self) -> Fit:
        """Build the fit and the observers of its steps."""
        problem = self._problem_of_stream(self.dataset) if isinstance(self.dataset, Stream) else self._problem_of_rows()
        fit, self.tables = problem.fit, problem.tables
        if self._start is not None and not isinstance(self.dataset, Stream):
            fit = replace(fit, w0=fit.objective.weights_of(self._start))
        self.compile_seconds += problem.compile_seconds
        self.trace.baseline.update(problem.baseline)
        self._convergence_test = ConvergenceTest(fit.objective, fit.max_iter, fit.tol, fit.passes_before)
        self._observers = [observers.training(fit.objective), *problem.observers]
        self.trace.rows = fit.objective.total
        if problem.heldout is not None:
            self._observers.append(observers.heldout(fit.objective, problem.heldout))
            self.trace.heldout_rows = float(problem.heldout.weights.sum())
        self.activity = "fitting"
        assert self.estimate is not None
        rows, cost = fit.objective.total, self.estimate.cost
        _log.info("%s: %.6g rows, %d parameters, %.3g MiB", self.name, rows, cost.parameters, cost.bytes / 2**20)
        self._fit = fit
        return fit

    def _problem_of_rows(self) -> FitProblem:
        """Return the fit of the recipe to a table in memory."""
        stop, search_end = self.token, monotonic() + (inf if self._time_limit is None else self._time_limit)
        if self._prepared is None:
            self.activity = "encoding"
            self._encode = partial(prepare, self.dataset, n_jobs=self._n_jobs, stop=stop)  # type: ignore[arg-type]
            self._prepared = self._encode(self.recipe)
        prepared = self._prepared
        require_learnable(prepared.encoded)
        self.activity = "compiling"
        self.compile_seconds = warm_covers(prepared.has_wide_codes) if self.recipe.definition.counts_cells else 0.0
        stop.check()
        if self.recipe.discretize == AUTO and (self._encode is None or not prepared.encoded.smooth_levels.any()):
            self.recipe = self.recipe.replace(discretize="smooth")  # there are no other levels to try
        if AUTO in (self.recipe.params.get("order"), self.recipe.discretize):
            prepared = self._prepared = self._choose_order(prepared)
        self._choose_keep(partial(self._without_validation, prepared), search_end - monotonic())
        recipe = self.recipe
        self.activity = "estimating"
        cost = self.estimate
        if cost is None or cost.refusal or cost.cost.bytes > allowed_bytes(self._max_memory):
            self.estimate = cost = estimate(recipe, TableShape.from_prepared(prepared, stop), self._max_memory)
        require_memory(cost)
        params = _with_solver(recipe, cost)
        request = FitRequest(
            prepared,
            recipe,
            params,
            self._report,
            stop,
            self._levels.append,
            self._max_memory,
            search_end - monotonic(),
        )
        problem = recipe.definition.make(request)
        objective = problem.fit.objective
        w0 = first_weights(objective, request, recipe.params["alpha"]) if self._alpha_was_chosen else None
        if w0 is None and self._fold_model is not None and isinstance(objective, LinearObjective):
            w0 = objective.weights_near(self._fold_model)
        return problem if w0 is None else replace(problem, fit=replace(problem.fit, w0=w0))

    def _problem_of_stream(self, stream: Stream) -> FitProblem:
        """Return the fit of the recipe to a table read in batches."""
        recipe, search_end = self.recipe, monotonic() + (inf if self._time_limit is None else self._time_limit)
        client = self._connection.enter_context(connect(self._scheduler))  # connect before hours of reading
        missing = recipe.definition.missing(recipe.params)
        self.coded = stream.coded(
            recipe.cuts,
            recipe.most_levels,
            missing,
            holdout=recipe.holdout,
            seed=recipe.seed,
            progress=self._report_rows,
            stop=self.token,
        )
        give_back()  # memory used for reading
        if lost_columns := lost_text(self.coded.encoder):
            warnings.warn(f"{stream.name}: {lost_columns}", LostColumnsWarning, stacklevel=2)
        max_bytes = allowed_bytes(self._max_memory)
        chunks: Callable[[int], Chunks]
        if client is None:
            chunks = partial(local_chunks, self.coded, "train")
        else:
            self._report("waiting for the cluster")
            chunks = ClusterChunks(client, self.coded, "train", self.token).without
        request = StreamRequest(
            self.coded, chunks, recipe, max_bytes, self._n_jobs, self._report, self.token, self._levels.append,
            passes_before=self._selection_passes,
        )  # fmt: skip
        trial = replace(request, on_level=lambda level: None, chooses_settings=True)
        if AUTO in (self.recipe.params.get("order"), self.recipe.params.get("alpha")):
            rows = first_training_rows(self.coded)
            rows = rows.take(np.arange(min(rows.n_rows, MAX_LEARNER_ROWS)))
            self._choose_order(TrainingData(rows, None, None, self._n_jobs), sampled=True)
        self._choose_keep(
            lambda candidate: candidate.definition.make_stream(replace(trial, recipe=candidate))[0],
            search_end - monotonic(),
        )
        self.recipe.definition.check_stream(self.recipe.params, len(self.coded.levels))
        self._selection_passes += sum(chunks_read.passes for chunks_read in request.chunks_read)
        problem, self.estimate = self.recipe.definition.make_stream(
            replace(request, recipe=self.recipe, start=self._start)
        )
        return problem

    def _choose_order(self, prepared: TrainingData, sampled: bool = False) -> TrainingData:
        """Choose the order on prepared training rows; return the rows in the cuts of that order.

        sampled: whether the rows are a sample of a table read in batches.
        """

        def on_trial(trial: Mapping[str, float]) -> None:
            self.trials.append(trial)
            if self._on_trial is not None:
                self._on_trial(trial)
            self.activity = f"choosing the order: {trial['log_loss']:.4f} at {trial['order']}"

        self.activity, requested = "choosing the order", self.recipe
        recipe = requested
        if sampled:  # with its own solver, and steps as for rows in memory
            settings = {"solver": "auto", "max_iter": 200}
            recipe = requested.replace(**{name: value for name, value in settings.items() if name in requested.params})
        choice = choose_order(
            recipe, prepared, self._encode or (lambda recipe: prepared), max_memory=self._max_memory,
            time_limit=self._time_limit, stop=self.token, on_trial=on_trial,
        )  # fmt: skip
        sentence, chosen_params = choice.sentence, choice.recipe.params
        if sampled:
            sentence += f"; on {prepared.encoded.n_rows:,} rows drawn from the table"
        settings = {name: chosen_params[name] for name in ("order", "alpha", "keep") if name in chosen_params}
        self.recipe = requested.replace(discretize=choice.recipe.discretize, **settings)
        self._choices = [*self._choices, sentence]
        self._alpha_was_chosen = requested.params.get("alpha") == AUTO and not sampled
        self._fold_model = None if sampled else choice.model
        return choice.prepared

    def _choose_keep(self, build: Build, max_seconds: float) -> None:
        """Choose how many tuples the model keeps, if the recipe leaves it open, in a search of at most max_seconds."""
        if self.recipe.params.get("keep") == AUTO:
            self.activity = "choosing keep"
            self.recipe, sentence = choose_n_tuples(self.recipe, build, Deadline(self.token, max_seconds))
            self._choices = [*self._choices, sentence]

    def _without_validation(self, prepared: TrainingData, recipe: Recipe) -> FitProblem:
        """Return the fit of a recipe to the training rows without D_CV."""
        data = prepared.validation(recipe.seed, self.token)
        cost = estimate(recipe, TableShape.from_prepared(data, self.token), self._max_memory)
        require_memory(cost)
        return recipe.definition.make(
            FitRequest(data, recipe, _with_solver(recipe, cost), lambda status: None, self.token)
        )

    def _report_rows(self, activity: str, rows: int) -> None:
        self.activity = f"{activity}: {rows:,} rows"
        self._progress(activity, rows)

    def _report(self, activity: str) -> None:
        self.activity = activity


def _with_solver(recipe: Recipe, cost: Estimate) -> Params:
    """Return the recipe's parameters with the chosen solver and memory."""
    choice = cost.choice
    if choice is None or choice.solver == "none":
        return recipe.params
    return {**recipe.params, "solver": choice.solver, "memory": choice.memory}
