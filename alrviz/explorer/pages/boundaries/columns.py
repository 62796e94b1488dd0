"""Which two columns the DLR tab is about: their menus, and the table that has no others."""

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.errors import AlrvizError
from alrviz.studies.density.density_frames import DensityFrame
from alrviz.studies.maps.axes import first_axes
from alrviz.views.core.panes import Updating

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset


def table_of(dataset: "Dataset", names: tuple[str, str]) -> "Dataset":
    """Return a data set of these two columns and the class: the same one where there are no others."""
    rest = [name for name in dataset.X.columns if name not in names]
    return dataset.with_kinds(**dict.fromkeys(rest, "ignore")) if rest else dataset


def log_bandwidths(scene: DensityFrame, log_h: np.ndarray, column: str, h: float) -> np.ndarray:
    """Return the log bandwidths of the scene's numeric columns, that of `column` set to h."""
    numeric = [ratio.column for ratio in scene.columns if ratio.x is not None]
    changed = np.array(log_h, dtype=np.float64)
    if column in numeric and h > 0:
        changed[numeric.index(column)] = np.log(h)
    return changed


class ColumnMenus:
    """Two menus of columns.

    Args:
        changed: called when another pair was chosen.
    """

    def __init__(self, changed: Callable[[], None]):
        self._changed, self._setting = changed, Updating()
        self._dataset: Dataset | None = None
        self.menus = [
            pmui.Select(label=label, options={}, width=108, size="small", margin=(0, 8, 0, 0), visible=False)
            for label in ("x", "y")
        ]
        for menu in self.menus:
            menu.param.watch(self._chosen, "value")

    @property
    def chosen(self) -> tuple[str, str] | None:
        """The two columns; None where the table has fewer."""
        found = self.menus[0].value, self.menus[1].value
        return found if None not in found and found[0] != found[1] else None

    @property
    def numeric(self) -> bool:
        """Whether both are numbers: points can be drawn there."""
        dataset, chosen = self._dataset, self.chosen
        return dataset is not None and chosen is not None and all(dataset.kinds.get(n) == "numeric" for n in chosen)

    def positions(self, dataset: "Dataset") -> tuple[int, ...]:
        """The places in the table of the two columns, as a link holds them."""
        names = dataset.table.names
        return tuple(names.index(name) for name in self.chosen or () if name in names)

    def offer(self, dataset: "Dataset", axes: tuple[int, ...] = ()) -> None:
        """Offer the columns of a table; `axes` are places of those that a link asks for."""
        self._dataset = dataset
        names, table = list(dataset.X.columns), dataset.table.names
        asked = [table[k] for k in axes if k < len(table) and table[k] in names]
        try:
            chosen: list[Hashable] = [*asked] if len(set(asked)) == 2 else [*first_axes(dataset.X, y=dataset.y)]
        except AlrvizError:
            chosen = [None, None]
        self._set([{str(name): name for name in names}] * 2, chosen)

    def hide(self, hidden: bool) -> None:
        """Offer the columns or not: points that are drawn have their own, and of two there is nothing to choose."""
        for menu in self.menus:
            menu.visible = not hidden and len(menu.options) > 2

    def _set(self, options: list[dict[str, str]], values: Sequence[Hashable]) -> None:
        with self._setting:
            for menu, offered, value in zip(self.menus, options, values, strict=True):
                menu.param.update(options=offered, value=value)

    def _chosen(self, event: Event) -> None:
        if self._setting or event.new is None:
            return
        if self.menus[0].value == self.menus[1].value:  # the two change places
            other = self.menus[1] if event.obj is self.menus[0] else self.menus[0]
            with self._setting:
                other.value = event.old
        self._changed()
