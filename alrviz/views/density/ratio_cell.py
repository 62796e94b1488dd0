"""One column of a DensityRatioView: text, picture, bandwidth slider and save buttons.

While the reader drags the slider, frames that arrive late do not move it back.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.pictures.bandwidths import TIMES_SILVERMANS
from alrviz.pictures.density import density_picture
from alrviz.studies.density.density_frames import ColumnRatio
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.panes import Updating, as_high, html, say, stack
from alrviz.views.core.saving import Origin
from alrviz.views.core.style import safe
from alrviz.views.core.transport import change, live_slider

HEIGHT_PX, MIN_WIDTH_PX = 200, 240  # of a picture
REST_SECONDS = 1.0  # after its last move the slider follows the model again
RATIOS = np.round(10 ** np.linspace(-3, 3, 121), 4)  # to Silverman's bandwidth: a fit's bounds, in steps of 12 %


class RatioCell:
    """Text, picture, slider and save buttons of a column.

    Args:
        column: name of the column.
        on_slide: called with the column and a bandwidth when the reader moves the slider; None for no slider.
        height: CSS height of the picture.
        provenance: returns the provenance line of the saved picture.
    """

    def __init__(
        self,
        column: str,
        on_slide: Callable[[str, float], None] | None,
        height: str,
        provenance: Callable[[], str],
    ):
        self.column, self._on_slide, self._provenance = column, on_slide, provenance
        self.picture = LiveFigure("alrviz-density-ratio")
        self.words = html(margin=(4, 0, 0, 8))
        options = {plain(ratio): float(ratio) for ratio in RATIOS}
        self.slider = live_slider(
            pmui.DiscreteSlider, self._slider_moved, label=f"{column}: {TIMES_SILVERMANS}", options=options,
            value=1.0, visible=False, margin=(0, 20, 8, 20),
        )  # fmt: skip
        self._placing, self._moved_at = Updating(), float("-inf")
        picture = as_high(self.picture.pane, height, HEIGHT_PX)
        self.panel = stack(self.words, picture, self.slider, min_width=MIN_WIDTH_PX)
        buttons = picture_buttons({column: self.picture}, lambda _: self.origin())
        title = html(sizing_mode=None, align="center", margin=(0, 8, 0, 0))
        say(title, f"<p>{safe(column, 60)}</p>")
        self.saving = pn.Row(title, *buttons, margin=0)
        self.ratio: ColumnRatio | None = None
        self._drawn_settings: Any = None

    def origin(self) -> Origin:
        """Return title and provenance of the saved picture."""
        ratio, provenance_parts = self.ratio, [self._provenance()]
        if ratio is not None:
            provenance_parts.append(f"w {' / '.join(plain(value) for value in np.atleast_1d(ratio.weight))}")
            if np.isfinite(ratio.bandwidth):
                provenance_parts.append(f"h {plain(ratio.bandwidth)}")
        return Origin(f"Density log-ratio of {self.column}", " · ".join(provenance_parts))

    def show(self, ratio: ColumnRatio, classes: Sequence[str], weighted: bool, dark: bool) -> None:
        """Show the column of a new frame.

        classes: their names; weighted: whether w phi is drawn, or phi alone; dark: whether the ground is dark.
        """
        settings = (tuple(classes), weighted, dark)
        if settings != self._drawn_settings or not self._is_drawn(ratio):
            old_picture = self.picture.picture
            y_range = None if old_picture is None else old_picture.y
            self.picture.show(density_picture(ratio, classes, weighted=weighted, dark=dark, view=y_range))
        self.ratio, self._drawn_settings = ratio, settings
        say(self.words, words_html(ratio, relative=self._on_slide is None))
        self._place_slider(ratio)

    def _is_drawn(self, ratio: ColumnRatio) -> bool:
        """Whether the picture shows this ratio already, as for all columns but the one whose slider moves."""
        drawn_ratio = self.ratio
        if drawn_ratio is None or drawn_ratio.phi is not ratio.phi or drawn_ratio.rug is not ratio.rug:
            return False
        return np.array_equal(drawn_ratio.weight, ratio.weight)

    def _place_slider(self, ratio: ColumnRatio) -> None:
        """Move the slider to the bandwidth, unless the reader moved it just now."""
        relative = ratio.bandwidth / ratio.silverman
        visible = self._on_slide is not None and ratio.x is not None and bool(np.isfinite(relative))
        change(self.slider, visible=visible)
        if visible:  # the label has the exact value, the slider only the nearest step
            ratio_text = plain(relative)
            change(
                self.slider,
                label=f"{self.column}: {ratio_text} {TIMES_SILVERMANS}",
                value_label=ratio_text,
            )
        if visible and time.monotonic() - self._moved_at >= REST_SECONDS:
            with self._placing:
                change(self.slider, value=float(RATIOS[int(np.abs(np.log(RATIOS) - np.log(relative)).argmin())]))

    def _slider_moved(self, event: Event) -> None:
        value = event.new
        if self._placing or self.ratio is None or self._on_slide is None or value is None:
            return
        self._moved_at = time.monotonic()
        self._on_slide(self.column, float(value) * self.ratio.silverman)


def plain(value: float, digits: int = 3) -> str:
    """Format a value with so many significant digits, as 1000 rather than 1e+03."""
    return f"{float(f'{value:.{digits}g}'):g}"


def words_html(ratio: ColumnRatio, relative: bool) -> str:
    """Return the column's name, weight and bandwidth as HTML.

    relative: whether to show the bandwidth relative to Silverman's too, as no slider shows it.
    """
    weights = np.atleast_1d(ratio.weight)
    weights_text = " / ".join(f"{value:.{3 if len(weights) == 1 else 2}g}" for value in weights[:4])
    weights_text += " …" if len(weights) > 4 else ""
    bandwidth_text = ""
    if np.isfinite(ratio.bandwidth):
        bandwidth_text = f" · bandwidth {plain(ratio.bandwidth)}"
        if relative:
            bandwidth_text += f", {plain(ratio.bandwidth / ratio.silverman)} {TIMES_SILVERMANS}"
    if ratio.left_out:
        bandwidth_text += f" · the {len(ratio.levels):,} most frequent of {len(ratio.levels) + ratio.left_out:,} levels"
    return f"<b>{safe(ratio.column, 60)}</b> <span class='quiet'>weight {weights_text}{bandwidth_text}</span>"
