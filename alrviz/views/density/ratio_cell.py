"""One column of a DensityRatioView: its words, its picture, the slider of its bandwidth, and what saves the picture.

While the reader drags the slider it is theirs: scenes that come in late do not move it back.
"""

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from alrviz.pictures.density import Picture, contents, density_picture
from alrviz.studies.density.density_frames import ColumnRatio
from alrviz.views.core.panes import as_high, html, say
from alrviz.views.core.saving import Origin, by_version, figure_buttons
from alrviz.views.core.style import safe
from alrviz.views.core.transport import SLIDER_FOCUS

HEIGHT, MIN_WIDTH = 200, 240  # px of one picture
HELD = 1.0  # seconds after which a slider that was moved is taken to rest
RATIOS = np.round(
    10 ** np.linspace(-3, 3, 121), 4
)  # of Silverman's bandwidth: as far as a fit may go, in steps of 12 %


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
        name = f"alrviz-ratio-{uuid.uuid4().hex[:12]}"
        self._name = name
        self.pane = pn.pane.Bokeh(sizing_mode="stretch_both", margin=0)
        self.words = html(margin=(4, 0, 0, 8))
        options = {plain(ratio): float(ratio) for ratio in RATIOS}  # as the words have it
        self.slider = pmui.DiscreteSlider(
            label=f"{column}: h / Silverman's", show_value=False, tooltips=False, options=options, value=1.0,
            size="small", sizing_mode="stretch_width", visible=False, margin=(0, 20, 8, 20), sx=SLIDER_FOCUS,
        )  # fmt: skip
        self.slider._debounce = 10  # ms; Panel's own 50 are felt by a hand that drags
        self.slider.param.watch(self._moved, "value")
        self._placing, self._touched = False, float("-inf")
        self.panel = pn.Column(
            self.words, as_high(self.pane, height, HEIGHT), self.slider, sizing_mode="stretch_width",
            min_width=MIN_WIDTH, margin=0,
        )  # fmt: skip
        buttons = figure_buttons(name, "alrviz-density-ratio", f"the picture of {column}", self.origin)
        title = html(sizing_mode=None, align="center", margin=(0, 8, 0, 0))
        say(title, f"<p>{safe(column, 60)}</p>")
        self.saving = pn.Row(title, *buttons, margin=0)
        self._picture: Picture | None = None
        self._made_of: Any = None
        self._view: tuple[float, float] | None = None
        self.ratio: ColumnRatio | None = None
        self._weighted = False

    def origin(self) -> Origin:
        """Return what stands above and below the picture when it is saved."""
        ratio, told = self.ratio, [self._made_from()]
        if ratio is not None:
            told.append(f"w {' / '.join(plain(value) for value in np.atleast_1d(ratio.weight))}")
            if np.isfinite(ratio.bandwidth):
                told.append(f"h {plain(ratio.bandwidth)}")
        return Origin(f"Density log-ratio of {self.column}", " · ".join(told))

    def show(self, ratio: ColumnRatio, classes: Sequence[str], weighted: bool, dark: bool) -> None:
        """Show the column as it is now."""
        made_of = (ratio.levels, _ends(ratio), tuple(classes), dark)
        if self._picture is None or made_of != self._made_of:
            self._picture = density_picture(ratio, classes, name=self._name, weighted=weighted, dark=dark)
            heights = self._picture.figure.y_range
            self._made_of, self._view = made_of, (heights.start, heights.end)
            self.pane.object = self._picture.figure
        elif not self._same(ratio, weighted):
            self._feed(self._picture, ratio, classes, weighted, dark)
        self.ratio, self._weighted = ratio, weighted
        say(self.words, words_html(ratio))
        self._place(ratio)

    def _same(self, ratio: ColumnRatio, weighted: bool) -> bool:
        """Whether it is what is drawn: of two columns a hand moves one."""
        old = self.ratio
        return (
            old is not None
            and old.phi is ratio.phi
            and old.rug is ratio.rug
            and np.array_equal(old.weight, ratio.weight)
            and self._weighted == weighted
        )

    def _feed(self, picture: Picture, ratio: ColumnRatio, classes: Sequence[str], weighted: bool, dark: bool) -> None:
        what = contents(ratio, classes, weighted=weighted, dark=dark, view=self._view)
        picture.lines.data, picture.fills.data, picture.bar.data = what.lines, what.fills, what.bar
        if ratio.x is None:
            picture.marks.data = what.marks
        old = self.ratio
        view = what.low, what.high
        if view != self._view or old is None or old.rug is not ratio.rug:
            picture.rug.data = what.rug
        if view != self._view:
            low, high = self._view = view
            picture.figure.y_range.update(start=low, end=high, reset_start=low, reset_end=high)

    def _place(self, ratio: ColumnRatio) -> None:
        """Put the slider where the bandwidth is, unless the reader holds it."""
        relative = ratio.bandwidth / ratio.silverman
        there = self._slid is not None and ratio.x is not None and bool(np.isfinite(relative))
        if self.slider.visible != there:
            self.slider.visible = there
        if there:  # the words say what the model has; the slider's own value is the step next to it
            label = f"{self.column}: h / Silverman's = {plain(relative)}"
            if self.slider.label != label:
                self.slider.param.update(label=label, value_label=plain(relative))
        if not there or time.monotonic() - self._touched < HELD:
            return
        value = float(RATIOS[int(np.abs(np.log(RATIOS) - np.log(relative)).argmin())])
        if self.slider.value != value:
            self._placing = True
            try:
                self.slider.value = value
            finally:
                self._placing = False

    def _moved(self, event: Any) -> None:
        value = event.new
        if self._placing or self.ratio is None or self._slid is None or value is None:
            return
        self._touched = time.monotonic()
        self._slid(self.column, float(value) * self.ratio.silverman)


def _ends(ratio: ColumnRatio) -> Any:
    return None if ratio.x is None else (float(ratio.x[0]), float(ratio.x[-1]))


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
