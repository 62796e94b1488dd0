"""Compiling ahead leaves nothing to compile, and what a pass will take is known before it is made."""

import numpy as np
import pytest

from alrviz.kernels import rows as row_kernels
from alrviz.kernels import scores as score_kernels
from alrviz.passes import speed, warm
from alrviz.passes.rows import LANES
from alrviz.passes.speed import Work, seconds_per_pass
from tests.fitting.tables import drain, run_of, table


def test_after_warm_no_kernel_is_compiled_by_a_fit():
    variants, seconds = warm()
    assert variants == 2 * len(LANES)
    assert seconds >= 0
    kernels = (row_kernels.forward, row_kernels.scatter, row_kernels.count, score_kernels.trial, score_kernels.settle)
    before = [len(kernel.signatures) for kernel in kernels]
    for dtype in (np.uint8, np.uint32):
        run = drain(run_of(table(50, dtype=dtype), "alr", max_iter=2))
        assert run.compile_seconds == 0.0
    assert [len(kernel.signatures) for kernel in kernels] == before


def test_seconds_per_pass_grow_with_the_work_and_shrink_with_threads(monkeypatch):
    monkeypatch.setattr(speed, "_factor", 2.0)
    monkeypatch.setattr(speed, "resolve_jobs", lambda n_jobs: n_jobs)
    work = Work(n_rows=10_000, n_tuples=45, n_classes=3, n_cells=900)
    one = seconds_per_pass(work, 1)
    assert one == 2 * work.reference_seconds() > 0
    assert seconds_per_pass(work, 2) == pytest.approx(one / 1.8)
    double = Work(n_rows=20_000, n_tuples=45, n_classes=3, n_cells=1800)
    assert seconds_per_pass(double, 1) == pytest.approx(2 * one)


def test_the_machine_is_measured_once(monkeypatch):
    monkeypatch.setattr(speed, "_factor", None)
    first = speed.machine_factor()
    assert first > 0
    monkeypatch.setattr(speed, "_measure", lambda: pytest.fail("measured again"))
    assert speed.machine_factor() == first
