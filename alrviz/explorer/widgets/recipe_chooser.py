"""Choose several recipes: a chip for each opens its settings, and a button adds one.

Convergence's racers and the recipes of studies are chosen alike; what may be chosen is the page's (`Choosable`). The
recipes themselves are the page's too: it is told of new ones, and shows them here when it has taken them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.recipes.questions import MAX_RACERS
from alrviz.explorer.recipes.recipe_fields import RACERS, Choosable
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.palette import racer_colours, racer_marks
from alrviz.studies.core.names import short_names


def _sx(colour: str, sign: str) -> dict[str, object]:
    """Return the look of a chip: `sign` is the marker of its line, as a letter."""
    mark = {"content": f'"{sign}" / ""', "color": colour, "lineHeight": 1, "mr": "6px"}  # seen, not heard
    return {
        "borderRadius": "16px",
        "borderColor": colour,
        "color": "text.primary",
        "fontSize": "1rem",
        "px": "9px",
        "&::before": mark,
    }


class RecipeChooser:
    """The chips, `panel`, made once up to the most there can be, and the settings in the drawer, `settings.panel`.

    Args:
        session: whose drawer is opened.
        recipes: returns those that are set.
        changed: called with all of them when one was changed, added or removed; it may refuse by leaving them.
        fresh: returns the one that a press adds.
        choosable: what may be chosen.
        solvers: of each recipe which solver will run and why, where that is known.
        place: called with the settings before the drawer opens, by a page whose tabs share a drawer.
    """

    def __init__(
        self,
        session: Session,
        recipes: Callable[[], tuple[Recipe, ...]],
        changed: Callable[[tuple[Recipe, ...]], None],
        fresh: Callable[[], Recipe],
        choosable: Choosable = RACERS,
        solvers: Callable[[], Sequence[str]] = tuple,
        place: Callable[[Viewable], None] = lambda panel: None,
    ):
        self._session, self._recipes, self._changed = session, recipes, changed
        self._fresh, self._choosable, self._solvers, self._place = fresh, choosable, solvers, place
        self.chips = [self._chip(number) for number in range(MAX_RACERS)]
        add = f"Add a {choosable.what.lower()}"
        self.add_button = pmui.IconButton(
            label=add, icon="add", description=add, size="small", color="default", margin=0, align="center"
        )
        self.add_button.on_click(lambda _: self.add())
        self.panel = pmui.Row(*self.chips, self.add_button, margin=0, sx={"flexWrap": "wrap", "rowGap": "6px"})

    def _chip(self, number: int) -> pmui.Button:
        chip = pmui.Button(
            label="", variant="outlined", size="small", color="default", visible=False, margin=(0, 8, 0, 0),
        )  # fmt: skip
        chip.on_click(lambda _: self.open(number))
        return chip

    @cached_property
    def settings(self) -> RecipeSettings:
        """What the drawer holds; built when it is first opened."""
        return RecipeSettings(self.change, self.remove, self._share, self._choosable)

    def show(self) -> None:
        """Show the recipes that are set."""
        recipes = self._recipes()
        names, signs = short_names(recipes), [sign for _, sign in racer_marks(len(recipes))]
        colours = racer_colours([recipe.label for recipe in recipes], self._session.dark)
        for number, chip in enumerate(self.chips):
            if number < len(recipes):
                paper = " · paper" if recipes[number].paper and "solver" in recipes[number].params else ""
                words = f"{names[number]}{paper}"
                chip.param.update(label=words, description=f"{words}: settings", sx=_sx(colours[number], signs[number]))
            chip.visible = number < len(recipes)
        self.add_button.visible = len(recipes) < MAX_RACERS

    def tell(self) -> None:
        """Say in the drawer which solver will run, now that it is known."""
        if "settings" in self.__dict__:
            self.settings.tell(self._solvers())

    def open(self, number: int) -> None:
        """Open the settings of a recipe."""
        self.look_at(number)
        self._place(self.settings.panel)
        self._session.open_drawer(True)

    def look_at(self, number: int) -> None:
        """Let the drawer show a recipe's settings."""
        recipes = self._recipes()
        number = min(number, len(recipes) - 1)
        self.settings.tell(self._solvers())
        self.settings.show(number, recipes[number], short_names(recipes)[number], alone=len(recipes) == 1)

    def add(self) -> None:
        """Add a recipe, and open its settings."""
        if len(self._recipes()) < MAX_RACERS:
            self._changed((*self._recipes(), self._fresh()))
            self.open(len(self._recipes()) - 1)

    def change(self, number: int, recipe: Recipe) -> None:
        """Put a recipe in the place of another."""
        recipes = self._recipes()
        self._changed((*recipes[:number], recipe, *recipes[number + 1 :]))
        self.look_at(number)

    def remove(self, number: int) -> None:
        """Take a recipe out, unless it is the last."""
        recipes = self._recipes()
        if len(recipes) > 1:
            self._changed((*recipes[:number], *recipes[number + 1 :]))
            self.look_at(max(number - 1, 0))

    def _share(self, changes: dict[str, object]) -> None:
        self._changed(tuple(recipe.replace(**changes) for recipe in self._recipes()))
