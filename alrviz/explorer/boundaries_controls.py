"""Controls that both tabs of the Boundaries page have: the menu of data, and the dialog of the script."""

from typing import Any

import panel_material_ui as pmui

from alrviz.explorer.convergence_controls import FILE, tables_menu
from alrviz.explorer.session import Session
from alrviz.explorer.state import FIRST_DEMO


def data_menu(session: Session) -> Any:
    """Return the menu of tables; what is chosen is loaded."""
    menu = pmui.Select(label="Data", options={}, width=168, size="small", margin=(0, 12, 0, 0))

    def chosen(event: Any) -> None:
        if event.new and event.new != FILE and event.new != _shown(session):
            session.load_demo(event.new)

    menu.param.watch(chosen, "value")
    return menu


def show_data(menu: Any, session: Session) -> None:
    """Bring the menu up to date."""
    menu.param.update(options=tables_menu(session), value=_shown(session))


def _shown(session: Session) -> str:
    """The entry of the table that is there: loading what is shown would load it again."""
    if FILE in tables_menu(session).values():
        return FILE
    return str((session.demo or session.asked or (FIRST_DEMO,))[0])
