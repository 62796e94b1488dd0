"""DensityRatioView: per column of a DLR model phi(x), its rows, its weight and its bandwidth, which may be dragged.

It is given a `DensityFrame` at a time, from a film, a fit that runs, or bandwidths set by hand. Panes are built once;
figures are made anew only where other columns are shown.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param

from alrviz import __version__
from alrviz.studies.core.export import to_csv
from alrviz.studies.density.density_frames import DensityFrame, scene_frame
from alrviz.views.core.browser_ready import server_session
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import fade, html, say, stack
from alrviz.views.core.saving import by_version, csv_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.density.ratio_cell import HEIGHT, MIN_WIDTH, RatioCell

MOST = 6  # columns shown at first
BUILT = 2.5  # seconds that a browser has for new sliders: as long it took with a page's first ones


class DensityRatioView(NotebookViewer):
    """The density log-ratios of a DLR model, a picture per column.

    Args:
        scene: what is shown first, None for nothing yet.
        on_bandwidth: called with a column's name and a bandwidth, in units of the column, while its slider is dragged;
            without it there are no sliders.
        most: columns shown until others are chosen: those that can move scores most.
        beside: pictures beside each other. height: of one picture, as CSS has it.
        numbers: title of the folded table; a page that shows several views gives each its own.
        made_from: says in a line what the scene is of, for pictures that are saved.

    >>> import alrviz, numpy as np
    >>> from alrviz.studies.density.density_frames import ColumnRatio, DensityFrame
    >>> x = np.linspace(-2, 2, 50)
    >>> ratio = ColumnRatio("u", x**3, 1.2, x=x, bandwidth=0.3, silverman=0.4)
    >>> view = alrviz.DensityRatioView(DensityFrame((ratio,), ("a", "b")))
    """

    chosen = param.List(default=[], doc="The columns shown; empty: those that can move scores most.")
    weighted = param.Boolean(default=True, doc="Whether w phi is drawn, or phi alone.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the fit shown.")

    def __init__(
        self,
        scene: DensityFrame | None = None,
        *,
        on_bandwidth: Callable[[str, float], None] | None = None,
        most: int = MOST,
        beside: int = 3,
        height: str = f"{HEIGHT}px",
        numbers: str = "Numbers",
        made_from: Callable[[], str] = by_version,
        **params: Any,
    ):
        super().__init__(**params)
        self._on_bandwidth, self._most, self._beside, self._height = on_bandwidth, most, beside, height
        self._made_from = made_from
        self.scene: DensityFrame | None = None
        self._known: tuple[str, ...] = ()
        self.cells: dict[str, RatioCell] = {}
        self._laid_out = float("-inf")  # when they were last
        self._build(numbers)
        self.param.watch(lambda _: self._choose(), "chosen")
        self.param.watch(lambda *_: self._draw(), ["weighted", "dark"])
        self.param.watch(lambda _: fade(self.outdated, self._area), "outdated")
        self.watch(scene)

    def _build(self, numbers: str) -> None:
        self._weighted = pmui.Switch(label="times its weight", value=self.weighted, margin=(0, 12, 0, 0))
        self._weighted.link(self, value="weighted", bidirectional=True)
        self._columns = pmui.MultiChoice(
            label="Columns", options=[], sizing_mode="stretch_width", max_width=360, visible=False, margin=0
        )
        self._columns.param.watch(self._picked, "value")
        self.sentence = html()
        self._area, self._saving = stack(), stack(margin=(0, 0, 8, 0))
        save = csv_button("alrviz-density-ratios.csv", self._csv, "phi, weight and w phi of every column")
        self._numbers = Numbers([self._weighted, save], self._numbers_html, self._saving, title=numbers)
        # A page of many pictures may show what is seen first, and what is read later, in places of its own.
        self.top, self.rest = stack(self._columns, self._area), stack(self.sentence, self._numbers)
        self.layout = ViewLayout(self.top, self.rest)

    def watch(self, scene: DensityFrame | None) -> None:
        """Show a scene; None empties the view."""
        self.scene = scene
        names = () if scene is None else tuple(ratio.column for ratio in scene.columns)
        if names != self._known:
            self._known = names
            kept = [name for name in self.chosen if name in names]
            self._columns.param.update(options=list(names), visible=len(names) > self._most)
            if kept == self.chosen:
                self._choose()
            else:
                self.chosen = kept
            return
        self._draw()

    @property
    def building(self) -> bool:
        """Whether a browser may still be building the sliders: what they are told meanwhile it may miss."""
        return server_session() is not None and time.monotonic() - self._laid_out < BUILT

    def _picked(self, event: Any) -> None:
        if set(event.new) != set(self.cells):
            self.chosen = [name for name in self._known if name in event.new]

    def _choose(self) -> None:
        """Lay out a cell per column that is shown."""
        names = self._wanted()
        if names != list(self.cells):
            old = self.cells
            hand = self._on_bandwidth, self._height, self._line
            self.cells = {name: old.get(name) or RatioCell(name, *hand) for name in names}
            self._feed()  # before they are laid out: a browser may miss what a slider is told while it is built
            cells = [cell.panel for cell in self.cells.values()]
            beside = min(self._beside, max(len(cells), 1))
            while len(cells) % beside:  # all pictures are equally wide
                cells.append(pn.Spacer(sizing_mode="stretch_width", min_width=MIN_WIDTH))
            rows = [cells[k : k + beside] for k in range(0, len(cells), beside)]
            self._laid_out = time.monotonic()
            self._area[:] = [pn.Row(*row, sizing_mode="stretch_width", margin=0) for row in rows]
            self._saving[:] = [cell.saving for cell in self.cells.values()]
            self._columns.value = names
        self._draw()

    def _wanted(self) -> list[str]:
        if self.scene is None:
            return []
        if self.chosen:
            return [name for name in self._known if name in self.chosen]
        by_far = sorted(self.scene.columns, key=lambda ratio: -ratio.importance)[: self._most]
        strongest = {ratio.column for ratio in by_far}
        return [name for name in self._known if name in strongest]

    def _feed(self) -> None:
        scene = self.scene
        if scene is not None:
            with pn.io.hold():
                for ratio in scene.columns:
                    if ratio.column in self.cells:
                        self.cells[ratio.column].show(ratio, scene.classes, self.weighted, self.dark)

    def _draw(self) -> None:
        self._feed()
        self._say()
        self._numbers.refresh()

    # -- words --------------------------------------------------------------------------------------------------------

    def _say(self) -> None:
        scene = self.scene
        if scene is None or not scene.columns:
            say(self.sentence, "<p class='quiet'>No density ratios yet: they come with the first step of a fit.</p>")
            return
        two = len(scene.classes) == 2
        what = "w&nbsp;&phi;(x), filled, and &phi;(x), dashed" if self.weighted and two else (
            "w&nbsp;&phi;(x)" if self.weighted else "&phi;(x)"
        )  # fmt: skip
        whom = f"above 0 speaks for {safe(scene.classes[1], 40)}" if two else "one line per class"
        hidden = len(scene.columns) - len(self.cells)
        some = f"; {len(self.cells)} of {len(scene.columns)} columns shown" if hidden else ""
        note = f" <b>{safe(scene.note, 80)}</b>" if scene.note else ""
        say(self.sentence, f"<p class='quiet'>Density log-ratio {what}: {whom}{some}.{note}</p>")

    def _line(self) -> str:
        """What the scene is of, and which step."""
        scene = self.scene
        step = "" if scene is None else f" · step {scene.iteration:,}{f' · {scene.note}' if scene.note else ''}"
        return self._made_from() + step

    def _numbers_html(self) -> str:
        return "" if self.scene is None else numbers_html(self.scene)

    def _csv(self) -> str:
        if self.scene is None:
            return ""
        return to_csv(scene_frame(self.scene), {"alrviz": __version__, "step": self.scene.iteration})


def numbers_html(scene: DensityFrame) -> str:
    """The table below: one line a column."""
    lines = []
    for ratio in scene.columns:
        w = ", ".join(f"{value:.4g}" for value in np.atleast_1d(ratio.weight)[:8])
        h = f"{ratio.bandwidth:.4g}" if np.isfinite(ratio.bandwidth) else "&ndash;"
        relative = ratio.bandwidth / ratio.silverman
        r = f"{relative:.4g}" if np.isfinite(relative) else "&ndash;"
        lines.append((safe(ratio.column, 60), w, h, r, f"{ratio.importance:.4g}"))
    return html_table(("column", "w", "h", "h / Silverman's", "spread of w &phi; (nats)"), lines)
