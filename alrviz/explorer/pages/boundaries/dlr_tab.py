"""The tab "DLR": the maps of dlr and a peer over two columns, the columns' density ratios, and the steps of the fit.

The pictures show a frame: a step of the run, dragged bandwidths, or drawn points. Frames are computed on a thread, only
the latest requested one; all pictures change together when it arrives.
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
from alrviz.explorer.pages.boundaries.fit import first_row
from alrviz.explorer.pages.boundaries.frame_queue import DraggedBandwidth, FrameQueue
from alrviz.explorer.pages.boundaries.texts import dlr_html, dlr_script, source_line
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import TextDialog
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.studies.race.race import Race
from alrviz.views.core.panes import say

_SENTENCE_STYLES = {"min-height": "36px"}
_DRAWING_SENTENCE_STYLES = {"height": "3.5rem", "min-height": "3.5rem", "overflow": "hidden"}


class DlrTab(DlrState):
    """The tab "DLR"."""

    def __init__(self, session: Session, script_dialog: TextDialog, place: Callable[[Viewable], None]):
        super().__init__(session, script_dialog, place, "", ("dlr",), first_recipe(session.seed), has_film=True)
        self.name = self.name or FIRST_PEER
        self.frames = FrameQueue(session, self.tasks, self.show_frame, self._take_results)
        self.table = self.frame = None
        self._session_table: Dataset | None = None  # the table that `table` is a part of
        self._was_drawing = False

    # ---- building ----------------------------------------------------------------------------------------------------

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the widgets; return the tab's part of the page's first row, and everything below it."""
        self.drawing = Drawing(self)
        map_events = {"on_add": self.drawing.add, "on_move": self.drawing.move, "on_remove": self.drawing.remove}
        player = self.player
        self.hand = DraggedBandwidth(self.frames, player)
        source_texts = partial(source_line, self), player.made_from
        self.pictures = Pictures(
            self.session.wake, map_events, self.drag, player.scrub, player.film, self._show_gram, *source_texts
        )
        self.columns = ColumnMenus(self._columns_chosen)
        self.menus = DlrControls(self._on_choice, self.drawing.begin, self.session.table.load_demo)
        self.words = html((0, 0, 4, 0))
        self.back_button = button(
            "Back to the fit", self.redraw, icon="undo", variant="outlined", size="small", visible=False, margin=0,
            description="Back to the fit: forget the bandwidths set by hand",
        )  # fmt: skip
        self.bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=0)
        self.buttons = pn.Row(
            player.transport.panel, player.status, self.menus.draw, self.settings_button,
            sizing_mode="stretch_width", margin=(0, 0, 4, 0), css_classes=["alrviz-run"],
        )  # fmt: skip
        # Fixed heights: a button or a progress bar that comes and goes must not move the pictures below.
        self._sentence_row = pn.Row(self.words, self.back_button, sizing_mode="stretch_width", margin=0)
        progress = pn.Column(self.bar, height=10, sizing_mode="stretch_width", margin=0)
        card_parts = (self.buttons, self.drawing.panel, progress, self._sentence_row, self.pictures.pictures_row)
        card = pn.Column(*card_parts, styles=CARD, sizing_mode="stretch_width", margin=0)
        self.footer = pn.Row(self.starter.pane, self.python_button, margin=(12, 0, 0, 0))
        self.panel = pn.Column(
            card, self.pictures.numbers, self.pictures.folded, self.model_part.evaluation.part, self.model_part.part,
            self.footer, sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self.show_fitted()
        return first_row([*self.columns.menus, *self.menus.menus], self.menus.examples), self.panel

    def script(self) -> str:
        """Return the script that computes both maps and their numbers."""
        return dlr_script(self)

    def result(self) -> Race | None:
        """Return the fit of the current settings once it has ended and was shown to its end, else None."""
        player = self.player
        return player.player.race if player.ended and not self.outdated else None

    # ---- showing -----------------------------------------------------------------------------------------------------

    def on_shown(self) -> None:
        """Take the session's table if it or its axes changed, else continue where the tab was left."""
        session, dataset = self.session, self.session.table.dataset
        self.pictures.ground(session.dark)
        self.show_controls()
        if dataset is None:
            return
        has_new_axes = self._hidden and session.axes not in ((), self.columns.positions(dataset))
        if dataset is self._session_table and not has_new_axes:
            if self._hidden and self.table is not None:  # continue where the tab was left
                self._hidden = False
                (self.drawing.begin if self._was_drawing else self._request_models)()
            return
        self._session_table, self.table, self.frame, self._hidden = dataset, None, None, False
        self.drawing.set_aside()
        self.recipe = self.recipe.replace(seed=session.seed)
        self.columns.offer(dataset, session.axes)
        self._take_table()

    def show_controls(self) -> None:
        """Update the menus; those without an effect are hidden."""
        is_drawing, set_aside = self.drawing.is_drawing, self.drawing.points_set_aside
        self.menus.show(self.session, self.table or self.session.table.dataset, self.recipe, self.name)
        self.menus.offer_drawing(
            not is_drawing and self.drawing.is_possible, 0 if set_aside is None else len(set_aside)
        )
        self.columns.hide(is_drawing)
        # While points are drawn the sentence has two lines: a longer one would move the map under the pointer.
        self._sentence_row.styles = _DRAWING_SENTENCE_STYLES if is_drawing else _SENTENCE_STYLES
        for row in (self.buttons, self.footer):
            row.visible = not is_drawing

    def _take_table(self) -> None:
        """Make the table of the two columns on a thread, then fit the models."""
        dataset, names = self.session.table.dataset, self.columns.pair
        if dataset is None or names is None:
            self.give_up_fit()
            self.starter.forget()
            self.pictures.clear()
            say(self.words, "<p class='bad'>A map needs two columns, and this table has one. Choose another table.</p>")
            return
        self.player.mark(True, starts_itself=True)
        self.pictures.outdate()
        self.tasks.start("table", lambda stop: table_of(dataset, names), self._table_made)

    def _table_made(self, table: Dataset) -> None:
        names = self.columns.pair
        if names is None:
            return
        self.table, self.frame = table, None
        self.pictures.take(table, names)
        self.show_controls()
        self._request_models()

    def _request_models(self) -> None:
        """Fit dlr and the peer to the two columns, unless both are fitted."""
        table = self.table
        if table is None:
            return
        self.fit(table, self.recipe)
        self.pictures.peer_map.outdated = True
        self.peer.ask(self.menus.peer, table, holdout=self.recipe.holdout, seed=self.recipe.seed)
        if not self.peer.is_fitting:
            self._peer_changed()
        self._place_changed()

    def on_hidden(self) -> None:
        """Stop the work of the tab; the pictures stay."""
        self._was_drawing = self.drawing.is_drawing
        self.drawing.set_aside()
        self.frames.cancel()
        self.pictures.stop()
        self.give_up_fit()
        self._hidden = True

    # ---- controls ----------------------------------------------------------------------------------------------------

    def _on_choice(self, name: str, value: str) -> None:
        if name == "peer":
            self.name = value
        else:
            self.recipe = self.recipe.replace(**{name: value})
        self.set_model()

    def set_model(self) -> None:
        """Show the chosen model, write it into the link and fit it."""
        default = first_recipe(self.recipe.seed)
        self.session.param.update(
            model=() if self.recipe == default else (self.recipe,), peer="" if self.name == FIRST_PEER else self.name
        )
        self.show_controls()
        (self.drawing.follow if self.drawing.is_drawing else self._request_models)()

    def _columns_chosen(self) -> None:
        dataset = self.session.table.dataset
        if dataset is not None:
            self.session.axes = self.columns.positions(dataset)
            self._take_table()

    # ---- frames ------------------------------------------------------------------------------------------------------

    def drag(self, column: str, h: float) -> None:
        """Set a bandwidth by dragging, unless the fit shown is outdated."""
        frame = self.frame
        if frame is not None and frame.run is not None and not self.outdated:
            self.hand.drag(frame, column, h)

    def redraw(self) -> None:
        """Show the run's step again in place of dragged bandwidths or drawn points."""
        table = self.table
        if table is not None and self.frame is not None and self.frame.run is None:
            self._table_made(table)
        self._place_changed()

    def _place_changed(self) -> None:
        self.frames.stale = True
        self.session.wake()

    def _drawn(self) -> int | None:
        """Return the iteration that the pictures show; None if they show no step of the run."""
        frame = self.frame
        return None if frame is None or frame.run is not self.drawn_run or frame.by_hand else frame.model.step

    def _request_frame(self) -> None:
        """Request the frame of the iteration that the player is at."""
        self.frames.stale = False
        run, race, table = self.drawn_run, self.player.player.race, self.table
        if run is None or table is None or race is None or run.dataset.hash != table.hash:
            return
        step_index, frame = self.player.head, self.frame
        previous = frame.scene if frame is not None and frame.run is run else None
        self.frames.request(lambda stop: dlr_frames.of_run(run, step_index, previous, stop))

    def show_frame(self, frame: DlrFrame) -> None:
        """Show a frame in all pictures; while bandwidths are dragged only the curves."""
        if (frame.run is None) != self.drawing.is_drawing:  # requested before drawing started or ended
            return
        self.frame = frame
        if self.drawing.is_drawing:
            self.drawing.remember(frame)
        if self.hand.passes(frame):
            with pn.io.hold():
                self.pictures.ratios.watch(frame.scene)
            return
        with pn.io.hold():
            self.pictures.show(frame, self.outdated and not self.drawing.is_drawing)
            self.back_button.visible = frame.by_hand
            self.player.say_status()
            self._say()
        self._show_gram()

    def _show_gram(self) -> None:
        frame = self.frame
        if self.pictures.folded.open and frame is not None:
            classes = [str(label) for label in frame.model.classes_]
            self.tasks.start("gram", lambda stop: dlr_frames.gram_of(frame, classes), self.pictures.gram.watch)

    def _peer_changed(self) -> None:
        fit = self.peer.reference
        self.pictures.show_beside(self.menus.peer_label, None if fit is None else fit.model)
        self._say()

    def _say(self) -> None:
        player = self.player.player
        self.bar.visible = player.is_waiting or player.next_reader is not None or self.peer.is_fitting
        if self.columns.pair is not None and not (self.frame is not None and self.frame.is_passing):
            say(self.words, dlr_html(self))

    # ---- time --------------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Follow run, frames, peer and maps; return whether there may be more."""
        tasks_busy, is_drawing, frames = self.tasks.poll(), self.drawing.is_drawing, self.frames
        player = self.player
        is_moving = not is_drawing and player.pump(hold=self.pictures.ratios.sliders_loading)
        is_late = player.player.playing and (frames.busy or self.hand.goes_first)  # a film leaves out pictures
        if frames.stale and not is_drawing and not is_late:
            self._request_frame()
        model_coming = self.model_part.pump(None if is_drawing else player.player.race)
        return bool(self._take_results() or tasks_busy or is_moving or frames.stale or model_coming)

    def _take_results(self) -> bool:
        """Take over what threads have finished; return whether there may be more."""
        self.frames.show_finished()
        peer_busy = self.drawing.take_peer()
        maps_busy = self.pictures.pump()
        self._say()
        return maps_busy or peer_busy or self.frames.busy

    def close(self) -> None:
        """Cancel the tab's tasks."""
        self.frames.cancel()
        self.drawing.end()
        self.pictures.stop()
        self.tasks.close()
