"""The tab "DLR": two columns, the map of dlr beside a peer's, the columns' density ratios, and a film of the fit.

What is drawn is a moment: a step of the run, bandwidths that were dragged by hand, or points that a visitor draws.
Moments are made on a thread, the latest asked for only; all pictures change together when one has come.
"""

from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.explorer import boundaries_moment as moments
from alrviz.explorer.boundaries_columns import ColumnMenus, table_of
from alrviz.explorer.boundaries_drawing import Drawing
from alrviz.explorer.boundaries_moment import Moment
from alrviz.explorer.boundaries_peers import PeerPart, peer_menu
from alrviz.explorer.boundaries_words import BANDWIDTHS, compared_html, dlr_script
from alrviz.explorer.convergence_controls import pill
from alrviz.explorer.convergence_dialogs import text_button
from alrviz.explorer.fitting_part import FittingPart
from alrviz.explorer.glossary import explain
from alrviz.explorer.jobs import Jobs
from alrviz.explorer.look import CARD, PANE_CSS
from alrviz.explorer.questions import Example
from alrviz.explorer.racer_settings import RacerSettings
from alrviz.explorer.session import Session
from alrviz.fitting.recipe import Recipe
from alrviz.views.asking import Asking
from alrviz.views.bandwidths import BandwidthView
from alrviz.views.decision_map import DecisionMapView
from alrviz.views.density_ratio import DensityRatioView
from alrviz.views.folded import Folded
from alrviz.views.gram_matrix import GramMatrixView
from alrviz.views.panes import say
from alrviz.views.ready import page_ready

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

HEIGHT = "max(300px, 44vh)"
FIRST_PEER = "lr"
QUICK = 25  # ms between two looks while a hand moves something: the page's own tick is too slow for that
EXAMPLES = (
    Example("much", "Four Gaussians: no straight line can tell the classes apart, two curves can", "four-gaussians", 0),
    Example("some", "Age curve: the risk rises, falls and rises again with age", "age-curve", 0),
    Example("not enough", "Two moons: a sum of curves cannot bend round both of them", "two-moons", 0),
)


class DlrTab:
    """See the module's text; the page says what a tab is."""

    def __init__(self, session: Session, dialogs: Any, open_drawer: Any):
        self.session, self._dialogs, self._open_drawer = session, dialogs, open_drawer
        self.jobs = Jobs(session)
        self.part = FittingPart(session, self.jobs, self._place_changed)
        self.peer = PeerPart(session, self.jobs, self._peer_changed)
        self._asking = Asking("alrviz-dlr")
        mine = session.tab == "" and session.model and session.model[0].family == "dlr"
        self.recipe: Recipe = session.model[0] if mine else Recipe("dlr", seed=session.seed)
        self.name = (session.peer if session.tab == "" else "") or FIRST_PEER
        self.table: Dataset | None = None
        self.moment: Moment | None = None
        self._whole: Any = None
        self._stale = self._setting = False
        self._settings: RacerSettings | None = None
        self._callback: Any = None
        self._build()
        if session.tab == "" and session.fitted is not None and session.fitted.recipes[0].family == "dlr":
            self.part.player.show(session.fitted)

    # ---- building ----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        small: dict[str, Any] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.columns = ColumnMenus(self._columns_chosen)
        self.bandwidth = pmui.Select(
            label="Bandwidths", options=BANDWIDTHS, width=168, description=explain("bandwidth"), **small
        )
        self.beside = pmui.Select(label="Beside it", options={}, width=196, **small)
        self.bandwidth.param.watch(lambda event: self._chosen("bandwidth", event.new), "value")
        self.beside.param.watch(lambda event: self._chosen("peer", event.new), "value")
        self.controls = [*self.columns.menus, self.bandwidth, self.beside]
        self.draw = pmui.Button(
            label="Draw", icon="draw", variant="outlined", size="small", margin=(0, 8, 0, 0),
            description="Draw: add, move and remove points; the models follow",
        )  # fmt: skip
        self.draw.on_click(lambda _: self.drawing.begin())
        settings = text_button("Settings", "tune", "Settings: everything else about this model")
        settings.on_click(lambda _: self._show_settings())
        python = text_button("Python", "code", "Python: copy this map as a script whose numbers are the screen's")
        python.on_click(lambda _: self._dialogs.show(dlr_script(self)))
        pills = [pill(example, self._tried) for example in EXAMPLES]
        try_it = pn.pane.HTML("<span class='quiet'>What does it gain?</span>", stylesheets=[PANE_CSS], align="center")
        self.told = [self.draw, pn.Row(try_it, *pills, margin=0), self.part.pricing.pane, settings, python]
        self._build_pictures()

    def _build_pictures(self) -> None:
        wake, dark = self.session.wake, self.session.dark
        common: dict[str, Any] = {"wake": wake, "height": HEIGHT, "width": 420, "controls": False, "dark": dark}
        self.drawing = Drawing(self)
        hands = {"on_add": self.drawing.add, "on_move": self.drawing.move, "on_remove": self.drawing.remove}
        self.map = DecisionMapView(title="dlr", **hands, **common)
        self.other = DecisionMapView(title="beside", **common)
        self.ratios = DensityRatioView(on_bandwidth=self.drag, dark=dark)
        self.path = BandwidthView(on_scrub=self._scrubbed, dark=dark)
        self.gram = GramMatrixView(dark=dark)
        self.words = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(0, 0, 4, 0))
        self.back = pmui.Button(
            label="Back to the fit", icon="undo", variant="outlined", size="small", visible=False, margin=0,
            description="Back to the fit: forget the bandwidths set by hand",
        )  # fmt: skip
        self.back.on_click(lambda _: self._place_changed())
        self.bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=(0, 0, 6, 0))
        player = self.part.player
        self.buttons = pn.Row(player.transport.panel, player.status, sizing_mode="stretch_width", margin=(0, 0, 8, 0))
        said = pn.Row(self.words, self.back, sizing_mode="stretch_width", margin=0)
        maps = pn.Row(_half(self.map, 0), _half(self.other, 12), sizing_mode="stretch_width", margin=0)
        inside = (self.buttons, self.drawing.bar.panel, self.bar, said, maps)
        card = pn.Column(*inside, styles=CARD, sizing_mode="stretch_width", margin=0)
        below = pn.Row(_half(self.ratios, 0, 3), _half(self.path, 12, 2), sizing_mode="stretch_width", margin=0)
        curves = pn.Column(below, styles=CARD, sizing_mode="stretch_width", margin=(12, 0, 0, 0))
        self.folded = Folded("The kernel's Gram matrix", self.gram)
        self.folded.param.watch(lambda _: self._show_gram(), "open")
        self.panel = pn.Column(card, curves, self.folded, sizing_mode="stretch_width", margin=0)

    # ---- showing -----------------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Show what the session has now."""
        session, dataset = self.session, self.session.dataset
        for view in (self.map, self.other, self.ratios, self.path, self.gram):
            view.dark = session.dark
        self._show_controls()
        if dataset is None or dataset is self._whole:
            return
        self._whole, self.table, self.moment = dataset, None, None
        self.drawing.end()
        self.recipe = self.recipe.replace(seed=session.seed)
        self.columns.offer(dataset, session.axes)
        self._take_table()

    def _show_controls(self) -> None:
        self._setting = True
        try:
            self.bandwidth.value = self.recipe.params["bandwidth"]
            menu = peer_menu(self.session, self.table or self.session.dataset)
            self.beside.options = menu
            self.beside.value = self.name if self.name in menu.values() else FIRST_PEER
        finally:
            self._setting = False
        self.columns.lock(self.drawing.on)
        self.draw.visible = not self.drawing.on and self.columns.numeric
        self.buttons.visible = not self.drawing.on
        self.part.pricing.pane.visible = not self.drawing.on

    def _take_table(self) -> None:
        """Have the table of the two columns made, and what follows from it."""
        dataset, names = self.session.dataset, self.columns.chosen
        if dataset is None or names is None:
            self.part.forget()
            for view in (self.map, self.other):
                view.show(None, None)
            say(self.words, "<p class='bad'>A map needs two columns, and this table has one. Choose another table.</p>")
            return
        self.part.player.mark(True)
        self.map.outdated = self.other.outdated = True
        self.jobs.start("table", lambda stop: table_of(dataset, names), self._table_made)

    def _table_made(self, table: "Dataset") -> None:
        names = self.columns.chosen
        if names is None:
            return
        self.table, self.moment = table, None
        common = {"classes": [str(label) for label in table.classes], "across": names[0], "up": names[1]}
        for view in (self.map, self.other):
            view.param.update(**common)
            view.show(None, table.X, table.y)
        self._show_controls()
        self._want()

    def _want(self) -> None:
        table = self.table
        if table is None:
            return
        self.part.want(table, self.recipe)
        name = self.beside.value or FIRST_PEER
        self.other.outdated = True
        self.peer.ask(name, table, holdout=self.recipe.holdout, seed=self.recipe.seed)
        self._place_changed()

    def hidden(self) -> None:
        """The other tab comes to the front: what runs here is stopped."""
        self.drawing.end()
        self._asking.stop()
        self.part.forget()
        self.peer.forget()
        self._whole = None

    # ---- controls ----------------------------------------------------------------------------------------------------

    def _chosen(self, what: str, value: Any) -> None:
        if self._setting or value is None:
            return
        if what == "peer":
            self.name = value
        else:
            self.recipe = self.recipe.replace(**{what: value})
        self._set()

    def _set(self) -> None:
        first = Recipe("dlr", seed=self.recipe.seed)
        self.session.param.update(
            model=() if self.recipe == first else (self.recipe,), peer="" if self.name == FIRST_PEER else self.name
        )
        self._show_controls()
        if self.drawing.on:
            self.drawing.follow()
        else:
            self._want()

    def _columns_chosen(self) -> None:
        dataset = self.session.dataset
        if dataset is not None:
            self.session.axes = self.columns.positions(dataset)
            self._take_table()

    def _tried(self, example: Example) -> None:
        self.drawing.end()
        self.session.load_demo(example.data)

    def _show_settings(self) -> None:
        if self._settings is None:
            self._settings = RacerSettings(
                lambda _, recipe: self._recipe_changed(recipe), lambda _: None,
                lambda changes: self._recipe_changed(self.recipe.replace(**changes)), families=("dlr",), what="Model",
            )  # fmt: skip
        self._settings.tell(self.part.pricing.solvers)
        self._settings.show(0, self.recipe, self.recipe.label, alone=True)
        self._open_drawer(self._settings.panel)

    def _recipe_changed(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._set()
        self._show_settings()

    def _scrubbed(self, step: int) -> None:
        self.part.player.scrub(step)

    # ---- moments -----------------------------------------------------------------------------------------------------

    def ask(self, work: Any) -> None:
        """Have a moment made in place of whatever was asked before, and look for it often."""
        self._asking.ask(work)
        self.session.wake()

    def drag(self, column: str, h: float) -> None:
        """Set a column's bandwidth by hand: the weights follow, and with them every picture."""
        from alrviz.explorer.boundaries_columns import log_bandwidths

        moment = self.moment
        if moment is None or moment.run is None or moment.run.objective is None:
            return
        player = self.part.player
        if player.player.playing:
            player.scrub(player.head)
        log_h = log_bandwidths(moment.scene, moment.model.model.log_h, column, h)
        run, w, step, scene = moment.run, moment.model.model.w, moment.model.step, moment.scene
        self._stale = False
        self.ask(lambda stop: moments.of_hand(run, log_h, w, step, scene, stop))
        self.hurry()

    def _place_changed(self) -> None:
        self._stale = True

    def follow_columns(self, columns: tuple[str, str], classes: tuple[str, ...]) -> None:
        """Let both maps show these columns and classes: those that are drawn."""
        for view in (self.map, self.other):
            view.param.update(classes=list(classes), across=columns[0], up=columns[1], outdated=False)

    def redraw(self) -> None:
        """Go back from what was drawn to the table and its run."""
        table, self.moment = self.table, None
        if table is not None:
            self._table_made(table)
            if self.peer.found is not None:
                self._peer_changed()

    def _ask_moment(self) -> None:
        self._stale = False
        run, race, table = self.part.shown, self.part.player.player.race, self.table
        if run is None or table is None or race is None or race.dataset.hash != table.hash:
            return
        step, scene = self.part.player.head, None if self.moment is None else self.moment.scene
        before = scene if self.moment is not None and self.moment.run is run else None
        self.ask(lambda stop: moments.of_run(run, step, before, stop))

    def _show_moment(self, moment: Moment) -> None:
        self.moment = moment
        by_hand = moment.scene.note == moments.BY_HAND
        with pn.io.hold():
            self.map.outdated = self.ratios.outdated = self.part.outdated and moment.run is not None
            if moment.X is not None:
                self.map.show(moment.model, moment.X, moment.y)
            else:
                self.map.set_model(moment.model)
            self.ratios.show(moment.scene)
            if moment.path is not None:
                self.path.show(moment.path)
                self.path.head = moment.model.step
            self.back.visible = by_hand
            self._say()
        self._show_gram()

    def _show_gram(self) -> None:
        moment = self.moment
        if self.folded.open and moment is not None and self.table is not None:
            classes = [str(label) for label in moment.model.classes_]
            self.jobs.start("gram", lambda stop: moments.gram_of(moment, classes), self.gram.show)

    def _peer_changed(self) -> None:
        found = self.peer.found
        label = next((text for text, slug in self.beside.options.items() if slug == self.beside.value), "")
        self.other.param.update(outdated=False, title=label)
        if found is not None:
            self.other.set_model(found.model)
        elif self.peer.problem is not None:
            self.jobs.failed(self.peer.problem)
        self._say()

    def _say(self) -> None:
        self.bar.visible = bool(self.part.player.player.waits or self.part.player.player.coming or self.peer.waiting)
        if not self.columns.chosen:
            return
        say(self.words, compared_html(self))

    # ---- time --------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Follow run, moments, peer and maps; returns whether there may be more."""
        waiting = self.jobs.poll()
        player = self.part.player
        moving = not self.drawing.on and player.pump()
        if self._stale and not self.drawing.on and not (player.player.playing and self._asking.busy):
            self._ask_moment()
        return bool(self._advance() or waiting or moving or self._stale)

    def _advance(self) -> bool:
        """Take what threads have found since; returns whether there may be more."""
        found = self._asking.take()
        if isinstance(found, Moment):
            self._show_moment(found)
        elif isinstance(found, Exception):
            self.jobs.failed(found)
        drawing = self.drawing.advance()
        busy = [view.pump() for view in (self.map, self.other)]
        if not self.drawing.on:
            self._say()
        return any(busy) or drawing or self._asking.busy

    def hurry(self) -> None:
        """Look often until everything has settled: a hand is moving something."""
        document = pn.state.curdoc
        if document is None or document.session_context is None:
            return
        if self._callback is None:
            self._callback = pn.state.add_periodic_callback(self._hurried, period=QUICK, start=False)
        if not self._callback.running:
            self._callback.start()

    def _hurried(self) -> None:
        with pn.io.hold():
            more = page_ready() and self._advance()
        if not more and self._callback is not None and self._callback.running:
            self._callback.stop()

    def close(self) -> None:
        """End the threads' work."""
        self._asking.stop()
        self.drawing.end()
        self.jobs.close()

    version = __version__


def _half(view: Any, left: int, share: int = 1) -> Any:
    """A view that takes its share of a row's width."""
    styles = {"flex": f"{share} 1 0", "min-width": "0"}
    return pn.Column(view, styles=styles, sizing_mode="stretch_width", margin=(0, 0, 0, left))
