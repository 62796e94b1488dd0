"""All columns as cards: a histogram whose bars select rows, and the role of the column; drawn by `columns_wall.js`.

`ColumnsWall` is the component. `LinkedHistograms` computes its cards and counts the rows of a selection on a thread.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import panel as pn
import param
from panel.custom import JSComponent

from alrviz.data.kinds import FEATURE_KINDS, OFFERED_ROLES
from alrviz.explorer.pages.data.linked_columns import LinkedColumns, LinkedSelection
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.row_filter import describe_filters
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell import asset
from alrviz.explorer.shell.theme import PANE_CSS, button, html
from alrviz.pictures.columns import OTHER_COLOUR, class_colours
from alrviz.stop import StopToken
from alrviz.views.core.style import printable, safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

CARDS_PER_PAGE = 9
FEATURE = "feature"  # the role of a column of any feature kind; the kind is set beside the column's picture
ROLES = {
    FEATURE: "feature",
    "target": "class",
    "ignore": "ignored",
    "weight": "weight",
    "group": "group",
    "time": "time",
}
_PACKAGE = "alrviz.explorer.pages.data"


class ColumnsWall(JSComponent):
    """The cards of a page of columns. on_message: called with each message of the browser."""

    cards = param.List(default=[], doc="The cards: facts about each column, and rows by bar and class.")
    selected = param.List(default=[], doc="For each card the selected rows by bar and class; [] without a selection.")
    picks = param.Dict(default={}, doc="The picked bars by position of their column, as text.")
    colours = param.List(default=[], doc="Of the classes.")
    roles = param.Dict(default={}, doc="Name of each role that may be chosen.")
    position_shown = param.Integer(default=0, doc="Position of the column shown beside the cards.")
    n_columns = param.Integer(default=0, doc="Columns of the table.")

    _esm = asset("columns_wall.js", _PACKAGE)

    def __init__(self, on_message: Callable[[Any], None]):
        self._on_message = on_message
        super().__init__(
            roles=ROLES,
            stylesheets=[PANE_CSS, asset("columns_wall.css", _PACKAGE)],
            sizing_mode="stretch_width",
            margin=0,
        )

    def _handle_msg(self, msg: Any) -> None:
        self._on_message(msg)


class LinkedHistograms:
    """Shows the columns of a table as cards; rows selected in one card are marked in all others.

    Args:
        session: the visitor's.
        tasks: the page's.
        on_look: called with the name of the column to show larger.
        on_role: called with a column's name and its new role.
        on_selection: called with the selected rows, None without a selection.
    """

    def __init__(
        self,
        session: Session,
        tasks: PageTasks,
        on_look: Callable[[str], None],
        on_role: Callable[[str, str], None],
        on_selection: Callable[[LinkedSelection | None], None],
    ):
        self._session, self._tasks = session, tasks
        self._on_look, self._on_role, self._on_selection = on_look, on_role, on_selection
        self._linked: LinkedColumns | None = None
        self._selection: LinkedSelection | None = None
        self._positions = range(0)
        self.wall = ColumnsWall(self._on_message)
        self.words = html((6, 0, 0, 0))
        self.keep = button("Keep only these rows", self.keep_rows, variant="outlined", size="small", margin=(0, 8))
        clear = button("Clear", self.clear, variant="outlined", size="small", margin=0)
        self.bar = pn.Row(self.words, self.keep, clear, sizing_mode="stretch_width", margin=(0, 0, 8, 0), visible=False)
        self.panel = pn.Column(self.bar, self.wall, sizing_mode="stretch_width", margin=0)

    @property
    def picked(self) -> dict[int, list[int]]:
        """The picked bars by position of their column."""
        return {int(position): bars for position, bars in self.wall.picks.items()}

    def show(self, dataset: "Dataset", name: str) -> None:
        """Show a table without a selection, on the page of cards with the column `name`."""
        original = self._session.table.full_table
        assert original is not None
        self._linked = LinkedColumns(dataset, original)
        self.wall.param.update(picks={}, selected=[], n_columns=len(dataset.columns))
        self._show_selection(None)
        self.wall.position_shown = self._position(name)
        self._turn_to(self.wall.position_shown)

    def mark(self, name: str) -> None:
        """Mark the column shown beside the cards, and turn to its page."""
        position = self._position(name)
        self.wall.position_shown = position
        if position not in self._positions:
            self._turn_to(position)

    def reset(self) -> None:
        """Show the current roles again after a role was refused."""
        self.wall._send_msg({})

    def clear(self) -> None:
        """Clear the selection."""
        self.wall.picks = {}
        self._count_selected_rows()

    def keep_rows(self) -> None:
        """Keep the selected rows only."""
        if self._selection is not None:
            self._session.table.changes.keep_rows(self._selection.filters)

    def _position(self, name: str) -> int:
        assert self._linked is not None
        return [column.name for column in self._linked.dataset.columns].index(name)

    def _turn_to(self, position: int) -> None:
        """Show the page of cards that holds this column."""
        linked = self._linked
        if linked is None:
            return
        first_position = position // CARDS_PER_PAGE * CARDS_PER_PAGE
        positions = range(first_position, min(first_position + CARDS_PER_PAGE, len(linked.dataset.columns)))

        def work(stop: StopToken) -> list[dict[str, Any]]:
            cards = []
            for k in positions:
                stop.check()
                cards.append(_card_fields(linked, k))
            return cards

        def finish(cards: list[dict[str, Any]]) -> None:
            self._positions = positions
            self.wall.param.update(selected=[], colours=_bar_colours(linked), cards=cards)
            if self.picked:
                self._count_selected_rows()

        self._tasks.start("columns", work, finish)

    def _on_message(self, message: Any) -> None:
        """Handle a message of the browser; messages that do not fit the current table are ignored."""
        linked = self._linked
        position = message.get("position") if isinstance(message, dict) else None
        if linked is None or not isinstance(position, int) or not 0 <= position < len(linked.dataset.columns):
            return
        name = linked.dataset.columns[position].name
        match message:
            case {"look": True}:
                self._on_look(name)
            case {"role": str(role)} if role in self.wall.roles:
                self._on_role(name, role)
            case {"turn": True}:
                self._turn_to(position)
            case {"pick": list(bars)} if position in self._positions:
                n_bars = len(linked.column(position).labels)
                picked = sorted({bar for bar in bars if isinstance(bar, int) and 0 <= bar < n_bars})
                picks = {key: other_names for key, other_names in self.wall.picks.items() if key != str(position)}
                self.wall.picks = {**picks, str(position): picked} if 0 < len(picked) < n_bars else picks
                self._count_selected_rows()

    def _count_selected_rows(self) -> None:
        """Count the selected rows in the columns shown."""
        linked, picks, positions = self._linked, self.picked, self._positions
        if linked is None or not picks:
            self._tasks.cancel("selection")
            self._show_selection(None)
        else:
            self._tasks.start("selection", lambda stop: linked.select(positions, picks, stop), self._show_selection)

    def _show_selection(self, selection: LinkedSelection | None) -> None:
        linked, original = self._linked, self._session.table.full_table
        self._selection, self.bar.visible = selection, selection is not None
        self.wall.selected = [] if selection is None else [selection.counts[k].tolist() for k in self._positions]
        self._on_selection(selection)
        if selection is None or linked is None or original is None:
            return
        n_rows = linked.dataset.n_rows
        self.words.object = (
            f"<p><b>{selection.n_rows:,} of {n_rows:,} rows</b> ({100 * selection.n_rows / n_rows:.3g} %): "
            f"{safe(describe_filters(original, selection.filters), 200)}</p>"
        )
        self.keep.visible = selection.n_rows > 0 and self._session.table.stream is None


def _bar_colours(linked: LinkedColumns) -> list[str]:
    colours = class_colours(linked.dataset.n_classes)
    return [*(colours[k] for k in linked.classes), *([OTHER_COLOUR] if linked.merged else [])]


def _card_fields(linked: LinkedColumns, position: int) -> dict[str, Any]:
    """Return what the browser draws of a column. position: of the column in the table."""
    column, bars = linked.dataset.columns[position], linked.column(position)
    facts = [column.kind] if column.kind in FEATURE_KINDS else []
    facts += [f"{column.levels:,} values", *([f"{column.missing:,} missing"] if column.missing else [])]
    return {
        "position": position,
        "name": printable(column.name, 60),
        "role": FEATURE if column.kind in FEATURE_KINDS else column.kind,
        "offer": OFFERED_ROLES.get(column.code, "") if column.guessed else "",
        "facts": ", ".join(facts),
        "why": printable(column.why, 200),
        "labels": [printable(label, 40) for label in bars.labels],
        "ordered": bars.ordered,
        "counts": linked.counts(position).tolist(),
    }
