"""A slider of alpha on a log scale: it falls to the right, as the axis above it does."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import panel_material_ui as pmui

from alrviz.studies.protocols.alpha_path_verdict import alpha_text
from alrviz.views.core.transport import SLIDER_FOCUS

FINER = 4  # steps from one alpha of a path to the next


class AlphaSlider:
    """The slider, `panel`.

    Args:
        moved: called with the alpha to which the reader moved it.
    """

    def __init__(self, moved: Callable[[float], Any]):
        self._moved, self._placing = moved, False
        self.panel = pmui.DiscreteSlider(
            label="alpha", show_value=False, tooltips=False, options={"1": 1.0}, value=1.0, size="small",
            sizing_mode="stretch_width", margin=0, sx=SLIDER_FOCUS,
        )  # fmt: skip
        self.panel._debounce = 10  # ms; Panel's own 50 are felt by a hand that drags
        self.panel.param.watch(self._slid, "value")

    def offer(self, alphas: Sequence[float], at: float) -> None:
        """Offer the alphas of a path, and some between each two."""
        options = {alpha_text(step): step for step in finer(alphas)}
        self._placing = True
        try:
            if self.panel.options != options:
                # The browser knows the value by its place among the options; one that stays the same is not sent.
                self.panel.param.update(options=options, value=next(iter(options.values())))
        finally:
            self._placing = False
        self.place(at)

    def place(self, alpha: float) -> None:
        """Put it at an alpha, or at the step next to it."""
        value = nearest(list(self.panel.options.values()), alpha)
        if self.panel.value != value:
            self._placing = True
            try:
                self.panel.value = value
            finally:
                self._placing = False

    def say(self, alpha: float) -> None:
        """Name the alpha that is looked at."""
        label = f"alpha = {alpha_text(alpha)}"
        if self.panel.label != label:
            self.panel.label = label

    def _slid(self, event: Any) -> None:
        if not self._placing and event.new is not None:
            self._moved(float(event.new))


def finer(alphas: Sequence[float]) -> list[float]:
    """The steps of a slider: the path's alphas, and some between each two.

    >>> finer([100.0, 1.0])
    [100.0, 31.6, 10.0, 3.16, 1.0]
    """
    between = [
        float(f"{high * (low / high) ** (k / FINER):.3g}") for high, low in pairwise(alphas) for k in range(FINER)
    ]
    return list(dict.fromkeys([*between, alphas[-1]]))


def nearest(steps: Sequence[float], alpha: float) -> float:
    """The step that is nearest to an alpha, by their ratio."""
    return min(steps, key=lambda step: max(step / alpha, alpha / step))
