"""Claims that a number decides: it is measured and must keep to one side of a limit.

A row has set, method, quantity, ours, limit and above (True where ours must be above the limit, else at most it);
ours is NaN where not all that it is made of was computed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.make import make_estimator
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.run import Run
from alrviz.studies.reproduce.compare import COLUMNS
from alrviz.studies.reproduce.kept import Progress, Row, Step, kept_rows
from alrviz.studies.reproduce.settings import Settings
from alrviz.studies.reproduce.tables import demo, planted

ALPHA = 1e-3


def _row(name: str, method: str, quantity: str, ours: float, limit: float, above: bool = False) -> Row:
    return {"set": name, "method": method, "quantity": quantity, "ours": ours, "limit": limit, "above": above}


# -- C1 to C3, C18: what is the same model ----------------------------------------------------------------------------

_METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "lr": ("lr", {}),
    "lr from anje": ("lr", {"start": "anje"}),
    "alr": ("alr", {}),
    "alr from one": ("alr", {"start": "one"}),
    "alr from anje": ("alr", {"start": "anje"}),
    "alrj": ("alr", {"scale": "theta-gamma"}),
    "diagonal": ("lr", {"scale": "diagonal"}),
}


def one_optimum(dataset: Dataset, order: int) -> list[Row]:
    """Return how far each family's lowest F is above the least of all, relative: alpha 1e-3 on phi, by tron."""
    lowest = {}
    for name, (family, params) in _METRICS.items():
        recipe = Recipe(
            family, order=order, alpha=ALPHA, penalty="phi", holdout=0.0, solver="tron", max_iter=5000, tol=0.0,
            memory=30, **params,
        )  # fmt: skip
        run = Run(dataset, recipe, n_jobs=1)
        for step in run.steps():
            if step.grad_norm <= 1e-9 * run.trace.rows:
                break
        lowest[name] = float(min(run.trace.frame()["objective"]))
    best = min(lowest.values())
    return [
        _row(f"{dataset.name}, n={order}", name, "(F - F*) / F*", value / best - 1.0, 1e-8)
        for name, value in lowest.items()
    ]


def same_tables(dataset: Dataset) -> list[Row]:
    """Return how far A0DE, KDB with k = 0 and ELR before its first step are from naive Bayes, in log p."""
    others = {
        "a0de": Recipe("ande", n=0),
        "kdb k=0": Recipe("kdb", k=0),
        "elr, no step": Recipe("elr", cross_tuning=False, max_iter=0),
    }
    nb = _log_p(Recipe("anje", order=1), dataset)
    return [
        _row(dataset.name, f"{name} vs nb", "largest difference of log p", _away(_log_p(recipe, dataset), nb), 1e-12)
        for name, recipe in others.items()
    ]


def no_step(dataset: Dataset, order: int) -> list[Row]:
    """Return how far alr and lr started at AnJE, before a step, are from AnJE, in log p."""
    anje = _log_p(Recipe("anje", order=order), dataset)
    rows = []
    for family in ("alr", "lr"):
        begun = _log_p(Recipe(family, order=order, start="anje", max_iter=0), dataset)
        words = f"{family}{order} from anje, no step, vs anje{order}"
        rows.append(_row(dataset.name, words, "largest difference of log p", _away(begun, anje), 1e-12))
    return rows


def polynomial(dataset: Dataset) -> list[Row]:
    """Return how much of the crosses of two columns a polynomial kernel of degree 2 on the one-hot leaves unexplained.

    Its Gram matrix is (1 + x . x')^2; the columns of lr of order 2, 1 and 0 must lie in its range.
    """
    from sklearn.preprocessing import OneHotEncoder

    X = OneHotEncoder(sparse_output=False).fit_transform(dataset.X.iloc[:300].astype(str))
    gram = (1.0 + X @ X.T) ** 2
    values, vectors = np.linalg.eigh(gram)
    basis = vectors[:, values > 1e-9 * values.max()]
    left, right = np.triu_indices(X.shape[1], 1)
    rows = []
    for words, columns in (("order 2", X[:, left] * X[:, right]), ("order 1", X), ("order 0", np.ones((len(X), 1)))):
        rest = columns - basis @ (basis.T @ columns)
        rows.append(_row(dataset.name, words, "part of the columns out of reach", float(np.abs(rest).max()), 1e-8))
    return rows


def _log_p(recipe: Recipe, dataset: Dataset) -> np.ndarray:
    model = make_estimator(recipe, n_jobs=1)
    return model.fit(dataset.X, dataset.y).predict_log_proba(dataset.X)


def _away(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


# -- C8: poker hands -------------------------------------------------------------------------------------------------


def poker(rows: int) -> list[Row]:
    """Return held-out figures of lr of orders 2 and 3 on made poker hands, five of six to learn from."""
    dataset = load_demo("poker-hand", rows)
    found = {}
    for order in (2, 3):
        run = Run(dataset, Recipe("lr", order=order, alpha=1.0, solver="lbfgs", max_iter=100, holdout=1 / 6))
        for _ in run.steps():
            pass
        last = run.trace.frame().iloc[-1]
        found[order] = {"log loss": float(last["heldout_log_loss"]), "0-1 loss": float(last["heldout_error"])}
    learned = f"poker-hand, {round(rows * 5 / 6):,} rows"
    return [
        _row(learned, f"lr3 {found[3][name]:.4f}, lr2 {found[2][name]:.4f}", f"{name} of lr3 over lr2",
             found[3][name] / found[2][name], 1.0, above=True)
        for name in ("log loss", "0-1 loss")
    ]  # fmt: skip


# -- C14, C15: DLR ----------------------------------------------------------------------------------------------------


def density_bayes() -> list[Row]:
    """Return how far DLR with w_0 = 0 and w = 1 is from naive Bayes with kernel densities of one h a column."""
    dataset = load_demo("two-moons")
    model = DLRClassifier(bandwidth="silverman", start="one", max_iter=0, n_jobs=1).fit(dataset.X, dataset.y)
    X, y = dataset.X.to_numpy(float), np.asarray(dataset.y)
    h = 1.06 * X.std(axis=0) * len(X) ** -0.2
    second = y == model.classes_[1]
    log_odds = np.full(len(X), np.log(second.sum() / (~second).sum()))
    for d, width in enumerate(h):
        votes = np.exp(-((X[:, d, None] - X[None, :, d]) ** 2) / (2 * width**2))
        log_odds += np.log(votes[:, second].mean(axis=1) / votes[:, ~second].mean(axis=1))
    ours = np.diff(model.predict_log_proba(dataset.X), axis=1)[:, 0]
    return [_row(dataset.name, "dlr, w = 1, vs naive Bayes by hand", "largest difference of log odds",
                 _away(ours, log_odds), 2e-3)]  # fmt: skip


def beats_lr(name: str, seed: int) -> list[Row]:
    """Return the accuracy of DLR over that of lr on numbers, on 20,000 new rows of a demo set."""
    from sklearn.linear_model import LogisticRegression

    train, new = load_demo(name, seed=seed), load_demo(name, 20_000, seed=seed + 1000)
    X, X_new = train.X.select_dtypes("number"), new.X.select_dtypes("number")
    lr = LogisticRegression(max_iter=1000).fit(X, train.y).score(X_new, new.y)
    rows = []
    for mode, alpha in (("silverman", 0.0), ("loo", 10.0)):
        dlr = DLRClassifier(bandwidth=mode, alpha=alpha, max_iter=500, n_jobs=1).fit(X, train.y).score(X_new, new.y)
        words = f"dlr {mode} {100 * dlr:.1f} %, lr {100 * lr:.1f} %"
        rows.append(_row(f"{name} ({seed})", words, "accuracy of dlr less lr, points", 100 * (dlr - lr), 0.0, True))
    return rows


def settles(mode: str, seed: int) -> list[Row]:
    """Return outer steps until no bandwidth moves by a tenth any more, on the set of three classes."""
    dataset = load_demo("three-classes", seed=seed)
    model = DLRClassifier(bandwidth=mode, alpha=0.0 if mode == "paper" else 10.0, random_state=seed, n_jobs=1)
    model.fit(dataset.X, dataset.y)
    steps = [
        [h for name, h in step.extra.items() if name.startswith("h_")]
        for step in model.trace_.since(0)
        if step.kind == "outer"
    ]
    away = np.abs(np.log(np.array(steps) / steps[-1])).max(axis=1) >= np.log(1.1) if steps else np.zeros(0)
    settled = float(np.flatnonzero(away).max(initial=-1)) + 2
    return [_row(f"three-classes ({seed})", f"dlr {mode}", "outer steps until h stays", settled, 4.0)]


# -- C16: ELR's optimum -----------------------------------------------------------------------------------------------


def elr_optimum(dataset: Dataset) -> list[Row]:
    """Return how far ELR's lowest F on naive Bayes' structure is above that of lr of order 1, relative."""
    elr = Run(dataset, Recipe("elr", structure="nb", cross_tuning=False, max_iter=300, tol=0.0, holdout=0.0))
    lr = Run(dataset, Recipe("lr", order=1, alpha=0.0, solver="lbfgs", max_iter=2000, tol=0.0, holdout=0.0))
    values = []
    for run in (elr, lr):
        for _ in run.steps():
            pass
        values.append(float(run.trace.frame()["nll"].min()))
    return [_row(dataset.name, f"elr nb {values[0]:.4f}, lr1 {values[1]:.4f}", "F over F of lr1, less 1",
                 abs(values[0] / values[1] - 1.0), 1e-4)]  # fmt: skip


def _identities(kind: str) -> Iterator[tuple[str, Callable[..., list[Row]], tuple[Any, ...]]]:
    led, waveform, mixed = load_demo("led", 1000), load_demo("waveform", 400), load_demo("mixed-types")
    if kind == "optimum":
        for order in (1, 2):
            for dataset in (led, waveform, planted(2, 2000).build()):
                yield f"{dataset.name}, n={order}", one_optimum, (dataset, order)
    elif kind == "tables":
        for dataset in (led, demo("tic-tac-toe").build(), demo("monks-1").build()):
            yield dataset.name, same_tables, (dataset,)
    elif kind == "no-step":
        for order in (1, 2, 3):
            yield f"n={order}", no_step, (mixed, order)
    else:
        yield "tic-tac-toe", polynomial, (load_demo("tic-tac-toe"),)
        yield "monks-1", polynomial, (load_demo("monks-1"),)


def _made(kind: str, quick: bool) -> Iterator[tuple[str, Callable[..., list[Row]], tuple[Any, ...]]]:
    seeds = range(3 if quick else 10)
    if kind == "poker":
        yield "poker-hand", poker, (20_000 if quick else 600_000,)
    elif kind == "density":
        yield "w = 1", density_bayes, ()
        for name in ("four-gaussians", "age-curve"):
            for seed in seeds:
                yield f"{name} ({seed})", beats_lr, (name, seed)
    elif kind == "settles":
        for mode in ("paper", "validation", "loo"):
            for seed in seeds:
                yield f"{mode} ({seed})", settles, (mode, seed)
    elif kind == "elr-optimum":
        for name in ("led", "mixed-types"):
            yield name, elr_optimum, (load_demo(name, 1000),)
    else:
        yield from _identities(kind)


def limit_rows(kind: str, settings: Settings) -> Progress:
    """Yield (what was done, its rows) of the claims of a kind."""
    steps = [
        Step(said, [kind, said, settings.quick], compute, arguments)
        for said, compute, arguments in _made(kind, settings.quick)
    ]
    yield from kept_rows(kind, steps, settings)


def limit_lines(item: str, figures: pd.DataFrame, reason: str = "") -> pd.DataFrame:
    """Return a line a row (`COLUMNS`): it agrees where it keeps to its side of the limit; NaN is no data."""
    lines = []
    for row in figures.to_dict("records"):
        keeps = row["ours"] > row["limit"] if row["above"] else row["ours"] <= row["limit"]
        sign, known = ">" if row["above"] else "<=", not np.isnan(row["ours"])
        why = reason if known else "not computed yet"
        lines.append(
            {
                "item": item,
                "set": row["set"],
                "method": row["method"],
                "quantity": row["quantity"],
                "paper": f"{sign} {row['limit']:g}",
                "source": "in words",
                "ours": f"{row['ours']:.3g}" if known else np.nan,
                "sd": np.nan,
                "splits": 1,
                "sets": 1,
                "verdict": ("agrees" if keeps else "differs") if known else "no data",
                "reason": "" if keeps else why,
            }
        )
    return pd.DataFrame(lines, columns=list(COLUMNS))


def limit_points(table: pd.DataFrame) -> pd.DataFrame:
    """Return what a picture of limits shows of a table: set, method, ours, paper (the limit), sd, verdict, log.

    Of many sets the first two dozen lines; a figure of 0 stands at 1e-17.
    """
    own = table.head(24)
    ours = own["ours"].astype(float)
    limits = own["paper"].str.split().str[-1].astype(float)
    small = (limits > 0) & (limits < 0.01)
    shown = own.assign(ours=ours.where(~small, ours.clip(lower=1e-17)), paper=limits, sd=np.nan)
    return shown.assign(set=own["quantity"], method=own["set"] + ": " + own["method"], log=small)


def limit_seen(table: pd.DataFrame) -> str:
    """Return how many keep to the limit and the figure that is nearest to it or furthest beyond, by quantity."""
    parts = []
    for quantity, own in table[table["ours"].notna()].groupby("quantity", sort=False):
        values = own["ours"].astype(float)
        above = str(own["paper"].iloc[0]).startswith(">")
        worst = values.min() if above else values.max()
        kept = int((own["verdict"] == "agrees").sum())
        parts.append(f"{quantity}: {kept} of {len(own)} within {own['paper'].iloc[0]}, mean {values.mean():.3g}, "
                     f"worst {worst:.3g}")  # fmt: skip
    return "; ".join(parts) or "no figures"


LIMIT_STUDIES = {
    name: partial(limit_rows, name)
    for name in ("optimum", "tables", "no-step", "polynomial", "poker", "density", "settles")
}
