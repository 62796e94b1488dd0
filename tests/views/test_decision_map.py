"""DecisionMapView without a browser: what is shown after what was asked, and what a press means."""

import numpy as np
import pandas as pd
import pytest
from bokeh.events import DoubleTap, PanEnd, PanStart, PressUp, Tap
from bokeh.models import HoverTool, PointDrawTool
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import alrviz
from tests.conftest import wait_until


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "u": rng.normal(size=120),
            "colour": pd.Categorical(rng.choice(["red", "blue"], 120)),
            "v": rng.normal(size=120),
            "w": rng.normal(size=120),
        }
    )
    return X, np.where(X["u"] + X["v"] + (X["colour"] == "red") > 0, "yes", "no")


@pytest.fixture(scope="module")
def model(table):
    return alrviz.LRClassifier(order=1, alpha=1.0).fit(*table)


class Raises:
    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        raise ValueError("<b>cannot</b>")

    predict = predict_proba


def view_of(*args, **params):
    return alrviz.DecisionMapView(*args, wake=lambda: None, **params)


def settle(view):
    """Pump until the finest map is there."""
    wait_until(lambda: not view.pump(), 90, "the finest map", every=0.005)
    return view


def press(view, x, y, kind=Tap, sx=0):
    figure = view.picture.pane.object
    figure._trigger_event(kind(figure, x=x, y=y, sx=sx, sy=0))


def test_the_map_comes_and_becomes_fine(table, model):
    woken = []
    view = alrviz.DecisionMapView(model, *table, wake=lambda: woken.append(1))
    assert woken
    assert view.busy
    settle(view)
    assert (view.across, view.up) == ("u", "v")
    assert view.surface.is_last
    assert view.picture.pane.object.name.startswith("alrviz-map-")
    assert "2 other columns held at typical values" in view.words
    assert "120 rows shown" in view.words


def test_a_changed_model_replaces_data_and_not_the_figure(table, model):
    view = settle(view_of(model, *table))
    figure, before = view.picture.pane.object, view.surface.values
    view.set_model(alrviz.LRClassifier(order=1, alpha=100.0).fit(*table))
    assert view.picture.pane.object is figure
    settle(view)
    assert view.picture.pane.object is figure
    assert np.abs(view.surface.values - before).max() > 0.01
    np.testing.assert_array_equal(view.picture.plot["ground"].data["value"][0], view.surface.values[..., 1])


def test_of_the_points_only_changed_predictions_are_sent(table, model):
    X, y = table
    view = settle(view_of(model, X, y))
    source, sent = view.picture.plot["points"], []
    source.on_change("data", lambda attr, old, new: sent.append(attr))
    before = view.picture.plot["points"].data
    view.set_model(LogisticRegressionLike(model))
    settle(view)
    assert sent == []
    other = alrviz.LRClassifier(order=1, alpha=100.0).fit(X, np.roll(y, 7))
    view.set_model(other)
    settle(view)
    assert source.data is before  # patched
    colours = dict(zip(source.data["predicted"], source.data["fill"], strict=True))
    assert list(source.data["predicted"]) == list(other.predict(X))
    assert list(source.data["fill"]) == [colours[name] for name in other.predict(X)]


def test_points_that_move_leave_the_axes_alone(table, model):
    X, y = table
    view = settle(view_of(model, X, y))
    figure, low = view.picture.pane.object, view.surface.across.low
    moved = X.copy()
    moved.loc[5, "u"] = float(X["u"].median())
    view.watch(model, moved, y)
    settle(view)
    assert view.picture.pane.object is figure
    assert view.surface.across.low == low
    assert view.picture.plot["points"].data["x"][5] == X["u"].median()
    more = pd.concat([moved, moved.iloc[:1]], ignore_index=True)
    settle(view)
    view.watch(model, more, [*y, y[0]])
    settle(view)
    assert "121 rows shown" in view.words


def test_a_class_more_is_named_in_the_same_figure(table):
    """A hand that draws a point of a new class goes on pressing: a figure in its place would not hear it."""
    X, y = table[0][["u", "v"]], table[1].astype(object)
    view = settle(view_of(LogisticRegression().fit(X, y), X, y))
    figure = view.picture.pane.object
    for last in ("zebra", "yes"):  # it comes, and goes again
        y[:3] = last
        view.watch(LogisticRegression().fit(X, y), X.copy(), y)
        settle(view)
        classes = sorted(set(y))
        assert view.picture.pane.object is figure
        assert [item.label.value for item in figure.above[0].items] == [*classes, "boundary"]
        marks = [item.renderers[0].glyph for item in figure.above[0].items[:-1]]
        points = view.picture.plot["points"].data
        assert {m.line_color for m in marks} == set(points["outline"])
        assert {m.marker for m in marks} == set(points["marker"])
        ground = next(tool for tool in figure.tools if isinstance(tool, HoverTool) and len(tool.tooltips) == 4)
        assert ground.formatters["@winner"].args == {"names": classes}
        assert (ground.tooltips[-1][0], figure.above[0].title) == (
            ("p", "Background: P(predicted class)")
            if last == "zebra"
            else ("p(yes)", "Background: P(yes)")
        )  # fmt: skip


def test_another_kind_of_axis_is_another_figure(table, model):
    view = settle(view_of(model, *table))
    figure = view.picture.pane.object
    view.up = "colour"
    settle(view)
    assert view.picture.pane.object is not figure
    assert view.surface.up.levels == ("blue", "red")
    assert (view.picture.pane.object.y_range.start, view.picture.pane.object.y_range.end) == (0.0, 2.0)


def test_a_smaller_table_has_the_last_row_where_a_later_one_was_chosen(table, model):
    view = view_of(model, *table, row=100)
    view.watch(model, table[0][:20], table[1][:20])
    assert view.row == 19


def test_a_column_chosen_for_both_axes_changes_places(table, model):
    view = settle(view_of(model, *table))
    view.across = "v"
    settle(view)
    assert (view.across, view.up) == ("v", "u")
    assert [menu.value for menu in view.menus.axes] == ["v", "u"]
    assert (view.surface.across.name, view.surface.up.name) == ("v", "u")


def test_the_menus_turn_the_map(table, model):
    view = settle(view_of(model, *table))
    view.menus.axes[1].value = "w"
    view.menus.others.value = "row"
    view.menus.row.value = 7
    settle(view)
    assert (view.up, view.others, view.row) == ("w", "row", 7)
    assert "held at the values of row 7" in view.words
    assert view.menus.row.visible
    view.menus.others.value = "mean"
    settle(view)
    assert not view.menus.row.visible
    assert "averaged over rows" in view.words


def test_what_has_no_effect_is_hidden(table):
    X, y = table
    model = LogisticRegression().fit(X[["u", "v"]], y)
    view = settle(view_of(model, X[["u", "v"]], y))
    assert not view.menus.others.visible
    assert "other column" not in view.words


def test_scores_are_labelled(table):
    X, y = table[0][["u", "v"]], table[1]
    view = settle(view_of(LinearSVC().fit(X, y), X, y))
    assert "not a probability" in view.picture.pane.object.above[0].title
    figure = view.picture.pane.object
    view.set_model(LogisticRegression().fit(X, y))
    settle(view)
    assert view.picture.pane.object is not figure
    assert "P(yes)" in view.picture.pane.object.above[0].title


def test_a_class_that_never_wins_is_named_and_escaped(table):
    X, _ = table
    y = np.array(["<i>x</i>", *(["no", "yes"] * 60)[1:]])
    view = settle(view_of(alrviz.LRClassifier(order=1, alpha=10.0).fit(X, y), X, y))
    assert "Never wins on this map: &lt;i&gt;x&lt;/i&gt; (its highest probability here is 0." in view.words


def test_scales_along_which_nothing_changes_are_named(table, model):
    X, y = table

    class Constant(Raises):
        def predict_proba(self, X):
            return np.tile([0.7, 0.3], (len(X), 1))

        def predict(self, X):
            return np.full(len(X), "no")

    words = settle(view_of(Constant(), X, y, across="u", up="v")).words
    assert "all along u and v: " in words
    assert "no cut was found" in words
    assert "no cut was found" not in settle(view_of(model, X, y, across="u", up="v")).words


def test_no_model_and_no_map(table, model):
    view = view_of()
    assert "No model yet" in view.words
    assert not view.pump()
    view.watch(model, *table)
    settle(view)
    assert view.picture.pane.object is not None
    view.set_model(None)
    assert view.picture.pane.object is None
    assert "No model yet" in view.words


def test_a_model_that_raises_is_told_in_words(table, model):
    view = settle(view_of(Raises(), *table))
    assert "No map: ValueError: &lt;b&gt;cannot&lt;/b&gt;" in view.words
    assert view.picture.pane.object is None
    view.set_model(model)
    settle(view)
    assert view.surface is not None
    assert "No map" not in view.words


def test_one_column_is_told_in_words():
    X = np.arange(6.0)[:, None]
    view = settle(view_of(LogisticRegression().fit(X, [0, 0, 0, 1, 1, 1]), X))
    assert "two columns and some rows, got 1" in view.words


def test_outdated_is_seen(table, model):
    view = settle(view_of(model, *table, title="lr & co"))
    assert "lr &amp; co" in view.heading.object
    view.outdated = True
    assert "outdated" in view.heading.object
    assert view._fading_part.styles == {"opacity": "0.45"}
    view.outdated = False
    assert view._fading_part.styles == {"opacity": "1"}


def test_a_press_adds_or_removes(table, model):
    added, removed = [], []
    view = view_of(model, *table, up="colour", on_add=lambda *at: added.append(at), on_remove=removed.append)
    settle(view)
    press(view, 0.25, 1.5)
    assert (added, removed) == ([], [])
    view.drawing = "add"
    press(view, 0.25, 1.5)
    assert added == [(0.25, "red")]
    view.drawing = "remove"
    points = view.surface.points
    press(view, points.x[17] + 1e-4, points.y[17])
    assert removed == [17]
    press(view, 1e3, 1e3)
    assert removed == [17]


def test_quick_long_and_slipping_presses_count_and_those_beside_the_map_do_not(table, model):
    added = []
    view = settle(view_of(model, *table, on_add=lambda *at: added.append(at), drawing="add"))
    for kind in (Tap, DoubleTap, PressUp):
        press(view, 0.25, 0.5, kind)
    assert added == [(0.25, 0.5)] * 3
    press(view, 0.75, 0.5, PanStart, sx=100)
    press(view, 0.80, 0.5, PanEnd, sx=108)
    assert added[3:] == [(0.75, 0.5)]
    press(view, 0.75, 0.5, PanStart, sx=100)
    press(view, 0.99, 0.5, PanEnd, sx=140)  # drags the map
    press(view, view.surface.across.low - 0.1, 0.5)
    assert len(added) == 4


def test_a_hand_means_the_row_of_the_map_it_sees(table, model):
    X, y = table
    removed, moved = [], []
    hands = {"on_remove": removed.append, "on_move": lambda row, *_: moved.append(row)}
    view = settle(view_of(model, X.set_index(X.index + 500), y, **hands, drawing="remove"))
    points = view.surface.points
    view.watch(model, X.iloc[40:], y[40:])  # asked for, not there yet
    press(view, points.x[17], points.y[17])
    assert removed == [517]
    source = view.picture.plot["points"]
    source.data = {**source.data, "x": np.where(np.arange(120) == 3, 0.0, source.data["x"])}
    assert moved == [503]


def test_dragging_points_begins_and_ends_in_the_same_figure(table, model):
    view = settle(view_of(model, *table, on_move=print))
    figure = view.picture.pane.object
    bar, before = figure.toolbar, list(figure.toolbar.tools)
    view.drawing = "move"
    kinds = [type(tool).__name__ for tool in before]
    tips = [tool for tool in before if isinstance(tool, HoverTool)]
    assert bar.active_drag in bar.tools
    assert bar.active_drag not in before
    assert set(bar.tools) == {bar.active_drag, *tips}  # a drag that misses a point moves nothing
    assert not any(tip.renderers for tip in tips)  # and no tooltip is in the way
    view.drawing = "add"
    assert (bar.tools, bar.active_drag) == (tips, "auto")
    view.drawing = ""
    assert sorted(type(tool).__name__ for tool in bar.tools) == sorted(kinds)
    assert all(tip.renderers for tip in tips)
    assert view.picture.pane.object is figure
    settle(view)
    view.drawing = "move"
    view.dark = True  # another figure, in which they are dragged too
    assert view.picture.pane.object is not figure
    assert view.picture.pane.object.toolbar.active_drag is not None
    assert isinstance(view.picture.pane.object.toolbar.active_drag, PointDrawTool)


def test_a_point_that_is_dragged_says_where_to(table, model):
    moved = []
    view = settle(view_of(model, *table, on_move=lambda *to: moved.append(to)))
    view.drawing = "move"
    assert moved == []
    source = view.picture.plot["points"]
    x = np.array(source.data["x"])
    x[3] = 0.125
    source.data = {**source.data, "x": x}
    assert moved == [(3, 0.125, table[0]["v"][3])]
    view.set_model(LogisticRegressionLike(model))
    settle(view)
    assert len(moved) == 1


class LogisticRegressionLike:
    """The same model under another name, as a fit that was repeated gives it."""

    def __init__(self, model):
        self.classes_, self.predict, self.predict_proba = model.classes_, model.predict, model.predict_proba


def test_the_numbers_below(table, model):
    view = settle(view_of(model, *table, others="mean", title="lr"))
    view._numbers.open = True
    assert "share of the map" in view._numbers.table.object
    lines = view._csv().splitlines()
    assert lines[0].startswith("# alrviz:")
    assert '# model: "lr"' in lines
    assert '# others: "mean"' in lines
    head = next(line for line in lines if not line.startswith("#"))
    assert head == "u,v,p(no),p(yes)"
    assert len(lines) - lines.index(head) - 1 == view.surface.winner.size
