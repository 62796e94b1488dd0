"""The controls of "Compare": data sets, several at once, and the folds; recipes have a chooser of their own."""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from alrviz.explorer.pages.order.controls import FOLD_NAMES
from alrviz.explorer.pages.order.settings import FOLDS
from alrviz.explorer.server.tables import FileLink
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import MOST_SETS
from alrviz.explorer.widgets.menus import select
from alrviz.explorer.widgets.table_sets import OwnTables, Sets
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts
from alrviz.fitting.recipe import Recipe


class CompareControls:
    """The two menus; they show what they are told and tell what was chosen.

    Args:
        own: the visitor's tables.
        changed: called with the data sets and the slug of the folds.
        session: the visitor's.
        cut: called with the slug of the cuts chosen.
    """

    def __init__(
        self, own: OwnTables, changed: Callable[[Sets, str], None], session: Session, cut: Callable[[str], None]
    ):
        self._own, self._changed, self._session = own, changed, session
        self.cuts = cuts_menu(cut)
        self._setting = False
        self.sets = pmui.MultiChoice(
            label="Data sets", options={}, max_items=MOST_SETS, margin=(0, 8, 0, 0),
            sizing_mode="stretch_width", solid=False,
            description="Data sets: demo sets, and tables that you have dropped",
        )  # fmt: skip
        self.folds = select("Cross-validation", {FOLD_NAMES[slug]: slug for slug in FOLDS}, 144)
        for menu in (self.sets, self.folds):
            menu.param.watch(lambda _: self._chosen(), "value")

    def show(self, sets: Sets, folds: str, recipes: tuple[Recipe, ...]) -> None:
        """Show what is set."""
        show_cuts(self.cuts, self._session, cuts_of(recipes))
        self.cuts.visible = True  # whatever the session's own table is
        from alrviz.data.demos import demo_names

        options: dict[str, Any] = {**self._own.options(), **{name: name for name in demo_names()}}
        self._setting = True
        try:
            self.sets.param.update(options=options, value=[*sets.demos, *(link for link, _ in sets.own)])
            self.folds.value = folds
        finally:
            self._setting = False

    def _chosen(self) -> None:
        if self._setting:
            return
        demos = tuple(name for name in self.sets.value if isinstance(name, str))
        links = [link for link in self.sets.value if isinstance(link, FileLink)]
        self._changed(Sets(demos, self._own.of(links)), self.folds.value)
