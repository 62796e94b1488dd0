"""Evaluation of predicted probabilities on rows whose class is known: the result of `alrviz.evaluate`.

One class k against the others, predicted where p_k >= t; tp, fp, fn, tn are numbers of rows:

    sensitivity  tp / (tp + fn)      PPV  tp / (tp + fp)      lift  PPV / share of k
    specificity  tn / (tn + fp)      NPV  tn / (tn + fn)

The threshold t is given or follows from a target: the lowest with a given specificity, the highest with a given
sensitivity ([DLR] table 7 compares at equal specificity), or the cheapest on average if a missed row of k costs as much
as c false alarms, t = 1 / (1 + c). With a cost for each pair of classes, row i is predicted as the class j that
minimises sum_k p_k(x_i) cost[k, j].
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, expit, logit
from sklearn.metrics import confusion_matrix, confusion_matrix_at_thresholds, roc_auc_score

from alrviz.errors import TableError, nearest
from alrviz.passes.aligned_buffers import Floats
from alrviz.studies.statistics.measures import (
    BINS,
    auc_error,
    average_precision,
    balanced_error,
    binned_reliability,
    calibration_error,
    loss_text,
    reliability,
    row_losses,
    row_squares,
)
from alrviz.studies.statistics.row_groups import OTHER, group_rows
from alrviz.studies.statistics.verdict import Verdict, first_headline

MAX_RANKED_CLASSES = 100  # AUC of each class against the others sorts all rows once per class: skipped beyond
_Z_95 = 1.959963984540054  # quantile of the normal distribution for a 95 % interval


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Probabilities and classes of some rows, and the measures computed from them; frames are tidy.

    Attributes:
        classes: (C,) as text; the model's classes, then those it has not learned.
        log_p: (N, C) log probabilities. y: (N,) indices of the true classes.
        X: the rows (N, columns), for groups and worst rows; its index names them.
        weight: (N,) row weights; None: each row counts once.
        rows_text: description of the rows for sentences ("test rows").
        notes: sentences on rows and classes that needed special treatment.
        predicted: (N,) indices; by default the most probable class, of equal ones the first (see `decided`).

    >>> import alrviz
    >>> data = alrviz.load_demo("monks-1")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X[:300], data.y[:300])
    >>> found = alrviz.evaluate(model, data.X[300:], data.y[300:])
    >>> found.confusion().to_numpy().tolist()
    [[64, 0], [36, 32]]
    >>> found.at(0.5)[["tp", "fn", "sensitivity", "specificity"]].round(3).tolist()
    [64, 0, 1.0, 0.471]
    """

    classes: tuple[str, ...]
    log_p: Floats
    y: NDArray[np.intp]
    X: pd.DataFrame
    weight: Floats | None = None
    rows_text: str = "rows"
    notes: tuple[str, ...] = ()
    predicted: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    _curves: dict[int, pd.DataFrame] = field(default_factory=dict)  # computed when first asked for: each sorts all rows
    _ranks: dict[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that there are rows, and predict the most probable class by default."""
        if len(self.y) == 0 or self.total <= 0:
            raise TableError("there are no rows with a class to evaluate on; one row at least was expected")
        if not len(self.predicted):
            object.__setattr__(self, "predicted", self.log_p.argmax(axis=1))

    def __repr__(self) -> str:
        return f"<Evaluation on {len(self.y):,} {self.rows_text}, {len(self.classes)} classes: {self.verdict()}>"

    @property
    def total(self) -> float:
        """Weight of all rows; their number if there are no weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def _weights(self) -> Floats:
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def shares(self) -> Floats:
        """Share of each class (C,) among the rows, by weight."""
        return np.bincount(self.y, self.weight, minlength=len(self.classes)) / self.total

    @property
    def class_of_interest(self) -> str:
        """Class used where no class is given: the rarer one of two, the most frequent one of more."""
        class_shares = self.shares
        rarer = len(self.classes) == 2 and class_shares.min() > 0
        return self.classes[int(class_shares.argmin() if rarer else class_shares.argmax())]

    # -- one line for all ----------------------------------------------------------------------------------------------

    def summary(self) -> pd.Series:
        """Return the figures of all classes together.

        rows, classes; log_loss (nats), and shares_log_loss of predicting the class shares of these rows; error, and
        shares_error of always predicting the most frequent class; balanced_error (mean over classes); brier (with two
        classes twice scikit-learn's `brier_score_loss`); ece; auc and average_precision: with two classes those of
        `class_of_interest`, else the mean over the classes that occur, each against the others (NaN beyond 100
        classes).

        95 % intervals: error_low, error_high (Wilson); with two classes and no weights auc_low, auc_high (normal on the
        scale of log(AUC / (1 - AUC)), DeLong's standard error), else NaN. log_loss_error is the standard error of the
        log loss.
        """
        class_shares, occurring = self.shares, np.flatnonzero(self.shares > 0)
        averaged = [self._class_index(self.class_of_interest)] if len(self.classes) == 2 else occurring
        ranks = [self.ranking(self.classes[k]) for k in averaged] if len(occurring) <= MAX_RANKED_CLASSES else []
        auc, precision = np.mean(ranks, axis=0) if ranks else (np.nan, np.nan)
        losses, effective = row_losses(self.log_p, self.y), self.total
        if self.weight is not None:
            effective = self.total**2 / float((self.weight**2).sum())  # rows of equal weight that would say as much
        loss = float(np.average(losses, weights=self.weight))
        loss_variance = float(np.average((losses - loss) ** 2, weights=self.weight))
        error_low, error_high = wilson(self.error, effective)
        auc_low, auc_high = np.nan, np.nan
        if len(self.classes) == 2 and self.weight is None and 0 < auc < 1:
            half_width = _Z_95 * auc_error(self.p(), self.y == self._class_index(None)) / (auc * (1 - auc))
            auc_low, auc_high = expit(logit(auc) + np.array([-half_width, half_width]))
        return pd.Series(
            {
                "rows": len(self.y),
                "classes": len(occurring),
                "log_loss": loss,
                "shares_log_loss": float(-(class_shares[occurring] * np.log(class_shares[occurring])).sum()),
                "error": self.error,
                "shares_error": 1.0 - float(class_shares.max()),
                "balanced_error": balanced_error(self.predicted, self.y, self.weight),
                "brier": float(np.average(row_squares(self.log_p, self.y), weights=self.weight)) * len(self.classes),
                "ece": calibration_error(self.log_p, self.y, weight=self.weight),
                "auc": float(auc),
                "average_precision": float(precision),
                "error_low": error_low,
                "error_high": error_high,
                "auc_low": float(auc_low),
                "auc_high": float(auc_high),
                "log_loss_error": float(np.sqrt(loss_variance / max(effective - 1, 1))),
            },
            dtype=object,
        )

    @property
    def error(self) -> float:
        """The share of rows predicted as another class than theirs."""
        return float(np.average(self.predicted != self.y, weights=self.weight))

    def verdict(self) -> Verdict:
        """Return how many rows are predicted wrongly, also by the most frequent class alone, and the other figures."""
        summary, shares = self.summary(), self.shares
        wrong_text, guess = (
            f"{percent(summary.error)} of {summary.rows:,} {self.rows_text} are predicted wrongly",
            shares.argmax(),
        )
        guess_error = percent(summary.shares_error)
        headline = first_headline(
            f"{wrong_text}; always guessing '{self.classes[int(guess)]}': {guess_error}.",
            f"{wrong_text}; the most frequent class alone: {guess_error}.",
            f"{percent(summary.error)} are predicted wrongly; always guessing the most frequent class: {guess_error}.",
        )
        auc_text = "" if np.isnan(summary.auc) else f", AUC {summary.auc:.3f}"
        return Verdict(
            headline,
            f"{summary.rows:,} {self.rows_text}: log loss {loss_text(summary.log_loss)} nats per row (class shares "
            f"{loss_text(summary.shares_log_loss)}){auc_text}. Probabilities are off by {percent(summary.ece)} on "
            f"average (ECE); a perfect model would show {percent(self.chance_ece())} by chance.",
        )

    # -- predictions ---------------------------------------------------------------------------------------------------

    def decided(self, threshold: float | None = None, label: str | None = None, costs: Any = None) -> "Evaluation":
        """Return the same rows with other predictions.

        threshold: predict a class (`label`, None for `class_of_interest`) where its probability is at least this,
        elsewhere the most probable other class. costs: (C, C), of a row of class i predicted as j; predict the cheapest
        class.

        Raises:
            TableError: if the class is unknown, costs have another shape, or neither argument is given.
        """
        if costs is not None:
            p = np.exp(self.log_p)
            return replace(self, predicted=(p @ _check_costs(costs, len(self.classes))).argmin(axis=1))
        if threshold is None:
            raise TableError("neither threshold nor costs is given; expected one of them")
        k = self._class_index(label)
        log_p = self.log_p.copy()
        log_p[:, k] = -np.inf
        is_predicted = self.p(self.classes[k]) >= threshold
        return replace(self, predicted=np.where(is_predicted, k, log_p.argmax(axis=1)))

    def cost(self, costs: Any) -> float:
        """Return the mean cost of a row as predicted; costs (C, C) for a row of class i predicted as j."""
        return float(np.average(_check_costs(costs, len(self.classes))[self.y, self.predicted], weights=self.weight))

    def confusion(self, normalize: str | None = None, max_classes: int | None = None) -> pd.DataFrame:
        """Return rows by class (lines) and predicted class (columns), as scikit-learn's `confusion_matrix` counts them.

        normalize: "true" (shares of the rows of a class), "pred" (shares of the rows of a prediction), "all"; a class
        without rows has 0. max_classes: number of classes shown, those confused most often; the others are merged.
        """
        y, predicted, names = self.y, self.predicted, list(self.classes)
        if max_classes is not None and len(names) > max_classes:
            wrong = y != predicted
            confused = sum(np.bincount(k[wrong], self._weights[wrong], minlength=len(names)) for k in (y, predicted))
            shown_classes = np.sort(np.lexsort((-self.shares, -np.asarray(confused)))[:max_classes])
            line_by_class = np.full(len(names), max_classes)
            line_by_class[shown_classes] = np.arange(max_classes)
            y, predicted = line_by_class[y], line_by_class[predicted]
            names = [*(names[k] for k in shown_classes), OTHER]
        counts = confusion_matrix(
            y, predicted, labels=np.arange(len(names)), sample_weight=self.weight, normalize=normalize
        )
        line_index, columns = pd.Index(names, name="class"), pd.Index(names, name="predicted")
        return pd.DataFrame(counts, index=line_index, columns=columns)

    def confusions(self, n: int = 20) -> pd.DataFrame:
        """Return the n pairs of classes confused most often: class, predicted, rows, share of the class's rows."""
        wrong = self.y != self.predicted
        pairs = pd.DataFrame({"y": self.y[wrong], "predicted": self.predicted[wrong], "rows": self._weights[wrong]})
        counts = pairs.groupby(["y", "predicted"], sort=True).rows.sum().sort_values(ascending=False, kind="stable")
        pairs = counts.head(n).reset_index()
        names = np.asarray(self.classes, dtype=object)
        return pd.DataFrame(
            {
                "class": names[pairs.y], "predicted": names[pairs.predicted],
                "rows": pairs.rows.astype(int) if self.weight is None else pairs.rows,
                "share": pairs.rows / (self.shares[pairs.y] * self.total),
            }
        )  # fmt: skip

    # -- one class against the others ----------------------------------------------------------------------------------

    def p(self, label: str | None = None) -> Floats:
        """Return the probabilities (N,) of the class `label`; None for `class_of_interest`."""
        return np.exp(self.log_p[:, self._class_index(label)])

    def curve(self, label: str | None = None) -> pd.DataFrame:
        """Return the counts of a class against the others at every threshold, the highest first.

        Columns: threshold, tp, fp, fn, tn, the rates of the module's docstring (sensitivity, specificity, ppv, npv,
        lift), accuracy, positive (share of rows predicted as the class). ROC plots sensitivity against 1 - specificity,
        precision-recall ppv against sensitivity. A rate is NaN if its denominator is 0.
        """
        k = self._class_index(label)
        if k not in self._curves:
            tn, fp, fn, tp, t = confusion_matrix_at_thresholds(self.y == k, self.p(label), sample_weight=self.weight)
            start_values = (np.inf, 0, 0, tp[-1], fp[-1])  # above every probability
            count_columns = (
                np.append(start_value, further_counts)
                for start_value, further_counts in zip(start_values, (t, tp, fp, fn, tn), strict=True)
            )
            table = pd.DataFrame(dict(zip(("threshold", "tp", "fp", "fn", "tn"), count_columns, strict=True)))
            self._curves[k] = _with_rates(table)
        return self._curves[k]

    def ranking(self, label: str | None = None) -> tuple[float, float]:
        """Return AUC and average precision of the class `label` (None: `class_of_interest`); NaN if all or no rows are
        of it.
        """
        k = self._class_index(label)
        if k not in self._ranks:
            in_class, p, figures = self.y == k, self.p(label), (np.nan, np.nan)
            if 0 < self.shares[k] < 1:
                auc = roc_auc_score(in_class, p, sample_weight=self.weight)
                figures = float(auc), average_precision(p, in_class, self.weight)
            self._ranks[k] = figures
        return self._ranks[k]

    def at(
        self,
        threshold: float | None = None,
        *,
        label: str | None = None,
        specificity: float | None = None,
        sensitivity: float | None = None,
        miss: float | None = None,
    ) -> pd.Series:
        """Return a class's figures at one threshold: class, a row of `curve`, auc.

        label: the class; None for `class_of_interest`. Give the threshold itself (default 0.5) or one criterion: the
        lowest threshold with at least this specificity, the highest with at least this sensitivity, or the cheapest if
        a missed row costs as much as `miss` false alarms.

        Raises:
            TableError: if the class is unknown, several criteria are given, or no row allows the match.
        """
        criteria = {"threshold": threshold, "specificity": specificity, "sensitivity": sensitivity, "miss": miss}
        given_criteria = {name: value for name, value in criteria.items() if value is not None}
        if len(given_criteria) > 1:
            raise TableError(f"{', '.join(given_criteria)} are given; expected one of them")
        name, value = next(iter(given_criteria.items()), ("threshold", 0.5))
        if not (0 <= value <= 1 if name != "miss" else 0 < value < np.inf):
            valid = "a number above 0" if name == "miss" else "a number from 0 to 1"
            raise TableError(f"{name}={value} does not fit; expected {valid}")
        table, label = self.curve(label), self.classes[self._class_index(label)]
        if name in ("specificity", "sensitivity"):
            sufficient_lines = np.flatnonzero(table[name] >= value - 1e-12)
            if not len(sufficient_lines):
                other_text = "another class" if name == "specificity" else "this class"
                raise TableError(f"there is no {name} of {label!r} to match: no row is of {other_text}")
            row = int(sufficient_lines[-1] if name == "specificity" else sufficient_lines[0])
            used_threshold = float(table.threshold[row])
        else:
            used_threshold = 1.0 / (1.0 + value) if name == "miss" else float(value)
            row = int(np.searchsorted(-table.threshold.to_numpy(), -used_threshold, side="right")) - 1
        return self._figures(self.classes.index(label), table.iloc[row].to_dict() | {"threshold": used_threshold})

    def as_predicted(self, label: str | None = None) -> pd.Series:
        """Return the figures of `at` for the classes in `predicted`, which need not come from one threshold: it is NaN.

        label: the class; None for `class_of_interest`.
        """
        k, weight = self._class_index(label), self._weights
        true, positive = self.y == k, self.predicted == k
        masks = {"tp": true & positive, "fp": ~true & positive, "fn": true & ~positive, "tn": ~true & ~positive}
        counts = pd.DataFrame({"threshold": [np.nan], **{name: [weight[rows].sum()] for name, rows in masks.items()}})
        return self._figures(k, _with_rates(counts).iloc[0].to_dict())

    def _figures(self, k: int, figures: dict[str, Any]) -> pd.Series:
        if self.weight is None:
            figures |= {name: int(figures[name]) for name in ("tp", "fp", "fn", "tn")}
        label = self.classes[k]
        return pd.Series({"class": label, **figures, "auc": self.ranking(label)[0]}, dtype=object)

    def by_class(self, max_classes: int | None = None) -> pd.DataFrame:
        """Return a row for each class, the most frequent first: class, rows, share, predicted (share of rows predicted
        as it), sensitivity and ppv of the predictions, auc, average_precision. max_classes: number of rows returned.
        """
        n_classes, weight = len(self.classes), self._weights
        class_rows, predicted = np.bincount(self.y, weight, n_classes), np.bincount(self.predicted, weight, n_classes)
        right_rows = np.bincount(self.y, weight * (self.y == self.predicted), n_classes)
        class_order = np.argsort(-class_rows, kind="stable")[:max_classes]
        class_rankings = np.array([self.ranking(self.classes[k]) for k in class_order])
        return pd.DataFrame(
            {
                "class": [self.classes[k] for k in class_order],
                "rows": class_rows[class_order].astype(int) if self.weight is None else class_rows[class_order],
                "share": class_rows[class_order] / self.total, "predicted": predicted[class_order] / self.total,
                "sensitivity": _ratio(right_rows, class_rows)[class_order],
                "ppv": _ratio(right_rows, predicted)[class_order],
                "auc": class_rankings[:, 0], "average_precision": class_rankings[:, 1],
            }
        )  # fmt: skip

    def reliability(self, label: str | None = None, bins: int = BINS) -> pd.DataFrame:
        """Return bins of rows by probability (see `measures.binned_reliability`).

        label: the class whose probability is binned; None: the predicted class of each row.
        """
        if label is None:
            return reliability(self.log_p, self.y, bins, self.weight)
        return binned_reliability(self.p(label), self.y == self._class_index(label), bins, self.weight)

    def chance_ece(self) -> float:
        """Return the calibration error to be expected of as many rows if the probabilities were right: that of the mean
        of a bin's rows, about normal.
        """
        bins = self.reliability()
        expected_gaps = np.sqrt(2 / np.pi * bins.confidence * (1 - bins.confidence) / bins.effective)
        return float(np.average(expected_gaps, weights=bins.rows))

    def _class_index(self, label: str | None) -> int:
        label = self.class_of_interest if label is None else str(label)
        if label not in self.classes:
            classes_text = ", ".join(map(repr, self.classes[:8])) + (" ..." if len(self.classes) > 8 else "")
            raise TableError(
                f"no class is called {label!r}{nearest(label, self.classes)}; the classes are {classes_text}"
            )
        return self.classes.index(label)

    # -- where it fails ------------------------------------------------------------------------------------------------

    def groups(self, by: str | ArrayLike, label: str | None = None) -> pd.DataFrame:
        """Return a row of figures for each group of rows, to find where predictions are bad.

        by: a column, or an array (N,). Numbers with many values are cut at their quartiles; of many levels the twelve
        most frequent are kept.

        Columns: group, rows (their number), error with its 95 % Wilson interval low, high; shares_error (of always
        predicting the group's most frequent class); log_loss with its standard_error; shares_log_loss (of predicting
        the group's class shares). For one class (`label`, None for `class_of_interest`): share, predicted (share
        predicted as it), p (mean probability), p_error (standard error of share - p if all probabilities were right),
        sensitivity with its 95 % interval sensitivity_low, sensitivity_high (NaN without rows of the class),
        specificity.
        """
        in_class, is_predicted = self.y == self._class_index(label), self.predicted == self._class_index(label)
        losses, p, weight = row_losses(self.log_p, self.y), self.p(label), self._weights
        group_by_row = group_rows(self.X, by)
        group_figures = []
        for group in group_by_row.cat.categories:
            rows = np.flatnonzero((group_by_row == group).to_numpy() & (weight > 0))
            if not len(rows):
                continue
            w = weight[rows] / weight[rows].sum()
            effective_rows = 1.0 / (w**2).sum()  # as in `reliability`
            error, mean_loss = float(w @ (self.predicted[rows] != self.y[rows])), float(w @ losses[rows])
            error_low, error_high = wilson(error, effective_rows)
            class_share, class_shares = float(w @ in_class[rows]), np.bincount(self.y[rows], w)
            sensitivity = float(_ratio(w @ (in_class[rows] & is_predicted[rows]), class_share))
            specificity = float(_ratio(w @ ~(in_class[rows] | is_predicted[rows]), 1 - class_share))
            limits = wilson(sensitivity, effective_rows * class_share) if class_share else (np.nan, np.nan)
            group_figures.append(
                {
                    "group": group, "rows": len(rows), "error": error, "low": error_low, "high": error_high,
                    "shares_error": float(class_shares.sum() - class_shares.max()), "log_loss": mean_loss,
                    "standard_error": float(np.sqrt(w @ (losses[rows] - mean_loss) ** 2 / max(effective_rows - 1, 1))),
                    "shares_log_loss": max(0.0, float(entr(class_shares).sum())),
                    "share": class_share, "predicted": float(w @ is_predicted[rows]), "p": float(w @ p[rows]),
                    "p_error": float(np.sqrt(w**2 @ (p[rows] * (1 - p[rows])))),
                    "sensitivity": sensitivity, "sensitivity_low": limits[0], "sensitivity_high": limits[1],
                    "specificity": specificity,
                }
            )  # fmt: skip
        return pd.DataFrame(group_figures)

    def worst(self, n: int = 20) -> pd.DataFrame:
        """Return the n rows of the highest loss: class, predicted, p (of their class), p_predicted, loss (nats), and
        their columns; the index is that of X.
        """
        losses = row_losses(self.log_p, self.y)
        worst = np.argsort(-losses, kind="stable")[:n]
        names = np.asarray(self.classes, dtype=object)
        figures = {
            "class": names[self.y[worst]], "predicted": names[self.predicted[worst]],
            "p": np.exp(-losses[worst]), "p_predicted": np.exp(self.log_p[worst, self.predicted[worst]]),
            "loss": losses[worst],
        }  # fmt: skip
        rows = self.X.iloc[worst].rename(columns={name: f"{name} (column)" for name in figures})
        return pd.concat([pd.DataFrame(figures, index=rows.index), rows], axis=1)


def percent(share: float) -> str:
    """Format a share in per cent.

    >>> percent(0.1343), percent(-0.02), percent(0.00042), percent(float("nan"))
    ('13.4 %', '-2.0 %', '0.042 %', '-')
    """
    if np.isnan(share):
        return "-"
    return f"{100 * share:.1f} %" if abs(share) >= 0.001 or share == 0 else f"{100 * share:.2g} %"


def wilson(share: float, rows: float) -> tuple[float, float]:
    """Return E. B. Wilson's (1927) 95 % interval of a share among this many rows."""
    centre = share + _Z_95**2 / (2 * rows)
    half = _Z_95 * np.sqrt(share * (1 - share) / rows + (_Z_95 / (2 * rows)) ** 2)
    interval_low, interval_high = (centre - half) / (1 + _Z_95**2 / rows), (centre + half) / (1 + _Z_95**2 / rows)
    return (max(0.0, float(interval_low)) if share > 0 else 0.0), (min(1.0, float(interval_high)) if share < 1 else 1.0)


def _check_costs(costs: ArrayLike, n_classes: int) -> Floats:
    cost_table = np.asarray(costs, dtype=float)
    if cost_table.shape != (n_classes, n_classes) or not np.isfinite(cost_table).all():
        raise TableError(
            f"costs have the shape {cost_table.shape}; expected ({n_classes}, {n_classes}), all finite: a row for each "
            "class, with the cost of each predicted class"
        )
    return cost_table


def _ratio(numerator: Any, denominator: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(denominator) > 0, np.divide(numerator, denominator), np.nan)


def _with_rates(table: pd.DataFrame) -> pd.DataFrame:
    """Add to a table of counts (tp, fp, fn, tn) the rates that follow from them."""
    tp, fp, fn, tn = (table[name].to_numpy(float) for name in ("tp", "fp", "fn", "tn"))
    n_rows = tp + fp + fn + tn
    ppv = _ratio(tp, tp + fp)
    rates = {
        "sensitivity": _ratio(tp, tp + fn), "specificity": _ratio(tn, tn + fp), "ppv": ppv, "npv": _ratio(tn, tn + fn),
        "accuracy": (tp + tn) / n_rows, "positive": (tp + fp) / n_rows, "lift": _ratio(ppv, (tp + fn) / n_rows),
    }  # fmt: skip
    return table.assign(**rates)
