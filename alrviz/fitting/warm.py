"""Compile everything that fits call: kernels of covers, networks and predictions by the width of codes, those of
passes by the width of keys, and those of densities. A column of more than 65,535 levels needs wide codes, a block of
more joint values wide keys.

Numba caches compiled kernels on disk: this takes seconds once on a machine, and milliseconds from then on.

`CompileProcess` is a second process that compiles the kernels of passes while this one compiles those of covers. Numba
compiles under a lock, so threads would wait for each other, but a process loads in milliseconds what another has
compiled to disk. This pays only for the first page on a machine that has never compiled; it halves that wait.
"""

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alrviz.data.cuts import smooth_cuts
from alrviz.data.encoded import SMOOTH_WAYS, Encoded, code_dtype
from alrviz.data.mdl import mdl_cuts
from alrviz.fitting.solvers.row_space import gram_matrices, multiply
from alrviz.fitting.solvers.solver_support import STOCHASTIC, chosen_solver
from alrviz.job import Job
from alrviz.kernels import vectors as kernels
from alrviz.kernels.vectors import walk_losses
from alrviz.models.averages import AverageModel
from alrviz.models.cell_space import CellSpace
from alrviz.models.conditional import ConditionalTables
from alrviz.models.density import DensityFeatures
from alrviz.models.effects import warm_effects
from alrviz.models.linear import LinearModel
from alrviz.models.marginals import Parts
from alrviz.models.networks import count_network, select_network
from alrviz.models.parameterisation import LevelSteps
from alrviz.models.plan import plan_cover
from alrviz.models.score_table import ScoreTable
from alrviz.models.set_cover import cover_rows
from alrviz.models.streamed import count_stream
from alrviz.models.structures import Structure
from alrviz.models.tables import count_tables
from alrviz.passes import vectors
from alrviz.passes.aligned_buffers import VECTOR_WIDTHS, class_widths
from alrviz.passes.features import FeatureRows
from alrviz.passes.losses import LOSSES
from alrviz.passes.prequential import Learner
from alrviz.passes.rows import Rows
from alrviz.passes.sources import Sources
from alrviz.passes.stream import Direction, LocalChunks, adagrad_steps, single_table
from alrviz.passes.threads import available_threads
from alrviz.passes.warm import compile_once, warm_passes, warm_single
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.fit_settings import FitSettings

POLL_SECONDS = 0.02  # between two looks at the stop token
MAX_WAIT_SECONDS = 60.0
_once = threading.Lock()  # acquired by the first caller in this process, and never released
_COMPILE = """
import sys
from alrviz.passes.losses import LOSSES
from alrviz.passes.warm import warm_passes
warm_passes(int(sys.argv[1]), False, LOSSES[sys.argv[2]])
"""


def warm_fit(recipe: "FitSettings", n_classes: int, wide: bool) -> float:
    """Compile the kernels that a fit of `recipe` with n_classes classes needs; return the seconds (0.0 if compiled).

    wide: whether keys have 32 bits; else they have 16.
    """
    tunes = recipe.params.get("alpha") == "auto"  # alpha="auto" searches with TRON, whatever solver fits then
    needs_curvature = (
        tunes or chosen_solver(recipe.params) == "tron" or recipe.params.get("scale") == "diagonal-adaptive"
    )
    seconds = warm_passes(n_classes, wide, LOSSES[recipe.params.get("objective", "nll")], needs_curvature)
    seconds += warm_single(wide) if recipe.solver in STOCHASTIC else 0.0
    return seconds + (warm_steps() if recipe.cuts in SMOOTH_WAYS else 0.0)


@compile_once
def warm_steps() -> None:
    """Compile the sums along smooth levels."""
    steps = LevelSteps(np.zeros((1, 1), np.int32) - 1, np.ones((2, 1)), np.array([[0, 1]]), np.ones(1))
    steps.steps_to(steps.adjoint(steps.sums(np.zeros((2, 2)))))
    walk_losses(np.zeros((2, 2)), np.ones((2, 2)), np.ones(1), np.ones(1), np.empty(1))


def warm_stream(n_classes: int, levels: NDArray[np.int64], exact: bool = False) -> float:
    """Compile the passes over chunks of codes of columns with levels (a,); return the seconds (0.0 if they were
    compiled).

    n_classes: C; exact: whether those of a fit to a sample are compiled too.
    """
    seconds = warm_covers(False) + warm_passes(n_classes, False, LOSSES["nll"], True) if exact else 0.0
    return seconds + _warm_stream(code_dtype(levels), class_widths(n_classes)[0])


@compile_once
def _warm_stream(dtype: np.dtype, n_classes: int) -> None:
    codes, y = np.zeros((2, 2), dtype), np.zeros(2, np.int32)
    streamed_counts = count_stream(
        np.array([2, 2]), 2, LocalChunks(lambda order, stop: [(codes, y)], 1), n_classes, 1.0, 2**20, 1
    )
    passes = streamed_counts.passes
    table, bias = streamed_counts.blank(None), np.zeros(n_classes)
    passes.loss_and_gradient(table, bias, direction=Direction(table, bias, (1.0,)), with_curvature=True)
    for n_parts in (3, 4, 5):
        table_buffer = single_table(passes.cells.n_rows, n_parts, passes.padded_width)
        passes.visit(codes, y, np.arange(2), table_buffer, 1.0)
        hashed_keys = passes.cells.keys(codes).astype(np.uint32)  # cells in a hash table
        adagrad_steps(hashed_keys, passes.cells.first, y, table_buffer, n_classes, 1.0)


@compile_once
def warm_networks(wide: bool) -> None:
    """Compile counting and scoring of networks, for wide codes or not."""
    codes, y = np.zeros((3, 2), np.uint32 if wide else np.uint16), np.array([0, 1], np.int32)
    spaces = [CellSpace(np.array([1, 1, 1]), n) for n in (1, 2)]
    rows, tables = Rows(y, np.ones(2), 2, n_jobs=1), []
    for space in spaces:
        cover, (keys,) = cover_rows(plan_cover(codes, space), space, [codes], np.ones(2, bool))
        tables.append(count_tables(rows.with_keys(keys), cover, 1.0))
    selected_counts, _ = select_network(Structure(((), (0,), (1,)), (0, 1, 2)), tables[0], codes, y, np.ones(2))
    averages = AverageModel(tables[0], tables[1], selected_counts.model())
    averages.scores(codes, 1)  # parent by parent, and row by row
    averages.networks(codes)
    selected_counts.model().scores(codes, 1)
    chain = Structure(((), (0,), (1,)), (0, 1, 2))
    conditional = ConditionalTables.from_counts(
        count_network(chain, tables[0], codes, y, np.ones(2)), sums_missing=True
    )
    parts, z = Parts.from_rows(conditional.tree, np.array([[1], [0], [0]], codes.dtype)), np.zeros((1, 2))
    parts.add_scores(parts.log_sums(conditional.start, conditional.network.level_log_p), z)
    parts.slopes(z, conditional.start, conditional.network.level_log_p)


def warm_density(n_classes: int) -> float:
    """Compile the kernels of dlr for n_classes classes; return the seconds (0.0 if they were compiled)."""
    return warm_passes(n_classes) + _warm_density(class_widths(n_classes)[0])


@compile_once
def _warm_density(n_classes: int) -> None:
    # enough rows that grids are used, with outliers and missing values
    x = np.concatenate([np.linspace(0.0, 1.0, 3000), [50.0, np.nan]])
    y = (np.arange(len(x)) % n_classes).astype(np.int32)
    codes = (y[None] % 2).astype(np.uint16)
    Sources(x, y, np.ones(len(x)), n_classes).bundles(1.0)  # so few rows do not use bundles by themselves
    features = DensityFeatures(x[None], codes, np.array([2]), y, np.ones(len(x)), n_classes, n_jobs=1)
    log_h = np.log(features.silverman)
    training = features.training(log_h, leave_out=True)
    features.rows(x[None], codes, log_h, gradient=True)
    feature_rows = FeatureRows(Rows(y, np.ones(len(x)), n_classes, n_jobs=1), training.phi)
    feature_rows.sums(training.phi, feature_rows.scores(np.zeros((training.phi.shape[0] + 1, training.phi.shape[1]))))


def warm(wide: bool = True) -> tuple[int, float]:
    """Compile and keep every variant: five class widths, and with `wide` also codes and keys of 32 bits.

    Returns the number of variants and the seconds.
    """
    started_at = time.perf_counter()
    variants = [
        (class_width, wider) for wider in ((False, True) if wide else (False,)) for class_width in VECTOR_WIDTHS
    ]
    for class_width, wider in variants:
        warm_covers(wider)
        warm_passes(class_width, wider)
        warm_single(wider)
        warm_steps()
        warm_networks(wider)
        warm_effects(wider)
        for levels in (70_000,) if wider else (2, 300):
            warm_stream(class_width, np.array([levels]))
        warm_density(class_width)
    warm_cuts()  # numeric columns are cut before any pass
    warm_prequential()
    return len(variants), time.perf_counter() - started_at


@compile_once
def warm_cuts() -> None:
    """Compile the kernels that cut numeric columns."""
    numbers, classes = np.array([0.0, 1.0]), np.array([0, 1])
    mdl_cuts(numbers, classes, 2)
    smooth_cuts(numbers, classes, 2, 2, np.ones(2))


@compile_once
def warm_prequential() -> None:
    """Compile the kernels that learn row by row."""
    learner = Learner("count", 2, 0, 2, np.ones(1), 1.0, 1.0, None, 0.0, False)
    learner.visit(np.zeros((1, 1), np.uint32), np.zeros(1, np.int32))


@compile_once
def warm_covers(wide: bool) -> None:
    """Compile planning and carrying out covers, and scoring new rows, for wide codes or not."""
    codes = np.zeros((2, 100), np.uint32 if wide else np.uint16)
    codes[:] = np.arange(100)
    for levels in (2, 100_000):  # with so few rows: direct places, then a hash table
        space = CellSpace(np.array([levels, levels]), 1)
        cover, _ = cover_rows(plan_cover(codes, space), space, [codes], np.ones(100, bool))
    model = LinearModel(space, cover.index.seen_cells, np.zeros((len(cover.index.seen_cells), 2)), np.zeros(2))
    model.scores(codes, 1)
    index, cells = cover.index, np.zeros((cover.index.n_rows, 2))
    ScoreTable(index, cells, cover.plan.blocks).scores(codes, model.bias, 1, NEVER)
    index.locate(codes, 0, 100)
    encoded = Encoded(codes[:, :2], np.arange(2), np.ones(2), space.levels, np.arange(2), ("", ""))
    multiply(gram_matrices(encoded, encoded, 2, True)[0], np.zeros((2, 2)), 1)


class CompileProcess:
    """A process that compiles the passes of `n_classes`, if that pays; `wait` returns when it has finished.

    A process that fails costs nothing: this one compiles what is missing.
    """

    def __init__(self, n_classes: int, objective: str):
        self._job: Job[int] | None = None  # waits for the process
        self.started = available_threads() > 1 and _once.acquire(blocking=False) and _never_compiled()
        if not self.started:
            return
        command = [sys.executable, "-c", _COMPILE, str(n_classes), objective]
        devnull = subprocess.DEVNULL
        try:
            process = subprocess.Popen(command, stdin=devnull, stdout=devnull, stderr=devnull)
        except OSError:  # no process can be started
            self.started = False
            return
        self._job = Job(lambda stop: process.wait(), "compiling in a second process")
        self._job.start()

    @property
    def ended(self) -> bool:
        """Whether the process has ended, or was not started."""
        return self._job is None or not self._job.alive

    def wait(self, stop: StopToken) -> None:
        """Return when the process has ended or takes too long; raises `Stopped` once `stop` is called on the token."""
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while self._job is not None and not self._job.join(POLL_SECONDS) and time.monotonic() < deadline:
            stop.check()


def _never_compiled() -> bool:
    """Return whether no kernel is on disk yet: then the smallest one had to be compiled."""
    cells = np.zeros((1, 2))
    vectors.subtract(cells, cells, np.empty(cells.shape, np.float32))
    return bool(sum(kernels.subtract.stats.cache_misses.values()))
