"""Menus and buttons that several pages have in their first row: the data, an example to try, a setting."""

from collections.abc import Callable, Mapping

import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.data.demos import demo_names
from alrviz.explorer.recipes.questions import Example
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import first_demo
from alrviz.views.core.style import HEARD, WORDS_ON_BUTTONS


def select(label: str, options: Mapping[str, object], width: int | None, **params: object) -> pmui.Select:
    """Return a menu of the first row of a page of studies."""
    return pmui.Select(label=label, options=options, width=width, size="small", margin=(0, 8, 0, 0), **params)


def order_buttons() -> pmui.RadioButtonGroup:
    """Return the buttons of orders 1 to 3."""
    return pmui.RadioButtonGroup(
        options={"n = 1": 1, "n = 2": 2, "n = 3": 3}, size="small", label="Order", stylesheets=[HEARD],
        sx=WORDS_ON_BUTTONS, margin=(0, 12, 0, 0),
    )  # fmt: skip


FILE = "@file"  # the data menu's entry for a table that was dropped


WHOLE = (
    "All rows are read from their files, coded once, and fitted in 10 passes at most; the sample is in memory, and "
    "fitted in as many as it takes"
)
_PILL = {"borderRadius": "16px", "px": "8px", "color": "text.primary", "borderColor": "divider", "fontSize": "1rem"}


def tables_menu(session: Session) -> dict[str, str]:
    """The data menu's entries: the demo sets, and before them the visitor's own table."""
    options = {name: name for name in demo_names()}
    if session.table.source.file is not None and session.table.dataset is not None:
        options = {f"{session.table.dataset.name} (yours)": FILE, **options}
    return options


def pill(example: Example, tried: Callable[[Example], None]) -> pmui.Button:
    """Return the button that tries an example."""
    chip = pmui.Button(
        label=example.words, description=f"{example.words}: {example.hint}", variant="outlined",
        size="small", color="default", margin=(0, 0, 0, 6), sx=_PILL,
    )  # fmt: skip
    chip.on_click(lambda _: tried(example))
    return chip


def data_menu(session: Session) -> pmui.Select:
    """Return the menu of tables; what is chosen is loaded."""
    menu = select("Data", {}, 160)

    def chosen(event: Event) -> None:
        if event.new and event.new != FILE and event.new != _shown(session):
            session.table.load_demo(event.new)

    menu.param.watch(chosen, "value")
    return menu


def show_data(menu: pmui.Select, session: Session) -> None:
    """Bring the menu up to date."""
    menu.param.update(options=tables_menu(session), value=_shown(session))


def rows_menu(session: Session) -> pmui.Select:
    """Return the menu of which rows of a table larger than memory are fitted: its sample, or all."""
    menu = select("Rows", {}, 176, description=WHOLE)

    def chosen(event: Event) -> None:
        if event.new is not None and session.table.stream is not None:
            session.race_rows = event.new

    menu.param.watch(chosen, "value")
    return menu


def show_rows(menu: pmui.Select, session: Session) -> None:
    """Bring the menu up to date; of a table in memory there is nothing to choose."""
    stream = session.table.stream
    menu.visible = stream is not None
    if stream is not None and session.table.dataset is not None:
        rows = {f"sample: {session.table.dataset.n_rows:,}": "", f"all {stream.n_rows:,}": "all"}
        menu.param.update(options=rows, value=session.race_rows)


def _shown(session: Session) -> str:
    """The entry of the table that is there: loading what is shown would load it again."""
    if FILE in tables_menu(session).values():
        return FILE
    return str((session.table.source.demo or session.table.requested_demo or (first_demo(session.page),))[0])
