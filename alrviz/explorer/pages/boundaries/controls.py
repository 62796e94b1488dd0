"""Controls of the Boundaries page: the menu of data, and those of the tab DLR."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import panel as pn

from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS, button
from alrviz.explorer.widgets.dialogs import text_button
from alrviz.explorer.widgets.menus import pill, select
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.views.core.panes import Updating
from alrviz.views.core.transport import change

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

SETTINGS = "Settings: everything else about this model"
DRAW = "Draw: add, move and remove points; the models follow"
PYTHON = "Python: copy this map as a script whose numbers are the screen's"
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
        change(self.draw, visible=offered, label=label, description=f"{label}; they were put by" if waiting else DRAW)

    def show(self, session: Session, table: "Dataset | None", recipe: Recipe, peer: str) -> None:
        """Show what is set; a peer that this table does not have gives way to the first."""
        from alrviz.explorer.pages.boundaries.peers import peer_menu

        menu = peer_menu(session, table)
        with self._setting:
            self._bandwidth.value = recipe.params["bandwidth"]
            self._peer.options = menu
            self._peer.value = peer if peer in menu.values() else next(iter(menu.values()))
