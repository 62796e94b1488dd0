"""Recipes as chips: a press opens one's settings, the last chip adds one."""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from alrviz.explorer.recipes.questions import MOST_RACERS
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.palette import racer_colours
from alrviz.studies.core.names import short_names


class RecipeChips:
    """A row of chips; they are made once, up to the most there can be.

    Args:
        opened: called with a racer's number. added: called when one more is asked for.
        what: what a recipe is called here.
    """

    def __init__(self, opened: Callable[[int], None], added: Callable[[], None], what: str):
        self._chips = [self._chip(opened, number) for number in range(MOST_RACERS)]
        self._add = pmui.IconButton(
            label=f"Add a {what}",
            icon="add",
            description=f"Add a {what}",
            size="small",
            color="default",
            margin=0,
            align="center",
        )
        self._add.on_click(lambda _: added())
        self.panel = pmui.Row(*self._chips, self._add, margin=0, sx={"flexWrap": "wrap", "rowGap": "6px"})

    def _chip(self, opened: Callable[[int], None], number: int) -> Any:
        chip = pmui.Button(
            label="", variant="outlined", size="small", color="default", visible=False, margin=(0, 8, 0, 0),
        )  # fmt: skip
        chip.on_click(lambda _: opened(number))
        return chip

    def show(self, recipes: tuple[Recipe, ...], dark: bool = False) -> None:
        """Show these racers."""
        names, colours = short_names(recipes), racer_colours([recipe.label for recipe in recipes], dark)
        for number, chip in enumerate(self._chips):
            there = number < len(recipes)
            if there:
                paper = " · paper" if recipes[number].paper and "solver" in recipes[number].params else ""
                words = f"{names[number]}{paper}"
                chip.param.update(label=words, description=f"{words}: settings", sx=_sx(colours[number]))
            chip.visible = there
        self._add.visible = len(recipes) < MOST_RACERS


def _sx(colour: str) -> dict[str, Any]:
    dot = {
        "content": '""',
        "width": "11px",
        "height": "11px",
        "borderRadius": "50%",
        "backgroundColor": colour,
        "mr": "6px",
    }
    return {
        "borderRadius": "16px",
        "borderColor": colour,
        "color": "text.primary",
        "fontSize": "1rem",
        "px": "9px",
        "&::before": dot,
    }
