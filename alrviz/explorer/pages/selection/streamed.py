"""All rows of a table larger than memory: a fit in passes, which tuples it selects, and how it learns."""

from typing import TYPE_CHECKING, Any

import panel as pn

from alrviz.explorer.recipes.questions import over_passes
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.fitting.recipe import Recipe
from alrviz.views.core.panes import say
from alrviz.views.race.race_view import RaceView
from alrviz.views.studies.selection import SelectionView

if TYPE_CHECKING:
    from alrviz.data.stream.table import Stream

HEIGHT = "330px"  # of the picture of the passes, whose buttons stand above the tuples
_PRESS = (
    "Press Run: all {rows:,} rows are coded once, tuples are scored on the training rows level by level, and those "
    "kept are learned in {passes} passes at most."
)


class StreamedSelection:
    """The run of the page, its cost, and the picture of its passes; its tuples are shown by the page's view.

    Attributes:
        above, below: what stands above the tuples (buttons, words) and below them (the picture, numbers).

    Args:
        session: its runs are the registry's, under this owner.
        tasks: runs the estimate.
        view: shows the levels of the run, where there is such a table.
    """

    def __init__(self, session: Session, tasks: PageTasks, view: SelectionView):
        self._session, self._view = session, view
        self._of: tuple[Stream, Recipe] | None = None
        self._asked: tuple[str, Recipe] | None = None
        self.race_view = RaceView(wake=session.wake, axis="passes", height=HEIGHT, dark=session.dark)
        race_view, buttons = self.race_view, self.race_view.transport.panel
        race_view.body[0].remove(buttons)
        numbers = race_view.layout[-1]
        shown: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 8, 0), "visible": False}
        self.above = pn.Column(race_view.line, buttons, **shown)
        self.below = pn.Column(race_view.body, numbers, **shown)
        self.starter = RaceStarter(session, tasks, self.race_view, session.runs.adopt_selection, "fit")
        self.cost_line = self.starter.cost_line

    @property
    def recipe(self) -> Recipe | None:
        """What Run fits, of which all rows are gone over; None where there is no such table."""
        return None if self._of is None else self._of[1]

    def want(self, stream: "Stream | None", recipe: Recipe) -> None:
        """Say what Run is to fit; without a table larger than memory nothing of this is shown."""
        view, shown = self._view, stream is not None
        if view.over_rows != shown:
            view.over_rows = self.above.visible = self.below.visible = self.cost_line.pane.visible = shown
            self.race_view.line.visible, self._asked = False, None  # nothing is said of nothing
        if stream is None:
            self._of = self.starter.dataset = None
            return
        self._of = stream, (own := over_passes((recipe,))[0])
        race, before, self._asked = self.race_view.race, self._asked, (stream.hash, own)
        if before == self._asked:
            return
        if race is None or (tuple(race.recipes), race.dataset.hash) != ((own,), stream.hash):
            if (found := self._session.runs.find_selection(stream, own)) is not None:
                self.race_view.watch(found)
            elif race is None:
                self.race_view.expect((own,))
                view.expect(stream, own)
            else:
                self.race_view.outdated = True
        else:
            self.race_view.outdated = False
        self.starter.want(stream, (own,))
        if self.race_view.race is None:
            press = _PRESS.format(rows=stream.n_rows, passes=own.params["max_iter"])
            say(view.found, f"<div class='sentence quiet'>{press}</div>")

    def pump(self) -> bool:
        """Follow the run; returns whether there may be more."""
        if not self._view.over_rows:
            return False
        moving, race = self.race_view.pump(), self.race_view.race
        self.race_view.line.visible = race is not None or self.race_view.player.waits
        self.cost_line.tell_passes(race)
        self._view.follow(race, self.race_view.outdated)
        return moving
