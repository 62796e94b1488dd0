"""EvaluationView: how good a model is on rows whose class is known, with a decision rule that can be changed live.

It shows the result of `alrviz.evaluate`. All its numbers follow from that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from param.parameterized import Event

from alrviz import __version__
from alrviz.errors import AlrvizError, capitalize
from alrviz.fitting.recipe import Recipe
from alrviz.pictures import evaluation as pictures
from alrviz.pictures.evaluation import CURVES
from alrviz.pictures.level_axis import short
from alrviz.studies.core.export import caption, to_csv
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import BINNING, loss_text
from alrviz.views.core.collapsible import Collapsible, Numbers
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import HALF_GROWTHS, Updating, as_high, choice, html, say, side_by_side, stack
from alrviz.views.core.saving import Origin, csv_button
from alrviz.views.core.style import WORDS_IN_ONE_LINE, html_table, safe, verdict_html
from alrviz.views.core.transport import live_slider
from alrviz.views.race.texts import number
from alrviz.views.studies.study_view import notes_html

# Decision rules, by their label in the menu.
MOST_PROBABLE, THRESHOLD, SPECIFICITY, SENSITIVITY, MISS = "most", "threshold", "specificity", "sensitivity", "miss"
COSTS = "costs"  # a cost for each pair of true and predicted class
RULES = {
    "Most probable class": MOST_PROBABLE, "Threshold": THRESHOLD, "Specificity of": SPECIFICITY,
    "Sensitivity of": SENSITIVITY, "Cost of a miss": MISS, "Costs": COSTS,
}  # fmt: skip
MAX_CLASSES_WITH_COSTS = 8  # with more, the matrix of costs would be too large to fill in
INITIAL_VALUES = {COSTS: 0.5, MOST_PROBABLE: 0.5, THRESHOLD: 0.5, SPECIFICITY: 0.9, SENSITIVITY: 0.9, MISS: 0.5}
SHARES = {"rows": "", "share of class": "true", "share of predicted": "pred"}
PICTURES = {**{of.name: name for name, of in CURVES.items()}, "Reliability": "reliability", "Groups": "groups"}
MAX_MENU_CLASSES = 200
TABLE_ROWS = 30
WORST_ROWS = 12
MAX_ROWS_FOR_DRAGGING = 200_000  # with more, figures are updated when the slider is released
HEIGHT = "340px"
MATRIX_WIDTH_PX, CURVE_WIDTH_PX = 352, 420  # minimum widths, with the buttons above
SECOND_PICTURE = "picture beside it"  # label of the picture beside the confusion matrix, whichever is shown
TABLES = {
    "classes": ("classes", "figures of every class"), "curve": ("thresholds", "the class's figures at every threshold"),
    "groups": ("groups", "figures of every group"), "worst": ("worst rows", "the rows with the highest loss"),
}  # fmt: skip
_FIGURES = {  # of a class: name and meaning
    "sensitivity": ("sensitivity", "share of this class's rows predicted as this class (recall)"),
    "specificity": ("specificity", "share of other classes' rows not predicted as this class"),
    "ppv": ("PPV", "share of rows predicted as this class that belong to it (precision)"),
    "npv": ("NPV", "share of rows not predicted as this class that do not belong to it"),
    "accuracy": ("accuracy", "share of rows predicted correctly as this class or as another"),
    "positive": ("predicted", "share of rows predicted as this class"),
}


class EvaluationView(NotebookViewer):
    """Live view of an evaluation.

    Args:
        evaluation: result of `alrviz.evaluate`, or None; `watch` sets another.
        about: provenance for saved files: data, hash, seed.
        recipes: the model's recipe, for saved files.
        height: CSS height of the pictures.
        wake: see `StudyView`.

    >>> import alrviz
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X[::2], data.y[::2])
    >>> view = alrviz.EvaluationView(alrviz.evaluate(model, data.X[1::2], data.y[1::2]), rule="sensitivity")
    >>> view.rule_figures.sensitivity >= 0.9
    True
    """

    label = param.String(default="", doc='Class of interest; "" for `evaluation.class_of_interest`.')
    rule = param.Selector(default=MOST_PROBABLE, objects=list(RULES.values()), doc="Decision rule.")
    value = param.Number(
        default=0.5, bounds=(0, 1), doc="Value of the rule; for `miss` a miss costs 10^(4 value - 2) false alarms."
    )
    costs = param.List(
        default=[], doc="For the rule `costs`: for each true class the costs of predicting each class; [] for 1 each."
    )
    shares = param.Selector(default="", objects=list(SHARES.values()), doc="Numbers in the confusion matrix.")
    picture = param.Selector(default="roc", objects=list(PICTURES.values()), doc="Picture beside the matrix.")
    by = param.String(default="", doc='Column that defines groups; "" for the first.')

    def __init__(
        self,
        evaluation: Evaluation | None = None,
        *,
        about: Mapping[str, Any] | None = None,
        recipes: Sequence[Recipe] = (),
        height: str = HEIGHT,
        wake: Callable[[], None] | None = None,
        **params: Any,
    ):
        super().__init__(**{"value": INITIAL_VALUES[params.get("rule", MOST_PROBABLE)], **params})
        self.evaluation: Evaluation | None = None
        self.rule_figures = pd.Series(dtype=object)  # of the class of interest under the current rule
        self._decisions: Evaluation | None = None  # `evaluation` with the predictions of the current rule
        self._cost_classes: tuple[str, ...] = ()  # classes in the grid of costs
        self._provenance, self._recipes = dict(about or {}), tuple(recipes)
        self._setting = Updating()
        self._wake = wake or self._make_pump(lambda: False, 1000)
        self._build(height)
        self.param.watch(self._rule_changed, "rule")
        self.param.watch(lambda *_: self._update(), ["label", "value", "costs", "shares", "picture", "by", "dark"])
        self.watch(evaluation)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _build(self, height: str) -> None:
        small_params: dict[str, Any] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.sentence, self.figures_text = html(margin=(0, 0, 6, 0)), html(margin=(2, 0, 6, 0))
        self.classes = pmui.Select(label="Class of interest", options={}, width=190, **small_params)
        self.rules = pmui.Select(label="Predict by", options=RULES, value=self.rule, width=215, **small_params)
        self.slider = live_slider(
            pmui.FloatSlider, self._slider_moved, label="Threshold", start=0.0, end=1.0, step=0.005, value=self.value,
            margin=(0, 12),
        )  # fmt: skip
        self.column = pmui.Select(label="Groups by", options={}, width=190, visible=False, **small_params)
        self.classes.link(self, value="label")
        self.rules.link(self, value="rule", bidirectional=True)
        self.column.param.watch(self._column_chosen, "value")
        self.slider.param.watch(self._slider_moved, "value_throttled")
        self.grid = stack(visible=False, margin=(4, 0, 8, 0))
        slider_box = pn.Column(self.slider, styles={"flex": "1 1 220px"}, margin=0)
        controls = pn.FlexBox(
            self.classes, self.rules, slider_box, align_items="center", gap="10px 0", margin=(4, 0, 4, 0)
        )
        self.matrix, self.curve = LiveFigure("alrviz-confusion"), LiveFigure("alrviz-evaluation")
        tab_params: dict[str, Any] = {"sx": WORDS_IN_ONE_LINE, "margin": 0}
        share_choice = choice(self, "shares", SHARES, "What is written in the matrix", **tab_params)
        picture_choice = choice(self, "picture", PICTURES, "The picture beside the matrix", **tab_params)
        picture_columns = [
            stack(
                pn.FlexBox(*controls_above, align_items="center", gap="8px", margin=(0, 0, 4, 0)),
                as_high(figure.pane, height, 340),
            )
            for controls_above, figure in (((share_choice,), self.matrix), ((picture_choice, self.column), self.curve))
        ]
        both_pictures = side_by_side(
            *picture_columns, MATRIX_WIDTH_PX, CURVE_WIDTH_PX, grow=HALF_GROWTHS, css_classes=["alrviz-pictures"]
        )
        self.worst = html()
        self._failures = Collapsible("Where it fails: the worst rows", self.worst)
        self._failures.param.watch(lambda _: self._show_worst(), "open")
        save_buttons = [
            *(csv_button(f"alrviz-{table_name}.csv", partial(self.csv, table_name), figures_text, f"CSV of {label}")
              for table_name, (label, figures_text) in TABLES.items()),
            *picture_buttons({"confusion matrix": self.matrix, SECOND_PICTURE: self.curve}, self.origin),
        ]  # fmt: skip
        self._numbers = Numbers(save_buttons, self._numbers_html)
        self.body = stack(
            controls, self.grid, self.figures_text, both_pictures, self._failures, self._numbers, visible=False
        )
        self.layout = ViewLayout(self.sentence, self.body)

    # -- updates -------------------------------------------------------------------------------------------------------

    def watch(
        self, evaluation: Evaluation | None, about: Mapping[str, Any] | None = None, recipes: Sequence[Recipe] = ()
    ) -> None:
        """Show an evaluation; None: say that there is none. Class and group column stay chosen if it has them.

        about: where the predictions come from, by name, and recipes: of the model, both for saved files (default: those
        shown before).
        """
        self.evaluation = evaluation
        self._provenance, self._recipes = dict(about or self._provenance), tuple(recipes or self._recipes)
        self.body.visible = evaluation is not None
        if evaluation is None:
            say(self.sentence, "<div class='sentence quiet'>Nothing has been evaluated yet.</div>")
            return
        names = [evaluation.classes[k] for k in np.argsort(-evaluation.shares, kind="stable")[:MAX_MENU_CLASSES]]
        columns = [str(name) for name in evaluation.X.columns]
        label = self.label if self.label in names else evaluation.class_of_interest
        by = self.by if self.by in columns else next(iter(columns), "")
        has_costs = len(evaluation.classes) <= MAX_CLASSES_WITH_COSTS
        with self._setting:
            if len(self.costs) != len(evaluation.classes) or self._cost_classes not in ((), evaluation.classes):
                self.costs = []
            if self.rule == COSTS and not has_costs:
                self.rule = MOST_PROBABLE
            self.rules.options = RULES if has_costs else {name: rule for name, rule in RULES.items() if rule != COSTS}
            self._ask_costs(evaluation.classes if has_costs else ())
            self.classes.param.update(options=names, value=label)
            self.column.param.update(options=columns, value=by or None)
            self.param.update(label=label, by=by)
        say(self.sentence, verdict_html(evaluation.verdict()) + notes_html(evaluation.notes))
        self._update()
        self._show_worst()

    def _ask_costs(self, classes: Sequence[str]) -> None:
        """Build the grid of costs when it is first needed: a row for each true class of `classes`, a column per
        prediction.
        """
        if self.rule != COSTS or self._cost_classes == tuple(classes):
            return
        self._cost_classes, n_classes = tuple(classes), len(classes)
        initial_costs = self.costs or [[float(i != k) for k in range(n_classes)] for i in range(n_classes)]

        def set_cost(cell: tuple[int, int], event: Event) -> None:
            if event.new is not None and not self._setting:
                costs = [list(cost_row) for cost_row in self.costs or initial_costs]
                costs[cell[0]][cell[1]] = float(event.new)
                self.costs = costs

        input_rows = []
        for i, truth in enumerate(classes):
            row_inputs = []
            for k, other_class in enumerate(classes):
                label = f"{short(truth, 10)} as {short(other_class, 10)}" if i != k else f"{short(truth, 10)}, rightly"
                field_params: dict[str, Any] = {"size": "small", "width": 130, "margin": (8, 8, 4, 0)}
                cost_input = pmui.FloatInput(label=label, value=initial_costs[i][k], step=1.0, **field_params)
                cost_input.param.watch(partial(set_cost, (i, k)), "value")
                row_inputs.append(cost_input)
            input_rows.append(pn.FlexBox(*row_inputs, margin=0))
        self.grid[:] = input_rows

    def tell(self, text: str) -> None:
        """Show only a text, as HTML: a progress or error message."""
        self.evaluation = self._decisions = None
        self.body.visible = False
        say(self.sentence, text)

    def _rule_changed(self, event: Event) -> None:
        """Called when `rule` changes: set `value` to the initial value of this rule."""
        with self._setting:
            self.value = INITIAL_VALUES[event.new]
            if self.evaluation is not None:
                self._ask_costs(self.evaluation.classes)
        self._update()

    def _slider_moved(self, *events: Event) -> None:  # keys send value and value_throttled together
        dragging_is_slow = self.evaluation is not None and len(self.evaluation.y) > MAX_ROWS_FOR_DRAGGING
        for event in events:
            if not self._setting and event.new is not None and (event.name == "value_throttled") == dragging_is_slow:
                self.value = float(event.new)

    def _column_chosen(self, event: Event) -> None:
        if not self._setting and event.new:
            self.by = event.new

    def _update(self) -> None:
        """Apply the rule and show the results."""
        evaluation = self.evaluation
        if evaluation is None or self._setting:
            return
        with pn.io.hold():
            self._decide(evaluation)
            decisions, threshold = self._decisions or evaluation, self.rule_figures.threshold
            with self._setting:
                has_slider = self.rule not in (MOST_PROBABLE, COSTS)
                self.slider.param.update(value=self.value, label=self.rule_words(), visible=has_slider)
                self.grid.visible = self.rule == COSTS
                self.column.visible = self.picture == "groups"
            say(self.figures_text, self._figures_html())
            self.matrix.show(pictures.confusion(decisions, self.shares or None, dark=self.dark), evaluation)
            if self.picture in CURVES:
                picture = pictures.curves(
                    self.picture, evaluation, self.label, None if np.isnan(threshold) else threshold, dark=self.dark
                )
            elif self.picture == "reliability":
                picture = pictures.calibration(evaluation, self.label)
            else:
                picture = pictures.groups(self._groups(), decisions.error, dark=self.dark)
            self.curve.show(picture, (id(evaluation), self.picture, self.label, self.by))
            self._numbers.refresh()

    def _decide(self, evaluation: Evaluation) -> None:
        """Apply the rule: set the predictions and the figures of the class of interest."""
        if self.rule == MOST_PROBABLE:
            self._decisions, self.rule_figures = evaluation, evaluation.as_predicted(self.label)
            return
        if self.rule == COSTS:
            self._decisions = evaluation.decided(costs=self._costs(evaluation))
            self.rule_figures = self._decisions.as_predicted(self.label)
            return
        value = 10 ** (4 * self.value - 2) if self.rule == MISS else self.value
        try:
            self.rule_figures = evaluation.at(label=self.label, **{self.rule: value})
        except AlrvizError:  # no row of the class to reach this value with
            self._decisions, self.rule_figures = evaluation, evaluation.as_predicted(self.label)
        else:
            self._decisions = evaluation.decided(self.rule_figures.threshold, self.label)

    def _costs(self, evaluation: Evaluation) -> Any:
        return np.array(self.costs) if self.costs else 1.0 - np.eye(len(evaluation.classes))

    def rule_words(self) -> str:
        """Return the label of the slider."""
        if self.rule == MISS:
            miss = 10 ** (4 * self.value - 2)
            times_text = f"{miss:.3g}" if miss >= 1 else f"1/{1 / miss:.3g}"
            return f"A missed row costs as much as {times_text} false alarm{'' if times_text == '1' else 's'}"
        prefix = "" if self.rule == THRESHOLD else "at least "
        return f"{_name_of(self.rule)} {prefix}{self.value:.3f}"

    def _groups(self) -> pd.DataFrame:
        evaluation = self._decisions or self.evaluation
        assert evaluation is not None
        return evaluation.groups(self.by if self.by else np.full(len(evaluation.y), "all rows"), self.label)

    def _figures_html(self) -> str:
        figures = self.rule_figures
        cells = " ".join(
            f"<span style='margin-right:22px;white-space:nowrap'><abbr title='{meaning}'>{name}</abbr> "
            f"<b>{_share_text(figures[figure])}</b></span>"
            for figure, (name, meaning) in _FIGURES.items()
        )
        threshold_text = "" if np.isnan(figures.threshold) else f" at threshold {figures.threshold:.3g}"
        costs_text = ""
        if self.rule == COSTS and self.evaluation is not None and self._decisions is not None:
            costs = self._costs(self.evaluation)
            costs_text = f". A row costs {self._decisions.cost(costs):.4g} on average; predicted as most probable, "
            costs_text += f"{self.evaluation.cost(costs):.4g}"
        counts_text = f"{figures.tp:,.0f} of {figures.tp + figures.fn:,.0f} found, {figures.fp:,.0f} false alarms"
        return (
            f"<div>{cells}</div><div class='quiet'>{safe(figures['class'], 60)}{threshold_text}: "
            f"{counts_text}{costs_text}</div>"
        )

    def _show_worst(self) -> None:
        if self._failures.open and self.evaluation is not None:
            say(self.worst, worst_html(self.evaluation))

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _numbers_html(self) -> str:
        evaluation = self._decisions or self.evaluation
        if evaluation is None:
            return ""
        groups_part = ""
        if self.by:
            groups = self._groups()
            groups_part = f"<h2>Groups</h2>{groups_html(groups, self.label)}{group_losses_html(groups, self.label)}"
        return f"{summary_html(evaluation)}<h2>Classes</h2>{classes_html(evaluation)}{groups_part}"

    def csv(self, name: str) -> str:
        """Return the table called `name` as a CSV: "classes", "curve", "groups" or "worst"."""
        evaluation = self._decisions or self.evaluation
        if evaluation is None:
            return ""
        tables: dict[str, Callable[[], pd.DataFrame]] = {
            "classes": evaluation.by_class, "curve": lambda: evaluation.curve(self.label), "groups": self._groups,
            "worst": lambda: evaluation.worst(1000).rename_axis("row").reset_index(),
        }  # fmt: skip
        provenance = {
            "alrviz": __version__,
            **self._provenance,
            "rows evaluated": evaluation.rows_text,
            "class": self.label,
        }
        return to_csv(tables[name](), provenance, self._recipes)

    def origin(self, subject: str) -> Origin:
        """Return title and provenance of a saved picture of `subject`."""
        rows_text = "" if self.evaluation is None else f" on {len(self.evaluation.y):,} {self.evaluation.rows_text}"
        provenance = {"alrviz": __version__, **self._provenance, "class": self.label}
        subject = _name_of(self.picture) if subject == SECOND_PICTURE else subject
        return Origin(f"{capitalize(subject)}{rows_text}", caption(provenance, self._recipes))


def _name_of(value: str) -> str:
    text_by_key = {key: text for text, key in {**PICTURES, **RULES}.items()}
    return text_by_key[value].removesuffix(" of")


def _share_text(value: float) -> str:
    return "&ndash;" if np.isnan(value) else percent(value)


def false_alarms(specificity: Any) -> Any:
    """Return 1 - specificity, with rounding errors around 0 removed."""
    return np.round(1 - specificity, 12) + 0.0


def points(share: float) -> str:
    """Return a share in percentage points, without unit."""
    return percent(share).removesuffix(" %")


def summary_html(evaluation: Evaluation, other_evaluation: Evaluation | None = None, name: str = "") -> str:
    """Return the table of overall figures, with those of a baseline and optionally of another model.

    The baseline uses no column: it gives every row the class shares and always predicts the most frequent class.

    Args:
        evaluation: of the model.
        other_evaluation: of another model on the same rows.
        name: of that model.
    """
    summary, shares = evaluation.summary(), evaluation.shares
    occurring = shares[shares > 0]
    baseline_precision = (
        shares[evaluation.classes.index(evaluation.class_of_interest)]
        if len(evaluation.classes) == 2
        else occurring.mean()
    )
    subject_text = (
        f"of {safe(evaluation.class_of_interest, 30)}" if len(evaluation.classes) == 2 else "mean over classes"
    )
    error_interval = f" ({percent(summary.error_low)} to {percent(summary.error_high)})"
    auc_text = "" if np.isnan(summary.auc_low) else f" ({number(summary.auc_low, 3)} to {number(summary.auc_high, 3)})"
    baseline_cells = [
        percent(summary.shares_error), number(summary.shares_log_loss), percent(1 - 1 / len(occurring)),
        number(1 - (shares**2).sum()), points(0.0), "0.5", number(baseline_precision, 3),
    ]  # fmt: skip
    intervals = {"error": error_interval, "auc": auc_text, "log_loss": f" &plusmn; {number(summary.log_loss_error)}"}
    format_ranking = partial(number, digits=3)
    measures: dict[str, tuple[str, Callable[[float], str]]] = {
        "error": ("error (95 % interval)", percent), "log_loss": ("log loss (nats)", number),
        "balanced_error": ("error, mean over classes", percent), "brier": ("Brier score, summed over classes", number),
        "ece": (f"calibration error (ECE, {BINNING}), percentage points", points),
        "auc": (f"AUC, {subject_text}", format_ranking),
        "average_precision": (f"average precision, {subject_text}", format_ranking),
    }  # fmt: skip
    other_summary = None if other_evaluation is None else other_evaluation.summary()
    table_rows = [
        [
            title,
            format_value(summary[key]) + intervals.get(key, ""),
            *([] if other_summary is None else [format_value(other_summary[key])]),
            baseline_text,
        ]
        for (key, (title, format_value)), baseline_text in zip(measures.items(), baseline_cells, strict=True)
    ]
    column_titles = ["", "this model", *([] if other_summary is None else [safe(name, 60)]), "class shares alone"]
    return html_table(column_titles, table_rows)


def classes_html(evaluation: Evaluation) -> str:
    """Return the table of classes, the most frequent first."""
    table_rows = []
    for class_row in evaluation.by_class(TABLE_ROWS).to_dict("records"):
        share_cells = [_share_text(class_row[name]) for name in ("share", "predicted", "sensitivity", "ppv")]
        ranking_cells = [number(class_row[name], 3) for name in ("auc", "average_precision")]
        table_rows.append([safe(class_row["class"], 60), f"{class_row['rows']:,.6g}", *share_cells, *ranking_cells])
    column_titles = ["class", "rows", "share", "predicted", "sensitivity", "PPV", "AUC", "average precision"]
    n_hidden = len(evaluation.classes) - TABLE_ROWS
    note = f"<p class='quiet'>{n_hidden:,} rarer classes: the CSV has them.</p>" if n_hidden > 0 else ""
    return html_table(column_titles, table_rows) + note


def groups_html(table: pd.DataFrame, label: str) -> str:
    """Return the table of groups with sensitivity (class `label`), false alarms and errors, of `Evaluation.groups`."""
    table_rows, name = [], safe(label, 24)
    for row in table.to_dict("records"):
        error_text = f"{percent(row['error'])} ({percent(row['low'])} to {percent(row['high'])})"
        rates = _share_text(row["sensitivity"]), _share_text(false_alarms(row["specificity"]))
        leading_cells = [safe(row["group"], 60), f"{row['rows']:,}", *rates, error_text, percent(row["shares_error"])]
        table_rows.append([*leading_cells, _share_text(row["share"]), _share_text(row["predicted"])])
    column_titles = [
        "group", "rows", "sensitivity", "false alarms", "error (95 % interval)", "baseline error", f"are {name}",
        f"predicted {name}",
    ]  # fmt: skip
    return html_table(column_titles, table_rows)


def group_losses_html(table: pd.DataFrame, label: str) -> str:
    """Return the table of groups with probabilities of the class `label` and log losses, from `Evaluation.groups`."""
    table_rows = [
        [
            safe(group_row["group"], 60), _share_text(group_row["share"]), _share_text(group_row["p"]),
            f"{loss_text(group_row['log_loss'])} &plusmn; {loss_text(group_row['standard_error'])}",
            loss_text(group_row["shares_log_loss"]),
        ]
        for group_row in table.to_dict("records")
    ]  # fmt: skip
    name = safe(label, 24)
    column_titles = ["group", f"are {name}", f"mean probability of {name}", "log loss", "baseline log loss"]
    return html_table(column_titles, table_rows)


def value_text(value: Any) -> str:
    """Return a value as text: whole numbers without a decimal point, "missing" for NaN.

    >>> value_text(22.0), value_text(float("nan")), value_text("a")
    ('22', 'missing', 'a')
    """
    if pd.isna(value):
        return "missing"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def worst_html(evaluation: Evaluation, n_rows: int = WORST_ROWS) -> str:
    """Return the table of the rows whose class was given the lowest probability."""
    worst_rows = evaluation.worst(n_rows)
    columns = list(worst_rows.columns[5:])[:30]
    column_is_text = [not pd.api.types.is_numeric_dtype(worst_rows[column]) for column in columns]
    table_rows = [
        [safe(name, 20), *(_left_aligned_cell("td", row[field]) for field in ("class", "predicted")), percent(row["p"]),
         percent(row["p_predicted"]),
         *(_left_aligned_cell("td", value_text(row[column])) if is_text else safe(value_text(row[column]), 30)
           for column, is_text in zip(columns, column_is_text, strict=True))]
        for name, row in zip(worst_rows.index, worst_rows.to_dict("records"), strict=True)
    ]  # fmt: skip
    column_heads = (
        _left_aligned_cell("th", name) if is_text else safe(name, 30)
        for name, is_text in zip(columns, column_is_text, strict=True)
    )
    column_titles = [
        "row",
        _left_aligned_cell("th", "class"),
        _left_aligned_cell("th", "predicted"),
        "p of its class",
        "p of the predicted",
        *column_heads,
    ]
    return html_table(column_titles, table_rows)


def _left_aligned_cell(tag: str, words: Any) -> str:
    """Return a left-aligned cell (tag: "td" or "th") with these words."""
    return f"<{tag} style='text-align:left'>{safe(words, 40)}</{tag}>"
