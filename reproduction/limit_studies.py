"""The studies of claims that a number decides, and what some of them measure: poker hands, DLR, ELR."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.data.encode import Encoder
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.make import make_estimator
from alrviz.fitting.density.hierarchical import MIN_LOG_STEP
from alrviz.fitting.density.objective import DensityObjective
from alrviz.fitting.families.density import assemble_density
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import LIMIT
from reproduction.identities import max_gap, no_step, one_optimum, polynomial, same_tables
from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.limits import limit_row
from reproduction.settings import Settings
from reproduction.tables import demo, overlap, planted
from reproduction.toy import settled_step

# -- C8: poker hands -------------------------------------------------------------------------------------------------


def poker(rows: int) -> list[Row]:
    """Return held-out figures of lr of orders 2 and 3 on made poker hands, five of six to learn from."""
    dataset = load_demo("poker-hand", rows)
    losses = {}
    for order in (2, 3):
        recipe = Recipe("lr", order=order, alpha=1.0, solver="lbfgs", max_iter=100, holdout=1 / 6)
        run = Run(dataset, recipe, n_jobs=1)
        for _ in run.steps():
            pass
        last = run.trace.frame().iloc[-1]
        losses[order] = {"log loss": float(last["heldout_log_loss"]), "0-1 loss": float(last["heldout_error"])}
    label = f"poker-hand, {round(rows * 5 / 6):,} rows"
    return [
        limit_row(label, f"lr3 {losses[3][name]:.4f}, lr2 {losses[2][name]:.4f}", f"{name} of lr3 over lr2",
             losses[3][name] / losses[2][name], 1.0, is_floor=True)
        for name in ("log loss", "0-1 loss")
    ]  # fmt: skip


# -- hidden pairs ----------------------------------------------------------------------------------------------------


def twelve_bits(seed: int) -> list[Row]:
    """Return which family keeps the pair of bits that is informative only together, and the gain in 0-1 loss.

    hsalr grows by mutual information from columns, salr looks at all pairs by their gain; 20,000 new rows.
    """
    train, new = load_demo("twelve-bits", seed=seed), load_demo("twelve-bits", 20_000, seed=seed + 1000)
    pair = {list(train.X).index(name) for name in ("bit_7", "bit_11")}
    label, wrong, rows = f"twelve-bits ({seed})", {}, []
    for family, score, finds in (("hsalr", "mi", False), ("salr", "gain", True)):
        recipe = Recipe(family, order=2, alpha=1.0, keep=0.25, selection=score)
        model = make_estimator(recipe, n_jobs=1).fit(train.X, train.y)
        name = f"{family}2 {score}"
        has_pair = any(set(columns) == pair for columns in model.cells_.tuples)
        wrong[name] = 100.0 * (1.0 - model.score(new.X, new.y))
        rows.append(limit_row(label, name, f"pairs of the two that {name} keeps", float(has_pair), 0.0, is_floor=finds))
    words = ", ".join(f"{name} {value:.1f} %" for name, value in wrong.items())
    first, second = wrong.values()
    return [*rows, limit_row(label, words, "0-1 loss of the first less the second, points", first - second, 0.0, True)]


# -- C14, C15: DLR ----------------------------------------------------------------------------------------------------


def density_bayes(name: str) -> list[Row]:
    """Return how far DLR with w_0 = 0 and w = 1 is from naive Bayes with kernel densities of one h a column.

    DLR holds each phi within -LIMIT .. LIMIT; naive Bayes does not: rows of which one is held are left out, and
    counted.
    """
    dataset = load_demo(name)
    model = DLRClassifier(bandwidth="silverman", start="one", max_iter=0, n_jobs=1).fit(dataset.X, dataset.y)
    X, y = dataset.X.to_numpy(float), np.asarray(dataset.y)
    h = 1.06 * X.std(axis=0) * len(X) ** -0.2
    second = y == model.classes_[1]
    phi = np.empty(X.shape)
    with np.errstate(divide="ignore"):
        for d, width in enumerate(h):
            votes = np.exp(-((X[:, d, None] - X[None, :, d]) ** 2) / (2 * width**2))
            phi[:, d] = np.log(votes[:, second].mean(axis=1)) - np.log(votes[:, ~second].mean(axis=1))
    free = (np.abs(phi) < LIMIT - 1).all(axis=1)  # the prior's share in a phi is less than 1
    log_odds = np.log(second.sum() / (~second).sum()) + phi.sum(axis=1)
    dlr_odds = np.diff(model.predict_log_proba(dataset.X), axis=1)[:, 0]
    words = f"dlr, w = 1, vs naive Bayes by hand, on {free.sum()} of {len(X)} rows without a phi held at {LIMIT:g}"
    return [limit_row(name, words, "largest difference of log odds", max_gap(dlr_odds[free], log_odds[free]), 2e-3)]


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
        rows.append(
            limit_row(f"{name} ({seed})", words, "accuracy of dlr less lr, points", 100 * (dlr - lr), 0.0, True)
        )
    return rows


def settles(mode: str, name: str, seed: int) -> list[Row]:
    """Return outer steps until no bandwidth moves by a tenth any more, on a draw of a demo set.

    In the mode "paper" each step is Gauss-Newton's with a line search, where Algorithm 1 has a rate (`descends`).
    """
    dataset = load_demo(name, seed=seed)
    model = DLRClassifier(bandwidth=mode, alpha=0.0 if mode == "paper" else 10.0, random_state=seed, n_jobs=1)
    model.fit(dataset.X, dataset.y)
    steps = [
        [h for name, h in step.extra.items() if name.startswith("h_")]
        for step in model.trace_.since(0)
        if step.kind == "outer"
    ]
    words = "outer steps until h stays"
    return [limit_row(f"{name} ({seed})", f"dlr {mode}, {name}", words, settled_step(np.array(steps)), 4.0)]


RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of the gradient of the mean loss, columns standardised; none is printed
MOST_DESCENTS = 200


def descends(name: str, seed: int) -> list[Row]:
    """Return outer steps until h stays by Algorithm 1 of [DLR] as it is printed: plain gradient descent of h.

    h_d <- h_d - rate dE/dh_d, w at its optimum before each step and fixed in it. The descent ends where the validation
    loss E no longer falls or no bandwidth moves by a hundredth. The rate is that of `RATES` which ends lowest.
    """
    dataset = load_demo(name, seed=seed)
    X = dataset.X.select_dtypes("number")
    recipe = Recipe("dlr", bandwidth="paper", alpha=0.0, start="zero", seed=seed)
    encoder = Encoder(discretize=recipe.cuts).fit((X - X.mean()) / X.std(), dataset.y)
    encoded = encoder.encode((X - X.mean()) / X.std(), dataset.y)
    fit = assemble_density(encoded, recipe.params, 1, seed)
    descents = [_descend(cast("DensityObjective", fit.objective), fit.w0, rate) for rate in RATES]
    best = int(np.argmin([loss for loss, _ in descents]))
    words = "outer steps until h stays"
    return [limit_row(f"{name} ({seed})", f"dlr printed, {name}", words, settled_step(descents[best][1]) - 1.0, 4.0)]


def _descend(objective: DensityObjective, start: Floats, rate: float) -> tuple[float, Floats]:
    """Return the mean validation loss at the end, and the bandwidths (steps + 1, columns) from the start on."""
    w, log_h = objective.split(start)
    point, path = objective.follow(log_h, w), [np.exp(log_h)]
    for _ in range(MOST_DESCENTS):
        h = path[-1]
        moved = np.clip(h - rate * point.slopes / h / objective.e_weight, h / 2, 2 * h)
        next_point = objective.follow(np.log(moved), point.inner.w, point.features)
        if next_point.e >= point.e:
            break
        point = next_point
        path.append(np.exp(point.features.log_h))
        if np.abs(np.log(path[-1] / h)).max() < MIN_LOG_STEP:
            break
    return point.e / objective.e_weight, np.array(path)


# -- C16: ELR's optimum -----------------------------------------------------------------------------------------------


def elr_optimum(dataset: Dataset) -> list[Row]:
    """Return how far ELR's lowest F on naive Bayes' structure is above that of lr of order 1, relative."""
    elr = Recipe("elr", structure="nb", cross_tuning=False, max_iter=300, tol=0.0, holdout=0.0)
    lr = Recipe("lr", order=1, alpha=0.0, solver="lbfgs", max_iter=2000, tol=0.0, holdout=0.0)
    values = []
    for run in (Run(dataset, elr, n_jobs=1), Run(dataset, lr, n_jobs=1)):
        for _ in run.steps():
            pass
        values.append(float(run.trace.frame()["nll"].min()))
    return [limit_row(dataset.name, f"elr nb {values[0]:.4f}, lr1 {values[1]:.4f}", "F over F of lr1, less 1",
                 abs(values[0] / values[1] - 1.0), 1e-4)]  # fmt: skip


def _identities(kind: str) -> Iterator[tuple[str, Callable[..., list[Row]], tuple[Any, ...]]]:
    led, waveform, mixed = load_demo("led", 1000), load_demo("waveform", 400), load_demo("mixed-types")
    if kind == "optimum":
        for order in (1, 2):
            for dataset in (led, waveform, planted(2, 2000).build()):
                yield f"{dataset.name}, n={order}", one_optimum, (dataset, order)
        overlapping = overlap().build()
        for order in (1, 2, 3):
            yield f"{overlapping.name}, n={order}, alpha 0", one_optimum, (overlapping, order, 0.0)
    elif kind == "tables":
        for dataset in (led, demo("tic-tac-toe").build(), demo("monks-1").build()):
            yield dataset.name, same_tables, (dataset,)
    elif kind == "no-step":
        for order in (1, 2, 3):
            yield f"n={order}", no_step, (mixed, order)
    else:
        yield "tic-tac-toe", polynomial, (load_demo("tic-tac-toe"),)
        yield "monks-1", polynomial, (load_demo("monks-1"),)


def _limit_steps(kind: str, quick: bool) -> Iterator[tuple[str, Callable[..., list[Row]], tuple[Any, ...]]]:
    seeds = range(3 if quick else 10)
    if kind == "poker":
        yield "poker-hand", poker, (20_000 if quick else 600_000,)
    elif kind == "twelve-bits":
        for seed in seeds:
            yield f"twelve-bits ({seed})", twelve_bits, (seed,)
    elif kind == "density":
        for name in ("two-moons", "breast-cancer"):
            yield f"w = 1 on {name}", density_bayes, (name,)
        for name in ("four-gaussians", "age-curve"):
            for seed in seeds:
                yield f"{name} ({seed})", beats_lr, (name, seed)
    elif kind == "settles":
        for name in ("three-classes", "four-gaussians"):
            for seed in seeds:
                yield f"printed on {name} ({seed})", descends, (name, seed)
            for mode in ("paper", "validation", "loo"):
                for seed in seeds:
                    yield f"{mode} on {name} ({seed})", settles, (mode, name, seed)
    elif kind == "elr-optimum":
        for name in ("led", "mixed-types"):
            yield name, elr_optimum, (load_demo(name, 1000),)
    else:
        yield from _identities(kind)


def limit_rows(kind: str, settings: Settings) -> Progress:
    """Yield (what was done, its rows) of the claims of a kind."""
    steps = [
        Step(label, [kind, label, settings.quick], compute, arguments)
        for label, compute, arguments in _limit_steps(kind, settings.quick)
    ]
    yield from kept_rows(kind, steps, settings)


LIMIT_STUDIES = {
    name: partial(limit_rows, name)
    for name in ("optimum", "tables", "no-step", "polynomial", "poker", "twelve-bits", "density", "settles")
}
