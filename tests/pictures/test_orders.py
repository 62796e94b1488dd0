"""The pictures of the study of orders, as data: folds, means and their errors, costs, the reliability curve."""

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures import orders
from alrviz.pictures.evaluation import reliability
from alrviz.pictures.picture import Plot
from alrviz.views.core.live_figure import LiveFigure


def rows(losses):
    """A study's frame from losses[order][fold]; None failed."""
    return pd.DataFrame(
        [
            {
                "order": order,
                "repeat": 0,
                "fold": fold,
                "log_loss": value,
                "outcome": "failed" if value is None else "ok",
            }
            for order, values in losses.items()
            for fold, value in enumerate(values)
        ]
    )


def lines(means, errors=(0.1, 0.01, 0.02)):
    found = {"order": range(len(means)), "log_loss": means, "se": errors[: len(means)]}
    return pd.DataFrame(found | {"parameters": [2.0, 40.0, 900.0][: len(means)], "train_seconds": 0.02, "folds": 2})


def made(rows, lines, chosen=None, absent=None, **more):
    return orders.orders(rows, lines, [0, 1, 2], "alr", chosen, absent, **more)


def test_a_line_a_fold_and_the_means_with_their_errors_over_them():
    what = made(rows({0: [0.7, 0.6], 1: [0.4, 0.5], 2: [0.45, 0.55]}), lines([0.65, 0.45, 0.5]), 1)
    assert what["losses"]["folds"]["fold"] == ["1.1", "1.2"]
    np.testing.assert_array_equal(what["losses"]["folds"]["ys"][1], [0.6, 0.5, 0.55])
    np.testing.assert_array_equal(what["losses"]["means"]["y"], [0.65, 0.45, 0.5])
    np.testing.assert_allclose(what["losses"]["means"]["high"] - what["losses"]["means"]["low"], [0.2, 0.02, 0.04])
    assert what["losses"]["means"]["words"] == ["0.650", "0.450", "0.500"]
    assert (what["losses"]["chosen"]["x"].tolist(), what["losses"]["chosen"]["y"].tolist()) == ([1.0], [0.45])
    low, high = what["losses"].y
    assert low < 0.4
    assert high > 0.75


def test_numbers_stand_out_of_the_lines_way():
    what = made(pd.DataFrame(), lines([0.65, 0.45, 0.5]))
    assert what["losses"]["means"]["align"] == ["left", "center", "right"]
    assert what["losses"]["means"]["dy"][1] > 0 > what["losses"]["means"]["dy"][0], "below the lowest, above the others"


def test_a_fold_that_has_not_all_orders_yet_is_drawn_as_far_as_it_is_and_a_failed_fit_is_not():
    what = made(rows({0: [0.7, 0.6], 1: [0.4], 2: [None]}), pd.DataFrame(), absent={2: "failed"})
    assert [len(part) for part in what["losses"]["folds"]["ys"]] == [2, 1]
    assert len(what["losses"]["means"]["x"]) == 0
    assert (what["losses"]["absent"]["x"], what["losses"]["absent"]["words"]) == ([2.0], ["failed"])


def test_costs_have_log_axes_that_end_at_powers_of_ten():
    what = made(pd.DataFrame(), lines([0.65, 0.45, 0.5]))
    assert what["parameters"]["points"]["words"] == ["2", "40", "900"]
    assert what["train_seconds"]["points"]["words"] == ["20 ms"] * 3
    assert what["parameters"].y == (1.0, 10_000.0)
    assert orders.power_ticks(1.0, 100.0) == [1.0, 10.0, 100.0]
    assert len(orders.power_ticks(1e-3, 1e9)) <= 5


def test_what_hardly_differs_does_not_fill_the_picture():
    low, high = made(pd.DataFrame(), lines([0.693, 0.693 - 1e-15], (1e-16, 1e-16)))["losses"].y
    assert high - low > 0.02


def test_nothing_yet_is_a_picture_too():
    what = orders.orders(pd.DataFrame(), pd.DataFrame(), [0, 1, 2, 3], "lr")
    assert what["losses"].plot().figure.xaxis[0].major_label_overrides == {
        0: "n = 0",
        1: "n = 1",
        2: "n = 2",
        3: "n = 3",
    }
    assert what["losses"].y == (0.0, 1.0)


@pytest.mark.parametrize("dark", [False, True])
def test_what_comes_is_fed_to_the_figures_there_are(dark):
    live = {part: LiveFigure("p") for part in ("losses", "parameters")}
    for part, picture in live.items():
        picture.show(made(pd.DataFrame(), pd.DataFrame(), dark=dark)[part])
    figures = {part: picture.plot.figure for part, picture in live.items()}
    for part, picture in live.items():
        picture.show(made(rows({0: [0.7, 0.6], 1: [0.4, 0.5]}), lines([0.65, 0.45]), 1, dark=dark)[part])
        assert picture.plot.figure is figures[part]
    np.testing.assert_array_equal(live["losses"].plot["means"].data["y"], [0.65, 0.45])
    assert figures["losses"].y_range.start < 0.4
    assert figures["parameters"].yaxis[0].ticker.ticks == [1.0, 10.0, 100.0, 1000.0]


def table(confidence, accuracy):
    count = len(confidence)
    return pd.DataFrame(
        {"rows": [9] * count, "confidence": confidence, "accuracy": accuracy, "standard_error": [0.1] * count}
    )


def test_reliability_marks_one_line_and_its_errors():
    colours, live = {"n = 1": "#D55E00", "n = 2": "#0072B2"}, LiveFigure("r")
    live.show(reliability({}, colours))
    plot = live.plot
    assert not plot.figure.legend.visible  # words without a line
    tables = {"n = 1": table([0.5, 0.95], [0.4, 0.95]), "n = 2": table([0.7], [0.6])}
    live.show(reliability(tables, colours, "n = 1"))
    assert live.plot is plot
    assert plot.figure.legend.visible
    np.testing.assert_array_equal(plot["lines"][1].data["y"], [0.6])
    np.testing.assert_allclose(plot["bars"].data["low"], [0.3, 0.85])
    np.testing.assert_allclose(plot["bars"].data["high"], [0.5, 1.0])  # a share is at most 1
    assert [part.muted for part in plot.parts["lines"]] == [part.muted for part in plot.parts["dots"]] == [False, True]
    faint = plot.parts["lines"][1]
    assert faint.muted_glyph.line_alpha < faint.glyph.line_alpha == 1.0
    assert plot.figure.x_range.start == pytest.approx(0.4)
    for left, chosen in (({}, ""), ({"class shares": table([0.5], [0.5])}, "class shares")):
        live.show(reliability(left, colours, chosen))
        assert len(plot["bars"].data["x"]) == 0, "bars without a line"
        assert not plot.figure.legend.visible


@pytest.mark.parametrize(("level", "align"), [(0.5, "left"), (0.64, "right")])
def test_a_rivals_words_stand_at_the_end_that_is_farther_from_a_number(level, align):
    what = made(pd.DataFrame(), lines([0.65, 0.45, 0.5]), reference=("boosting", level))
    assert what["losses"]["reference"]["align"] == [align]


def test_the_model_that_chooses_its_order_has_a_place_beside_the_orders():
    own = {"log_loss": 0.3, "se": 0.1, "parameters": 70.0, "train_seconds": 3.0}
    what = made(pd.DataFrame(), lines([0.65, 0.45, 0.5]), automatic=own)
    alone = {name: value[0] for name, value in what["losses"]["automatic"].items()}
    assert alone == {"x": 3, "y": 0.3, "low": pytest.approx(0.2), "high": 0.4, "error": 0.1, "words": "0.300"}
    assert what["losses"].x[1] > 3
    assert what["losses"].y[0] < 0.2
    assert (what["parameters"]["automatic"]["words"], what["train_seconds"]["automatic"]["words"]) == (
        ["70"],
        ["3 s"],
    )
    assert "Auto" in Plot(what["losses"], "x").figure.xaxis[0].major_label_overrides.values()
    without = made(pd.DataFrame(), lines([0.65, 0.45, 0.5]))
    assert without["losses"].x[1] < 3
    assert without["losses"].key != what["losses"].key


@pytest.mark.parametrize(("lowest", "is_log"), [(0.0003, True), (0.2, False), (0.0, False)])
def test_losses_that_differ_by_decades_have_a_log_axis(lowest, is_log):
    picture = made(rows({0: [0.7, 0.7], 1: [0.5, 0.5], 2: [lowest] * 2}), lines([0.7, 0.5, lowest]))["losses"]
    assert (picture.axes.get("y_axis_type") == "log") == is_log
    low, high = picture.y
    assert (0 < low < lowest) if is_log else low >= -0.2 * high, "no loss is below 0"
    assert high > 0.7
