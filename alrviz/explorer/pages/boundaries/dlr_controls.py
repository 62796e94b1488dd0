"""The controls of the DLR tab: the two columns, bandwidths and peer, and its buttons."""

from collections.abc import Callable, Hashable, Sequence

import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.data.dataset import Dataset
from alrviz.errors import AlrvizError
from alrviz.explorer.pages.boundaries.fit import PYTHON, SETTINGS, peer_menu
from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import text_button
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS, button
from alrviz.explorer.widgets.menus import pill, select
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.studies.maps.axes import first_axes
from alrviz.views.core.panes import Updating
from alrviz.views.core.transport import change

DRAW = "Draw: add, move and remove points; the models follow"
EXAMPLES = (
    Example("DLR wins", "Four Gaussians: no straight line separates the classes, two curves do", "four-gaussians", 0),
    Example("small gain", "Age curve: the risk falls, rises and falls again with age", "age-curve", 0),
    Example("DLR fails", "Two moons: a sum of curves cannot bend round both of them", "two-moons", 0),
)
FIRST_PEER = "lr"
BANDWIDTHS = {words: way for way, words in FAMILIES["dlr"].params["bandwidth"].choices.items()}


def first_recipe(seed: int) -> Recipe:
    """Return what the tab DLR opens with: bandwidths that move, or there would be no film."""
    return Recipe("dlr", bandwidth="loo", seed=seed)


class DlrControls:
    """Bandwidths, peer, and the buttons of the tab DLR.

    Args:
        chosen: called with "bandwidth" or "peer" and what was chosen.
        pressed: called with "draw", "settings", "python" or an example.
    """

    def __init__(self, chosen: Callable[[str, str], None], pressed: Callable[[str | Example], None]):
        self._chosen, self._setting = chosen, Updating()
        why = explain("bandwidth")
        self._bandwidth = select("Bandwidths", BANDWIDTHS, 146, description=why)
        self._peer = select("Compare with", {}, 168)
        self.menus = [self._bandwidth, self._peer]
        for name, menu in (("bandwidth", self._bandwidth), ("peer", self._peer)):
            menu.param.watch(lambda event, name=name: self._tell(name, event.new), "value")
        self.draw = button(
            "Draw", lambda: pressed("draw"), icon="draw", variant="outlined", size="small", margin=0,
            description=DRAW, visible=False,
        )  # fmt: skip
        asked = pn.pane.HTML("<span class='quiet'>Examples:</span>", stylesheets=[PANE_CSS], align="center")
        self.settings = text_button("Settings", "tune", SETTINGS, lambda: pressed("settings"))
        python = text_button("Python", "code", PYTHON, lambda: pressed("python"))
        self.examples = pn.Row(asked, *(pill(example, pressed) for example in EXAMPLES), margin=0, align="center")
        self.more = pn.Row(python, margin=(12, 0, 0, 0))

    def _tell(self, name: str, value: str | None) -> None:
        if not self._setting and value is not None:
            self._chosen(name, value)

    @property
    def peer(self) -> str:
        """The slug of the peer chosen."""
        return str(self._peer.value)

    @property
    def peer_label(self) -> str:
        """The peer chosen, in words."""
        return next((text for text, slug in self._peer.options.items() if slug == self._peer.value), "")

    def offer_drawing(self, offered: bool, waiting: int) -> None:
        """Offer to draw or not; `waiting` points were put by, and drawing goes on with them."""
        label = f"Resume drawing: {waiting:,} points" if waiting else "Draw"
        change(self.draw, visible=offered, label=label, description=f"{label} set aside" if waiting else DRAW)

    def show(self, session: Session, table: Dataset | None, recipe: Recipe, peer: str) -> None:
        """Show what is set; a peer that this table does not have gives way to the first."""
        menu = peer_menu(session, table)
        with self._setting:
            self._bandwidth.value = recipe.params["bandwidth"]
            self._peer.options = menu
            self._peer.value = peer if peer in menu.values() else next(iter(menu.values()))


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

    def positions(self, dataset: Dataset) -> tuple[int, ...]:
        """The places in the table of the two columns, as a link holds them."""
        names = dataset.table.names
        return tuple(names.index(name) for name in self.chosen or () if name in names)

    def offer(self, dataset: Dataset, axes: tuple[int, ...] = ()) -> None:
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
