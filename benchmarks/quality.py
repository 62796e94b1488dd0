"""How good the probabilities are: our models beside boosting, forests and additive models on every set of 500 rows.

Each method learns from the same five stratified folds of each set (of a set of more than --rows rows, of as many that
are drawn at random), on one thread and at its own defaults; "tuned" rivals choose settings on inner folds. Nothing is
tuned on test rows, nothing is told of a set but which columns are numbers. A method that is not installed, fails or
takes longer than --limit processor seconds for a fit is told as such, and has the last rank there.

Printed: a line a method, by mean rank in held-out log loss; the geometric mean of its log loss over that of
scikit-learn's gradient boosting (a loss below .001 counts as that, one above the class shares' as theirs), on all
sets and by kind of set (mostly categorical: at most a third of the columns are numbers; numeric: all are); the sets
on which it is worse than the class shares by more than a standard error; and the critical difference of mean ranks
(Nemenyi, p .05).
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

from alrviz.data.dataset import Dataset
from alrviz.data.read import read_table
from alrviz.data.splits import split_folds
from alrviz.errors import AlrvizError
from alrviz.estimators.auto import AutoClassifier
from alrviz.estimators.make import make_estimator
from alrviz.fitting.recipe import Recipe
from alrviz.studies.statistics.measures import measures, row_losses
from alrviz.studies.statistics.significance import geometric_mean_ratio, mean_ranks
from benchmarks._child import Peak, in_child, processor_limit
from benchmarks._rivals import RIVAL, RIVALS, TUNED_RIVALS, as_taken, log_probabilities
from benchmarks._sets import NEW_SETS, load_set, new_set
from benchmarks._tools import Row, show
from reproduction.sets import BIG_SETS, LITTLE_SETS

FOLDS, LEAST_ROWS, MOST_ROWS = 5, 500, 20_000
LEAST_LOSS = 0.001  # of a ratio: where nothing is left to learn, noise is not to decide
KINDS = ("all", "categorical", "mixed", "numeric")
RARE = "1 row in 1,000"  # a set that is made


def _our_model(family: str, **params: Any) -> Callable[[Sequence[int]], Any]:
    return lambda _: make_estimator(Recipe(family, **params), n_jobs=1)


METHODS: Mapping[str, Callable[[Sequence[int]], Any]] = {
    "nb": _our_model("anje", order=1),
    "lr n=1": _our_model("lr", order=1, alpha=0.3),
    "lr n=2": _our_model("lr", order=2, alpha=0.3),
    "alr n=1": _our_model("alr", order=1, alpha=1.0),
    "alr n=2": _our_model("alr", order=2, alpha=1.0),
    "hlr n=2": _our_model("hlr", order=2, alpha="auto"),
    "halr n=2": _our_model("halr", order=2, alpha="auto"),
    "auto": lambda _: AutoClassifier(n_jobs=1),
    "a1de": _our_model("ande"),
    **RIVALS,
    **TUNED_RIVALS,
}


def is_ours(method: str) -> bool:
    """Whether a method is a model of this package."""
    return method not in (*RIVALS, *TUNED_RIVALS)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, methods and limits."""
    all_sets = [entry.name for entry in (*LITTLE_SETS, *BIG_SETS)]
    parser.add_argument(
        "--sets", nargs="+", metavar="SET", help=f"which sets (default: all of {len(all_sets)} that fit)"
    )
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), metavar="METHOD")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="most rows of a set, drawn from it at random")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for a fit (default: 60)")
    parser.add_argument("--known", type=Path, metavar="FILE", help="figures of an earlier run (--csv), not made again")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a line a method and set as they come, then the ranks; yield a row a fold."""
    if options.data is None and not {*(options.sets or [""])} <= {*NEW_SETS}:
        raise AlrvizError("the sets are read from a folder; expected --data DIR")
    data = options.data or Path()  # tables of packages are in no folder
    saved = pd.read_csv(options.known, comment="#") if options.known else pd.DataFrame(columns=["set", "method"])
    yield from saved.to_dict("records")
    frames = [saved]
    for name in options.sets or _sets(data):
        dataset = _load(data, name)
        if dataset.n_rows < LEAST_ROWS and name not in NEW_SETS:
            continue
        for method in options.methods:
            if ((saved["set"] == name) & (saved["method"] == method)).any():
                continue
            task = (data, name, method, options.rows, options.limit)
            answer = in_child(judge_method, *task, limit=10 * FOLDS * options.limit)  # others use the machine too
            reason = f"not fitted within {options.limit:g} s" if answer.late else answer.reason
            rows = answer.value or [{"set": name, "method": method, "kind": kind_of(dataset), "why": reason}]
            frames.append(pd.DataFrame(rows))
            scores = frames[-1]
            words = f"{scores.log_loss.mean():.4f} in {scores.fit_seconds.mean():.2f} s" if answer.value else reason
            print(f"{name}, {method}: {words}", flush=True)
            yield from rows
    report(pd.concat([frame for frame in frames if len(frame)], ignore_index=True))


def rare_class(rows: int = 20_000) -> Dataset:
    """Return rows of six numbers and four categories, one in 1,000 of the second class, which some columns tell."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(rows, 6)), columns=list("abcdef"))
    for name in "ghij":
        frame[name] = random.choice(list("wxyz"), rows)
    score = frame.a - frame.b**2 / 2 + frame.c * frame.d + 2.0 * (frame.g == "w") - 1.5 * (frame.h == "x")
    return read_table(frame.assign(kind=_draw_class(score.to_numpy(), rows // 1000, random)), target="kind", name=RARE)


def _draw_class(score: NDArray[np.float64], count: int, random: np.random.Generator) -> NDArray[np.str_]:
    """`count` rows, drawn with odds exp(score): the largest scores with Gumbel noise."""
    rare = np.zeros(len(score), dtype=bool)
    rare[np.argsort(score + random.gumbel(size=len(score)))[-count:]] = True
    return np.where(rare, "yes", "no")


def _load(folder: Path, name: str) -> Dataset:
    return rare_class() if name == RARE else new_set(name) if name in NEW_SETS else load_set(folder, name)


def _sets(folder: Path) -> list[str]:
    return [entry.name for entry in (*LITTLE_SETS, *BIG_SETS) if not entry.missing(folder)]


def kind_of(dataset: Dataset) -> str:
    """Return which of KINDS a set is by its columns."""
    kinds = [kind for kind in dataset.kinds.values() if kind != "ignore"]
    share = sum(kind == "numeric" for kind in kinds) / len(kinds)
    return "numeric" if share == 1 else "categorical" if share <= 1 / 3 else "mixed"


def judge_method(folder: Path, name: str, method: str, rows: int, limit: float) -> list[Row]:
    """Return the measures of a method on a set, a row a fold; runs in a child process, which a late fit ends."""
    dataset = _load(folder, name)
    sample = np.sort(np.random.default_rng(0).permutation(dataset.n_rows)[:rows])
    table, y = dataset.X.iloc[sample], np.unique(dataset.y[sample], return_inverse=True)[1]
    figures: list[Row] = []
    for fold, splits in enumerate(split_folds(y, FOLDS, 0)):
        train, test = splits.train, splits.test
        X, categorical = (table, []) if is_ours(method) else as_taken(method, table, train)
        try:
            model = METHODS[method](categorical)
        except ImportError as error:
            raise AlrvizError(f"{error.name} is not installed") from error
        peak, begin = Peak(), time.process_time()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a rival says of its own
            try:
                with processor_limit(limit):
                    model.fit(X.iloc[train], y[train])
            except (ValueError, RuntimeError) as error:  # such as a class of one row, which boosting cannot divide
                raise AlrvizError(f"{type(error).__name__}: {error}") from error
            fit_end = time.process_time()
            p = np.asarray(model.predict_proba(X.iloc[test]), dtype=float)
        end = time.process_time()
        log_p = log_probabilities(p, np.unique(y[train]), int(y.max()) + 1)
        shares = np.bincount(y[train], minlength=log_p.shape[1]) / len(train)
        worse = row_losses(log_p, y[test]) - row_losses(
            log_probabilities(shares[None], None, 0).repeat(len(test), 0), y[test]
        )
        figures.append(
            {
                "set": name, "kind": kind_of(dataset), "method": method, "fold": fold, "rows": len(train),
                "columns": X.shape[1], "classes": log_p.shape[1], **vars(measures(log_p, y[test])),
                "auc": _auc(log_p, y[test]), "over_shares": float(worse.mean()),
                "over_shares_se": float(worse.std() / np.sqrt(len(worse))), "fit_seconds": fit_end - begin,
                "predict_seconds": end - fit_end, "peak_bytes": peak.growth, "model_bytes": len(pickle.dumps(model)),
            }
        )  # fmt: skip
    return figures


def _auc(log_p: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    """Area under the ROC curve, of each class against the others, their mean over classes that occur."""
    from sklearn.metrics import roc_auc_score

    occurring = [k for k in range(log_p.shape[1]) if 0 < (y == k).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == k, log_p[:, k]) for k in occurring])) if occurring else float("nan")


def critical_difference(methods: int, sets: int) -> float:
    """Return by how much two mean ranks must differ (Nemenyi, p .05): q / sqrt(2) sqrt(K (K + 1) / 6 D)."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(0.95, methods, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(methods * (methods + 1) / (6.0 * sets)))


def ranking(folds: pd.DataFrame) -> tuple[pd.DataFrame, "pd.Series[float]"]:
    """Return log losses (sets by methods; NaN where one was not fitted) and mean ranks, the best first."""
    losses = folds.groupby(["set", "kind", "method"]).log_loss.mean().unstack("method")
    return losses, pd.Series(mean_ranks(losses.fillna(np.inf)), losses.columns).sort_values()


def means_of(folds: pd.DataFrame) -> pd.DataFrame:
    """Return a row a set and method: means over folds, or why it was not fitted."""
    columns = ["rows", "log_loss", "error", "auc", "brier", "ece", "over_shares", "over_shares_se", "fit_seconds"]
    folds = folds.reindex(columns=["set", "kind", "method", *columns, "why"])
    groups = folds.groupby(["set", "kind", "method"])
    return groups[columns].mean().join(groups.why.first()).reset_index()


def limited_means(means: pd.DataFrame) -> pd.DataFrame:
    """Return the means with log losses as ratios count them: at least LEAST_LOSS, at most that of the class shares.

    Below the one is noise; a model above the other nobody would use, and how far above is not to decide a mean.
    """
    shares = means.log_loss - means.over_shares
    return means.assign(log_loss=means.log_loss.clip(lower=LEAST_LOSS).clip(upper=shares))


def summary(means: pd.DataFrame) -> pd.DataFrame:
    """Return the summary of each method as text, the best mean rank first."""
    losses, ranks = ranking(limited_means(means))[0], ranking(means)[1]
    kinds = losses.index.get_level_values("kind")
    rival = losses.get(RIVAL, pd.Series(np.nan, losses.index))
    lines = {}
    for method, rank in ranks.items():
        part = means[means.method == method]
        of_kind = ((kinds == k) | (k == "all") for k in KINDS)
        ratios = (geometric_mean_ratio(losses[method][is_kind], rival[is_kind]) for is_kind in of_kind)
        values = [*ratios, part.error.mean(), part.auc.mean(), part.brier.mean(), part.ece.mean()]
        worse = int((part.over_shares > part.over_shares_se).sum())
        lines[method] = [f"{rank:.2f}", *(f"{x:.3f}" for x in values), str(worse), f"{part.fit_seconds.median():.2f} s",
                         str(int(losses[method].isna().sum()))]  # fmt: skip
    header = ["rank", *KINDS, "error", "AUC", "Brier", "ECE", "worse than shares", "fit", "not fitted"]
    return pd.DataFrame.from_dict(lines, orient="index", columns=header)


def report(folds: pd.DataFrame) -> None:
    """Print the summary of each method, the best mean rank first."""
    means = means_of(folds)
    losses, ranks = ranking(means)
    kinds = means.drop_duplicates("set").kind
    counts = ", ".join(f"{(kinds == kind).sum()} {kind}" for kind in KINDS[1:])
    print(f"\n{len(losses)} sets ({counts}); log loss over boosting's: geometric means")
    lines = summary(means)
    show(lines.itertuples(name=None), header=("method", *lines.columns))
    if len(losses) > 1:
        difference = critical_difference(len(ranks), len(losses))
        print(f"mean ranks that differ by less than {difference:.2f} are not told apart (Nemenyi, p .05)")
