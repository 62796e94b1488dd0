"""The menu of measures: what can be measured of a race is on offer, and what the reader wished comes back with it."""

from typing import Any

import panel_material_ui as pmui

from alrviz.pictures.measures import MEASURES
from alrviz.views.core.trace_reader import RaceReader


class MeasureMenu:
    """The menu of a view that has a parameter `measure`."""

    def __init__(self, view: Any):
        self._view, self._wished, self._falling_back = view, view.measure, False
        self.select = pmui.Select(
            label="Measure", options=_options(True), value=view.measure, size="small", width=220, margin=(0, 12, 0, 0)
        )
        self.select.link(view, value="measure", bidirectional=True)
        view.param.watch(self._chosen, "measure")

    def offer(self, watched: RaceReader) -> None:
        """Offer what fits; a gap needs one objective, and one whose lowest value is not known to be 0."""
        options = _options(watched.same_objective and not watched.to_zero)
        self._falling_back = True
        try:
            self.select.options = options
            self._view.measure = self._wished if self._wished in options.values() else "nll"
        finally:
            self._falling_back = False

    def _chosen(self, event: Any) -> None:
        if not self._falling_back:
            self._wished = event.new


def _options(gap: bool) -> dict[str, str]:
    return {of.words: key for key, of in MEASURES.items() if gap or key != "gap"}
