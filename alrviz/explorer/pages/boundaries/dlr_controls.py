"""The controls of the DLR tab: the two columns, bandwidths and peer, and its buttons."""

from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.data.dataset import Dataset
from alrviz.explorer.pages.boundaries.fit import map_axes, peer_menu
from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS, button
from alrviz.explorer.widgets.menus import pill, select
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.views.core.panes import Updating
from alrviz.views.core.transport import change

DRAW_HELP = "Draw: add, move and remove points; the models follow"
EXAMPLES = (
    Example("DLR wins", "Four Gaussians: no straight line separates the classes, two curves do", "four-gaussians", 0),
    Example("small gain", "Age curve: the risk falls, rises and falls again with age", "age-curve", 0),
    Example("DLR fails", "Two moons: a sum of curves cannot bend round both of them", "two-moons", 0),
)
FIRST_PEER = "lr"
BANDWIDTHS = {words: way for way, words in FAMILIES["dlr"].params["bandwidth"].choices.items()}


def first_recipe(seed: int) -> Recipe:
    """Return the tab's first recipe: its bandwidths move during the fit, so that there is something to play."""
    return Recipe("dlr", bandwidth="loo", alpha=10.0, seed=seed)


class DlrControls:
    """Bandwidths, peer, and the buttons of the tab DLR.

    Args:
        on_choice: called with "bandwidth" or "peer" and the value chosen.
        on_draw: called by the button Draw.
        on_example: called with the demo set of an example.
    """

    def __init__(
        self, on_choice: Callable[[str, str], None], on_draw: Callable[[], None], on_example: Callable[[str], None]
    ):
        self._on_choice, self._setting = on_choice, Updating()
        help_text = explain("bandwidth")
        self._bandwidth = select("Bandwidths", BANDWIDTHS, 146, description=help_text)
        self._peer = select("Compare with", {}, 204)
        self.menus = [self._bandwidth, self._peer]
        for name, menu in (("bandwidth", self._bandwidth), ("peer", self._peer)):
            menu.param.watch(lambda event, name=name: self._report_choice(name, event.new), "value")
        self.draw = button(
            "Draw", on_draw, icon="draw", variant="outlined", size="small", margin=0,
            description=DRAW_HELP, visible=False,
        )  # fmt: skip
        examples_label = pn.pane.HTML("<span class='quiet'>Examples:</span>", stylesheets=[PANE_CSS], align="center")
        pills = (pill(example, lambda example: on_example(example.data)) for example in EXAMPLES)
        self.examples = pn.Row(examples_label, *pills, margin=0, align="center")

    def _report_choice(self, name: str, value: str | None) -> None:
        if not self._setting and value is not None:
            self._on_choice(name, value)

    @property
    def peer(self) -> str:
        """Slug of the peer chosen."""
        return str(self._peer.value)

    @property
    def peer_label(self) -> str:
        """Label of the peer chosen."""
        return next((label for label, slug in self._peer.options.items() if slug == self._peer.value), "")

    def offer_drawing(self, is_possible: bool, n_set_aside: int) -> None:
        """Show or hide the button Draw. n_set_aside: number of points that drawing resumes with."""
        label = f"Resume drawing: {n_set_aside:,} points" if n_set_aside else "Draw"
        change(
            self.draw, visible=is_possible, label=label, description=f"{label} set aside" if n_set_aside else DRAW_HELP
        )

    def show(self, session: Session, table: Dataset | None, recipe: Recipe, peer: str) -> None:
        """Show the settings; a peer that is not available for this table is replaced by the first."""
        menu = peer_menu(session, table)
        with self._setting:
            self._bandwidth.value = recipe.params["bandwidth"]
            self._peer.options = menu
            self._peer.value = peer if peer in menu.values() else next(iter(menu.values()))


class ColumnMenus:
    """Two menus that choose the columns x and y of the map; choosing the other menu's column swaps both.

    Args:
        on_change: called without arguments when another pair is chosen (see `pair`).
    """

    def __init__(self, on_change: Callable[[], None]):
        self._on_change, self._setting = on_change, Updating()
        self._dataset: Dataset | None = None
        self.menus = [
            pmui.Select(label=label, options={}, width=108, size="small", margin=(0, 8, 0, 0), visible=False)
            for label in ("x", "y")
        ]
        for menu in self.menus:
            menu.param.watch(self._on_choice, "value")

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two columns; None if the table has fewer."""
        pair = self.menus[0].value, self.menus[1].value
        return pair if None not in pair and pair[0] != pair[1] else None

    @property
    def numeric(self) -> bool:
        """Whether both columns are numeric, so that points can be drawn."""
        dataset, pair = self._dataset, self.pair
        return dataset is not None and pair is not None and all(dataset.kinds.get(n) == "numeric" for n in pair)

    def positions(self, dataset: Dataset) -> tuple[int, ...]:
        """Return the positions of the two columns in the table, for a link."""
        names = dataset.table.names
        return tuple(names.index(name) for name in self.pair or () if name in names)

    def offer(self, dataset: Dataset, link_axes: tuple[int, ...] = ()) -> None:
        """Offer the columns of a table. link_axes: positions of the columns in a link."""
        self._dataset = dataset
        feature_names, table_names = list(dataset.X.columns), dataset.table.names
        linked_names = [table_names[k] for k in link_axes if k < len(table_names) and table_names[k] in feature_names]
        shown_pair = linked_names if len(set(linked_names)) == 2 else map_axes(dataset)
        with self._setting:
            for menu, name in zip(self.menus, shown_pair, strict=True):
                menu.param.update(options={str(name): name for name in feature_names}, value=name)

    def hide(self, hidden: bool) -> None:
        """Hide the menus while points are drawn, and for tables of two columns."""
        for menu in self.menus:
            menu.visible = not hidden and len(menu.options) > 2

    def _on_choice(self, event: Event) -> None:
        if self._setting or event.new is None:
            return
        if self.menus[0].value == self.menus[1].value:  # swap the two
            other_menu = self.menus[1] if event.obj is self.menus[0] else self.menus[0]
            with self._setting:
                other_menu.value = event.old
        self._on_change()
