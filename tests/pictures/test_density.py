"""The pictures of a DLR fit as data: density ratios, bandwidths and losses, the Gram matrix."""

from dataclasses import replace

import numpy as np
import pytest
from bokeh.models import Label, PlainText, Text

from alrviz.pictures import bandwidths, density
from alrviz.pictures import gram as gram_pictures
from alrviz.pictures.columns import class_colours
from alrviz.pictures.palette import FAMILY_COLOURS, GREY, MIN_TEXT_CONTRAST, contrast, readable
from alrviz.studies.density.density_frames import BandwidthPath, ColumnRatio
from alrviz.studies.density.gram import gram

HOSTILE = r"<b>$$\frac{1}{2}$$</b>"
X = np.linspace(-2.0, 2.0, 41)
RUG = np.array([-1.0, 0.0, 1.0, 1.5])
CODES = np.array([0, 0, 1, 1])


def ratio(phi=X, weight=2.0, **more):
    return ColumnRatio(
        HOSTILE, np.asarray(phi), weight, x=X, bandwidth=0.25, silverman=0.5, rug=RUG, rug_class=CODES, **more
    )


def path(columns=2, steps=4, names=()):
    at = np.arange(steps)
    names = names or tuple(f"c{d}" for d in range(columns))
    ratios = np.exp(-np.outer(at, np.arange(1, columns + 1)) / 10)
    losses = {"training": 0.7 - 0.1 * at, "test": 0.75 - 0.1 * at}
    return BandwidthPath(at, names, ratios, losses, at > 1)


def test_two_classes_show_w_phi_filled_and_phi_beside_it():
    what = density.density_picture(ratio(), ["no", "yes"])
    assert what["lines"]["what"] == ["times its weight", "without its weight"]
    np.testing.assert_array_equal(what["lines"]["ys"][0], 2 * X)
    np.testing.assert_array_equal(what["lines"]["ys"][1], X)
    np.testing.assert_array_equal(what["fills"]["high"] + what["fills"]["low"], 2 * X)
    assert (what["fills"]["high"] >= 0).all()
    alone = density.density_picture(ratio(), ["no", "yes"], weighted=False)
    assert alone["lines"]["what"] == ["without its weight"]
    np.testing.assert_array_equal(alone["lines"]["ys"][0], X)


def test_three_classes_have_a_line_each_in_their_colours():
    phi = np.stack([X, -X, 0 * X], axis=1)
    what = density.density_picture(ratio(phi, np.array([1.0, 2.0, 3.0])), ["a", "b", "c"])
    assert what["lines"]["what"] == ["a", "b", "c"]
    assert what["lines"]["colour"] == class_colours(3)
    np.testing.assert_array_equal(what["lines"]["ys"][1], -2 * X)
    assert len(what["fills"]["x"]) == 0


def test_heights_go_by_the_rows_and_rest_while_they_fit():
    what = density.density_picture(ratio(X**9), ["no", "yes"])
    assert what.y[1] > 2 * 1.5**9
    assert what.y[1] < 2 * 2.0**9
    view = what.y
    again = density.density_picture(ratio(0.9 * X**9), ["no", "yes"], view=view)
    assert again.y == view
    lower = density.density_picture(ratio(0.01 * X**9), ["no", "yes"], view=view)
    assert lower.y[1] < what.y[1]
    higher = density.density_picture(ratio(2 * X**9), ["no", "yes"], view=view)
    assert higher.y[1] > what.y[1]


def test_the_rug_has_a_tick_a_row_below_the_curve():
    what = density.density_picture(ratio(), ["no", "yes"])
    np.testing.assert_array_equal(what["rug"]["x"], RUG)
    assert what["rug"]["colour"].tolist() == [class_colours(2)[k] for k in CODES]
    assert len(set(what["rug"]["y"].tolist())) == 2
    assert what["rug"]["y"].max() < -2.0  # the lowest of w phi at a row
    assert what["rug"]["y"].min() > what.y[0]


def test_the_bandwidth_is_a_bar_of_its_length():
    bar = density.density_picture(ratio(), ["no", "yes"])["bar"]
    assert bar["x1"][0] - bar["x0"][0] == pytest.approx(0.5)
    assert bar["words"] == ["±h = 0.25"]


def test_the_name_and_the_bandwidth_stand_beside_each_other():
    """In the smallest picture, 215 px wide; letters are 7.5 px. A long bar keeps its length in the middle."""
    across = X[-1] - X[0]
    narrow = density.density_picture(
        replace(ratio(), column="Signup date year", bandwidth=0.02 * across), ["no", "yes"]
    )
    picture = density.density_picture(replace(ratio(), column="Signup date year"), ["no", "yes"]).plot()
    (label,) = picture.figure.select({"type": Label})
    ends = 4 + 7.5 * len(label.text.text)
    words = 215 * (narrow["bar"]["middle"][0] - X[0]) / across - 7 * len(narrow["bar"]["words"][0]) / 2
    assert ends < words
    wide = density.density_picture(replace(ratio(), bandwidth=0.4 * across), ["no", "yes"])["bar"]
    assert wide["x1"][0] - wide["x0"][0] == pytest.approx(0.8 * across)
    assert wide["x1"][0] <= X[-1]


def test_levels_are_bars_or_marks():
    two = ColumnRatio("c", np.array([1.0, -0.5]), 2.0, levels=(HOSTILE, "b"))
    what = density.density_picture(two, ["no", "yes"])
    assert what["marks"]["y"].tolist() == [2.0, -1.0]
    assert what["marks"]["colour"].tolist() == [class_colours(2)[1], class_colours(2)[0]]
    assert what["marks"]["what"].tolist() == ["yes", "no"]
    assert what["lines"]["xs"] == []
    assert len(what["bar"]["x0"]) == len(what["rug"]["x"]) == 0
    three = ColumnRatio("c", np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]]), np.ones(3), levels=("a", "b"))
    marks = density.density_picture(three, ["p", "q", "r"])["marks"]
    assert marks["y"].tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 1.0]
    assert marks["x"] == pytest.approx([0.3, 0.5, 0.7, 1.3, 1.5, 1.7])
    picture = density.density_picture(two, ["no", "yes"]).plot()
    assert picture.figure.xaxis[0].formatter.args["words"][0] == HOSTILE[:13] + "…"


def test_of_many_levels_some_are_named_on_the_axis():
    many = ColumnRatio("c", np.arange(200.0), 1.0, levels=tuple(map(str, range(200))))
    axis = density.density_picture(many, ["no", "yes"]).plot().figure.xaxis[0]
    assert axis.ticker.ticks[:2] == [0.5, 5.5]
    assert len(axis.ticker.ticks) == 40


def test_names_of_columns_are_text():
    picture = density.density_picture(ratio(), ["no", "yes"]).plot()
    label = next(part for part in picture.figure.center if isinstance(part, Label))
    assert (type(label.text), label.text.text) == (PlainText, HOSTILE[:13] + "…")


def test_a_path_draws_a_line_a_column_and_a_dot_where_bandwidths_moved():
    what, losses = bandwidths.bandwidth_pictures(path())
    assert what["ratios"]["column"] == ["c0", "c1"]
    np.testing.assert_array_equal(what["ratios"]["ys"][1], path().ratios[:, 1])
    assert what["moved"]["x"].tolist() == [2.0, 2.0, 3.0, 3.0]
    assert sorted(what["names"]["words"]) == ["Silverman's = 1", "c0", "c1"]
    assert losses["losses"]["what"] == ["training", "test"]
    assert what.axes["y_axis_type"] == "log"
    assert what.y[0] < path().ratios.min()
    assert what.y[1] > 1
    assert losses.x == what.x  # one cursor stands in both


@pytest.mark.parametrize("dark", [False, True])
def test_columns_have_none_of_the_classes_colours(dark):
    drawn = bandwidths.bandwidth_pictures(path(columns=7), dark=dark)[0]["ratios"]["colour"]
    taken = {readable(colour, dark) for colour in class_colours(7)} | {*class_colours(7), *FAMILY_COLOURS.values()}
    assert len(set(drawn)) == 7
    assert not taken & set(drawn)
    ground = {False: "#ffffff", True: "#1b1c22"}[dark]
    assert all(contrast(colour, ground) >= MIN_TEXT_CONTRAST for colour in drawn)


def test_names_end_before_the_end_of_the_picture_whatever_their_length():
    what, _ = bandwidths.bandwidth_pictures(path(names=("temperature of the patient", "b")))
    words = next(glyph.glyph for glyph in what.plot().figure.renderers if isinstance(glyph.glyph, Text))
    assert words.text_align == "right"
    assert set(what["names"]["words"]) == {"temperature of the …", "b", "Silverman's = 1"}


def test_of_many_columns_those_that_moved_most_have_colours_and_names():
    what, _ = bandwidths.bandwidth_pictures(path(columns=12))
    assert what["ratios"]["colour"].count(GREY) == 5
    assert set(what["names"]["words"]) == {"Silverman's = 1", *(f"c{d}" for d in range(5, 12))}
    grey = [
        name for name, colour in zip(what["ratios"]["column"], what["ratios"]["colour"], strict=True) if colour == GREY
    ]
    assert grey == [f"c{d}" for d in range(5)]


def test_a_path_without_numeric_columns_or_losses_is_drawn():
    none = BandwidthPath(np.arange(3), (), np.empty((3, 0)), {"training": np.full(3, np.nan)}, np.zeros(3, bool))
    what, losses = bandwidths.bandwidth_pictures(none)
    assert what["names"]["words"] == []
    what.plot(), losses.plot()


def test_the_gram_matrix_is_warm_where_rows_are_alike():
    y = np.array([1, 0, 1])
    what = gram_pictures.gram_picture(gram((2.0 * y - 1)[None, None], y, ["no", "yes"]))
    pixels = what["image"]["image"][0].view(np.uint8).reshape(3, 3, 4)
    warm = [int(gram_pictures.ALIKE[k : k + 2], 16) for k in (1, 3, 5)]
    alike = (pixels[..., :3] == warm).all(axis=2)
    assert alike.tolist() == [[True, False, False], [False, True, True], [False, True, True]]
    assert (pixels[..., 3] == 255).all()
    assert what["borders"]["x0"] == [1.0, 0.0]
    assert what["borders"]["y1"] == [3.0, 1.0]


def test_the_gram_picture_names_the_classes_in_the_middle_of_their_rows():
    y = np.array([1, 0, 1])
    picture = gram_pictures.gram_picture(gram(np.ones((1, 1, 3)), y, [HOSTILE, "yes"])).plot()
    axis = picture.figure.xaxis[0]
    assert axis.ticker.ticks == [0.5, 2.0]
    assert axis.formatter.args["words"] == [HOSTILE[:13] + "…", "yes"]
    assert (picture.figure.y_range.start, picture.figure.y_range.end) == (3.0, 0.0)
