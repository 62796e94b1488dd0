"""The menus of "Bias and variance": data and recipes on both tabs, and what each tab has of its own.

They show what they are told and tell what was chosen.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from alrviz.explorer.pages.bias import curve_settings, settings
from alrviz.explorer.pages.bias.curve_settings import REPEATS, THETAS, WINDOWS
from alrviz.explorer.pages.bias.settings import FOLDS, SIZES, Grid, pulled
from alrviz.explorer.recipes.questions import ALPHAS, OWN
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.widgets.menus import data_menu, select, show_data
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts, show_split, split_menu, with_cuts

_OWN_ALPHA = "-"  # each family's own: None is nothing a menu can show
_ALPHAS = {"separate alpha per recipe": _OWN_ALPHA, "nested CV": "cv"}
_FOLDS = {slug.replace("x", " x "): slug for slug in FOLDS}
_ROUNDS = "Shuffles of the rows, and into how many folds each is cut; every fold is judged by a fit on the others"
_THETAS = dict(zip(("all rows", "rows so far"), THETAS, strict=True))


class Menus:
    """The menus that both tabs have; `parts` go into the page's first row.

    Args:
        session: whose tables are offered.
        changed: called with the settings chosen.
        grids: of recipes, by slug.
        cut: called with the slug of the cuts chosen.
    """

    def __init__(
        self,
        session: Session,
        changed: Callable[[Any], None],
        grids: Mapping[str, Grid],
        cut: Callable[[str], None],
    ):
        self._session, self._changed, self._grids = session, changed, grids
        self._setting = False
        self._asked: Any = None
        self.data = data_menu(session)
        self.grid = select("Recipes", {}, 216)
        self.cuts, self.split = cuts_menu(cut), split_menu(session)
        self.parts = [self.data, self.grid]
        self.grid.param.watch(lambda event: self._choose_grid(event.new), "value")

    def show(self, asked: Any) -> None:
        """Show what is set; what has no effect is hidden."""
        show_data(self.data, self._session)
        show_cuts(self.cuts, self._session, cuts_of(asked.recipes))
        show_split(self.split, self._session)
        self._asked, grids = asked, self._grids
        self._setting = True
        try:
            own = {"my own": OWN} if asked.grid == OWN else {}
            self.grid.param.update(options={of.words: slug for slug, of in grids.items()} | own, value=asked.grid)
            self.grid.description = grids[asked.grid].why if asked.grid in grids else "Recipes as you set them"
            self.fill(asked)
        finally:
            self._setting = False

    def fill(self, asked: Any) -> None:
        """Show what is set in the tab's own menus."""
        raise NotImplementedError

    def choose(self, **changes: Any) -> None:
        """Tell what was chosen."""
        if not self._setting:
            self._changed(replace(self._asked, **changes))

    def _choose_grid(self, slug: str) -> None:
        if slug in self._grids:
            self.choose(recipes=with_cuts(self._grids[slug].recipes, self._session.cuts))


class GridMenus(Menus):
    """Those of the grid: alpha of all recipes, rounds and folds, training sizes."""

    def __init__(self, session: Session, changed: Callable[[settings.Asked], None], cut: Callable[[str], None]):
        super().__init__(session, changed, settings.GRIDS, cut)
        self.alpha = select("alpha", {}, 148, description=explain("alpha"))
        self.folds = select("Rounds x folds", _FOLDS, 124, description=_ROUNDS)
        self.sizes = select("Training rows", {}, 156, description="Shares of the training rows that are learned from")
        self.parts += [self.alpha, self.folds, self.sizes, self.cuts, self.split]
        self.alpha.param.watch(lambda event: self._choose_alpha(event.new), "value")
        self.folds.param.watch(lambda event: self.choose(folds=event.new), "value")
        self.sizes.param.watch(lambda event: self.choose(sizes=event.new), "value")

    def fill(self, asked: settings.Asked) -> None:
        """Show what is set."""
        alpha = asked.alpha
        numbers = sorted({*ALPHAS, *([alpha] if isinstance(alpha, float) else [])})
        self.alpha.param.update(
            options=_ALPHAS | {f"{number:g}": number for number in numbers},
            value=_OWN_ALPHA if alpha is None else alpha,
            visible=asked.shares_alpha,
        )
        self.folds.value = asked.folds
        sizes = {_sizes_text(slug): slug for slug in dict.fromkeys((*SIZES, asked.sizes))}
        self.sizes.param.update(options=sizes, value=asked.sizes)

    def _choose_alpha(self, alpha: Any) -> None:
        if not self._setting:
            self.choose(recipes=pulled(self._asked.recipes, None if alpha == _OWN_ALPHA else alpha))


class CurveMenus(Menus):
    """Those of the learning curve: orders of the rows, window, where alr has theta from."""

    def __init__(self, session: Session, changed: Callable[[curve_settings.Asked], None], cut: Callable[[str], None]):
        super().__init__(session, changed, curve_settings.GRIDS, cut)
        self.repeats = select(
            "Shuffles", {}, 160, description="Orders of the rows; every learner meets the rows in each"
        )
        self.window = select("Window (rows)", {}, 136, description="Over how many of the last rows a point is the mean")
        self.theta = select("log theta from", _THETAS, 152, description=explain("theta"))
        self.parts += [self.repeats, self.window, self.theta, self.cuts, self.split]
        self.repeats.param.watch(lambda event: self.choose(repeats=event.new), "value")
        self.window.param.watch(lambda event: self.choose(window=event.new), "value")
        self.theta.param.watch(lambda event: self.choose(theta=event.new), "value")

    def fill(self, asked: curve_settings.Asked) -> None:
        """Show what is set."""
        repeats, windows = sorted({*REPEATS, asked.repeats}), sorted({*WINDOWS, asked.window})
        self.repeats.param.update(options={str(number): number for number in repeats}, value=asked.repeats)
        self.window.param.update(options={f"{number:,}": number for number in windows}, value=asked.window)
        self.theta.param.update(value=asked.theta, visible=asked.has_theta)


def _sizes_text(slug: str) -> str:
    sizes = slug.split("-")
    few = ", ".join(sizes) if len(sizes) < 4 else f"{sizes[0]} … {sizes[-1]}"
    return "all" if slug == "100" else f"{few} %"
