"""DensityFilmView without a browser: what is seen at a step, and that all pictures stand at it together."""

import pytest

import alrviz
from alrviz.errors import RecipeError
from tests.conftest import wait_until


@pytest.fixture(scope="module")
def race():
    race = alrviz.race(
        alrviz.load_demo("two-moons", rows=150), [alrviz.Recipe("dlr", bandwidth="loo", max_iter=8, alpha=10.0)]
    )
    for run in race.runs:
        for _ in run.steps():
            pass
    return race


def settle(film):
    wait_until(lambda: not film.pump(), 90, "the pictures", every=0.01)


def test_all_pictures_stand_at_the_step_shown(race):
    film = alrviz.DensityFilmView(race)
    settle(film)
    last = race.runs[0].state.index
    assert film.player.head == film.path.head == film.ratios.scene.iteration == last
    assert film.map.surface.is_last
    late = {ratio.column: ratio.bandwidth for ratio in film.ratios.scene.columns}
    film.player.scrub(0)
    settle(film)
    assert film.player.head == film.path.head == film.ratios.scene.iteration == 0
    early = {ratio.column: ratio for ratio in film.ratios.scene.columns}
    assert all(ratio.bandwidth == pytest.approx(ratio.silverman, rel=1e-6) for ratio in early.values())
    assert all(abs(late[name] / early[name].silverman - 1) > 0.01 for name in late)
    assert len(film.path.path.iterations) == last + 1
    for origin in (film.path.origin("the losses"), film.ratios.cells["x1"].origin()):
        assert "data two-moons" in origin.made_from
        assert race.recipes[0].name in origin.made_from


def test_a_press_on_the_losses_scrubs_everything(race):
    film = alrviz.DensityFilmView(race)
    settle(film)
    film.path._scrub_near(2.2)
    settle(film)
    assert film.player.head == film.path.head == film.ratios.scene.iteration == 2


def test_light_and_dark_reach_every_picture(race):
    film = alrviz.DensityFilmView(race)
    film.dark = True
    assert film.map.dark
    assert film.ratios.dark
    assert film.path.dark
    settle(film)


def test_run_runs_a_fit_that_waits(race):
    fresh = alrviz.race(race.dataset, [alrviz.Recipe("dlr", bandwidth="loo", max_iter=3, alpha=10.0)])
    film = alrviz.DensityFilmView(fresh)
    assert film.ratios.scene is None
    film.player.press_run()
    wait_until(lambda: film.pump() is False, 60, "the end of the fit", every=0.02)
    assert film.ratios.scene.iteration == fresh.runs[0].state.index > 0


def test_a_race_that_is_no_single_fit_of_dlr_is_refused(race):
    several = [
        alrviz.Recipe("dlr", bandwidth="loo", alpha=10.0),
        alrviz.Recipe("dlr", bandwidth="silverman", alpha=10.0),
    ]
    for recipes in ([alrviz.Recipe("lr", alpha=0.3)], several):
        with pytest.raises(RecipeError, match="one recipe of family dlr; got " + recipes[0].label):
            alrviz.DensityFilmView(alrviz.race(race.dataset, recipes))


def test_a_film_nobody_sees_works_nothing_out_and_goes_on_when_seen(race):
    film = alrviz.DensityFilmView(race)
    film.stop()
    assert not film.pump()
    assert film.ratios.scene is None
    film.player.scrub(1)
    settle(film)
    assert film.ratios.scene.iteration == 1
