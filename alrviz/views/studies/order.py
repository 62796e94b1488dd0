"""OrderStudyView: test log loss and cost by order n, a reliability curve, and a verdict.

It shows a study of `alrviz.choose_order` while it computes.
"""

from typing import Any

import pandas as pd
import panel as pn

from alrviz.errors import join_words
from alrviz.pictures import orders as pictures
from alrviz.pictures.evaluation import reliability
from alrviz.pictures.palette import family_shades
from alrviz.studies.core.names import tuples_text
from alrviz.studies.protocols.choose_order import OrderStudy, OrderVerdict, automatic_summary
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.live_figure import LiveFigure, NumberAxes
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import as_high, side_by_side, stack
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import html_table
from alrviz.views.race.texts import number
from alrviz.views.studies.study_view import StudyView, folds_verdict, notes_html

HEIGHTS = ("256px", "168px", "286px")  # of losses, costs and the reliability curve
MAIN_WIDTH_PX, SIDE_WIDTH_PX = 400, 344  # minimum widths of losses and costs, and of the reliability curve


class OrderStudyView(StudyView):
    """Live view of a comparison of orders.

    Args:
        study: result of `alrviz.choose_order`, run or not.
        rerun, wake: see `StudyView`.
        heights: CSS heights of the pictures of losses, costs and reliability.

    >>> import alrviz
    >>> data, recipe = alrviz.load_demo("monks-1"), alrviz.Recipe("lr", alpha=0.1)
    >>> study = alrviz.choose_order(data, recipe, orders=(0, 1, 2), repeats=1, n_jobs=1)
    >>> view = alrviz.OrderStudyView(study.run())
    >>> "Pairs (n&nbsp;=&nbsp;2) are best" in view.sentence.object
    True
    """

    SENTENCE = (52, 8)

    def __init__(self, study: OrderStudy | None = None, *, heights: tuple[str, str, str] = HEIGHTS, **params: Any):
        self.verdict: OrderVerdict | None = None
        super().__init__(study, height=heights, **params)

    def _build(self) -> None:
        parts = {"losses": "", "parameters": "-parameters", "train_seconds": "-seconds", "reliability": "-reliability"}
        self.pictures = {picture_name: LiveFigure(f"alrviz-orders{suffix}") for picture_name, suffix in parts.items()}
        losses_pane, *cost_panes, reliability_pane = (picture.pane for picture in self.pictures.values())
        losses_height, costs_height, reliability_height = self._height
        self.aside = stack()
        costs_box = as_high(pn.Row(*cost_panes, sizing_mode="stretch_both", margin=0), costs_height, 168)
        main_column = stack(as_high(losses_pane, losses_height, 256), costs_box)
        side = pn.Column(as_high(reliability_pane, reliability_height, 286), self.aside, width=SIDE_WIDTH_PX, margin=0)
        self.body = side_by_side(main_column, side, MAIN_WIDTH_PX, SIDE_WIDTH_PX, margin=(0, 0, 6, 0))
        contents_text = "all fits, with recipes, seed, data hash and version"
        pictures = {picture_name.replace("train_", ""): picture for picture_name, picture in self.pictures.items()}
        csv_buttons = [csv_button("alrviz-orders.csv", self.csv_of_fits, contents_text)]
        self._numbers = self._fold_numbers(csv_buttons, pictures, lambda _: numbers_html(self.lines))
        self.layout = ViewLayout(self.sentence, self.body, self.bar.panel, self._numbers)

    @property
    def axes(self) -> NumberAxes:
        """Columns on the axes of the picture of losses."""
        return NumberAxes(self.pictures["losses"], "order", ("log_loss",))

    def show_no_study(self) -> None:
        """Say that there is no study; the body stays visible for a page's costs in `aside`."""
        self.verdict = None
        self.tell_none()

    def _draw(self, study: OrderStudy) -> None:
        self.verdict = verdict = study.verdict()
        boosting_folds = study.boosting_folds()
        boosting = ("boosting", float(boosting_folds.log_loss.mean())) if len(boosting_folds) else None
        orders, label = orders_of(study), study.recipes[0].label if study.recipes else "lr"
        drawn_pictures = pictures.orders(
            study.frame(), self.lines, orders, label, verdict.order, dict.fromkeys(study.failed_orders(), "failed"),
            boosting, automatic_summary(study) if study.includes_automatic else None, dark=self.dark,
        )  # fmt: skip
        positive_orders = [order for order in orders if order]
        shades = family_shades(label, len(positive_orders), self.dark)
        # n = 0 has no reliability curve: it gives every row the same probability.
        colours = {f"n = {order}": shade for order, shade in zip(positive_orders, shades, strict=True)}
        reliability_bins = study.reliability()
        bins_by_order = {f"n = {order}": reliability_bins[reliability_bins.order == order] for order in orders}
        drawn_pictures["reliability"] = reliability(
            bins_by_order, colours, "" if verdict.order is None else f"n = {verdict.order}"
        )
        for picture_name, picture in drawn_pictures.items():
            self.pictures[picture_name].show(picture, subject=study)
        self.tell_verdict(page_verdict(study, verdict, self.lines), notes_html(verdict.notes))


def orders_of(study: OrderStudy) -> list[int]:
    """Return the orders that a study compares."""
    orders = {study.about(racer)["order"] for racer in {task.racer for task in study.tasks}}
    return sorted(int(order) for order in orders if order is not None)


def page_verdict(study: OrderStudy, verdict: OrderVerdict, lines: pd.DataFrame) -> Verdict:
    """Return the verdict, or before the run what Run will compute; lines: the study's summary."""
    if study.phase != "waiting":
        return folds_verdict(study, verdict, lines)
    names = [tuples_text(order) for order in orders_of(study) if order]
    models_text = join_words([*names, *(["Auto (chosen for you)"] if study.includes_automatic else [])])
    n_folds = len({task.split for task in study.tasks})
    shares_text = " Class shares (n = 0), which use no column, are compared too." if 0 in orders_of(study) else ""
    return Verdict(
        f"Press Run: {models_text} on the same {n_folds} folds.",
        f"Folds of {study.dataset.n_rows:,} rows; the lowest test log loss is best.{shares_text}",
    )


_SE = "± <abbr title='standard error'>se</abbr>"
_COLUMNS = {
    "order": "n", "folds": "folds", "log_loss": "log loss", "se": _SE, "gain": "gain over the one below",
    "gain_se": _SE, "wins": "folds won", "error": "error rate", "parameters": "parameters",
    "train_seconds": "seconds per fit (measured)",
}  # fmt: skip


def numbers_html(lines: pd.DataFrame) -> str:
    """Return the table of orders; lines: the study's summary."""
    if not len(lines):
        return "<p class='quiet'>No fold is complete yet.</p>"
    columns = [name for name in _COLUMNS if name in lines]
    count_columns = ("order", "folds", "wins", "parameters")
    body_rows = []
    for order_row in lines[columns].to_dict("records"):
        cells = [
            "&ndash;" if pd.isna(value) else f"{value:,.0f}" if name in count_columns else number(float(value))
            for name, value in order_row.items()
        ]
        body_rows.append(cells)
    note = (
        "<p class='quiet'>Test log loss in nats per row; ± one standard error by Nadeau and Bengio, since folds "
        "share training rows. The CSV has every fit.</p>"
    )
    return html_table([_COLUMNS[name] for name in columns], body_rows) + note
