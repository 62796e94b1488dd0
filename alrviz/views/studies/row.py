"""RowView: why is this row predicted so, and what would change it?

The log-odds of one class against another are a sum of pure effects; a level of the row is tried by pressing its bar, or
by choosing it from the menu, and the sum and the prediction follow.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import Tap

from alrviz.pictures import interactions as drawn
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
from alrviz.views.race.words import number

HEIGHT = "340px"
OFFERED = 400  # columns, levels and classes in menus


def only_hover(plot: Plot, press: Callable[[Any], None]) -> None:
    """Let a figure's marks be pressed: it keeps no tool but the one that tells what they are."""
    plot.figure.toolbar.tools = [tool for tool in plot.figure.toolbar.tools if type(tool).__name__ == "HoverTool"]
    plot.figure.on_event(Tap, press)


def pair(first: LiveFigure, second: LiveFigure, height: str, px: int) -> pn.Row:
    """Return two pictures beside each other, below each other where there is no room."""
    sides = [stack(as_high(figure.pane, height, px), margin=(0, 12, 0, 0)) for figure in (first, second)]
    return pn.Row(*sides, sizing_mode="stretch_width", margin=(0, 0, 10, 0), css_classes=["alrviz-pictures"])


class RowSettings(param.Parameterized):
    """What is chosen of a row."""

    of = param.Integer(default=-1, doc="The number of a class; -1 for the last.")
    against = param.Integer(default=-1, doc="That of another; -1 for the first that is not `of`.")
    row = param.Integer(default=0, bounds=(0, None), doc="The number of the row that is taken apart.")
    column = param.Integer(default=-1, doc="The column whose levels are tried in that row; -1 for the first.")
    changes = param.Dict(default={}, doc="Levels that columns of the row have instead, by column.")

    def classes(self, effects: Interactions) -> tuple[int, int]:
        """Return the numbers of the two classes."""
        last = len(effects.classes) - 1
        of = self.of if 0 <= self.of <= last else last
        return of, self.against if 0 <= self.against <= last and self.against != of else (0 if of else 1)


class RowPart:
    """The controls and pictures of a row, for a view that has `RowSettings`; `show` brings them up to date.

    Attributes:
        body: what is laid out.
        explanation: of the row as it is shown; None before there is one.
        figures: the two pictures, by what they show.
    """

    def __init__(self, host: Any, height: str):
        self.host = host
        self.found: Interactions | None = None
        self.explanation: RowExplanation | None = None
        self.setting = Updating()
        small: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0)}
        self.rows = pmui.IntInput(label="Row", value=0, start=0, width=110, **small)
        self.worst = pmui.Button(label="Worst predicted row", variant="outlined", **small)
        self.tried = pmui.Select(label="What if", options={}, width=190, **small)
        self.level = pmui.Select(label="were", options=[], width=190, **small)
        self.undo = pmui.Button(label="As it is", variant="outlined", visible=False, **small)
        self.told = html(margin=(8, 0, 4, 0))
        self.sum = LiveFigure("alrviz-row")
        self.levels = LiveFigure("alrviz-what-if", on_new_figure=lambda plot: only_hover(plot, self._pressed))
        self.figures = {"row": self.sum, "what if": self.levels}
        self.rows.param.watch(partial(self._picked, "row"), "value")
        self.tried.param.watch(partial(self._picked, "column"), "value")
        self.level.param.watch(lambda event: self._try(event.new), "value")
        self.worst.on_click(lambda _: self._show_worst())
        self.undo.on_click(lambda _: host.param.update(changes={}))
        line = (self.rows, self.worst, self.tried, self.level, self.undo)
        line_box = pn.FlexBox(*line, align_items="center", gap="10px 0", margin=(10, 0, 4, 0))
        self.body = stack(line_box, self.told, pair(self.sum, self.levels, height, 320))

    def _picked(self, name: str, event: Any) -> None:
        if not self.setting and event.new is not None:
            # another row is asked about as it is
            self.host.param.update(**{name: event.new}, **({"changes": {}} if name == "row" else {}))

    def _try(self, level: str | None) -> None:
        effects, host = self.found, self.host
        if self.setting or effects is None or level is None:
            return
        j = self._column(effects)
        others = {name: now for name, now in host.changes.items() if name != effects.columns[j]}
        level_of_row = effects.level(j, host.row)
        host.changes = others if level == level_of_row else {**others, effects.columns[j]: level}

    def _pressed(self, event: Any) -> None:
        names = self.level.options
        place = int(np.floor(event.x)) if len(names) > drawn.BARS else len(names) - 1 - int(np.floor(event.y))
        if 0 <= place < len(names):
            self._try(names[place])

    def _show_worst(self) -> None:
        if self.found is not None:
            self.host.param.update(row=self.found.worst(1)[0], changes={})

    def _column(self, effects: Interactions) -> int:
        column = self.host.column
        return column if 0 <= column < len(effects.columns) else self._first

    _first = 0

    def fill(self, effects: Interactions) -> None:
        """Fill the menus with what a model has."""
        with self.setting:
            self.tried.options = {str(name): j for j, name in enumerate(effects.columns[:OFFERED])}
            self.rows.end = effects.encoded.n_rows - 1

    def show(self, effects: Interactions, first: int = 0) -> RowExplanation:
        """Take the row apart, and draw it; `first`: the column that is tried before one is chosen."""
        host, self.found, self._first = self.host, effects, first
        row, tried = min(host.row, effects.encoded.n_rows - 1), self._column(effects)
        of, against = host.classes(effects)
        name, pair_of = effects.columns[tried], (effects.classes[of], effects.classes[against])
        known = {column: effects.labels(j) for j, column in enumerate(effects.columns) if column in host.changes}
        changes = {column: level for column, level in host.changes.items() if level in known.get(column, ())}
        as_is = effects.row(row, of=pair_of[0], against=pair_of[1])
        explanation = effects.row(row, of=pair_of[0], against=pair_of[1], changes=changes) if changes else as_is
        self.explanation = explanation
        now, all_levels = changes.get(name, effects.level(tried, row)), effects.labels(tried)[:-1]
        step = -(-len(all_levels) // OFFERED)  # of a number that is not cut some
        levels = [level for k, level in enumerate(all_levels) if k % step == 0 or level == now]
        with self.setting:
            self.level.options = levels
            change(self.rows, value=row)
            change(self.tried, value=tried)
            change(self.level, value=now if now in levels else None)
            self.undo.visible = bool(changes)
        self.sum.show(drawn.row_sum(explanation, dark=host.dark), of=(effects, row, of, against))
        p, before = explanation.probabilities, as_is.probabilities[explanation.of]
        best, truth = p.idxmax(), effects.classes[effects.encoded.y[row]]
        changes_text = "; ".join(f"{safe(one, 40)} were <b>{safe(level, 40)}</b>" for one, level in changes.items())
        say(
            self.told,
            f"Row {row:,} is of class <b>{safe(truth)}</b> and "
            + (f"would be predicted, if {changes_text}," if changes else "predicted")
            + f" as <b>{safe(best)}</b> (P {p.max():.3f}); P({safe(explanation.of)}) = {p[explanation.of]:.3f}"
            + (f", as it is {before:.3f}." if changes else "."),
        )
        probabilities = explanation.what_if(name)[explanation.of].loc[levels]
        labels = [f"» {level}" if level == now else str(level) for level in probabilities.index]
        tips = ["were the row's level this; press it"] * len(probabilities)
        bars = drawn.signed_bars(labels, probabilities, np.nan, np.nan, tips, 0.85)
        along = f"P({short(str(explanation.of))}) were {short(name, 20)} another"
        self.levels.show(drawn.bar_picture(bars, along, dark=host.dark, percent=True), of=(effects, row, tried))
        return explanation


class RowView(NotebookViewer, RowSettings):
    """The live view of a row's prediction: its log-odds as a sum, and what other levels would change.

    Args:
        effects: what `alrviz.interactions` returned.
        height: of the pictures, as CSS has it.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2).fit(data.X, data.y), data)
    >>> view = alrviz.RowView(found, row=3, changes={"bit_1": "1"})
    >>> round(view.explanation.log_odds, 2) == round(found.row(3, of="1", changes={"bit_1": "1"}).log_odds, 2)
    True
    """

    def __init__(self, effects: Interactions, *, height: str = HEIGHT, **params: Any):
        super().__init__(**params)
        self.interactions = effects
        self._wake = self._pumped(lambda: False, 1000)
        self.part = RowPart(self, height)
        self.part.fill(effects)
        self.sentence = self.part.told
        small: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0), "width": 150}
        named = {str(label): k for k, label in enumerate(effects.classes.tolist()[:OFFERED])}
        self._pair = [pmui.Select(label=words, options=named, **small) for words in ("Class", "Against")]
        for name, menu in zip(("of", "against"), self._pair, strict=True):
            menu.param.watch(partial(self.part._picked, name), "value")
        save = csv_button("alrviz-row.csv", self.csv, "what each tuple adds to this row")
        buttons = [save, *picture_buttons(self.part.figures, self._origin)]
        self._numbers = Numbers(buttons, lambda: row_html(self.explanation))
        menus = pn.FlexBox(*self._pair, align_items="center", gap="10px 0")
        self.layout = ViewLayout(menus, self.part.body, self._numbers)
        self.param.watch(lambda *_: self._follow(), ["of", "against", "row", "column", "changes", "dark"])
        self._follow()

    @property
    def explanation(self) -> RowExplanation:
        """Of the row as it is shown."""
        assert self.part.explanation is not None
        return self.part.explanation

    def csv(self) -> str:
        """Return what each tuple adds to the row, as a CSV."""
        return row_csv(self.explanation, {"row": self.row, "changes": self.changes})

    def _origin(self, what: str) -> Origin:
        return Origin(f"Row {self.row:,}: {what}", by_version())

    def _follow(self) -> None:
        effects = self.interactions
        with self.part.setting:
            for menu, value in zip(self._pair, self.classes(effects), strict=True):
                menu.value = value
        with pn.io.hold():
            self.part.show(effects)
            self._numbers.refresh()


def row_csv(explanation: RowExplanation, about: dict[str, Any], recipes: Any = ()) -> str:
    """Return what each tuple adds to a row, and the intercept, as a CSV."""
    frame = explanation.frame.reset_index()
    about = {**about, "log-odds of": explanation.of, "against": explanation.against, "intercept": explanation.intercept}
    return to_csv(frame, about, recipes)


def row_html(explanation: RowExplanation) -> str:
    """Return the largest parts of a row's sum as a table."""
    lines = [
        (safe(name, 60), safe(line.levels, 60), number(line.log_odds), f"{line.rows:,.0f}")
        for name, line in explanation.frame.head(30).iterrows()
    ]
    odds = f"log-odds of {safe(explanation.of, 30)} against {safe(explanation.against, 30)}"
    return html_table(["tuple", "levels", odds, "rows"], lines)
