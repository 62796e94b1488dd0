"""Why figures of ours are not the paper's, put to runs that could refute it.

A reason told for lines that differ says what another run must show; that run is made here, a small one. Its row has the
items, the run in words, the quantity, ours, and the side of a limit on which the reason needs it
(`limits.limit_row`). On the other side the reason is refuted, and the pages say so.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import ShuffleSplit

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.data.mdl import mdl_cuts
from alrviz.data.read import read_table
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.discretizer import MDLDiscretizer
from alrviz.estimators.make import make_estimator
from alrviz.estimators.sklearn_models import ForestClassifier
from alrviz.fitting.recipe import Recipe, paper_mode
from alrviz.fitting.runs.run import Run
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.statistics.significance import geometric_mean_ratio, win_draw_loss
from reproduction.identities import one_optimum
from reproduction.judge import AGREES, DIFFERS, UNDECIDED
from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.limits import limit_lines, limit_row
from reproduction.racers import RACERS, selection_name
from reproduction.races import ABSOLUTE, RELATIVE, fitted_as_printed
from reproduction.sets import CLINICAL_SETS, LITTLE_SETS, MIXED_SETS, NUMERIC_SETS
from reproduction.settings import Settings
from reproduction.splits import TEST_SHARE, measure_split
from reproduction.tables import planted
from reproduction.toy import ACCURACY

NEW_ROWS = 20_000
SMALL = 1_000  # rows up to which a set is in a trial over sets
POINTS = 0.5  # of accuracy: within them nothing was gained
TRAINED, WARM = 3, 7  # times that a model is trained, that rows are classified, of which the shortest counts


RANKED = ("lr", "dlr-h", "dlr-h, with alpha 10")

TRIALS = "c21"  # the item
HOLDS, REFUTED = "holds", "refuted"
# By the items whose lines differ; behind a colon which of them, where not all are meant.
REASONS = {
    "c1": "MDL leaves columns of waveform uncut: their theta is 1, alr cannot move their cells, lr pays less penalty",
    "c5": "at n = 3 cells have few rows, so that theta tells little",
    "c8, alr-f4": "orders 2 and 3 cross near half a million hands, and with no penalty order 2 is ahead there",
    "c13, salr-t2": "columns are few, so that hsalr grows from nearly every one",
    "c15: dlr paper": "by Gauss-Newton's steps bandwidths go on moving once accuracy has settled",
    "c15: dlr loo": "judged without a row's own vote, bandwidths go on moving once accuracy has settled",
    "c19": "alr2 as printed has no penalty; with alpha 1 it is the better calibrated",
    "alr-t4, alr-f21, salr-f2": "the forest takes numbers as they are, alr cut ones",
    "alr-f7": "the first call of a model pays for what later ones do not",
    "alr-f9": "AnDE takes an exp a parent and class, alr one a class",
    "alr-f22": "100 trees take long on few rows; on many the forest is faster",
    "dlr-f4: rows learned from": f"{ACCURACY['dlr']} % is what one sample gives on the rows that were learned from",
    "dlr-f4: other rows": f"{ACCURACY['dlr']} % is what one sample gives on rows that were not learned from",
    "dlr-t6": "a fit of dlr takes as long whatever the columns",
    "dlr-t7": "as printed nothing holds dlr-h's weights back; held back it ranks better than lr",
}
# Runs that can refute their reason and nothing else: where they do not, that a p is above .05 is no sign of it.
REFUTE_ALONE = ("alr-t4, alr-f21, salr-f2", "dlr-f4: rows learned from", "dlr-f4: other rows")


def trial_lines(figures: pd.DataFrame) -> pd.DataFrame:
    """Return a line a trial (`COLUMNS`), without a verdict: whether the reason holds, and what it is."""
    lines = limit_lines(TRIALS, figures[figures["limit"].notna()] if "limit" in figures else figures.iloc[:0])
    ends = lines["verdict"].map({AGREES: HOLDS, DIFFERS: REFUTED})
    ends = ends.mask((ends == HOLDS) & lines["set"].isin(REFUTE_ALONE), UNDECIDED)
    reasons = ends + ": " + lines["set"].map(REASONS)
    return lines.assign(reason=reasons.fillna(lines["reason"]), verdict=lines["verdict"].where(ends.isna(), ""))


@dataclass(frozen=True)
class Outcome:
    """What a run shows, what becomes of the reason, and a word in the names of the methods it is about ("": all)."""

    run: str
    says: str
    methods: str = ""


def outcomes(table: pd.DataFrame) -> dict[str, list[Outcome]]:
    """Return by item what the runs show."""
    by_item: dict[str, list[Outcome]] = {}
    for line in table.to_dict("records"):
        run = f"{line['method']}: {line['quantity']} {line['ours']}, the reason needs {line['paper']}"
        items, _, methods = line["set"].partition(": ")
        for item in items.split(", ") if line["reason"].startswith((HOLDS, REFUTED, UNDECIDED)) else ():
            by_item.setdefault(item, []).append(Outcome(run, line["reason"], methods))
    return by_item


def trials_seen(table: pd.DataFrame) -> str:
    """Return how many reasons hold."""
    holds, refuted, open_ = (int(table["reason"].str.startswith(word).sum()) for word in (HOLDS, REFUTED, UNDECIDED))
    return f"{holds} runs are as the reason needs, {refuted} refute it, {open_} could have and did not"


def _limited(items: str, run: str, quantity: str, value: float, limit: float, is_floor: bool = False) -> list[Row]:
    return [limit_row(items, run, quantity, value, limit, is_floor)]


# -- one optimum -------------------------------------------------------------------------------------------------------


def cut_alone(order: int) -> list[Row]:
    """Claim 1: the families part on waveform for MDL leaves columns of it uncut. Without those they must not."""
    whole = load_demo("waveform", 400)
    classes, y = np.unique(whole.y, return_inverse=True)
    cut = [name for name in whole.X if len(mdl_cuts(whole.X[name].to_numpy(float), y, len(classes)))]
    frame = whole.X[cut].assign(**{whole.target: whole.y})
    rows = one_optimum(read_table(frame, target=whole.target, name="waveform"), order)
    run = f"n = {order}, waveform without the {whole.X.shape[1] - len(cut)} of {whole.X.shape[1]} columns left uncut"
    return _limited("c1", run, "largest (F - F*) / F* of all families", max(row["ours"] for row in rows), 1e-8)


# -- iterations --------------------------------------------------------------------------------------------------------


def many_rows(tables: int, n_rows: int, max_iter: int) -> list[Row]:
    """Claim 5: the gain is lost at n = 3 because cells have few rows there. With ten times the rows it must be back."""
    shares: dict[tuple[int, int], list[float]] = {(1, n_rows): [], (3, n_rows): [], (3, 10 * n_rows): []}
    for (order, rows), ratios in shares.items():
        for seed in range(tables):
            dataset, paths = planted(order, rows, seed).build(), []
            for recipe in fitted_as_printed((order,)).values():
                run = Run(dataset, recipe.replace(max_iter=max_iter, holdout=0.0), n_jobs=1)
                for _ in run.steps():
                    pass
                paths.append(np.minimum.accumulate(run.trace.frame()["nll"].to_numpy(float) / rows))
            lowest = min(path[-1] for path in paths)
            goal = ABSOLUTE if lowest < ABSOLUTE else lowest * (1 + RELATIVE)
            iterations = [float(np.append(np.flatnonzero(path <= goal), len(path) - 1)[0]) for path in paths]
            ratios.append(iterations[1] / iterations[0])
    means = {key: float(np.exp(np.mean(np.log(ratios)))) for key, ratios in shares.items()}
    details = ", ".join(f"{mean:.2f} at n = {order} on {rows:,} rows" for (order, rows), mean in means.items())
    quantity = f"alr's iterations over lr's, n = 3 on {10 * n_rows:,} rows, over n = 1"
    return _limited(
        "c5", f"{tables} tables of an order; {details}", quantity, means[3, 10 * n_rows] / means[1, n_rows], 1.0
    )


# -- poker hands -------------------------------------------------------------------------------------------------------


def hands(rows: int, penalty: bool) -> list[Row]:
    """Claim 8: orders 2 and 3 cross near half a million hands. With fewer hands order 3 must have the higher log loss;
    and without a penalty, as in the paper, at half a million too.
    """
    dataset = load_demo("poker-hand", rows)
    losses = []
    for order in (2, 3):
        recipe = (
            Recipe("lr", order=order, alpha=1.0, solver="lbfgs") if penalty else paper_mode(Recipe("lr", order=order))
        )
        run = Run(dataset, recipe.replace(max_iter=100, holdout=1 / 6), n_jobs=1)
        for _ in run.steps():
            pass
        last = run.trace.frame().iloc[-1]
        losses.append((float(last["heldout_log_loss"]), float(last["heldout_error"])))
    (two, wrong_two), (three, wrong_three) = losses
    words = f"{round(rows * 5 / 6):,} hands, {'alpha 1' if penalty else 'no penalty'}, 100 iterations: log loss of lr2 "
    words += f"{two:.4f}, lr3 {three:.4f}, 0-1 loss {wrong_two:.4f}, {wrong_three:.4f}"
    return _limited("c8, alr-f4", words, "log loss of lr3 over lr2", three / two, 1.0, is_floor=True)


# -- selected tuples ---------------------------------------------------------------------------------------------------

_BY_NAME = {entry.name: entry for entry in (*LITTLE_SETS, *NUMERIC_SETS, *MIXED_SETS)}
WIDE = ("house-votes-84", "mushroom", "kr-vs-kp", "chess")


def grown(sets: Sequence[Dataset]) -> list[Row]:
    """Claim 13: hsalr grows from nearly every tuple for columns are few. Of many it must have far fewer parameters."""
    ratios = {}
    for dataset in sets:
        counts = []
        for family in ("hsalr", "salr"):
            # Tuples are chosen before the first step.
            recipe = RACERS[selection_name(family, 2, "mi", 0.9)].replace(max_iter=1)
            model = make_estimator(recipe, n_jobs=1).fit(dataset.X, dataset.y)
            counts.append(model.cells_.n_parameters(len(model.classes_)))
        ratios[f"{dataset.name} {dataset.X.shape[1]}"] = counts[0] / counts[1]
    values = np.array(list(ratios.values()))
    run = f"n = 2, t = 0.9, a pair where one of its columns was kept, sets and columns: {', '.join(ratios)}"
    quantity = "parameters of hsalr over salr's, geometric mean"
    return _limited("c13, salr-t2", run, quantity, geometric_mean_ratio(values, np.ones(len(values))), 0.5)


# -- forests -----------------------------------------------------------------------------------------------------------


def on_cuts(sets: Sequence[Dataset]) -> list[Row]:
    """[ALR] figure 21: a forest errs less than alr2 for it takes numbers as they are. Of numbers cut by MDL as alr's
    are it must not: wins and losses are to be by chance, on sets with numbers.
    """
    values = []
    for dataset in sets:
        numeric = [name for name in dataset.X if dataset.kinds[name] == "numeric"]
        if dataset.n_rows <= SMALL and numeric:
            values.append(_forests(dataset, numeric))
    alr, raw, cut = np.array(values).T
    vs_cut, vs_raw = win_draw_loss(alr, cut, 4), win_draw_loss(alr, raw, 4)
    run = (
        f"forest on cut columns, {len(values)} sets with numbers and up to {SMALL:,} rows: alr2 against it {vs_cut}, "
        f"against the forest on numbers {vs_raw}; cutting costs the forest {geometric_mean_ratio(cut, raw):.2f} times"
    )
    items = "alr-t4, alr-f21, salr-f2"
    return _limited(items, run, "p of alr2's wins and losses against the forest on cut columns", vs_cut.p, 0.05, True)


def _forests(dataset: Dataset, numeric: list[str]) -> tuple[float, float, float]:
    """0-1 loss of alr2, the forest and the forest on cut columns, over the folds that the sets are judged on."""
    wrong = []
    for task in bias_variance(dataset, [RACERS["rf"]], rounds=2, n_jobs=1, keep=False).tasks:
        splits = task.split.splits(dataset.y)
        train, test = splits.train, splits.test
        X, new, y, truth = dataset.X.iloc[train], dataset.X.iloc[test], dataset.y[train], dataset.y[test]
        cuts = MDLDiscretizer().fit(X[numeric].astype(float), y)
        cut, new_cut = (
            frame.assign(**dict(zip(numeric, cuts.transform(frame[numeric].astype(float)).T, strict=True)))
            for frame in (X, new)
        )
        alr = make_estimator(RACERS["alr2 paper"].replace(seed=task.seed), n_jobs=1).fit(X, y)
        forest = partial(ForestClassifier, random_state=task.seed, n_jobs=1)
        models = [(alr, new), (forest().fit(X, y), new), (forest().fit(cut, y), new_cut)]
        wrong.append([np.mean(model.predict(rows) != truth) for model, rows in models])
    alr_, raw, cut_ = np.mean(wrong, axis=0)
    return float(alr_), float(raw), float(cut_)


def penalised(sets: Sequence[Dataset]) -> list[Row]:
    """Claim 19: alr2 as printed is the worse calibrated without a penalty. With alpha 1 it must be better."""
    values = []
    for dataset in sets:
        if dataset.n_rows <= SMALL:
            study = bias_variance(dataset, [RACERS["alr2"], RACERS["anje2 paper"]], rounds=1, n_jobs=1, keep=False)
            study.run()
            frame = study.frame()
            values.append([frame.loc[frame["racer"] == racer, "ece"].mean() for racer in (0, 1)])
    alr, anje = np.array(values).T
    record = win_draw_loss(alr, anje, 4)
    run = f"alr2 with alpha 1, {len(values)} sets of up to {SMALL:,} rows, once 2-fold: calibration error "
    run += f"against AnJE's {record}, {geometric_mean_ratio(alr, anje):.2f} times"
    return _limited("c19", run, "sets on which it is lower less those on which higher", record.wins - record.losses,
                    0.0, is_floor=True)  # fmt: skip


# -- seconds -----------------------------------------------------------------------------------------------------------


def time_calls(sets: Sequence[Dataset]) -> list[Row]:
    """[ALR] figures 7, 9 and 22: a first call, the exp of AnDE and few rows are said to be what takes ours longer.

    A model is trained TRAINED times, rows are classified WARM times; the shortest counts. Then AnJE must not take
    longer than alr. Of what AnDE takes longer, exp of as many numbers must be half. On many rows a forest must train
    faster than alr.
    """
    figures, counts = [], []
    for dataset in sets:
        (task, *_) = bias_variance(dataset, [RACERS["rf"]], rounds=1, n_jobs=1, keep=False).tasks
        splits = task.split.splits(dataset.y)
        train, test = splits.train, splits.test
        X, y, new = dataset.X.iloc[train], dataset.y[train], dataset.X.iloc[test]
        counts.append(len(X))
        training, seconds = {}, {}
        for name in ("anje2 paper", "a1de", "alr2 paper", "rf"):
            model = make_estimator(RACERS[name], n_jobs=1)
            training[name] = min(_seconds(model.fit, X, y) for _ in range(TRAINED))
            seconds[name] = min(_seconds(model.predict_proba, new) for _ in range(WARM))
        numbers = np.random.default_rng(0).normal(size=(len(new), X.shape[1] * len(np.unique(y))))
        exps = min(_seconds(np.exp, numbers) for _ in range(WARM))
        alr, ande = seconds["alr2 paper"], seconds["a1de"]
        forest = training["rf"] / training["alr2 paper"]
        figures.append((seconds["anje2 paper"] / alr, exps / max(ande - alr, 1e-9), ande / alr, forest))
    anje, exps, ande, forest = np.exp(np.log(figures).mean(axis=0))
    run = f"{', '.join(dataset.name for dataset in sets)}, classified {WARM} times, the shortest"
    longer = f"{run}; a1de takes {ande:.2f} times alr2's"
    exp_of_it = "seconds of its exp over what it takes longer"
    trained = f"the same sets, {min(counts):,} to {max(counts):,} rows trained on {TRAINED} times, the shortest"
    return [
        limit_row("alr-f7", run, "seconds of AnJE over alr's, n = 2", float(anje), 1.0),
        limit_row("alr-f9", longer, exp_of_it, float(exps), 0.5, is_floor=True),
        limit_row("alr-f22", trained, "a forest's seconds of training over alr2's", float(forest), 1.0),
    ]


def _seconds(call: Callable[..., Any], *arguments: Any) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


# -- DLR ---------------------------------------------------------------------------------------------------------------


def one_sample(samples: int) -> list[Row]:
    """[DLR] figure 4: its accuracy is one sample's. Then ours must be as low in one of twenty at least."""
    fit_scores, new_scores = [], []
    for seed in range(samples):
        train, new = load_demo("four-gaussians", seed=seed), load_demo("four-gaussians", seed=seed + 1000)
        model = DLRClassifier(bandwidth="silverman", alpha=0.0, n_jobs=1).fit(train.X, train.y)
        fit_scores.append(100 * model.score(train.X, train.y))
        new_scores.append(100 * model.score(new.X, new.y))
    quantity = f"share of samples at most at the printed {ACCURACY['dlr']} %"
    return [
        limit_row(f"dlr-f4: {kind}", f"{samples} samples, accuracy on {kind}: mean {np.mean(scores):.1f} %, lowest "
                  f"{np.min(scores):.1f} %", quantity, float(np.mean(np.array(scores) <= ACCURACY["dlr"] + 0.05)), 0.05,
                  True)
        for kind, scores in (("rows learned from", fit_scores), ("other rows", new_scores))
    ]  # fmt: skip


def going_on(mode: str, draws: int) -> list[Row]:
    """Claim 15: bandwidths go on moving where it does not matter. From the fourth outer step on accuracy on new rows
    must rise by more than POINTS in one draw of ten at most.
    """
    gains, steps = [], []
    for seed in range(draws):
        train, new = load_demo("four-gaussians", seed=seed), load_demo("four-gaussians", NEW_ROWS, seed=seed + 1000)
        model = DLRClassifier(bandwidth=mode, alpha=0.0 if mode == "paper" else 10.0, random_state=seed, n_jobs=1)
        steps_taken = list(model.fit(train.X, train.y).trace_.since(0))
        outer = [step.index for step in steps_taken if step.kind == "outer"]
        whole = model.score(new.X, new.y)
        if len(outer) > 4:  # up to the fifth outer step, which is not made: the weights have settled after the fourth
            model.set_params(max_iter=max(1, outer[4] - 1)).fit(train.X, train.y)
        gains.append(100 * (whole - model.score(new.X, new.y)))
        steps.append(len(outer))
    run = (
        f"dlr {mode} on four-gaussians, {draws} draws, {np.median(steps):.0f} outer steps in the median: accuracy on "
        f"new rows at the end less that after four {np.mean(gains):.2f} points in the mean, {np.max(gains):.2f} at most"
    )
    rises = float(np.mean(np.array(gains) > POINTS))
    return _limited(f"c15: dlr {mode}", run, f"share of draws in which it rises by more than {POINTS:g}", rises, 0.1)


def few_columns(sets: Sequence[Dataset]) -> list[Row]:
    """[DLR] table 6: dlr is slow on spectf for what a fit costs whatever it fits. Of a tenth of the columns it must
    take at least half as long.
    """
    (dataset,) = sets
    model = DLRClassifier(bandwidth="silverman", alpha=0.0, n_jobs=1)
    seconds = [min(_seconds(model.fit, X, dataset.y) for _ in range(WARM)) for X in (dataset.X, dataset.X.iloc[:, :4])]
    run = f"dlr on spectf: {1e3 * seconds[0]:.0f} ms of {dataset.X.shape[1]} columns, {1e3 * seconds[1]:.0f} ms of 4"
    return _limited("dlr-t6", run, "ms of 4 columns over ms of all", seconds[1] / seconds[0], 0.5, is_floor=True)


def ranked(sets: Sequence[Dataset], splits: int) -> list[Row]:
    """[DLR] table 7: dlr-h ranks worse than lr for nothing holds its weights back. With alpha 10 it must rank better on
    more sets than worse.
    """
    values = []
    for dataset in sets:
        draws = ShuffleSplit(splits, test_size=TEST_SHARE, random_state=0).split(dataset.X)
        figures = [measure_split(dataset.X, dataset.y, RANKED, train, test, k) for k, (train, test) in enumerate(draws)]
        values.append([np.nanmean([rows[k]["auc"] for rows in figures]) for k in range(len(RANKED))])
    lr, unpenalised, penalised_auc = np.array(values).T
    record, as_printed = win_draw_loss(lr, penalised_auc, 4), win_draw_loss(lr, unpenalised, 4)
    run = (
        f"{RANKED[2]}, {len(values)} sets, {splits} splits of each: its AUC is above lr's on {record.wins}, as printed "
    )
    run += f"on {as_printed.wins}"
    quantity = "sets on which its AUC is higher less those on which lower"
    return _limited("dlr-t7", run, quantity, record.wins - record.losses, 0.0, is_floor=True)


# -- all of them -------------------------------------------------------------------------------------------------------


def _trials(quick: bool) -> Iterator[tuple[str, Callable[..., list[Row]], tuple[Any, ...], tuple[str, ...]]]:
    """What is tried: words, function, arguments, and names of the sets it takes before them."""
    for order in (1, 2):
        yield f"waveform without what is left uncut, n = {order}", cut_alone, (order,), ()
    for mode in ("paper", "loo"):
        yield f"accuracy after four outer steps, {mode}", going_on, (mode, 2 if quick else 10), ()
    yield "one sample of four Gaussians", one_sample, (5 if quick else 100,), ()
    yield "dlr of few columns", few_columns, (), ("spectf",)
    yield "dlr-h held back", ranked, (2 if quick else 10,), tuple(entry.name for entry in CLINICAL_SETS)
    yield "hsalr of many columns", grown, (), WIDE
    yield "seconds of training and classifying, the shortest", time_calls, (), ("nursery", "magic", "sign", "pendigits")
    yield "many rows", many_rows, (1, 100, 20) if quick else (2, 5_000, 1_000), ()
    yield "forests on cuts", on_cuts, (), tuple(entry.name for entry in LITTLE_SETS)
    yield "calibration with a penalty", penalised, (), tuple(entry.name for entry in LITTLE_SETS)
    yield "poker hands, fewer", hands, (3_000 if quick else 360_000, True), ()
    yield "poker hands, no penalty", hands, (3_000 if quick else 600_000, False), ()


def trial_rows(settings: Settings) -> Progress:
    """Yield (label, rows) of every trial whose sets are available, and the missing sets of the others.

    With `settings.quick` fewer draws, fewer rows, and of many sets the first two.
    """
    for label, compute, arguments, names in _trials(settings.quick):
        sets = [_BY_NAME[name] for name in names[: 2 if settings.quick else None]]
        if missing_sets := [entry for entry in sets if entry.missing(settings.folder)]:
            yield (
                f"{label}: no data",
                [{"set": entry.name, "missing": entry.advice(settings.folder)} for entry in missing_sets],
            )
            continue
        read = [entry.read(settings.folder) for entry in sets]
        key = ["trial", label, *(dataset.hash for dataset in read), *(["quick"] if settings.quick else [])]
        inputs = (read, *arguments) if names else arguments
        yield from kept_rows("trials", [Step(label, key, compute, inputs)], settings)
