"""The benchmark of tables read in batches: a row a size, each of a process of its own."""

import pandas as pd
import pytest

from benchmarks import __main__ as bench
from benchmarks._learners import LEARNERS


def test_stream_prints_a_row_a_size(capsys, tmp_path):
    shape = ["--rows", "3000", "--sizes", "6000", "--columns", "6", "--levels", "4", "--repeats", "1"]
    assert bench.main(["stream", *shape, "--csv", str(tmp_path / "s.csv")]) == 0
    output = capsys.readouterr().out
    assert output.count("million a second: encode") == 2
    frame = pd.read_csv(tmp_path / "s.csv", comment="#")
    assert (frame["rows"] > [2700, 5500]).all()  # a twentieth is held out
    assert (frame["cells"] == 15 * 16).all()
    assert (frame[["encode", "count", "gradient", "adagrad", "peak"]] > 0).all(axis=None)


def test_stream_sets_other_learners_beside_ours(capsys, tmp_path):
    pytest.importorskip("vowpalwabbit", reason="the extra [bench] is not installed")
    pytest.importorskip("lightgbm", reason="the extra [bench] is not installed")
    shape = ["--rows", "20000", "--columns", "6", "--levels", "4", "--repeats", "1", "--limit", "5", "--learners"]
    assert bench.main(["stream", *shape, "--csv", str(tmp_path / "s.csv")]) == 0
    frame = pd.read_csv(tmp_path / "s.csv", comment="#").set_index("learner")
    learners = list(LEARNERS)
    assert set(learners) <= set(frame.index), capsys.readouterr().out
    assert (frame.loc[learners, ["a pass", "seconds", "loss", "peak"]] > 0).all(axis=None)
    assert frame.loc[learners, "loss"].max() < 1.3 * frame.loc[learners, "loss"].min()
    assert frame.loc["alrviz, adagrad", "ours"] <= frame.loc["alrviz, adagrad", "seconds"]
