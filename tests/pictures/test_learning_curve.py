"""The picture of learning curves, as data: lines and bands, the zoom, the window, rings where orders cross."""

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures import learning_curve as pictures
from alrviz.studies.statistics.crossing import Crossing
from alrviz.views.core.live_figure import LiveFigure

RACERS = [("lr n=1", "lr"), ("lr n=2", "lr"), ("anje", "anje")]
SEEN = [1, 10, 100, 900, 1500, 4000]
CURVES = pd.DataFrame(
    [
        {"racer": k, "seen": seen, "error": error, "error_se": 0.01, "rmse2": error**2, "rmse2_se": 0.02, "orders": 3}
        for k, errors in enumerate(([1, 0.6, 0.5, 0.4, 0.4, 0.4], [0, 0.8, 0.6, 0.45, 0.3, 0.2]))
        for seen, error in zip(SEEN, errors, strict=True)
    ]
)
ASKED = {"measure": "error", "span": "all", "rows": 4000, "window": 1000}


def curve(**more):
    return pictures.learning_curve(CURVES, RACERS, **(ASKED | more))


def test_a_line_a_learner_with_a_band_of_a_standard_error_and_its_name_at_the_end():
    what = curve()
    np.testing.assert_array_equal(what["lines"][1]["x"], SEEN)
    np.testing.assert_allclose(what["lines"][1]["y"][-2:], [0.3, 0.2])
    np.testing.assert_allclose(what["lines"][0]["high"] - what["lines"][0]["low"], 0.02)
    assert len(what["lines"][2]["x"]) == 0, "not there yet"
    assert what["words"]["words"] == ["lr n=1", "lr n=2"]
    assert what["words"]["x"] == [4000.0, 4000.0]


def test_the_first_leaps_do_not_stretch_the_picture():
    low, high = curve().y
    assert 0.1 < low < 0.19
    assert 0.61 < high < 0.7


def test_the_zoom_ends_at_the_thousandth_row_and_the_window_with_what_is_shown():
    near, far = curve(span="first"), curve()
    assert near["lines"][0]["x"].max() == 900
    assert near.x[0] == 0.0
    assert near.x[1] > 1000
    assert [of.parts["window"]["left"] for of in (near, far)] == [1.0, 3000.0]
    few = pictures.learning_curve(CURVES, RACERS, **(ASKED | {"span": "first", "rows": 700}))
    assert few.parts["window"] == {
        "left": 1.0,
        "right": 700.0,
    }


def test_a_ring_stands_where_a_higher_order_goes_ahead():
    crossed = [Crossing("lr n=1", "lr n=2", 1, 1500), Crossing("lr n=2", "lr n=3", 0, None)]
    rings = curve(crossed=crossed)["rings"]
    assert (rings["x"], rings["y"]) == ([1500.0], [0.3])
    assert rings["words"] == ["lr n=2 stays below lr n=1 from 1,500 rows on"]
    assert curve(span="first", crossed=crossed)["rings"]["x"] == [], "beyond the zoom"
    start = [Crossing("lr n=1", "lr n=2", 1, 100, from_start=True)]
    assert curve(crossed=start)["rings"]["x"] == []


@pytest.mark.parametrize(
    ("crossing", "words"),
    [
        (Crossing("a", "b", 1, 1500), "b stays below a from 1,500 rows on"),
        (Crossing("a", "b", 1, 20, from_start=True), "b stays below a from the start"),
        (
            Crossing("a", "b", 1, 50, slight=True),
            "b stays below a from 50 rows on, at the end by less than a standard error",
        ),
        (Crossing("a", "b", 1, None), "b is not below a after 4,000 rows"),
    ],
)
def test_a_crossing_in_words(crossing, words):
    assert pictures.crossing_text(crossing, 4000) == words


def test_rmse_is_the_root_of_the_mean_and_its_error_follows_from_it():
    table = pictures.measured(CURVES)
    np.testing.assert_allclose(table.rmse, CURVES.error)
    later = table[table.error > 0]
    np.testing.assert_allclose(later.rmse_se, 0.01 / later.error)
    assert pictures.measured(pd.DataFrame()).empty


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("span", ["all", "first"])
def test_what_comes_is_fed_to_the_figure_there_is(dark, span):
    nothing = pictures.learning_curve(pd.DataFrame(), RACERS, **(ASKED | {"span": span}))
    assert nothing.y == (0.0, 1.0)
    live = LiveFigure("p")
    live.show(nothing)
    figure, what = live.plot.figure, curve(span=span)
    live.show(what)
    assert live.plot.figure is figure
    np.testing.assert_array_equal(live.plot["lines"][0].data["y"], what["lines"][0]["y"])
    assert (figure.y_range.start, figure.y_range.end) == what.y
    assert live.plot["words"].data["words"] == ["lr n=1", "lr n=2"]
    assert live.plot.parts["window"].right == (4000 if span == "all" else 1000)
