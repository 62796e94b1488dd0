"""RaceView without a browser: what the sources hold, which buttons may be pressed, what the words say."""

import io

import numpy as np
import pandas as pd
import pytest
from bokeh.document import Document
from bokeh.models import Column, ColumnDataSource, Label
from bokeh.plotting import figure

from alrviz.fitting.recipe import Recipe
from alrviz.studies.recorded import read_recorded, record
from alrviz.views.live import feed
from alrviz.views.race_view import RaceView
from alrviz.views.watched import LEAST, Watched
from tests.races import ByHand, a_step


def view_of(race, **options):
    return RaceView(race, wake=lambda: None, **options)


def pressed(**options):
    """A race, and its view after Run was pressed."""
    race = ByHand()
    view = view_of(race, **options)
    view.press_run()
    return race, view


def finished(steps, *recipes):
    """A race that has taken its steps and ended."""
    race = ByHand(*recipes)
    race.take(steps)
    race.end()
    return race


def drawn(view, racer=0):
    return view.picture._picture.train[racer].data["y"]


def pump(view, times):
    for _ in range(times):
        view.pump()


def test_a_race_is_followed_step_by_step_and_ends_in_a_sentence():
    race = ByHand()
    view = view_of(race)
    assert "Press Run" in view.sentence.object
    view.press_run()
    assert race.calls == ["start"]
    assert "Getting ready" in view.sentence.object
    race.take(3)
    view.pump()
    assert len(drawn(view)) == 3
    pump(view, 5)
    assert "nothing is decided" in view.sentence.object
    race.take(37)
    race.end()
    pump(view, 60)
    assert len(drawn(view)) == 40
    assert not view.player.playing
    assert "faster by" in view.sentence.object
    assert "<td>" in view.side.object
    np.testing.assert_allclose(drawn(view)[-1], race.runs[0].trace[-1].nll / 10)


def test_a_race_over_in_a_blink_is_shown_little_by_little_and_racers_stay_level():
    race, view = pressed()
    race.take(100)
    race.end()
    lengths = []
    for _ in range(30):
        view.pump()
        lengths.append((len(drawn(view, 0)), len(drawn(view, 1))))
    assert lengths[0][0] < 20
    assert all(a == b for a, b in lengths)
    steps = np.diff([a for a, _ in lengths])
    assert (steps >= 0).all()
    assert max(steps) <= 10
    assert min(steps[steps > 0]) >= min(LEAST, 1)
    assert view.player.playing


def test_a_race_of_few_iterations_is_shown_whole_once_it_has_ended():
    race, view = pressed()
    race.take(18)
    view.pump()
    assert len(drawn(view)) < 18  # while it goes on it is followed
    race.end()
    view.pump()
    assert len(drawn(view)) == 18
    assert not view.player.playing


def test_stop_shows_what_there_is_and_nothing_after():
    race, view = pressed()
    race.take(50)
    view.pump()
    view.press_stop()
    assert race.calls[-1] == "stop"
    assert "Stopped by you" in view.sentence.object
    assert view.player.word == "stopped"
    before = len(drawn(view))
    assert before == 50
    race.take(5)
    pump(view, 5)
    assert len(drawn(view)) == before
    assert view.transport.stop.disabled


def test_stop_of_a_race_that_has_ended_but_is_still_shown_shows_all_of_it():
    race, view = pressed()
    race.take(100)
    race.end()
    view.pump()
    assert len(drawn(view)) < 100
    assert not view.transport.stop.disabled
    view.press_stop()
    assert len(drawn(view)) == 100
    assert view.player.word == "stopped"
    assert view.transport.stop.disabled


def test_pause_step_back_and_forward_only_move_the_view():
    race, view = pressed()
    race.take(10)
    pump(view, 20)
    view.press_run()
    assert race.calls == ["start", "pause"]
    for _ in range(4):
        view.press_back()
    assert len(drawn(view)) == 6
    assert len(view.picture._picture.beyond[0].data["y"]) == 10
    assert "At iteration 5" in view.side.object
    assert "per row, in nats" in view.side.object
    view.press_step()
    assert len(drawn(view)) == 7
    assert race.calls == ["start", "pause"]
    view.scrub(9)
    assert len(drawn(view)) == 10
    assert len(view.picture._picture.beyond[0].data["y"]) == 0
    view.press_step()
    pump(view, 2)
    assert race.calls == ["start", "pause", "step 1"]
    assert len(drawn(view)) == 11
    view.press_run()
    assert race.calls[-1] == "resume"


def test_scrubbing_a_race_that_runs_pauses_it():
    race, view = pressed()
    race.take(10)
    pump(view, 10)
    view.transport.slider.value = 3
    assert race.calls[-1] == "pause"
    assert len(drawn(view)) == 4
    assert not view.player.playing


def test_points_are_streamed_not_sent_again():
    race = ByHand()
    view = view_of(race)
    race.take(2)
    view.press_run()
    pump(view, 2)
    source = view.picture._picture.train[0]
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
    assert view.picture._picture.train[0].data["x"][-1] == pytest.approx(0.09)
    assert view.picture.pane.object.xaxis[0].axis_label.startswith("seconds")
    view.measure = "error"
    np.testing.assert_allclose(drawn(view)[0], 1.5 / 4)


def test_gap_is_hidden_when_objectives_differ():
    same, other = view_of(ByHand()), view_of(ByHand(Recipe("alr", order=1, alpha=0), Recipe("alr", order=2, alpha=0)))
    assert "gap" in same._measures.select.options.values()
    assert "gap" not in other._measures.select.options.values()
    other = RaceView(ByHand(Recipe("alr", order=1, alpha=0), Recipe("alr", alpha=0)), wake=lambda: None, measure="gap")
    assert other.measure == "nll"


def test_separable_rows_turn_the_axis_and_the_measure_comes_back_afterwards():
    race, other = ByHand(), ByHand()
    view = view_of(race, again=lambda: other, measure="gap")
    view.press_run()
    race.take(3)
    pump(view, 3)
    assert view.picture.pane.object.yaxis[0].axis_label.startswith("F - best known F")
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


def test_the_outcome_separated_turns_the_axis_though_no_step_came_with_it():
    race, view = pressed(measure="gap")
    race.take(6)
    pump(view, 8)
    assert not view.player.shown.to_zero
    race.end("separated")
    pump(view, 8)
    assert view.measure == "nll"
    assert view.picture.pane.object.yaxis[0].axis_label.endswith("log scale")
    assert "1 %" not in view.side.object


def scored_by(scores, monkeypatch):
    """A view at the end of its race, between two slow looks, whose held-out rows have just been scored by `scores`."""
    monkeypatch.setattr("alrviz.views.judging.heldout_losses", scores)
    race = finished(30, Recipe("alr", order=1, alpha=0), Recipe("alr", alpha=0))
    view = view_of(race)
    view._judging.thread.join()
    view._ticks = 0
    return view


def test_words_about_a_tie_come_as_soon_as_the_rows_are_scored(monkeypatch):
    view = scored_by(lambda run: np.full(10, 0.5), monkeypatch)
    assert "difference" not in view.sentence.object
    assert not view.pump()
    assert "difference" in view.sentence.object


def test_an_error_while_rows_are_scored_is_logged_and_the_race_still_shown(monkeypatch, caplog):
    view = scored_by(lambda run: 1 / 0, monkeypatch)
    assert not view.pump()
    assert "ZeroDivisionError" in caplog.text
    assert "Held-out log loss" in view.sentence.object


def test_what_is_counted_along_has_a_name_for_screen_readers():
    assert view_of(ByHand())._axes.label == "Counted along"


def test_a_new_race_keeps_the_old_picture_until_it_has_points():
    first, second = ByHand(), ByHand()
    first.take(5)
    first.end()
    view = view_of(first, again=lambda: second)
    assert len(drawn(view)) == 5
    view.press_run()
    assert second.calls == ["start"]
    view.pump()
    assert len(drawn(view)) == 5
    second.take(2)
    pump(view, 2)
    assert len(drawn(view)) == 2
    view.press_stop()
    assert second.calls[-1] == "stop"
    assert first.calls == []


def test_stop_before_the_first_point():
    first, second = ByHand(), ByHand()
    first.take(5)
    first.end()
    view = view_of(first, again=lambda: second)
    view.press_run()
    view.press_stop()
    assert view.race is second
    assert "Stopped by you before the first step" in view.sentence.object
    assert len(drawn(view)) == 0


def test_outdated_is_marked_and_run_makes_another_race():
    first, second = ByHand(), ByHand()
    first.take(5)
    first.end()
    view = view_of(first, again=lambda: second)
    view.outdated = True
    assert "outdated" in view.status.object
    assert view.picture.pane.styles["opacity"] != "1"
    view.press_run()
    assert view.race is second
    assert view.picture.pane.styles["opacity"] == "1"


def test_readers_of_a_link_can_touch_nothing():
    race = ByHand()
    race.read_only = True
    race.take(5)
    view = view_of(race)
    pump(view, 10)
    buttons = view.transport
    assert all(button.disabled for button in (buttons.run, buttons.step, buttons.stop))
    assert "read-only" in view.status.object


def test_a_reader_of_a_running_race_sees_it_move():
    race = ByHand()
    race.read_only = True
    race.take(5)
    view = view_of(race)
    race.take(5)
    pump(view, 20)
    assert len(drawn(view)) == 10


def test_csv_has_its_origin_and_the_steps():
    race = finished(4)
    text = view_of(race)._csv()
    assert '# data hash: "0000' in text
    assert text.count("# recipe ") == 2
    frame = pd.read_csv(io.StringIO(text), comment="#")
    assert len(frame) == 8
    assert {"racer", "nll", "heldout_log_loss"} <= set(frame.columns)


def test_the_table_of_numbers_is_made_when_it_is_unfolded():
    race = finished(4)
    view = view_of(race)
    assert view._numbers.object == ""
    view._folded.open = True
    assert view._numbers.object.count("<tr>") == 5


def test_recorded_race_is_shown_whole_at_once_and_round_trips():
    race = finished(30)
    back = read_recorded(record(race, "1.0"))
    view = view_of(back)
    assert len(drawn(view)) == 30
    assert "recorded" in view.status.object
    assert [part.text for part in view.picture.pane.object.select({"type": Label})] == ["recorded earlier"]
    assert "faster by" in view.sentence.object
    pd.testing.assert_frame_equal(back.frame(), race.frame(), check_dtype=False, check_like=True, rtol=1e-8)
    assert back.recipes == race.recipes


def test_another_race_of_the_same_racers_is_drawn_in_the_figure_that_is_there():
    recorded, live = read_recorded(record(finished(30), "1.0")), ByHand()
    view = view_of(recorded, again=lambda: live, measure="gap")
    figure, picture = view.picture.pane.object, view.picture._picture
    assert picture.note.visible
    figure.x_range.start, figure.x_range.end = 3.0, 4.0  # the reader looked closer
    view.press_run()
    live.take(4)
    pump(view, 3)
    assert view.picture.pane.object is figure
    assert len(drawn(view)) == 4
    assert not picture.note.visible
    assert figure.x_range.start < 0
    live.end("separated")
    pump(view, 3)
    assert view.measure == "nll"
    assert view.picture.pane.object is figure
    assert figure.yaxis[0].axis_label == "NLL per row (nats), log scale"
    assert [item.visible for item in picture.legend.items] == [True] * 4
    view.measure = "gradient"
    assert view.picture.pane.object is figure
    assert [item.visible for item in picture.legend.items] == [True] * 3 + [False]
    view.measure = "error"
    assert view.picture.pane.object is not figure


def test_watched_levels():
    race = ByHand()
    race.take(30)
    watched = Watched(race)
    watched.pull()
    levels = watched.levels()
    best = min(run.trace[-1].objective for run in race.runs) / 10
    assert levels["milestone_0"] == pytest.approx(0.01 * best)
    assert levels["class_shares"] == 2.0
    orders = Watched(ByHand(Recipe("alr", order=1), Recipe("alr", order=2)))
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
