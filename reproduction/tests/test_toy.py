"""The toy: what its studies yield, and when an accuracy or a bandwidth agrees."""

import numpy as np
import pandas as pd

from reproduction import toy


def test_accuracies_and_maps_of_the_toy():
    by_method = {row["method"]: row["accuracy"] for row in toy.accuracies(0)}
    assert 40 < by_method["lr"] < 60 < 85 < by_method["dlr"]
    points, *maps = toy.maps()
    assert len(points["points"]) == toy.POINTS
    assert [np.shape(row["map"]) for row in maps] == [(toy.SIDE, toy.SIDE)] * 3
    assert {cell for row in maps for line in row["map"] for cell in line} <= set(range(10))


def test_an_accuracy_agrees_within_two_standard_deviations_of_a_sample():
    def lines(values):
        rows = [{"method": "dlr", "accuracy": value} for value in values]
        return toy.accuracy_lines("dlr-f4", "dlr", pd.DataFrame(rows))

    assert lines([88.0, 90.0])["verdict"].tolist() == ["agrees"]
    assert lines([95.0, 96.0])["verdict"].tolist() == ["differs"]
    assert len(lines([89.0])) == 0


def test_a_bandwidth_has_settled_where_it_stays_within_a_tenth():
    rows = [{"method": "h of x", "seen": k, "h": h} for k, h in enumerate((4.0, 2.0, 1.05, 1.0), 1)]
    line = toy.settled_lines("dlr-f5", pd.DataFrame(rows)).iloc[0]
    assert (line["ours"], line["verdict"]) == ("1 of 1 draws, median 3", "undecided"), "one draw tells nothing"
    assert np.isnan(toy.settled_step(np.zeros((0, 2))))
    assert toy.settled_step(np.array([[1.0, 2.0], [1.0, 1.0]])) == 2.0, "the slowest column's"
    assert {row["method"] for row in toy.bandwidths()} == {"h of x1", "h of x2"}
