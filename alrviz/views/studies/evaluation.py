"""EvaluationView: how good is a model on rows whose class is known? A threshold is dragged, and all figures follow.

It shows what `alrviz.evaluate` returns, and computes nothing that does not follow from that.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from alrviz import __version__
from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe
from alrviz.pictures import evaluation as drawn
from alrviz.pictures.evaluation import CURVES
from alrviz.pictures.level_axis import short
from alrviz.studies.core.export import caption, to_csv
from alrviz.studies.statistics.evaluation import Evaluation, percent
from alrviz.studies.statistics.measures import BINNING, loss_text
from alrviz.views.core.collapsible import Collapsible, Numbers
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import HALVES, Updating, as_high, choice, html, say, side_by_side, stack
from alrviz.views.core.saving import Origin, csv_button
from alrviz.views.core.style import WORDS_IN_ONE_LINE, html_table, safe
from alrviz.views.core.transport import live_slider
from alrviz.views.race.words import number

# How rows are predicted: what the slider says.
MOST, THRESHOLD, SPECIFICITY, SENSITIVITY, MISS = "most", "threshold", "specificity", "sensitivity", "miss"
COSTS = "costs"  # of each class said to be each other one
RULES = {
    "Most probable class": MOST, "Threshold": THRESHOLD, "Specificity of": SPECIFICITY, "Sensitivity of": SENSITIVITY,
    "Cost of a miss": MISS, "Costs": COSTS,
}  # fmt: skip
COSTED = 8  # classes whose costs are asked for: a number for each two
FIRST = {COSTS: 0.5, MOST: 0.5, THRESHOLD: 0.5, SPECIFICITY: 0.9, SENSITIVITY: 0.9, MISS: 0.5}
SHARES = {"rows": "", "share of class": "true", "share of predicted": "pred"}
PICTURES = {**{of.name: name for name, of in CURVES.items()}, "Reliability": "reliability", "Groups": "groups"}
OFFERED = 200  # classes in the menu
SHOWN = 30  # lines of a table
WORST = 12
FOLLOWS = 200_000  # rows; of more the figures follow when the slider is let go
HEIGHT = "340px"
MATRIX, CURVE = 352, 420  # px that they need, with the buttons above them
BESIDE = "picture beside it"  # the one beside the confusion matrix, whichever is shown
TABLES = {
    "classes": ("classes", "figures of every class"), "curve": ("thresholds", "the class's figures at every threshold"),
    "groups": ("groups", "the groups beside each other"), "worst": ("worst rows", "the rows of the highest loss"),
}  # fmt: skip
_FIGURES = {  # of a class: name and meaning
    "sensitivity": ("sensitivity", "rows of this class that are found (recall)"),
    "specificity": ("specificity", "rows of other classes left alone"),
    "ppv": ("PPV", "of the rows said to be of it, those that are (precision)"),
    "npv": ("NPV", "of the rows said not to be of it, those that are not"),
    "accuracy": ("accuracy", "rows told rightly: of it, or not"),
    "positive": ("predicted", "share of rows said to be of it"),
}


class EvaluationView(NotebookViewer):
    """The view of an evaluation.

    Args:
        evaluation: what `alrviz.evaluate` returned; None for a view that is given one later (`watch`).
        about: where its numbers come from, for files: data, hash, seed. recipes: of the model.
        height: of the pictures, as CSS has it. wake: of a page with a pump of its own.

    >>> import alrviz
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X[::2], data.y[::2])
    >>> view = alrviz.EvaluationView(alrviz.evaluate(model, data.X[1::2], data.y[1::2]), rule="sensitivity")
    >>> view.figures_at.sensitivity >= 0.9
    True
    """

    label = param.String(default="", doc='The class of interest; "" for the one the evaluation takes.')
    rule = param.Selector(default=MOST, objects=list(RULES.values()), doc="How rows are predicted.")
    value = param.Number(default=0.5, bounds=(0, 1), doc="Of the rule; of costs 10^(4 value - 2) false alarms a miss.")
    costs = param.List(
        default=[], doc="Of the rule costs: for each class a list, what it costs to predict each; [] for 1 each."
    )
    shares = param.Selector(default="", objects=list(SHARES.values()), doc="What is written in the confusion matrix.")
    picture = param.Selector(default="roc", objects=list(PICTURES.values()), doc="The picture beside the matrix.")
    by = param.String(default="", doc='The column that makes groups; "" for the first.')

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
        super().__init__(**{"value": FIRST[params.get("rule", MOST)], **params})
        self.evaluation: Evaluation | None = None
        self.figures_at = pd.Series(dtype=object)  # of the class of interest, as it is predicted
        self._decided: Evaluation | None = None
        self._asked: tuple[str, ...] = ()  # classes whose costs there are numbers for
        self._about, self._recipes = dict(about or {}), tuple(recipes)
        self._setting = Updating()
        self._wake = wake or self._pumped(lambda: False, 1000)
        self._build(height)
        self.param.watch(self._ruled, "rule")
        self.param.watch(lambda *_: self._follow(), ["label", "value", "costs", "shares", "picture", "by", "dark"])
        self.watch(evaluation)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _build(self, height: str) -> None:
        small: dict[str, Any] = {"size": "small", "margin": (0, 12, 0, 0)}
        self.sentence, self.told = html(margin=(0, 0, 6, 0)), html(margin=(2, 0, 6, 0))
        self.classes = pmui.Select(label="Class of interest", options={}, width=190, **small)
        self.rules = pmui.Select(label="Predict by", options=RULES, value=self.rule, width=215, **small)
        self.slider = live_slider(
            pmui.FloatSlider, self._slid, label="Threshold", start=0.0, end=1.0, step=0.005, value=self.value,
            margin=(0, 12),
        )  # fmt: skip
        self.column = pmui.Select(label="Groups by", options={}, width=190, visible=False, **small)
        self.classes.link(self, value="label")
        self.rules.link(self, value="rule", bidirectional=True)
        self.column.param.watch(lambda event: self._chosen(event.new), "value")
        self.slider.param.watch(self._slid, "value_throttled")
        self.grid = stack(visible=False, margin=(4, 0, 8, 0))
        room = pn.Column(self.slider, styles={"flex": "1 1 220px"}, margin=0)
        controls = pn.FlexBox(self.classes, self.rules, room, align_items="center", gap="10px 0", margin=(4, 0, 4, 0))
        self.matrix, self.curve = LiveFigure("alrviz-confusion"), LiveFigure("alrviz-evaluation")
        look: dict[str, Any] = {"sx": WORDS_IN_ONE_LINE, "margin": 0}
        written = choice(self, "shares", SHARES, "What is written in the matrix", **look)
        shown = choice(self, "picture", PICTURES, "The picture beside the matrix", **look)
        sides = [
            stack(
                pn.FlexBox(*above, align_items="center", gap="8px", margin=(0, 0, 4, 0)),
                as_high(one.pane, height, 340),
            )
            for above, one in (((written,), self.matrix), ((shown, self.column), self.curve))
        ]
        pictures = side_by_side(*sides, MATRIX, CURVE, grow=HALVES, css_classes=["alrviz-pictures"])
        self.worst = html()
        self._failures = Collapsible("Where it fails: the worst rows", self.worst)
        self._failures.param.watch(lambda _: self._show_worst(), "open")
        saves = [
            *(csv_button(f"alrviz-{what}.csv", partial(self.csv, what), told, f"CSV of {label}")
              for what, (label, told) in TABLES.items()),
            *picture_buttons({"confusion matrix": self.matrix, BESIDE: self.curve}, self.origin),
        ]  # fmt: skip
        self._numbers = Numbers(saves, self._numbers_html)
        self.body = stack(controls, self.grid, self.told, pictures, self._failures, self._numbers, visible=False)
        self.layout = ViewLayout(self.sentence, self.body)

    # -- what is shown -------------------------------------------------------------------------------------------------

    def watch(
        self, evaluation: Evaluation | None, about: Mapping[str, Any] | None = None, recipes: Sequence[Recipe] = ()
    ) -> None:
        """Show this evaluation, or none; a class and a column that it has too stay chosen."""
        self.evaluation = evaluation
        self._about, self._recipes = dict(about or self._about), tuple(recipes or self._recipes)
        self.body.visible = evaluation is not None
        if evaluation is None:
            say(self.sentence, "<div class='sentence quiet'>Nothing has been evaluated yet.</div>")
            return
        names = [evaluation.classes[k] for k in np.argsort(-evaluation.shares, kind="stable")[:OFFERED]]
        columns = [str(name) for name in evaluation.X.columns]
        label = self.label if self.label in names else evaluation.interest
        by = self.by if self.by in columns else next(iter(columns), "")
        few = len(evaluation.classes) <= COSTED
        with self._setting:
            if len(self.costs) != len(evaluation.classes) or self._asked not in ((), evaluation.classes):
                self.costs = []
            if self.rule == COSTS and not few:
                self.rule = MOST
            self.rules.options = RULES if few else {name: rule for name, rule in RULES.items() if rule != COSTS}
            self._ask_costs(evaluation.classes if few else ())
            self.classes.param.update(options=names, value=label)
            self.column.param.update(options=columns, value=by or None)
            self.param.update(label=label, by=by)
        notes = "".join(
            f"<div class='quiet'>{safe(note[:1].upper() + note[1:], 400)}.</div>" for note in evaluation.notes
        )
        say(self.sentence, f"<div class='sentence'>{safe(evaluation.sentence, 600)}.</div>{notes}")
        self._follow()
        self._show_worst()

    def _ask_costs(self, classes: Sequence[str]) -> None:
        """A line of numbers for each class, what it costs to predict each; asked for once they are wanted."""
        if self.rule != COSTS or self._asked == tuple(classes):
            return
        self._asked, n = tuple(classes), len(classes)
        given = self.costs or [[float(i != k) for k in range(n)] for i in range(n)]

        def changed(at: tuple[int, int], event: Any) -> None:
            if event.new is not None and not self._setting:
                costs = [list(line) for line in self.costs or given]
                costs[at[0]][at[1]] = float(event.new)
                self.costs = costs

        lines = []
        for i, truth in enumerate(classes):
            parts = []
            for k, other in enumerate(classes):
                label = f"{short(truth, 10)} as {short(other, 10)}" if i != k else f"{short(truth, 10)}, rightly"
                look: dict[str, Any] = {"size": "small", "width": 130, "margin": (8, 8, 4, 0)}
                number = pmui.FloatInput(label=label, value=given[i][k], step=1.0, **look)
                number.param.watch(partial(changed, (i, k)), "value")
                parts.append(number)
            lines.append(pn.FlexBox(*parts, margin=0))
        self.grid[:] = lines

    def tell(self, text: str) -> None:
        """Show nothing but words, as HTML: what is awaited, or went wrong."""
        self.evaluation = self._decided = None
        self.body.visible = False
        say(self.sentence, text)

    def _ruled(self, event: Any) -> None:
        """Another rule: begin at its own value."""
        with self._setting:
            self.value = FIRST[event.new]
            if self.evaluation is not None:
                self._ask_costs(self.evaluation.classes)
        self._follow()

    def _slid(self, *events: Any) -> None:  # a key moves it and lets it go at once
        many = self.evaluation is not None and len(self.evaluation.y) > FOLLOWS
        for event in events:
            if not self._setting and event.new is not None and (event.name == "value_throttled") == many:
                self.value = float(event.new)

    def _chosen(self, column: str | None) -> None:
        if not self._setting and column:
            self.by = column

    def _follow(self) -> None:
        """Predict as the rule says, and show what comes of it."""
        evaluation = self.evaluation
        if evaluation is None or self._setting:
            return
        with pn.io.hold():
            self._decide(evaluation)
            decided, t = self._decided or evaluation, self.figures_at.threshold
            with self._setting:
                slides = self.rule not in (MOST, COSTS)
                self.slider.param.update(value=self.value, label=self.rule_words(), visible=slides)
                self.grid.visible = self.rule == COSTS
                self.column.visible = self.picture == "groups"
            say(self.told, self._figures_html())
            self.matrix.show(drawn.confusion(decided, self.shares or None, dark=self.dark), evaluation)
            if self.picture in CURVES:
                shown = drawn.curves(self.picture, evaluation, self.label, None if np.isnan(t) else t, dark=self.dark)
            elif self.picture == "reliability":
                shown = drawn.calibration(evaluation, self.label, dark=self.dark)
            else:
                shown = drawn.groups(self._groups(), decided.error, dark=self.dark)
            self.curve.show(shown, (id(evaluation), self.picture, self.label, self.by))
            self._numbers.refresh()

    def _decide(self, evaluation: Evaluation) -> None:
        if self.rule == MOST:
            self._decided, self.figures_at = evaluation, evaluation.as_predicted(self.label)
            return
        if self.rule == COSTS:
            self._decided = evaluation.decided(costs=self._costs(evaluation))
            self.figures_at = self._decided.as_predicted(self.label)
            return
        value = 10 ** (4 * self.value - 2) if self.rule == MISS else self.value
        try:
            self.figures_at = evaluation.at(label=self.label, **{self.rule: value})
        except AlrvizError:  # no row to match with
            self._decided, self.figures_at = evaluation, evaluation.as_predicted(self.label)
        else:
            self._decided = evaluation.decided(self.figures_at.threshold, self.label)

    def _costs(self, evaluation: Evaluation) -> Any:
        return np.array(self.costs) if self.costs else 1.0 - np.eye(len(evaluation.classes))

    def rule_words(self) -> str:
        """Return what the slider says."""
        if self.rule == MISS:
            miss = 10 ** (4 * self.value - 2)
            times = f"{miss:.3g}" if miss >= 1 else f"1/{1 / miss:.3g}"
            return f"A missed row costs as much as {times} false alarm{'' if times == '1' else 's'}"
        at_least = "" if self.rule == THRESHOLD else "at least "
        return f"{_name_of(self.rule)} {at_least}{self.value:.3f}"

    def _groups(self) -> pd.DataFrame:
        evaluation = self._decided or self.evaluation
        assert evaluation is not None
        return evaluation.groups(self.by if self.by else np.full(len(evaluation.y), "all rows"), self.label)

    def _figures_html(self) -> str:
        figures = self.figures_at
        cells = " ".join(
            f"<span style='margin-right:22px;white-space:nowrap'><abbr title='{meaning}'>{name}</abbr> "
            f"<b>{_share(figures[figure])}</b></span>"
            for figure, (name, meaning) in _FIGURES.items()
        )
        at = "" if np.isnan(figures.threshold) else f" at threshold {figures.threshold:.3g}"
        costs = ""
        if self.rule == COSTS and self.evaluation is not None and self._decided is not None:
            table = self._costs(self.evaluation)
            costs = f". A row costs {self._decided.cost(table):.4g} on average; predicted as most probable, "
            costs += f"{self.evaluation.cost(table):.4g}"
        counts = f"{figures.tp:,.0f} of {figures.tp + figures.fn:,.0f} found, {figures.fp:,.0f} false alarms"
        return f"<div>{cells}</div><div class='quiet'>{safe(figures['class'], 60)}{at}: {counts}{costs}</div>"

    def _show_worst(self) -> None:
        if self._failures.open and self.evaluation is not None:
            say(self.worst, worst_html(self.evaluation))

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _numbers_html(self) -> str:
        evaluation = self._decided or self.evaluation
        if evaluation is None:
            return ""
        groups = ""
        if self.by:
            table = self._groups()
            groups = f"<h2>Groups</h2>{groups_html(table, self.label)}{group_losses_html(table, self.label)}"
        return f"{summary_html(evaluation)}<h2>Classes</h2>{classes_html(evaluation)}{groups}"

    def csv(self, what: str) -> str:
        """Return "classes", "curve", "groups" or "worst" as a CSV."""
        evaluation = self._decided or self.evaluation
        if evaluation is None:
            return ""
        tables: dict[str, Callable[[], pd.DataFrame]] = {
            "classes": evaluation.by_class, "curve": lambda: evaluation.curve(self.label), "groups": self._groups,
            "worst": lambda: evaluation.worst(1000).rename_axis("row").reset_index(),
        }  # fmt: skip
        about = {"alrviz": __version__, **self._about, "rows evaluated": evaluation.what, "class": self.label}
        return to_csv(tables[what](), about, self._recipes)

    def origin(self, what: str) -> Origin:
        """Return what stands above and below a picture of `what` when it is saved."""
        rows = "" if self.evaluation is None else f" on {len(self.evaluation.y):,} {self.evaluation.what}"
        about = {"alrviz": __version__, **self._about, "class": self.label}
        what = _name_of(self.picture) if what == BESIDE else what
        return Origin(f"{what[:1].upper()}{what[1:]}{rows}", caption(about, self._recipes))


def _name_of(value: str) -> str:
    names = {key: words for words, key in {**PICTURES, **RULES}.items()}
    return names[value].removesuffix(" of")


def _share(value: float) -> str:
    return "&ndash;" if np.isnan(value) else percent(value)


def false_alarms(specificity: Any) -> Any:
    """Return 1 - specificity, without what rounding leaves of 0."""
    return np.round(1 - specificity, 12) + 0.0


def points(share: float) -> str:
    """Return a share as percentage points, without their name."""
    return percent(share).removesuffix(" %")


def summary_html(evaluation: Evaluation, beside: Evaluation | None = None, name: str = "") -> str:
    """The figures of all classes together, beside those of a model that looks at no column: it gives all rows the class
    shares, ranks none above another, and always predicts the most frequent class. beside: another model on the same
    rows, called `name`.
    """
    summary, shares = evaluation.summary(), evaluation.shares
    occurring = shares[shares > 0]
    precision = (
        shares[evaluation.classes.index(evaluation.interest)] if len(evaluation.classes) == 2 else occurring.mean()
    )
    whose = f"of {safe(evaluation.interest, 30)}" if len(evaluation.classes) == 2 else "mean over classes"
    error = f" ({percent(summary.error_low)} to {percent(summary.error_high)})"
    auc = "" if np.isnan(summary.auc_low) else f" ({number(summary.auc_low, 3)} to {number(summary.auc_high, 3)})"
    baseline = [
        percent(summary.shares_error), number(summary.shares_log_loss), percent(1 - 1 / len(occurring)),
        number(1 - (shares**2).sum()), points(0.0), "0.5", number(precision, 3),
    ]  # fmt: skip
    more = {"error": error, "auc": auc, "log_loss": f" &plusmn; {number(summary.log_loss_error)}"}
    ranked = partial(number, digits=3)
    measures: dict[str, tuple[str, Callable[[float], str]]] = {
        "error": ("error (95 % interval)", percent), "log_loss": ("log loss (nats)", number),
        "balanced_error": ("error, mean over classes", percent), "brier": ("Brier score, summed over classes", number),
        "ece": (f"calibration error (ECE, {BINNING}), percentage points", points), "auc": (f"AUC, {whose}", ranked),
        "average_precision": (f"average precision, {whose}", ranked),
    }  # fmt: skip
    other = None if beside is None else beside.summary()
    rows = [
        [words, text(summary[key]) + more.get(key, ""), *([] if other is None else [text(other[key])]), baseline_text]
        for (key, (words, text)), baseline_text in zip(measures.items(), baseline, strict=True)
    ]
    heads = ["", "this model", *([] if other is None else [safe(name, 60)]), "class shares alone"]
    return html_table(heads, rows)


def classes_html(evaluation: Evaluation) -> str:
    """A line for each class, the most frequent first."""
    rows = []
    for line in evaluation.by_class(SHOWN).to_dict("records"):
        shares = [_share(line[name]) for name in ("share", "predicted", "sensitivity", "ppv")]
        ranks = [number(line[name], 3) for name in ("auc", "average_precision")]
        rows.append([safe(line["class"], 60), f"{line['rows']:,.6g}", *shares, *ranks])
    heads = ["class", "rows", "share", "predicted", "sensitivity", "PPV", "AUC", "average precision"]
    rest = len(evaluation.classes) - SHOWN
    more = f"<p class='quiet'>{rest:,} rarer classes: the CSV has them.</p>" if rest > 0 else ""
    return html_table(heads, rows) + more


def groups_html(table: pd.DataFrame, label: str) -> str:
    """A line for each group, a table of `Evaluation.groups`: what is missed, false alarms, errors."""
    rows, name = [], safe(label, 24)
    for line in table.to_dict("records"):
        error = f"{percent(line['error'])} ({percent(line['low'])} to {percent(line['high'])})"
        rates = _share(line["sensitivity"]), _share(false_alarms(line["specificity"]))
        first = [safe(line["group"], 60), f"{line['rows']:,}", *rates, error, percent(line["shares_error"])]
        rows.append([*first, _share(line["share"]), _share(line["predicted"])])
    heads = [
        "group", "rows", "sensitivity", "false alarms", "error (95 % interval)", "baseline error", f"are {name}",
        f"predicted {name}",
    ]  # fmt: skip
    return html_table(heads, rows)


def group_losses_html(table: pd.DataFrame, label: str) -> str:
    """A line for each group, a table of `Evaluation.groups`: its probabilities."""
    rows = [
        [
            safe(line["group"], 60), _share(line["share"]), _share(line["p"]),
            f"{loss_text(line['log_loss'])} &plusmn; {loss_text(line['standard_error'])}",
            loss_text(line["shares_log_loss"]),
        ]
        for line in table.to_dict("records")
    ]  # fmt: skip
    name = safe(label, 24)
    heads = ["group", f"are {name}", f"mean probability of {name}", "log loss", "baseline log loss"]
    return html_table(heads, rows)


def value_text(value: Any) -> str:
    """Return a value of a row as its file has it: whole numbers without a point, "missing".

    >>> value_text(22.0), value_text(float("nan")), value_text("a")
    ('22', 'missing', 'a')
    """
    if pd.isna(value):
        return "missing"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def worst_html(evaluation: Evaluation, most: int = WORST) -> str:
    """The rows whose class was held least likely."""
    table = evaluation.worst(most)
    columns = list(table.columns[5:])[:30]
    left = [not pd.api.types.is_numeric_dtype(table[column]) for column in columns]
    rows = [
        [safe(name, 20), *(_text("td", line[field]) for field in ("class", "predicted")), percent(line["p"]),
         percent(line["p_predicted"]),
         *(_text("td", value_text(line[column])) if text else safe(value_text(line[column]), 30)
           for column, text in zip(columns, left, strict=True))]
        for name, line in zip(table.index, table.to_dict("records"), strict=True)
    ]  # fmt: skip
    named = (_text("th", name) if text else safe(name, 30) for name, text in zip(columns, left, strict=True))
    heads = ["row", _text("th", "class"), _text("th", "predicted"), "p of its class", "p of the predicted", *named]
    return html_table(heads, rows)


def _text(tag: str, words: Any) -> str:
    """A cell of text, which begins on the left."""
    return f"<{tag} style='text-align:left'>{safe(words, 40)}</{tag}>"
