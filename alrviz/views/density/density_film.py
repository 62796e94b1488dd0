"""DensityFilmView: a DLR fit as a film; map, density ratios, bandwidths and losses move together, step by step.

Run, pause, step, step back, stop and the slider are those of a race (`FitPlayer`); what is seen at a step is worked out
on a thread, and of steps that pass quickly only the latest is.
"""

from collections.abc import Iterator
from typing import Any

import panel as pn

from alrviz.errors import RecipeError
from alrviz.job import LatestJob
from alrviz.stop import StopToken
from alrviz.studies.density.density_frames import DensityFrame
from alrviz.studies.race.race import Race
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import HALVES, html, say, side_by_side, stack
from alrviz.views.core.style import safe
from alrviz.views.density.bandwidths import BandwidthView
from alrviz.views.density.density_ratio import DensityRatioView
from alrviz.views.maps.decision_map import DecisionMapView
from alrviz.views.race.fit_player import FitPlayer

TICK = 100  # ms
HALF = 420  # px that the map's legend may count on
PATH_WIDTH = 340  # px that the bandwidths need


class DensityFilmView(NotebookViewer):
    """The film of a DLR fit.

    Args:
        race: `alrviz.race(dataset, [recipe])` of one recipe of family dlr, started or not.

    Raises:
        RecipeError: if the race has another recipe, or several.

    >>> import alrviz
    >>> race = alrviz.race(alrviz.load_demo("two-moons", rows=200), [alrviz.Recipe("dlr", bandwidth="loo")])
    >>> film = alrviz.DensityFilmView(race)
    """

    def __init__(self, race: Race, **params: Any):
        super().__init__(**params)
        if [recipe.family for recipe in race.recipes] != ["dlr"]:
            got = ", ".join(recipe.label for recipe in race.recipes)
            raise RecipeError(f"a film shows one recipe of family dlr; got {got}")
        self._wake = self._make_pump(self.pump, TICK, self.stop)
        self._moment = LatestJob("a step of the film")
        self._scene: DensityFrame | None = None
        self._drawn: Any = None
        self.player = FitPlayer(self._draw, self._wake, film=True)
        self.map = DecisionMapView(wake=self._wake, width=HALF, dark=self.dark, numbers="Numbers of the map")
        common: dict[str, Any] = {"dark": self.dark, "made_from": self.player.made_from}
        self.ratios = DensityRatioView(beside=2, numbers="Numbers of the density ratios", **common)
        title = "Numbers of the bandwidths"
        self.path = BandwidthView(on_scrub=self.player.scrub, numbers=title, film=self.player.film, **common)
        self.sentence = self.path.sentence
        self.error = html()
        bar = pn.Row(self.player.transport.panel, self.player.status, sizing_mode="stretch_width", margin=(0, 0, 8, 0))
        halves = side_by_side(stack(self.map), stack(self.path), HALF, PATH_WIDTH, grow=HALVES, margin=(0, 0, 12, 0))
        self.layout = ViewLayout(bar, self.error, halves, self.ratios)
        self.param.watch(lambda _: self._ground(), "dark")
        self.player.show(race)

    def _ground(self) -> None:
        for view in (self.map, self.ratios, self.path):
            view.dark = self.dark

    def _draw(self) -> None:
        """Have the step shown worked out, unless it was asked for last."""
        watched = self.player.player.reader
        if watched is None or not len(watched.racers[0]):
            return
        racer, race, step = watched.racers[0], watched.race, watched.head
        run: Any = racer.run  # a dlr fit, with its encoder and rows
        if (id(run), step, len(racer)) == self._drawn:
            return
        self._drawn = (id(run), step, len(racer))
        previous = self._scene

        def moments(stop: StopToken) -> Iterator[Any]:
            from alrviz.studies.density.density_film import (  # numba with it: a page need not wait
                bandwidth_path,
                density_frame_of,
            )
            from alrviz.studies.maps.run_classifier import model_at

            model: Any = model_at(run, step)
            if model is not None:
                stop.check()
                labels = [column.labels for column in run.encoder.columns_]
                scene = density_frame_of(model.model, run.encoded, labels, iteration=model.step, previous=previous)
                yield model, race.dataset, scene, bandwidth_path(run)

        self._moment.run(moments, self._show_moment, self._failed)

    def stop(self) -> None:
        """Give up what is worked out of the step shown: nobody looks any more. The fit itself goes on."""
        self._drawn = None
        self._moment.cancel()
        self.map.stop()

    def pump(self) -> bool:
        """Follow the fit and show what has come; returns whether there may be more."""
        more = self.player.pump()
        with pn.io.hold():
            coming = self._moment.poll()
        mapping = self.map.pump()
        return more or mapping or coming

    def settle(self) -> None:
        """Show the last step that has been computed by now, with its map."""
        self.player.catch_up()
        with pn.io.hold():
            self._moment.finish()
        self.map.settle()

    def _failed(self, error: Exception) -> None:
        say(self.error, f"<p class='bad'>This step cannot be shown: {safe(error, 600)}</p>")

    def _show_moment(self, found: Any) -> None:
        say(self.error, "")
        model, dataset, scene, path = found
        self._scene = scene
        self.map.watch(model, dataset.X, dataset.y)
        self.ratios.watch(scene)
        self.path.watch(path)
        self.path.head = scene.iteration
