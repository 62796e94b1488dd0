"""DLR: the paper's toy, its default penalty on real sets, seconds against rows, and its solver beside a joint one.

toy: four Gaussians of 300 points each, 10,000 new ones, 20 seeds: accuracy of LogisticRegression on the two columns, of
each way to the bandwidths, without a penalty and with the default one, and of Bayes' rule; outer steps, and those until
no bandwidth moves by a tenth any more.
alpha: held-out log loss by alpha and center on real sets (--data DIR), "loo" and "silverman".
rows: seconds of a fit against rows, ten made columns.
joint: "loo" beside SciPy's L-BFGS-B over weights and bandwidths at once: F, features evaluated, seconds.
price: seconds of a pass as estimated and as measured, one thread, of made tables and (--data DIR) of real ones.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.encode import Encoder
from alrviz.errors import AlrvizError
from alrviz.estimators import DLRClassifier
from alrviz.fitting.density.objective import DensityObjective
from alrviz.fitting.families.density import assemble_density, reference_seconds
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.cost_model import machine_factor
from benchmarks._sets import load_set
from benchmarks._tools import Row, show

PARTS = ("toy", "alpha", "rows", "joint", "price")
MODES = ("silverman", "loo", "validation", "paper")
MEANS, SPREADS = ((10, 0), (-10, 0), (0, 10), (0, -10)), ((1, 10), (1, 10), (10, 1), (10, 1))
ALPHAS = (0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SETS = (
    "pima", "heart-cleveland", "ionosphere", "german", "tic-tac-toe", "wine", "hepatitis", "breast-cancer-wisconsin",
    "glass",
)  # fmt: skip
MOST_ROWS = 2000
# Log losses below this count as this: a set with nothing left to learn does not decide.
LEAST_LOSS = 0.01


def gaussians(rng: np.random.Generator, points: int) -> tuple[Floats, np.ndarray]:
    """Return the toy of [DLR] 6.1: `points` points of each of four Gaussians, the first two one class."""
    parts = [rng.normal(size=(points, 2)) * spread + mean for mean, spread in zip(MEANS, SPREADS, strict=True)]
    return np.concatenate(parts), np.repeat([0, 0, 1, 1], points)


def bayes(X: Floats) -> np.ndarray:
    """Return the class of the higher density."""
    logs = [-(((X - mean) / spread) ** 2).sum(axis=1) / 2 for mean, spread in zip(MEANS, SPREADS, strict=True)]
    return (np.logaddexp(logs[2], logs[3]) > np.logaddexp(logs[0], logs[1])).astype(int)


def columns(rows: int, seed: int = 0) -> tuple[Floats, np.ndarray]:
    """Return ten columns, a third of them skew, and two classes that curves of five of them tell apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 10))
    X[:, 1::3] = np.exp(X[:, 1::3] / 2)
    signal = np.sin(X[:, 0] * 2) * 1.5 + X[:, 1] ** 2 / 4 - np.abs(X[:, 2]) + 0.5 * X[:, 3] * (X[:, 4] > 0)
    return X, (signal + rng.logistic(size=rows) > 0).astype(int)


def toy(seeds: int) -> Iterator[Row]:
    """Yield the accuracy of each model at each seed, on 10,000 new points."""
    from sklearn.linear_model import LogisticRegression

    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        (X, y), (X_new, y_new) = gaussians(rng, 300), gaussians(rng, 2500)
        yield {"model": "lr", "seed": seed, "accuracy": LogisticRegression().fit(X, y).score(X_new, y_new)}
        yield {"model": "Bayes", "seed": seed, "accuracy": float((bayes(X_new) == y_new).mean())}
        for mode in MODES:
            for words, alpha in ((f"{mode}, alpha 0", 0.0), (mode, 10.0)):
                model = DLRClassifier(bandwidth=mode, alpha=alpha, random_state=seed, max_iter=2000, n_jobs=1).fit(X, y)
                outer, settled_steps = _outer(model)
                accuracy = model.score(X_new, y_new)
                yield {"model": words, "seed": seed, "accuracy": accuracy, "outer": outer, "settled": settled_steps}


def _outer(model: DLRClassifier) -> tuple[int, int]:
    """Outer steps, and those after which every bandwidth stays within a tenth of its last value."""
    steps = [
        [h for name, h in s.extra.items() if name.startswith("h_")] for s in model.trace_.since(0) if s.kind == "outer"
    ]
    if not steps:
        return 0, 0
    is_away = np.abs(np.log(np.array(steps) / steps[-1])).max(axis=1) >= np.log(1.1)
    return len(steps), int(np.flatnonzero(is_away).max(initial=-1)) + 2


def penalties(folder: Any, sets: list[str]) -> Iterator[Row]:
    """Yield the held-out log loss of each alpha and center on each set, by 2-fold cross-validation."""
    from sklearn.metrics import log_loss
    from sklearn.model_selection import RepeatedStratifiedKFold

    for name in sets:
        dataset = load_set(folder, name)
        sample = np.sort(np.random.default_rng(0).permutation(dataset.n_rows)[:MOST_ROWS])
        X, y = dataset.X.iloc[sample], np.asarray(dataset.y, str)[sample]
        folds = list(
            RepeatedStratifiedKFold(n_splits=2, n_repeats=1 if len(y) > 800 else 2, random_state=0).split(X, y)
        )
        for mode in MODES[:2]:
            for center, alpha in ((c, a) for c in (0, 1) for a in ALPHAS if a or not c):
                losses, endings = [], []
                for train, test_rows in folds:
                    model = DLRClassifier(bandwidth=mode, alpha=alpha, center=center, max_iter=100, n_jobs=1)
                    model.fit(X.iloc[train], y[train])
                    p = np.clip(model.predict_proba(X.iloc[test_rows]), 1e-15, 1)
                    losses.append(log_loss(y[test_rows], p, labels=model.classes_))
                    endings.append((model.n_iter_, model.outcome_.code == "step limit"))
                steps, limit = np.mean(endings, axis=0)
                yield {
                    "bandwidth": mode, "center": center, "alpha": alpha, "set": name, "log_loss": np.mean(losses),
                    "steps": steps, "limit": limit,
                }  # fmt: skip


def growth(max_rows: int) -> Iterator[Row]:
    """Yield the seconds of a fit of each kind against rows, after one that compiles."""
    DLRClassifier(bandwidth="loo").fit(*columns(3000))
    for rows in (rows for rows in (10_000, 20_000, 100_000, 1_000_000) if rows <= max_rows):
        X, y = columns(rows)
        for mode in MODES if rows <= 100_000 else MODES[:2]:
            begin, busy = time.perf_counter(), time.process_time()
            model = DLRClassifier(bandwidth=mode, random_state=0).fit(X, y)
            yield {
                "rows": rows, "bandwidth": mode, "seconds": time.perf_counter() - begin,
                "processor_seconds": time.process_time() - busy, "steps": model.n_iter_, "outer": _outer(model)[0],
            }  # fmt: skip


def joint(folder: Any, sets: list[str]) -> Iterator[Row]:
    """Yield what "loo" and L-BFGS-B over weights and bandwidths at once reach, and what it takes them."""
    tables: list[tuple[str, Any, Any]] = [("made", *columns(5000))]
    tables += [(name, dataset.X, dataset.y) for name in sets for dataset in [load_set(folder, name)]] if folder else []
    for name, X, y in tables:
        run = Run.on_encoded(
            Encoder(discretize="keep").fit(X, y).encode(X, y), Recipe("dlr", bandwidth="loo", alpha=10.0), n_jobs=1
        )
        begin = time.process_time()
        for _ in run.steps():
            pass
        our_seconds, last = time.process_time() - begin, run.trace[-1]
        assert isinstance(run.objective, DensityObjective)
        begin = time.process_time()
        values = _together(run.objective)
        outer = sum(step.kind == "outer" for step in run.trace.since(0))
        yield {
            "set": name, "F": last.objective, "outer": outer, "seconds": our_seconds,
            "F_joint": min(values), "evaluations": len(values), "seconds_joint": time.process_time() - begin,
        }  # fmt: skip


def prices(folder: Any, sets: list[str]) -> Iterator[Row]:
    """Yield seconds of a pass, estimated and measured (processor's, of one thread), at the start of a fit."""
    tables: list[tuple[str, Any, Any]] = [(f"made, {rows:,}", *columns(rows)) for rows in (1000, 10_000, 100_000)]
    tables += [(name, dataset.X, dataset.y) for name in sets for dataset in [load_set(folder, name)]] if folder else []
    for name, X, y in tables:
        encoded = Encoder(discretize="keep").fit(X, y).encode(X, y)
        for mode in MODES:
            recipe = Recipe("dlr", bandwidth=mode, alpha=10.0)
            estimated = machine_factor() * reference_seconds(encoded, recipe)
            fit = assemble_density(encoded, recipe.params, 1, 0)
            assert isinstance(fit.objective, DensityObjective)
            measured_seconds = _pass_seconds(fit.objective, fit.w0)
            ratio = estimated / measured_seconds
            yield {
                "set": name,
                "bandwidth": mode,
                "estimated_ms": 1e3 * estimated,
                "ms": 1e3 * measured_seconds,
                "ratio": ratio,
            }


def _pass_seconds(objective: DensityObjective, v: Floats, repeats: int = 5) -> float:
    """Median processor's seconds of E and its slopes at new bandwidths; where they stand still, of F at new weights."""
    w, log_h = objective.split(v)
    weights = objective.objective_at(objective.training(log_h))
    pass_seconds = []
    for k in range(1, repeats + 2):
        moved_point = np.concatenate([w.ravel(), log_h + 1e-4 * k])
        begin = time.thread_time()
        _ = objective.value_grad(moved_point) if objective.fits_bandwidths else weights.value_grad(w + 1e-4 * k)
        pass_seconds.append(time.thread_time() - begin)
    return float(np.median(pass_seconds[1:]))


def _together(objective: DensityObjective) -> list[float]:
    """F at every point that L-BFGS-B asks for."""
    from scipy.optimize import minimize

    values: list[float] = []

    def value_and_gradient(v: Floats) -> tuple[float, Floats]:
        point = objective.value_grad(v)
        values.append(point.objective)
        return point.objective, point.gradient

    start, (low, high) = objective.start(0.0), objective.features.bounds
    bounds = [(None, None)] * (len(start) - len(low)) + list(zip(low, high, strict=True))
    limits = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12}
    minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    return values


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add parts, sets, seeds and rows."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="which parts (default: all)")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="SET", help="sets of alpha, joint and price")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of the toy (default: 20)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="most rows (default: a million)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a table a part; yield its rows."""
    if "alpha" in options.parts and options.data is None:
        raise AlrvizError("the part alpha reads its sets from a folder; expected --data DIR, or --parts toy rows joint")
    work_by_part = {
        "toy": (lambda: toy(options.seeds), ["model"]),
        "alpha": (lambda: penalties(options.data, options.sets), ["bandwidth", "center", "alpha"]),
        "rows": (lambda: growth(options.rows), ["rows", "bandwidth"]),
        "joint": (lambda: joint(options.data, options.sets), ["set"]),
        "price": (lambda: prices(options.data, options.sets), ["set", "bandwidth"]),
    }
    for part in options.parts:
        work, group_columns = work_by_part[part]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that ends at the step limit is a figure here
            rows = []
            for row in work():
                rows.append(row)
                yield {"part": part, **row}
        _print(part, pd.DataFrame(rows), group_columns)


def _print(part: str, frame: pd.DataFrame, group_columns: list[str]) -> None:
    print(f"\n{part}")
    if part == "alpha":
        floored = frame.log_loss.clip(lower=LEAST_LOSS)
        ratio = np.log(floored / floored.groupby([frame.bandwidth, frame.set]).transform("min"))
        frame = frame.assign(mean_ratio=ratio, worst=ratio, rank=ratio.groupby([frame.bandwidth, frame.set]).rank())
    kinds = {"worst": "max"}
    numbers = [name for name in frame.select_dtypes("number") if name not in [*group_columns, "seed", "log_loss"]]
    table = frame.groupby(group_columns, sort=False)[numbers].agg({name: kinds.get(name, "mean") for name in numbers})
    if part == "alpha":
        table[["mean_ratio", "worst"]] = np.exp(table[["mean_ratio", "worst"]])
    if part == "toy":
        table.insert(1, "sd", frame.groupby(group_columns, sort=False).accuracy.std())
    cells = table.reset_index().itertuples(index=False)
    show(([f"{x:.4g}" if isinstance(x, float) else x for x in row] for row in cells), [*group_columns, *table.columns])
