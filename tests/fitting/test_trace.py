"""Traces: append-only, closed for good, read from a cursor by another thread, tidy as a frame."""

import threading
import tracemalloc

import numpy as np

from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.step import Step


def step(index, **extra):
    return Step(index, "inner", index, float(index), 0.1 * index, 10.0 - index, 9.0 - index, 1.0, 2.0, 3.0, extra)


def test_closed_trace_refuses_steps():
    trace = Trace()
    assert trace.append(step(0))
    assert not trace.closed
    trace.close()
    assert trace.closed
    assert not trace.append(step(1))
    assert len(trace) == 1
    assert trace[0] == trace[-1] == step(0)


def test_a_reader_in_another_thread_sees_every_step_once_and_in_order():
    trace, seen = Trace(), []

    def read():
        cursor = 0
        while True:
            ended = trace.closed
            new = trace.since(cursor)
            cursor += len(new)
            seen.extend(new)
            if ended and not new:
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for k in range(5000):
        trace.append(step(k))
    trace.close()
    reader.join(60)
    assert not reader.is_alive()
    assert [s.index for s in seen] == list(range(5000))


def test_since_returns_steps_after_the_cursor():
    trace = Trace()
    for k in range(5):
        trace.append(step(k))
    assert [s.index for s in trace.since(3)] == [3, 4]
    assert trace.since(5) == []
    trace.since(0).clear()  # a copy
    assert len(trace) == 5


def test_a_frame_has_one_row_a_step_and_extras_as_columns():
    trace = Trace()
    assert list(trace.frame().columns)[:3] == ["index", "kind", "evaluations"]
    assert len(trace.frame()) == 0
    trace.append(step(0, lead=0.5))
    trace.append(step(1, lead=0.7, heldout_error=0.2))
    frame = trace.frame()
    assert frame.index.tolist() == [0, 1]
    assert frame["index"].tolist() == [0, 1]
    assert frame.lead.tolist() == [0.5, 0.7]
    assert np.isnan(frame.heldout_error[0])
    assert frame.heldout_error[1] == 0.2
    assert "extra" not in frame
    assert frame.loc[1, ["objective", "nll", "penalty", "grad_norm", "step_size"]].tolist() == [9, 8, 1, 2, 3]


def test_a_step_comes_back_as_it_was_given():
    trace, odd = Trace(), 0.1 + 0.2
    given = [
        Step(-1, "search", 3, 1 / 3, odd, float("inf"), -0.0, 5e-324, 1.7e308, odd, {"eta0": 10.0**-3}),
        step(0, lead=odd),
        step(1, lead=np.float64(odd), naive_stop=0.0),
        step(2),
        step(3, naive_stop=1.0, lead=odd),
    ]
    for one in given:
        trace.append(one)
    assert [repr(one) for one in trace] == [
        repr(one).replace("np.float64(0.30000000000000004)", repr(odd)) for one in given
    ]
    assert trace.since(0) == given
    assert trace.since(-2) == given[-2:]
    assert [list(one.extra) for one in trace] == [list(one.extra) for one in given]
    assert (type(trace[0].index), type(trace[0].evaluations)) == (int, int)


def test_steps_of_a_long_run_take_little_memory():
    trace, names = Trace(), [f"score_{k}" for k in range(8)]
    tracemalloc.start()
    try:
        for k in range(2000):
            trace.append(step(k, **{name: k + j / 3 for j, name in enumerate(names)}))
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 2000 * 250
    assert 2000 * 8 * 17 < trace.bytes <= held
