"""The benchmark of one pass: its parts are those of the pass, and what they are timed on is what a fit runs over."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import __main__ as bench
from benchmarks._courses import Course, our_course, recipe_of
from benchmarks._passes import ready
from benchmarks._sets import made_rows, repeated


def test_kernel_prints_a_row_a_table(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    shape = ["--rows", "2000", "--columns", "6", "--repeats", "2", "--csv", str(path)]
    assert bench.main(["kernel", *shape]) == 0
    (row,) = pd.read_csv(path, comment="#").itertuples()
    assert (row.rows, row.cells, row.classes) == (2000, 15 * 16, 7)
    assert row.least <= row.whole
    text = capsys.readouterr().out
    assert "the gathers alone" in text
    assert "to reach 0.1 s: yes" in text


def test_what_is_timed_is_what_a_fit_runs_over():
    encoded = made_rows(500, 5, 3, 3)
    fit = ready(encoded, recipe_of(2, 0.5)).fit
    first = our_course(encoded, recipe_of(2, 0.5, max_iter=0), Course()).objective
    assert fit.objective.value_grad(fit.w0).objective == pytest.approx(first[0], rel=1e-12)


@pytest.mark.parametrize(("merge", "rows"), [(True, 500), (False, 2000)])
def test_repeated_rows_are_merged_only_if_asked(merge, rows):
    encoded = repeated(made_rows(500, 12, 6, 3), 2000)
    distinct = len(np.unique(np.vstack([encoded.codes, encoded.y]), axis=1).T)
    assert distinct == 500
    assert ready(encoded, recipe_of(2, 0.5), merge=merge).covered_rows.rows.n_rows == rows
