"""The controls of "Generative to discriminative": data, family, order, and what alpha shrinks toward.

They show what they are told and tell what was chosen.
"""

from collections.abc import Callable, Sequence

from alrviz.errors import RecipeError
from alrviz.explorer.pages.path.settings import FIRST, ORDERS, Grid, grid_of
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.widgets.menus import data_menu, select, show_data
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts, show_split, split_menu
from alrviz.fitting.recipe import Recipe

_FAMILIES = {"alr": "alr", "lr": "lr", "lr and alr": "both"}
_CENTERS = {"AnJE": "anje", "nothing (0)": "0", "ones (1)": "1", "each of them": "all"}
_OWN = "of the link"


class PathControls:
    """The menus; `parts` go into the page's first row.

    Args:
        session: whose tables are offered.
        changed: called with the recipes chosen.
        refused: called with the error of settings that exclude each other.
        cut: called with the slug of the cuts chosen.
    """

    def __init__(
        self,
        session: Session,
        changed: Callable[[tuple[Recipe, ...]], None],
        refused: Callable[[Exception], None],
        cut: Callable[[str], None],
    ):
        self._session, self._changed, self._refused = session, changed, refused
        self._setting = False
        self._recipes: tuple[Recipe, ...] = FIRST
        self.data = data_menu(session)
        self.family = select("Family", _FAMILIES, 136)
        self.order = select("Order", {f"n = {n}": n for n in ORDERS}, 104, description=explain("order"))
        self.center = select("Shrink toward", _CENTERS, 152, description=explain("center"))
        self.cuts, self.split = cuts_menu(cut), split_menu(session)
        self.parts = [self.data, self.family, self.order, self.center, self.cuts, self.split]
        for menu in self.parts[1:4]:
            menu.param.watch(lambda _: self._chosen(), "value")

    def show(self, recipes: Sequence[Recipe]) -> None:
        """Show what is set; recipes that the menus cannot say are called what they are."""
        show_data(self.data, self._session)
        self._recipes = tuple(recipes)
        show_cuts(self.cuts, self._session, cuts_of(recipes))
        show_split(self.split, self._session)
        grid, order = grid_of(recipes), recipes[0].params["order"]
        self._setting = True
        try:
            own = {} if grid is not None else {_OWN: ""}
            self.family.options = {**_FAMILIES, **own}
            self.order.options = {f"n = {n}": n for n in sorted({*ORDERS, order})}
            self.order.value, self.family.value = order, "" if grid is None else grid.families
            centers = {name: slug for name, slug in _CENTERS.items() if slug != "1" or self.family.value == "alr"}
            self.center.options = {**centers, **own}
            self.center.value = "" if grid is None else grid.centers
        finally:
            self._setting = False

    def _chosen(self) -> None:
        if self._setting:
            return
        families = self.family.value or "alr"
        centers = self.center.value or "anje"
        if centers == "1" and families != "alr":  # of lr there is no such model
            centers = "anje"
        try:
            recipes = Grid(families, centers, self.order.value).recipes(self._recipes[0])
        except RecipeError as error:
            self._refused(error)
            self.show(self._recipes)
            return
        self._changed(recipes)
