"""Time against rows: what is made, when a method is given up, and what is said of it."""

import numpy as np
import pandas as pd
import pytest

from reproduction import growth
from reproduction.dlr_items import growth_seen, growth_table
from reproduction.settings import Settings


def test_the_rows_that_are_made_are_the_same_every_time_and_not_monotone():
    X, y = growth.make_rows(20_000)
    assert X.shape == (20_000, growth.COLUMNS)
    X_2, y_2 = growth.make_rows(20_000)
    assert np.array_equal(X, X_2)
    assert np.array_equal(y, y_2)
    assert abs(np.corrcoef(X[:, 0], y)[0, 1]) < 0.03
    assert np.corrcoef(X[:, 0] ** 2, y)[0, 1] > 0.3


def test_a_method_after_the_other_each_the_smallest_size_first(tmp_path):
    steps = list(growth.growth_rows(Settings(tmp_path), (50, 100), ("lr", "svm-rbf")))
    assert [label for label, _ in steps] == ["lr on 50 to 100 rows", "svm-rbf on 50 to 100 rows"]
    assert [[row["rows"] for row in rows] for _, rows in steps] == [[50, 100], [50, 100]]
    assert all(row["train_s"] > 0 for _, rows in steps for row in rows)


def test_what_would_take_too_long_is_given_up_and_told():
    row = growth.series("lr", (50, 100, 10**9), limit=5.0)[-1]
    assert row["rows"] == 10**9
    assert row["expected_s"] > 5.0
    assert "train_s" not in row


def test_its_table_and_sentence():
    rows = [{"set": "made", "method": "lr", "rows": n, "train_s": n / 1000} for n in (100, 1000, 10_000)]
    rows += [{"set": "made", "method": "svm-rbf", "rows": n, "train_s": n**2 / 1e6} for n in (100, 1000)]
    rows.append({"set": "made", "method": "svm-rbf", "rows": 10_000, "expected_s": 100.0})
    table = growth_table(pd.DataFrame(rows))
    assert table["ours"].tolist()[:5] == [0.1, 1.0, 10.0, 0.01, 1.0]
    assert table["verdict"].tolist() == ["", "", "", "", "", "undecided"]
    assert table["reason"].iloc[-1] == "given up: about 100 s expected"
    assert growth_seen(table) == (
        "lr 10 s at 10,000 rows, growing as rows^1.00; svm-rbf 1 s at 1,000 rows, growing as rows^2.00"
    )
    assert growth_seen(table[:0]) == "no figures"


def test_expectation():
    assert growth.expected_seconds([], 10) == growth.expected_seconds([(5, 1.0)], 10) == 0.0
    assert growth.expected_seconds([(100, 1.0), (200, 1.5)], 400) == pytest.approx(3.0), "with the rows at least"
    assert growth.exponent(10, 1.0, 100, 1000.0) == pytest.approx(3.0)
