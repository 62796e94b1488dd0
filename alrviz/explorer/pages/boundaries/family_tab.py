"""The tab "Any family": the decision map of one model of the whole table, of alrviz or of scikit-learn.

A model of alrviz is a run, whose iterations can be played. A peer is fitted on a thread. The map has menus for its axes
and for the values of the other columns.
"""

from collections.abc import Callable, Hashable
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.explorer.pages.boundaries.fit import MapTab, first_row, map_axes, peer_menu
from alrviz.explorer.pages.boundaries.texts import family_script, peer_html, run_html
from alrviz.explorer.recipes.recipe_fields import alpha_entries, family_entries
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import TextDialog
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import card, html, room
from alrviz.explorer.widgets.export_model import FittedModel, model_of_peer
from alrviz.explorer.widgets.menus import order_buttons
from alrviz.fitting.families import RUNS
from alrviz.fitting.recipe import Recipe
from alrviz.studies.maps.partial_dependence import first_others
from alrviz.studies.maps.run_classifier import model_at
from alrviz.views.core.panes import Updating, say
from alrviz.views.maps.decision_map import DecisionMapView

HEIGHT = room(300, 255, 85)
_PEER = "peer "  # prefix of a peer's slug in the menu of models


class FamilyTab(MapTab):
    """The tab "Any family"."""

    def __init__(self, session: Session, script_dialog: TextDialog, place: Callable[[Viewable], None]):
        default_recipe = Recipe("alr", order=2, alpha=0.1, seed=session.seed)
        super().__init__(session, script_dialog, place, "any", RUNS, default_recipe)
        if self.linked_model:  # takes precedence over a peer in the link
            self.name = ""
        self._table: Dataset | None = None
        self._ready: FittedModel | None = None
        self._default_others = "typical"  # values of the other columns, for this table's first map
        self._stale = False
        self._setting = Updating()

    # ---- building ----------------------------------------------------------------------------------------------------

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the widgets; return the tab's part of the page's first row, and everything below it."""
        widget_params: dict[str, object] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.model = pmui.Select(label="Model", options={}, width=232, **widget_params)
        self.order = order_buttons()
        self.alpha = pmui.Select(label="alpha", options={}, width=104, description=explain("alpha"), **widget_params)
        for name in ("model", "order", "alpha"):
            getattr(self, name).param.watch(lambda event, name=name: self._on_choice(name, event.new), "value")
        self.words = html((0, 0, 8, 0))
        self.bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=(0, 0, 6, 0))
        self.map = DecisionMapView(wake=self.session.wake, height=HEIGHT, width=900)
        for name in ("others", "row", "across", "up"):
            self.map.param.watch(lambda _: self._axes_chosen(), name)
        self.buttons = pn.Row(
            self.player.transport.panel, self.player.status, sizing_mode="stretch_width", margin=(0, 0, 8, 0),
            css_classes=["alrviz-run"],
        )  # fmt: skip
        parts_below = self.model_part.evaluation.part, self.model_part.part
        self.panel = card(self.buttons, self.bar, self.words, self.map, *parts_below)
        self.show_fitted()
        controls = [self.model, self.order, self.alpha]
        return first_row(controls, self.starter.pane, self.settings_button, self.python_button), self.panel

    # ---- showing -----------------------------------------------------------------------------------------------------

    def on_shown(self) -> None:
        """Show the session's table."""
        session, dataset = self.session, self.session.table.dataset
        self.map.dark = session.dark
        self._show_controls()
        if dataset is None:
            return
        was_hidden, self._hidden = self._hidden, False
        has_new_axes = was_hidden and session.axes not in ((), self._positions(dataset))
        if dataset is self._table and not has_new_axes:
            if was_hidden:
                self._request_models()
            return
        self._table = dataset
        names = list(dataset.X.columns)
        map_params: dict[str, Any] = {}
        if len(session.axes) == 2:
            axes = [_name_at(dataset, k) for k in session.axes]
            if all(name in names for name in axes):
                map_params |= dict(zip(("across", "up"), axes, strict=True))
        self._default_others = first_others(dataset.X, *map_axes(dataset, **map_params))
        map_params |= {"classes": [str(label) for label in dataset.classes], "others": self._default_others, "row": 0}
        if session.others in self.map.param.others.objects:
            map_params |= {"others": session.others, "row": min(session.row or 0, dataset.n_rows - 1)}
        self.map.param.update(**map_params)
        self.map.watch(None, dataset.X, dataset.y)
        self.recipe = self.recipe.replace(seed=session.seed)
        self._request_models()

    def _show_controls(self) -> None:
        dataset = self.session.table.dataset
        peers = peer_menu(self.session, dataset)
        if dataset is not None and self.name not in peers.values():  # the truth, which only demo sets have
            self.name = ""
        recipe, is_recipe = self.recipe, not self.name
        with self._setting:
            families = family_entries(RUNS)
            self.model.options = {**families, **{label: _PEER + slug for label, slug in peers.items()}}
            self.model.value = recipe.family if is_recipe or dataset is None else _PEER + self.name
            self.order.visible = is_recipe and "order" in recipe.params
            order = recipe.params.get("order")
            self.order.value = order if order in (1, 2, 3) else None
            self.alpha.visible = is_recipe and "alpha" in recipe.params
            alpha = recipe.params.get("alpha", 0.0)
            self.alpha.options = alpha_entries(alpha)
            self.alpha.value = alpha
        self.buttons.visible = self.starter.pane.visible = self.settings_button.visible = is_recipe

    def on_hidden(self) -> None:
        """Stop the work of the tab."""
        self.give_up_fit()
        self.peer.forget()
        self.map.stop()
        self._hidden = True

    # ---- controls ----------------------------------------------------------------------------------------------------

    def _on_choice(self, name: str, value: str | float | None) -> None:
        if self._setting or value is None:
            return
        if name == "model" and str(value).startswith(_PEER):
            self.name = str(value).removeprefix(_PEER)
        else:
            self.name = ""
            changes = {"family": value} if name == "model" else {name: value}
            self.recipe = self.recipe.replace(**changes)
        self.set_model()

    def set_model(self) -> None:
        """Show the chosen model, write it into the link and fit it."""
        self.session.param.update(model=() if self.name else (self.recipe,), peer=self.name)
        self._show_controls()
        self._request_models()

    def _request_models(self) -> None:
        """Fit the chosen model, or the peer in its place, unless it is fitted."""
        dataset = self.session.table.dataset
        if dataset is None:
            return
        if self.name:
            self.give_up_fit()
            self.map.outdated, self._ready = True, None
            self.peer.ask(self.name, dataset, holdout=self.recipe.holdout, seed=self.session.seed)
        else:
            self.peer.forget()
            order = self.recipe.params.get("order")
            if order is not None and order > dataset.X.shape[1]:
                self.recipe = self.recipe.replace(order=dataset.X.shape[1])
            self.fit(dataset, self.recipe)
            self._place_changed()
        self._say()

    def _axes_chosen(self) -> None:
        dataset, view = self.session.table.dataset, self.map
        if dataset is None or self._table is not dataset or view.across is None:
            return
        axes = self._positions(dataset)
        self.session.param.update(
            axes=axes if len(axes) == 2 else (),
            others="" if view.others == self._default_others else view.others,
            row=view.row if view.others == "row" else None,
        )

    def _positions(self, dataset: Dataset) -> tuple[int, ...]:
        """Return the positions of the map's two columns in the table."""
        names = dataset.table.names
        return tuple(names.index(name) for name in (self.map.across, self.map.up) if name in names)

    def set_recipe(self, recipe: Recipe) -> None:
        """Show the fit of this recipe from now on, instead of a peer."""
        self.name = ""
        super().set_recipe(recipe)

    # ---- models ------------------------------------------------------------------------------------------------------

    def _place_changed(self) -> None:
        self._stale = not self.name  # a peer has no iterations

    def _peer_changed(self) -> None:
        fit, dataset = self.peer.reference, self.session.table.dataset
        if fit is not None:
            if dataset is not None:
                label = next(menu_label for menu_label, slug in self.model.options.items() if slug == _PEER + fit.name)
                self._ready = model_of_peer(label, fit.model, dataset, fit.rows, self.recipe.holdout, self.session.seed)
            self.map.param.update(outdated=False, title="")
            self.map.set_model(fit.model)
        self._say()

    def _draw(self) -> None:
        self._stale = False
        run, dataset = self.drawn_run, self.session.table.dataset
        race = self.player.player.race
        if run is None or dataset is None or race is None or race.dataset.hash != dataset.hash:
            return
        self.map.outdated = self.outdated
        model = model_at(run, self.player.iteration)
        if model is not None:
            self.map.set_model(model)

    def _say(self) -> None:
        is_waiting = self.peer.is_fitting if self.name else self.player.player.is_waiting
        self.bar.visible = bool(is_waiting or (not self.name and self.player.player.next_reader is not None))
        run_text = run_html(self.player, self.outdated)
        say(self.words, peer_html(self.name, self.peer) if self.name else run_text)

    def script(self) -> str:
        """Return the script that computes the map."""
        return family_script(self.session, self.recipe, self.name, self.map)

    def pump(self) -> bool:
        """Follow run, peer and map; return whether there may be more."""
        tasks_busy = self.tasks.poll()
        moving = not self.name and self.player.pump()
        if self._stale and not self.name and not (self.player.player.playing and self.map.busy):
            self._draw()
        self._say()
        receiving = self.model_part.pump(self._ready if self.name else self.player.player.race)
        return bool(self.map.pump() or tasks_busy or moving or self._stale or receiving)

    def close(self) -> None:
        """Cancel the tab's tasks."""
        self.map.stop()
        self.tasks.close()


def _name_at(dataset: Dataset, position: int) -> Hashable:
    names = dataset.table.names
    return names[position] if position < len(names) else None
