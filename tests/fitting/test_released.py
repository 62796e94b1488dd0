"""What an ended run gives back: its solver's memory, and all room that nobody looks at any more."""

import numpy as np
import pytest

from alrviz.data.demos import load_demo
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from tests.fitting.tables import drain, run_of, table


def kept(room):
    """Bytes that are lent to nobody."""
    return sum(raw.nbytes for free in room._free.values() for raw in free)


def linear(**params):
    return run_of(table(300), "alr", **{"order": 2, "max_iter": 12, "tol": 0.0, **params})


SOLVERS = ["tron", "lbfgs", "cg", "gd"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_is_kept_free_after_a_run(solver):
    run = linear(solver=solver)
    for _ in range(5):
        run.advance()
    assert kept(run.objective.buffers) > 0
    drain(run)
    assert run.outcome.code == "step limit"
    assert run.state.carry is None
    assert kept(run.objective.buffers) == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_is_kept_free_after_a_stop(solver):
    run = linear(solver=solver)
    for step in run.steps():
        if step.index == 5:
            run.stop()
    assert kept(run.objective.buffers) == 0


def test_ended_run_caches_nothing():
    run = drain(linear())
    w = run.state.point.w.copy()
    np.testing.assert_allclose(run.objective.value_grad(w).objective, run.trace[-1].objective, rtol=1e-12)
    assert kept(run.objective.buffers) == 0


@pytest.mark.parametrize("mode", ["loo", "silverman"])
def test_nothing_is_kept_free_after_a_fit_of_densities(mode):
    run = Run(load_demo("two-moons"), Recipe("dlr", bandwidth=mode, alpha=10.0), n_jobs=1)
    seen = []
    while run.advance() is not None:
        seen.append(run.state.point.weights_objective.buffers)
    assert len(seen) > 2
    assert kept(run.state.point.weights_objective.buffers) == 0
