"""One column of a DensityRatioView: its words, its picture, the slider of its bandwidth, and what saves the picture.

While the reader drags the slider it is theirs: scenes that come in late do not move it back.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from alrviz.pictures.density import density_picture
from alrviz.studies.density.density_frames import ColumnRatio
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.panes import Updating, as_high, html, say, stack
from alrviz.views.core.saving import Origin, by_version
from alrviz.views.core.style import safe
from alrviz.views.core.transport import change, live_slider

HEIGHT, MIN_WIDTH = 200, 240  # px of one picture
REST_SECONDS = 1.0  # seconds after which a slider that was moved is taken to rest
RATIOS = np.round(10 ** np.linspace(-3, 3, 121), 4)  # of Silverman's bandwidth: as far as a fit may go, by 12 %


class RatioCell:
    """One column: its words, its picture, its slider, and the buttons that save it.

    Args:
        column: its name. slid: called with the column and a bandwidth when the slider is moved by the reader.
        height: of its picture, as CSS has it. made_from: says in a line what the scene is of.
    """

    def __init__(
        self,
        column: str,
        slid: Callable[[str, float], None] | None,
        height: str = f"{HEIGHT}px",
        made_from: Callable[[], str] = by_version,
    ):
        self.column, self._slid, self._made_from = column, slid, made_from
        self.picture = LiveFigure("alrviz-density-ratio")
        self.words = html(margin=(4, 0, 0, 8))
        options = {plain(ratio): float(ratio) for ratio in RATIOS}  # as the words have it
        self.slider = live_slider(
            pmui.DiscreteSlider, self._moved, label=f"{column}: h / Silverman's", options=options, value=1.0,
            visible=False, margin=(0, 20, 8, 20),
        )  # fmt: skip
        self._placing, self._touched = Updating(), float("-inf")
        picture = as_high(self.picture.pane, height, HEIGHT)
        self.panel = stack(self.words, picture, self.slider, min_width=MIN_WIDTH)
        buttons = picture_buttons({column: self.picture}, lambda _: self.origin())
        title = html(sizing_mode=None, align="center", margin=(0, 8, 0, 0))
        say(title, f"<p>{safe(column, 60)}</p>")
        self.saving = pn.Row(title, *buttons, margin=0)
        self.ratio: ColumnRatio | None = None
        self._shown: Any = None  # how it was shown last

    def origin(self) -> Origin:
        """Return what stands above and below the picture when it is saved."""
        ratio, parts = self.ratio, [self._made_from()]
        if ratio is not None:
            parts.append(f"w {' / '.join(plain(value) for value in np.atleast_1d(ratio.weight))}")
            if np.isfinite(ratio.bandwidth):
                parts.append(f"h {plain(ratio.bandwidth)}")
        return Origin(f"Density log-ratio of {self.column}", " · ".join(parts))

    def show(self, ratio: ColumnRatio, classes: Sequence[str], weighted: bool, dark: bool) -> None:
        """Show the column as it is now."""
        shown = (tuple(classes), weighted, dark)
        if shown != self._shown or not self._same(ratio):
            old = self.picture.picture
            view = None if old is None else old.y
            self.picture.show(density_picture(ratio, classes, weighted=weighted, dark=dark, view=view))
        self.ratio, self._shown = ratio, shown
        say(self.words, words_html(ratio))
        self._place(ratio)

    def _same(self, ratio: ColumnRatio) -> bool:
        """Whether it is what is drawn: of two columns a hand moves one."""
        old = self.ratio
        if old is None or old.phi is not ratio.phi or old.rug is not ratio.rug:
            return False
        return np.array_equal(old.weight, ratio.weight)

    def _place(self, ratio: ColumnRatio) -> None:
        """Put the slider where the bandwidth is, unless the reader holds it."""
        relative = ratio.bandwidth / ratio.silverman
        visible = self._slid is not None and ratio.x is not None and bool(np.isfinite(relative))
        change(self.slider, visible=visible)
        if visible:  # the words say what the model has; the slider's own value is the step next to it
            times = plain(relative)
            change(self.slider, label=f"{self.column}: h / Silverman's = {times}", value_label=times)
        if visible and time.monotonic() - self._touched >= REST_SECONDS:
            with self._placing:
                change(self.slider, value=float(RATIOS[int(np.abs(np.log(RATIOS) - np.log(relative)).argmin())]))

    def _moved(self, event: Any) -> None:
        value = event.new
        if self._placing or self.ratio is None or self._slid is None or value is None:
            return
        self._touched = time.monotonic()
        self._slid(self.column, float(value) * self.ratio.silverman)


def plain(value: float, digits: int = 3) -> str:
    """A number in so many digits, written out where it is neither large nor tiny: 1000, not 1e+03."""
    return f"{float(f'{value:.{digits}g}'):g}"


def words_html(ratio: ColumnRatio) -> str:
    """The column's name, weight and bandwidth."""
    weights = np.atleast_1d(ratio.weight)
    w = " / ".join(f"{value:.{3 if len(weights) == 1 else 2}g}" for value in weights[:4])
    w += " …" if len(weights) > 4 else ""
    h = ""
    if np.isfinite(ratio.bandwidth):
        h = f" · h = {plain(ratio.bandwidth)}"
        if np.isfinite(ratio.silverman) and len(weights) == 1:  # of more there is no room, and the slider says it
            times = plain(ratio.bandwidth / ratio.silverman)
            h += f" = {times} <abbr title='Silverman&#39;s bandwidth, {plain(ratio.silverman)}'>h<sub>S</sub></abbr>"
    if ratio.left_out:
        h += f" · the {len(ratio.levels):,} most frequent of {len(ratio.levels) + ratio.left_out:,} levels"
    return f"<b>{safe(ratio.column, 60)}</b> <span class='quiet'>w = {w}{h}</span>"
