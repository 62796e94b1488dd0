"""The bench of learners over passes: a row a learner, and a picture."""

import csv

from benchmarks import __main__ as bench
from benchmarks.learners import LEARNERS


def test_learners_prints_a_row_each_and_draws_them(capsys, tmp_path):
    csv_path, svg_path = tmp_path / "l.csv", tmp_path / "l.svg"
    flags = ["learners", "--sets", "poker", "--hands", "3000", "--cases", "2", "--passes", "2"]
    assert bench.main([*flags, "--csv", str(csv_path), "--picture", str(svg_path)]) == 0
    lines = [line for line in csv_path.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    assert {row["learner"] for row in rows} == set(LEARNERS)
    assert sum(row["auto"] == "True" for row in rows) == 1
    assert all(0.5 < float(row[f"pass {k}"]) < 2.3 for row in rows for k in (1, 2))
    assert "auto: lowest or tied in" in capsys.readouterr().out
    assert svg_path.read_text().count("<polyline") == len(LEARNERS)
