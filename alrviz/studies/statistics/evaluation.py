"""How good probabilities are on rows whose class is known: what `alrviz.evaluate` returns.

Of one class k against the others, predicted where p_k >= t, with tp, fp, fn, tn rows:

    sensitivity  tp / (tp + fn)      PPV  tp / (tp + fp)      lift  PPV / share of k
    specificity  tn / (tn + fp)      NPV  tn / (tn + fn)

t is given, or matched: the lowest with a specificity, the highest with a sensitivity ([DLR] table 7 compares at equal
specificity), or what costs least on average where a missed row of k costs c false alarms, t = 1 / (1 + c). Costs of
all classes: row i is predicted as the j of the least sum_k p_k(x_i) cost[k, j].
"""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, expit, logit
from sklearn.metrics import confusion_matrix, confusion_matrix_at_thresholds, roc_auc_score

from alrviz.data.column_encoder import interval_labels
from alrviz.data.parse_values import number_text
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

MANY = 100  # classes; of more, means over each class against the others are not taken: each sorts all rows
LEVELS = 12  # groups that stand alone
QUARTERS = 4  # groups of a numeric column
_Z = 1.959963984540054  # of a 95 % interval
OTHER = "(others)"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Probabilities of rows beside their classes, and all that follows from them; frames are tidy.

    Attributes:
        classes: (C,) as text; those of the model, then those that it does not know.
        log_p: (N, C) log probabilities. y: (N,) indices of the rows' classes.
        X: the rows (N, columns), for groups and worst rows; its index names them.
        weight: (N,) of rows; None where each counts once.
        what: which rows they are, in words.
        notes: sentences on what was left out.
        predicted: (N,) indices: the most probable class (of equal ones the first), unless `decided` says otherwise.

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
    what: str = "rows"
    notes: tuple[str, ...] = ()
    predicted: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    _curves: dict[int, pd.DataFrame] = field(default_factory=dict)  # of classes, once they were asked for
    _ranks: dict[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that there is something to judge, and predict the most probable class."""
        if len(self.y) == 0 or self.total <= 0:
            raise TableError("there are no rows with a class to evaluate on; one row at least was expected")
        if not len(self.predicted):
            object.__setattr__(self, "predicted", self.log_p.argmax(axis=1))

    def __repr__(self) -> str:
        return f"<Evaluation on {len(self.y):,} {self.what}, {len(self.classes)} classes: {self.sentence}>"

    @property
    def total(self) -> float:
        """The weight of all rows; their number where each counts once."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def shares(self) -> Floats:
        """The share of each class (C,) among the rows."""
        return np.bincount(self.y, self.weight, minlength=len(self.classes)) / self.total

    @property
    def interest(self) -> str:
        """The class that is meant where none is named: of two the rarer one here, else the most frequent."""
        shares = self.shares
        rarer = len(self.classes) == 2 and shares.min() > 0
        return self.classes[int(shares.argmin() if rarer else shares.argmax())]

    # -- one line for all ----------------------------------------------------------------------------------------------

    def summary(self) -> pd.Series:
        """Return the figures of all classes together.

        rows, classes; log_loss (nats) beside that of the class shares of these very rows; error beside that of always
        saying the most frequent class, balanced_error (mean over classes); brier (of two classes twice scikit-learn's
        `brier_score_loss`), ece; auc and average_precision, of two classes those of `interest`, the rarer one, else the
        mean over the classes that occur, each against the others (NaN of more than 100).

        95 % intervals: error_low, error_high (Wilson's), and of two classes auc_low, auc_high (normal on the scale of
        log(AUC / (1 - AUC)), by DeLong's standard error; NaN of weighted rows and of more classes). log_loss_error is
        the standard error of the log loss.
        """
        shares, some = self.shares, np.flatnonzero(self.shares > 0)
        of = [self._place(self.interest)] if len(self.classes) == 2 else some
        ranks = [self.ranking(self.classes[k]) for k in of] if len(some) <= MANY else []
        auc, precision = np.mean(ranks, axis=0) if ranks else (np.nan, np.nan)
        losses, effective = row_losses(self.log_p, self.y), self.total
        if self.weight is not None:
            effective = self.total**2 / float((self.weight**2).sum())  # rows of equal weight that would say as much
        loss = float(np.average(losses, weights=self.weight))
        spread = float(np.average((losses - loss) ** 2, weights=self.weight))
        low, high = wilson(self.error, effective)
        auc_low, auc_high = np.nan, np.nan
        if len(self.classes) == 2 and self.weight is None and 0 < auc < 1:
            half = _Z * auc_error(self.p(), self.y == self._place(None)) / (auc * (1 - auc))
            auc_low, auc_high = expit(logit(auc) + np.array([-half, half]))
        return pd.Series(
            {
                "rows": len(self.y),
                "classes": len(some),
                "log_loss": loss,
                "shares_log_loss": float(-(shares[some] * np.log(shares[some])).sum()),
                "error": self.error,
                "shares_error": 1.0 - float(shares.max()),
                "balanced_error": balanced_error(self.predicted, self.y, self.weight),
                "brier": float(np.average(row_squares(self.log_p, self.y), weights=self.weight)) * len(self.classes),
                "ece": calibration_error(self.log_p, self.y, weight=self.weight),
                "auc": float(auc),
                "average_precision": float(precision),
                "error_low": low,
                "error_high": high,
                "auc_low": float(auc_low),
                "auc_high": float(auc_high),
                "log_loss_error": float(np.sqrt(spread / max(effective - 1, 1))),
            },
            dtype=object,
        )

    @property
    def error(self) -> float:
        """The share of rows predicted as another class than theirs."""
        return float(np.average(self.predicted != self.y, weights=self.weight))

    @property
    def sentence(self) -> str:
        """What the summary comes to, in words."""
        of = self.summary()
        auc = "" if np.isnan(of.auc) else f", AUC {of.auc:.3f}"
        return (
            f"{percent(of.error)} of the {of.rows:,} {self.what} are predicted wrongly (always the most frequent "
            f"class: {percent(of.shares_error)}); log loss {loss_text(of.log_loss)} nats (class shares "
            f"{loss_text(of.shares_log_loss)}){auc}; probabilities are off by {percent(of.ece)} on average (ECE; "
            f"right ones by {percent(self.chance_ece())}, for chance)"
        )

    # -- predictions ---------------------------------------------------------------------------------------------------

    def decided(self, threshold: float | None = None, label: str | None = None, costs: Any = None) -> "Evaluation":
        """Return the same rows predicted in another way.

        threshold: a class (`label`, None for `interest`) is predicted where its probability is so high, elsewhere the
        most probable other one. costs: (C, C), of a row of class i predicted as j; what costs least is predicted.

        Raises:
            TableError: no such class, costs of another shape, or neither of the two.
        """
        if costs is not None:
            p = np.exp(self.log_p)
            return replace(self, predicted=(p @ self._costs(costs)).argmin(axis=1))
        if threshold is None:
            raise TableError("a threshold, or costs of each class predicted as each other one, was expected")
        k = self._place(label)
        others = self.log_p.copy()
        others[:, k] = -np.inf
        mine = self.p(self.classes[k]) >= threshold
        return replace(self, predicted=np.where(mine, k, others.argmax(axis=1)))

    def cost(self, costs: Any) -> float:
        """Return what a row costs on average, as predicted; costs (C, C) of a row of class i predicted as j."""
        return float(np.average(self._costs(costs)[self.y, self.predicted], weights=self.weight))

    def _costs(self, costs: Any) -> Floats:
        table = np.asarray(costs, dtype=float)
        if table.shape != (len(self.classes),) * 2 or not np.isfinite(table).all():
            raise TableError(
                f"costs have the shape {table.shape}; expected finite numbers, a line for each of the "
                f"{len(self.classes)} classes that rows have and in it one for each class they are predicted as"
            )
        return table

    def confusion(self, normalize: str | None = None, most: int | None = None) -> pd.DataFrame:
        """Return rows by class (lines) and predicted class (columns), as scikit-learn's `confusion_matrix` counts them.

        normalize: "true" (shares of a line: what becomes of a class), "pred" (of a column: what a prediction is made
        of), "all"; a class without rows has 0. most: that many classes, those most often confused, the rest as one.
        """
        y, predicted, names = self.y, self.predicted, list(self.classes)
        if most is not None and len(names) > most:
            wrong = y != predicted
            each = np.ones(len(y)) if self.weight is None else self.weight
            confused = sum(np.bincount(of[wrong], each[wrong], minlength=len(names)) for of in (y, predicted))
            kept = np.sort(np.lexsort((-self.shares, -np.asarray(confused)))[:most])
            place = np.full(len(names), most)
            place[kept] = np.arange(most)
            y, predicted = place[y], place[predicted]
            names = [*(names[k] for k in kept), OTHER]
        counts = confusion_matrix(
            y, predicted, labels=np.arange(len(names)), sample_weight=self.weight, normalize=normalize
        )
        lines, columns = pd.Index(names, name="class"), pd.Index(names, name="predicted")
        return pd.DataFrame(counts, index=lines, columns=columns)

    def confusions(self, most: int = 20) -> pd.DataFrame:
        """Return the pairs of classes most often confused: class, predicted, rows, share of the class's rows."""
        wrong = self.y != self.predicted
        each = np.ones(len(self.y)) if self.weight is None else self.weight
        pairs = pd.DataFrame({"y": self.y[wrong], "said": self.predicted[wrong], "rows": each[wrong]})
        found = pairs.groupby(["y", "said"], sort=True).rows.sum().sort_values(ascending=False, kind="stable")
        found = found.head(most).reset_index()
        names = np.asarray(self.classes, dtype=object)
        return pd.DataFrame(
            {
                "class": names[found.y], "predicted": names[found.said],
                "rows": found.rows.astype(int) if self.weight is None else found.rows,
                "share": found.rows / (self.shares[found.y] * self.total),
            }
        )  # fmt: skip

    # -- one class against the others ----------------------------------------------------------------------------------

    def p(self, label: str | None = None) -> Floats:
        """Return the probabilities (N,) of a class."""
        return np.exp(self.log_p[:, self._place(label)])

    def curve(self, label: str | None = None) -> pd.DataFrame:
        """Return a class's counts at every threshold, the highest first.

        Columns: threshold, tp, fp, fn, tn, and what the module's text defines: sensitivity, specificity, ppv, npv,
        accuracy, positive (share of rows predicted so), lift. ROC is sensitivity against 1 - specificity,
        precision-recall is ppv against sensitivity. NaN where a quotient has nothing below its line.
        """
        k = self._place(label)
        if k not in self._curves:
            tn, fp, fn, tp, t = confusion_matrix_at_thresholds(self.y == k, self.p(label), sample_weight=self.weight)
            ahead = (np.inf, 0, 0, tp[-1], fp[-1])  # above every probability
            counts = (np.append(first, rest) for first, rest in zip(ahead, (t, tp, fp, fn, tn), strict=True))
            table = pd.DataFrame(dict(zip(("threshold", "tp", "fp", "fn", "tn"), counts, strict=True)))
            self._curves[k] = _with_rates(table)
        return self._curves[k]

    def ranking(self, label: str | None = None) -> tuple[float, float]:
        """Return AUC and average precision of a class; NaN where all rows are of it, or none."""
        k = self._place(label)
        if k not in self._ranks:
            mine, p, found = self.y == k, self.p(label), (np.nan, np.nan)
            if 0 < self.shares[k] < 1:
                auc = roc_auc_score(mine, p, sample_weight=self.weight)
                found = float(auc), average_precision(p, mine, self.weight)
            self._ranks[k] = found
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
        """Return a class's figures at a threshold: a line of `curve`, before it class, behind it auc.

        label: the class; None for `interest`. One of the others says the threshold (.5 where none does): a
        probability; the lowest with at least this specificity; the highest with at least this sensitivity; the one
        that costs least where a missed row costs so many false alarms.

        Raises:
            TableError: no such class, more than one of these, or no rows to match.
        """
        given = {"threshold": threshold, "specificity": specificity, "sensitivity": sensitivity, "miss": miss}
        said = {name: value for name, value in given.items() if value is not None}
        if len(said) > 1:
            raise TableError(f"{', '.join(said)} are given; expected one of them")
        name, value = next(iter(said.items()), ("threshold", 0.5))
        if not (0 <= value <= 1 if name != "miss" else 0 < value < np.inf):
            wanted = "a number above 0" if name == "miss" else "a number from 0 to 1"
            raise TableError(f"{name}={value} does not fit; expected {wanted}")
        table, label = self.curve(label), self.classes[self._place(label)]
        if name in ("specificity", "sensitivity"):
            enough = np.flatnonzero(table[name] >= value - 1e-12)
            if not len(enough):
                other = "another class" if name == "specificity" else "this class"
                raise TableError(f"none of the rows is of {other}: there is no {name} of {label!r} to match")
            line = int(enough[-1] if name == "specificity" else enough[0])
            t = float(table.threshold[line])
        else:
            t = 1.0 / (1.0 + value) if name == "miss" else float(value)
            line = int(np.searchsorted(-table.threshold.to_numpy(), -t, side="right")) - 1
        return self._figures(self.classes.index(label), table.iloc[line].to_dict() | {"threshold": t})

    def as_predicted(self, label: str | None = None) -> pd.Series:
        """Return a class's figures as rows are predicted now, as `at` has them; the threshold is NaN."""
        k, each = self._place(label), np.ones(len(self.y)) if self.weight is None else self.weight
        mine, said = self.y == k, self.predicted == k
        parts = {"tp": mine & said, "fp": ~mine & said, "fn": mine & ~said, "tn": ~mine & ~said}
        counts = pd.DataFrame({"threshold": [np.nan], **{name: [each[of].sum()] for name, of in parts.items()}})
        return self._figures(k, _with_rates(counts).iloc[0].to_dict())

    def _figures(self, k: int, figures: dict[str, Any]) -> pd.Series:
        if self.weight is None:
            figures |= {name: int(figures[name]) for name in ("tp", "fp", "fn", "tn")}
        label = self.classes[k]
        return pd.Series({"class": label, **figures, "auc": self.ranking(label)[0]}, dtype=object)

    def by_class(self, most: int | None = None) -> pd.DataFrame:
        """Return a line for each class, the most frequent first: class, rows, share, predicted (share of rows said to
        be so), sensitivity and ppv of the predictions, auc, average_precision. most: no more classes than that.
        """
        n, every = len(self.classes), np.ones(len(self.y)) if self.weight is None else self.weight
        own, said = np.bincount(self.y, every, n), np.bincount(self.predicted, every, n)
        hit = np.bincount(self.y, every * (self.y == self.predicted), n)
        order = np.argsort(-own, kind="stable")[:most]
        ranks = np.array([self.ranking(self.classes[k]) for k in order])
        return pd.DataFrame(
            {
                "class": [self.classes[k] for k in order],
                "rows": own[order].astype(int) if self.weight is None else own[order],
                "share": own[order] / self.total, "predicted": said[order] / self.total,
                "sensitivity": _ratio(hit, own)[order], "ppv": _ratio(hit, said)[order],
                "auc": ranks[:, 0], "average_precision": ranks[:, 1],
            }
        )  # fmt: skip

    def reliability(self, label: str | None = None, bins: int = BINS) -> pd.DataFrame:
        """Return bins of rows by probability: rows, confidence (its mean), accuracy (share of those where it came
        true), effective (rows of equal weight that would say as much), standard_error. label: the class whose
        probability is meant; None: that of the most probable class.
        """
        if label is None:
            return reliability(self.log_p, self.y, bins, self.weight)
        return binned_reliability(self.p(label), self.y == self._place(label), bins, self.weight)

    def chance_ece(self) -> float:
        """Return the calibration error to be expected of as many rows if the probabilities were right: that of the mean
        of a bin's rows, about normal.
        """
        table = self.reliability()
        spread = np.sqrt(2 / np.pi * table.confidence * (1 - table.confidence) / table.effective)
        return float(np.average(spread, weights=table.rows))

    def _place(self, label: str | None) -> int:
        label = self.interest if label is None else str(label)
        if label not in self.classes:
            listed = ", ".join(map(repr, self.classes[:8])) + (" ..." if len(self.classes) > 8 else "")
            raise TableError(f"no class is called {label!r}{nearest(label, self.classes)}; the classes are {listed}")
        return self.classes.index(label)

    # -- where it fails ------------------------------------------------------------------------------------------------

    def groups(self, by: str | ArrayLike, label: str | None = None) -> pd.DataFrame:
        """Return a line for each group of rows: how good the predictions are there.

        by: a column, or an array (N,). Numbers of many values are cut into quarters; of many levels the twelve most
        frequent stand alone.

        Columns: group, rows (their number), error with its 95 % interval low, high (Wilson's), shares_error (of always
        saying the group's most frequent class), log_loss with its standard_error, shares_log_loss (of giving all its
        rows the group's class shares); and of a class (`label`, None for
        `interest`) share, predicted (share said to be so), p (mean probability), p_error (standard error of share - p
        if all probabilities were right), sensitivity with its 95 % interval sensitivity_low, sensitivity_high (NaN
        where no row is of it), specificity.
        """
        names = self._groups(by)
        k, each = self._place(label), np.ones(len(self.y)) if self.weight is None else self.weight
        losses, mine, said, p = row_losses(self.log_p, self.y), self.y == k, self.predicted == k, self.p(label)
        lines = []
        for group in names.cat.categories:
            rows = np.flatnonzero((names == group).to_numpy() & (each > 0))
            if not len(rows):
                continue
            w = each[rows] / each[rows].sum()
            effective = 1.0 / (w**2).sum()  # rows of equal weight that would say as much
            error, loss = float(w @ (self.predicted[rows] != self.y[rows])), float(w @ losses[rows])
            low, high = wilson(error, effective)
            hits = [float(w @ (mine[rows] & said[rows])), float(w @ ~(mine[rows] | said[rows]))]
            share, shares = float(w @ mine[rows]), np.bincount(self.y[rows], w)
            found = float(_ratio(hits[0], share))
            ends = wilson(found, effective * share) if share else (np.nan, np.nan)
            lines.append(
                {
                    "group": group, "rows": len(rows), "error": error, "low": low, "high": high,
                    "shares_error": float(shares.sum() - shares.max()), "log_loss": loss,
                    "standard_error": float(np.sqrt(w @ (losses[rows] - loss) ** 2 / max(effective - 1, 1))),
                    "shares_log_loss": max(0.0, float(entr(shares).sum())),
                    "share": share, "predicted": float(w @ said[rows]), "p": float(w @ p[rows]),
                    "p_error": float(np.sqrt(w**2 @ (p[rows] * (1 - p[rows])))),
                    "sensitivity": found, "sensitivity_low": ends[0], "sensitivity_high": ends[1],
                    "specificity": float(_ratio(hits[1], 1 - share)),
                }
            )  # fmt: skip
        return pd.DataFrame(lines)

    def _groups(self, by: str | ArrayLike) -> pd.Series:
        """The group of each row (N,), as a categorical of texts."""
        if isinstance(by, str):
            if by not in self.X.columns:
                raise TableError(f"no column is called {by!r}{nearest(by, map(str, self.X.columns))}; rows are grouped "
                                 "by a column, or by an array of a group for each")  # fmt: skip
            values = self.X[by].reset_index(drop=True)
        else:
            values = pd.Series(np.asarray(by))
            if values.shape != (len(self.y),):
                raise TableError(f"there are {len(values):,} groups for {len(self.y):,} rows; expected one for each")
        many = pd.api.types.is_numeric_dtype(values) and values.nunique() > LEVELS
        text, labels = _by_quarters(values) if many else _by_level(values)
        if text.isna().any():
            gap = next(name for name in (f"{'(' * n}missing{')' * n}" for n in count(1)) if name not in labels)
            text, labels = text.fillna(gap), [*labels, gap]
        return pd.Series(pd.Categorical(text, categories=list(dict.fromkeys(labels))))

    def worst(self, most: int = 20) -> pd.DataFrame:
        """Return the rows of the highest loss: class, predicted, p (of their class), p_predicted, loss (nats), and the
        row; the index is that of X.
        """
        losses = row_losses(self.log_p, self.y)
        at = np.argsort(-losses, kind="stable")[:most]
        names = np.asarray(self.classes, dtype=object)
        found = {
            "class": names[self.y[at]], "predicted": names[self.predicted[at]],
            "p": np.exp(-losses[at]), "p_predicted": np.exp(self.log_p[at, self.predicted[at]]), "loss": losses[at],
        }  # fmt: skip
        rows = self.X.iloc[at].rename(columns={name: f"{name} (column)" for name in found})
        return pd.concat([pd.DataFrame(found, index=rows.index), rows], axis=1)


def _by_quarters(values: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return the quarter of each number (N,) in words, and the quarters in their order."""
    numbers = values.to_numpy(float, na_value=np.nan)
    present = np.sort(numbers[~np.isnan(numbers)])  # quartiles are rows' own values: infinite ones are in order
    cuts = np.unique(present[[len(present) * k // QUARTERS - 1 for k in range(1, QUARTERS)]])
    labels = interval_labels(cuts, bool((present == np.floor(present)).all()))
    text = pd.Series(np.array(labels, dtype=object)[np.searchsorted(cuts, numbers)]).where(~np.isnan(numbers))
    return text, labels


def _by_level(values: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return the level of each row (N,) as text, the rarest beyond LEVELS as one, and the levels: numbers and ordered
    levels in their order, others by frequency.
    """
    ordered = isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered
    counts = values.value_counts(sort=not ordered or values.nunique() > LEVELS)
    numeric = pd.api.types.is_numeric_dtype(values)
    text_of = number_text if numeric and not pd.api.types.is_bool_dtype(values) else str
    counts = counts.sort_index() if numeric else counts
    text = values.astype(object).where(values.notna(), None).map(text_of, na_action="ignore")
    labels = list(dict.fromkeys(text_of(level) for level in counts.index[counts > 0]))
    if len(labels) > LEVELS:
        text = text.where(text.isin(labels[:LEVELS]) | text.isna(), OTHER)
        labels = [*labels[:LEVELS], OTHER]
    return text, labels


def percent(share: float) -> str:
    """Return a share as sentences have it.

    >>> percent(0.1343), percent(-0.02), percent(0.00042), percent(float("nan"))
    ('13.4 %', '-2.0 %', '0.042 %', '-')
    """
    if np.isnan(share):
        return "-"
    return f"{100 * share:.1f} %" if abs(share) >= 0.001 or share == 0 else f"{100 * share:.2g} %"


def wilson(share: float, rows: float) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many rows, E. B. Wilson's of 1927."""
    centre = share + _Z**2 / (2 * rows)
    half = _Z * np.sqrt(share * (1 - share) / rows + (_Z / (2 * rows)) ** 2)
    low, high = (centre - half) / (1 + _Z**2 / rows), (centre + half) / (1 + _Z**2 / rows)
    return (max(0.0, float(low)) if share > 0 else 0.0), (min(1.0, float(high)) if share < 1 else 1.0)


def _ratio(above: Any, below: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(below) > 0, np.divide(above, below), np.nan)


def _with_rates(table: pd.DataFrame) -> pd.DataFrame:
    """Add to counts what follows from them."""
    tp, fp, fn, tn = (table[name].to_numpy(float) for name in ("tp", "fp", "fn", "tn"))
    total = tp + fp + fn + tn
    ppv = _ratio(tp, tp + fp)
    rates = {
        "sensitivity": _ratio(tp, tp + fn), "specificity": _ratio(tn, tn + fp), "ppv": ppv, "npv": _ratio(tn, tn + fn),
        "accuracy": (tp + tn) / total, "positive": (tp + fp) / total, "lift": _ratio(ppv, (tp + fn) / total),
    }  # fmt: skip
    return table.assign(**rates)
