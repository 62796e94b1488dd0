"""The benchmark of tables read in batches: a row a size, each of a process of its own."""

import pandas as pd

from alrviz.bench import __main__ as bench


def test_stream_prints_a_row_a_size(capsys, tmp_path):
    shape = ["--rows", "3000", "--sizes", "6000", "--columns", "6", "--levels", "4", "--repeats", "1"]
    assert bench.main(["stream", *shape, "--csv", str(tmp_path / "s.csv")]) == 0
    said = capsys.readouterr().out
    assert said.count("million a second: encode") == 2
    found = pd.read_csv(tmp_path / "s.csv", comment="#")
    assert (found["rows"] > [2700, 5500]).all()  # a twentieth is held out
    assert (found["cells"] == 15 * 16).all()
    assert (found[["encode", "count", "gradient", "adagrad", "peak"]] > 0).all(axis=None)
