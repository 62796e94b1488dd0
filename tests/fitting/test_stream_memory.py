"""What passes over a stream hold at a time, by the bytes that are allocated, against the bytes of one table of sums."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import alrviz
from alrviz.data.stream.table import open_table
from alrviz.fitting.families import observers
from alrviz.fitting.objectives import streamed as objectives
from alrviz.fitting.objectives.streamed import CodedRows, StreamObjective, TrainValidationChunk
from alrviz.fitting.solvers.state import SolverState
from alrviz.fitting.solvers.stream_adagrad import StreamAdaGrad
from alrviz.models.parameterisation import parameterise
from alrviz.models.streamed import StreamedCounts, count_stream
from alrviz.passes import stream
from tests.data.stream.test_stream import messy, written
from tests.fitting.test_streamed import chunked

CLASSES = 10  # 16 lanes


def taken(work: Callable[[], Any]) -> int:
    """The most bytes that work holds beyond what there was before."""
    work()  # kernels are compiled
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 45, (3, 4_000)).astype(np.uint8), rng.integers(0, CLASSES, 4_000).astype(np.int32)


@pytest.fixture
def large(rows, monkeypatch) -> StreamedCounts:
    """Cells of all three columns together, few of which occur: what is held is tables, or next to nothing."""
    monkeypatch.setattr(stream, "MIN_SHARED_SUM_BYTES", 2**20)
    return count_stream(np.array([45, 45, 45]), ((0, 1, 2),), chunked(*rows, 250), CLASSES, 1.0, 2**40, 2)


def table_bytes(of: StreamedCounts) -> int:
    size = 8 * of.passes.cells.n_rows * of.passes.padded_width
    assert size > 10 * 8 * len(of.tables.seen_cells) * CLASSES
    assert size > 10 * 2**20
    return size


def objective(of: StreamedCounts, codes, y) -> StreamObjective:
    part = CodedRows(codes, y, CLASSES)
    return StreamObjective(
        of, parameterise("alr", of.tables), alpha=1.0, penalty="w", center=0, unseen=None,
        trial=TrainValidationChunk(part, part), sample=TrainValidationChunk(part, part),
    )  # fmt: skip


def test_a_pass_holds_one_table_of_sums_for_any_number_of_threads_and_chunks(large, monkeypatch):
    monkeypatch.setattr(large.passes, "n_jobs", 4)
    size, table, bias = table_bytes(large), large.blank(None), np.zeros(CLASSES)
    assert taken(lambda: large.passes.loss_and_gradient(table, bias, gradient_rows=large.rows)) < 1.7 * size
    assert (
        taken(lambda: large.passes.loss_and_gradient(table, bias, gradient_rows=large.rows, with_curvature=True))
        < 2.7 * size
    )
    assert taken(lambda: large.passes.loss_and_gradient(table, bias, gradient_rows=large.rows[:0])) < 0.6 * size
    assert taken(large.passes.count_by_class) < 0.8 * size


def test_rows_that_are_asked_for_have_the_sums_of_the_whole_table(large):
    table, bias = large.blank(None), np.linspace(0.0, 1.0, CLASSES)
    whole, some = (
        large.passes.loss_and_gradient(table, bias, with_curvature=True, gradient_rows=at) for at in (None, large.rows)
    )
    np.testing.assert_array_equal(some.gradient, whole.gradient[large.rows, :CLASSES])
    np.testing.assert_array_equal(some.curvature[0], whole.curvature[0][large.rows, :CLASSES])
    alone = large.passes.loss_and_gradient(table, bias, gradient_rows=large.rows[:0])
    assert (alone.sums, alone.gradient.shape) == (whole.sums, (0, CLASSES))


def test_a_pass_of_steps_holds_what_it_moves_once_and_nothing_of_it_is_left(large, rows):
    own = objective(large, *rows)
    learner = StreamAdaGrad(0, eta0=0.05)
    state = learner.init(own, np.zeros(own.scale.shape))
    moved, size = own.step_table(state.point.w).nbytes, table_bytes(large)
    assert moved == pytest.approx(size * 4 / 2, rel=0.01)  # scale, w, G and pull in single precision; its center is 0
    state = learner.advance(own, state)
    assert taken(lambda: learner.advance(own, state)) < moved + 0.7 * size
    tracemalloc.start()
    try:
        after = learner.advance(own, state)
        assert tracemalloc.get_traced_memory()[0] < 0.5 * size
    finally:
        tracemalloc.stop()
    assert after.carry.passes == 2


def test_nothing_of_the_gradient_before_is_held_while_a_pass_is_reported(tmp_path, monkeypatch):
    stream = open_table(written(tmp_path, messy(), "parquet"), "class", cache=tmp_path / "codes")
    run = alrviz.Run(stream, alrviz.Recipe("alr", order=2, max_iter=3, solver="adagrad", alpha=1.0))
    held, value_grad = [], StreamObjective.value_grad

    def look(self, w):
        held.append(run.state and run.state.point.gradient.size)
        return value_grad(self, w)

    monkeypatch.setattr(StreamObjective, "value_grad", look)
    assert [step.grad_norm > 0 for step in run.steps()] == [True] * 4
    assert held == [None, 0, 0, 0]
    assert run.state.point.gradient.size


def test_scores_of_held_out_rows_are_held_a_part_at_a_time(large, rows, monkeypatch):
    own, held = objective(large, *rows), CodedRows(*rows, CLASSES)
    w = 0.1 * np.random.default_rng(0).normal(size=own.scale.shape)
    state = SolverState(0, own.value_grad(w), 1, 1.0)
    observe = observers.heldout(own, held)
    whole = observe(state)
    monkeypatch.setattr(objectives, "MAX_BATCH_ROWS", 1024)
    assert observe(state)["heldout_log_loss"] == pytest.approx(whole["heldout_log_loss"], rel=1e-12)
    assert observe(state)["heldout_error"] == whole["heldout_error"]
    assert taken(lambda: observe(state)) < 8 * held.n_rows * held.padded_width
