"""BandwidthView: bandwidths and losses along a DLR fit, with a line at the current step; a click scrubs.

It shows a `BandwidthPath`, which may grow while the fit runs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import param

from alrviz import __version__
from alrviz.pictures.bandwidths import bandwidth_pictures
from alrviz.pictures.picture import Plot
from alrviz.studies.core.export import to_csv
from alrviz.studies.density.density_frames import BandwidthPath, path_frame
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import as_high, fade, html, say, stack
from alrviz.views.core.saving import Origin, by_version, csv_button, file_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.maps.live_map import PRESS_EVENTS
from alrviz.views.race.texts import evenly_spread, more_in_csv, number

HEIGHTS = ("250px", "200px")
LAYOUT_HEIGHT_PX = 200  # for Panel's layout; the CSS heights are HEIGHTS


class BandwidthView(NotebookViewer):
    """Bandwidths relative to Silverman's, and NLL per row, by step.

    Args:
        path: the path, or None for an empty view.
        on_scrub: called with a step when a picture is clicked.
        heights: CSS heights of the two pictures.
        numbers: title of the folded table, different for each view on a page.
        film: makes the replay page; adds a button that saves it.
        provenance: returns the provenance line of saved pictures.

    >>> import alrviz, numpy as np
    >>> from alrviz.studies.density.density_frames import BandwidthPath
    >>> steps, moved = np.arange(3), np.array([False, True, True])
    >>> losses = {"training": np.array([0.7, 0.5, 0.4])}
    >>> path = BandwidthPath(steps, ("u",), np.array([[1.0], [0.6], [0.5]]), losses, moved)
    >>> view = alrviz.BandwidthView(path, head=1)
    """

    head = param.Integer(default=0, bounds=(0, None), doc="Step marked by the line.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the fit was started.")

    def __init__(
        self,
        path: BandwidthPath | None = None,
        *,
        on_scrub: Callable[[int], None] | None = None,
        heights: tuple[str, str] = HEIGHTS,
        numbers: str = "Numbers",
        film: Callable[[], bytes] | None = None,
        provenance: Callable[[], str] = by_version,
        **params: Any,
    ):
        super().__init__(**params)
        self._on_scrub, self._provenance = on_scrub, provenance
        self.path: BandwidthPath | None = None
        self.ratios = LiveFigure("alrviz-bandwidths", on_new_figure=self._connect)
        self.losses = LiveFigure("alrviz-bandwidths-nll", on_new_figure=self._connect)
        self._build(heights, numbers, film)
        self.param.watch(lambda *_: self._mark_step(), ["head", "outdated"])
        self.param.watch(lambda _: self.watch(self.path), "dark")
        self.watch(path)

    def _build(self, heights: tuple[str, str], numbers: str, film: Callable[[], bytes] | None) -> None:
        panes = self.ratios.pane, self.losses.pane
        self.places = [as_high(pane, height, LAYOUT_HEIGHT_PX) for pane, height in zip(panes, heights, strict=True)]
        self.sentence = html()
        buttons = [
            *picture_buttons({"bandwidths": self.ratios, "losses": self.losses}, self.origin),
            csv_button("alrviz-bandwidths.csv", self._csv, "bandwidths and losses at every step"),
        ]
        if film is not None:
            buttons.append(file_button("alrviz-film.html", film, "one page that plays the fit", "Replay (HTML)"))
        self._numbers = Numbers(buttons, lambda: "" if self.path is None else numbers_html(self.path), title=numbers)
        # A page with many pictures may place pictures and texts separately.
        self.top, self.rest = stack(*self.places), stack(self.sentence, self._numbers)
        self.layout = ViewLayout(self.top, self.rest)

    def origin(self, subject: str) -> Origin:
        """Return title and provenance of a saved picture of `subject`."""
        return Origin(f"{subject.capitalize()} of a fit, step by step", self._provenance())

    def watch(self, path: BandwidthPath | None) -> None:
        """Show the bandwidths over the steps of a fit; called again as steps are added.

        None, or no steps yet: leave the pictures and say that there are no bandwidths yet.
        """
        self.path = path
        if path is None or not len(path.iterations):
            say(self.sentence, "<p class='quiet'>No bandwidths yet: they come with the steps of a fit.</p>")
            return
        with pn.io.hold():
            ratio_picture, loss_picture = bandwidth_pictures(path, dark=self.dark)
            self.ratios.show(ratio_picture)
            self.losses.show(loss_picture)
            self.places[0].visible = bool(path.columns)
            self._mark_step()
        self._numbers.refresh()

    def _connect(self, plot: Plot) -> None:
        ratio_plot = self.ratios.plot
        if ratio_plot is not None and plot is not ratio_plot:
            plot.figure.x_range = ratio_plot.figure.x_range  # keeps the steps of both pictures aligned
        for kind in PRESS_EVENTS:
            plot.figure.on_event(kind, lambda event: self._scrub_near(event.x))

    def _scrub_near(self, x: float) -> None:
        if self.path is not None and self._on_scrub is not None:
            steps = self.path.iterations
            self._on_scrub(int(steps[np.abs(steps - x).argmin()]))

    def _mark_step(self) -> None:
        """Move the line to the current step, and show its losses."""
        path = self.path
        fade(self.outdated, *self.places)  # not the figures: a style of a figure replaced at once would be lost
        if path is None or not len(path.iterations):
            return
        for picture in (self.ratios, self.losses):
            cursor = None if picture.plot is None else picture.plot.parts["cursor"]
            if cursor is not None and cursor.location != self.head:
                cursor.location = float(self.head)
        k = int(np.clip(np.searchsorted(path.iterations, self.head, side="right") - 1, 0, len(path.iterations) - 1))
        loss_texts = [f"{safe(sample_name)} {number(float(values[k]))}" for sample_name, values in path.losses.items()]
        n_moves = int(path.outer[: k + 1].sum())
        times_text = f"{n_moves:,} time{'s' if n_moves != 1 else ''}"
        step_text = f"Iteration {int(path.iterations[k]):,}: loss per row {', '.join(loss_texts)} nats"
        say(self.sentence, f"<p class='quiet'>{step_text}; bandwidths moved {times_text} so far.</p>")

    def _csv(self) -> str:
        return "" if self.path is None else to_csv(path_frame(self.path), {"alrviz": __version__})


def numbers_html(path: BandwidthPath) -> str:
    """Return the table of steps, thinned evenly."""
    titles = [
        "iteration",
        *(f"loss, {rows}" for rows in path.losses),
        *(f"bandwidth of {safe(name, 60)}" for name in path.columns),
    ]
    n_steps = len(path.iterations)
    table_rows = []
    for k in evenly_spread(n_steps):
        cells = [f"{int(path.iterations[k]):,}", *(number(float(values[k]), 6) for values in path.losses.values())]
        cells += [number(float(value)) for value in path.ratios[k]]
        table_rows.append(cells)
    note = "<p class='quiet'>Bandwidths relative to Silverman's.</p>"
    return f"{html_table(titles, table_rows)}{note}{more_in_csv(n_steps, 'iterations')}"
