"""The decision map as data: colours, certainty, boundaries, and names from data drawn as they are."""

import numpy as np
import pandas as pd
import pytest
from bokeh.document import Document
from bokeh.models import Line, PlainText
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import alrviz
from alrviz.pictures.columns import class_colours
from alrviz.pictures.decision_map import (
    MAX_OPACITY,
    MIN_OPACITY,
    boundary,
    certainty,
    decision_map_picture,
    value_words,
)
from alrviz.studies.maps.axes import axis_of
from alrviz.studies.maps.decision_map import Surface, decision_map

HOSTILE = r"<b>$$\frac{1}{2}$$</b>"


def axes(levels=False):
    frame = pd.DataFrame({HOSTILE: ["a", "b", "c"] if levels else [0.0, 1.0, 2.0], "v": [0.0, 1.0, 2.0]})
    return axis_of(frame, HOSTILE), axis_of(frame, "v")


def surface(values, classes=("no", "yes"), probability=True, levels=False):
    values = np.asarray(values, dtype=np.float32)
    return Surface(*axes(levels), classes, values, probability, None, True)


def rgba(what):
    return what["ground"]["image"][0].view(np.uint8).reshape(*what["ground"]["image"][0].shape, 4)


def test_the_ground_has_the_winners_colour_and_is_paler_where_unsure():
    what = decision_map_picture(surface([[[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]] * 2))
    colours = class_colours(2)
    pixels = rgba(what)
    for pixel, colour in zip(pixels[0, [0, 2]], colours, strict=True):
        assert "#" + "".join(f"{part:02X}" for part in pixel[:3]) == colour.upper()
    np.testing.assert_array_equal(
        pixels[0, :, 3], np.rint(255 * (MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * np.array([1.0, 0.0, 0.6])))
    )
    np.testing.assert_allclose(what["ground"]["value"][0], [[0.0, 0.5, 0.8]] * 2, atol=1e-6)


def test_certainty_of_three_classes_is_0_where_they_are_equal():
    found = certainty(surface([[[1 / 3, 1 / 3, 1 / 3], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]], ("a", "b", "c")))
    np.testing.assert_allclose(found, [[0.0, 1.0, 0.25]], atol=1e-6)


def test_where_the_model_says_nothing_there_is_no_ground():
    what = decision_map_picture(surface([[[np.nan, np.nan], [0.1, 0.9]]] * 2))
    assert rgba(what)[0, :, 3].tolist()[0] == 0
    assert what["ground"]["winner"][0].tolist() == [[-1, 1]] * 2


def test_scores_are_said_to_be_none_and_their_certainty_is_relative():
    one = surface([[[-2.0], [0.0], [2.0]]], probability=False)
    np.testing.assert_allclose(certainty(one), [[1.0, 0.0, 1.0]])
    assert value_words(one) == "score of yes, not a probability: boundary at 0"
    assert value_words(surface([[[0.5, 0.5]]])).startswith("P(yes)")
    three = surface([[[0.0, 3.0, 1.0], [1.0, 1.0, 0.0]]], ("a", "b", "c"), probability=False)
    assert certainty(three)[0, 1] == 0
    assert "not a probability" in value_words(three)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_the_boundary_of_a_linear_model_is_its_line(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = kind().fit(X, X @ [2.0, -1.0] > 0.2)
    lines = boundary(list(decision_map(model, X))[-1])
    assert len(lines["xs"]) == 1
    on_line = np.stack([lines["xs"][0], lines["ys"][0]], axis=1)
    assert np.abs(model.decision_function(on_line)).max() < 0.02
    assert len(on_line) > 50


def test_three_classes_have_all_their_boundaries():
    x = np.linspace(0, 1, 3)
    values = np.stack(np.broadcast_arrays(1 - x[None, :], x[None, :], (1.5 * x - 0.3)[:, None]), axis=2)
    one = surface(values, ("a", "b", "c"))
    lines = boundary(one)
    assert len(lines["xs"]) >= 2


def test_edges_of_levels_are_where_the_winner_changes():
    values = [[[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]]
    lines = boundary(surface(values, levels=True))
    found = sorted(([float(x) for x in xs], [float(y) for y in ys]) for xs, ys in zip(*lines.values(), strict=True))
    low, middle, high = np.linspace(*(axes()[1].low, axes()[1].high), 3).tolist()
    assert found == [([1.0, 1.0], [low, middle]), ([1.0, 2.0], [middle, middle]), ([2.0, 2.0], [middle, high])]


@pytest.mark.parametrize("up", [False, True])
def test_values_in_steps_change_at_edges_of_cells_and_so_does_the_line(up):
    low = np.linspace(-1, 1, 20) < 0.2
    steps = np.where(low[:, None], [0.9, 0.1], [0.3, 0.7])
    values = np.broadcast_to(steps[:, None] if up else steps[None, :], (20, 20, 2))
    one = surface(values)
    lines = boundary(one)
    axis, key = (one.up, "ys") if up else (one.across, "xs")
    edge = axis.low + (axis.high - axis.low) * low.sum() / 20
    np.testing.assert_allclose(np.concatenate(lines[key]), edge)
    slope = 1e-3 * (np.arange(20)[:, None] if up else np.arange(20))[..., None] * np.array([-1.0, 1.0])
    assert np.abs(np.concatenate(boundary(surface(values + slope))[key]) - edge).min() > 1e-3  # interpolated


def test_points_are_outlined_by_truth_and_filled_by_prediction():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    model = LogisticRegression().fit(X, ["a", "a", "b", "b"])
    shown = list(decision_map(model, X, ["a", "a", "b", "a"]))[-1]
    points = decision_map_picture(shown)["points"]
    blue, orange = class_colours(2)
    assert points["outline"].tolist() == [blue, blue, orange, blue]
    assert points["fill"].tolist() == [blue, blue, orange, orange]
    assert points["truth"].tolist() == ["a", "a", "b", "a"]
    assert points["row"].tolist() == [0, 1, 2, 3]
    unknown = decision_map_picture(list(decision_map(model, X, ["a", "a", "b", "c"]))[-1])["points"]
    assert unknown["truth"].tolist()[3] == "none of these"


def test_names_from_data_are_text():
    data = pd.DataFrame({HOSTILE: [HOSTILE, "b", "c"] * 4, "v": np.arange(12.0)})
    y = np.array([HOSTILE, "no", "no"] * 4)
    model = alrviz.LRClassifier(order=1, alpha=1.0).fit(data, y)
    picture = decision_map_picture(list(decision_map(model, data, y, across=HOSTILE, up="v"))[-1]).plot()
    axis = picture.figure.xaxis[0]
    assert (type(axis.axis_label), axis.axis_label.text) == (PlainText, HOSTILE)
    assert axis.formatter.args["words"][0] == HOSTILE[:13] + "…"
    assert axis.ticker.ticks == [0.5, 1.5, 2.5]
    Document().add_root(picture.figure)
    assert Document.from_json(picture.figure.document.to_json()).roots[0].xaxis[0].axis_label.text == HOSTILE


def test_the_legend_names_the_classes_and_what_the_ground_means():
    picture = decision_map_picture(surface(np.full((2, 2, 2), 0.5))).plot()
    legend = picture.figure.above[0]
    assert [item.label.value for item in legend.items] == ["no", "yes", "boundary"]
    assert legend.title == "Background: P(yes)"
    line = legend.items[-1].renderers[0].glyph
    assert (type(line), line.line_width) == (Line, 2.2)  # whether this map has a boundary or not
    scores = decision_map_picture(surface([[[-2.0], [2.0]]] * 2, probability=False), width=264).plot()
    assert scores.figure.above[0].title == "Background: score of yes,\nnot a probability: boundary at 0"
    many = [f"class {k}" for k in range(26)]
    crowded = decision_map_picture(surface(np.full((2, 2, 26), 1 / 26), tuple(many))).plot()
    assert crowded.figure.above[0].items[12].label.value == "and 14 more"
    one_left = decision_map_picture(surface(np.full((2, 2, 13), 1 / 13), tuple(many[:13])), width=900).plot()
    assert one_left.figure.above[0].items[12].label.value == "and 1 more"
    narrow = decision_map_picture(surface(np.full((2, 2, 26), 1 / 26), tuple(many)), width=264).plot()
    legend = narrow.figure.above[0]
    assert len(legend.items) <= 3 * legend.ncols, "a map needs its room"
    named = len(legend.items) - 2
    assert [item.label.value for item in legend.items[-2:]] == [f"and {26 - named} more", "boundary"]
    assert [item.label.value for item in legend.items[:named]] == many[:named]
