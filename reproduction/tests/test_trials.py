"""Trials: each runs, tells a figure and what becomes of its reason; what is not at hand is no line."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from reproduction import trials
from reproduction.items import ITEMS
from reproduction.limits import limit_row
from reproduction.settings import Settings

# Small tables are often separable: weights without a penalty grow without end, which is told.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WORDS = (trials.HOLDS, trials.REFUTED, trials.UNDECIDED)


def lines_of(rows):
    return ITEMS["c21"].table(pd.DataFrame(rows))


def test_of_an_empty_folder_quick_trials_of_made_tables_run_and_the_others_are_no_lines(tmp_path):
    rows = [row for _, trial_rows in trials.trial_rows(Settings(tmp_path, quick=True)) for row in trial_rows]
    measured_rows, missing = [row for row in rows if "limit" in row], {row["set"] for row in rows if "missing" in row}
    assert missing >= {"spectf", "mushroom", "nursery"}
    lines = lines_of(rows)
    assert len(lines) == len(measured_rows) == 9
    assert np.isfinite(lines["ours"].astype(float)).all()
    assert lines["reason"].str.startswith(WORDS).all()
    assert set(lines["set"]) <= set(trials.REASONS)
    assert lines["method"].str.contains(", 2 draws,").sum() == 2, "of ten in full"
    first = lines[lines["set"] == "c1"]
    assert first["reason"].str.startswith(trials.HOLDS).all(), "an identity, whatever the size"
    assert len(lines_of([row for row in rows if "missing" in row])) == 0


def test_quick_trials_are_not_taken_for_full_ones(tmp_path, monkeypatch):
    """A trial that was made quickly must be made again in full."""

    def one_row(n):
        return [limit_row("c1", "run", "n", n, 1.0)]

    monkeypatch.setattr(trials, "_trials", lambda quick: [("a trial", one_row, (1.0 if quick else 2.0,), ())])
    values = [
        [row["ours"] for _, rows in trials.trial_rows(Settings(tmp_path, quick, keep=True)) for row in rows]
        for quick in (True, False, True)
    ]
    assert values == [[1.0], [2.0], [1.0]]


@pytest.mark.parametrize(
    ("trial", "names"),
    [
        (trials.grown, ("tic-tac-toe", "monks-1")),
        (trials.on_cuts, ("iris",)),
        (trials.penalised, ("iris",)),
        (trials.time_calls, ("iris",)),
        (trials.few_columns, ("breast-cancer",)),
        (partial(trials.ranked, splits=1), ("breast-cancer",)),
    ],
)
def test_trials_over_sets_tell_a_reason(trial, names):
    lines = lines_of(trial([load_demo(name) for name in names]))
    assert set(lines["set"]) <= set(trials.REASONS)
    assert np.isfinite(lines["ours"].astype(float)).all()
    assert lines["reason"].str.startswith(WORDS).all()


@pytest.mark.parametrize(
    ("items", "value", "says"),
    [("c5", 0.4, "holds"), ("c5", 0.6, "refuted"), ("dlr-f4: other rows", 0.4, "undecided"),
     ("dlr-f4: other rows", 0.6, "refuted")],
)  # fmt: skip
def test_a_run_that_can_refute_alone_leaves_its_reason_undecided(items, value, says):
    (line,) = lines_of([limit_row(items, "a run", "a share", value, 0.5)]).to_dict("records")
    assert line["reason"] == f"{says}: {trials.REASONS[items]}"
    (outcome,) = trials.outcomes(pd.DataFrame([line]))[items.partition(":")[0]]
    assert outcome.says == line["reason"]
    assert outcome.methods == items.partition(": ")[2]
