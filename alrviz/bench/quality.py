"""How good the probabilities are: our models beside boosting, forests and additive models on every set of 500 rows.

Each method learns from the same five stratified folds of each set (at most 50,000 training rows, drawn at random), at
its own defaults and on one thread. Nothing is tuned on test rows, nothing is told of a set but which columns are
numbers. A method that is not installed, fails or takes longer than --limit seconds for a set is told as such, and
has the last rank there.

Printed: a line a method, by mean rank in held-out log loss; the geometric mean of its log loss over that of
scikit-learn's gradient boosting, on all sets and by kind of set (mostly categorical: at most a third of the columns are
numbers; numeric: all are); the sets on which it is worse than the class shares by more than a standard error; and the
critical difference of mean ranks (Nemenyi, p .05).
"""

import argparse
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from alrviz.bench._child import Peak, in_child
from alrviz.bench._sets import load_set
from alrviz.bench._tools import Row, show
from alrviz.data.dataset import Dataset
from alrviz.errors import AlrvizError
from alrviz.estimators.auto import AutoClassifier
from alrviz.estimators.make import make_estimator
from alrviz.estimators.peers import make_peer
from alrviz.fitting.folds import split_folds
from alrviz.fitting.recipe import Recipe
from alrviz.reproduce.sets import BIG_SETS, LITTLE_SETS
from alrviz.studies.statistics.measures import measures, row_losses
from alrviz.studies.statistics.significance import geometric_mean_ratio, mean_ranks

FOLDS, LEAST_ROWS, MOST_ROWS = 5, 500, 50_000
RIVAL = "boosting"  # what ratios are over
LEAST_LOSS = 0.001  # of a ratio: where nothing is left to learn, noise is not to decide
KINDS = ("all", "categorical", "mixed", "numeric")


class OneHot:
    """A rival that takes numbers alone: gaps of numbers stay, or are filled with the median; levels are one-hot."""

    def __init__(self, model: Any, fill: bool = False):
        self.model, self._fill = model, fill

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> "OneHot":
        """Learn."""
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder

        numbers: Any = SimpleImputer(strategy="median", keep_empty_features=True) if self._fill else "passthrough"
        self._columns = make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                make_column_selector(dtype_exclude="number"),
            ),
        )
        self.model.fit(self._columns.fit_transform(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Probabilities (N, C)."""
        found: NDArray[np.float64] = self.model.predict_proba(self._columns.transform(X))
        return found


def _ours(family: str, **params: Any) -> Callable[[Sequence[int]], Any]:
    return lambda _: make_estimator(Recipe(family, **params), n_jobs=1)


def _boosting(categorical: Sequence[int]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # More levels than its bins cannot be categories there: `_for` leaves the commonest.
    return HistGradientBoostingClassifier(early_stopping=True, categorical_features=categorical or None, random_state=0)


def _forest(_: Sequence[int]) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return OneHot(RandomForestClassifier(300, random_state=0), fill=True)


def _ebm(categorical: Sequence[int]) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0, n_jobs=1)


def _catboost(categorical: Sequence[int]) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        cat_features=list(categorical), random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
    )


def _lightgbm(_: Sequence[int]) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)


METHODS: Mapping[str, Callable[[Sequence[int]], Any]] = {
    "nb": _ours("anje", order=1),
    "lr n=1": _ours("lr", order=1),
    "lr n=2": _ours("lr", order=2),
    "alr n=1": _ours("alr", order=1),
    "alr n=2": _ours("alr", order=2),
    "hlr n=2": _ours("hlr", order=2, alpha="auto"),
    "halr n=2": _ours("halr", order=2, alpha="auto"),
    "auto": lambda _: AutoClassifier(n_jobs=1),
    "a1de": _ours("ande"),
    "splines": lambda _: make_peer("splines"),
    RIVAL: _boosting,
    "forest": _forest,
    "ebm": _ebm,
    "catboost": _catboost,
    "lightgbm": _lightgbm,
}
_OWN_TYPES = ("nb", "lr", "alr", "hlr", "halr", "auto", "a1de", "splines")  # what takes a table as it was read


def is_ours(method: str) -> bool:
    """Whether a method is a model of this package."""
    return method != "splines" and method.split()[0] in _OWN_TYPES


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, methods and limits."""
    known = [each.name for each in (*LITTLE_SETS, *BIG_SETS)]
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"which sets (default: all of {len(known)} that fit)")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), metavar="METHOD")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="most training rows (default: 50,000)")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for a method's five folds of a set")
    parser.add_argument("--known", type=Path, metavar="FILE", help="figures of an earlier run (--csv), not made again")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a line a method and set as they come, then the ranks; yield a row a fold."""
    if options.data is None:
        raise AlrvizError("the sets are read from a folder; expected --data DIR")
    known = pd.read_csv(options.known, comment="#") if options.known else pd.DataFrame(columns=["set", "method"])
    yield from known.to_dict("records")
    frames = [known]
    for name in options.sets or _sets(options.data):
        dataset = load_set(options.data, name)
        if dataset.n_rows < LEAST_ROWS:
            continue
        for method in options.methods:
            if ((known["set"] == name) & (known["method"] == method)).any():
                continue
            answer = in_child(judged, options.data, name, method, options.rows, limit=options.limit)
            rows = answer.value or [{"set": name, "method": method, "kind": kind_of(dataset), "why": answer.refused}]
            frames.append(pd.DataFrame(rows))
            of = frames[-1]
            words = f"{of.log_loss.mean():.4f} in {of.fit_seconds.mean():.2f} s" if answer.value else answer.refused
            print(f"{name}, {method}: {words}", flush=True)
            yield from rows
    report(pd.concat([frame for frame in frames if len(frame)], ignore_index=True))


def _sets(folder: Path) -> list[str]:
    return [each.name for each in (*LITTLE_SETS, *BIG_SETS) if not each.missing(folder)]


def kind_of(dataset: Dataset) -> str:
    """Return which of KINDS a set is by its columns."""
    used = [kind for kind in dataset.kinds.values() if kind != "ignore"]
    share = sum(kind == "numeric" for kind in used) / len(used)
    return "numeric" if share == 1 else "categorical" if share <= 1 / 3 else "mixed"


def judged(folder: Path, name: str, method: str, rows: int) -> list[Row]:
    """Return a row a fold of what a method comes to on a set; in a process of its own."""
    dataset = load_set(folder, name)
    y = np.unique(dataset.y, return_inverse=True)[1]
    found: list[Row] = []
    for fold, (train, test) in enumerate(split_folds(y, FOLDS, 0)):
        drawn = np.sort(np.random.default_rng(fold).permutation(train)[:rows])
        X, own = _for(method, dataset.X, drawn)
        try:
            model = METHODS[method](own)
        except ImportError as error:
            raise AlrvizError(f"{error.name} is not installed") from error
        peak, begin = Peak(), time.perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a rival says of its own
            try:
                model.fit(X.iloc[drawn], y[drawn])
            except (ValueError, RuntimeError) as error:  # such as a class of one row, which boosting cannot divide
                raise AlrvizError(f"{type(error).__name__}: {error}") from error
            fitted = time.perf_counter()
            p = np.asarray(model.predict_proba(X.iloc[test]), dtype=float)
        done = time.perf_counter()
        log_p = _over_all(p, np.unique(y[drawn]), int(y.max()) + 1)
        shares = np.bincount(y[drawn], minlength=log_p.shape[1]) / len(drawn)
        worse = row_losses(log_p, y[test]) - row_losses(_over_all(shares[None], None, 0).repeat(len(test), 0), y[test])
        found.append(
            {
                "set": name, "kind": kind_of(dataset), "method": method, "fold": fold, "rows": len(drawn),
                "columns": X.shape[1], "classes": log_p.shape[1], **vars(measures(log_p, y[test])),
                "auc": _auc(log_p, y[test]), "over_shares": float(worse.mean()),
                "over_shares_se": float(worse.std() / np.sqrt(len(worse))), "fit_seconds": fitted - begin,
                "predict_seconds": done - fitted, "peak_bytes": peak.growth, "model_bytes": len(pickle.dumps(model)),
            }
        )  # fmt: skip
    return found


def _for(method: str, X: pd.DataFrame, train: NDArray[np.intp]) -> tuple[pd.DataFrame, list[int]]:
    """The table as a method takes it, and which of its columns are categories."""
    if method.split()[0] in _OWN_TYPES:
        return X, []
    X = X.copy()
    own = [k for k, name in enumerate(X) if not pd.api.types.is_numeric_dtype(X[name])]
    for k in own:
        text = X.iloc[:, k].astype(object).where(X.iloc[:, k].notna(), "(missing)").astype(str)
        if method == RIVAL:  # 255 levels at most: the others are one
            common = text.iloc[train].value_counts().index[:254]
            text = text.where(text.isin(common), "(others)")
            codes = pd.Categorical(text, [*common, "(others)"]).codes
            X.isetitem(k, codes.astype(float))
        else:
            X.isetitem(k, text.astype("category") if method == "lightgbm" else text)
    return X, own


def _over_all(p: NDArray[np.float64], classes: NDArray[np.integer] | None, n_classes: int) -> NDArray[np.float64]:
    """Log probabilities of all classes; one that the training rows lack has next to nothing, for every method alike."""
    if classes is not None:
        whole = np.zeros((len(p), n_classes))
        whole[:, classes] = p
        p = whole
    p = np.clip(p, 1e-12, None)
    logs: NDArray[np.float64] = np.log(p / p.sum(axis=1, keepdims=True))
    return logs


def _auc(log_p: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Area under the ROC curve, of each class against the others, their mean over classes that occur."""
    from sklearn.metrics import roc_auc_score

    there = [k for k in range(log_p.shape[1]) if 0 < (y == k).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == k, log_p[:, k]) for k in there])) if there else float("nan")


def critical_difference(methods: int, sets: int) -> float:
    """Return by how much two mean ranks must differ (Nemenyi, p .05): q / sqrt(2) sqrt(K (K + 1) / 6 D)."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(0.95, methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(methods * (methods + 1) / (6.0 * sets)))


def ranking(found: pd.DataFrame) -> tuple[pd.DataFrame, "pd.Series[float]"]:
    """Return log losses (sets by methods; NaN where one was not fitted) and mean ranks, the best first."""
    means = found.groupby(["set", "kind", "method"]).log_loss.mean()
    losses = means.unstack("method")
    return losses, pd.Series(mean_ranks(losses.fillna(np.inf)), losses.columns).sort_values()


def report(found: pd.DataFrame) -> None:
    """Print what came of each method, the best mean rank first."""
    names = ["log_loss", "error", "auc", "brier", "ece", "over_shares", "over_shares_se", "fit_seconds"]
    means = found.groupby(["set", "kind", "method"], as_index=False)[[*names, "predict_seconds", "rows"]].mean()
    losses, ranks = ranking(found)
    kinds = losses.index.get_level_values("kind")
    rival = losses[RIVAL].clip(lower=LEAST_LOSS) if RIVAL in losses else pd.Series(np.nan, losses.index)
    lines = []
    for method, rank in ranks.items():
        of = means[means.method == method]
        ratios = [
            geometric_mean_ratio(losses[method].clip(lower=LEAST_LOSS)[mine], rival[mine])
            for mine in ((kinds == kind) | (kind == "all") for kind in KINDS)
        ]
        worse = int((of.over_shares > of.over_shares_se).sum())
        lines.append(
            (method, f"{rank:.2f}", *(f"{ratio:.3f}" for ratio in ratios), f"{of.error.mean():.4f}",
             f"{of.auc.mean():.4f}", f"{of.brier.mean():.4f}", f"{of.ece.mean():.4f}", str(worse),
             f"{of.fit_seconds.median():.2f} s", str(int(losses[method].isna().sum())))
        )  # fmt: skip
    counts = ", ".join(f"{(kinds == kind).sum()} {kind}" for kind in KINDS[1:])
    print(f"\n{len(losses)} sets ({counts}); log loss over boosting's: geometric means")
    header = ("method", "rank", *KINDS, "error", "AUC", "Brier", "ECE", "worse than shares", "fit", "not fitted")
    show(lines, header=header)
    if len(losses) > 1:
        difference = critical_difference(len(ranks), len(losses))
        print(f"mean ranks that differ by less than {difference:.2f} are not told apart (Nemenyi, p .05)")
