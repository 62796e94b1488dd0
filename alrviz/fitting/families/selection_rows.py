"""What tuple selection needs from rows: counts of any tuples, and residuals of models of some, summed by cell."""

from collections.abc import Callable

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.data.splits import n_validation_rows
from alrviz.data.stream.cache import CodeCache
from alrviz.data.stream.table import EncodedTable
from alrviz.errors import RecipeError
from alrviz.fitting.families.alpha_folds import with_number
from alrviz.fitting.families.build_fit import Fit, assemble, assemble_stream
from alrviz.fitting.families.family import FitRequest, StreamRequest
from alrviz.fitting.families.left_out import LeaveOneTupleOut
from alrviz.fitting.objectives.streamed import CodedRows, TrainValidationChunk
from alrviz.memory import free_memory
from alrviz.models.cell_space import Tuples
from alrviz.models.streamed import StreamedCounts
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import SelectionRows
from alrviz.passes.aligned_buffers import Floats

MIN_STEP_TRIAL_ROWS, MAX_STEP_TRIAL_ROWS = 5_000, 20_000  # rows on which step lengths are tried
# training rows to which learners are fitted, and validation rows that compare them
MAX_LEARNER_ROWS, MAX_VALIDATION_ROWS = 2**16, 2**13
MIN_SPLIT_ROWS = 300  # with fewer, all rows both train and validate: all that can be told is which learner fits better
# Limits of the fit whose residuals predict the gain of tuples: steps, and the relative decrease of F at its end.
MAX_FIT_STEPS, FIT_TOL = 30, 1e-4


class InMemory(SelectionRows):
    """`SelectionRows` of rows in memory."""

    def __init__(self, request: FitRequest):
        self._request, self.on_level, self.levels = request, request.on_level, request.prepared.encoded.levels

    def tables(self, tuples: Tuples) -> Tables:
        """Return the counts, cached with the rows."""
        request = self._request
        return request.prepared.tables(tuples, request.params["smoothing"], request.stop)

    def excess(self, tuples: Tuples, base_tuples: Tuples) -> Floats:
        """Return G (S, C): the residuals of a fit of `base_tuples`, of at most MAX_FIT_STEPS steps, summed by cell."""
        request, prepared = self._request, self._request.prepared
        request.report(f"fitting the model that {request.recipe.family} adds tuples to")
        tables = self.tables(tuples)
        if base_tuples == 0:
            rows, log_pi = prepared.rows(request.stop), tables.log_pi
            z = np.full((rows.n_rows, rows.padded_width), -np.inf)
            z[:, : rows.n_classes] = log_pi
        else:
            base_data = prepared.covered_rows(base_tuples, request.stop)
            # stochastic solvers would search step lengths first
            params = {**with_number(request.params), "solver": "auto"}
            fit = assemble(
                base_data.rows, base_data.cover, self.tables(base_tuples), params, prepared.encoded.classes,
                request.stop, seed=request.recipe.seed, chains=prepared.encoded.chains,
            )  # fmt: skip
            rows, z = base_data.rows, fit.objective.scores(_approximate_weights(fit))
        residual = rows.scores()
        rows.loss_and_residual(z, None, 0.0, z, residual, request.stop)
        return prepared.sums(tables, residual, request.stop)

    def losses_without(self, tuples: Tuples) -> Floats:
        """Return (T,) the nats per row of D_CV by which a model of the tuples gets worse without each of them.

        Counts exclude D_CV. Raises `RecipeError` for unequal weights.
        """
        request = self._request
        data = request.prepared.validation(request.recipe.seed, request.stop)
        assert data.holdout is not None
        weights = data.holdout.weights
        has_weight = weights > 0
        if request.params["class_weight"] is not None or len(np.unique(weights[has_weight])) > 1:
            raise RecipeError(
                "selection='cv' learns row by row, with equal weights; expected equal weights of rows and classes, or "
                "selection='mi', 'mi-mm' or 'gain'"
            )
        validation = CodedRows(data.holdout.codes[:, has_weight], data.holdout.y[has_weight], data.encoded.n_classes)
        tables = data.tables(tuples, request.params["smoothing"], request.stop)
        max_bytes = free_memory() // 2 if request.max_memory is None else request.max_memory
        return LeaveOneTupleOut(
            tables, validation, with_number(request.params), request.recipe.seed, data.n_jobs, request.stop, max_bytes
        ).losses(request.report)


class OverPasses(SelectionRows):
    """The rows of a selection of tuples, read in chunks: counting cells takes a pass, and residuals a fit by full
    passes.
    """

    def __init__(
        self,
        count: Callable[..., StreamedCounts],
        trial: TrainValidationChunk,
        sample: TrainValidationChunk,
        request: StreamRequest,
    ):
        # count(tuples); count(tuples, True) excludes D_CV
        self._count, self._trials, self._request, self.on_level = count, (trial, sample), request, request.on_level
        self.levels = request.coded.levels

    def tables(self, tuples: Tuples) -> Tables:
        """Return the counts, in a pass."""
        return self._count(tuples).tables

    def excess(self, tuples: Tuples, base_tuples: Tuples) -> Floats:
        """Return G (S, C): the residuals of a model of `base_tuples`, summed by cell in one more pass."""
        request, target_counts = self._request, self._count(tuples)
        request.report(f"fitting the model that {request.recipe.family} adds tuples to")
        if base_tuples == 0:
            base_counts = self._count(1)
            phi_table, bias = base_counts.blank(None), base_counts.tables.log_pi
        else:
            base_counts = self._count(base_tuples)
            params = {**request.recipe.params, "solver": "tron"}
            fit = assemble_stream(base_counts, *self._trials, params, request.stop, seed=request.recipe.seed)
            model = fit.objective.model(_approximate_weights(fit))
            phi_table, bias = base_counts.blank(None), model.bias
            phi_table[base_counts.rows, : len(bias)] = model.phi
        return base_counts.passes.loss_and_gradient(
            phi_table, bias, request.stop, gradient_cells=target_counts.passes.cells, gradient_rows=target_counts.rows
        ).gradient

    def losses_without(self, tuples: Tuples) -> Floats:
        """Return (T,) the nats per row of D_CV by which a model of the tuples gets worse without each of them: one
        pass.

        Counts exclude D_CV.
        """
        request, counts = self._request, self._count(tuples, True)
        validation = validation_part(request.coded.cache, counts.tables.n_classes)
        jobs = counts.passes.n_jobs
        models = LeaveOneTupleOut(
            counts.tables, validation, request.recipe.params, request.recipe.seed, jobs, request.stop, request.max_bytes
        )
        return models.losses(request.report)


def _approximate_weights(fit: Fit) -> Floats:
    """Return the weights of a fit once a step hardly lowers F."""
    state = fit.solver.init(fit.objective, fit.w0)
    for _ in range(MAX_FIT_STEPS):
        previous, state = state.point.objective, fit.solver.advance(fit.objective, state)
        if previous - state.point.objective < FIT_TOL * abs(previous):
            break
    w: Floats = fit.solver.with_report_point(fit.objective, state).point.w
    return w


def first_training_rows(coded: EncodedTable, n_skipped: int = 0) -> Encoded:
    """Return the training rows of a table's first chunk, without the first `n_skipped`.

    Rows are in chunks at random, so they are a sample.
    """
    codes, y = (array[..., n_skipped:] for array in next(iter(coded.cache.chunks("train", [0]))))
    return Encoded(codes, y, np.ones(len(y)), coded.levels, coded.classes, coded.names)


def validation_part(cache: CodeCache, n_classes: int) -> CodedRows:
    """Return the validation rows (D_CV) of a table read in batches: training rows that choose tuples and settings.

    cache: the table's codes; n_classes: C.
    """
    n_rows = n_validation_rows(cache.n_rows("train"))
    return CodedRows(*next(iter(cache.chunks("train", [0]))), n_classes).part(0, n_rows)


def test_part(cache: CodeCache, n_classes: int) -> CodedRows | None:
    """Return the test rows in a cache of codes with n_classes classes; None without any. They choose nothing."""
    test = cache.whole("test") if "test" in cache.parts else None
    return None if test is None or not len(test.y) else CodedRows(test.codes, test.y, n_classes)


def step_trial(first: Encoded) -> TrainValidationChunk:
    """Return the first training rows, divided to try step lengths of [sALR]'s learner."""
    n = min(first.n_rows, MAX_STEP_TRIAL_ROWS)
    return _split(first, n, n // 10 if n >= MIN_STEP_TRIAL_ROWS else 0)


def sample_trial(first: Encoded) -> TrainValidationChunk:
    """Return the first training rows, divided to compare learners; their Hessian also stands for that of all rows."""
    n = min(first.n_rows, MAX_LEARNER_ROWS + MAX_VALIDATION_ROWS)
    return _split(first, n, n // 9 if n >= MIN_STEP_TRIAL_ROWS else n // 3 if n >= MIN_SPLIT_ROWS else 0)


def _split(rows: Encoded, n: int, n_validation: int) -> TrainValidationChunk:
    """Return the first n rows, the last `n_validation` of them for validation.

    0 uses all rows for both: among a handful of validation rows, some large step gets all right by chance.
    """
    cut, rows_n = n - n_validation if n_validation else 0, CodedRows(rows.codes, rows.y, rows.n_classes)
    return TrainValidationChunk(rows_n.part(0, cut or n), rows_n.part(cut, n))
