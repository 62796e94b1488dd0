"""A still of figures: what is drawn where, without a browser."""

import io
import math

import numpy as np
import pytest
from bokeh.models import BoxAnnotation, ColumnDataSource, FixedTicker, Legend, LegendItem, Span
from bokeh.plotting import figure
from PIL import Image

from alrviz.pictures.still import SCALE, still

RED, BLUE = (255, 0, 0), (0, 0, 255)


def plot(y_axis_type="linear", y_range=(0.0, 10.0)):
    return figure(x_range=(0.0, 10.0), y_range=y_range, y_axis_type=y_axis_type)


def pixels(*figures, words=""):
    return np.asarray(Image.open(io.BytesIO(still(figures, words))).convert("RGB"), dtype=int)


def places(picture, colour, near=60):
    """Rows and columns of the pixels of a colour."""
    return np.argwhere(np.abs(picture - np.array(colour)).max(axis=2) < near)


def middle(picture, colour):
    found = places(picture, colour)
    assert len(found), "nothing of this colour"
    return found.mean(axis=0)


def test_the_size_is_that_of_the_figures():
    one, three = pixels(plot()), pixels(plot(), plot(), plot())
    assert one.shape[1] == three.shape[1] == 900 * SCALE
    assert three.shape[0] > one.shape[0]
    assert pixels(words="word " * 300).shape[0] > 100, "words alone, in several lines"


def test_marks_are_where_their_numbers_are():
    fig = plot()
    fig.scatter([2.0], [8.0], size=12, color="#ff0000")
    fig.scatter([8.0], [2.0], size=12, color="#0000ff", marker="square")
    picture = pixels(fig)
    (high, left), (low, right) = middle(picture, RED), middle(picture, BLUE)
    assert high < low
    assert left < right


@pytest.mark.parametrize("longer", [4.0, 0.25])
def test_a_figure_that_keeps_its_scale_has_round_circles(longer):
    """Three marks at the corners of a square are as far from each other across as up."""
    fig = figure(x_range=(0.0, 10.0 * longer), y_range=(0.0, 10.0), match_aspect=True)
    fig.scatter([2.0], [2.0], size=8, color="#ff0000")
    fig.scatter([2.0], [8.0], size=8, color="#0000ff")
    fig.scatter([8.0 if longer > 1 else 2.4], [2.0], size=8, color="#00ff00")
    picture = pixels(fig)
    corner, above, beside = (middle(picture, colour) for colour in (RED, BLUE, (0, 255, 0)))
    side = 6.0 if longer > 1 else 0.4
    assert (corner - above)[0] / 6 == pytest.approx((beside - corner)[1] / side, rel=0.05)


@pytest.mark.parametrize(("kind", "expected"), [("linear", 0.9), ("log", 0.5)])
def test_a_log_axis_is_one(kind, expected):
    """On a log axis from 1 to 100, 10 is in the middle; on a linear one near the bottom."""
    fig = plot(kind, (1.0, 100.0))
    fig.scatter([5.0], [1.0], size=6, color="#00ff00")
    fig.scatter([5.0], [100.0], size=6, color="#00ff00")
    fig.scatter([5.0], [10.0], size=6, color="#ff0000")
    picture = pixels(fig)
    ends = places(picture, (0, 255, 0))[:, 0]
    share = (middle(picture, RED)[0] - ends.min()) / (ends.max() - ends.min())
    assert share == pytest.approx(expected, abs=0.03)


def test_lines_dashes_gaps_and_columns_of_colours():
    fig = plot()
    fig.line([0, 10], [5, 5], color="#ff0000", line_width=3)
    whole = len(places(pixels(fig), RED))
    fig = plot()
    fig.line([0, 10], [5, 5], color="#ff0000", line_width=3, line_dash="dashed")
    assert 0.4 * whole < len(places(pixels(fig), RED)) < 0.8 * whole
    fig = plot()
    fig.line([0, 4, math.nan, 6, 10], [5, 5, 5, 5, 5], color="#ff0000", line_width=3)
    assert len(places(pixels(fig), RED)) == pytest.approx(0.8 * whole, rel=0.05)
    fig = plot()
    source = ColumnDataSource({"xs": [[0, 5], [5, 9, 10]], "ys": [[5, 5], [5, 5, 5]], "colour": ["#ff0000", "#0000ff"]})
    fig.multi_line("xs", "ys", source=source, line_color="colour", line_width=3)
    picture = pixels(fig)
    assert middle(picture, RED)[1] < middle(picture, BLUE)[1]


def test_areas_images_and_annotations():
    fig = plot()
    fig.varea([0, 5], [0, 0], [10, 10], fill_color="#ff0000")
    rgba = np.full((4, 4), 0xFFFF0000, dtype=np.uint32)  # blue, in the order of bytes that Bokeh has
    fig.image_rgba([rgba], x=[5], y=[0], dw=[5], dh=[10])
    picture = pixels(fig)
    assert len(places(picture, RED)) == pytest.approx(len(places(picture, BLUE)), rel=0.05)
    fig = plot()
    fig.add_layout(BoxAnnotation(left=0, right=1, fill_color="#ff0000", fill_alpha=1.0, line_color=None))
    fig.add_layout(Span(location=9, dimension="height", line_color="#0000ff", line_width=4))
    picture = pixels(fig)
    assert middle(picture, RED)[1] < middle(picture, BLUE)[1]


def test_what_is_hidden_is_not_drawn():
    fig = plot()
    fig.scatter([5.0], [5.0], size=12, color="#ff0000").visible = False
    assert not len(places(pixels(fig), RED))


def test_a_legend_shows_its_samples():
    fig = plot()
    line = fig.line([0, 0], [0, 0], color="#ff0000", line_width=3)
    fig.add_layout(Legend(items=[LegendItem(label="one", renderers=[line])]))
    assert middle(pixels(fig), RED)[0] < 60
    other = fig.line([0, 0], [0, 0], color="#0000ff", line_width=3)
    many = [LegendItem(label=f"a name of some length {k}", renderers=[line]) for k in range(3)]
    fig.add_layout(Legend(items=[*many, LegendItem(label="last", renderers=[other])]))
    picture = pixels(fig)
    assert middle(picture, BLUE)[1] > places(picture, RED)[:, 1].min(), "lines of a legend lie within the picture"


def test_ticks_without_a_place_and_figures_without_numbers_are_no_error():
    fig = figure(x_range=(math.nan, math.nan), y_range=(3.0, 3.0))
    fig.xaxis[0].ticker = FixedTicker(ticks=[])
    fig.line([], [])
    fig.scatter([math.inf], [math.nan])
    assert pixels(fig).size
