"""The racers of the Convergence page, and the question, order and alpha that define them. Pure data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from alrviz.explorer.recipes.questions import CUSTOM, FIRST_ALPHA, FIRST_QUESTION, QUESTIONS, apply_cuts, recipes_of
from alrviz.fitting.recipe import Recipe


class RaceSettings:
    """The racers of a page.

    Args:
        question: slug of a question, or `CUSTOM`; anything else is the first question.
        recipes: the racers; () for those of the question.
        seed: of the question's racers.
        cuts: discretize and n_bins of the question's racers.

    Attributes:
        order: of the racers, at most the number of columns; None if custom racers differ in it. The order that was set
            comes back with a table that has enough columns.
        alpha: of the racers; None if custom racers differ in it.
    """

    def __init__(
        self,
        question: str,
        recipes: tuple[Recipe, ...] = (),
        seed: int = 0,
        cuts: Mapping[str, Any] = MappingProxyType({}),
    ):
        self.question = question if question in (*QUESTIONS, CUSTOM) else FIRST_QUESTION
        self._columns: int | None = None  # of the table; None before `ask`
        self.order = 2
        self.alpha: float | None = FIRST_ALPHA if self._needs_penalty else 0.0
        self.cuts: Mapping[str, Any] = dict(cuts)
        self._alpha_is_chosen = False  # whether the reader chose alpha, rather than the question
        self.recipes = recipes
        if recipes:
            self._derive_settings()
        else:
            self.recipes = recipes_of(self.question, order=self.order, alpha=self.alpha, seed=seed, cuts=self.cuts)

    @property
    def order(self) -> int | None:  # noqa: D102 - among the attributes
        if self._requested_order is None or self._columns is None:
            return self._requested_order
        return min(self._requested_order, self._columns)

    @order.setter
    def order(self, order: int | None) -> None:
        self._requested_order = order

    @property
    def _needs_penalty(self) -> bool:
        return self.question in QUESTIONS and QUESTIONS[self.question].needs_penalty

    def _derive_settings(self) -> None:
        """Derive order, alpha and question from the racers."""
        orders = [order for racer in self.recipes if isinstance(order := racer.params.get("order"), int)]
        self.order = orders[0] if orders else 2
        # An alpha such as "auto", or one per order, is no value of the menu.
        alphas = [alpha for racer in self.recipes if isinstance(alpha := racer.params.get("alpha"), float)]
        self.alpha = alphas[0] if alphas else 0.0
        self.cuts = {"discretize": self.recipes[0].discretize, "n_bins": self.recipes[0].n_bins}
        seed = self.recipes[0].seed
        for slug in dict.fromkeys((self.question, *QUESTIONS)):
            if slug != CUSTOM and self.recipes == recipes_of(
                slug, order=self.order, alpha=self.alpha, seed=seed, cuts=self.cuts
            ):
                self.question = slug
                return
        self.set_custom(*self.recipes)

    @property
    def is_first(self) -> bool:
        """Whether these are the racers of the first screen."""
        return self.recipes == recipes_of(FIRST_QUESTION, seed=self.recipes[0].seed)

    def choose(self, name: str, value: Any) -> None:
        """Set "question", "order" or "alpha"; a question's default alpha is reset when the question changes."""
        if name == "question" and self._needs_penalty and not self._alpha_is_chosen and self.alpha == FIRST_ALPHA:
            self.alpha = 0.0
        self._alpha_is_chosen = name == "alpha" or (self._alpha_is_chosen and bool(self.alpha))
        setattr(self, name, value)

    def ask(self, columns: int, seed: int) -> None:
        """Set the racers to those of the question, for so many columns; custom racers get the order and alpha."""
        self._columns = columns
        if self.question == CUSTOM:
            racers = (racer.replace(**self._new_params(racer, columns)) for racer in self.recipes)
            self.recipes = tuple(dict.fromkeys(racers))
            return
        self.order, self.alpha = self._requested_order or 2, self.alpha or 0.0
        if self._needs_penalty and not self.alpha:
            self.alpha = FIRST_ALPHA
        self.recipes = recipes_of(
            self.question, order=self.order, alpha=self.alpha, seed=seed, columns=columns, cuts=self.cuts
        )

    def _new_params(self, recipe: Recipe, columns: int) -> dict[str, Any]:
        """Return order and alpha for a custom racer.

        The order is at most `columns`. An alpha such as "auto", or one per order, is kept until another is chosen.
        """
        order = recipe.params.get("order")
        params: dict[str, Any] = {"order": self.order or min(order, columns)} if isinstance(order, int) else {}
        if self._alpha_is_chosen or isinstance(recipe.params.get("alpha"), float):
            params["alpha"] = self.alpha
        return {name: value for name, value in params.items() if name in recipe.params and value is not None}

    def recut(self, cuts: Mapping[str, Any]) -> None:
        """Apply these cuts to all racers."""
        self.cuts = dict(cuts)
        self.recipes = tuple(dict.fromkeys(apply_cuts(recipe, self.cuts) for recipe in self.recipes))

    def set_custom(self, *recipes: Recipe) -> None:
        """Set custom racers; order and alpha follow if all racers agree."""
        self.question, self.recipes = CUSTOM, recipes
        for name in ("order", "alpha"):
            numbers = {value for recipe in recipes if isinstance(value := recipe.params.get(name), int | float)}
            if numbers:
                setattr(self, name, numbers.pop() if len(numbers) == 1 else None)

    def reseed(self, seed: int) -> None:
        """Apply this seed to all racers."""
        self.recipes = tuple(racer if racer.seed == seed else racer.replace(seed=seed) for racer in self.recipes)
