"""RowView: why a row gets its prediction, and what would change it.

The log-odds of one class against another are a sum of pure effects. Clicking a bar, or choosing a level in the menu,
changes a column's level in this row, and sum and prediction are updated.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import Tap
from param.parameterized import Event

from alrviz.pictures import interactions as pictures
from alrviz.pictures.level_axis import short
from alrviz.pictures.picture import Plot
from alrviz.studies.core.export import to_csv
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.row_explanation import RowExplanation
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import Updating, as_high, html, say, stack
from alrviz.views.core.saving import Origin, by_version, csv_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.core.transport import change
from alrviz.views.race.texts import number

HEIGHT = "340px"
MAX_MENU_ITEMS = 400


def make_clickable(plot: Plot, on_tap: Callable[[Any], None]) -> None:
    """Call `on_tap` for clicks on a figure, and remove all tools but the hover tool."""
    plot.figure.toolbar.tools = [tool for tool in plot.figure.toolbar.tools if type(tool).__name__ == "HoverTool"]
    plot.figure.on_event(Tap, on_tap)


def side_by_side_pictures(first: LiveFigure, second: LiveFigure, height: str, px: int) -> pn.Row:
    """Return two pictures side by side, stacked on a narrow page; height: as CSS; px: the same in pixels."""
    picture_boxes = [stack(as_high(figure.pane, height, px), margin=(0, 12, 0, 0)) for figure in (first, second)]
    return pn.Row(*picture_boxes, sizing_mode="stretch_width", margin=(0, 0, 10, 0), css_classes=["alrviz-pictures"])


class RowSettings(param.Parameterized):
    """Settings of the explanation of a row."""

    of = param.Integer(default=-1, doc="Number of the class; -1 for the last.")
    against = param.Integer(default=-1, doc="Number of the class it is compared with; -1 for the first other one.")
    row = param.Integer(default=0, bounds=(0, None), doc="Number of the row.")
    column = param.Integer(default=-1, doc="Number of the column whose levels are tried; -1 for the first.")
    changes = param.Dict(default={}, doc="Changed levels of the row, by column.")

    def classes(self, effects: Interactions) -> tuple[int, int]:
        """Return the numbers of the two classes."""
        last_class = len(effects.classes) - 1
        of = self.of if 0 <= self.of <= last_class else last_class
        return of, self.against if 0 <= self.against <= last_class and self.against != of else (0 if of else 1)


class RowPart:
    """Controls and pictures of a row, for a view with `RowSettings`; `show` updates them.

    Attributes:
        body: the layout.
        explanation: of the row with its changes; None before `show`.
        figures: the two pictures by name.
        host: the view. setting: set while code fills the widgets.
    """

    def __init__(self, host: Any, height: str):
        self.host = host
        self.effects: Interactions | None = None
        self.explanation: RowExplanation | None = None
        self.setting = Updating()
        small_params: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0)}
        self.rows = pmui.IntInput(label="Row", value=0, start=0, width=110, **small_params)
        self.worst = pmui.Button(label="Worst predicted row", variant="outlined", **small_params)
        self.column_menu = pmui.Select(label="What if", options={}, width=190, **small_params)
        self.level = pmui.Select(label="were", options=[], width=190, **small_params)
        self.undo = pmui.Button(label="As it is", variant="outlined", visible=False, **small_params)
        self.text = html(margin=(8, 0, 4, 0))
        self.sum = LiveFigure("alrviz-row")
        self.levels = LiveFigure("alrviz-what-if", on_new_figure=lambda plot: make_clickable(plot, self._bar_tapped))
        self.figures = {"row": self.sum, "what if": self.levels}
        self.rows.param.watch(partial(self.change_setting, "row"), "value")
        self.column_menu.param.watch(partial(self.change_setting, "column"), "value")
        self.level.param.watch(lambda event: self._change_level(event.new), "value")
        self.worst.on_click(lambda _: self._show_worst())
        self.undo.on_click(lambda _: host.param.update(changes={}))
        controls = (self.rows, self.worst, self.column_menu, self.level, self.undo)
        controls_box = pn.FlexBox(*controls, align_items="center", gap="10px 0", margin=(10, 0, 4, 0))
        self.body = stack(controls_box, self.text, side_by_side_pictures(self.sum, self.levels, height, 320))

    def change_setting(self, name: str, event: Event) -> None:
        """Set the host's setting `name` to the value of a widget's event, unless code fills the widgets."""
        if not self.setting and event.new is not None:
            # another row starts without changes
            self.host.param.update(**{name: event.new}, **({"changes": {}} if name == "row" else {}))

    def _change_level(self, level: str | None) -> None:
        effects, host = self.effects, self.host
        if self.setting or effects is None or level is None:
            return
        j = self._column(effects)
        other_changes = {name: level_now for name, level_now in host.changes.items() if name != effects.columns[j]}
        level_of_row = effects.level(j, host.row)
        host.changes = other_changes if level == level_of_row else {**other_changes, effects.columns[j]: level}

    def _bar_tapped(self, event: Tap) -> None:
        """Change the row's level to that of the bar that was clicked."""
        names = self.level.options
        level_position = (
            int(np.floor(event.x))
            if len(names) > pictures.MAX_LEVELS_WITH_BARS
            else len(names) - 1 - int(np.floor(event.y))
        )
        if 0 <= level_position < len(names):
            self._change_level(names[level_position])

    def _show_worst(self) -> None:
        if self.effects is not None:
            self.host.param.update(row=self.effects.worst(1)[0], changes={})

    def _column(self, effects: Interactions) -> int:
        column = self.host.column
        return column if 0 <= column < len(effects.columns) else self._default_column

    _default_column = 0

    def fill_menus(self, effects: Interactions) -> None:
        """Fill the menus with a model's columns and rows."""
        with self.setting:
            self.column_menu.options = {str(name): j for j, name in enumerate(effects.columns[:MAX_MENU_ITEMS])}
            self.rows.end = effects.encoded.n_rows - 1

    def show(self, effects: Interactions, first: int = 0) -> RowExplanation:
        """Explain the row and draw it; `first` is the column whose levels are tried by default."""
        host, self.effects, self._default_column = self.host, effects, first
        row, column_menu = min(host.row, effects.encoded.n_rows - 1), self._column(effects)
        of, against = host.classes(effects)
        name, pair_of = effects.columns[column_menu], (effects.classes[of], effects.classes[against])
        levels_by_column = {
            column: effects.labels(j) for j, column in enumerate(effects.columns) if column in host.changes
        }
        changes = {column: level for column, level in host.changes.items() if level in levels_by_column.get(column, ())}
        as_is = effects.row(row, label=pair_of[0], other_label=pair_of[1])
        explanation = effects.row(row, label=pair_of[0], other_label=pair_of[1], changes=changes) if changes else as_is
        self.explanation = explanation
        current_level, all_levels = changes.get(name, effects.level(column_menu, row)), effects.labels(column_menu)[:-1]
        level_stride = -(-len(all_levels) // MAX_MENU_ITEMS)  # numbers without cuts may have very many levels
        levels = [level for k, level in enumerate(all_levels) if k % level_stride == 0 or level == current_level]
        with self.setting:
            self.level.options = levels
            change(self.rows, value=row)
            change(self.column_menu, value=column_menu)
            change(self.level, value=current_level if current_level in levels else None)
            self.undo.visible = bool(changes)
        self.sum.show(pictures.row_sum(explanation, dark=host.dark), subject=(effects, row, of, against))
        p, probability_as_is = explanation.probabilities, as_is.probabilities[explanation.label]
        best_class, true_class = p.idxmax(), effects.classes[effects.encoded.y[row]]
        changes_text = "; ".join(
            f"{safe(column_name, 40)} were <b>{safe(level, 40)}</b>" for column_name, level in changes.items()
        )
        say(
            self.text,
            f"Row {row:,} is of class <b>{safe(true_class)}</b> and "
            + (f"would be predicted, if {changes_text}," if changes else "predicted")
            + f" as <b>{safe(best_class)}</b> (P {p.max():.3f}); "
            + f"P({safe(explanation.label)}) = {p[explanation.label]:.3f}"
            + (f", as it is {probability_as_is:.3f}." if changes else "."),
        )
        probabilities = explanation.what_if(name)[explanation.label].loc[levels]
        labels = [f"» {level}" if level == current_level else str(level) for level in probabilities.index]
        tips = ["were the row's level this; press it"] * len(probabilities)
        bars = pictures.signed_bars(labels, probabilities, np.nan, np.nan, tips, 0.85)
        x_label = f"P({short(str(explanation.label))}) were {short(name, 20)} another"
        self.levels.show(
            pictures.bar_picture(bars, x_label, dark=host.dark, percent=True), subject=(effects, row, column_menu)
        )
        return explanation


class RowView(NotebookViewer, RowSettings):
    """Live view of a row's prediction: its log-odds as a sum, and what other levels would change.

    Args:
        effects: result of `alrviz.interactions`.
        height: CSS height of the pictures.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    >>> view = alrviz.RowView(found, row=3, changes={"bit_1": "1"})
    >>> round(view.explanation.log_odds, 2) == round(found.row(3, label="1", changes={"bit_1": "1"}).log_odds, 2)
    True
    """

    def __init__(self, effects: Interactions, *, height: str = HEIGHT, **params: Any):
        super().__init__(**params)
        self.interactions = effects
        self._wake = self._make_pump(lambda: False, 1000)
        self.part = RowPart(self, height)
        self.part.fill_menus(effects)
        self.sentence = self.part.text
        small: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0), "width": 150}
        options = {str(label): k for k, label in enumerate(effects.classes.tolist()[:MAX_MENU_ITEMS])}
        self._pair = [pmui.Select(label=menu_text, options=options, **small) for menu_text in ("Class", "Against")]
        for name, menu in zip(("of", "against"), self._pair, strict=True):
            menu.param.watch(partial(self.part.change_setting, name), "value")
        csv_save_button = csv_button("alrviz-row.csv", self.csv, "what each tuple adds to this row")
        buttons = [csv_save_button, *picture_buttons(self.part.figures, self._origin)]
        self._numbers = Numbers(buttons, lambda: row_html(self.explanation))
        menus = pn.FlexBox(*self._pair, align_items="center", gap="10px 0")
        self.layout = ViewLayout(menus, self.part.body, self._numbers)
        self.param.watch(lambda *_: self._follow(), ["of", "against", "row", "column", "changes", "dark"])
        self._follow()

    @property
    def explanation(self) -> RowExplanation:
        """Explanation of the row with its changes."""
        assert self.part.explanation is not None
        return self.part.explanation

    def csv(self) -> str:
        """Return the contribution of each tuple to the row's log-odds, as a CSV."""
        return row_csv(self.explanation, {"row": self.row, "changes": self.changes})

    def _origin(self, subject: str) -> Origin:
        return Origin(f"Row {self.row:,}: {subject}", by_version())

    def _follow(self) -> None:
        effects = self.interactions
        with self.part.setting:
            for menu, value in zip(self._pair, self.classes(effects), strict=True):
                menu.value = value
        with pn.io.hold():
            self.part.show(effects)
            self._numbers.refresh()


def row_csv(explanation: RowExplanation, provenance: dict[str, Any], recipes: Any = ()) -> str:
    """Return the contribution of each tuple to a row's log-odds, and the intercept, as a CSV.

    provenance, recipes: what its first lines say of its origin.
    """
    frame = explanation.frame.reset_index()
    odds = {"log-odds of": explanation.label, "against": explanation.other_label, "intercept": explanation.intercept}
    return to_csv(frame, {**provenance, **odds}, recipes)


def row_html(explanation: RowExplanation) -> str:
    """Return the table of the largest contributions to a row's log-odds."""
    table_rows = [
        (safe(name, 60), safe(effect.levels, 60), number(effect.log_odds), f"{effect.rows:,.0f}")
        for name, effect in explanation.frame.head(30).iterrows()
    ]
    odds_text = f"log-odds of {safe(explanation.label, 30)} against {safe(explanation.other_label, 30)}"
    return html_table(["tuple", "levels", odds_text, "rows"], table_rows)
