"""Races by hand, and the views of them."""

from alrviz.views.race.race_view import RaceView
from tests.races import ByHand


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
    return view.picture.plot["train"][racer].data["y"]


def pump(view, times):
    for _ in range(times):
        view.pump()
