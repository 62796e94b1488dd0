"""The benchmarks of higher orders and of growth with rows: what they say of a small table."""

import numpy as np
import pandas as pd
import pytest

from alrviz.models.cell_space import CellSpace
from benchmarks import __main__ as bench
from benchmarks import scale
from benchmarks._sets import made_rows


def test_times_on_a_line_are_on_it_and_others_are_off():
    rows = [10, 100, 1000]
    assert scale.off_the_line(rows, [1.1, 2.0, 11.0]) == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert max(map(abs, scale.off_the_line(rows, [1.0, 100.0, 10_000.0]))) > 0.5, "the square of rows"


@pytest.mark.slow(reason="an order of three is priced, compiled and fitted in full")
def test_orders_says_what_a_made_table_takes(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    assert bench.main(["orders", "--orders", "3", "--iterations", "5", "--csv", str(path)]) == 0
    (row,) = pd.read_csv(path, comment="#").itertuples()
    space = CellSpace(made_rows(10, 8, 5, 3).levels, 3)
    assert (row.tuples, row.iterations, row.classes) == (space.n_tuples, 5, 3)
    assert 0.9 * space.n_cells < row.cells <= space.n_cells
    assert row.start == pytest.approx(5000 * np.log(3))
    assert row.objective < row.start
    assert "to reach 4 GiB: yes" in capsys.readouterr().out


def test_orders_says_why_an_order_is_refused(capsys):
    assert bench.main(["orders", "--orders", "9"]) == 0
    assert "made, order 9: " in capsys.readouterr().out


def test_scale_prints_a_row_a_size(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    shape = ["--columns", "5", "--levels", "3", "--iterations", "5"]
    assert bench.main(["scale", "--sizes", "3000", "1000", *shape, "--csv", str(path)]) == 0
    frame = pd.read_csv(path, comment="#")
    assert list(frame.rows) == [1000, 3000]
    assert (frame.cells == 10 * 9).all()
    assert "linear within 20%" in capsys.readouterr().out
