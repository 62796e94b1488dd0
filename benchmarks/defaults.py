"""Default alpha, penalty, center and start: held-out log loss of a grid of settings on ten sets.

Every setting is fitted on each half of a set in turn and judged on the other half, cuts learned on the training half.
A set's rows are a fixed random sample, so that (training rows) x (tuples) x (classes) stays under WORK. A setting's
figure is the geometric mean over the sets of

    max(log loss, 0.01) / max(lowest log loss of the family on the set, 0.01)

so that every set counts alike, and one where nothing is left to learn does not decide.

--chosen: what alphas that are chosen on the training rows (`AutoClassifier`, of one order and its own cuts) lose on the
others, beside the best of a grid there, and their processor seconds beside one fit at the alphas chosen, by one thread.

--classifiers: every public classifier at its defaults on twelve sets, fitted to 70 % of the rows by one thread and
judged on the others: the geometric mean of its log loss over AutoClassifier's, and the sets on which it is worse than
the class shares by more than a standard error of the rows' differences.
"""

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import alrviz
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.data.splits import split_folds, split_holdout
from alrviz.errors import AlrvizError, UnseenLevelWarning
from alrviz.estimators.auto import AutoClassifier
from alrviz.fitting.families import choices
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from alrviz.models.linear import log_softmax
from alrviz.studies.statistics.measures import row_losses
from alrviz.studies.statistics.significance import geometric_mean_ratio
from benchmarks._rivals import log_probabilities
from benchmarks._sets import load_set
from benchmarks._tools import Row, show

SETS = (
    "adult", "car", "connect-4", "german", "house-votes-84", "letter-recognition", "nursery", "splice", "tic-tac-toe",
    "vowel",
)  # fmt: skip
ALPHAS = (0.0, 0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
WORK = 2_000_000
# Small sets are halved once more: their figures scatter most.
TWICE_BELOW = 1100
LEAST_LOSS = 0.01
# Of --chosen: small sets, the last four of which no way to choose has seen; the grid has the bounds of what is chosen.
SMALL_SETS = (
    "german", "car", "tic-tac-toe", "pima", "breast-cancer-wisconsin", "led", "volcanoes", "haberman",
)  # fmt: skip
DECADES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e5)
FOLDS = 5
# Of --classifiers: small and large, noisy and without noise, of numbers and of levels.
CLASSIFIER_SETS = (
    "german", "car", "tic-tac-toe", "pima", "haberman", "volcanoes", "vowel", "page-blocks", "nursery", "splice",
    "magic", "adult",
)  # fmt: skip
AUTOMATIC = "AutoClassifier"
SETTING = ["family", "alpha", "penalty", "center", "start"]


@dataclass(frozen=True)
class Half:
    """Training rows of one half of a set, and the other half for validation, encoded alike."""

    train: Encoded
    validation: Encoded


def halves(dataset: Dataset, order: int, rows: int) -> Iterator[Half]:
    """Yield the two halves of a sample of `dataset`, or four of two shuffles."""
    tuples = comb(dataset.X.shape[1], min(order, dataset.X.shape[1]))
    n_rows = min(dataset.n_rows, 2 * rows, 2 * WORK // (tuples * dataset.n_classes))
    sample = np.random.default_rng(0).permutation(dataset.n_rows)[:n_rows]
    labels, size = np.unique(dataset.y[sample], return_counts=True)
    sample = sample[np.isin(dataset.y[sample], labels[size > 1])]  # a class of one row cannot be in both halves
    X, y = dataset.X.iloc[sample].reset_index(drop=True), dataset.y[sample]
    for seed in range(2 if n_rows <= TWICE_BELOW else 1):
        for half in split_folds(y, 2, seed):
            train, validation = half.train, half.test
            encoder = Encoder().fit(X.iloc[train], y[train])
            yield Half(
                encoder.encode(X.iloc[train], y[train]),
                encoder.encode(X.iloc[validation], y[validation]),
            )


def grid(family: str, order: int, max_iter: int, alphas: Sequence[float]) -> list[Recipe]:
    """Return the settings of `family` that are compared, from zero."""
    penalties = choices(family, "penalty") if family == "alr" else ("phi",)  # w is phi in lr
    plain = Recipe(family, order=order, solver="lbfgs", max_iter=max_iter, start="zero")
    return [
        plain.replace(alpha=alpha, penalty=penalty, center=center)
        for alpha in alphas
        for penalty in penalties
        for center in choices(family, "center")
        if alpha > 0 or (penalty, center) == ("phi", 0)
    ]


def starts(family: str, order: int, max_iter: int) -> list[Recipe]:
    """Return the family's fixed penalty and the unpenalised one, from every start."""
    plain = Recipe(family, order=order, solver="lbfgs", max_iter=max_iter)
    return [
        plain.replace(alpha=alpha, start=start)
        for alpha in (0.0, plain.definition.params["alpha"].default_in_links)
        for start in choices(family, "start")
    ]


def fit_setting(half: Half, recipe: Recipe) -> dict[str, object]:
    """Fit one setting on one half; return the setting with its losses, iterations and seconds."""
    run = Run.on_encoded(half.train, recipe, n_jobs=1)
    begin = time.perf_counter()
    for _ in run.steps():
        pass
    seconds = time.perf_counter() - begin
    assert run.model is not None
    assert run.outcome is not None
    log_p = log_softmax(run.model.scores_of(half.validation))
    rows = half.validation
    loss = -float(np.average(log_p[np.arange(rows.n_rows), rows.y], weights=rows.weights))
    setting = {"family": recipe.family, **{name: recipe.params[name] for name in SETTING[1:]}}
    last = run.trace[-1]
    return {
        **setting,
        "log_loss": loss,
        "train_log_loss": last.nll / run.trace.rows,
        "iterations": last.index,
        "evaluations": last.evaluations,
        "seconds": seconds,
        "outcome": run.outcome.code,
    }


def measure(dataset: Dataset, recipes: list[Recipe], rows: int) -> pd.DataFrame:
    """Return one row per setting and half."""
    order = int(recipes[0].params["order"])
    records = []
    for number, half in enumerate(halves(dataset, order, rows)):
        records += [{"set": dataset.name, "half": number, **fit_setting(half, recipe)} for recipe in recipes]
    return pd.DataFrame(records)


def chosen_regrets(dataset: Dataset, order: int, alphas: Sequence[float]) -> Iterator[Row]:
    """Yield a row a fold of what alphas that were chosen lose, and of the least that any of the grid loses."""
    for fold, splits in enumerate(split_folds(dataset.y, FOLDS, 0)):
        rows = splits.train, splits.test
        model, loss, searched = fit_auto(dataset, *rows, order=order)
        settings: dict[str, Any] = {"order": order, "discretize": model.encoder_.discretize}
        once = fit_auto(dataset, *rows, **settings, alpha=model.alpha_)[2]
        points = product(alphas, repeat=order)
        grid_losses = {point: fit_auto(dataset, *rows, **settings, alpha=point)[1] for point in points}
        best = min(grid_losses, key=lambda point: grid_losses[point])
        yield {
            "set": dataset.name, "fold": fold, **settings, "alpha": model.alpha_, "log_loss": loss, "best": best,
            "best_log_loss": grid_losses[best], "search_seconds": searched, "fit_seconds": once,
        }  # fmt: skip


def fit_auto(
    dataset: Dataset, train: NDArray[np.intp], test: NDArray[np.intp], **settings: Any
) -> tuple[AutoClassifier, float, float]:
    """Return a model of some rows, its log loss on the others, and the processor seconds of the fit."""
    begin = time.process_time()
    model = AutoClassifier(n_jobs=1, **settings).fit(dataset.X.iloc[train], dataset.y[train])
    processor_seconds = time.process_time() - begin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        p = model.predict_proba(dataset.X.iloc[test])
    of_class = p[np.arange(len(test)), np.searchsorted(model.classes_, dataset.y[test])]
    return model, -float(np.log(of_class).mean()), processor_seconds


def public_classifiers() -> dict[str, Any]:
    """Return the classes of all classifiers that fit a table, by name."""
    names = [name for name in dir(alrviz) if name.endswith("Classifier") and name != "ConformalClassifier"]
    return {name: getattr(alrviz, name) for name in names}


def default_losses(dataset: Dataset, rows: int, names: Sequence[str]) -> Iterator[Row]:
    """Yield a row a classifier: its log loss at its defaults, the difference from the class shares, and its seconds."""
    sample = np.sort(np.random.default_rng(0).permutation(dataset.n_rows)[: 2 * rows])
    X, y = dataset.X.iloc[sample], np.unique(dataset.y[sample], return_inverse=True)[1]
    splits = split_holdout(y, 0.3, 0)
    train, test = splits.train, splits.test
    n_classes = int(y.max()) + 1
    share_losses = -np.log(np.bincount(y[train], minlength=n_classes) / len(train))[y[test]]
    for name in names:
        model, begin = public_classifiers()[name](n_jobs=1), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X.iloc[train], y[train])
            seconds = time.process_time() - begin
            p = model.predict_proba(X.iloc[test])
        losses = row_losses(log_probabilities(p, model.classes_, n_classes), y[test])
        worse = losses - share_losses
        yield {
            "set": dataset.name, "classifier": name, "log_loss": losses.mean(), "shares_log_loss": share_losses.mean(),
            "over_shares": worse.mean(), "over_shares_se": worse.std() / np.sqrt(len(worse)), "seconds": seconds,
        }  # fmt: skip


def ranked(fits: pd.DataFrame) -> pd.DataFrame:
    """Return one row per setting, the best of each family first: mean and worst ratio, mean rank, mean iterations.

    `limit` is the share of the setting's fits that ended at the step limit.
    """
    by_set = fits.groupby([*SETTING, "set"], as_index=False)[["log_loss", "iterations", "seconds"]].mean()
    floored = by_set.log_loss.clip(lower=LEAST_LOSS)
    by_set["ratio"] = floored / floored.groupby([by_set.family, by_set.set]).transform("min")
    by_set["rank"] = by_set.groupby(["family", "set"]).ratio.rank()
    by_set["log_ratio"] = np.log(by_set.ratio)
    of_setting = by_set.groupby(SETTING, sort=False)
    table = of_setting.agg(
        mean=("log_ratio", "mean"),
        worst=("ratio", "max"),
        rank=("rank", "mean"),
        iterations=("iterations", "mean"),
        seconds=("seconds", "mean"),
    ).reset_index()
    table["mean"] = np.exp(table["mean"])
    at_limit = fits.assign(limit=fits.outcome == "step limit").groupby(SETTING, as_index=False).limit.mean()
    table = table.merge(at_limit, on=SETTING)
    return table.sort_values(["family", "mean"], kind="stable", ignore_index=True)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add order, sets and size."""
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="which sets (default: the ten; with --chosen eight)")
    parser.add_argument("--rows", type=int, default=5000, help="most training rows of a set (default: 5000)")
    parser.add_argument("--max-iter", type=int, default=200, help="most iterations of a fit (default: 200)")
    parser.add_argument("--alphas", nargs="+", type=float, help="which alphas are compared")
    parser.add_argument("--starts", action="store_true", help="compare starts at the default setting instead")
    parser.add_argument("--chosen", action="store_true", help="compare alphas that are chosen with a grid instead")
    parser.add_argument("--classifiers", nargs="*", metavar="CLASS", help="compare public classifiers (all) instead")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print the ranked settings, then the log loss per set of the best of each family; yield a row a fit."""
    if options.data is None:
        raise AlrvizError("the ten sets are read from a folder; expected --data DIR")
    if options.chosen:
        yield from run_chosen(options)
        return
    if options.classifiers is not None:
        yield from run_classifiers(options)
        return
    recipes = [
        recipe
        for family in ("lr", "alr")
        for recipe in (
            starts(family, options.order, options.max_iter)
            if options.starts
            else grid(family, options.order, options.max_iter, options.alphas or ALPHAS)
        )
    ]
    frames = []
    for name in options.sets or SETS:
        begin = time.perf_counter()
        frames.append(measure(load_set(options.data, name), recipes, options.rows))
        print(f"{name}: {len(frames[-1])} fits, {time.perf_counter() - begin:.0f} s", flush=True)
        yield from frames[-1].to_dict("records")
    fits = pd.concat(frames, ignore_index=True)
    report(fits)


def run_chosen(options: argparse.Namespace) -> Iterator[Row]:
    """Print a line a set of what chosen alphas lose beside the best; yield a row a fold."""
    warm(wide=False)
    lines = []
    for name in options.sets or SMALL_SETS:
        rows = list(chosen_regrets(load_set(options.data, name), options.order, options.alphas or DECADES))
        yield from rows
        loss, best, searched, once = pd.DataFrame(rows)[
            ["log_loss", "best_log_loss", "search_seconds", "fit_seconds"]
        ].mean()
        regrets = [row["log_loss"] - row["best_log_loss"] for row in rows]
        regret = (loss - best, min(regrets), max(regrets))
        lines.append((name, f"{loss:.4f}", f"{best:.4f}", *(f"{value:+.4f}" for value in regret), f"{searched:.2f} s",
                      f"{once:.2f} s", f"{searched / once:.1f}"))  # fmt: skip
        print(f"{name}: {regret[0]:+.4f} in the mean of {len(rows)} folds", flush=True)
    print()
    show(lines, header=("set", "chosen", "best", "regret", "least", "most", "search and fit", "one fit", "times"))


def run_classifiers(options: argparse.Namespace) -> Iterator[Row]:
    """Print a line a classifier; yield a row a classifier and set."""
    warm(wide=False)
    names = options.classifiers or list(public_classifiers())
    names = [AUTOMATIC, *(name for name in names if name != AUTOMATIC)]
    rows: list[Row] = []
    for set_name in options.sets or CLASSIFIER_SETS:
        for row in default_losses(load_set(options.data, set_name), options.rows, names):
            rows.append(row)
            print(f"{set_name}, {row['classifier']}: {row['log_loss']:.4f} in {row['seconds']:.2f} s", flush=True)
            yield row
    fits = pd.DataFrame(rows)
    losses = fits.pivot(index="classifier", columns="set", values="log_loss")[list(options.sets or CLASSIFIER_SETS)]
    ratio = losses.apply(lambda row: geometric_mean_ratio(row, losses.loc[AUTOMATIC]), axis=1)
    seconds = fits.groupby("classifier").seconds.median()
    print()
    show(
        ((name, f"{ratio[name]:.3f}", ", ".join(sets_below_shares(fits[fits.classifier == name])) or "none",
          f"{seconds[name]:.2f} s", *(f"{x:.3f}" for x in losses.loc[name]))
         for name in ratio.sort_values().index),
        header=("classifier", "mean ratio", "worse than shares on", "median fit", *losses.columns),
    )  # fmt: skip


def sets_below_shares(fits: pd.DataFrame) -> list[str]:
    """Return the sets on which a classifier is worse than the class shares by more than a standard error."""
    return list(fits["set"][fits.over_shares > fits.over_shares_se])


def report(fits: pd.DataFrame) -> None:
    """Print both tables."""
    table = ranked(fits)
    print()
    show(
        ((*row[:5], *(f"{x:.3f}" for x in row[5:7]), f"{row[7]:.1f}", f"{row[8]:.0f}", f"{row[9]:.2f} s",
          f"{row[10]:.0%}")
         for row in table.itertuples(index=False)),
        header=(*SETTING, "mean ratio", "worst", "mean rank", "iterations", "seconds", "at the limit"),
    )  # fmt: skip
    for family, best in table.groupby("family", sort=False):
        top = best.head(5)
        losses = fits.groupby([*SETTING, "set"]).log_loss.mean().unstack("set")
        print(f"\n{family}: log loss of the five best settings per set")
        show(
            ((" ".join(map(str, row[1:5])), *(f"{x:.4f}" for x in losses.loc[tuple(row[:5])]))
             for row in top.itertuples(index=False)),
            header=("setting", *losses.columns),
        )  # fmt: skip
