"""What selecting tuples asks of rows: counts of any tuples, and what a model of some leaves unexplained in others."""

from collections.abc import Callable

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.data.splits import n_validation_rows
from alrviz.data.stream.cache import CodeCache
from alrviz.data.stream.table import CodedTable
from alrviz.errors import RecipeError
from alrviz.fitting.families.alpha_folds import with_number
from alrviz.fitting.families.build_fit import Fit, assemble, assemble_stream
from alrviz.fitting.families.family import FitRequest, StreamRequest
from alrviz.fitting.families.left_out import LeftOut
from alrviz.fitting.objectives.streamed import CodedRows, TrainValidationChunk
from alrviz.memory import free_memory
from alrviz.models.cell_space import Tuples
from alrviz.models.streamed import StreamedCounts
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import SelectionRows
from alrviz.passes.aligned_buffers import Floats

LEAST_TRIED, MOST_TRIED = 5_000, 20_000  # rows on which step lengths are tried
SAMPLE, FURTHER = 2**16, 2**13  # training rows that learners are tried on at most, and those that judge them
LEAST_SPLIT = 300  # with fewer, all learn and all judge: which of two learners fits them better is all there is to know
# Of the fit beside which tuples are judged by their gain: steps at most, and the share that the last lowers F by.
STEPS_BELOW, REST = 30, 1e-4


class InMemory(SelectionRows):
    """What selecting asks of rows in memory."""

    def __init__(self, request: FitRequest):
        self._request, self.hear, self.levels = request, request.hear, request.prepared.encoded.levels

    def tables(self, tuples: Tuples) -> Tables:
        """Counts, kept with the rows."""
        of = self._request
        return of.prepared.tables(tuples, of.params["smoothing"], of.stop)

    def excess(self, tuples: Tuples, below: Tuples) -> Floats:
        """Return G (S, C): the residuals of a fit of `below`, of STEPS_BELOW steps at most, summed by cell."""
        of, prepared = self._request, self._request.prepared
        of.tell(f"fitting what {of.recipe.family} selects beside")
        tables = self.tables(tuples)
        if below == 0:
            rows, log_pi = prepared.rows(of.stop), tables.log_pi
            z = np.full((rows.n_rows, rows.padded_width), -np.inf)
            z[:, : rows.n_classes] = log_pi
        else:
            lower = prepared.covered(below, of.stop)
            # those that learn row by row would search step lengths first
            params = {**with_number(of.params), "solver": "auto"}
            fit = assemble(
                lower.rows, lower.cover, self.tables(below), params, prepared.encoded.classes, of.stop,
                seed=of.recipe.seed, chains=prepared.encoded.chains,
            )  # fmt: skip
            rows, z = lower.rows, fit.objective.scores(_at_rest(fit))
        residual = rows.scores()
        rows.loss_and_residual(z, None, 0.0, z, residual, of.stop)
        return prepared.sums(tables, residual, of.stop)

    def losses_without(self, tuples: Tuples) -> Floats:
        """As `SelectionRows` says; counted without D_CV. Raises `RecipeError` for rows of different weights."""
        of = self._request
        apart = of.prepared.validation(of.recipe.seed, of.stop)
        assert apart.holdout is not None
        weights = apart.holdout.weights
        there = weights > 0
        if of.params["class_weight"] is not None or len(np.unique(weights[there])) > 1:
            raise RecipeError(
                "selection='cv' learns row by row, each alike; expected equal weights of rows and classes, or "
                "selection='mi', 'mi-mm' or 'gain'"
            )
        chosen = CodedRows(apart.holdout.codes[:, there], apart.holdout.y[there], apart.encoded.n_classes)
        tables = apart.tables(tuples, of.params["smoothing"], of.stop)
        allowed = free_memory() // 2 if of.max_memory is None else of.max_memory
        return LeftOut(tables, chosen, of.params, of.recipe.seed, apart.n_jobs, of.stop, allowed).losses(of.tell)


class OverPasses(SelectionRows):
    """What selecting asks of rows that come in chunks: counts in a pass, residuals of a fit by full passes."""

    def __init__(
        self,
        count: Callable[..., StreamedCounts],
        trial: TrainValidationChunk,
        sample: TrainValidationChunk,
        request: StreamRequest,
    ):
        # of tuples; and, True, without D_CV
        self._count, self._trials, self._request, self.hear = count, (trial, sample), request, request.hear
        self.levels = request.coded.levels

    def tables(self, tuples: Tuples) -> Tables:
        """Counts, in a pass."""
        return self._count(tuples).tables

    def excess(self, tuples: Tuples, below: Tuples) -> Floats:
        """Return G (S, C): the residuals of a model of `below`, summed by cell in one more pass."""
        of, above = self._request, self._count(tuples)
        of.tell(f"fitting what {of.recipe.family} selects beside")
        if below == 0:
            lower = self._count(1)
            table, bias = lower.blank(None), lower.tables.log_pi
        else:
            lower = self._count(below)
            params = {**of.recipe.params, "solver": "tron"}
            fit = assemble_stream(lower, *self._trials, params, of.stop, seed=of.recipe.seed)
            phi = fit.objective.model(_at_rest(fit))
            table, bias = lower.blank(None), phi.bias
            table[lower.rows, : len(bias)] = phi.phi
        return lower.passes.loss_and_gradient(
            table, bias, of.stop, gradient_cells=above.passes.cells, gradient_rows=above.rows
        ).gradient

    def losses_without(self, tuples: Tuples) -> Floats:
        """As `SelectionRows` says; counted without D_CV, in a pass."""
        of, rest = self._request, self._count(tuples, True)
        chosen = validation_part(of.coded.cache, rest.tables.n_classes)
        jobs = rest.passes.n_jobs
        of_each = LeftOut(rest.tables, chosen, of.recipe.params, of.recipe.seed, jobs, of.stop, of.allowed)
        return of_each.losses(of.tell)


def _at_rest(fit: Fit) -> Floats:
    """The weights of a fit once a step hardly lowers F."""
    state = fit.solver.init(fit.objective, fit.w0)
    for _ in range(STEPS_BELOW):
        before, state = state.point.objective, fit.solver.advance(fit.objective, state)
        if before - state.point.objective < REST * abs(before):
            break
    w: Floats = fit.solver.look(fit.objective, state).point.w
    return w


def first_rows(coded: CodedTable, skipped: int = 0) -> Encoded:
    """Return rows drawn from a table read in batches: those of the first chunk, but for so many."""
    codes, y = (each[..., skipped:] for each in next(iter(coded.cache.chunks("train", [0]))))
    return Encoded(codes, y, np.ones(len(y)), coded.levels, coded.classes, coded.names)


def validation_part(cache: CodeCache, n_classes: int) -> CodedRows:
    """Return the validation rows (D_CV) of a table read in batches: training rows that choose tuples and settings."""
    n_rows = n_validation_rows(cache.n_rows("train"))
    return CodedRows(*next(iter(cache.chunks("train", [0]))), n_classes).part(0, n_rows)


def test_part(cache: CodeCache, n_classes: int) -> CodedRows | None:
    """Return the test rows, None without any: they choose nothing."""
    test = cache.whole("test") if "test" in cache.parts else None
    return None if test is None or not len(test.y) else CodedRows(test.codes, test.y, n_classes)


def step_trial(first: Encoded) -> TrainValidationChunk:
    """Return those of the `first` training rows on which step lengths of [sALR]'s learner are tried."""
    n = min(first.n_rows, MOST_TRIED)
    return _split(first, n, n // 10 if n >= LEAST_TRIED else 0)


def sample_trial(first: Encoded) -> TrainValidationChunk:
    """Return those of the `first` training rows on which learners are tried; their Hessian stands for that of all."""
    n = min(first.n_rows, SAMPLE + FURTHER)
    return _split(first, n, n // 9 if n >= LEAST_TRIED else n // 3 if n >= LEAST_SPLIT else 0)


def _split(rows: Encoded, n: int, judging: int) -> TrainValidationChunk:
    """The first n rows, so many of them to judge by; 0 for all, of few rows: a handful that any large step gets right
    would choose it.
    """
    cut, whole = n - judging if judging else 0, CodedRows(rows.codes, rows.y, rows.n_classes)
    return TrainValidationChunk(whole.part(0, cut or n), whole.part(cut, n))
