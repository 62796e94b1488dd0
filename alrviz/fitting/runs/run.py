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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import lost_text
from alrviz.data.stream.coding import Progress
from alrviz.data.stream.table import CodedTable, Stream, no_progress
from alrviz.errors import AlrvizError, LostColumnsWarning, RecipeError, Stopped
from alrviz.fitting.choose_n_tuples import Build, choose_n_tuples
from alrviz.fitting.choose_order import choose_order
from alrviz.fitting.cost.estimate import Estimate, allowed_bytes, estimate, require_memory
from alrviz.fitting.cost.peak_memory import MAX_SNAPSHOT_BYTES
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families import RUNS, observers, require_streams
from alrviz.fitting.families.alpha_folds import AUTO, first_weights
from alrviz.fitting.families.build_fit import Fit
from alrviz.fitting.families.family import FitProblem, FitRequest, StreamRequest
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.families.selection_rows import MAX_LEARNER_ROWS, first_rows
from alrviz.fitting.prepare import TrainingData, prepare, require_learnable
from alrviz.fitting.recipe import Recipe, require_recipe
from alrviz.fitting.runs.pass_checkpoint import ROWS, PassCheckpoint
from alrviz.fitting.runs.run_attributes import RunAttributes
from alrviz.fitting.runs.snapshots import Snapshots
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers import SolverState
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.step import DIVERGED, FAILED, STOPPED, Outcome, Step
from alrviz.fitting.warm import warm_covers
from alrviz.job import Job
from alrviz.memory import give_back
from alrviz.models.linear import LinearModel
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import Level
from alrviz.passes.cluster import ClusterChunks, connect, local_chunks, require_dask
from alrviz.passes.stream import Chunks
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from distributed import Client

    from alrviz.data.encoded import Encoded

_log = logging.getLogger(__name__)


class Run(RunAttributes, Job[Step]):
    """One fit: a job whose turns are steps.

    Args:
        dataset: the table; of one read in batches (`open_table`) a step is a pass over all rows.
        recipe: what to fit and how.
        n_jobs: threads for the passes; None for all.
        max_memory: bytes the fit may take; None for half of what is free when it starts.
        start: a model fitted to the same rows and order, such as `earlier.model`: the first step starts from its phi,
            not from the recipe's start, nor from a fit to a sample. For paths along alpha.
        on_step: called with every `Step` in the thread that fits; where it returns True the run is stopped.
        checkpoint: of a table read in batches, a file in which the state is kept after every pass; a run goes on from
            what is there, to the same model. Whoever has the model removes it.
        scheduler: of a table read in batches, the Dask cluster that passes over its rows, as the scheduler's address
            or a `distributed.Client`: the same bits, sooner. Steps row by row (AdaGrad's) are taken here all the same.
        progress: of a table read in batches, hears what is read or encoded and of how many rows that is done.
        on_trial: called with each line of `tried` as it comes.
        estimate: what was estimated beforehand, on the same rows and threads; None to estimate when it starts, as is
            done where less memory is free by then than the estimate takes.

    Raises:
        RecipeError: for a family whose fit has no steps, such as tan; for what is no recipe.
        TableError: for what is no data set.

    The logger "alrviz.fitting.runs.run" tells begin and end of every run (INFO) and its steps (DEBUG).

    Attributes:
        trace: the steps so far; readable from any thread at any time.
        tried: what order="auto" has tried so far, as lines: order, alpha_1, ... where they are to be found,
            log_loss, and the folds that it is of.
        outcome: None until the run has ended, then why.
        activity: what it is doing before the first step: "encoding", "counting cells", "compiling", then "fitting".
        estimate: what the fit costs, the solver that will run, or why it is refused; None until that is known.
        compile_seconds: what compiling took; in no other number.

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
                f"{recipe.family} is fitted at one go and has no steps to run; expected one of "
                f"{', '.join(map(repr, RUNS))}, or make_estimator(recipe).fit(X, y)"
            )
        if recipe.params.get("alpha") == "cv":
            raise RecipeError(
                'alpha="cv" stands for many fits, and a run is one; expected a number, or '
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
        self._max_memory = max_memory
        self._start = start
        self._on_step, self._on_trial = on_step, on_trial
        self._advancing = threading.Lock()
        self._ending = threading.Lock()
        self._scheduler, self._connection = scheduler, ExitStack()
        self._prepared: TrainingData | None = None
        self._coded: CodedTable | None = None
        self._checkpoint: PassCheckpoint | None = None
        self._kept_in, self._progress = None if checkpoint is None else Path(checkpoint), progress
        self._fit: Fit | None = None
        self._tables: Tables | None = None
        self._levels: list[Level] = []
        self._settled: list[str] = []
        self.tried: list[Mapping[str, float]] = []
        self._encode: Callable[[Recipe], TrainingData] | None = None
        self._tuned = False  # whether its alpha was chosen: then the fit begins where the search has ended, if it may
        self._chosen_in = 0  # passes
        self._state: SolverState | None = None
        self._seconds = 0.0
        self._snapshots = Snapshots(MAX_SNAPSHOT_BYTES // (4 if isinstance(dataset, Stream) else 1))

    @classmethod
    def of(
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
        """Return a run on rows that are already encoded; the recipe's split and discretisation are not used."""
        prepared = TrainingData(encoded, holdout, None, n_jobs)
        return cls.on(prepared, recipe, max_memory=max_memory, start=start, on_step=on_step)

    @classmethod
    def on(
        cls,
        prepared: TrainingData,
        recipe: Recipe,
        *,
        max_memory: int | None = None,
        start: LinearModel | None = None,
        on_step: Callable[[Step], object] | None = None,
        encode: Callable[[Recipe], TrainingData] | None = None,
        on_trial: Callable[[Mapping[str, float]], object] | None = None,
    ) -> "Run":
        """Return a run on rows that are prepared, covers and counts shared with whoever has them too.

        `encode` returns the same rows as a recipe of another order has them; None where only codes are known, which
        every order that is tried (order="auto") then takes.
        """
        run = cls(
            None, recipe, n_jobs=prepared.n_jobs, max_memory=max_memory, start=start, on_step=on_step, on_trial=on_trial
        )
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
            with self._advancing:  # callers beside the run's own thread take turns with it: no step is made twice
                if self.outcome is not None:
                    return None
                try:
                    state, step, verdict = self._next()
                except Stopped:
                    return None
                except Exception as error:
                    if self.trace.closed:  # a stop took the solver's state away while it was at work
                        return None
                    ours = isinstance(error, AlrvizError)
                    sentence = str(error) if ours else f"an error in alrviz itself: {type(error).__name__}: {error}"
                    self._end(Outcome(FAILED, sentence))
                    raise
                with self._ending:  # a step that a stop overtook leaves no trace and no weights
                    if self.trace.closed:
                        state.released()
                        return None
                    self._state = state
                    self._choose(state)
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

    def _choose(self, state: SolverState) -> None:
        """Take what the solver has chosen into the recipe, and say so."""
        chosen = {} if self._fit is None else self._fit.solver.chosen(state)
        if any(self.recipe.params[name] != value for name, value in chosen.items()):
            self.recipe, self._tuned = self.recipe.replace(**chosen), True
            listed = ", ".join(f"{name}={in_digits(value)}" for name, value in chosen.items())
            tried = sum(step.kind == "search" for step in self.trace.since(0))
            self._settled = [*self._settled, f"{listed} was chosen by validation log loss of folds, in {tried} trials"]

    def replay(self, index: int) -> "Run":
        """Return a new run of the same recipe, fitted up to step `index`: bit for bit where this one was."""
        # what this one was allowed, not what is free beside it: else another solver might be chosen
        allowed = self.estimate.allowed if self.estimate else self._max_memory
        limits: dict[str, Any] = {"n_jobs": self._n_jobs, "max_memory": allowed, "start": self._start}
        if self.dataset is None and self._prepared is not None:
            other = Run.of(self._prepared.encoded, self.recipe, self._prepared.holdout, **limits)
        else:
            other = Run(self.dataset, self.recipe, scheduler=self._scheduler, **limits)
        # its recipe has what was chosen
        other._settled, other.tried, other._chosen_in = [*self._settled], [*self.tried], self._chosen_in
        other._tuned = self._tuned
        while (not len(other.trace) or other.trace[-1].index < index) and other.advance() is not None:
            pass
        return other

    # -- looking ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        at = f"step {self.trace[-1].index}" if len(self.trace) else "no step yet"
        on = self.dataset.name if self.dataset is not None else "encoded rows"
        return f"<Run of {self.name} on {on}: {self.outcome.code if self.outcome else self.phase}, {at}>"

    @property
    def phase(self) -> str:
        """One of "waiting", "preparing", "running", "paused" or "ended"."""
        if self.outcome is not None:
            return "ended"
        if self.paused:
            return "paused"
        if self._state is not None:
            return "running"
        return "preparing" if self.activity else "waiting"

    # -- inside -------------------------------------------------------------------------------------------------------

    def _remaining_steps(self, stop: StopToken) -> Iterator[Step]:
        """The turns of its thread: an error has become the outcome, which is where a watcher looks."""
        with suppress(AlrvizError):
            for step in self.steps():
                if self.outcome is not None:
                    return
                yield step

    def _end(self, outcome: Outcome) -> None:
        with self._ending:
            if self.outcome is None:
                self.trace.close()
                self.outcome = outcome
                steps = self.trace[-1].index if len(self.trace) else 0
                _log.info("%s: %s, after step %d and %.3g s", self.name, outcome, steps, self._seconds)
                if self._state is not None:
                    self._state = self._state.released()
                if self._fit is not None:
                    self._fit.objective.release(self._state.point if self._state else None)

    def _disconnect(self) -> None:
        """Close a connection of its own once it has ended, after whoever is at work with it."""
        if self.outcome is not None and self._advancing.acquire(blocking=False):
            try:
                self._connection.close()
            finally:
                self._advancing.release()

    def _next(self) -> tuple[SolverState, Step, Outcome | None]:
        fit = self._fit or self._prepare()
        begin = time.perf_counter()
        before = self._state  # once: a stop may put another in its place
        state = self._begin(fit) if before is None else fit.solver.advance(fit.objective, before)
        self._seconds += time.perf_counter() - begin
        with self._ending:
            if before is not None and before is self._state and self._coded is not None:
                # these are as large as the weights, and nobody goes on from it
                self._state = replace(before, point=replace(before.point, gradient=np.empty(0)), carry=None)
        del before
        state = fit.solver.look(fit.objective, state)
        verdict = self._judge.verdict(state)
        if self._checkpoint is not None and state.carry is not None and not (verdict and verdict.code == DIVERGED):
            also = {"seconds": self._seconds, "judged": self._judge.kept}
            self._checkpoint.write({**fit.solver.kept(fit.objective, state), **also})
        if verdict is not None:
            verdict = self._judge.confirm(verdict, state)
        extra = dict(state.extra)
        if state.kind != "search":  # a trial fit leaves the weights where they were
            for observe in self._observers:
                extra.update(observe(state))
        return state, self._report(state, extra), verdict

    def _begin(self, fit: Fit) -> SolverState:
        """The state at the start, or after the last pass that was kept."""
        if self._kept_in is not None and self._coded is not None:
            of = json.loads(self.recipe.to_json())
            of |= of.pop("params", {})  # what a fit is of, by the names that a recipe is made with
            self._checkpoint = PassCheckpoint(self._kept_in, {**of, ROWS: self._coded.cache.path.name})
        kept = self._checkpoint.read() if self._checkpoint else None
        self._seconds = float(kept["seconds"]) if kept else 0.0
        if kept:
            self._judge.resume(kept["judged"])
        return fit.solver.init(fit.objective, fit.w0) if kept is None else fit.solver.resumed(fit.objective, kept)

    def _report(self, state: SolverState, extra: dict[str, float]) -> Step:
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
        made = self._of_stream(self.dataset) if isinstance(self.dataset, Stream) else self._of_rows()
        fit, self._tables = made.fit, made.tables
        if self._start is not None and not isinstance(self.dataset, Stream):
            fit = replace(fit, w0=fit.objective.weights_of(self._start))
        self.compile_seconds += made.compiled
        self.trace.baseline.update(made.baseline)
        self._judge = ConvergenceTest(fit.objective, fit.max_iter, fit.tol, fit.spent)
        self._observers = [observers.training(fit.objective), *made.observers]
        self.trace.rows = fit.objective.total
        if made.heldout is not None:
            self._observers.append(observers.heldout(fit.objective, made.heldout))
            self.trace.heldout_rows = float(made.heldout.weights.sum())
        self.activity = "fitting"
        assert self.estimate is not None
        rows, cost = fit.objective.total, self.estimate.cost
        _log.info("%s: %.6g rows, %d parameters, %.3g MiB", self.name, rows, cost.parameters, cost.bytes / 2**20)
        self._fit = fit
        return fit

    def _of_rows(self) -> FitProblem:
        """What the recipe makes of a table in memory."""
        stop = self.token
        if self._prepared is None:
            self.activity = "encoding"
            self._encode = partial(prepare, self.dataset, n_jobs=self._n_jobs, stop=stop)  # type: ignore[arg-type]
            self._prepared = self._encode(self.recipe)
        prepared = self._prepared
        require_learnable(prepared.encoded)
        self.activity = "compiling"
        self.compile_seconds = warm_covers(prepared.wide) if self.recipe.definition.counts_cells else 0.0
        stop.check()
        if self.recipe.discretize == AUTO and (self._encode is None or not prepared.encoded.smooth_levels.any()):
            self.recipe = self.recipe.replace(discretize="smooth")  # there are no other levels to try
        if AUTO in (self.recipe.params.get("order"), self.recipe.discretize):
            prepared = self._prepared = self._choose_order(prepared)
        self._choose_keep(partial(self._apart, prepared))
        recipe = self.recipe
        self.activity = "estimating"
        known = self.estimate
        if known is None or known.refused or known.cost.bytes > allowed_bytes(self._max_memory):
            self.estimate = known = estimate(recipe, TableShape.of(prepared, stop), self._max_memory)
        require_memory(known)
        params = _chosen(recipe, known)
        of = FitRequest(prepared, recipe, params, self._tell, stop, self._levels.append, self._max_memory)
        made = recipe.definition.make(of)
        w0 = first_weights(made.fit.objective, of, recipe.params["alpha"]) if self._tuned else None
        return made if w0 is None else replace(made, fit=replace(made.fit, w0=w0))

    def _of_stream(self, stream: Stream) -> FitProblem:
        """What the recipe makes of a table that is read in batches."""
        recipe = self.recipe
        client = self._connection.enter_context(connect(self._scheduler))  # hours of reading might be for nothing
        missing = recipe.definition.missing(recipe.params)
        self._coded = stream.coded(
            recipe.cuts,
            recipe.most_levels,
            missing,
            holdout=recipe.holdout,
            seed=recipe.seed,
            progress=self._tell_rows,
            stop=self.token,
        )
        give_back()  # what reading took
        if lost := lost_text(self._coded.encoder):
            warnings.warn(f"{stream.name}: {lost}", LostColumnsWarning, stacklevel=2)
        allowed = allowed_bytes(self._max_memory)
        chunks: Callable[[int], Chunks]
        if client is None:
            chunks = partial(local_chunks, self._coded, "train")
        else:
            self._tell("waiting for the cluster")
            chunks = ClusterChunks(client, self._coded, "train", self.token).without
        request = StreamRequest(
            self._coded, chunks, recipe, allowed, self._n_jobs, self._tell, self.token, self._levels.append,
            spent=self._chosen_in,
        )  # fmt: skip
        trial = replace(request, on_level=lambda level: None, choosing=True)
        if AUTO in (self.recipe.params.get("order"), self.recipe.params.get("alpha")):
            rows = first_rows(self._coded)
            rows = rows.take(np.arange(min(rows.n_rows, MAX_LEARNER_ROWS)))
            self._choose_order(TrainingData(rows, None, None, self._n_jobs), drawn=True)
        self._choose_keep(lambda of: of.definition.make_stream(replace(trial, recipe=of))[0])
        self.recipe.definition.check_stream(self.recipe.params, len(self._coded.levels))
        self._chosen_in += sum(own.passes for own in request.used)
        made, self.estimate = self.recipe.definition.make_stream(
            replace(request, recipe=self.recipe, start=self._start)
        )
        return made

    def _choose_order(self, prepared: TrainingData, drawn: bool = False) -> TrainingData:
        """Choose the order on the training rows, or on rows drawn from a table that is read in batches; return the rows
        as its cuts have them.
        """

        def on_trial(trial: Mapping[str, float]) -> None:
            self.tried.append(trial)
            if self._on_trial is not None:
                self._on_trial(trial)
            self.activity = f"choosing the order: {trial['log_loss']:.4f} at {trial['order']}"

        self.activity, asked = "choosing the order", self.recipe
        recipe = asked
        if drawn:  # a solver of their own, and steps as in memory
            own = {"solver": "auto", "max_iter": 200}
            recipe = asked.replace(**{name: value for name, value in own.items() if name in asked.params})
        found = choose_order(
            recipe, prepared, self._encode or (lambda of: prepared), max_memory=self._max_memory, stop=self.token,
            on_trial=on_trial,
        )  # fmt: skip
        sentence, chosen = found.sentence, found.recipe.params
        if drawn:
            sentence += f"; on {prepared.encoded.n_rows:,} rows drawn from the table"
        own = {name: chosen[name] for name in ("order", "alpha", "keep") if name in chosen}
        self.recipe = asked.replace(discretize=found.recipe.discretize, **own)
        self._settled = [*self._settled, sentence]
        self._tuned = asked.params.get("alpha") == AUTO and not drawn
        return found.prepared

    def _choose_keep(self, build: Build) -> None:
        if self.recipe.params.get("keep") == AUTO:
            self.activity = "choosing keep"
            self.recipe, sentence = choose_n_tuples(self.recipe, build, self.token)
            self._settled = [*self._settled, sentence]

    def _apart(self, prepared: TrainingData, recipe: Recipe) -> FitProblem:
        """What a recipe makes of the training rows without D_CV."""
        apart = prepared.validation(recipe.seed, self.token)
        known = estimate(recipe, TableShape.of(apart, self.token), self._max_memory)
        require_memory(known)
        return recipe.definition.make(FitRequest(apart, recipe, _chosen(recipe, known), lambda what: None, self.token))

    def _tell_rows(self, what: str, rows: int) -> None:
        self.activity = f"{what}: {rows:,} rows"
        self._progress(what, rows)

    def _tell(self, activity: str) -> None:
        self.activity = activity


def _chosen(recipe: Recipe, known: Estimate) -> Mapping[str, Any]:
    """The recipe's parameters, with the solver and the memory that were chosen for it."""
    choice = known.choice
    if choice is None or choice.solver == "none":
        return recipe.params
    return {**recipe.params, "solver": choice.solver, "memory": choice.memory}
