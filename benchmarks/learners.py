"""Learners of tables read in batches: held-out log loss after 1 to 10 passes over the rows.

    adagrad    [sALR]'s       averaged   its steps, longer, and means of weights
    tron       full passes, from an exact fit to a sample on; products with the Hessian by the sample
    lbfgs      full passes from the same fit
    auto       averaged or tron, as the sample says

A pass is one over all training rows that a learner makes; counting the cells is one more for all of them. A tenth of
the rows is held out. Poker hands are dealt by exact rules. A learner that ends earlier stays where it is.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from alrviz.data.demos.games import poker_hand
from alrviz.data.stream.table import Stream, open_table
from alrviz.errors import AlrvizError
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from benchmarks._tools import Row, data_file, show
from reproduction.svg import line, page, text

SETS = ("adult", "connect-4", "covtype-sample", "census-income", "poker", "kddcup99-10pct")
CASES = (("alr", 2, None), ("alr", 2, 0.0), ("lr", 1, None), ("alr", 1, 0.0))  # family, order, alpha (None: default)
FEWER = {"kddcup99-10pct": 1}  # orders above are left out: 23 classes
LEARNERS = ("adagrad", "averaged", "tron", "lbfgs")
# Losses so near to each other, relatively, are one: what another order of the rows changes.
TIE = 0.002
_COLOURS = {"adagrad": "#999999", "averaged": "#0072b2", "tron": "#d55e00", "lbfgs": "#cc79a7"}


def open_stream(folder: Path | None, name: str, hands: int, cache: Path) -> Stream:
    """Return a table of `folder`, or that of poker hands, read in batches; its codes go to `cache`."""
    if name == "poker":
        path = cache / "poker.parquet"
        frame = poker_hand(hands, np.random.default_rng(0))
        frame.to_parquet(path)
        kinds = dict.fromkeys(frame.columns.drop("class"), "categorical")
        return open_table(path, "class", kinds=kinds, cache=cache)
    source = data_file(folder, name)
    if source is None:
        raise AlrvizError(f"{name} is read from a folder; expected --data DIR")
    return open_table(source, "class", cache=cache)


def losses(stream: Stream, recipe: Recipe, passes: int, threads: int | None) -> Row:
    """Return rows, which learner ran, seconds of its steps, and held-out log losses after 1 to `passes` passes."""
    run = Run(stream, recipe, n_jobs=threads)
    steps = list(run.steps())
    figures: Row = {"rows": int(run.trace.rows), "learner": run.solver, "seconds": steps[-1].seconds}
    for budget in range(1, passes + 1):
        budget_steps = [step for step in steps if 0 < step.passes - run.passes_before <= budget]
        figures[f"pass {budget}"] = budget_steps[-1].extra["heldout_log_loss"] if budget_steps else float("nan")
    return figures


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, cases, passes, hands, threads and the picture."""
    parser.add_argument("--sets", nargs="*", default=SETS, metavar="NAME", help=f"default: {' '.join(SETS)}")
    parser.add_argument("--cases", nargs="*", type=int, default=range(len(CASES)), help="numbers of cases, from 0")
    parser.add_argument("--passes", type=int, default=10, help="default: 10")
    parser.add_argument("--hands", type=int, default=1_000_000, help="of poker (default: 1000000)")
    parser.add_argument("--threads", type=int, default=None, help="default: all")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the curves as SVG")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a learner and case; draw them."""
    rows: list[Row] = []
    for name in options.sets:
        with TemporaryDirectory() as folder:
            stream = open_stream(options.data, name, options.hands, Path(folder))
            for family, order, alpha in (CASES[k] for k in options.cases):
                if order > FEWER.get(name, order):
                    continue
                fixed_alpha = FAMILIES[family].params["alpha"].default_in_links if alpha is None else alpha
                recipe = Recipe(family, order=order, alpha=fixed_alpha, max_iter=options.passes, tol=0.0, holdout=0.1)
                case = f"{name}, {family} n={order}{', no penalty' if alpha == 0.0 else ''}"
                case_rows: list[Row] = []
                while untried := [name for name in LEARNERS if name not in {row["learner"] for row in case_rows}]:
                    learner = untried[0] if case_rows else "auto"  # one of the others
                    run = losses(stream, recipe.replace(solver=learner), options.passes, options.threads)
                    case_rows.append({"case": case, "auto": not case_rows, **run})
                    yield case_rows[-1]
                case_rows.sort(key=lambda row: LEARNERS.index(row["learner"]))
                rows += case_rows
                _show(case_rows, options.passes)
    _wins(rows, options.passes)
    if options.picture is not None:
        options.picture.write_text(picture(rows, options.passes), encoding="utf-8")


def _show(case_rows: list[Row], passes: int) -> None:
    budgets = [f"pass {k}" for k in range(1, passes + 1)]
    show(
        ((row["learner"] + " (auto)" * row["auto"], *(f"{row[k]:.4f}" for k in budgets), f"{row['seconds']:.1f} s")
         for row in case_rows),
        header=(f"{case_rows[0]['case']}, {case_rows[0]['rows']:,} rows", *budgets, "seconds"),
    )  # fmt: skip
    print(flush=True)


def _wins(rows: list[Row], passes: int) -> None:
    """Say how often auto and each learner are lowest or as low, over cases and budgets."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    best = {(case, k): np.nanmin([row[f"pass {k}"] for row in rows if row["case"] == case])
            for case in cases for k in range(1, passes + 1)}  # fmt: skip
    for learner in ("auto", *LEARNERS):
        learner_rows = [row for row in rows if row["auto"] or learner != "auto" if learner in ("auto", row["learner"])]
        near = sum(
            row[f"pass {k}"] <= best[row["case"], k] * (1.0 + TIE) for row in learner_rows for k in range(1, passes + 1)
        )
        paper = {row["case"]: row for row in rows if row["learner"] == "adagrad"}
        as_low = sum(row[f"pass {k}"] <= paper[row["case"]][f"pass {k}"] * (1.0 + TIE)
                    for row in learner_rows for k in range(1, passes + 1))  # fmt: skip
        print(f"{learner}: lowest or tied in {near}, at most adagrad's in {as_low} of {len(best)} cases and budgets")


def picture(rows: list[Row], passes: int, columns: int = 4) -> str:
    """Return the curves as SVG, a panel a case."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    wide, high, margin, top, head = 236, 170, 54, 30, 34
    parts = []
    for number, learner in enumerate(LEARNERS):
        x = 14.0 + 120 * number
        parts += [line((x, x + 22), (18, 18), _COLOURS[learner], 2.5), text(learner, x + 28, 22)]
    parts.append(
        text("held-out log loss against passes; thick: what auto takes", 14.0 + 120 * len(LEARNERS), 22, kind="quiet")
    )
    for place, case in enumerate(cases):
        case_rows = [row for row in rows if row["case"] == case]
        values = [row[f"pass {k}"] for row in case_rows for k in range(1, passes + 1)]
        low = float(np.nanmin(values))
        peak = max(
            low * 1.02, float(np.nanmax([row[f"pass {k}"] for row in case_rows[:2] for k in range(1, passes + 1)]))
        )
        x0, y0 = place % columns * wide, head + place // columns * high
        frame = (x0 + margin, y0 + top, wide - margin - 14, high - top - 26)

        def locate(k: int, value: float, frame: tuple[float, ...] = frame, low: float = low, peak: float = peak):  # type: ignore[no-untyped-def]
            share = min(1.0, (value - low) / (peak - low))
            return frame[0] + frame[2] * (k - 1) / max(1, passes - 1), frame[1] + frame[3] * (1.0 - share)

        parts.append(text(case, x0 + 12, y0 + 18))
        for value in (low, peak):
            _, y = locate(1, value)
            parts += [line((frame[0], frame[0] + frame[2]), (y, y)),
                      text(f"{value:.3g}", frame[0] - 4, y + 4, kind="quiet", anchor="end")]  # fmt: skip
        for k in (1, passes):
            parts.append(text(str(k), locate(k, low)[0], y0 + high - 8, kind="quiet", anchor="middle"))
        for row in case_rows:
            points = [locate(k, row[f"pass {k}"]) for k in range(1, passes + 1) if np.isfinite(row[f"pass {k}"])]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{_COLOURS[row["learner"]]}" '
                         f'stroke-width="{3 if row["auto"] else 1.5}"/>')  # fmt: skip
    return page(parts, columns * wide, head + -(-len(cases) // columns) * high + 6)
