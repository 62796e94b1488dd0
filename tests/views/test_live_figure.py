"""The picture of a RaceView without a browser: what its sources hold, what is streamed, which axis it has."""

import re
from dataclasses import replace

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import Column, ColumnDataSource
from bokeh.plotting import figure
from panel.io.state import set_curdoc

from alrviz.fitting.recipe import Recipe
from alrviz.pictures.picture import Picture
from alrviz.studies.race.recorded import read_recorded, record
from alrviz.views.core.live_figure import LiveFigure, feed
from alrviz.views.core.trace_reader import Racer, RaceReader
from alrviz.views.race import race_view
from alrviz.views.race.race_view import RaceView
from tests.races import ByHand, a_step
from tests.views.raced import drawn, finished, pressed, pump, view_of


def test_points_are_streamed_not_sent_again():
    race = ByHand()
    view = view_of(race)
    race.take(2)
    view.press_run()
    pump(view, 2)
    source = view.picture.plot["train"][0]
    events = []
    source.on_change("data", lambda attr, old, new: events.append(attr))
    race.take(2)
    figure = view.picture.pane.object
    pump(view, 2)
    assert len(source.data["y"]) == 4
    assert view.picture.pane.object is figure
    line = {part: np.arange(5.0) for part in ("x", "y", "step")}
    assert feed(source, line) == "replaced"
    assert feed(source, {part: np.arange(7.0) for part in line}) == "streamed"
    assert feed(source, {part: np.arange(7.0) for part in line}) == "kept"
    line = {part: np.array([0.0, 1, 2, 3, 4, 5, 8, 9]) for part in line}
    assert feed(source, line) == "patched"
    np.testing.assert_array_equal(source.data["y"], line["y"])
    line = {part: np.arange(8.0) + 100 for part in line}
    assert feed(source, line) == "replaced"


def test_measure_and_axis_are_one_click_apart():
    race, view = pressed()
    race.take(10)
    race.end()
    pump(view, 30)
    view.axis = "seconds"
    assert view.picture.plot["train"][0].data["x"][-1] == pytest.approx(0.09)
    assert view.picture.pane.object.xaxis[0].axis_label.startswith("seconds")
    view.measure = "error"
    np.testing.assert_allclose(drawn(view)[0], 1.5 / 4)


def test_the_first_iterations_and_a_logarithmic_axis_are_a_choice_away():
    race, view = pressed()
    race.take(50)
    race.end()
    pump(view, 60)
    linear, end = view.picture.pane.object, view.picture.pane.object.x_range.end
    view.span = "first"
    assert view.picture.pane.object is linear
    assert linear.x_range.end < end
    assert len(view.picture.plot["train"][0].data["x"]) == 31
    view.span = "log"
    figure = view.picture.pane.object
    assert type(figure.x_scale).__name__ == "LogScale"
    assert view.picture.plot["train"][0].data["x"][:3].tolist() == [0.5, 1, 2]
    view.axis = "passes"
    assert view.picture.pane.object is figure
    assert figure.xaxis[0].major_label_overrides == {}
    view.axis = "iterations"
    assert figure.xaxis[0].major_label_overrides == {0.5: "0"}
    view.span = "all"
    assert view.picture.pane.object.x_range.end == end
    assert RaceView(race, wake=lambda: None, span="log").picture.pane.object.xaxis[0].axis_label.endswith("log scale")


def test_names_keep_off_lines_once_the_picture_rests_and_again_when_it_has_another_size(monkeypatch):
    race, view = pressed()
    rests, drawn_by = [], race_view.convergence
    monkeypatch.setattr(
        race_view, "convergence", lambda *args, **options: rests.append(options["rests"]) or drawn_by(*args, **options)
    )
    race.take(10)
    pump(view, 5)
    assert rests
    assert not any(rests), "while it runs names would jump"
    figure = view.picture.pane.object
    figure.set_from_json("inner_width", 300)
    figure.set_from_json("inner_height", 100)
    count = len(rests)
    race.end()
    pump(view, 30)
    assert rests[count:] == sorted(rests[count:]), "only once it rests, and from then on"
    assert rests[-1]
    count = len(rests)
    figure.set_from_json("inner_width", 250)
    assert rests[count:] == [True]
    figure.set_from_json("inner_width", 250)
    assert len(rests) == count + 1
    view.press_back()
    assert rests[-1]


def test_gap_is_hidden_when_objectives_differ():
    same, other = view_of(ByHand()), view_of(ByHand(Recipe("alr", order=1, alpha=0), Recipe("alr", order=2, alpha=0)))
    assert "gap" in same._measures.select.options.values()
    assert "gap" not in other._measures.select.options.values()
    other = RaceView(ByHand(Recipe("alr", order=1, alpha=0), Recipe("alr", alpha=0)), wake=lambda: None, measure="gap")
    assert other.measure == "nll"


def test_separable_rows_turn_the_axis_and_the_measure_comes_back_afterwards():
    race, other = ByHand(), ByHand()
    view = view_of(race, rerun=lambda: other, measure="gap")
    view.press_run()
    race.take(3)
    pump(view, 3)
    assert view.picture.pane.object.yaxis[0].axis_label.startswith("loss above the lowest")
    for run in race.runs:
        step = run.trace[-1]
        run.trace.append(type(step)(*(getattr(step, n) for n in step.__slots__[:-1]), {**step.extra, "lead": 1.0}))
    pump(view, 3)
    assert view.measure == "nll"
    assert view.picture.pane.object.yaxis[0].axis_label.endswith("log scale")
    assert type(view.picture.pane.object.y_scale).__name__ == "LogScale"
    assert "gap" not in view._measures.select.options.values()
    view.outdated = True
    view.press_stop()
    view.press_run()
    other.take(3)
    pump(view, 3)
    assert view.measure == "gap"


def test_a_lead_that_drops_again_has_still_proved_that_nll_falls_to_zero():
    race, view = pressed()
    race.take(3)
    for lead in (1.0, 0.9):
        race.runs[0].trace.append(a_step(len(race.runs[0].trace), 0.5, lead=lead))
    pump(view, 5)
    assert view.picture.pane.object.yaxis[0].axis_label.endswith("log scale")
    assert "0.01" in view.side.object
    assert "1 %" not in view.side.object


def test_a_tick_without_news_summarises_no_racer(monkeypatch):
    race, view = pressed()
    race.take(3)
    pump(view, 5)
    monkeypatch.setattr(Racer, "summary", lambda *_: pytest.fail("a summary reads the whole trace"))
    assert not view.player.reader.to_zero
    assert view.player.reader.pull() == 0


def test_the_outcome_separated_turns_the_axis_though_no_step_came_with_it():
    race, view = pressed(measure="gap")
    race.take(6)
    pump(view, 8)
    assert not view.player.reader.to_zero
    race.end("separated")
    pump(view, 8)
    assert view.measure == "nll"
    assert view.picture.pane.object.yaxis[0].axis_label.endswith("log scale")
    assert "1 %" not in view.side.object


def test_another_race_of_the_same_racers_is_drawn_in_the_figure_that_is_there():
    recorded, live = read_recorded(record(finished(30), "1.0")), ByHand()
    view = view_of(recorded, rerun=lambda: live, measure="gap")
    figure, parts = view.picture.pane.object, view.picture.plot.parts
    assert parts["note"].visible
    figure.x_range.start, figure.x_range.end = 3.0, 4.0  # the reader looked closer
    view.press_run()
    live.take(4)
    pump(view, 3)
    assert view.picture.pane.object is figure
    assert len(drawn(view)) == 4
    assert not parts["note"].visible
    assert figure.x_range.start < 0
    live.end("separated")
    pump(view, 3)
    assert view.measure == "nll"
    assert view.picture.pane.object is figure
    assert figure.yaxis[0].axis_label == "loss per row (nats), log scale"
    assert [item.visible for item in parts["legend"].items] == [True] * 4
    view.measure = "gradient"
    assert view.picture.pane.object is figure
    assert [item.visible for item in parts["legend"].items] == [True, True, False, False]
    view.measure = "error"
    assert view.picture.pane.object is not figure


def test_watched_levels():
    race = ByHand()
    race.take(30)
    watched = RaceReader(race)
    watched.pull()
    levels = watched.levels()
    best = min(run.trace[-1].objective for run in race.runs) / 10
    assert levels["milestone_0"] == pytest.approx(0.01 * best)
    assert levels["class_shares"] == 2.0
    orders = RaceReader(ByHand(Recipe("alr", order=1, alpha=1.0), Recipe("alr", order=2, alpha=1.0)))
    assert "anje" not in orders.levels()


def test_what_waits_to_be_sent_whole_is_not_streamed_into():
    """The message is written when it is sent: points streamed meanwhile would arrive twice."""
    source = ColumnDataSource({part: np.arange(1.0) for part in ("x", "y", "step")})
    lines = [{part: np.arange(float(n)) for part in source.data} for n in (5, 8, 9, 12)]
    document, layout = Document(), Column(children=[])
    document.add_root(layout)
    plot = figure()
    plot.line("x", "y", source=source)
    document.add_root(plot)
    document.hold("combine")
    source.data = lines[0]
    assert feed(source, lines[1]) == "replaced"
    document.unhold()
    document.hold("combine")
    assert feed(source, lines[2]) == "streamed"
    layout.children = [Column()]  # it might hold the source
    assert feed(source, lines[3]) == "replaced"
    document.unhold()


def test_a_picture_that_is_expected_is_the_one_the_first_points_come_into():
    race = ByHand()
    view = view_of(None, rerun=lambda: race)
    view.expect(race.recipes)
    expected = view.picture.pane.object
    assert len(drawn(view)) == 0
    assert view.race is None
    view.press_run()
    race.take(3)
    pump(view, 3)
    assert view.picture.pane.object is expected
    assert len(drawn(view)) == 3


def test_nothing_is_expected_where_a_race_is_shown():
    view = view_of(finished(5))
    before = view.picture.pane.object
    view.expect([Recipe("lr", order=1, alpha=0.3)])
    assert view.picture.pane.object is before
    assert len(drawn(view)) == 5


def test_ranges_follow_a_browser_that_sends_back_an_old_one_and_leave_a_zoom_alone():
    race, view = pressed(measure="nll")
    race.take(4)
    pump(view, 3)
    figure = view.picture.pane.object
    before = figure.x_range.end
    race.take(40)
    pump(view, 20)
    assert figure.x_range.end > before
    figure.x_range.end = before  # what the browser had, late
    race.take(60)
    pump(view, 30)
    followed = figure.x_range.end
    assert followed > 100
    figure.x_range.end = 7.25  # the reader looks closer
    race.take(200)
    pump(view, 60)
    assert figure.x_range.end == 7.25
    assert figure.x_range.reset_end > followed


def test_words_and_heads_are_as_many_before_anything_is_drawn_as_after():
    """BokehJS would ask for colours of rows that have none yet, if there were more rows than before."""
    race = ByHand()
    view = view_of(race)
    sources = view.picture.plot["heads"], view.picture.plot["words"]
    before = [{key: len(column) for key, column in source.data.items()} for source in sources]
    race.take(2)
    view.press_run()
    pump(view, 2)
    assert (view.picture.plot["heads"], view.picture.plot["words"]) == sources
    assert [{key: len(column) for key, column in source.data.items()} for source in sources] == before
    assert np.isfinite(sources[0].data["x"]).all()
    names = [racer.name for racer in view.player.active_reader.racers]
    assert [word for word in sources[1].data["words"] if word][-len(names) :] == names


def a_picture(top, key=()):
    def draw(plot):
        plot.figure.line("x", "y", source=plot["line"])

    line = {"x": np.arange(3.0), "y": np.array([0.0, np.nan, top])}
    return Picture(draw=draw, x=(0.0, 2.0), y=(0.0, top), labels=("x", "y"), data={"line": line}, key=key)


def test_every_picture_that_lives_keeps_a_zoom_until_it_is_of_something_else():
    live = LiveFigure("p")
    live.show(a_picture(1.0), subject="a")
    figure = live.plot.figure
    live.show(a_picture(2.0), subject="a")
    assert (figure.y_range.end, figure.y_range.reset_end) == (2.0, 2.0)
    figure.y_range.end = 0.5  # the reader looks closer
    live.show(a_picture(3.0), subject="a")
    assert (figure.y_range.end, figure.y_range.reset_end) == (0.5, 3.0)
    live.show(a_picture(4.0), subject="b")
    assert (live.plot.figure, figure.y_range.end) == (figure, 4.0)
    live.show(a_picture(4.0, key="another"), subject="b")
    assert live.plot.figure is not figure


def test_what_a_source_has_is_not_sent_again():
    live, sent = LiveFigure("p"), []
    live.show(a_picture(1.0))
    live.plot["line"].on_change("data", lambda attr, old, new: sent.append(new))
    live.show(a_picture(1.0))
    assert sent == [], "NaN is NaN"
    live.show(a_picture(2.0))
    assert len(sent) == 1


def test_a_zoom_to_what_was_shown_long_ago_is_kept():
    live = LiveFigure("p")
    for top in range(1, 200):
        live.show(a_picture(float(top)), subject="a")
    figure = live.plot.figure
    assert figure.y_range.end == 199
    figure.y_range.end = 198.0  # what the browser had, late
    live.show(a_picture(200.0), subject="a")
    assert figure.y_range.end == 200
    figure.y_range.end = 1.0  # the reader looks closer
    live.show(a_picture(201.0), subject="a")
    assert figure.y_range.end == 1
    assert len(live._sent_ranges) < 100


@pytest.mark.parametrize("streams", [(), ("line",)])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"line": {"x": np.arange(2.0), "z": np.arange(2.0)}}, "'line' has the columns x, y; got x, z"),
        ({"line": {}}, "'line' has the columns x, y; got none"),
        ({"bars": {"x": np.arange(2.0)}}, "has no 'bars'; it has line"),
        ({"line": ({"x": np.arange(2.0)},) * 2}, "of 'line' the figure has 1; got 2"),
        ({"line": ()}, "of 'line' the figure has 1; got 0"),
    ],
)
def test_a_key_that_does_not_tell_sources_apart_is_said(data, words, streams):
    live = LiveFigure("p")
    live.show(a_picture(1.0))
    with pytest.raises(ValueError, match=re.escape(words)) as told:
        live.show(replace(a_picture(2.0), data=data, streams=streams))
    assert "key" in str(told.value)


def test_a_source_without_columns_is_fed_nothing():
    assert feed(ColumnDataSource({}), {}) == "kept"


def test_what_a_press_changes_of_a_figure_is_held():
    """Panel answers a press without the document's lock: a change that is not held raises, and the press is lost."""
    picture = LiveFigure("alrviz-test")
    drawn = Picture(draw=lambda plot: None, x=(0.0, 1.0), y=(0.0, 1.0), labels=("x", "y"), data={})
    picture.show(drawn)
    document, single_changes = Document(), []
    with set_curdoc(document):
        document.add_root(picture.plot.figure)
        document.on_change(lambda event: single_changes.append(event.attr))
        picture.pane.styles = {"opacity": "0.5"}
        picture.describe("Two lines.")
    assert picture.plot.figure.styles["opacity"] == "0.5"
    assert "Two lines." in picture.plot.figure.tags[0]
    assert single_changes == []
