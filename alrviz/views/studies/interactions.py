"""InteractionsView: what carries a model, how sure that is, and why a row is predicted so.

It shows a study of `alrviz.effect_bands`, and fills while that computes: the model first, then bands as refits come.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import Tap

from alrviz.pictures import interactions as drawn
from alrviz.pictures.picture import Picture, Plot
from alrviz.studies.core.export import study_csv
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.row_explanation import RowExplanation
from alrviz.studies.effects.words import lacking_sentence
from alrviz.studies.protocols.effect_bands import EffectStudy
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, choice, html, say
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import WORDS_IN_ONE_LINE, html_table, safe
from alrviz.views.race.words import number
from alrviz.views.studies.study_view import StudyView

HEIGHTS = ("430px", "320px")
# What is shown of the cells of a tuple.
QUANTITIES = {"pure effect": "pure", "phi": "phi", "rows": "rows", "P(class)": "p", "log theta": "theta"}
SIGNED = ("pure", "phi")
LISTED = 40  # tuples in the table
OFFERED = 400  # tuples and classes in menus
STEPS = 9  # of a row's sum


class InteractionsView(StudyView):
    """The live view of a model's effects.

    Args:
        study: what `alrviz.effect_bands` returned, whether begun or not.
        again, wake: as for `StudyView`.
        heights: of the upper and of the lower pictures, as CSS has it.

    >>> import alrviz
    >>> recipe = alrviz.Recipe("lr", order=2, alpha=0.1)
    >>> study = alrviz.effect_bands(alrviz.load_demo("xor"), recipe, refits=0, n_jobs=1)
    >>> view = alrviz.InteractionsView(study.run(), muted=["bit_1 & bit_2"])
    >>> bool(view.losses.loc["muted", "error"] > 0.4)
    True
    """

    study: Any
    subset = param.Integer(default=-1, doc="The number of the tuple whose cells are shown; -1 for the most important.")
    quantity = param.Selector(default="pure", objects=list(QUANTITIES.values()), doc="What is shown of its cells.")
    of = param.Integer(default=-1, doc="The number of a class; -1 for the last.")
    against = param.Integer(default=-1, doc="That of another; -1 for the first that is not `of`.")
    row = param.Integer(default=0, bounds=(0, None), doc="The number of the row that is taken apart.")
    column = param.Integer(default=-1, doc="The column whose levels are tried in that row; -1 for the first.")
    muted = param.List(default=[], item_type=str, doc="Names of the tuples left out.")

    def __init__(self, study: EffectStudy | None = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any):
        self.losses: pd.DataFrame | None = None  # of the rows held out, with all tuples and without the muted ones
        self.explanation: RowExplanation | None = None
        self.table = pd.DataFrame()  # of importance, as it is drawn
        self._setting = Updating()
        self._known: Interactions | None = None
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Make the panes and the layout."""
        high, low = self._height
        self.ranked = LiveFigure("alrviz-importance", made=lambda plot: self._tapped(plot, self._choose_bar))
        self.matrix = LiveFigure("alrviz-interactions", made=lambda plot: self._tapped(plot, self._choose_cell))
        self.cells, self.curve = LiveFigure("alrviz-effect"), LiveFigure("alrviz-kept-tuples")
        self.sum, self.levels = LiveFigure("alrviz-row"), LiveFigure("alrviz-what-if")
        self.sentence = html(min_height=52, margin=(0, 0, 8, 0))
        self.key, self.muting, self.told = (html(margin=(8, 0, 4, 0)) for _ in range(3))
        small: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0)}
        self.tuples = pmui.Select(label="Tuple", options={}, width=260, **small)
        self.class_of = pmui.Select(label="Class", options={}, width=150, **small)
        self.class_against = pmui.Select(label="Against", options={}, width=150, **small)
        self.mutes = pmui.MultiChoice(
            label="Left out (muted)", options=[], sizing_mode="stretch_width", margin=(6, 0, 0, 0)
        )
        self.rows = pmui.IntInput(label="Row", value=0, start=0, width=110, **small)
        self.tried = pmui.Select(label="What if", options={}, width=200, **small)
        self.worst = pmui.Button(label="Worst predicted row", variant="outlined", **small)
        links = {
            "subset": self.tuples, "of": self.class_of, "against": self.class_against, "row": self.rows,
            "column": self.tried,
        }  # fmt: skip
        for name, widget in links.items():
            widget.param.watch(partial(self._picked, name), "value")
        self.mutes.param.watch(lambda event: self._picked("muted", event, list(event.new or ())), "value")
        self.worst.on_click(lambda _: self._show_worst())
        shown = choice(self, "quantity", QUANTITIES, "What is shown of the cells", sx=WORDS_IN_ONE_LINE, margin=0)

        def side(above: list[Any], figure: LiveFigure, height: str, px: int) -> pn.Column:
            line = [pn.FlexBox(*above, align_items="center", gap="10px 0", margin=(0, 0, 4, 0))] if above else []
            return pn.Column(*line, as_high(figure.pane, height, px), sizing_mode="stretch_width", margin=(0, 12, 0, 0))

        def pair(*sides: Any) -> pn.Row:
            return pn.Row(*sides, sizing_mode="stretch_width", margin=(0, 0, 10, 0), css_classes=["alrviz-pictures"])

        self.body = pn.Column(
            pair(side([self.key], self.ranked, high, 430), side([], self.matrix, high, 430)),
            pn.FlexBox(self.tuples, self.class_of, self.class_against, shown, align_items="center", gap="10px 0",
                       margin=(4, 0, 4, 0)),
            pair(side([], self.cells, low, 320), side([], self.curve, low, 320)),
            self.mutes, self.muting,
            pn.FlexBox(self.rows, self.worst, self.tried, align_items="center", gap="10px 0", margin=(10, 0, 4, 0)),
            self.told,
            pair(side([], self.sum, low, 320), side([], self.levels, low, 320)),
            sizing_mode="stretch_width", margin=(0, 0, 6, 0),
        )  # fmt: skip
        saves = [
            csv_button("alrviz-importance.csv", self.csv_of_summary, "all tuples with their importance"),
            csv_button("alrviz-effect.csv", self._csv_of_cells, "the cells of this tuple", label="CSV of cells"),
            csv_button("alrviz-row.csv", self._csv_of_row, "what each tuple adds to this row", label="CSV of row"),
        ]
        self._pictures = {
            "importance": self.ranked, "matrix": self.matrix, "effect": self.cells, "tuples kept": self.curve,
            "row": self.sum, "what if": self.levels,
        }  # fmt: skip
        for what, figure in self._pictures.items():
            saves += figure.buttons(what, partial(self.origin, what), named=True)
        self._numbers = Numbers(saves, self.of_study(lambda _: self._numbers_html()))
        self.layout = ViewLayout(
            self.sentence, self.bar.panel, self.body, self._numbers, sizing_mode="stretch_width", margin=0
        )
        own = ["subset", "quantity", "of", "against", "row", "column", "muted"]
        self.param.watch(lambda *events: self._follow({event.name for event in events}), own)

    def _tapped(self, plot: Plot, press: Any) -> None:
        plot.figure.toolbar.tools = [tool for tool in plot.figure.toolbar.tools if type(tool).__name__ == "HoverTool"]
        plot.figure.on_event(Tap, press)

    # -- the study -----------------------------------------------------------------------------------------------------

    def empty(self) -> None:
        """Show that there is no study."""
        super().empty()
        self._known = self.losses = self.explanation = None
        self.table = pd.DataFrame()

    @property
    def found(self) -> Interactions | None:
        """The effects that are shown."""
        return getattr(self.study, "interactions", None)

    def draw(self, study: EffectStudy) -> None:
        """Show what there is of a study."""
        found, self.table = self.found, self.lines
        self.body.visible = found is not None
        if found is None:
            said = "Press Run: the model is fitted, taken apart, and refitted with other row weights for the bands."
            lost = study.frame()
            if len(lost) and "sentence" in lost:
                said = safe(lost["sentence"].iloc[0], 600)
            self.tell(f"<span class='quiet'>{said}</span>")
            return
        if found is not self._known:
            self._known = found
            self._fill(found)
        order = int(found.pure.sizes.max()) + 1
        lacking = "" if study.lacking is None else f" {lacking_sentence(study.lacking, order)}"
        self.tell(safe(found.sentence() + lacking, 1_200))
        key = "".join(
            f"<span style='color:{colour}'>■</span> {words}&ensp;"
            for colour, words in drawn.legend(sorted(set(found.pure.sizes.tolist())))
        )
        done = study.progress.done - 1
        bands = f"whiskers: 90 % of {done} refits" if done > 1 else "no bands yet"
        say(self.key, f"{key}<span class='quiet'>{bands}; press a bar or a cell</span>")
        self._follow({"study"})

    def _fill(self, found: Interactions) -> None:
        """Fill the menus with what the model has."""
        names = [str(label) for label in found.classes.tolist()][:OFFERED]
        with self._setting:
            self.tuples.options = {name: found.number_of(name) for name in self.table.index[:OFFERED]}
            self.class_of.options = self.class_against.options = {name: k for k, name in enumerate(names)}
            self.mutes.options = list(self.table.index[:OFFERED])
            self.tried.options = {str(name): j for j, name in enumerate(found.columns)}
            self.rows.end = found.encoded.n_rows - 1

    def _picked(self, name: str, event: Any, value: Any = None) -> None:
        value = event.new if value is None else value
        if not self._setting and value is not None:
            self.param.update(**{name: value})

    def _choose_bar(self, event: Any) -> None:
        place = min(len(self.table), drawn.MOST) - 1 - int(np.floor(event.y))
        if self.found is not None and 0 <= place < min(len(self.table), drawn.MOST):
            self.subset = self.found.number_of(self.table.index[place])

    def _choose_cell(self, event: Any) -> None:
        found, picture = self.found, self.matrix.picture
        if found is None or picture is None:
            return
        names, n = picture.key[0], len(picture.key[0])
        x, y = int(np.floor(event.x)), n - 1 - int(np.floor(event.y))
        if 0 <= x < n and 0 <= y < n:
            columns = sorted({[str(name) for name in found.columns].index(names[k]) for k in (x, y)})
            self.subset = found.pure.numbers.get(tuple(columns), self.subset)

    def _show_worst(self) -> None:
        """Take the row of the data apart that is predicted worst."""
        found = self.found
        if found is not None:
            self.row = found.worst(1)[0]

    # -- what follows --------------------------------------------------------------------------------------------------

    def _classes(self, found: Interactions) -> tuple[int, int]:
        last = len(found.classes) - 1
        of = self.of if 0 <= self.of <= last else last
        first = 0 if of else 1
        return of, self.against if 0 <= self.against <= last and self.against != of else first

    def _tuple(self, found: Interactions) -> int:
        known = 0 <= self.subset < len(found.names)
        return self.subset if known else found.number_of(self.table.index[0])

    def _mutes(self, found: Interactions) -> list[str]:
        return [name for name in self.muted if name in found.names]

    def _follow(self, changed: set[str]) -> None:
        """Bring the pictures up to date that a change touches."""
        found, study = self.found, self.study
        if found is None or study is None or self.table.empty:
            return
        row = min(self.row, found.encoded.n_rows - 1)
        of, against = self._classes(found)
        mutes, t = self._mutes(found), self._tuple(found)
        with pn.io.hold(), self._setting:
            if self.column < 0 or self.column >= len(found.columns):
                tried = found.pure.space.members[t][0]
            else:
                tried = self.column
            for widget, value in (
                (self.tuples, t if t in self.tuples.options.values() else None), (self.class_of, of),
                (self.class_against, against), (self.rows, row), (self.tried, tried), (self.mutes, mutes),
            ):  # fmt: skip
                if widget.value != value:
                    widget.value = value
            every = changed & {"study"}
            if every or changed & {"subset", "muted"}:
                self.ranked.show(drawn.ranked(self.table, mutes, found.names[t], dark=self.dark), of=study)
            if every:
                ordered = self.table.reindex(found.names)
                picture = drawn.matrix(ordered, found.columns, found.pure.space.members, dark=self.dark)
                self.matrix.show(picture, of=study)
            if every or changed & {"subset", "quantity", "of", "against", "row"}:
                self.cells.show(self._cells(found, t, of, against, row), of=(study, t))
            if every or "muted" in changed:
                self._mute(found, mutes)
            if every or changed & {"row", "of", "against", "column", "subset"}:
                self._explain(found, row, of, against, tried)
            self._numbers.refresh()

    def _mute(self, found: Interactions, mutes: list[str]) -> None:
        self.losses = found.mute(*mutes)
        before, after = self.losses.loc["all"], self.losses.loc["muted"]
        where = "Held-out rows" if found.has_heldout else "Rows learned from"
        parts = [
            f"{words} {after[name]:.4f}" + (f" ({after[name] - before[name]:+.4f})" if mutes else "")
            for name, words in (("log_loss", "log loss"), ("error", "0-1 loss"), ("ece", "calibration error"))
        ]
        what = f" without {safe(', '.join(mutes), 300)}" if mutes else ""
        say(self.muting, f"{where}{what}: {'; '.join(parts)}")
        assert self.study is not None
        now = float(after["log_loss"]) if mutes else None
        self.curve.show(drawn.kept_curve(self.study.curve, now, dark=self.dark), of=self.study)

    def _cells(self, found: Interactions, t: int, of: int, against: int, row: int) -> Picture:
        """The picture of a tuple's cells; of three or more columns a slice through the row."""
        pure, quantity = found.pure, self.quantity
        members, cells = pure.space.members[t], pure.cells_of(t)
        words = {name: text for text, name in QUANTITIES.items()}[quantity]
        labels = [str(label) for label in found.classes.tolist()]
        value = found.quantity(t, quantity, of, against)
        about = f"{words}: {labels[of]} against {labels[against]}" if quantity in SIGNED else f"{words}"
        about = f"{words} of {labels[of]}" if quantity in ("p", "theta") else about
        codes, rows = pure.space.codes_of(pure.index.seen[cells]), pure.rows[cells]
        names = [found.labels(j) for j in members]
        if len(members) == 1:
            assert self.study is not None
            table = self.study.effects(*found.names[t : t + 1], of=found.classes[of], against=found.classes[against])
            band = quantity == "pure"
            low, high = (table[name].to_numpy() if band else value for name in ("low", "high"))
            shown = np.argsort(codes[:, 0], kind="stable")[: drawn.MOST * 2]
            tips = [f"{rows[k]:,.0f} rows" for k in shown]
            bars = drawn.signed_bars([names[0][codes[k, 0]] for k in shown], value[shown], low[shown], high[shown],
                                     tips, 0.85)  # fmt: skip
            return drawn.bar_picture(bars, about, dark=self.dark, percent=quantity == "p")
        at = np.ones(len(codes), bool)
        for place, j in enumerate(members[2:], start=2):
            at &= codes[:, place] == found.encoded.codes[j, row]
        shape = tuple(len(own) - (not (codes[:, place] == len(own) - 1).any()) for place, own in enumerate(names[:2]))
        grid, weight = np.full(shape, np.nan), np.zeros(shape)
        grid[codes[at, 0], codes[at, 1]], weight[codes[at, 0], codes[at, 1]] = value[at], rows[at]
        if len(members) > 2:
            fixed = ", ".join(f"{found.columns[j]} = {found.level(j, row)}" for j in members[2:])
            about = f"{about}; {fixed}, as in row {row}"
        titles = (found.columns[members[0]], f"{found.columns[members[1]]}   ({about})")
        own = (names[0][: shape[0]], names[1][: shape[1]])
        return drawn.heat_map(grid, weight, own, titles, words, signed=quantity in SIGNED, dark=self.dark)

    def _explain(self, found: Interactions, row: int, of: int, against: int, tried: int) -> None:
        self.explanation = said = found.row(row, of=found.classes[of], against=found.classes[against])
        frame = said.frame
        first, rest = frame.head(STEPS), frame.iloc[STEPS:]
        names = [f"{name} = {levels}" for name, levels in zip(first.index, first["levels"], strict=True)]
        values = first["log_odds"].tolist()
        tips = [f"{rows:,.0f} rows" if seen else "a cell that no row has" for rows, seen in
                zip(first["rows"], first["seen"], strict=True)]  # fmt: skip
        if len(rest):
            names.append(f"{len(rest):,} others")
            values.append(float(rest["log_odds"].sum()))
            tips.append("their sum")
        names, values = [*names, "intercept"], [*values, said.intercept]
        tips.append("what the classes have without any column")
        bars = drawn.signed_bars(names, values, values, values, tips, 0.85)
        along = f"log-odds of {said.of} against {said.against}, sum {said.log_odds:.2f}"
        self.sum.show(drawn.bar_picture(bars, along, dark=self.dark), of=(self.study, row, of, against))
        p = said.probabilities
        truth = found.classes[found.encoded.y[row]]
        best = p.idxmax()
        say(
            self.told,
            f"Row {row:,} is of class <b>{safe(truth)}</b> and predicted as <b>{safe(best)}</b> "
            f"(P {p.max():.3f}); P({safe(said.of)}) = {p[said.of]:.3f}.",
        )
        name = found.columns[tried]
        other = said.what_if(name)[said.of]
        now = found.level(tried, row)
        labels = [f"▸ {level}" if level == now else str(level) for level in other.index][: drawn.MOST * 2]
        values = other.to_numpy()[: drawn.MOST * 2]
        bars = drawn.signed_bars(labels, values, values, values, ["were the row's level this"] * len(values), 0.85)
        along = f"P({said.of}) were {name} another"
        self.levels.show(drawn.bar_picture(bars, along, dark=self.dark, percent=True), of=(self.study, row, tried))

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _csv_of_cells(self) -> str:
        found = self.found
        if found is None or self.study is None:
            return ""
        own = found.effects(found.names[self._tuple(found)])
        return study_csv(self.study, own)

    def _csv_of_row(self) -> str:
        return "" if self.explanation is None or self.study is None else study_csv(
            self.study, self.explanation.frame.reset_index()
        )  # fmt: skip

    def _numbers_html(self) -> str:
        heads = ["tuple", "nats", "90 % band", "share", "structural", "held-out loss without", "cells"]
        lines = [
            (
                safe(name, 80), number(line.nats), _band(line.nats_low, line.nats_high), f"{line.share:.1%}",
                f"{line.structural:.1%}", f"{line.loss:+.4f} ± {line.loss_error:.4f}", f"{int(line.cells):,}",
            )
            for name, line in self.table.head(LISTED).iterrows()
        ]  # fmt: skip
        more = len(self.table) - LISTED
        foot = f"<tr><td colspan='7'>{more:,} more in the CSV</td></tr>" if more > 0 else ""
        return html_table(heads, lines, foot=foot)


def _band(low: float, high: float) -> str:
    return "—" if np.isnan(low) else f"{low:.4f} to {high:.4f}"
