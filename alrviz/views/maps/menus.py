"""The menus of a decision map: which columns are its axes, and what stands in the others."""

from collections.abc import Callable, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.studies.maps.partial_dependence import OTHERS


class MapMenus:
    """The menus of a view that has parameters `across`, `up`, `others` and `row`.

    Args:
        view: the view; what is chosen is set there. visible: whether the menus are shown.
    """

    def __init__(self, view: Any, visible: bool):
        self._view, self._offering = view, False
        small: dict[str, Any] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.axes = [pmui.Select(label=label, options={}, width=150, **small) for label in ("x", "y")]
        self.others = pmui.Select(
            label="Other columns", options={words: how for how, words in OTHERS.items()}, width=210, **small
        )
        self.row = pmui.IntInput(label="Row", start=0, value=0, width=110, **small)
        for widget, name in zip([*self.axes, self.others, self.row], ("across", "up", "others", "row"), strict=True):
            widget.param.watch(self._chosen(name), "value")
        self.panel = pn.Row(*self.axes, self.others, self.row, visible=visible, margin=0)

    def offer(self, names: Sequence[Any], rows: int) -> None:
        """Offer these columns and rows, and show what the view has; what would have no effect is hidden."""
        view = self._view
        self._offering = True
        try:
            options = {str(name): name for name in names}
            for menu, value in zip(self.axes, (view.across, view.up), strict=True):
                menu.param.update(options=options, value=value)
            more = len(names) > 2
            self.others.param.update(value=view.others, visible=more)
            self.row.param.update(value=view.row, end=max(rows - 1, 0), visible=more and view.others == "row")
        finally:
            self._offering = False

    def _chosen(self, name: str) -> Callable[[Any], None]:
        def chosen(event: Any) -> None:
            if not self._offering and event.new is not None:
                self._view.param.update(**{name: event.new})

        return chosen
