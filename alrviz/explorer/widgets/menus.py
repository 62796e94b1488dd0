"""Menus and buttons in the first row of several pages: data, orders, rows, and examples to try."""

from collections.abc import Callable, Mapping
from typing import Any

import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.data.demos import demo_names
from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import first_demo
from alrviz.views.core.style import SCREEN_READER_ONLY, WORDS_ON_BUTTONS


class Menu(pmui.Select):
    """A menu whose entries may be renamed while one of them is chosen.

    The browser knows the chosen entry by its label, and Panel sends a label only when the value changes: without this a
    renamed entry would keep its old label in the browser.
    """

    def _process_param_change(self, params: dict[str, Any]) -> dict[str, Any]:
        return super()._process_param_change({"value": self.value, **params} if "options" in params else params)


def select(label: str, options: Mapping[str, object], width: int | None, **params: object) -> Menu:
    """Return a menu of the first row of a page of studies."""
    return Menu(label=label, options=options, width=width, size="small", margin=(0, 8, 0, 0), **params)


def order_buttons() -> pmui.RadioButtonGroup:
    """Return the buttons of orders 1 to 3."""
    return pmui.RadioButtonGroup(
        options={"n = 1": 1, "n = 2": 2, "n = 3": 3}, size="small", label="Order", stylesheets=[SCREEN_READER_ONLY],
        sx=WORDS_ON_BUTTONS, margin=(0, 12, 0, 0),
    )  # fmt: skip


FILE_ENTRY = "@file"  # the data menu's entry for the visitor's table


ROWS_HELP = (
    "The sample is in memory and fitted until it converges; all rows are read from the files and fitted in at most "
    "10 passes"
)
_PILL = {"borderRadius": "16px", "px": "8px", "color": "text.primary", "borderColor": "divider", "fontSize": "1rem"}


def tables_menu(session: Session) -> dict[str, str]:
    """Return the data menu's entries: the visitor's table, then the demo sets."""
    options = {name: name for name in demo_names()}
    if session.table.source.file is not None and session.table.dataset is not None:
        options = {f"{session.table.dataset.name} (yours)": FILE_ENTRY, **options}
    return options


def pill(example: Example, on_try: Callable[[Example], None]) -> pmui.Button:
    """Return the button that tries an example."""
    chip = pmui.Button(
        label=example.label, description=f"{example.label}: {example.hint}", variant="outlined",
        size="small", color="default", margin=(0, 0, 0, 6), sx=_PILL,
    )  # fmt: skip
    chip.on_click(lambda _: on_try(example))
    return chip


def data_menu(session: Session, on_choice: Callable[[], None] = lambda: None, width: int = 160) -> pmui.Select:
    """Return the menu of tables; a choice loads the table. on_choice: called before it is loaded."""
    menu = select("Data", {}, width)

    def load(event: Event) -> None:
        if event.new and event.new != FILE_ENTRY and event.new != _current_entry(session):
            on_choice()
            session.table.load_demo(event.new)

    menu.param.watch(load, "value")
    return menu


def show_data(menu: pmui.Select, session: Session) -> None:
    """Update the menu."""
    menu.param.update(options=tables_menu(session), value=_current_entry(session))


def sample_or_all_menu(session: Session) -> pmui.Select:
    """Return the menu that chooses between the sample and all rows of a table larger than memory."""
    menu = select("Rows", {}, 176, description=ROWS_HELP)

    def on_choice(event: Event) -> None:
        if event.new is not None and session.table.stream is not None:
            session.race_rows = event.new

    menu.param.watch(on_choice, "value")
    return menu


def show_rows(menu: pmui.Select, session: Session) -> None:
    """Update the menu; it is hidden for a table in memory."""
    stream = session.table.stream
    menu.visible = stream is not None
    if stream is not None and session.table.dataset is not None:
        rows = {f"sample: {session.table.dataset.n_rows:,}": "", f"all {stream.n_rows:,}": "all"}
        menu.param.update(options=rows, value=session.race_rows)


def _current_entry(session: Session) -> str:
    """Return the entry of the current or requested table; choosing it must not load the table again."""
    if FILE_ENTRY in tables_menu(session).values():
        return FILE_ENTRY
    return str((session.table.source.demo or session.table.requested_demo or (first_demo(session.page),))[0])
