"""The pictures of the study of orders, as data: folds, means and their errors, costs, the reliability curve."""

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures import orders, reliability


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


def test_a_line_a_fold_and_the_means_with_their_errors_over_them():
    what = orders.contents(rows({0: [0.7, 0.6], 1: [0.4, 0.5], 2: [0.45, 0.55]}), lines([0.65, 0.45, 0.5]), 1)
    assert what.folds["fold"] == ["1.1", "1.2"]
    np.testing.assert_array_equal(what.folds["ys"][1], [0.6, 0.5, 0.55])
    np.testing.assert_array_equal(what.means["y"], [0.65, 0.45, 0.5])
    np.testing.assert_allclose(what.means["high"] - what.means["low"], [0.2, 0.02, 0.04])
    assert what.means["words"] == [".650", ".450", ".500"]
    assert (what.chosen["x"].tolist(), what.chosen["y"].tolist()) == ([1.0], [0.45])
    low, high = what.losses
    assert low < 0.4
    assert high > 0.75


def test_numbers_stand_out_of_the_lines_way():
    what = orders.contents(pd.DataFrame(), lines([0.65, 0.45, 0.5]))
    assert what.means["align"] == ["left", "center", "right"]
    assert what.means["dy"][1] > 0 > what.means["dy"][0], "below the lowest, above the others"


def test_a_fold_that_has_not_all_orders_yet_is_drawn_as_far_as_it_is_and_a_failed_fit_is_not():
    what = orders.contents(rows({0: [0.7, 0.6], 1: [0.4], 2: [None]}), pd.DataFrame(), absent={2: "failed"})
    assert [len(part) for part in what.folds["ys"]] == [2, 1]
    assert len(what.means["x"]) == 0
    assert (what.absent["x"], what.absent["words"]) == ([2.0], ["failed"])


def test_costs_have_log_axes_that_end_at_powers_of_ten():
    what = orders.contents(pd.DataFrame(), lines([0.65, 0.45, 0.5]))
    assert what.costs["parameters"]["words"] == ["2", "40", "900"]
    assert what.costs["train_seconds"]["words"] == ["20 ms"] * 3
    assert what.ranges["parameters"] == (1.0, 10_000.0)
    assert orders.power_ticks(1.0, 100.0) == [1.0, 10.0, 100.0]
    assert len(orders.power_ticks(1e-3, 1e9)) <= 5


def test_what_hardly_differs_does_not_fill_the_picture():
    low, high = orders.contents(pd.DataFrame(), lines([0.693, 0.693 - 1e-15], (1e-16, 1e-16))).losses
    assert high - low > 0.02


def test_nothing_yet_is_a_picture_too():
    what = orders.contents(pd.DataFrame(), pd.DataFrame())
    picture = orders.orders_picture(what, [0, 1, 2, 3], "lr", "p")
    assert picture.losses.xaxis[0].major_label_overrides == {0: "class prior", 1: "n = 1", 2: "n = 2", 3: "n = 3"}
    assert what.losses == (0.0, 1.0)


@pytest.mark.parametrize("dark", [False, True])
def test_what_comes_is_fed_to_the_figures_there_are(dark):
    picture = orders.orders_picture(orders.contents(pd.DataFrame(), pd.DataFrame()), [0, 1, 2], "alr", "p", dark=dark)
    assert [fig.name for fig in (picture.losses, *picture.costs.values())] == ["p", "p-parameters", "p-seconds"]
    orders.feed(picture, orders.contents(rows({0: [0.7, 0.6], 1: [0.4, 0.5]}), lines([0.65, 0.45]), 1))
    np.testing.assert_array_equal(picture.means.data["y"], [0.65, 0.45])
    assert picture.losses.y_range.start < 0.4
    assert picture.costs["parameters"].yaxis[0].ticker.ticks == [1.0, 10.0, 100.0, 1000.0]


def table(confidence, accuracy):
    count = len(confidence)
    return pd.DataFrame(
        {"rows": [9] * count, "confidence": confidence, "accuracy": accuracy, "standard_error": [0.1] * count}
    )


def test_reliability_marks_one_line_and_its_errors():
    picture = reliability.reliability_picture({"n = 1": "#D55E00", "n = 2": "#0072B2"}, "r")
    assert not picture.figure.legend.visible  # words without a line
    tables = {"n = 1": table([0.5, 0.95], [0.4, 0.95]), "n = 2": table([0.7], [0.6])}
    reliability.feed(picture, tables, "n = 1")
    assert picture.figure.legend.visible
    np.testing.assert_array_equal(picture.lines["n = 2"].data["y"], [0.6])
    np.testing.assert_allclose(picture.bars.data["low"], [0.3, 0.85])
    np.testing.assert_allclose(picture.bars.data["high"], [0.5, 1.0])  # a share is at most 1
    faint = {name: [part.muted for part in parts] for name, parts in picture.glyphs.items()}
    assert faint == {"n = 1": [False, False], "n = 2": [True, True]}
    assert picture.glyphs["n = 2"][0].muted_glyph.line_alpha < picture.glyphs["n = 2"][0].glyph.line_alpha == 1.0
    assert picture.figure.x_range.start == pytest.approx(0.4)
    for left, chosen in (({}, ""), ({"class prior": table([0.5], [0.5])}, "class prior")):
        reliability.feed(picture, left, chosen)
        assert len(picture.bars.data["x"]) == 0, "bars without a line"
        assert not picture.figure.legend.visible
