"""The place of a reader in a race, without a page."""

import pytest

from alrviz.views.core.trace_reader import FILM_TICKS
from alrviz.views.race import player as of_player
from alrviz.views.race.player import LOOP_REST_TICKS, PRESS_GRACE_SECONDS, Player
from alrviz.views.race.player_status import button_state, status_html
from tests.races import ByHand


def playing(race, ticks=10):
    """A reader who follows a race to its last point."""
    player = Player()
    player.load_race(race)
    player.run()
    race.take(5)
    for _ in range(ticks):
        player.tick()
    return player


def outdated(coming):
    """A player of a race that has ended, whose settings have changed since; Run asks for `coming`."""
    old = ByHand()
    old.take(3)
    old.end()
    player = Player(lambda: coming)
    player.load_race(old)
    player.outdated = True
    return player


def test_a_press_that_found_no_race_is_repeated_as_it_was():
    made = []
    player = Player(lambda: made[-1] if made else None)
    player.step()
    assert player.is_waiting
    assert button_state(player).may_stop
    made.append(ByHand())
    player.repeat_press()
    assert made[0].calls == ["step 1"], "a full run was started for one step"
    assert not player.is_waiting
    player.repeat_press()
    assert made[0].calls == ["step 1"]


@pytest.fixture
def clock(monkeypatch):
    """What the player takes for the time: a list of one number."""
    now = [100.0]
    monkeypatch.setattr(of_player.time, "monotonic", lambda: now[0])
    return now


def test_a_press_of_run_as_a_race_begins_by_itself_does_not_pause_it(clock):
    race = ByHand()
    player = Player()
    player.load_race(race)
    player.begin()
    clock[0] += 0.9 * PRESS_GRACE_SECONDS
    player.run()
    assert player.playing
    assert race.calls == ["start"]
    player.run()  # a second press is for the button as it is by now
    assert not player.playing
    assert race.calls == ["start", "pause"]


def test_before_the_first_point_no_press_comes_too_late_to_be_met(clock):
    race = ByHand()
    player = outdated(race)
    player.begin()
    clock[0] += 30 * PRESS_GRACE_SECONDS  # it compiles
    player.run()
    assert player.playing
    assert race.calls == ["start"]
    player.run()
    assert race.calls == ["start", "pause"]


def test_later_a_press_pauses_what_has_begun_by_itself(clock):
    race = ByHand()
    player = Player()
    player.load_race(race)
    player.begin()
    race.take(1)
    player.tick()
    clock[0] += 1.1 * PRESS_GRACE_SECONDS
    player.run()
    assert not player.playing
    assert race.calls == ["start", "pause"]


def test_what_another_race_began_as_is_forgotten(clock):
    player = Player()
    player.load_race(ByHand())
    player.begin()
    race = ByHand()
    race.start()
    player.load_race(race)
    assert player.playing
    player.run()
    assert not player.playing


def test_what_was_asked_for_is_paused_at_once(clock):
    race = ByHand()
    player = Player()
    player.load_race(race)
    player.run()
    player.begin()  # the page would have begun it: too late
    player.run()
    assert not player.playing


def test_stop_gives_up_what_run_waits_for():
    player = outdated(None)
    player.run()
    player.stop()
    assert not player.is_waiting
    assert status_html(player).startswith("stopped")
    player.repeat_press()
    assert not player.playing


def test_stop_before_there_is_any_race_says_so():
    player = Player(lambda: None)
    player.run()
    assert status_html(player).startswith("getting ready")
    assert button_state(player).may_stop
    player.stop()
    assert status_html(player) == "stopped"
    assert not button_state(player).may_stop


def test_a_coming_race_is_not_mixed_with_the_one_still_drawn():
    old, new = ByHand(), ByHand()
    old.take(30)
    old.end()
    old.recorded = True
    player = Player(lambda: new)
    player.load_race(old)
    assert button_state(player).head == 29
    player.outdated = True
    player.run()
    assert player.reader.race is old
    assert "recorded earlier" in status_html(player)
    assert (button_state(player).head, button_state(player).last) == (0, -1)
    new.take(2)
    assert player.switch_to_next()
    assert player.reader.race is new
    assert status_html(player) == "running"


def test_a_race_resumed_elsewhere_is_followed_and_one_paused_here_is_not():
    player = playing(ByHand())
    race = player.race
    player.run()
    assert race.calls[-1] == "pause"
    race.phase = "running"  # the present step is still under way
    race.take(1)
    player.tick()
    assert not player.playing
    assert player.reader.head == 4
    race.phase = "paused"
    player.tick()
    player.scrub(race.runs[0].trace[-1].index)
    race.take(2)  # another page of its owner has resumed it
    for _ in range(3):
        player.tick()
    assert player.playing
    assert player.reader.head == 7


def test_who_has_scrubbed_back_is_left_there():
    player = playing(ByHand())
    race = player.race
    player.scrub(2)
    race.phase = "paused"
    player.tick()
    race.take(3)
    player.tick()
    assert player.reader.head == 2
    assert not player.playing


def test_a_showing_that_is_not_over_says_where_it_stands():
    race = ByHand()
    race.take(300)
    race.end()
    player = Player()
    player.load_race(race)
    assert status_html(player) == "ended"
    player.scrub(3)
    assert status_html(player) == "iteration 3 of 299"
    player.run()
    assert status_html(player) == "running"
    player.tick()
    player.run()
    at = player.reader.head
    assert at > 3
    assert status_html(player) == f"paused at {at} of 299"
    player.scrub(10)
    assert status_html(player) == "iteration 10 of 299"
    race.recorded = True
    assert status_html(player).endswith("recorded earlier</b> &middot; 10 of 299")
    player.step()
    assert player.reader.head == 11
    player.scrub(299)
    assert status_html(player) == "<b>recorded earlier</b>"


def film_of(steps):
    """A film of a fit that was over before it was looked at."""
    race = ByHand()
    player = Player(lambda: race, film=True)
    player.run()
    race.take(steps)
    race.end()
    return player


@pytest.mark.parametrize(("steps", "ticks"), [(7, 30), (31, 35), (161, 75)])
def test_a_film_plays_by_itself_from_the_first_step_and_shows_every_one_of_a_short_fit(steps, ticks):
    player = film_of(steps)
    assert player.reader.head == 0
    assert player.playing
    heads = []
    while player.playing:
        player.tick()
        heads.append(player.reader.head)
    assert heads[-1] == steps - 1
    assert FILM_TICKS <= len(heads) <= ticks
    if steps <= 31:
        assert set(range(1, steps)) <= set(heads)
    assert status_html(player) == "ended"


def test_a_film_that_is_stopped_stands_still_and_run_goes_on_from_there():
    player = film_of(13)
    for _ in range(9):
        player.tick()
    at = player.reader.head
    assert 0 < at < 12
    player.stop()
    for _ in range(5):
        player.tick()
    assert player.reader.head == at
    assert status_html(player) == f"stopped at {at} of 12"
    assert button_state(player).last == 12
    race = player.race
    player.run()
    assert player.race is race
    while player.playing:
        player.tick()
        assert player.reader.head >= at
    assert status_html(player) == "ended"


def test_a_film_does_not_lag_behind_a_fit_that_goes_on():
    race = ByHand()
    player = Player(lambda: race, film=True)
    player.run()
    for k in range(10):
        race.take(1)
        player.tick()
        assert player.reader.head == k


def test_run_goes_on_to_the_new_settings_while_the_old_race_is_shown():
    fresh = ByHand()
    player = playing(ByHand())
    assert button_state(player).running
    player.rerun, player.outdated = lambda: fresh, True
    assert not button_state(player).running
    player.run()
    assert fresh.calls == ["start"]


@pytest.mark.parametrize("film", [False, True])
def test_a_race_that_began_and_ended_elsewhere_between_two_looks_is_played(film):
    """A cell of a notebook starts a race and waits for it: the view shows its steps, not only the first."""
    race = ByHand()
    player = Player(film=film)
    player.load_race(race)
    player.tick()
    race.take(5)
    race.end()
    assert player.tick()
    for _ in range(3 * FILM_TICKS):
        player.tick()
    assert player.reader.head == player.reader.last == 4


def test_a_step_that_comes_after_stop_is_not_played():
    race = ByHand()
    player = Player()
    player.load_race(race)
    player.run()
    player.stop()
    race.take(1)
    race.end()
    player.tick()
    assert not player.playing


def ended(steps):
    """A reader who stands at the end of a race."""
    race = ByHand()
    race.take(steps)
    race.end()
    player = Player()
    player.load_race(race)
    return player


def ticks_to_the_end(speed, steps=400):
    race = ByHand()
    player = Player()
    player.load_race(race)
    player.speed = speed
    player.run()
    race.take(steps)
    race.end()
    for ticks in range(10_000):
        if not player.playing:
            return ticks
        player.tick()
    raise AssertionError("it never came to its end")


def test_a_race_is_shown_as_fast_as_is_asked_for():
    usual = ticks_to_the_end(1)
    assert ticks_to_the_end(0.5) == pytest.approx(2 * usual, rel=0.1)
    assert ticks_to_the_end(4) == pytest.approx(usual / 4, rel=0.3)
    assert ticks_to_the_end(1, steps=20) <= 2, "a short one is there at once"
    assert ticks_to_the_end(0.5, steps=20) > 15, "who asks for slow motion gets it"


@pytest.mark.parametrize("steps", [8, 400])
def test_a_loop_plays_again_from_the_start_after_a_rest_at_the_end_until_it_is_to_hold(steps):
    player = ended(steps)
    player.tick()
    assert not player.playing
    player.set_loop(True)
    heads = []
    for _ in range(600):
        player.tick()
        heads.append(player.reader.head)
    last = player.reader.last
    starts = [k for k in range(1, len(heads)) if heads[k] < heads[k - 1]]
    assert len(starts) >= 2
    assert all(heads[k] == 0 for k in starts)
    assert all(heads[k - LOOP_REST_TICKS : k] == [last] * LOOP_REST_TICKS for k in starts)
    assert player.playing
    assert status_html(player) == "in a loop"
    player.set_loop(False)
    for _ in range(400):
        player.tick()
    assert (player.playing, player.reader.head) == (False, last)


def test_without_a_choice_a_race_holds_at_its_end():
    player = ended(40)
    for _ in range(100):
        player.tick()
    assert (player.playing, player.reader.head) == (False, player.reader.last)


def test_pause_and_stop_end_a_loop_where_it_is():
    player = ended(200)
    player.set_loop(True)
    for _ in range(LOOP_REST_TICKS):
        player.tick()
    player.run()
    head = player.reader.head
    player.tick()
    assert (player.playing, player.reader.head) == (False, head)
    player.run()
    player.stop()
    assert not player.playing
    assert player.last_hidden == 0, "all of it has been seen"
