"""The controls of "Which order?": data, family, folds, alpha and what it shrinks toward.

They show what they are told and tell what was chosen.
"""

from collections.abc import Callable

from alrviz.errors import RecipeError
from alrviz.explorer.pages.order.settings import FAMILIES, FOLDS, Asked
from alrviz.explorer.recipes.questions import ALPHAS
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.widgets.menus import data_menu, select, show_data
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts, show_split, split_menu
from alrviz.fitting.families import choices
from alrviz.fitting.recipe import Recipe

_FAMILY_NAMES = {"lr": "lr", "alr": "alr", "anje": "AnJE"}
FOLD_NAMES = {"5": "5 folds", "2x5": "2 x 5 folds", "10": "10 folds", "5x2": "5 x 2 folds", "10x10": "10 x 10 folds"}
_CENTER_NAMES = {0: "nothing (0)", 1: "ones (1)", "anje": "AnJE"}
_CV = "nested CV"


class OrderControls:
    """The menus; `parts` go into the page's first row.

    Args:
        session: whose tables are offered.
        changed: called with the settings chosen.
        refused: called with the error of settings that exclude each other.
        cut: called with the slug of the cuts chosen.
    """

    def __init__(
        self,
        session: Session,
        changed: Callable[[Asked], None],
        refused: Callable[[Exception], None],
        cut: Callable[[str], None],
    ):
        self._session, self._changed, self._refused = session, changed, refused
        self._setting = False
        self._asked: Asked | None = None
        self.data = data_menu(session)
        self.family = select("Family", {_FAMILY_NAMES[name]: name for name in FAMILIES}, 104)
        self.folds = select("Cross-validation", {FOLD_NAMES[slug]: slug for slug in FOLDS}, 144)
        alphas = {_CV: "cv"} | {f"{alpha:g}": alpha for alpha in ALPHAS}
        self.alpha = select("alpha", alphas, 144, description=explain("alpha"))
        self.center = select("Shrink toward", {}, 136, description=explain("center"))
        self.cuts, self.split = cuts_menu(cut), split_menu(session)
        self.parts = [self.data, self.family, self.folds, self.alpha, self.center, self.cuts, self.split]
        for menu in self.parts[1:5]:
            menu.param.watch(lambda _: self._chosen(), "value")

    def show(self, asked: Asked) -> None:
        """Show what is set; what has no effect is hidden."""
        show_data(self.data, self._session)
        recipe, self._asked = asked.recipe, asked
        show_cuts(self.cuts, self._session, cuts_of((recipe,)))
        show_split(self.split, self._session)
        alpha = recipe.params.get("alpha")
        self._setting = True
        try:
            self.family.value, self.folds.value = recipe.family, asked.folds
            self.alpha.visible, self.center.visible = alpha is not None, bool(alpha)
            if alpha is not None:
                if alpha not in self.alpha.options.values():
                    self.alpha.options = {**self.alpha.options, f"{alpha:g}": alpha}
                self.alpha.value = alpha
                self.center.options = {_CENTER_NAMES[value]: value for value in choices(recipe.family, "center")}
                self.center.value = recipe.params["center"]
        finally:
            self._setting = False

    def _chosen(self) -> None:
        if self._setting or self._asked is None:
            return
        before = self._asked.recipe
        try:
            if self.family.value == before.family:
                given = {"alpha": self.alpha.value, "center": self.center.value} if "alpha" in before.params else {}
                recipe = before.replace(**given)
            else:
                recipe = Recipe(self.family.value, seed=before.seed, discretize=before.discretize, n_bins=before.n_bins)
                if "alpha" in recipe.params:
                    recipe = recipe.replace(alpha=self.alpha.value)
        except RecipeError as error:
            self._refused(error)
            self.show(self._asked)
            return
        self._changed(Asked(recipe, self.folds.value))
