"""What was said before, on the axes of a picture."""

import math

from bokeh.models import HSpan, Line, Text, VSpan
from bokeh.plotting import figure

from alrviz.pictures.picture import Picture
from alrviz.pictures.prediction import Prediction, draw_prediction
from alrviz.views.core.live_figure import LiveFigure


def drawn(said, **axes):
    fig = figure(x_range=(0, 10), y_range=(0.1, 1), **axes)
    return {type(part.glyph): part for part in draw_prediction(fig, said)}


def words(parts):
    return list(parts[Text].data_source.data["text"])


def test_a_number_of_one_axis_is_a_line_and_numbers_of_both_are_joined():
    parts = drawn(Prediction(((None, 0.5), (4.0, None)), ("you: 0.5", "you: 4")))
    assert parts[HSpan].glyph.y == 0.5
    assert parts[VSpan].glyph.x == 4.0
    assert Line not in parts
    parts = drawn(Prediction(((1.0, 0.5), (2.0, 0.25)), ("you, a", "you, b")))
    assert list(parts[Line].data_source.data["y"]) == [0.5, 0.25]
    assert words(parts) == ["you, a", "you, b"]


def test_what_lies_outside_is_named_at_the_edge_and_what_a_log_axis_has_not_is_left_out():
    parts = drawn(Prediction(((None, 50.0), (70.0, None)), ("you: 50", "you: 70")))
    assert words(parts) == ["you: 50 ↑", "you: 70 →"]
    assert parts[Text].data_source.data["y"][0] == 1
    assert drawn(Prediction(((None, 0.0),), ("you: 0",)), y_axis_type="log") == {}


def test_words_of_lines_that_lie_near_each_other_do_not_lie_on_each_other():
    for axes in ({}, {"y_axis_type": "log"}):
        parts = drawn(
            Prediction(((None, 0.3), (None, 0.9), (None, 0.31), (None, 0.305)), ("a", "b", "you, n = 2", "d")), **axes
        )
        first, apart, near, nearer = parts[Text].data_source.data["dx"]
        assert first == apart, "far from each other"
        assert near >= first + 10
        assert nearer >= near + 100, "behind the words of both"
        assert len(set(parts[Text].data_source.data["dy"])) == 1, "each on its line"
    upright = drawn(Prediction(((4.0, None), (4.2, None), (9.0, None)), ("a", "b", "c")))[Text].data_source.data
    assert upright["dy"][0] == upright["dy"][2] >= upright["dy"][1] + 20
    assert len(set(upright["dx"])) == 1


def test_a_living_figure_draws_it_once_and_forgets_it_with_its_axes():
    live = LiveFigure("alrviz-test")

    def show(axis):
        live.show(Picture(draw=lambda plot: None, x=(0, 1), y=(0, 1), labels=("x", axis), data={}))
        return len(live.plot.figure.renderers)

    assert show("error") == 0
    said = Prediction(((None, 0.5),), ("you: 0.5",))
    assert live.predict(said)
    assert live.predict(said)
    assert not live.predict(Prediction(((None, math.nan),), ("you: nothing",)))
    assert live.predict(said)
    assert show("error") == 2  # the line and its words
    assert show("log loss") == 0
    live.predict(said)
    live.predict(None)
    assert show("log loss") == 0
