"""Choose several recipes: a chip for each opens its settings, and a button adds one.

Used by the Convergence page and by studies. The page keeps the recipes: it is notified of changes, and calls `show`
once it has accepted them.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.recipes.questions import MAX_RACERS
from alrviz.explorer.recipes.recipe_fields import RACE_CHOICES, Choosable
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.palette import racer_colours, racer_marks
from alrviz.studies.core.names import short_names


def _chip_style(colour: str, sign: str) -> dict[str, object]:
    """Return the `sx` styles of a recipe's chip.

    colour: of its border and marker. sign: the text character that looks like the marker of the recipe's line.
    """
    # The "" after "/" is the text for screen readers: they skip the marker.
    marker_style = {"content": f'"{sign}" / ""', "color": colour, "lineHeight": 1, "mr": "6px"}
    return {
        "borderRadius": "16px",
        "borderColor": colour,
        "color": "text.primary",
        "fontSize": "1rem",
        "px": "9px",
        "&::before": marker_style,
    }


def own_looks(recipes: Sequence[Recipe], dark: bool) -> list[tuple[str, str]]:
    """Return colour and marker of each recipe where each is a line of its own."""
    colours = racer_colours([recipe.label for recipe in recipes], dark)
    return [(colour, sign) for colour, (_, sign) in zip(colours, racer_marks(len(recipes)), strict=True)]


class RecipeChooser:
    """The chips (`panel`) and the settings in the drawer (`settings.panel`).

    Args:
        session: opens the drawer.
        recipes: returns the current recipes.
        on_change: called with all recipes after one was changed, added or removed; the page may ignore it.
        new_recipe: returns the recipe that "+" adds.
        choosable: the families and values offered.
        solvers: returns for each recipe which solver will run and why, "" if its setting says it all.
        looks: returns colour and marker of each recipe in the page's pictures; arguments: recipes, dark.
        place: called with the settings before the drawer opens, for a page whose tabs share a drawer.
    """

    def __init__(
        self,
        session: Session,
        recipes: Callable[[], tuple[Recipe, ...]],
        on_change: Callable[[tuple[Recipe, ...]], None],
        new_recipe: Callable[[], Recipe],
        choosable: Choosable = RACE_CHOICES,
        solvers: Callable[[], Sequence[str]] = tuple,
        looks: Callable[[Sequence[Recipe], bool], list[tuple[str, str]]] = own_looks,
        place: Callable[[Viewable], None] = lambda panel: None,
    ):
        self._session, self._recipes, self._on_change = session, recipes, on_change
        self._new_recipe, self._choosable, self._solvers, self._place = new_recipe, choosable, solvers, place
        self._looks = looks
        self.chips = [self._chip(number) for number in range(MAX_RACERS)]
        add_text = f"Add a {choosable.noun.lower()}"
        self.add_button = pmui.IconButton(
            label=add_text, icon="add", description=add_text, size="small", color="default", margin=0, align="center"
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
        """The settings in the drawer; built when it is first opened."""
        return RecipeSettings(self.change, self.remove, self._change_common, self._choosable)

    def show(self) -> None:
        """Show the current recipes."""
        recipes = self._recipes()
        names, looks = short_names(recipes), self._looks(recipes, self._session.dark)
        for number, chip in enumerate(self.chips):
            if number < len(recipes):
                paper_text = " · paper" if recipes[number].is_paper_fit and "solver" in recipes[number].params else ""
                label = f"{names[number]}{paper_text}"
                style = _chip_style(*looks[number])
                chip.param.update(label=label, description=f"{label}: settings", sx=style)
            chip.visible = number < len(recipes)
        self.add_button.visible = len(recipes) < MAX_RACERS

    def show_solvers(self) -> None:
        """Update in the drawer which solver will run."""
        if "settings" in self.__dict__:
            self.settings.show_solvers(self._solvers())

    def open(self, number: int) -> None:
        """Open the settings of a recipe."""
        self.look_at(number)
        self._place(self.settings.panel)
        self._session.open_drawer(True)

    def look_at(self, number: int) -> None:
        """Show a recipe's settings in the drawer, without opening it."""
        recipes = self._recipes()
        number = min(number, len(recipes) - 1)
        self.settings.show_solvers(self._solvers())
        self.settings.show(number, recipes[number], short_names(recipes)[number], is_only=len(recipes) == 1)

    def add(self) -> None:
        """Add a recipe, and open its settings."""
        if len(self._recipes()) < MAX_RACERS:
            self._on_change((*self._recipes(), self._new_recipe()))
            self.open(len(self._recipes()) - 1)

    def change(self, number: int, recipe: Recipe) -> None:
        """Replace a recipe."""
        recipes = self._recipes()
        self._on_change((*recipes[:number], recipe, *recipes[number + 1 :]))
        self.look_at(number)

    def remove(self, number: int) -> None:
        """Remove a recipe, unless it is the last."""
        recipes = self._recipes()
        if len(recipes) > 1:
            self._on_change((*recipes[:number], *recipes[number + 1 :]))
            self.look_at(max(number - 1, 0))

    def _change_common(self, changes: dict[str, object]) -> None:
        self._on_change(tuple(recipe.replace(**changes) for recipe in self._recipes()))
