"""DensityRatioView: for each column of a DLR model phi(x), its rows, weight and bandwidth, which can be dragged.

It shows one `DensityFrame` at a time, from a film, a running fit, or bandwidths set by hand. Panes are built once; new
figures are made only when other columns are shown.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from param.parameterized import Event

from alrviz import __version__
from alrviz.studies.core.export import to_csv
from alrviz.studies.density.density_frames import DensityFrame, density_table
from alrviz.views.core.browser_ready import server_session
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import fade, html, say, stack
from alrviz.views.core.saving import by_version, csv_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.density.ratio_cell import HEIGHT_PX, MIN_WIDTH_PX, RatioCell

MAX_PICTURES = 6  # columns shown by default
BUILD_SECONDS = 2.5  # measured time that a browser needs for the first sliders of a page


class DensityRatioView(NotebookViewer):
    """Density log-ratios of a DLR model, a picture per column.

    Args:
        scene: the frame, or None for an empty view.
        on_bandwidth: called with a column's name and a bandwidth, in the column's units, while its slider is dragged;
            without it there are no sliders.
        per_row: pictures per row.
        height: CSS height of a picture.
        numbers: title of the folded table, different for each view on a page.
        provenance: returns the provenance line of saved pictures.

    >>> import alrviz, numpy as np
    >>> from alrviz.studies.density.density_frames import ColumnRatio, DensityFrame
    >>> x = np.linspace(-2, 2, 50)
    >>> ratio = ColumnRatio("u", x**3, 1.2, x=x, bandwidth=0.3, silverman=0.4)
    >>> view = alrviz.DensityRatioView(DensityFrame((ratio,), ("a", "b")))
    """

    chosen_columns = param.List(default=[], doc="Columns shown; empty for the most important ones.")
    weighted = param.Boolean(default=True, doc="Whether w phi is drawn, or phi alone.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the fit was started.")

    def __init__(
        self,
        scene: DensityFrame | None = None,
        *,
        on_bandwidth: Callable[[str, float], None] | None = None,
        per_row: int = 3,
        height: str = f"{HEIGHT_PX}px",
        numbers: str = "Numbers",
        provenance: Callable[[], str] = by_version,
        **params: Any,
    ):
        super().__init__(**params)
        self._on_bandwidth, self._provenance = on_bandwidth, provenance
        self._per_row, self._height = per_row, height
        self.scene: DensityFrame | None = None
        self._column_names: tuple[str, ...] = ()
        self.cells: dict[str, RatioCell] = {}
        self._layout_time = float("-inf")  # time of the latest layout of the cells
        self._build(numbers)
        self.param.watch(lambda _: self._lay_out(), "chosen_columns")
        self.param.watch(lambda *_: self._draw(), ["weighted", "dark"])
        self.param.watch(lambda _: fade(self.outdated, self._picture_area), "outdated")
        self.watch(scene)

    def _build(self, numbers: str) -> None:
        self._weighted = pmui.Switch(label="times its weight", value=self.weighted, margin=(0, 12, 0, 0))
        self._weighted.link(self, value="weighted", bidirectional=True)
        self._columns = pmui.MultiChoice(
            label="Columns", options=[], sizing_mode="stretch_width", max_width=360, visible=False, margin=0
        )
        self._columns.param.watch(self._menu_changed, "value")
        self.sentence = html()
        self._picture_area, self._saving = stack(), stack(margin=(0, 0, 8, 0))
        csv_save_button = csv_button("alrviz-density-ratios.csv", self._csv, "phi, weight and w phi of every column")
        self._numbers = Numbers([self._weighted, csv_save_button], self._numbers_html, self._saving, title=numbers)
        # A page with many pictures may place pictures and texts separately.
        self.top, self.rest = stack(self._columns, self._picture_area), stack(self.sentence, self._numbers)
        self.layout = ViewLayout(self.top, self.rest)

    def watch(self, scene: DensityFrame | None) -> None:
        """Show a frame; None empties the view."""
        self.scene = scene
        names = () if scene is None else tuple(ratio.column for ratio in scene.columns)
        if names != self._column_names:
            self._column_names = names
            still_chosen_names = [name for name in self.chosen_columns if name in names]
            self._columns.param.update(options=list(names), visible=len(names) > MAX_PICTURES)
            if still_chosen_names == self.chosen_columns:
                self._lay_out()
            else:
                self.chosen_columns = still_chosen_names
            return
        self._draw()

    @property
    def sliders_loading(self) -> bool:
        """Whether a browser may still be building the sliders and would miss changes."""
        return server_session() is not None and time.monotonic() - self._layout_time < BUILD_SECONDS

    def _menu_changed(self, event: Event) -> None:
        if set(event.new) != set(self.cells):
            self.chosen_columns = [name for name in self._column_names if name in event.new]

    def _lay_out(self) -> None:
        """Lay out a cell for each column to show."""
        names = self._columns_to_show()
        if names != list(self.cells):
            old_cells = self.cells
            cell_options = self._on_bandwidth, self._height, self._provenance_line
            self.cells = {name: old_cells.get(name) or RatioCell(name, *cell_options) for name in names}
            self._feed()  # before the layout, because a browser may miss changes of a slider while it builds it
            cell_panels = [cell.panel for cell in self.cells.values()]
            per_row = min(self._per_row, max(len(cell_panels), 1))
            while len(cell_panels) % per_row:  # so that all pictures have the same width
                cell_panels.append(pn.Spacer(sizing_mode="stretch_width", min_width=MIN_WIDTH_PX))
            panel_rows = [cell_panels[k : k + per_row] for k in range(0, len(cell_panels), per_row)]
            self._layout_time = time.monotonic()
            self._picture_area[:] = [pn.Row(*row, sizing_mode="stretch_width", margin=0) for row in panel_rows]
            self._saving[:] = [cell.saving for cell in self.cells.values()]
            self._columns.value = names
        self._draw()

    def _columns_to_show(self) -> list[str]:
        if self.scene is None:
            return []
        if self.chosen_columns:
            return [name for name in self._column_names if name in self.chosen_columns]
        most_important = sorted(self.scene.columns, key=lambda ratio: -ratio.importance)[:MAX_PICTURES]
        strongest_columns = {ratio.column for ratio in most_important}
        return [name for name in self._column_names if name in strongest_columns]

    def _feed(self) -> None:
        scene = self.scene
        if scene is not None:
            with pn.io.hold():
                for ratio in scene.columns:
                    if ratio.column in self.cells:
                        self.cells[ratio.column].show(ratio, scene.classes, self.weighted, self.dark)

    def _draw(self) -> None:
        self._feed()
        self._show_sentence()
        self._numbers.refresh()

    # -- words --------------------------------------------------------------------------------------------------------

    def _show_sentence(self) -> None:
        scene = self.scene
        if scene is None or not scene.columns:
            say(self.sentence, "<p class='quiet'>No density ratios yet: they come with the first step of a fit.</p>")
            return
        is_binary = len(scene.classes) == 2
        quantity_html = "w&nbsp;&phi;(x), filled, and &phi;(x), dashed" if self.weighted and is_binary else (
            "w&nbsp;&phi;(x)" if self.weighted else "&phi;(x)"
        )  # fmt: skip
        meaning_text = f"above 0 speaks for {safe(scene.classes[1], 40)}" if is_binary else "one line per class"
        n_hidden = len(scene.columns) - len(self.cells)
        shown_text = f"; {len(self.cells)} of {len(scene.columns)} columns shown" if n_hidden else ""
        note = f" <b>{safe(scene.note, 80)}</b>" if scene.note else ""
        say(self.sentence, f"<p class='quiet'>Density log-ratio {quantity_html}: {meaning_text}{shown_text}.{note}</p>")

    def _provenance_line(self) -> str:
        """Return provenance and step of the frame."""
        scene = self.scene
        step_text = (
            "" if scene is None else f" · iteration {scene.iteration:,}{f' · {scene.note}' if scene.note else ''}"
        )
        return self._provenance() + step_text

    def _numbers_html(self) -> str:
        """Return the table with the weights and bandwidths of all columns."""
        table_rows = []
        for ratio in () if self.scene is None else self.scene.columns:
            weight_text = ", ".join(f"{value:.4g}" for value in np.atleast_1d(ratio.weight)[:8])
            bandwidth_text = f"{ratio.bandwidth:.4g}" if np.isfinite(ratio.bandwidth) else "&ndash;"
            relative = ratio.bandwidth / ratio.silverman
            relative_text = f"{relative:.4g}" if np.isfinite(relative) else "&ndash;"
            table_rows.append(
                (safe(ratio.column, 60), weight_text, bandwidth_text, relative_text, f"{ratio.importance:.4g}")
            )
        return html_table(
            ("column", "weight", "bandwidth", "bandwidth / Silverman's", "spread of w &phi; (nats)"), table_rows
        )

    def _csv(self) -> str:
        if self.scene is None:
            return ""
        return to_csv(density_table(self.scene), {"alrviz": __version__, "step": self.scene.iteration})
