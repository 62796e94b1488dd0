"""The drawer of a tab that shows one model: its settings, built when they are first asked for."""

from collections.abc import Callable, Sequence
from functools import cached_property

from panel.viewable import Viewable

from alrviz.explorer.recipes.recipe_fields import MODEL, Choosable
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.recipe import Recipe


class ModelDrawer:
    """See the module's text.

    Args:
        recipe: returns the tab's recipe. changed: called with the one that replaces it.
        solvers: returns what "auto" stands for, as `RecipeSettings.tell` takes it.
        families: that can be chosen.
        open_drawer: shows a panel in the drawer.
    """

    def __init__(
        self,
        recipe: Callable[[], Recipe],
        changed: Callable[[Recipe], None],
        solvers: Callable[[], Sequence[str]],
        families: tuple[str, ...],
        open_drawer: Callable[[Viewable], None],
    ):
        self._recipe, self._solvers, self._families = recipe, solvers, families
        self._changed, self._open = changed, open_drawer

    @cached_property
    def settings(self) -> RecipeSettings:
        """The fields."""
        return RecipeSettings(
            lambda _, recipe: self._take(recipe), lambda _: None,
            lambda changes: self._take(self._recipe().replace(**changes)), choosable=Choosable(self._families, MODEL),
        )  # fmt: skip

    def show(self) -> None:
        """Show the settings of the recipe that is there, and open the drawer."""
        recipe = self._recipe()
        self.settings.tell(self._solvers())
        self.settings.show(0, recipe, recipe.label, alone=True)
        self._open(self.settings.panel)

    def _take(self, recipe: Recipe) -> None:
        self._changed(recipe)
        self.show()
