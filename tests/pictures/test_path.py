"""The pictures of a path: what is drawn, as data."""

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures import path as drawn
from alrviz.pictures.labels import VisibleArea
from alrviz.pictures.path import Named
from alrviz.views.core.live_figure import LiveFigure

ALPHAS = [100.0, 10.0, 1.0, 0.1]
PATHS = [Named("alr to AnJE", "alr", 0), Named("lr to 0", "lr", 1)]
BESIDE = [Named("AnJE", "anje", 2), Named("lr, no penalty", "lr", 3, "lr \N{GREEK SMALL LETTER ALPHA}=0")]


def lines(first=(0.5, 0.4, 0.45, 0.9), second=(0.8, 0.5, 0.5, 0.8), levels=(0.55, 7.0)):
    rows = []
    for racer, values in enumerate((first, second)):
        for alpha, value in zip(ALPHAS, values, strict=True):
            away = {f"away_{share}": (share - 50) / 100 / alpha for share in (0, 5, 25, 50, 75, 95, 100)}
            rows.append(
                {"racer": racer, "alpha": alpha, "log_loss": value, "train_log_loss": value / 2, "rmse": 0.1} | away
            )
    rows += [{"racer": 2, "alpha": np.nan, "log_loss": levels[0]}, {"racer": 3, "alpha": 0.0, "log_loss": levels[1]}]
    return pd.DataFrame(rows[::-1])


def contents(table=None, dark=False, width=drawn.WIDTH, **best):
    table = lines() if table is None else table
    best = {int(key[1:]): value for key, value in best.items()}
    return drawn.losses(table, PATHS, BESIDE, ALPHAS, "log_loss", best, dark=dark, width=width)


def test_lines_run_from_the_strongest_pull_and_a_ring_marks_the_best():
    what = contents(p0=10.0, p1=1.0)
    np.testing.assert_array_equal(what["heldout"][0]["x"], ALPHAS)
    np.testing.assert_array_equal(what["heldout"][0]["y"], [0.5, 0.4, 0.45, 0.9])
    np.testing.assert_array_equal(what["train"][1]["y"], [0.4, 0.25, 0.25, 0.4])
    assert (what["best"]["x"], what["best"]["y"]) == ([10.0, 1.0], [0.4, 0.5])


def test_what_is_far_outside_is_named_at_the_edge_with_an_arrow():
    what = contents(width=800)
    assert what["levels"]["y"] == [0.55]
    words = what["words"]["words"]
    assert words == ["alr to AnJE", "lr to 0", "lr, no penalty 7.000 ↑", "AnJE 0.550"]
    assert contents(width=396)["words"]["words"][2] == "lr \N{GREEK SMALL LETTER ALPHA}=0 7.000 ↑"
    assert what.y[0] < 0.2
    assert 0.9 < what.y[1] < 7
    assert what["words"]["y"][2] == what.y[1]


def test_names_do_not_cover_each_other():
    what = contents(lines(first=(0.5, 0.4, 0.45, 0.8), levels=(0.8, 0.8)))
    height = VisibleArea(0.0, 1.0, *what.y)
    at = sorted(height.pixel(0, y)[1] - dy for y, dy in zip(what["words"]["y"], what["words"]["dy"], strict=True))
    assert min(np.diff(at)) >= 18


def test_nothing_yet_is_a_picture_too_and_the_fit_looked_at_is_seen():
    empty = drawn.losses(pd.DataFrame(), PATHS, BESIDE, ALPHAS, "rmse", {})
    assert empty.y == (0.0, 1.0)
    plot = empty.plot()
    row = {"alpha": 3.0, "rmse": 1.5, "train_rmse": 0.5}
    heights = drawn.point_at(plot, 3.0, row, [row], "rmse", "#0072B2")
    assert plot.parts["head"].location == 3.0
    assert (plot["live"].data["train"], plot["live"].data["heldout"]) == ([0.5], [1.5])
    assert heights[1] > 1.5
    drawn.point_at(plot, 4.0, None, [], "rmse", "#0072B2")
    assert plot["live"].data["x"] == []


def test_references_alone_have_a_range():
    table = lines()
    what = drawn.losses(table[table.racer > 1], PATHS, BESIDE, ALPHAS, "log_loss", {})
    assert what.y[0] < 0.55
    assert what.y[1] > 7.0
    assert len(what["heldout"][0]["y"]) == 0


@pytest.mark.parametrize("dark", [False, True])
def test_what_comes_is_fed_to_the_figure_there_is(dark):
    live = LiveFigure("p")
    live.show(drawn.losses(pd.DataFrame(), PATHS, BESIDE, ALPHAS, "log_loss", {}, dark=dark))
    figure = live.plot.figure
    live.fit((0.0, 9.0))
    live.show(contents(p0=10.0, dark=dark))
    assert live.plot.figure is figure
    assert figure.y_range.end < 9.0, "what was there before the first loss does not hold the heights"
    np.testing.assert_array_equal(live.plot["heldout"][1].data["y"], [0.8, 0.5, 0.5, 0.8])
    assert live.plot["best"].data["x"] == [10.0]
    assert figure.x_range.start > 100 > 0.1 > figure.x_range.end, "alpha falls to the right"
    assert list(figure.xaxis[0].major_label_overrides.values()) == ["0.1", "1", "10", "100"]


def test_the_spread_of_the_weights_is_drawn_around_the_center():
    what = drawn.spread(lines(), 0, ALPHAS, "#0072B2")
    np.testing.assert_allclose(what["bands"]["away_95"], [0.0045, 0.045, 0.45, 4.5])
    low, high = what.y
    assert low == -high == pytest.approx(-8.1)
    live = LiveFigure("p")
    live.show(what)
    drawn.spread_at(live.plot, 1.0, {"away_5": -0.4, "away_95": 0.3})
    assert (live.plot["live"].data["low"], live.plot["live"].data["high"]) == ([-0.4], [0.3])
    live.show(drawn.spread(pd.DataFrame(), 0, ALPHAS, "#0072B2"))
    assert live.plot.figure.y_range.end == 1.8
