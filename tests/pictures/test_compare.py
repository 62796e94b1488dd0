"""The picture of one recipe against another, as data: means, bars, folds, zeros on log axes, names."""

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures.compare import MAX_NAMED, compare
from alrviz.views.core.live_figure import LiveFigure

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
    what = compare(lines({"a": [0.5, 0.9, 0.4], "b": [0.3, 0.9, 0.6]}), pd.DataFrame(), (0, 2), "log_loss", COLOURS)
    np.testing.assert_allclose(what["points"]["x"], [0.5, 0.3])
    np.testing.assert_allclose(what["points"]["y"], [0.4, 0.6])
    np.testing.assert_allclose(what["points"]["right"] - what["points"]["x"], 0.01)
    np.testing.assert_allclose(what["points"]["y"] - what["points"]["low"], 0.01)
    assert what["points"]["colour"] == [COLOURS[2], COLOURS[0]]
    assert what["names"]["words"] == ["a", "b"]
    assert what["points"]["marker"] == ["triangle", "circle"]
    assert what["corners"]["words"] == ["● r0 lower", "▲ r2 lower"]
    low, high = what.x
    assert 0 < low < 0.3
    assert high > 0.6


def test_folds_are_drawn_where_both_have_them():
    table = rows({"a": [[0.5, 0.6, 0.7], [0.4, None, 0.2]]})
    what = compare(lines({"a": [0.6, 0.3]}), table, (0, 1), "log_loss", COLOURS)
    np.testing.assert_allclose(what["folds"]["x"], [0.5, 0.7])
    np.testing.assert_allclose(what["folds"]["y"], [0.4, 0.2])
    assert what.x[0] < 0.2, "folds are within the picture too"
    far = compare(lines({"a": [0.6, 0.3]}), rows({"a": [[0.6], [1e-9]]}), (0, 1), "log_loss", COLOURS)
    assert far.x[0] > 0.05, "but for those that would leave no room for the means"
    assert far["folds"]["y"].tolist() == [far.x[0]]


def test_what_is_zero_stands_hollow_on_the_edge():
    what = compare(lines({"a": [0.0, 0.1], "b": [0.2, 0.1]}), pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert what["points"]["x"][0] == what.x[0] > 0
    assert what["points"]["across"][0] == 0
    assert what["points"]["filled"] == [0.0, 1.0]
    assert what.x[0] < 0.1 / 1.2, "below all that is not 0"


@pytest.mark.parametrize("means", [{}, {"a": [None, 0.3]}, {"a": [0.0, 0.0]}])
def test_a_picture_of_nothing_yet_has_axes(means):
    table = lines(means) if means else pd.DataFrame()
    what = compare(table, pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert 0 < what.x[0] < what.x[1]
    assert what.plot("empty").figure.name == "empty"


def test_equal_values_leave_the_axes_air():
    what = compare(lines({"a": [0.3, 0.3]}), pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert what.x[1] / what.x[0] > 1.2
    assert what["points"]["colour"] == ["#777777"]


def test_a_measure_without_spread_or_folds_is_drawn_all_the_same():
    what = compare(lines({"a": [0.3, 0.2]}), rows({"a": [[0.3], [0.2]]}), (0, 1), "bias", COLOURS)
    np.testing.assert_array_equal(what["points"]["left"], what["points"]["right"])
    assert len(what["folds"]["x"]) == 0


def test_names_do_not_cover_each_other_and_of_many_none_is_written():
    near = compare(
        lines({"a": [0.3, 0.2], "b": [0.3, 0.2], "c": [0.9, 0.8]}), pd.DataFrame(), (0, 1), "log_loss", COLOURS
    )
    assert near["names"]["dy"][0] != near["names"]["dy"][1]
    assert near["names"]["align"] == ["left", "left", "right"]
    many = {f"set{k}": [0.1 + k, 0.2 + k] for k in range(MAX_NAMED + 1)}
    what = compare(lines(many), pd.DataFrame(), (0, 1), "log_loss", COLOURS)
    assert (len(what["names"]["x"]), len(what["points"]["x"])) == (0, MAX_NAMED + 1)


def test_the_figure_is_fed_with_another_pair_and_measure():
    table = lines({"a": [0.5, 0.9, 0.4]})
    live = LiveFigure("c")
    live.show(compare(table, pd.DataFrame(), (0, 1), "log_loss", COLOURS))
    figure = live.plot.figure
    assert figure.xaxis[0].axis_label == "r0: log loss (log)"
    assert figure.tags == ["Picture: r1: log loss (log) against r0: log loss (log)."]
    live.show(compare(table, pd.DataFrame(), (2, 0), "bias", COLOURS))
    assert live.plot.figure is figure
    assert figure.xaxis[0].axis_label == "r2: bias² (log)"
    assert figure.tags == ["Picture: r0: bias² (log) against r2: bias² (log)."], "for those who hear the page, too"
    assert live.plot["points"].data["x"].tolist() == [0.4]
    assert figure.x_range.start == figure.y_range.start == live.plot["diagonal"].data["x"][0] < 0.4
