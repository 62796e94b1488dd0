"""The same bits however a pass is split: over threads, over calls, over tuples; and a stop between the parts."""

import numpy as np
import pytest

from alrviz.errors import Stopped
from alrviz.models.space import CellSpace
from alrviz.passes import rows as passes
from alrviz.passes.rows import Rows
from alrviz.stop import StopToken

LEVELS = np.array([4, 3, 5, 2, 3, 1])


def everything(n_rows, n_classes, n_jobs, *, gaps=True):
    """Return the results of every pass, as one list of arrays."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, LEVELS[:, None] + (rng.random(n_rows) < 0.1 if gaps else 0), (len(LEVELS), n_rows))
    rows = Rows(
        codes.astype(np.uint8), rng.integers(0, n_classes, n_rows), rng.uniform(0.1, 2, n_rows), LEVELS, n_classes,
        n_jobs,
    )  # fmt: skip
    layout = CellSpace(LEVELS, 2).layout
    table = rows.table(layout)
    table[:, :n_classes] = rng.normal(size=(len(table), n_classes))
    bias = rng.normal(size=n_classes)
    z = rows.forward(layout, table, bias)
    dz = rows.forward_change(layout, table, 2 * bias)
    trial = rows.trial(z, dz, 0.3)
    out, residual = rows.scores(), rows.scores()
    sums = rows.settle(z, dz, 0.3, out, residual)
    grad = rows.scatter(layout, residual, rows.table(layout))
    return [z, dz, np.array(trial), np.array(sums), out, residual, grad, rows.count(layout), rows.curve(z, dz)]


@pytest.fixture
def forced_threads(monkeypatch):
    """Threads as asked for, however few cores there are, and from the first row on."""
    monkeypatch.setattr(passes, "resolve_jobs", lambda n_jobs: n_jobs)
    monkeypatch.setattr(passes, "_SMALL", 0)


@pytest.mark.parametrize("n_classes", [2, 5, 17])
@pytest.mark.parametrize("n_rows", [1, 511, 513, 5000])
def test_any_number_of_threads_gives_the_same_bits(n_rows, n_classes, forced_threads):
    one = everything(n_rows, n_classes, 1)
    for n_jobs in (2, 3, 7, 40):
        for a, b in zip(one, everything(n_rows, n_classes, n_jobs), strict=True):
            assert np.array_equal(a, b, equal_nan=True)


@pytest.mark.parametrize("call", [1, 40_000, 10**9])
def test_calls_of_any_length_give_the_same_bits(call, monkeypatch):
    whole = everything(5000, 5, 1)
    monkeypatch.setattr(passes, "_CALL", call)
    for a, b in zip(whole, everything(5000, 5, 1), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_small_calls_are_really_small(monkeypatch):
    rows = Rows(np.zeros((6, 5000), np.uint8), np.zeros(5000, int), np.ones(5000), LEVELS, 5, 1)
    assert len(rows._row_segments(15)) < 3
    monkeypatch.setattr(passes, "_CALL", 1)
    assert rows._row_segments(15)[:2] == [(0, 512), (512, 1024)]
    assert rows._row_segments(15)[-1] == (4608, 5000)
    assert rows._tuple_spans(3) == [(0, 1), (1, 2), (2, 3)]
    assert rows._tuple_spans(0) == [(0, 0)]


def test_every_pass_asks_the_stop_token():
    rows = Rows(np.zeros((6, 50), np.uint8), np.zeros(50, int), np.ones(50), LEVELS, 5, 1)
    layout, stop = CellSpace(LEVELS, 2).layout, StopToken()
    table, z = rows.table(layout), rows.scores()
    stop.stop()
    for work in (
        lambda: rows.forward(layout, table, np.zeros(5), stop=stop),
        lambda: rows.forward_change(layout, table, np.zeros(5), stop=stop),
        lambda: rows.scatter(layout, z, table, stop=stop),
        lambda: rows.count(layout, stop=stop),
        lambda: rows.trial(z, z, 0.0, stop),
        lambda: rows.settle(z, None, 0.0, z, None, stop),
        lambda: rows.curve(z, z, stop),
    ):
        with pytest.raises(Stopped):
            work()


def test_a_stop_is_heard_between_parts(monkeypatch, forced_threads):
    monkeypatch.setattr(passes, "_CALL", 1)
    for n_jobs in (1, 3):
        rows = Rows(np.zeros((6, 5000), np.uint8), np.zeros(5000, int), np.ones(5000), LEVELS, 5, n_jobs)
        layout, calls = CellSpace(LEVELS, 2).layout, []

        class Late(StopToken):
            def check(self, calls=calls):
                calls.append(1)
                if len(calls) == 4:
                    self.stop()
                super().check()

        with pytest.raises(Stopped):
            rows.forward(layout, rows.table(layout), np.zeros(5), stop=Late())
        assert 4 <= len(calls) <= 4 + n_jobs


def test_rows_with_other_weights_share_their_codes_and_leave_the_first_alone():
    rows = Rows(np.zeros((6, 5), np.uint8), np.zeros(5, int), np.ones(5), LEVELS, 2, 1)
    other = rows.with_weights(np.arange(5))
    assert other.codes is rows.codes
    assert other.weights.tolist() == [0, 1, 2, 3, 4]
    assert rows.weights.tolist() == [1] * 5


def test_arrays_that_may_only_be_read_are_of_the_types_that_are_compiled():
    given = [np.zeros((6, 5), np.uint16), np.zeros(5, np.int32), np.ones(5)]
    for array in given:
        array.flags.writeable = False
    rows = Rows(*given, LEVELS, 2, 1)
    weighted = rows.with_weights(given[2])
    assert all(array.flags.writeable for array in (rows.codes, rows.y, rows.weights, weighted.weights))
    levels = LEVELS.copy()
    levels.flags.writeable = False
    assert CellSpace(levels, 2).layout.levels.flags.writeable


def test_room_given_by_the_caller_is_used():
    rows = Rows(np.zeros((6, 5), np.uint8), np.zeros(5, int), np.ones(5), LEVELS, 2, 1)
    layout, out = CellSpace(LEVELS, 1).layout, rows.scores()
    assert rows.forward(layout, rows.table(layout), np.ones(2), out) is out
    assert (out == 1).all()
