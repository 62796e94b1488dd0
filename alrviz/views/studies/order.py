"""OrderStudyView: which order? Held-out log loss and cost against n, a reliability curve, and the verdict.

It shows a study of `alrviz.choose_order`, and fills while that computes. The figures are made once for the orders and
the family shown.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import pandas as pd
import panel as pn

from alrviz.errors import for_page
from alrviz.pictures import reliability as curve
from alrviz.pictures.orders import COSTS, Picture, contents, feed, order_name, orders_picture
from alrviz.pictures.palette import racer_colours
from alrviz.studies.core.export import study_csv
from alrviz.studies.protocols.choose_order import OrderVerdict
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import as_high, html
from alrviz.views.core.saving import buttons_of_parts, csv_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.race.words import number
from alrviz.views.studies.study_view import StudyView

HEIGHTS = ("256px", "168px", "286px")  # of losses, costs and the reliability curve
SIDE = 344  # px of the curve and what a page says under it


class OrderStudyView(StudyView):
    """The live view of a study of orders.

    Args:
        study: what `alrviz.choose_order` returned, whether begun or not.
        again, wake: as for `StudyView`.
        heights: of the pictures of losses, costs and reliability, as CSS has it.

    >>> import alrviz
    >>> data, recipe = alrviz.load_demo("monks-1"), alrviz.Recipe("lr", alpha=0.1)
    >>> study = alrviz.choose_order(data, recipe, orders=(0, 1, 2), repeats=1, n_jobs=1)
    >>> view = alrviz.OrderStudyView(study.run())
    >>> "n&nbsp;=&nbsp;2 lowers held-out log loss" in view.sentence.object
    True
    """

    def __init__(self, study: Any = None, *, heights: tuple[str, str, str] = HEIGHTS, **params: Any):
        self._heights = heights
        self._name = f"alrviz-orders-{uuid.uuid4().hex[:12]}"
        self.verdict: OrderVerdict | None = None  # of what is drawn
        self._made_of: Any = None
        self._picture: Picture | None = None
        self._curve: curve.Picture | None = None
        super().__init__(study, **params)

    def build(self) -> None:
        """Make the panes and the layout."""
        self._panes = [pn.pane.Bokeh(sizing_mode="stretch_both", margin=0) for _ in range(2 + len(COSTS))]
        losses, *costs, reliability = self._panes
        high, low, square = self._heights
        self.sentence = html(min_height=52, margin=(0, 0, 8, 0))
        # What a page has to say under the curve; beside a notebook's it is empty.
        self.aside = pn.Column(sizing_mode="stretch_width", margin=0)
        cost = as_high(pn.Row(*costs, sizing_mode="stretch_both", margin=0), low, 168)
        left = pn.Column(as_high(losses, high, 256), cost, sizing_mode="stretch_width", margin=0)
        right = pn.Column(as_high(reliability, square, 286), self.aside, width=SIDE, margin=(0, 0, 0, 16))
        self.body = pn.Row(left, right, sizing_mode="stretch_width", margin=(0, 0, 6, 0))
        parts = (
            ("", "losses"),
            ("-parameters", "parameters"),
            ("-seconds", "seconds"),
            ("-reliability", "reliability"),
        )
        saves = [csv_button("alrviz-orders.csv", self._csv, "all fits, with recipes, seed, data hash and version")]
        saves += buttons_of_parts(self._name, "alrviz-orders", parts, self.origin)
        self._numbers = Numbers(saves, self._numbers_html)
        self.layout = ViewLayout(
            self.sentence, self.body, self.bar.panel, self._numbers, sizing_mode="stretch_width", margin=0
        )

    def draw(self) -> None:
        """Show what there is of the study."""
        study = self.study
        self.verdict = None
        if study is None:
            self.tell_none()
            return
        self.verdict = verdict = study.verdict()
        lines = study.summary()
        boosted = study.boosting()
        beside = ("boosting", float(boosted.log_loss.mean())) if len(boosted) else None
        what = contents(study.frame(), lines, verdict.order, dict.fromkeys(study.refused(), "failed"), beside)
        orders, label = orders_of(study), study.recipes[0].label if study.recipes else "lr"
        made_of = (tuple(orders), label, self.dark)
        if self._picture is None or self._curve is None or made_of != self._made_of:
            self._made_of = made_of
            self._make(orders, label, what)
        else:
            feed(self._picture, what)
        if self._curve is not None:
            table = study.reliability()
            tables = {order_name(n): table[table.order == n] for n in orders}
            curve.feed(self._curve, tables, "" if verdict.order is None else order_name(verdict.order))
        self.tell(sentence_html(study, verdict.sentence, lines) + notes_html(verdict.notes))
        self._numbers.refresh()

    def _make(self, orders: list[int], label: str, what: Any) -> None:
        self._picture = orders_picture(what, orders, label, self._name, dark=self.dark)
        above = [n for n in orders if n]
        shades = racer_colours([label] * len(above), self.dark)
        # The class prior has no curve: it gives every row the same probability.
        colours = {order_name(n): shade for n, shade in zip(above, shades, strict=True)}
        self._curve = curve.reliability_picture(colours, f"{self._name}-reliability")
        figures = (self._picture.losses, *self._picture.costs.values(), self._curve.figure)
        for pane, figure in zip(self._panes, figures, strict=True):
            pane.object = figure

    def _numbers_html(self) -> str:
        return "" if self.study is None else numbers_html(self.study.summary())

    def _csv(self) -> str:
        return "" if self.study is None else study_csv(self.study)


def orders_of(study: Any) -> list[int]:
    """The orders that a study compares."""
    orders = {study.about(racer)["order"] for racer in {cell.racer for cell in study.cells}}
    return sorted(int(order) for order in orders if order is not None)


def notes_html(notes: Sequence[str]) -> str:
    """What the verdict stands on, in one quiet line."""
    if not notes:
        return ""
    told = " ".join(f"{safe(note[:1].upper() + note[1:], 400)}." for note in map(for_page, notes))
    return f"<div class='quiet' style='font-size:15px'>{told}</div>"


def sentence_html(study: Any, verdict: str, lines: pd.DataFrame) -> str:
    """The verdict, and how much of the study it rests on while that is not all."""
    total = len({cell.split for cell in study.cells})
    if study.phase == "waiting":
        of = f"{total} held-out parts of {study.dataset.n_rows:,} rows"
        return f"<span class='quiet'>Press Run: {len(orders_of(study))} orders, judged on the same {of}.</span>"
    there = int(lines.folds.iloc[0]) if len(lines) else 0
    said = safe(f"{verdict}.", 900).replace("n = ", "n&nbsp;=&nbsp;")
    if study.phase == "done":
        return said if said.startswith("n&nbsp;") else said[:1].upper() + said[1:]
    if there < 2:
        return f"<span class='quiet'>{there} of {total} folds: a sentence needs two.</span>"
    return f"<span class='quiet'>After {there} of {total} folds:</span> {said}"


_SE = "± <abbr title='standard error'>se</abbr>"
_COLUMNS = {
    "order": "n", "folds": "folds", "log_loss": "log loss", "se": _SE, "gain": "gain over the one below",
    "gain_se": _SE, "wins": "folds won", "error": "error rate", "parameters": "parameters",
    "train_seconds": "seconds a fit",
}  # fmt: skip


def numbers_html(lines: pd.DataFrame) -> str:
    """The table below: a line an order."""
    if not len(lines):
        return "<p class='quiet'>No fold is complete yet.</p>"
    shown = [name for name in _COLUMNS if name in lines]
    whole = ("order", "folds", "wins", "parameters")
    body = []
    for line in lines[shown].to_dict("records"):
        cells = [
            "&ndash;" if pd.isna(value) else f"{value:,.0f}" if name in whole else number(float(value))
            for name, value in line.items()
        ]
        body.append(cells)
    told = (
        "<p class='quiet'>Held-out log loss in nats per row; ± one standard error by Nadeau and Bengio, since folds "
        "share training rows. The CSV has every fit.</p>"
    )
    return html_table([_COLUMNS[name] for name in shown], body) + told
