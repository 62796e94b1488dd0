"""DensityFilmView: a DLR fit as a film: map, density ratios, bandwidths and losses change together, step by step.

Buttons and slider are those of a race (`FitPlayer`). The pictures of a step are computed on a thread; when steps pass
quickly, only the latest is.
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
from alrviz.views.core.panes import HALF_GROWTHS, html, say, side_by_side, stack
from alrviz.views.core.style import safe
from alrviz.views.density.bandwidths import BandwidthView
from alrviz.views.density.density_ratio import DensityRatioView
from alrviz.views.maps.decision_map import DecisionMapView
from alrviz.views.race.fit_player import FitPlayer

TICK_MS = 100
ASSUMED_MAP_WIDTH_PX = 420  # that the legend and the shape of the map reckon with; the map itself stretches
PATH_WIDTH_PX = 340  # minimum width of the bandwidths


class DensityFilmView(NotebookViewer):
    """Film of a DLR fit.

    Args:
        race: `alrviz.race(dataset, [recipe])` with a single recipe of family dlr, started or not.

    Raises:
        RecipeError: if the race has another recipe, or several.

    >>> import alrviz
    >>> recipe = alrviz.Recipe("dlr", bandwidth="loo", alpha=10)
    >>> race = alrviz.race(alrviz.load_demo("two-moons", rows=200), [recipe])
    >>> film = alrviz.DensityFilmView(race)
    """

    def __init__(self, race: Race, **params: Any):
        super().__init__(**params)
        if len(race.recipes) != 1 or not race.recipes[0].definition.takes_numbers:
            labels_text = ", ".join(recipe.label for recipe in race.recipes)
            raise RecipeError(f"a film shows one recipe of family dlr; got {labels_text}")
        self._wake = self._make_pump(self.pump, TICK_MS, self.stop)
        self._frame_job = LatestJob("a step of the film")
        self._scene: DensityFrame | None = None
        self._requested: Any = None
        self.player = FitPlayer(self._draw, self._wake, film=True)
        self.map = DecisionMapView(
            wake=self._wake, width=ASSUMED_MAP_WIDTH_PX, dark=self.dark, numbers="Numbers of the map"
        )
        common_params: dict[str, Any] = {"dark": self.dark, "provenance": self.player.made_from}
        self.ratios = DensityRatioView(per_row=2, numbers="Numbers of the density ratios", **common_params)
        title = "Numbers of the bandwidths"
        self.path = BandwidthView(on_scrub=self.player.scrub, numbers=title, film=self.player.film, **common_params)
        self.sentence = self.path.sentence
        self.error = html()
        bar = pn.Row(self.player.transport.panel, self.player.status, sizing_mode="stretch_width", margin=(0, 0, 8, 0))
        halves = side_by_side(
            stack(self.map),
            stack(self.path),
            ASSUMED_MAP_WIDTH_PX,
            PATH_WIDTH_PX,
            grow=HALF_GROWTHS,
            margin=(0, 0, 12, 0),
        )
        self.layout = ViewLayout(bar, self.error, halves, self.ratios)
        self.param.watch(lambda _: self._set_dark(), "dark")
        self.player.show(race)

    def _set_dark(self) -> None:
        for view in (self.map, self.ratios, self.path):
            view.dark = self.dark

    def _draw(self) -> None:
        """Start to compute the pictures of the current step, unless they were requested already."""
        reader = self.player.player.reader
        if reader is None or not len(reader.racers[0]):
            return
        racer, race, step = reader.racers[0], reader.race, reader.head
        run: Any = racer.run  # a dlr fit has an encoder and rows
        if (id(run), step, len(racer)) == self._requested:
            return
        self._requested = (id(run), step, len(racer))
        previous = self._scene

        def frames(stop: StopToken) -> Iterator[Any]:
            from alrviz.studies.density.density_film import (  # imports numba, for which the page need not wait
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

        self._frame_job.run(frames, self._show_frame, self._show_error)

    def stop(self) -> None:
        """Cancel the computation of pictures, because the page was left; the fit continues."""
        self._requested = None
        self._frame_job.cancel()
        self.map.stop()

    def pump(self) -> bool:
        """Follow the fit and show new pictures; return whether there may be more."""
        playing = self.player.pump()
        with pn.io.hold():
            computing = self._frame_job.poll()
        mapping = self.map.pump()
        return playing or mapping or computing

    def settle(self) -> None:
        """Show the last step computed so far, with its map."""
        self.player.catch_up()
        with pn.io.hold():
            self._frame_job.finish()
        self.map.settle()

    def _show_error(self, error: Exception) -> None:
        say(self.error, f"<p class='bad'>This step cannot be shown: {safe(error, 600)}</p>")

    def _show_frame(self, frame: Any) -> None:
        say(self.error, "")
        model, dataset, scene, path = frame
        self._scene = scene
        self.map.watch(model, dataset.X, dataset.y)
        self.ratios.watch(scene)
        self.path.watch(path)
        self.path.head = scene.iteration
