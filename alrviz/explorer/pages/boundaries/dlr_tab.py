"""The tab "DLR": two columns, the map of dlr beside a peer's, the columns' density ratios, and a film of the fit.

What is drawn is a moment: a step of the run, bandwidths that were dragged by hand, or points that a visitor draws.
Moments are made on a thread, the latest asked for only; all pictures change together when one has come.
"""

from collections.abc import Callable
from functools import partial

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.explorer.pages.boundaries import dlr_frames
from alrviz.explorer.pages.boundaries.dlr_controls import FIRST_PEER, ColumnMenus, DlrControls, first_recipe
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame, table_of
from alrviz.explorer.pages.boundaries.dlr_view import Pictures
from alrviz.explorer.pages.boundaries.drawing import DlrState, Drawing
from alrviz.explorer.pages.boundaries.frame_queue import DraggedBandwidth, FrameQueue
from alrviz.explorer.pages.boundaries.words import compared_html, dlr_script, made_from_line
from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import TextDialog
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.studies.race.race import Race
from alrviz.views.core.panes import say

_SENTENCE_STYLES = {"min-height": "36px"}
_DRAWING_SENTENCE_STYLES = {"height": "3.5rem", "min-height": "3.5rem", "overflow": "hidden"}


class DlrTab(DlrState):
    """See the module's text."""

    def __init__(self, session: Session, dialogs: TextDialog, open_drawer: Callable[[Viewable], None]):
        super().__init__(session, open_drawer, "", ("dlr",), first_recipe(session.seed), film=True)
        self._dialogs = dialogs
        self.name = self.name or FIRST_PEER
        self.frames = FrameQueue(session, self.tasks, self.show_moment, self._advance)
        self.table = self.moment = None
        self._whole: Dataset | None = None  # the session's table that `table` was made of
        self._drew = False
        self._build()
        self.show_fitted()

    # ---- building ----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.drawing = Drawing(self)
        hands = {"on_add": self.drawing.add, "on_move": self.drawing.move, "on_remove": self.drawing.remove}
        player = self.player
        self.hand = DraggedBandwidth(self.frames, player)
        lines = partial(made_from_line, self), player.made_from
        self.pictures = Pictures(
            self.session.wake, hands, self.drag, player.scrub, player.film, self._show_gram, *lines
        )
        self.columns = ColumnMenus(self._columns_chosen)
        self.menus = DlrControls(self._chosen, self._pressed)
        self.controls = [*self.columns.menus, *self.menus.menus]
        self.told = [self.menus.examples]
        self.words = html((0, 0, 4, 0))
        self.back = button(
            "Back to the fit", self.redraw, icon="undo", variant="outlined", size="small", visible=False, margin=0,
            description="Back to the fit: forget the bandwidths set by hand",
        )  # fmt: skip
        self.bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=0)
        self.buttons = pn.Row(
            player.transport.panel, player.status, self.menus.draw, self.menus.settings,
            sizing_mode="stretch_width", margin=(0, 0, 4, 0), css_classes=["alrviz-run"],
        )  # fmt: skip
        # With and without a button, with and without the bar: what lies below stays where it is.
        self._sentence_row = pn.Row(self.words, self.back, sizing_mode="stretch_width", margin=0)
        waiting = pn.Column(self.bar, height=10, sizing_mode="stretch_width", margin=0)
        inside = (self.buttons, self.drawing.panel, waiting, self._sentence_row, self.pictures.seen)
        card = pn.Column(*inside, styles=CARD, sizing_mode="stretch_width", margin=0)
        self.menus.more.insert(0, self.starter.pane)
        below = (
            self.pictures.read,
            self.pictures.folded,
            self.model_part.evaluation.part,
            self.model_part.part,
            self.menus.more,
        )
        self.panel = pn.Column(card, *below, sizing_mode="stretch_width", margin=0)

    def result(self) -> Race | None:
        """Return the fit of what is set, when it has ended and all of it was shown."""
        player = self.player
        return player.player.race if player.ended and not self.outdated else None

    # ---- showing -----------------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Show what the session has now."""
        session, dataset = self.session, self.session.table.dataset
        self.pictures.ground(session.dark)
        self.show_controls()
        if dataset is None:
            return
        turned = self._behind and session.axes not in ((), self.columns.positions(dataset))
        if dataset is self._whole and not turned:
            if self._behind and self.table is not None:  # go on where the tab was left
                self._behind = False
                (self.drawing.begin if self._drew else self._want)()
            return
        self._whole, self.table, self.moment, self._behind = dataset, None, None, False
        self.drawing.put_by()
        self.recipe = self.recipe.replace(seed=session.seed)
        self.columns.offer(dataset, session.axes)
        self._take_table()

    def show_controls(self) -> None:
        """Bring the menus up to date; what has no effect is hidden."""
        drawn, waiting = self.drawing.on, self.drawing.waiting
        self.menus.show(self.session, self.table or self.session.table.dataset, self.recipe, self.name)
        self.menus.offer_drawing(not drawn and self.drawing.possible, 0 if waiting is None else len(waiting))
        self.columns.hide(drawn)
        # While a hand draws the sentence keeps two lines: no longer one may move the map under the pointer.
        self._sentence_row.styles = _DRAWING_SENTENCE_STYLES if drawn else _SENTENCE_STYLES
        for part in (self.buttons, self.menus.more):
            part.visible = not drawn

    def _take_table(self) -> None:
        """Have the table of the two columns made, and what follows from it."""
        dataset, names = self.session.table.dataset, self.columns.chosen
        if dataset is None or names is None:
            self.give_up_fit()
            self.starter.forget()
            self.pictures.clear()
            say(self.words, "<p class='bad'>A map needs two columns, and this table has one. Choose another table.</p>")
            return
        self.player.mark(True, expected=True)
        self.pictures.outdate()
        self.tasks.start("table", lambda stop: table_of(dataset, names), self._table_made)

    def _table_made(self, table: Dataset) -> None:
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
        self.fit(table, self.recipe)
        self.pictures.other.outdated = True
        self.peer.ask(self.menus.peer, table, holdout=self.recipe.holdout, seed=self.recipe.seed)
        if not self.peer.waiting:
            self._peer_changed()
        self._place_changed()

    def hidden(self) -> None:
        """The other tab comes to the front: what runs here is stopped, what is drawn stays."""
        self._drew = self.drawing.on
        self.drawing.put_by()
        self.frames.cancel()
        self.pictures.stop()
        self.give_up_fit()
        self._behind = True

    # ---- controls ----------------------------------------------------------------------------------------------------

    def _chosen(self, what: str, value: str) -> None:
        if what == "peer":
            self.name = value
        else:
            self.recipe = self.recipe.replace(**{what: value})
        self.set_model()

    def set_model(self) -> None:
        """Show what was chosen, also in the address, and have it fitted."""
        first = first_recipe(self.recipe.seed)
        self.session.param.update(
            model=() if self.recipe == first else (self.recipe,), peer="" if self.name == FIRST_PEER else self.name
        )
        self.show_controls()
        (self.drawing.follow if self.drawing.on else self._want)()

    def _columns_chosen(self) -> None:
        dataset = self.session.table.dataset
        if dataset is not None:
            self.session.axes = self.columns.positions(dataset)
            self._take_table()

    def _pressed(self, what: str | Example) -> None:
        if isinstance(what, Example):
            self.session.table.load_demo(what.data)
        elif what == "draw":
            self.drawing.begin()
        elif what == "python":
            self._dialogs.show(dlr_script(self))
        else:
            self.show_settings()

    # ---- moments -----------------------------------------------------------------------------------------------------

    def drag(self, column: str, h: float) -> None:
        """Set a bandwidth by hand, unless the fit shown is of other settings."""
        moment = self.moment
        if moment is not None and moment.run is not None and not self.outdated:
            self.hand.drag(moment, column, h)

    def redraw(self) -> None:
        """Go back from what a hand has made to the step of the run that is shown."""
        table = self.table
        if table is not None and self.moment is not None and self.moment.run is None:
            self._table_made(table)
        self._place_changed()

    def _place_changed(self) -> None:
        self.frames.stale = True
        self.session.wake()

    def _drawn(self) -> int | None:
        """The iteration that the pictures show, None where they show none of the run."""
        moment = self.moment
        return None if moment is None or moment.run is not self.drawn_run or moment.by_hand else moment.model.step

    def _ask_moment(self) -> None:
        self.frames.stale = False
        run, race, table = self.drawn_run, self.player.player.race, self.table
        if run is None or table is None or race is None or run.dataset.hash != table.hash:
            return
        step, moment = self.player.head, self.moment
        before = moment.scene if moment is not None and moment.run is run else None
        self.frames.ask(lambda stop: dlr_frames.of_run(run, step, before, stop))

    def show_moment(self, moment: DlrFrame) -> None:
        """Show a frame in all pictures; of bandwidths that a hand still drags only the curves."""
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
            self.pictures.show(moment, self.outdated and not self.drawing.on)
            self.back.visible = moment.by_hand
            self.player.say_status()
            self._say()
        self._show_gram()

    def _show_gram(self) -> None:
        moment = self.moment
        if self.pictures.folded.open and moment is not None:
            classes = [str(label) for label in moment.model.classes_]
            self.tasks.start("gram", lambda stop: dlr_frames.gram_of(moment, classes), self.pictures.gram.watch)

    def _peer_changed(self) -> None:
        found = self.peer.found
        self.pictures.show_beside(self.menus.peer_label, None if found is None else found.model)
        if self.peer.problem is not None:
            self.tasks.show_error("peer", self.peer.problem)
        self._say()

    def _say(self) -> None:
        player = self.player.player
        self.bar.visible = player.waits or player.coming is not None or self.peer.waiting
        if self.columns.chosen is not None and not (self.moment is not None and self.moment.passing):
            say(self.words, compared_html(self))

    # ---- time --------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Follow run, moments, peer and maps; returns whether there may be more."""
        waiting, drawing, frames = self.tasks.poll(), self.drawing.on, self.frames
        player = self.player
        moving = not drawing and player.pump(hold=self.pictures.ratios.building)
        late = player.player.playing and (frames.busy or self.hand.goes_first)  # a film leaves out pictures
        if frames.stale and not drawing and not late:
            self._ask_moment()
        coming = self.model_part.pump(None if drawing else player.player.race)
        return bool(self._advance() or waiting or moving or frames.stale or coming)

    def _advance(self) -> bool:
        """Take what threads have found since; returns whether there may be more."""
        self.frames.take()
        drawing = self.drawing.advance()
        busy = self.pictures.pump()
        self._say()
        return busy or drawing or self.frames.busy

    def close(self) -> None:
        """End the threads' work."""
        self.frames.cancel()
        self.drawing.end()
        self.pictures.stop()
        self.tasks.close()
