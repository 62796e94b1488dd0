"""The content of a session's link, and the effect of opening one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import param

from alrviz.explorer.session.runs import SessionRuns
from alrviz.explorer.session.state import FIRST_DEMOS, FIRST_TABLE, LINK_PARAMS, PAGE_PARAMS, State, write_link
from alrviz.explorer.session.table import SessionTable

TABLE_PARAMS = ("data", "rows", "file", "points", "kinds", "filters", "split", "seed")  # what a link says of its table
RACE_PAGE = State().page  # the page that question, recipes and run of a link are about


class SessionLink:
    """See the module's text.

    Each page has some settings for itself (`PAGE_PARAMS`: its tab, the recipes and folds of its study). The session
    holds those of the page shown; those of the others are kept here until it is shown again.

    Args:
        settings: the session's parameters, by the names of `LINK_PARAMS`.
        table: its table. runs: its runs.
    """

    def __init__(self, settings: param.Parameterized, table: SessionTable, runs: SessionRuns):
        self._settings: Any = settings
        self._table, self._runs = table, runs
        self._hidden_pages: dict[str, dict[str, object]] = {}
        settings.param.watch(lambda event: self._turn_page(event.old, event.new), "page")

    @property
    def state(self) -> State:
        """The session as one value."""
        table, runs = self._table, self._runs
        name, rows = table.source.demo or ("", None)
        if (name, rows) == FIRST_TABLE:
            rows = None
        file = table.source.file or table.requested_file
        return State(
            data=name if not file and table.chosen else "",
            rows=None if file else rows,
            file=None if table.source.points else file,
            points=table.source.points,
            kinds=tuple(sorted(table.source.kinds.items())),
            filters=table.source.rows,
            split=table.source.split,
            **{name: getattr(self._settings, name) for name in LINK_PARAMS},
            fit=runs.fit.id if runs.fit is not None else "",
            run=runs.entry.id if runs.entry is not None else "",
        )

    @property
    def query(self) -> str:
        """The query of the link to what is shown, with its question mark."""
        return write_link(self.state)

    def own(self, page: str) -> State:
        """Return what the link says of a page's own settings: the defaults if it is about another page."""
        return self.state if page == self._settings.page else State()

    def open(self, state: State, message: str = "") -> None:
        """Show what a link asks for, and a message about it.

        A table that is shown already is not loaded again. Runs that nobody sees any more are stopped, unless they were
        to continue: what is run next would wait for them.
        """
        shown, table, settings = self.state, self._table, self._settings
        settled = table.dataset is not None and table.loading is None
        same = settled and all(getattr(state, name) == getattr(shown, name) for name in TABLE_PARAMS)
        same = same and (table.chosen or state.page == settings.page)
        page_settings = {name: getattr(state, name) for name in PAGE_PARAMS}
        self._hidden_pages[state.page] = page_settings
        # The page first: its watcher puts the settings of that page in place.
        settings.param.update({name: getattr(state, name) for name in LINK_PARAMS if name not in page_settings})
        settings.param.update(page_settings)
        self._runs.open(state)
        if not same:
            settings.drawn = None
            table.open(state)
        settings.message = message or table.sample_note

    def visit(self, place: State) -> None:
        """Go back to a place of the browser's history: its page, tab, table and race; other settings stay."""
        settings = self._settings
        if place.page != settings.page:
            settings.go(place.page)
        settings.tab = place.tab
        shown = self.state
        other_table = any(getattr(place, name) != getattr(shown, name) for name in TABLE_PARAMS)
        other_race = (place.question, place.recipes) != (shown.question, shown.recipes)
        if other_table:
            settings.seed = place.seed
            self._table.change_to(place)
        if place.page == RACE_PAGE and (other_table or other_race):
            settings.param.update(question=place.question, recipes=place.recipes)
            self._runs.open_race(place)
            settings.kept = place.kept
            settings.param.trigger("revisited")

    def _turn_page(self, left: str, page: str) -> None:
        """Exchange the settings of the page left for those of the page shown, and load that page's demo set.

        The demo set only as long as neither the visitor nor a link chose the table.
        """
        settings, table = self._settings, self._table
        self._hidden_pages[left] = {name: getattr(settings, name) for name in PAGE_PARAMS}
        defaults = {name: settings.param[name].default for name in PAGE_PARAMS}
        settings.param.update(self._hidden_pages.get(page) or defaults)
        name, before = FIRST_DEMOS.get(page), table.requested_demo
        if name is not None and before is not None and before[0] != name and not table.chosen:
            table.load_demo(name)
            table.chosen = False

    # ---- views ---------------------------------------------------------------------------------------------------

    def connect(
        self,
        page: str,
        view: param.Parameterized,
        names: Sequence[str],
        keys: Sequence[str] = (),
        own: State | None = None,
    ) -> Callable[[], None]:
        """Set parameters of a view to what the link says, and write its changes into the link from now on.

        A copied link then opens the same view of the same numbers: its measure, its axis.

        Args:
            page: slug of the page the view is on; while another is shown nothing is written.
            view: a parameterized object; its parameters' defaults are left out of the link.
            names: of the parameters: selectors, whole numbers, and lists of such.
            keys: of parameters that are properties of a link by the same names, and that the view was made with.
            own: what the link says of the page; None: as `own` has it.

        Returns:
            What writes them at once: to be called when the view comes to the front of others on its page.
        """
        own = self.own(page) if own is None else own
        texts = dict(own.view)
        for name in (*names, *keys):  # a key may stand among the others in an older link
            if name in texts:
                with suppress(ValueError):  # of the parameter itself: out of its range, none of its choices
                    setattr(view, name, _read(view.param[name], texts[name]))
        defaults = {name: view.param[name].default for name in (*names, *keys)}

        def write(*_: object) -> None:
            if self._settings.page == page:
                values = {name: getattr(view, name) for name in defaults}
                changed = {name: value for name, value in values.items() if value != defaults[name]}
                self._settings.param.update(
                    {key: changed.get(key, getattr(State(), key)) for key in keys},
                    view=tuple((name, view_text(value)) for name, value in changed.items() if name in names),
                )

        view.param.watch(write, [*names, *keys])
        return write


def view_text(value: object) -> str:
    """Return a parameter's value as a link has it."""
    return "-".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(parameter: param.Parameter, text: str) -> object:
    if isinstance(parameter, param.List):
        return [int(part) for part in text.split("-")]
    if isinstance(parameter, param.Integer):
        return int(text)
    return next((value for value in parameter.objects if str(value) == text), text)
