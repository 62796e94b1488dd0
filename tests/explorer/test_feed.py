"""What readers of a link are told: message after message it is the film of the race, whoever comes when."""

import json

import numpy as np
import pytest

from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.web.race_feed import MAX_FILM_STEPS, RaceFeed
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import Outcome
from alrviz.pictures.replay import COLUMNS, content
from alrviz.views.core.trace_reader import RaceReader
from alrviz.views.replay.export_html import race_film
from tests.races import ByHand


@pytest.fixture
def registry():
    return Registry(ServerLimits(), timer=False)


def shared(registry, race=None):
    race = race or ByHand()
    entry = registry.add(race, "ann")
    return race, entry, RaceFeed(registry, registry.share_link(entry))


class Player:
    """What a page knows: the oracle of what replay.html does with a message."""

    def __init__(self):
        self.known = {}

    def take(self, line):
        for message in map(json.loads, line.splitlines()):
            if message.get("film", self.known.get("film")) != self.known.get("film"):
                self.known = {}
            self.known = self._over(self.known, message, message.get("from", 0))
        return self

    def _over(self, known, part, at):
        found = dict(known)
        for key, value in part.items():
            if key == "x":
                old = known.get(key) or [[]] * len(value)
                found[key] = [before[:at] + new for before, new in zip(old, value, strict=True)]
            elif key in COLUMNS:
                found[key] = known.get(key, [])[:at] + value
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                old = known.get(key, [])
                old = old if len(old) == len(value) else [{}] * len(value)
                found[key] = [self._over(before, new, at) for before, new in zip(old, value, strict=True)]
            else:
                found[key] = value
        return found

    @property
    def film(self):
        return {key: value for key, value in self.known.items() if key not in ("from", "film", "state")}


def film_of(race, **options):
    watched = RaceReader(race)
    watched.pull()
    watched.move(watched.last)
    return json.loads(json.dumps(content(race_film(watched, by="its owner", max_steps=MAX_FILM_STEPS, **options))))


def test_message_after_message_it_is_the_film(registry):
    race, _, feed = shared(registry)
    early, late = Player(), Player()
    early.take(feed.pull())
    assert early.known["state"] == "The race has not begun yet …"
    assert (early.known["steps"], early.known["lines"][0]["name"]) == ([], "lr")
    moves = [(3, None), (2, 0), (1, 1), (4, 1), (1, None), (20, None)]
    for count, racer in moves:
        race.take(count, racer)
        early.take(feed.pull())
        assert early.film == film_of(race)
        assert feed.pull() == b""
    late.take(feed.full_message)
    race.take(2)
    race.end()
    line = feed.pull()
    assert early.take(line).known == late.take(line).known
    assert early.film == film_of(race)
    assert early.film["verdicts"][-1][1] not in ("", "Nothing is decided yet.")
    assert early.known["state"] == "The race is over."


def test_what_is_known_is_not_told_again(registry):
    race, _, feed = shared(registry)
    race.take(40)
    first = feed.pull()
    race.take(1)
    message = json.loads(feed.pull())
    assert message["from"] == 40
    assert message["steps"] == [40]
    assert not {"title", "about", "axes"} & message.keys()
    assert len(json.dumps(message)) < len(first) / 5


def test_of_a_long_race_every_second_step_goes(registry):
    race, _, feed = shared(registry)
    player = Player()
    for _ in range(12):
        race.take(100)
        player.take(feed.pull())
        assert player.film == film_of(race)
        assert len(player.known["steps"]) <= MAX_FILM_STEPS + 1
    assert player.known["steps"] == [*range(0, 1199, 4), 1199]


def test_the_link_leads_on_to_the_next_race_and_ends_when_it_is_taken_back(registry):
    race, entry, feed = shared(registry)
    race.take(5)
    player = Player().take(feed.pull())
    other = ByHand(race.recipes[0].replace(alpha=1.0))
    after = registry.add(other, "ann")
    secret = entry.token
    registry.transfer_link(entry, after)
    assert registry.find_by_token(secret) is after
    other.take(2)
    assert player.take(feed.pull()).film == film_of(other)
    registry.revoke_link(after)
    assert feed.pull() == b'{"gone":true}\n'
    assert feed.is_ended
    assert registry.find_by_token(secret) is None
    alone = registry.add(ByHand(), "ann")
    registry.transfer_link(alone, after)
    assert not after.is_shared, "nobody was given its link"


def test_whoever_looks_on_keeps_the_race_going_and_does_nothing_else(registry):
    now = [0.0]
    registry = Registry(ServerLimits(idle=60), clock=lambda: now[0], timer=False)
    race, entry, feed = shared(registry)
    entry.start()
    for _ in range(3):
        now[0] += 50
        feed.pull()
        registry.sweep()
    assert race.calls == ["start"]
    now[0] += 61
    registry.sweep()
    assert race.calls == ["start", "stop"]
    assert "Stopped by the server" in Player().take(feed.pull()).known["verdicts"][-1][1]


def test_the_last_step_of_a_racer_that_ends_while_others_are_read_is_told(registry, monkeypatch):
    race, _, feed = shared(registry)
    race.take(3)
    race.take(1, racer=0)
    pull = RaceReader.pull

    def pulled(watched):
        new = pull(watched)
        if race.runs[1].outcome is None:
            race.take(1, racer=1)
            race.runs[1].outcome = Outcome("converged", "by hand")
        return new

    monkeypatch.setattr("alrviz.explorer.web.race_feed.RaceReader.pull", pulled)
    player = Player().take(feed.pull())
    assert player.take(feed.pull()).film == film_of(race)


def test_it_says_who_paused(registry):
    race, entry, feed = shared(registry)
    entry.start()
    race.take(2)
    assert Player().take(feed.pull()).known["state"] == "Live."
    race.pause()
    assert json.loads(feed.pull())["state"] == "Paused by its owner."


def test_once_held_out_rows_were_scored_the_sentence_tells_a_tie(registry, monkeypatch):
    monkeypatch.setattr("alrviz.views.core.trace_reader.heldout_losses", lambda run: np.array([0.5, 0.7, 0.6, 0.4]))
    race, _, feed = shared(registry, ByHand(Recipe("lr", alpha=0), Recipe("lr", alpha=1.0)))
    race.take(5)
    race.end()
    player = Player().take(feed.pull())
    feed._tie_scoring.wait(10)
    assert "a tie" in player.take(feed.pull()).known["verdicts"][-1][2]
    assert feed.pull() == b""


def test_nobody_is_told_more_than_the_owners_screen_has_shown(registry):
    race, entry, feed = shared(registry)
    entry.was_on_screen, entry.screens = True, {1}
    reader = Player()
    race.take(100)
    race.end()
    reader.take(feed.pull())
    assert reader.known["steps"] == []
    for seen in (0, 7, 8, 60):
        entry.last_seen_iteration = seen
        reader.take(feed.pull())
        assert reader.known["steps"] == list(range(seen + 1))
        assert all(
            len(line["y"]) == seen + 1 for view in reader.known["measures"] for line in view["lines"] if line["y"]
        )
        assert reader.known["state"] == "Live."
        assert not any(" after " in headline or "fast" in headline for _, headline, _ in reader.known["verdicts"])
        late = Player().take(feed.full_message)
        assert late.film == reader.film
    for resting, state in (("paused", "Paused by its owner."), ("away", "Its owner is on another page.")):
        entry.rest_reason = resting
        assert reader.take(feed.pull()).known["state"] == state
    entry.last_seen_iteration, entry.rest_reason = 99, ""
    reader.take(feed.pull())
    assert reader.film == film_of(race)
    assert reader.known["state"] == "The race is over."


def test_a_race_that_its_owner_stopped_is_over_where_the_owner_saw_it(registry):
    race, entry, feed = shared(registry)
    entry.was_on_screen, entry.screens = True, {1}
    race.take(100)
    race.end()
    race.stopped_at, entry.last_seen_iteration = 40, 42
    reader = Player().take(feed.pull())
    assert reader.known["steps"] == list(range(41))
    assert reader.known["state"] == "The race is over."
    assert reader.known["verdicts"][-1][1].startswith("Stopped by its owner after 40 iterations")


def test_a_race_that_goes_on_without_its_owner_is_told_as_it_goes(registry):
    race, entry, feed = shared(registry)
    entry.was_on_screen, entry.screens = True, {1}
    race.take(30)
    entry.last_seen_iteration = 3
    reader = Player().take(feed.pull())
    entry.screens.clear()
    reader.take(feed.pull())
    assert len(reader.known["steps"]) == 4, "a lost connection shows nothing"
    entry.keep = True
    assert len(reader.take(feed.pull()).known["steps"]) == 30
