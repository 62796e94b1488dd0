"""What is read of Bokeh's renderers, and the helpers that pictures share: ranges and legends."""

import math

import numpy as np
import pytest
from bokeh.models import FixedTicker
from bokeh.plotting import figure

from alrviz.pictures.elements import element
from alrviz.pictures.labels import legend_columns
from alrviz.pictures.level_axis import level_axis
from alrviz.pictures.marks import Marks, level_words
from alrviz.pictures.picture import padded


def test_marks_have_columns_and_values():
    fig = figure()
    marks = Marks(fig.scatter([1.0, 2.0], [3.0, 4.0], size=7, color=["#ff0000", "#00ff00"]))
    assert (marks.kind, marks.count) == ("Scatter", 2)
    assert marks.each("x") == [1.0, 2.0]
    assert marks.each("size") == [7, 7]
    assert marks.first("fill_color") == "#ff0000"
    assert Marks(fig.scatter([], [], color="#0000ff")).each("fill_color") == []
    assert Marks(fig.scatter([1.0], [2.0], marker="x")).each("marker") == ["x"], "not the column x"


def test_lines_of_different_lengths_become_contours():
    pytest.importorskip("holoviews")
    fig = figure(x_range=(0, 1), y_range=(0, 1))
    fig.multi_line([np.zeros(2), np.zeros(3)], [np.zeros(2), np.ones(3)], line_color="#ff0000")
    [contours] = element(fig)
    assert [len(line["x"]) for line in contours.data] == [2, 3]


def test_an_axis_of_levels_names_their_middles():
    fig = figure()
    assert level_words(fig.xaxis[0]) is None
    level_axis(fig.xaxis[0], ["a", "b"])
    assert isinstance(fig.xaxis[0].ticker, FixedTicker)
    assert list(map(level_words(fig.xaxis[0]), (0.5, 1.5, 2.5))) == ["a", "b", ""]


def test_ranges_have_room_and_hold_what_differs_little():
    assert padded([[0.0, 1.0], [math.nan]], 0.1, 0.2) == pytest.approx((-0.1, 1.2))
    assert padded([[5.0], [5.0]], 0.5, 0.5) == pytest.approx((4.75, 5.25))  # a tenth of the highest
    assert padded([[5.0]], 0.5, 0.5, least=0.0) == pytest.approx((4.75, 5.25))
    assert padded([], 0.1, 0.1) == (0.0, 1.0)


def test_a_legend_has_as_many_columns_as_fit():
    assert legend_columns(["lr", "alr"], 320) == 2
    assert legend_columns(["a name of thirty letters or so"] * 3, 320) == 1
    assert legend_columns(["a"] * 9, 3 * (38 + 8.2)) == 3
