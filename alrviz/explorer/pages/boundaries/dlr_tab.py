"""The tab "DLR": two columns, the map of dlr beside a peer's, the columns' density ratios, and a film of the fit.

What is drawn is a moment: a step of the run, bandwidths that were dragged by hand, or points that a visitor draws.
Moments are made on a thread, the latest asked for only; all pictures change together when one has come.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.explorer.pages.boundaries import dlr_frames
from alrviz.explorer.pages.boundaries.columns import ColumnMenus, log_bandwidths, table_of
from alrviz.explorer.pages.boundaries.controls import FIRST_PEER, DlrControls, first_recipe
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
from alrviz.explorer.pages.boundaries.drawing import Drawing
from alrviz.explorer.pages.boundaries.peers import PeerFit
from alrviz.explorer.pages.boundaries.pictures import Pictures
from alrviz.explorer.pages.boundaries.words import compared_html, dlr_script
from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.server import process_tuning
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.sketch import Sketch
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.explorer.widgets.dialogs import ScriptDialog
from alrviz.explorer.widgets.export_model import ExportModel
from alrviz.explorer.widgets.fit_card import FitCard
from alrviz.explorer.widgets.model_drawer import ModelDrawer
from alrviz.fitting.recipe import Recipe
from alrviz.job import LatestJob
from alrviz.stop import StopToken
from alrviz.studies.core.export import made_from
from alrviz.studies.race.race import Race
from alrviz.views.core.panes import say
from alrviz.views.core.pump import Pump

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset


_SENTENCE_STYLES = {"min-height": "36px"}
_DRAWING_SENTENCE_STYLES = {"height": "3.5rem", "min-height": "3.5rem", "overflow": "hidden"}


class MapCard:
    """The card of the tab, from above: the film's buttons, or those of drawing, the sentence, the pictures.

    Args:
        part: whose buttons play the film. made: what stands beside them. drawing: the row that takes their place.
        pictures: what lies below.
        back: called when bandwidths set by hand are to be forgotten.
    """

    def __init__(
        self, part: FitCard, made: list[Viewable], drawing: Viewable, pictures: Viewable, back: Callable[[], None]
    ):
        self.words = html((0, 0, 4, 0))
        self.back = button(
            "Back to the fit", back, icon="undo", variant="outlined", size="small", visible=False, margin=0,
            description="Back to the fit: forget the bandwidths set by hand",
        )  # fmt: skip
        self.bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=0)
        transport = (part.player.transport.panel, part.player.status, *made)
        self.buttons = pn.Row(*transport, sizing_mode="stretch_width", margin=(0, 0, 4, 0), css_classes=["alrviz-run"])
        # With and without a button, with and without the bar: what lies below stays where it is.
        self._sentence_row = pn.Row(
            self.words, self.back, sizing_mode="stretch_width", styles=_SENTENCE_STYLES, margin=0
        )
        waiting = pn.Column(self.bar, height=10, sizing_mode="stretch_width", margin=0)
        inside = (self.buttons, drawing, waiting, self._sentence_row, pictures)
        self.panel = pn.Column(*inside, styles=CARD, sizing_mode="stretch_width", margin=0)

    def say(self, sentence: str) -> None:
        """Show a sentence, as HTML."""
        say(self.words, sentence)

    def hold(self, drawing: bool) -> None:
        """Keep two lines for the sentence while a hand draws: no longer one may move the map under the pointer."""
        self._sentence_row.styles = _DRAWING_SENTENCE_STYLES if drawing else _SENTENCE_STYLES

    def wait(self, waiting: bool) -> None:
        """Show whether something is on its way."""
        self.bar.visible = bool(waiting)


REST, PATIENT = 0.08, 0.4  # seconds a hand pauses before all pictures follow it; they wait no longer for a pause
SOON = 0.015  # seconds a dragged curve is waited for at once: of 20,000 rows it takes 4 ms
# Seconds between two pictures of a film while another visitor drags something: each holds the loop for 0.1 s, and at
# one a second it met one move of a hand in eight.
SLOW = 4.0


class DraggedBandwidth:
    """What a dragged bandwidth does to a tab: its curve goes first and alone, all other pictures follow when it pauses.

    Args:
        tab: whose moment is changed.
    """

    def __init__(self, tab: "DlrTab"):
        self._tab = tab
        self.settled = float("-inf")  # when all pictures last showed the same moment

    def drag(self, column: str, h: float) -> None:
        """Set a column's bandwidth by hand: the weights follow, and with them every picture."""
        tab, moment, player = self._tab, self._tab.moment, self._tab.part.player
        if moment is None or moment.run is None or tab.part.outdated:
            return
        process_tuning.hand_moved()
        if player.player.playing:
            player.scrub(player.head)
        log_h = log_bandwidths(moment.scene, moment.density.log_h, column, h)
        run, w, step, scene = moment.run, moment.density.w, player.head, moment.scene
        tab.take()  # a hand that is faster than the looks sees every curve that is there
        rest = REST if time.monotonic() - self.settled < PATIENT else 0.0
        tab.ask(lambda stop: dlr_frames.of_hand(run, log_h, w, step, scene, stop, rest))
        tab.asking.wait(SOON)
        tab.take()
        tab.hurry()

    def passes(self, moment: DlrFrame) -> bool:
        """Whether a moment that has come is only on the way, and its curves are all that is drawn of it."""
        if not moment.passing:
            self.settled = time.monotonic()
        return moment.passing

    @property
    def goes_first(self) -> bool:
        """Whether a film leaves out a picture for somebody's hand."""
        return process_tuning.hand_moving() and time.monotonic() - self.settled < SLOW


QUICK = 20  # ms between two looks while a hand moves something: the page's own tick is too slow for that


class DlrTab:
    """See the module's text; the page says what a tab is."""

    def __init__(self, session: Session, dialogs: ScriptDialog, open_drawer: Callable[[Viewable], None]):
        self.session, self._dialogs = session, dialogs
        self.tasks = PageTasks(session)
        self.part = FitCard(session, self.tasks, self._place_changed, film=True, drawn=self._drawn)
        self.peer = PeerFit(session, self.tasks, self._peer_changed)
        self.asking = LatestJob("a step of the fit")
        here = session.tab == ""
        mine = here and session.model and session.model[0].family == "dlr"
        self.recipe: Recipe = session.model[0] if mine else first_recipe(session.seed)
        self.name = (session.peer if here else "") or FIRST_PEER
        self.table: Dataset | None = None
        self.moment: DlrFrame | None = None
        self._whole: Dataset | None = None
        self._stale = self._behind = self._drew = False
        self._drawer = ModelDrawer(
            lambda: self.recipe, self._recipe_changed, lambda: self.part.pricing.solvers, ("dlr",), open_drawer
        )
        self._hurrying = Pump(self._hurried, QUICK)
        self._build()
        if here and session.fitted is not None and session.fitted.recipes[0].family == "dlr":
            self.part.player.show(session.fitted)

    # ---- building ----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.drawing = Drawing(self)
        hands = {"on_add": self.drawing.add, "on_move": self.drawing.move, "on_remove": self.drawing.remove}
        self.hand = DraggedBandwidth(self)
        player = self.part.player
        lines = self._made_from, player.made_from
        self.pictures = Pictures(
            self.session.wake, hands, self.hand.drag, player.scrub, player.film, self._show_gram, *lines
        )
        self.columns = ColumnMenus(self._columns_chosen)
        self.menus = DlrControls(self._chosen, self._pressed)
        self.controls = [*self.columns.menus, *self.menus.menus]
        self.told = [self.menus.examples]
        made = [self.menus.draw, self.menus.settings]
        self.card = MapCard(self.part, made, self.drawing.bar.panel, self.pictures.seen, self.redraw)
        self.model_part = ExportModel(self.session, self.tasks)
        self.menus.more.insert(0, self.part.pricing.pane)
        below = (
            self.pictures.read,
            self.pictures.folded,
            self.model_part.evaluation.part,
            self.model_part.part,
            self.menus.more,
        )
        self.panel = pn.Column(self.card.panel, *below, sizing_mode="stretch_width", margin=0)

    def result(self) -> Race | None:
        """Return the fit of what is set, when it has ended and all of it was shown."""
        player = self.part.player
        return player.player.race if player.ended and not self.part.outdated else None

    @property
    def sketch(self) -> Sketch | None:
        """The points that are drawn by hand."""
        return self.drawing.sketch

    # ---- showing -----------------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Show what the session has now."""
        session, dataset = self.session, self.session.dataset
        self.pictures.ground(session.dark)
        self.show_controls()
        if dataset is None:
            return
        turned = self._behind and session.axes not in ((), self.columns.positions(dataset))
        if dataset is self._whole and not turned:
            self._come_back()
            return
        self._whole, self.table, self.moment, self._behind = dataset, None, None, False
        self.drawing.put_by()
        self.recipe = self.recipe.replace(seed=session.seed)
        self.columns.offer(dataset, session.axes)
        self._take_table()

    def show_controls(self) -> None:
        """Bring the menus up to date; what has no effect is hidden."""
        drawn, waiting = self.drawing.on, self.drawing.waiting
        self.menus.show(self.session, self.table or self.session.dataset, self.recipe, self.name)
        self.menus.offer_drawing(not drawn and self.drawing.possible, 0 if waiting is None else len(waiting))
        self.columns.hide(drawn)
        self.card.hold(drawn)
        for part in (self.card.buttons, self.menus.more):
            part.visible = not drawn

    def _take_table(self) -> None:
        """Have the table of the two columns made, and what follows from it."""
        dataset, names = self.session.dataset, self.columns.chosen
        if dataset is None or names is None:
            self.part.forget()
            self.part.pricing.forget()
            self.pictures.clear()
            self.card.say("<p class='bad'>A map needs two columns, and this table has one. Choose another table.</p>")
            return
        self.part.player.mark(True, expected=True)
        self.pictures.outdate()
        self.tasks.start("table", lambda stop: table_of(dataset, names), self._table_made)

    def _table_made(self, table: "Dataset") -> None:
        names = self.columns.chosen
        if names is None:
            return
        self.table, self.moment = table, None
        self.pictures.take(table, names)
        self.show_controls()
        self._want()

    def _want(self) -> None:
        table = self.table
        if table is None:
            return
        self.part.want(table, self.recipe)
        self.pictures.other.outdated = True
        self.peer.ask(self.menus.peer, table, holdout=self.recipe.holdout, seed=self.recipe.seed)
        if not self.peer.waiting:
            self._peer_changed()
        self._place_changed()

    def hidden(self) -> None:
        """The other tab comes to the front: what runs here is stopped, what is drawn stays."""
        self._drew = self.drawing.on
        self.drawing.put_by()
        self.asking.cancel()
        self.pictures.stop()
        self.part.forget()
        self._behind = True

    def _come_back(self) -> None:
        """Go on where the tab was left, with the same table."""
        if self._behind and self.table is not None:
            self._behind = False
            (self.drawing.begin if self._drew else self._want)()

    # ---- controls ----------------------------------------------------------------------------------------------------

    def _chosen(self, what: str, value: str) -> None:
        if what == "peer":
            self.name = value
        else:
            self.recipe = self.recipe.replace(**{what: value})
        self._set()

    def _set(self) -> None:
        first = first_recipe(self.recipe.seed)
        self.session.param.update(
            model=() if self.recipe == first else (self.recipe,), peer="" if self.name == FIRST_PEER else self.name
        )
        self.show_controls()
        (self.drawing.follow if self.drawing.on else self._want)()

    def _columns_chosen(self) -> None:
        dataset = self.session.dataset
        if dataset is not None:
            self.session.axes = self.columns.positions(dataset)
            self._take_table()

    def _pressed(self, what: str | Example) -> None:
        if isinstance(what, Example):
            self.session.load_demo(what.data)
        elif what == "draw":
            self.drawing.begin()
        elif what == "python":
            self._dialogs.show(dlr_script(self))
        else:
            self._drawer.show()

    def _recipe_changed(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._set()

    # ---- moments -----------------------------------------------------------------------------------------------------

    def ask(self, work: Callable[[StopToken], Iterator[DlrFrame]]) -> None:
        """Have a moment made in place of whatever was asked before."""
        self._stale = False
        self.tasks.withdraw("moment")
        self.asking.run(work, self._show_moment, partial(self.tasks.failed, "moment"))
        self.session.wake()

    def redraw(self) -> None:
        """Go back from what a hand has made to the step of the run that is shown."""
        table = self.table
        if table is not None and self.moment is not None and self.moment.run is None:
            self._table_made(table)
        self._place_changed()

    def _place_changed(self) -> None:
        self._stale = True
        self.session.wake()

    def _drawn(self) -> int | None:
        """The iteration that the pictures show, None where they show none of the run."""
        moment = self.moment
        return None if moment is None or moment.run is not self.part.shown or moment.by_hand else moment.model.step

    def _ask_moment(self) -> None:
        self._stale = False
        run, race, table = self.part.shown, self.part.player.player.race, self.table
        if run is None or table is None or race is None or run.dataset.hash != table.hash:
            return
        step, moment = self.part.player.head, self.moment
        before = moment.scene if moment is not None and moment.run is run else None
        self.ask(lambda stop: dlr_frames.of_run(run, step, before, stop))

    def _show_moment(self, moment: DlrFrame) -> None:
        if (moment.run is None) != self.drawing.on:  # it was asked for before drawing began, or ended
            return
        self.moment = moment
        if self.drawing.on:
            self.drawing.remember(moment)
        if self.hand.passes(moment):
            with pn.io.hold():
                self.pictures.ratios.watch(moment.scene)
            return
        with pn.io.hold():
            self.pictures.show(moment, self.part.outdated and not self.drawing.on)
            self.card.back.visible = moment.by_hand
            self.part.player.say_status()
            self._say()
        self._show_gram()

    def _show_gram(self) -> None:
        moment = self.moment
        if self.pictures.folded.open and moment is not None:
            classes = [str(label) for label in moment.model.classes_]
            self.tasks.start("gram", lambda stop: dlr_frames.gram_of(moment, classes), self.pictures.gram.watch)

    def _made_from(self) -> str:
        """What the moment shown is of, in a line."""
        moment = self.moment
        if moment is None or moment.X is None:
            return self.part.player.made_from()
        return made_from({"alrviz": __version__, "points drawn": len(moment.X)}, [self.recipe])

    def _peer_changed(self) -> None:
        found = self.peer.found
        self.pictures.show_beside(self.menus.peer_label, None if found is None else found.model)
        if self.peer.problem is not None:
            self.tasks.failed("peer", self.peer.problem)
        self._say()

    def _say(self) -> None:
        player = self.part.player.player
        self.card.wait(player.waits or player.coming is not None or self.peer.waiting)
        if self.columns.chosen is not None and not (self.moment is not None and self.moment.passing):
            self.card.say(compared_html(self))

    # ---- time --------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Follow run, moments, peer and maps; returns whether there may be more."""
        waiting = self.tasks.poll()
        player = self.part.player
        moving = not self.drawing.on and player.pump(hold=self.pictures.ratios.building)
        if (
            self._stale
            and not self.drawing.on
            and not (player.player.playing and (self.asking.busy or self.hand.goes_first))
        ):
            self._ask_moment()
        coming = self.model_part.pump(None if self.drawing.on else player.player.race)
        return bool(self._advance() or waiting or moving or self._stale or coming)

    def _advance(self) -> bool:
        """Take what threads have found since; returns whether there may be more."""
        self.take()
        drawing = self.drawing.advance()
        busy = self.pictures.pump()
        self._say()
        return busy or drawing or self.asking.busy

    def take(self) -> None:
        """Show the moment that has come, if one has."""
        self.asking.poll()

    def hurry(self) -> None:
        """Look often until everything has settled: a hand is moving something."""
        document = pn.state.curdoc
        if document is None or document.session_context is None:
            return
        self._hurrying.wake()

    def _hurried(self) -> bool:
        with pn.io.hold():
            return self._advance()

    def close(self) -> None:
        """End the threads' work."""
        self.asking.cancel()
        self.drawing.end()
        self.pictures.stop()
        self.tasks.close()
