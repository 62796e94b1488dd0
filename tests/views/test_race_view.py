"""RaceView without a browser: what the sources hold, which buttons may be pressed, what the words say."""

import io

import numpy as np
import pandas as pd
import pytest
from bokeh.models import Label

import alrviz
from alrviz.errors import AlrvizError, TableError
from alrviz.fitting.recipe import Recipe
from alrviz.studies.race.recorded import read_recorded, record
from alrviz.views.core.trace_reader import MIN_ITERATIONS_PER_TICK
from alrviz.views.race.player_status import status_html
from alrviz.views.race.race_view import RaceView
from tests.races import ByHand, searching
from tests.views.raced import drawn, finished, pressed, pump, view_of


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
    assert "Iteration 2: " in view.sentence.object
    race.take(37)
    race.end()
    pump(view, 60)
    assert len(drawn(view)) == 40
    assert not view.player.playing
    assert "within 0.1 %" in view.sentence.object
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
    assert min(steps[steps > 0]) >= min(MIN_ITERATIONS_PER_TICK, 1)
    assert view.player.playing


def test_curves_words_and_slider_are_of_one_iteration_at_every_tick():
    race, view = pressed()
    race.take(700)  # a picture of so many is not fed at every tick
    seen = set()
    while view.pump() and len(seen) < 700 and view.player.playing:
        at = len(drawn(view)) - 1
        assert view.transport.slider.value == at
        assert view.transport.slider.label == f"Iteration: {at:,}"
        assert f"At iteration {at:,} " in view.side.object
        assert f"Iteration {at}: " in view.sentence.object
        seen.add(at)
        if view.player.reader.head >= view.player.reader.last:
            race.end()
    assert len(seen) > 20


def test_a_race_of_few_iterations_is_shown_whole_once_it_has_ended():
    race, view = pressed()
    race.take(18)
    view.pump()
    assert len(drawn(view)) < 18  # while it goes on it is followed
    race.end()
    view.pump()
    assert len(drawn(view)) == 18
    assert not view.player.playing


def test_stop_leaves_what_is_on_the_screen_and_nothing_comes_after():
    race, view = pressed()
    race.take(50)
    view.pump()
    before = len(drawn(view))
    assert 0 < before < 50
    view.press_stop()
    assert race.calls[-1] == "stop"
    assert "Stopped by you" in view.sentence.object
    assert status_html(view.player) == "stopped"
    race.take(5)
    pump(view, 5)
    assert len(drawn(view)) == before
    assert view.transport.stop.disabled


def test_stop_of_a_race_that_has_ended_but_is_still_shown_ends_it_there_and_offers_the_rest():
    race, view = pressed()
    race.take(100)
    race.end()
    view.pump()
    before = len(drawn(view))
    assert before < 100
    view.press_stop()
    assert len(drawn(view)) == before
    assert status_html(view.player) == "stopped"
    assert view.sentence.object.startswith("<p class='sentence'>Stopped by you after")
    assert view.transport.stop.disabled
    assert (view.transport.slider.value, view.transport.slider.end) == (before - 1, before - 1)
    assert len(pd.read_csv(io.StringIO(view._csv()), comment="#")) == 2 * before
    again = view_of(race)  # after a reload
    assert len(drawn(again)) == before
    assert (again.transport.show_rest.visible, again.transport.show_rest.label) == (True, "Show all 99")
    view.show_hidden()
    assert len(drawn(view)) == 100
    assert "Stopped" not in view.sentence.object
    assert not view.transport.show_rest.visible


def test_what_was_still_on_its_way_to_the_screen_when_stop_was_pressed_is_taken_back():
    race, view = pressed()
    race.take(100)
    race.end()
    pump(view, 3)
    number, seen = view.transport.stop.drawn
    pump(view, 4)
    view.press_stop()
    assert len(drawn(view)) > seen + 1
    view.transport.stop.pressed = [number, seen, 1]
    assert len(drawn(view)) == seen + 1
    view.transport.stop.pressed = [number, seen + 50, 2]
    assert len(drawn(view)) == seen + 1


def test_the_screen_may_say_what_it_showed_before_the_press_of_stop_arrives():
    race, view = pressed()
    race.take(100)
    race.end()
    pump(view, 3)
    number, seen = view.transport.stop.drawn
    pump(view, 4)
    view.transport.stop.pressed = [number, seen, 1]
    view.press_stop()
    assert len(drawn(view)) == seen + 1


def test_stop_as_a_new_race_arrives_shows_nothing_of_it_where_the_screen_had_the_old():
    first, second = ByHand(), ByHand()
    first.take(5)
    first.end()
    view = view_of(first, rerun=lambda: second)
    number = view.transport.stop.drawn[0]
    view.press_run()
    second.take(3)
    view.pump()
    view.press_stop()
    view.transport.stop.pressed = [number, 4, 1]
    assert len(drawn(view)) == 0
    assert view.transport.show_rest.visible


def test_pause_step_back_and_forward_only_move_the_view():
    race, view = pressed()
    race.take(10)
    pump(view, 20)
    view.press_run()
    assert race.calls == ["start", "pause"]
    for _ in range(4):
        view.press_back()
    assert len(drawn(view)) == 6
    assert len(view.picture.plot["beyond"][0].data["y"]) == 10
    assert "At iteration 5" in view.side.object
    assert "per row, in nats" in view.side.object
    view.press_step()
    assert len(drawn(view)) == 7
    assert race.calls == ["start", "pause"]
    view.scrub(9)
    assert len(drawn(view)) == 10
    assert len(view.picture.plot["beyond"][0].data["y"]) == 0
    view.press_step()
    pump(view, 2)
    assert race.calls == ["start", "pause", "step 1"]
    assert len(drawn(view)) == 11
    view.press_run()
    assert race.calls[-1] == "start"


def test_scrubbing_a_race_that_runs_pauses_it():
    race, view = pressed()
    race.take(10)
    pump(view, 10)
    view.transport.slider.value = 3
    assert race.calls[-1] == "pause"
    assert len(drawn(view)) == 4
    assert not view.player.playing


def scored_by(scores, monkeypatch):
    """A view at the end of its race, between two slow looks, whose test rows have just been scored by `scores`."""
    monkeypatch.setattr("alrviz.views.core.trace_reader.heldout_losses", scores)
    race = finished(30, Recipe("alr", order=1, alpha=0), Recipe("alr", alpha=0))
    view = view_of(race)
    view._scoring.wait()
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
    assert "Test log loss" in view.sentence.object


def test_what_is_counted_along_has_a_name_for_screen_readers():
    assert view_of(ByHand())._axes.label == "x-axis"


def test_a_new_race_keeps_the_old_picture_until_it_has_points():
    first, second = ByHand(), ByHand()
    first.take(5)
    first.end()
    view = view_of(first, rerun=lambda: second)
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
    view = view_of(first, rerun=lambda: second)
    view.press_run()
    view.press_stop()
    assert view.race is second
    assert "Stopped by you before the first iteration" in view.sentence.object
    assert len(drawn(view)) == 0


def test_outdated_is_marked_and_run_makes_another_race():
    first, second = ByHand(), ByHand()
    first.take(5)
    first.end()
    view = view_of(first, rerun=lambda: second)
    view.outdated = True
    assert "outdated" in view.status.object
    assert view.picture.pane.styles["opacity"] != "1"
    view.press_run()
    assert view.race is second
    assert view.picture.pane.styles["opacity"] == "1"


def test_csv_has_its_origin_and_the_steps():
    race = finished(4)
    text = view_of(race)._csv()
    assert '# data hash: "0000' in text
    assert text.count("# recipe ") == 2
    frame = pd.read_csv(io.StringIO(text), comment="#")
    assert len(frame) == 8
    assert {"racer", "nll", "heldout_log_loss"} <= set(frame.columns)


def test_the_penalty_of_each_order_is_followed_played_and_kept_as_any_measure_is():
    race = searching((10.0, 10.0), (0.5, 40.0), iterations=0)
    view = view_of(race)
    assert "penalty of each order" in view._measures.select.options
    view.measure = "alpha"
    assert view.picture.plot.figure.xaxis[0].axis_label == "trials of alpha, then iterations"
    assert [drawn(view, k).tolist() for k in (0, 1)] == [[10.0, 0.5], [10.0, 40.0]]
    assert [words for words in view.picture.plot["words"].data["words"] if words] == ["hlr order 1", "hlr order 2"]
    assert "Looking for alpha: hlr (2 trials)." in view.sentence.object
    assert not any(item.label["value"].endswith("rows") for item in view.picture.plot.figure.legend[0].items
                   if item.visible)  # fmt: skip
    view.pump()
    view.picture.describe(view._verdict)
    assert "alpha, the penalty of each order" in view.picture.plot.figure.tags[0]
    view.scrub(1)
    assert [drawn(view, k).tolist() for k in (0, 1)] == [[10.0], [10.0]]
    view.press_stop()
    frame = pd.read_csv(io.StringIO(view._csv()), comment="#")
    assert frame[frame["racer"] == 1]["alpha_2"].dropna().tolist() == [10.0, 40.0]
    view.measure = "nll"
    view.watch(finished(3))
    assert "penalty of each order" not in view._measures.select.options


def test_a_race_stopped_among_trials_keeps_in_its_table_what_was_seen():
    race = searching((10.0, 10.0), (0.5, 40.0), (0.2, 80.0), iterations=2)
    view = view_of(race)
    view.player.reader.move(2)
    view.player.reader.last_shown = 2
    view.press_stop()
    frame = pd.read_csv(io.StringIO(view._csv()), comment="#")
    assert frame.groupby("racer").size().tolist() == [3, 3]
    assert frame["alpha_2"].max() == 40.0


def test_while_a_racer_looks_for_its_order_the_page_says_how_far_it_is():
    race, view = pressed()
    race.take(1, racer=0)
    race.activity = "choosing the order: 0.4957 at 2"
    view.say_status()
    assert "choosing the order: 0.4957 at 2" in view.status.object
    race.take(1, racer=1)
    view.say_status()
    assert "running" in view.status.object


def test_the_table_of_numbers_is_made_when_it_is_unfolded():
    race = finished(4)
    view = view_of(race)
    assert view._numbers.table.object == ""
    view._numbers.open = True
    assert view._numbers.table.object.count("<tr>") == 3 + 5, "how each of two ended, then the iterations"


def test_recorded_race_is_shown_whole_at_once_and_round_trips():
    race = finished(30)
    back = read_recorded(record(race, "1.0"))
    view = view_of(back)
    assert len(drawn(view)) == 30
    assert "recorded" in view.status.object
    assert [part.text for part in view.picture.pane.object.select({"type": Label})] == ["recorded earlier"]
    assert "within 0.1 %" in view.sentence.object
    pd.testing.assert_frame_equal(back.frame(), race.frame(), check_dtype=False, check_like=True, rtol=1e-8)
    assert back.recipes == race.recipes


def test_the_playback_menu_sets_speed_and_loop_and_says_what_is_chosen():
    view = view_of(finished(40))
    pump(view, 3)
    menu = next(part for part in view.transport.panel if hasattr(part, "items"))
    words = [item["label"] for item in menu.items]
    assert [item["label"] for item in menu.items if item.get("icon") == "radio_button_checked"] == [
        "Speed 1x",
        "Hold at the end",
    ]
    verdict = view.sentence.object
    for label in ("Speed 2x", "Loop: play again from the start"):
        menu._handle_msg({"type": "click", "item": words.index(label)})
    assert (view.speed, view.loop, menu.label) == (2.0, True, "2x")
    assert (view.player.speed, view.player.playing) == (2.0, True)
    pump(view, 2)
    assert view.player.reader.head < view.player.reader.last
    assert "Iteration" in view.sentence.object or view.sentence.object == verdict
    for _ in range(200):
        view.pump()
        if view.player.reader.head >= view.player.reader.last:
            break
    pump(view, 5)
    assert view.sentence.object == verdict, "at its end it says how the race ended"
    menu._handle_msg({"type": "click", "item": words.index("Hold at the end")})
    pump(view, 50)
    assert (view.loop, view.player.playing) == (False, False)


def test_what_is_no_race_is_refused_with_what_is_expected():
    dataset = alrviz.load_demo("led", rows=60)
    with pytest.raises(TableError, match=r"alrviz\.race\(dataset, recipes\)"):
        RaceView(dataset, wake=lambda: None)
    with pytest.raises(AlrvizError, match=r"DataFrame cannot be shown as a race; expected what alrviz\.race"):
        RaceView(pd.DataFrame(), wake=lambda: None)
    with pytest.raises(AlrvizError, match="call its fit first"):
        RaceView(alrviz.LRClassifier(alpha=0.3), wake=lambda: None)


def test_a_fitted_model_shows_its_own_fit():
    dataset = alrviz.load_demo("led", rows=200)
    model = alrviz.LRClassifier(alpha=0.1).fit(dataset.X, dataset.y)
    view = view_of(model)
    pump(view, 3)
    assert view.player.reader.last == model.trace_[-1].index
    assert drawn(view)[-1] == pytest.approx(model.trace_[-1].nll / model.trace_.rows)
    assert "converged" in view.sentence.object
    view.press_back()
    assert view.player.reader.head == view.player.reader.last - 1
    view.scrub(10**6)
    view.press_run()
    assert not view.player.is_waiting, "there is no race to begin"
    assert "LRClassifier" in view.origin().made_from
    assert view._csv().count("\n") > model.trace_[-1].index
