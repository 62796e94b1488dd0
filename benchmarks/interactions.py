"""Pure effects, their score test and their bands: identities, false alarms, power, gain, coverage and seconds.

identity   how far pure effects are from the score, at most, on training and held-out rows, and shares from 1
null       how often the score test says p < .05 of pairs in tables that have none
power      the same of a planted pair, and its predicted gain beside what a refit with it gains on other rows
coverage   how often 90 % bands of 30 refits hold the true pure effect of a cell
speed      seconds of effects and importance of all pairs, of muting one, of a row; of --data's sets
ebm        fit, held-out log loss and the best pairs beside interpret's explainable boosting machine; of --data's, all
           training rows or a sample
"""

import argparse
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

import alrviz
from alrviz.data.dataset import Dataset
from alrviz.data.encoded import Encoded
from alrviz.data.splits import split_holdout
from alrviz.fitting.tuple_tests import score_tests
from alrviz.models.cell_space import AllOrders, space_of
from alrviz.models.effects import purify
from alrviz.models.linear import LinearModel
from benchmarks._sets import COVERTYPE, load_set
from benchmarks._tools import Row, show

PARTS = ("identity", "null", "power", "coverage", "speed", "ebm")
LEVELS = (3, 4, 2, 3)
PAIRS = list(combinations(range(len(LEVELS)), 2))
SPEED = ("adult", "connect-4", COVERTYPE)
EBM = ("german", "adult")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the parts, the number of tables, and sets."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    parser.add_argument("--tables", type=int, default=200, help="made tables of null and power (default: 200)")
    parser.add_argument("--bands", type=int, default=30, help="made tables of coverage (default: 30)")
    parser.add_argument("--sets", nargs="+", metavar="SET", help="of speed and ebm (default: their own)")
    parser.add_argument("--train-rows", type=int, help="of ebm: training rows, a sample (default: all)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a table a part; yield its rows."""
    for part in options.parts:
        rows = list(_PARTS[part](options))
        if rows:
            print(f"\n{part}")
            show([[_text(value) for value in row.values()] for row in rows], list(rows[0]))
        yield from rows


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def make_table(
    seed: int, n: int, strength: float, levels: tuple[int, ...] = LEVELS
) -> tuple[Encoded, dict[Any, Any], Any]:
    """Return rows whose class hangs on single columns and, if strength > 0, on the first two together; the tables of
    log-odds that say so, and the levels' probabilities.
    """
    rng = np.random.default_rng(seed)
    shares = [rng.dirichlet(np.full(level, 4.0)) for level in levels]
    codes = np.stack([rng.choice(level, n, p=p) for level, p in zip(levels, shares, strict=True)])
    tables: dict[Any, Any] = {(j,): 0.7 * rng.normal(size=level) for j, level in enumerate(levels)}
    tables[0, 1] = strength * rng.normal(size=levels[:2])
    odds = sum(table[tuple(codes[list(columns)])] for columns, table in tables.items())
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.int32)
    names = tuple(f"x{j}" for j in range(len(levels)))
    return Encoded(codes.astype(np.uint8), y, np.ones(n), np.array(levels), np.arange(2), names), tables, shares


def fit_hlr(encoded: Encoded, tuples: int, alpha: float = 0.01) -> LinearModel:
    """Return hlr of this order on encoded rows."""
    run = alrviz.Run.on_encoded(encoded, alrviz.Recipe("hlr", order=tuples, alpha=alpha, max_iter=60), n_jobs=1)
    for _ in run.steps():
        pass
    assert isinstance(run.model, LinearModel)
    return run.model


def _identity(options: argparse.Namespace) -> Iterator[Row]:
    for order in (1, 2, 3, 4):
        encoded, _, _ = make_table(order, 2_000, 1.0, (4, 3, 5, 2, 3))
        new = np.stack([np.random.default_rng(9).integers(0, level + 1, 2_000) for level in encoded.levels])
        model = fit_hlr(encoded, order)
        effects = purify(model, encoded)
        deviations = []
        for codes in (encoded.codes, new.astype(np.uint8)):
            scores = model.scores(codes)
            deviations.append(float(np.abs(effects.scores(codes) - scores + scores.mean(axis=1, keepdims=True)).max()))
        share = abs(float(effects.importance(encoded)[:, 0].sum()) - 1.0)
        yield {
            "order": order,
            "training": deviations[0],
            "new": deviations[1],
            "shares": share,
            "left": float(effects.residual_means.max()),
        }


def _null(options: argparse.Namespace) -> Iterator[Row]:
    for n in (1_000, 4_000):
        p = np.concatenate([_tested(make_table(seed, n, 0.0)[0])["p"] for seed in range(options.tables)])
        yield {
            "rows": n,
            "tests": len(p),
            "false alarms": float((p < 0.05).mean()),
            "p < .01": float((p < 0.01).mean()),
        }


def _tested(encoded: Encoded) -> pd.DataFrame:
    return score_tests(fit_hlr(encoded, 1).scores(encoded.codes), encoded, PAIRS, n_jobs=1)


def _power(options: argparse.Namespace) -> Iterator[Row]:
    for n, strength in ((1_000, 0.3), (1_000, 0.6), (4_000, 0.15), (4_000, 0.3), (4_000, 0.6)):
        alarms, predicted, actual = [], [], []
        for seed in range(options.tables // 4):
            whole = make_table(seed, n + 20_000, strength)[0]
            encoded, test_rows = whole.take(np.arange(n)), whole.take(np.arange(n, n + 20_000))
            pair_test = _tested(encoded).iloc[0]
            alarms.append(pair_test["p"] < 0.05)
            predicted.append(pair_test["gain"])
            actual.append(_loss(fit_hlr(encoded, 1), test_rows) - _loss(_with_pair(encoded), test_rows))
        yield {
            "rows": n, "strength": strength, "p < .05": float(np.mean(alarms)), "predicted": float(np.mean(predicted)),
            "actual": float(np.mean(actual)), "correlation": float(np.corrcoef(predicted, actual)[0, 1]),
        }  # fmt: skip


def _with_pair(encoded: Encoded) -> LinearModel:
    """Single columns and the first pair: a model of the pair's cells as one column, beside the others."""
    first, second = encoded.codes[0].astype(np.int64), encoded.codes[1].astype(np.int64)
    codes = np.vstack([encoded.codes, (first * encoded.levels[1] + second).astype(np.uint8)])
    levels = np.append(encoded.levels, encoded.levels[0] * encoded.levels[1])
    names = (*encoded.names, "pair")
    return fit_hlr(Encoded(codes, encoded.y, encoded.weights, levels, encoded.classes, names), 1)


def _loss(model: LinearModel, rows: Encoded) -> float:
    codes = rows.codes
    if len(model.space.levels) > len(codes):
        pair = codes[0].astype(np.int64) * rows.levels[1] + codes[1]
        codes = np.vstack([codes, pair.astype(np.uint8)])
    z = model.scores(codes)
    return float((np.logaddexp(z[:, 0], z[:, 1]) - z[np.arange(len(z)), rows.y]).mean())


def _coverage(options: argparse.Namespace) -> Iterator[Row]:
    for n in (1_000, 4_000):
        is_covered: dict[int, list[bool]] = {1: [], 2: []}
        for seed in range(options.bands):
            encoded, tables, shares = make_table(seed, n, 0.6)
            frame = pd.DataFrame(encoded.codes.T.astype(str), columns=list(encoded.names)).astype("category")
            study = alrviz.effect_bands(
                Dataset.from_arrays(frame, encoded.y), alrviz.Recipe("hlr", order=2, alpha=0.1), holdout=0.0,
                n_jobs=1, seed=seed,
            ).run()  # fmt: skip
            true, interactions = _truth(tables, shares), study.interactions
            assert interactions is not None
            for name in interactions.names:
                effects, columns = study.effects(name, label="1", other_label="0"), name.split(" & ")
                for line in effects.itertuples():
                    levels = map(int, line.levels.split(" & "))
                    key = tuple(zip((int(column[1:]) for column in columns), levels, strict=True))
                    is_covered[len(columns)].append(line.low <= true[key] <= line.high)
        yield {"rows": n, "main effects": float(np.mean(is_covered[1])), "pairs": float(np.mean(is_covered[2]))}


def _truth(tables: dict[Any, Any], shares: Any) -> dict[Any, float]:
    """The pure log-odds of every cell of one and two columns, under the levels' probabilities."""
    grid = np.stack([part.ravel() for part in np.meshgrid(*map(np.arange, LEVELS), indexing="ij")])
    weights = np.prod([p[codes] for p, codes in zip(shares, grid, strict=True)], axis=0)
    space = space_of(np.array(LEVELS), AllOrders(2))
    phi = np.zeros((space.n_cells, 2))
    for t, columns in enumerate(space.members):
        if tuple(columns) in tables:
            phi[space.first[t] : space.first[t] + space.cards[t], 1] = tables[tuple(columns)].ravel()
    model = LinearModel(space, np.arange(space.n_cells), phi, np.zeros(2))
    y, names = np.arange(len(weights)) % 2, tuple("abcd")
    rows = Encoded(grid.astype(np.uint8), y, weights, np.array(LEVELS), np.arange(2), names)
    pure = purify(model, rows)
    effects = pure.row_effects(rows.codes)
    return {
        tuple((j, int(grid[j, i])) for j in columns): float(effects[i, t, 1] - effects[i, t, 0])
        for t, columns in enumerate(pure.space.members)
        for i in range(len(weights))
    }


def _speed(options: argparse.Namespace) -> Iterator[Row]:
    if options.data is None:
        return
    for name in options.sets or SPEED:
        cuts: dict[str, Any] = {"discretize": "quantile", "n_bins": 20} if name == COVERTYPE else {}
        run = alrviz.Run(
            load_set(options.data, name), alrviz.Recipe("hlr", order=2, alpha=1.0, max_iter=10, holdout=0.3, **cuts)
        )
        run.start()
        run.join()
        times: dict[str, list[float]] = {"effects": [], "importance": [], "mute": [], "row": []}
        for _ in range(options.repeats):
            begin = time.perf_counter()
            interactions = alrviz.interactions(run)
            times["effects"].append(time.perf_counter() - begin)
            best = _timed(times["importance"], interactions.importance).index
            interactions.mute(best[0])
            _timed(times["mute"], lambda interactions=interactions, best=best: interactions.mute(best[1]))
            _timed(times["row"], lambda interactions=interactions: interactions.row(1))
        yield {"set": name, "rows": interactions.encoded.n_rows, "tuples": len(interactions.names),
               **{part: float(np.median(seconds)) for part, seconds in times.items()}}  # fmt: skip


def _timed(seconds: list[float], work: Any) -> Any:
    begin = time.perf_counter()
    result = work()
    seconds.append(time.perf_counter() - begin)
    return result


def _ebm(options: argparse.Namespace) -> Iterator[Row]:
    if options.data is None:
        return
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.metrics import log_loss

    for name in options.sets or EBM:
        data = load_set(options.data, name)
        splits = split_holdout(data.y, 0.3, 0)
        train, test_rows = splits.train, splits.test
        if options.train_rows is not None and options.train_rows < len(train):
            train = train[split_holdout(data.y[train], options.train_rows / len(train), 0).test]
        for model_name, model in (
            ("hlr", alrviz.HLRClassifier(order=2, alpha=1.0)), ("auto", alrviz.AutoClassifier()),
            ("ebm", ExplainableBoostingClassifier(random_state=0)),
        ):  # fmt: skip
            begin = time.perf_counter()
            model.fit(data.X.iloc[train], data.y[train])
            seconds = time.perf_counter() - begin
            loss = log_loss(data.y[test_rows], model.predict_proba(data.X.iloc[test_rows]), labels=model.classes_)
            yield {"set": name, "rows": len(train), "model": model_name, "seconds": seconds, "log loss": float(loss),
                   "pairs": "; ".join(_pairs(model, data, train))}  # fmt: skip


def _pairs(model: Any, data: Any, train: Any) -> list[str]:
    """The five pairs of the highest importance."""
    if hasattr(model, "term_importances"):
        ranked = sorted(zip(model.term_importances(), model.term_names_, strict=True), reverse=True)
        return [name for _, name in ranked if " & " in name][:5]
    dataset = Dataset.from_arrays(data.X.iloc[train], data.y[train])
    table = alrviz.interactions(model, dataset).importance()
    return [str(name) for name in table[table["order"] == 2].index[:5]]


_PARTS: dict[str, Any] = {
    "identity": _identity, "null": _null, "power": _power, "coverage": _coverage, "speed": _speed, "ebm": _ebm,
}  # fmt: skip
