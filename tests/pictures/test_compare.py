"""The picture of one recipe against another, as data: means, bars, folds, zeros on log axes, names."""

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures.compare import MOST_NAMED, compare_picture, contents, feed, ticks

COLOURS = ("#111111", "#222222", "#333333")


def lines(means, spread=0.01):
    """A summary from means[data] = values of the racers."""
    return pd.DataFrame(
        [
            {"data": data, "racer": racer, "name": f"r{racer}", "log_loss": value, "log_loss_sd": spread, "bias": value}
            for data, values in means.items()
            for racer, value in enumerate(values)
        ]
    )


def rows(values):
    """A frame from values[data][racer] = losses of the folds; None failed."""
    return pd.DataFrame(
        [
            {"data": data, "racer": racer, "repeat": 0, "fold": fold, "log_loss": value}
            for data, racers in values.items()
            for racer, folds in enumerate(racers)
            for fold, value in enumerate(folds)
        ]
    )


def test_a_point_a_data_set_with_its_spread_in_the_colour_of_the_better():
    what = contents(lines({"a": [0.5, 0.9, 0.4], "b": [0.3, 0.9, 0.6]}), pd.DataFrame(), (0, 2), "log_loss", COLOURS)
    np.testing.assert_allclose(what.points["x"], [0.5, 0.3])
    np.testing.assert_allclose(what.points["y"], [0.4, 0.6])
    np.testing.assert_allclose(what.points["right"] - what.points["x"], 0.01)
    np.testing.assert_allclose(what.points["y"] - what.points["low"], 0.01)
    assert what.points["colour"] == [COLOURS[2], COLOURS[0]]
    assert what.names["words"] == ["a", "b"]
    assert what.points["marker"] == ["triangle", "circle"]
    assert what.corners["words"] == ["● r0 lower", "▲ r2 lower"]
    low, high = what.range
    assert 0 < low < 0.3
    assert high > 0.6


def test_folds_are_drawn_where_both_have_them():
    table = rows({"a": [[0.5, 0.6, 0.7], [0.4, None, 0.2]]})
    what = contents(lines({"a": [0.6, 0.3]}), table, (0, 1), "log_loss", COLOURS)
    np.testing.assert_allclose(what.folds["x"], [0.5, 0.7])
    np.testing.assert_allclose(what.folds["y"], [0.4, 0.2])
    assert what.range[0] < 0.2, "folds are within the picture too"
    far = contents(lines({"a": [0.6, 0.3]}), rows({"a": [[0.6], [1e-9]]}), (0, 1), "log_loss", COLOURS)
    assert far.range[0] > 0.05, "but for those that would leave no room for the means"
    assert far.folds["y"].tolist() == [far.range[0]]


def test_what_is_zero_stands_hollow_on_the_edge():
    what = contents(lines({"a": [0.0, 0.1], "b": [0.2, 0.1]}), pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert what.points["x"][0] == what.range[0] > 0
    assert what.points["across"][0] == 0
    assert what.points["filled"] == [0.0, 1.0]
    assert what.range[0] < 0.1 / 1.2, "below all that is not 0"


@pytest.mark.parametrize("means", [{}, {"a": [None, 0.3]}, {"a": [0.0, 0.0]}])
def test_a_picture_of_nothing_yet_has_axes(means):
    table = lines(means) if means else pd.DataFrame()
    what = contents(table, pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert 0 < what.range[0] < what.range[1]
    assert compare_picture(what, "empty").figure.name == "empty"


def test_equal_values_leave_the_axes_air():
    what = contents(lines({"a": [0.3, 0.3]}), pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert what.range[1] / what.range[0] > 1.2
    assert what.points["colour"] == ["#777777"]


def test_a_measure_without_spread_or_folds_is_drawn_all_the_same():
    what = contents(lines({"a": [0.3, 0.2]}), rows({"a": [[0.3], [0.2]]}), (0, 1), "bias", COLOURS)
    np.testing.assert_array_equal(what.points["left"], what.points["right"])
    assert len(what.folds["x"]) == 0


def test_names_do_not_cover_each_other_and_of_many_none_is_written():
    near = contents(
        lines({"a": [0.3, 0.2], "b": [0.3, 0.2], "c": [0.9, 0.8]}), pd.DataFrame(), (0, 1), "log_loss", COLOURS
    )
    assert near.names["dy"][0] != near.names["dy"][1]
    assert near.names["align"] == ["left", "left", "right"]
    many = {f"set{k}": [0.1 + k, 0.2 + k] for k in range(MOST_NAMED + 1)}
    what = contents(lines(many), pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert (len(what.names["x"]), len(what.points["x"])) == (0, MOST_NAMED + 1)


def test_the_figure_is_fed_with_another_pair_and_measure():
    table = lines({"a": [0.5, 0.9, 0.4]})
    picture = compare_picture(contents(table, pd.DataFrame(), (0, 1), "log_loss", COLOURS), "c")
    assert picture.figure.xaxis[0].axis_label == "r0: log loss (log)"
    feed(picture, contents(table, pd.DataFrame(), (2, 0), "bias", COLOURS))
    assert picture.figure.xaxis[0].axis_label == "r2: bias² (log)"
    assert picture.points.data["x"].tolist() == [0.4]
    assert picture.figure.x_range.start == picture.figure.y_range.start == picture.diagonal.data["x"][0] < 0.4


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.086, 0.44, [0.1, 0.2, 0.3]), (0.09, 0.6, [0.1, 0.2, 0.5]), (0.001, 0.2, [0.001, 0.01, 0.1])],
)
def test_ticks_are_round_and_do_not_crowd(low, high, expected):
    assert ticks(low, high) == expected
