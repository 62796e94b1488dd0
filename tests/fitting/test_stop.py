"""Stopping: at any moment, from any state, in every slow stage; nothing is added once `stop` has returned.

No clock is asked. What holds right after `stop()` returned is asserted at once; threads are joined with much patience.
"""

import random
import threading

import numpy as np
import pytest

from alrviz import load_demo
from alrviz.errors import Stopped
from alrviz.fitting import prepare as prepare_module
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs import run as run_module
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers import LBFGS
from alrviz.stop import StopToken
from tests.fitting.tables import run_of, same_steps, table

PATIENCE = 60


def endless(rows=400):
    """A run that goes on until it is stopped."""
    encoded = table(rows, (3, 4, 2, 5), 3)
    return run_of(encoded, "lr", encoded.take(np.arange(50)), solver="gd", alpha=1e-6, order=2, max_iter=10**6, tol=0.0)


def assert_stopped(run):
    """Stopped now, and for good."""
    seen = run.trace.since(0)
    assert (run.phase, run.outcome.code, run.outcome.sentence) == ("ended", "stopped", "stopped on request")
    assert run.trace.closed
    assert run.join(PATIENCE)
    assert same_steps(run.trace, seen)
    assert len(run.trace) == len(seen)
    assert run.snapshots[-1:] == [step.index for step in seen][-1:]
    assert (run.state.index if run.state else -1) == len(seen) - 1
    assert run.advance() is None


@pytest.mark.parametrize("seed", range(20))
def test_stop_at_any_moment_adds_no_point(seed):
    rng = random.Random(seed)
    run = endless()
    controls = [run.start, run.pause, run.resume, lambda: run.step(rng.randint(1, 5))]
    for _ in range(rng.randint(1, 6)):
        rng.choice(controls)()
        threading.Event().wait(rng.random() * 0.02)
    run.stop()
    assert_stopped(run)


def test_stop_before_the_start_and_twice():
    run = endless()
    run.stop()
    run.start()
    assert len(run.trace) == 0
    assert_stopped(run)
    run.stop()
    assert_stopped(run)


def test_a_connection_is_closed_by_the_thread_that_is_at_work_with_it():
    inside, go, closed = threading.Event(), threading.Event(), []

    def hold(step):
        inside.set()
        assert go.wait(60)

    run = Run(load_demo("led", rows=200), Recipe("alr", order=1, alpha=1.0), on_step=hold)
    run._connection.callback(lambda: closed.append((threading.current_thread(), run.token.stopped)))
    run.start()
    assert inside.wait(120)
    run.stop()
    assert closed == []
    go.set()
    assert run.join(60)
    ((thread, stopped),) = closed
    assert thread is not threading.current_thread()
    assert stopped
    idle = Run(load_demo("led", rows=200), Recipe("alr", order=1, alpha=1.0))
    idle._connection.callback(lambda: closed.append(None))
    idle.stop()
    assert closed[1:] == [None]


def test_stop_while_paused():
    run = endless()
    run.step(3)
    while run.phase != "paused":
        run.join(0.01)
    run.stop()
    assert len(run.trace) == 3
    assert_stopped(run)


def test_stop_after_the_end_changes_nothing():
    run = run_of(table(), "lr", max_iter=2)
    steps = list(run.steps())
    outcome = run.outcome
    run.stop()
    assert run.outcome is outcome
    assert same_steps(run.trace, steps)


def test_stop_from_within_the_loop_ends_it():
    run = endless()
    for step in run.steps():
        if step.index == 4:
            run.stop()
    assert len(run.trace) == 5
    assert_stopped(run)


class Gate:
    """A slow stage: says that it was reached, and lasts until it may go on, asking the stop token if it is given."""

    def __init__(self, patience=PATIENCE):
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.patience = patience

    def __call__(self, stop=None):
        self.reached.set()
        while not self.go_on.wait(0.01):
            if stop is not None:
                stop.check()


def stopped_at(run, gate, activity, deaf=False):
    run.start()
    assert gate.reached.wait(PATIENCE)
    assert run.activity == activity
    assert run.phase == ("preparing" if activity != "fitting" else "running")
    count = len(run.trace)
    run.stop()
    assert run.phase == "ended"  # at once, though the stage may still be under way
    assert run.trace.closed
    assert len(run.trace) == count
    if deaf:
        assert not run.join(0.05)
        gate.go_on.set()
    assert_stopped(run)
    gate.go_on.set()


@pytest.fixture
def encoding(monkeypatch):
    """The gate that every encoding goes through."""
    gate, fit = Gate(), prepare_module.Encoder.fit

    def slow(self, *args, stop, **more):
        gate(stop)
        return fit(self, *args, stop=stop, **more)

    monkeypatch.setattr(prepare_module.Encoder, "fit", slow)
    return gate


def test_stop_while_encoding(encoding):
    stopped_at(Run(load_demo("xor"), Recipe("lr", alpha=0.3)), encoding, "encoding")


def test_stop_while_counting(monkeypatch):
    gate = Gate()
    monkeypatch.setattr(prepare_module, "count_tables", lambda rows, space, m, stop: gate(stop))
    stopped_at(endless(), gate, "counting cells")


STAGES = ["merge_repeats", "plan_cover", "cover_rows"]


@pytest.mark.parametrize("stage", STAGES)
def test_stop_while_rows_are_covered(stage, monkeypatch):
    gate = Gate()
    monkeypatch.setattr(
        prepare_module, stage, lambda *args: gate(next(each for each in args if isinstance(each, StopToken)))
    )
    stopped_at(endless(), gate, "counting cells" if stage == "cover_rows" else "estimating")


def test_stop_while_estimating(monkeypatch):
    gate = Gate()
    monkeypatch.setattr(run_module, "estimate", lambda recipe, shape, limit: gate(shape.stop))
    stopped_at(endless(), gate, "estimating")


def test_a_compilation_is_abandoned_not_waited_for(monkeypatch):
    gate = Gate()
    monkeypatch.setattr(run_module, "warm_covers", lambda wide: gate() or 0.0)
    run = endless()
    stopped_at(run, gate, "compiling", deaf=True)
    assert run.tables is None  # nothing was counted after it


def test_a_step_under_way_is_dropped(monkeypatch):
    gate, advance = Gate(), LBFGS.advance

    def slow(self, objective, state):
        if state.index == 3:
            gate()
        return advance(self, objective, state)

    monkeypatch.setattr(LBFGS, "advance", slow)
    run = run_of(table(), "lr", solver="lbfgs", max_iter=100, tol=0.0)
    stopped_at(run, gate, "fitting", deaf=True)
    assert len(run.trace) == 4


def test_waiting_for_another_s_encoding_hears_a_stop(encoding):
    """Racers share an encoding: who waits for it need not wait to be stopped, and does not end the other's work."""
    dataset = load_demo("xor")
    first, second = (
        Run(dataset, Recipe("lr", max_iter=2, alpha=0.3)),
        Run(dataset, Recipe("alr", max_iter=2, alpha=1.0)),
    )
    first.start()
    assert encoding.reached.wait(PATIENCE)
    second.start()
    while not second.activity:
        second.join(0.01)
    second.stop()
    assert second.join(PATIENCE)
    assert_stopped(second)
    assert first.outcome is None
    encoding.go_on.set()
    assert first.join(PATIENCE)
    assert first.outcome.code == "step limit"


def test_stopped_encoding_is_restarted_by_the_next_run(monkeypatch):
    dataset, fits = load_demo("xor"), []
    fit = prepare_module.Encoder.fit

    def counted(self, *args, **more):
        fits.append(1)
        if len(fits) == 1:
            raise Stopped("stopped on request")
        return fit(self, *args, **more)

    monkeypatch.setattr(prepare_module.Encoder, "fit", counted)
    first, second = Run(dataset, Recipe("lr", max_iter=2, alpha=0.3)), Run(dataset, Recipe("lr", max_iter=2, alpha=0.3))
    first.stop()
    assert first.advance() is None
    with pytest.raises(Stopped):
        prepare_module.prepare(dataset, first.recipe)
    list(second.steps())
    assert second.outcome.code == "step limit"
    assert len(fits) == 2


def test_waiting_ends_at_a_stop():
    token = StopToken()
    token.rest(0.001)
    threading.Timer(0.05, token.stop).start()
    with pytest.raises(Stopped):
        token.rest(60)
