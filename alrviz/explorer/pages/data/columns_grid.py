"""The grid of columns: kind, levels, missing values, why the kind was guessed; one row is chosen, kinds are edited."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
import panel as pn
from param.parameterized import Event

from alrviz.explorer.shell import asset
from alrviz.views.core.panes import Updating

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

PAGE = 9
KINDS = ("categorical", "numeric", "ordinal", "ignore", "target")
_CSS = asset("columns_grid.css", "alrviz.explorer.pages.data")
# With all columns on one page there is nothing to turn.
_ONE_PAGE = ".tabulator .tabulator-footer { display: none; }"

# No tooltips: Tabulator shows them as HTML, and names come from strangers; long names and reasons wrap instead.
# A cell is edited by a click only, and Tab is the browser's: with Tabulator's own keys the focus cannot leave the grid.
# By keyboard a kind is changed in the menu beside the picture.
_CONFIGURATION = {
    "columnDefaults": {"headerSort": False},
    "editTriggerEvent": "click",
    "keybindings": {"navNext": False, "navPrev": False},
}


def columns_frame(dataset: "Dataset") -> pd.DataFrame:
    """Return one row per column, as shown and as exported."""
    return pd.DataFrame(
        {
            "column": [column.name for column in dataset.columns],
            "kind": [column.kind for column in dataset.columns],
            "levels": [column.levels for column in dataset.columns],
            "missing": [column.missing for column in dataset.columns],
            "why": [column.why for column in dataset.columns],
        }
    )


class ColumnsGrid:
    """Tells its owner which column was chosen and which kind was asked for."""

    def __init__(self, chosen: Callable[[str], None], asked: Callable[[str, str], None]):
        self._chosen, self._asked = chosen, asked
        self._filling = Updating()
        number = {"type": "money", "precision": 0, "thousand": ","}
        self.table = pn.widgets.Tabulator(
            pd.DataFrame(columns=["column", "kind", "levels", "missing", "why"]),
            show_index=False,
            selectable=1,
            pagination="local",
            page_size=PAGE,
            layout="fit_columns",
            editors={
                "column": None,
                "kind": {"type": "list", "values": list(KINDS)},
                "levels": None,
                "missing": None,
                "why": None,
            },
            titles={"kind": "kind ▾", "why": "why"},
            formatters={"levels": number, "missing": number, "column": "textarea", "why": "textarea"},
            text_align={"levels": "right", "missing": "right"},
            widths={"column": "23%", "kind": "18%", "levels": "11%", "missing": "13%", "why": "35%"},
            configuration=_CONFIGURATION,
            sizing_mode="stretch_width",
            stylesheets=[_CSS],
            margin=0,
        )
        self.table.param.watch(self._on_selection, "selection")
        self.table.on_edit(self._on_edit)

    def show(self, dataset: "Dataset", chosen: str, known: frozenset[int] = frozenset()) -> None:
        """Show a table's columns, one of them chosen; of those at `known` positions the maker said the kind."""
        frame = columns_frame(dataset)
        frame["why"] = [
            "by construction" if k in known and why == "as you said" else why for k, why in enumerate(frame["why"])
        ]
        with self._filling:
            self.table.stylesheets = [_CSS] if len(frame) > PAGE else [_CSS, _ONE_PAGE]
            self.table.value = frame
            names = list(frame["column"])
            self.table.selection = [names.index(chosen)] if chosen in names else []

    def choose(self, name: str) -> None:
        """Mark another column as chosen."""
        names = list(self.table.value["column"])
        if name in names and self.table.selection != [names.index(name)]:
            with self._filling:
                self.table.selection = [names.index(name)]

    def _on_selection(self, event: Event) -> None:
        if event.new and not self._filling:
            self._chosen(str(self.table.value["column"].iloc[event.new[0]]))

    def _on_edit(self, event: Event) -> None:
        if event.column == "kind" and not self._filling and event.value != event.old:
            self._asked(str(self.table.value["column"].iloc[event.row]), str(event.value))
