"""Quality beside other libraries: folds, what was measured before, what is not fitted in time."""

import os
import time

import numpy as np
import pandas as pd
import pytest

from alrviz import load_demo
from alrviz.bench import __main__ as bench
from alrviz.bench._child import in_child


def test_methods_are_judged_on_the_same_folds_and_what_is_known_is_not_made_again(tmp_path, capsys):
    load_demo("led", 600).frame.to_csv(tmp_path / "car.csv", index=False)
    load_demo("tic-tac-toe").frame.head(400).to_csv(tmp_path / "zoo.csv", index=False)  # fewer rows than are judged
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    of = ["quality", "--data", str(tmp_path), "--sets", "car", "zoo"]
    assert bench.main([*of, "--methods", "nb", "boosting", "--csv", str(first)]) == 0
    frame = pd.read_csv(first, comment="#")
    assert set(frame["set"]) == {"car"}
    assert frame.groupby("method").rows.agg(list).to_dict() == {"boosting": [480] * 5, "nb": [480] * 5}
    naive = frame[frame.method == "nb"]
    assert naive.log_loss.mean() < np.log(10) / 2
    assert (naive.over_shares < -5 * naive.over_shares_se).all()
    capsys.readouterr()
    late = ["--methods", "nb", "lr n=1", "--limit", "0.01", "--known", str(first), "--csv", str(again)]
    assert bench.main([*of, *late]) == 0
    said = capsys.readouterr().out
    assert "car, nb:" not in said
    assert "car, lr n=1: not within" in said
    (ranks,) = (line.split() for line in said.splitlines() if line.startswith("lr n=1 "))
    assert (ranks[2], ranks[-1]) == ("3.00", "1")
    assert "1 sets (1 categorical, 0 mixed, 0 numeric)" in said


def stuck(path, seconds):
    path.write_text(str(os.getpid()))
    time.sleep(seconds)


def test_what_takes_too_long_has_begun_and_is_ended(tmp_path):
    answer = in_child(stuck, tmp_path / "pid", 300.0, limit=1.0)
    assert (answer.late, answer.refused) == (True, "not within 1 s")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
