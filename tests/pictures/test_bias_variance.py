"""The pictures of bias and variance, as data: lines along a setting, levels of what has none, one span for all."""

import numpy as np
import pandas as pd
import pytest
from bokeh.models.glyphs import Line

from alrviz.fitting.recipe import Recipe
from alrviz.pictures import bias_variance as pictures
from alrviz.pictures.labels import legend_rows
from alrviz.views.core.live_figure import LiveFigure


def line(racer, label, name, order, alpha, bias, variance, share=1.0, **more):
    """A line of the summary; error follows."""
    of = {"error": bias + variance, "bias": bias, "variance": variance}
    of |= {"bias_domingos": bias / 2, "net_variance_domingos": variance + bias / 2}
    of |= {f"{part}_se": 0.01 for part in tuple(of)}
    about = {"racer": racer, "label": label, "name": name, "order": order, "alpha": alpha, "train_share": share}
    return about | {"rounds": 5} | of | more


ORDERS = pd.DataFrame(
    [
        line(0, "lr", "lr n=1", 1, 0.0, 0.30, 0.02),
        line(1, "lr", "lr n=2", 2, 0.0, 0.10, 0.08),
        line(2, "alr", "alr n=1", 1, 0.0, 0.28, 0.03),
        line(3, "alr", "alr n=2", 2, 0.0, 0.12, 0.05),
        line(4, "rf", "rf", None, None, 0.20, 0.04),
    ]
)


def test_a_line_is_a_family_along_the_orders_and_what_has_no_order_is_a_level():
    what = pictures.bias_variance(ORDERS, "order", "plug-in")
    assert what["bias"].key[0] == ("lr", "alr", "rf")
    assert what["bias"].key[1] == ("lr", "alr", "rf")
    glyphs = [renderer.glyph for renderer in what["bias"].plot().figure.renderers]
    assert [bool(glyph.line_dash) for glyph in glyphs if isinstance(glyph, Line)] == [False, False, True]
    assert what["bias"].key[2] == ("1", "2")
    np.testing.assert_allclose(what["bias"]["lines"][0]["y"], [0.30, 0.10])
    np.testing.assert_allclose(what["variance"]["lines"][1]["y"], [0.03, 0.05])
    np.testing.assert_allclose(what["error"]["lines"][2]["y"], [0.24, 0.24])
    np.testing.assert_allclose(what["error"]["lines"][0]["high"] - what["error"]["lines"][0]["low"], 0.02)
    assert list(what["bias"]["lines"][0]["name"]) == ["lr n=1", "lr n=2"]


def test_naive_bayes_begins_the_line_of_anje():
    table = pd.DataFrame([line(0, "nb", "nb", 1, None, 0.3, 0.1), line(1, "anje", "anje", 2, None, 0.2, 0.1)])
    assert pictures.bias_variance(table[:1], "order", "plug-in")["bias"].key[0] == ("nb",)
    what = pictures.bias_variance(table, "order", "plug-in")
    assert what["bias"].key[0] == ("anje",)
    np.testing.assert_allclose(what["bias"]["lines"][0]["y"], [0.3, 0.2])


def test_bias_and_variance_drawn_add_up_to_the_error_by_every_definition_there_is():
    for kind in ("plug-in", "Domingos"):
        lines = {part: what["lines"] for part, what in pictures.bias_variance(ORDERS, "order", kind).items()}
        for bias, variance, error in zip(lines["bias"], lines["variance"], lines["error"], strict=True):
            np.testing.assert_allclose(bias["y"] + variance["y"], error["y"], atol=1e-15)
    assert lines["bias"][0]["y"][0] == pytest.approx(0.15), "Domingos's own column"


def test_all_three_axes_span_equally_much():
    ranges = {part: what.y for part, what in pictures.bias_variance(ORDERS, "order", "plug-in").items()}
    spans = [high - low for low, high in ranges.values()]
    np.testing.assert_allclose(spans, spans[0])
    assert spans[0] > 0.2
    assert ranges["variance"][0] == pytest.approx(-0.04 * spans[0]), "no room below 0 for what cannot be negative"
    low, high = ranges["bias"]
    assert low < 0.09
    assert high > 0.31


def test_alpha_is_an_axis_with_words_after_numbers_and_its_word_leaves_the_names():
    table = pd.DataFrame(
        [
            line(0, "lr", "lr n=1 alpha by inner folds", 1, "cv", 0.1, 0.1),
            line(1, "lr", "lr n=1 alpha 10", 1, 10.0, 0.2, 0.1),
            line(2, "lr", "lr n=1 alpha 0.1", 1, 0.1, 0.3, 0.1),
            line(3, "lr", "lr n=2 alpha 0.1", 2, 0.1, 0.4, 0.1),
        ]
    )
    what = pictures.bias_variance(table, "alpha", "plug-in")
    assert what["bias"].key[0] == ("lr n=1", "lr n=2")
    assert what["bias"].key[2] == ("0.1", "10", "cv")
    np.testing.assert_allclose(what["bias"]["lines"][0]["y"], [0.3, 0.2, 0.1])
    assert pictures.varying(table) == ["order", "alpha"]


def test_what_differs_between_lines_alone_is_no_axis():
    table = ORDERS.assign(alpha=[0.3, 0.3, 1.0, 1.0, None])  # each family's own
    assert pictures.varying(table) == ["order"]
    assert pictures.varying(table[:0]) == []


def test_training_size_is_an_axis_and_elsewhere_the_largest_is_shown():
    table = pd.concat([ORDERS, ORDERS.assign(train_share=0.1, bias=0.5)], ignore_index=True)
    what = pictures.bias_variance(table, "train_share", "plug-in")
    assert what["bias"].key[2] == ("10 %", "100 %")
    assert what["bias"].key[0] == tuple(ORDERS.name)
    np.testing.assert_allclose(what["bias"]["lines"][0]["y"], [0.5, 0.3])
    whole = pictures.bias_variance(table, "order", "plug-in")
    np.testing.assert_allclose(whole["bias"]["lines"][0]["y"], [0.3, 0.1])
    assert whole["error"].labels[0] == "order n, all training rows"


def test_while_the_largest_training_size_has_no_figures_the_next_one_is_shown_and_named():
    table = pd.concat([ORDERS.assign(train_share=0.1), ORDERS.assign(error=np.nan, bias=np.nan)], ignore_index=True)
    what = pictures.bias_variance(table, "order", "plug-in")
    np.testing.assert_allclose(what["bias"]["lines"][0]["y"], [0.3, 0.1])
    assert what["error"].labels[0] == "order n, 10 % of the training rows"
    live = LiveFigure("p")
    live.show(what["error"])
    figure = live.plot.figure
    full = pd.concat([ORDERS.assign(train_share=0.1), ORDERS], ignore_index=True)
    live.show(pictures.bias_variance(full, "order", "plug-in")["error"])
    assert live.plot.figure is figure
    assert figure.xaxis[0].axis_label == "order n, all training rows"


def test_what_is_not_there_yet_is_not_drawn_and_has_its_line_all_the_same():
    empty = ORDERS.assign(**dict.fromkeys(("bias", "variance", "error"), np.nan), rounds=0)
    what = pictures.bias_variance(empty, "order", "plug-in")
    assert what["bias"].key[0] == ("lr", "alr", "rf")
    assert all(len(line["x"]) == 0 for part in what.values() for line in part["lines"])
    assert what["bias"].y == pytest.approx((0, 0.1))


@pytest.mark.parametrize("dark", [False, True])
def test_what_comes_is_fed_to_the_figures_there_are(dark):
    empty = ORDERS.assign(**dict.fromkeys(("bias", "variance", "error"), np.nan), rounds=0)
    start = pictures.bias_variance(empty, "order", "plug-in", dark=dark)
    live = LiveFigure("p")
    live.show(start["bias"])
    figure = live.plot.figure
    live.show(pictures.bias_variance(ORDERS, "order", "plug-in", dark=dark)["bias"])
    assert live.plot.figure is figure
    np.testing.assert_allclose(live.plot["lines"][0].data["y"], [0.30, 0.10])
    assert figure.y_range.end > 0.3
    assert figure.xaxis[0].major_label_overrides == {0: "1", 1: "2"}


def test_a_legend_has_as_many_rows_as_its_words_need():
    assert legend_rows(["lr", "alr"], pictures.LEGEND_WIDTH_PX) == 1
    assert legend_rows([f"alr n={n} alpha 0.01" for n in range(10)], pictures.LEGEND_WIDTH_PX) == 10


def test_many_lines_do_not_reach_the_next_value_of_the_axis():
    table = pd.concat([ORDERS[:2].assign(name=f"lr #{k}", label="lr") for k in range(20)], ignore_index=True)
    x = np.concatenate([line["x"] for line in pictures.bias_variance(table, "order", "plug-in")["bias"]["lines"]])
    assert np.abs(x - x.round()).max() < 0.2


def test_an_alpha_for_each_order_and_words_stand_behind_the_numbers():
    rows = [
        line(0, "hlr", "hlr n=2 alpha 0.2", 2, 0.2, 0.2, 0.02),
        line(1, "hlr", "hlr n=2 alpha 0.1, 1", 2, (0.1, 1.0), 0.1, 0.03),
        line(2, "hlr", "hlr n=2 automatic alpha", 2, "auto", 0.1, 0.02),
        line(3, "hlr", "hlr n=2 alpha by inner folds", 2, "cv", 0.1, 0.02),
    ]
    what = pictures.bias_variance(pd.DataFrame(rows), "alpha", "plug-in")["error"]
    assert what.key[2] == ("0.2", "0.1, 1", "auto", "cv")
    assert what.key[0] == ("hlr n=2",)
    assert pictures.varying(pd.DataFrame(rows)) == ["alpha"]


def test_models_that_share_a_line_share_its_look():
    recipes = [Recipe(family, order=order, alpha=1.0) for family in ("lr", "alr") for order in (1, 2)]
    looks = pictures.line_looks(recipes, dark=False)
    assert looks[0] == looks[1] != looks[2] == looks[3]
    (only_look,) = pictures.line_looks([Recipe("tan")], dark=False)
    assert only_look
    by_alpha = [Recipe("lr", order=2, alpha=alpha) for alpha in (0.1, 1.0)]
    assert len(set(pictures.line_looks(by_alpha, dark=False))) == 1
