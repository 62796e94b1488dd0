"""The link of a session: writing it, opening one, and going back to an earlier one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import param

from alrviz.explorer.session.runs import SessionRuns
from alrviz.explorer.session.state import FIRST_DEMOS, FIRST_TABLE, LINK_PARAMS, PAGE_PARAMS, State, write_link
from alrviz.explorer.session.table import SessionTable

TABLE_PARAMS = ("data", "rows", "file", "points", "kinds", "filters", "split", "seed")  # properties of the table
RACE_PAGE = State().page  # the page of a link's question, recipes and run


class SessionLink:
    """The link of one session.

    Each page has some settings of its own (`PAGE_PARAMS`: its tab, the recipes and folds of its study). The session
    holds the settings of the page shown; this object holds those of the other pages.

    Args:
        settings: the session, whose parameters have the names of `LINK_PARAMS`.
        table: the session's table.
        runs: the session's runs.
    """

    def __init__(self, settings: param.Parameterized, table: SessionTable, runs: SessionRuns):
        self._settings: Any = settings
        self._table, self._runs = table, runs
        self._hidden_pages: dict[str, dict[str, object]] = {}
        settings.param.watch(lambda event: self._turn_page(event.old, event.new), "page")

    @property
    def state(self) -> State:
        """The state of the session."""
        table, runs = self._table, self._runs
        name, rows = table.source.demo or ("", None)
        if (name, rows) == FIRST_TABLE:
            rows = None
        file = table.source.file or table.requested_file
        return State(
            data=name if not file and table.is_chosen else "",
            rows=None if file else rows,
            file=None if table.source.points else file,
            points=table.source.points,
            kinds=tuple(sorted(table.source.kinds.items())),
            filters=table.source.rows,
            split=table.source.split,
            **{name: getattr(self._settings, name) for name in LINK_PARAMS},
            fit=runs.map_entry.id if runs.map_entry is not None else "",
            run=runs.entry.id if runs.entry is not None else "",
        )

    @property
    def query(self) -> str:
        """The query of the link to the current state, with its question mark."""
        return write_link(self.state)

    def state_if_shown(self, page: str) -> State:
        """Return the state if `page` is the page shown, else the defaults: a link has no settings of hidden pages."""
        return self.state if page == self._settings.page else State()

    def open(self, state: State, message: str = "") -> None:
        """Show a link's state, and a message about it.

        The table is loaded unless it is shown already. Runs that no page shows any more are stopped, unless they are to
        continue: the next run would wait for them.
        """
        current_state, table, settings = self.state, self._table, self._settings
        is_loaded = table.dataset is not None and table.loading is None
        is_same_table = is_loaded and all(getattr(state, name) == getattr(current_state, name) for name in TABLE_PARAMS)
        is_same_table = is_same_table and (table.is_chosen or state.page == settings.page)
        page_settings = {name: getattr(state, name) for name in PAGE_PARAMS}
        self._hidden_pages[state.page] = page_settings
        # The page first: its watcher sets the parameters of that page.
        settings.param.update({name: getattr(state, name) for name in LINK_PARAMS if name not in page_settings})
        settings.param.update(page_settings)
        self._runs.open(state)
        if not is_same_table:
            settings.sketch = None
            table.open(state)
        settings.message = message or table.sample_note

    def visit(self, place: State) -> None:
        """Show page, tab, table and race of a place in the browser's history; other settings stay."""
        settings = self._settings
        if place.page != settings.page:
            settings.go(place.page)
        settings.tab = place.tab
        current_state = self.state
        other_table = any(getattr(place, name) != getattr(current_state, name) for name in TABLE_PARAMS)
        other_race = (place.question, place.recipes) != (current_state.question, current_state.recipes)
        if other_table:
            settings.seed = place.seed
            self._table.change_to(place)
        if place.page == RACE_PAGE and (other_table or other_race):
            settings.param.update(question=place.question, recipes=place.recipes)
            self._runs.open_race(place)
            settings.stored_race = place.stored_race
            settings.param.trigger("revisited")

    def _turn_page(self, previous_page: str, page: str) -> None:
        """Replace the settings of the previous page by those of the page shown, and load that page's demo set.

        The table stays if the visitor or a link chose it.
        """
        settings, table = self._settings, self._table
        self._hidden_pages[previous_page] = {name: getattr(settings, name) for name in PAGE_PARAMS}
        default_by_name = {name: settings.param[name].default for name in PAGE_PARAMS}
        settings.param.update(self._hidden_pages.get(page) or default_by_name)
        demo_name, requested_demo = FIRST_DEMOS.get(page), table.requested_demo
        if table.is_chosen or demo_name is None or requested_demo is None:
            return
        if requested_demo[0] != demo_name:
            table.load_demo(demo_name)
            table.is_chosen = False

    # ---- views ---------------------------------------------------------------------------------------------------

    def connect(
        self,
        page: str,
        view: param.Parameterized,
        names: Sequence[str],
        keys: Sequence[str] = (),
        state: State | None = None,
    ) -> Callable[[], None]:
        """Set parameters of a view from the link, and write their later changes into the link.

        So a copied link opens the view with the same measure and axis.

        Args:
            page: slug of the view's page; nothing is written while another page is shown.
            view: a parameterized object; its parameters' defaults are left out of the link.
            names: parameters that are selectors, whole numbers, or lists of whole numbers.
            keys: parameters that are properties of a link by the same name; the view was made with their values.
            state: the page's state; None for `state_if_shown(page)`.

        Returns:
            A function that writes all of them, to be called when the view comes to the front of its page.
        """
        state = self.state_if_shown(page) if state is None else state
        text_by_name = dict(state.view)
        for name in (*names, *keys):  # older links have keys among the names
            if name in text_by_name:
                with suppress(ValueError):  # out of the parameter's range, or not one of its choices
                    setattr(view, name, _read_view_value(view.param[name], text_by_name[name]))
        default_by_name = {name: view.param[name].default for name in (*names, *keys)}

        def write(*_: object) -> None:
            if self._settings.page == page:
                values = {name: getattr(view, name) for name in default_by_name}
                changed_values = {name: value for name, value in values.items() if value != default_by_name[name]}
                self._settings.param.update(
                    {key: changed_values.get(key, getattr(State(), key)) for key in keys},
                    view=tuple((name, view_text(value)) for name, value in changed_values.items() if name in names),
                )

        view.param.watch(write, [*names, *keys])
        return write


def view_text(value: object) -> str:
    """Return a parameter's value as the text of a link."""
    return "-".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_view_value(parameter: param.Parameter, text: str) -> object:
    """Return a link's text as a value of the parameter; `ValueError` if it has another type."""
    if isinstance(parameter, param.List):
        return [int(part) for part in text.split("-")]
    if isinstance(parameter, param.Integer):
        return int(text)
    return next((value for value in parameter.objects if str(value) == text), text)
