"""`alrviz fit`: a model of a table of any size, in few passes over its files."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.cli.options import (
    Commands,
    Progress,
    Refused,
    add_read_options,
    from_one,
    kind_of,
    read_options,
    seed,
    with_options,
)
from alrviz.errors import LostColumnsWarning

if TYPE_CHECKING:
    from distributed import Client

    from alrviz.fitting.runs.run import Run
    from alrviz.fitting.solvers.step import Step

# Options of `fit` that are settings of recipes.
_SETTINGS = ("solver", "alpha", "penalty", "center", "start", "keep", "selection", "unit", "grow")


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("fit", help="fit a model to a table of any size, in few passes over its files")
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="files, folders or patterns of one table (Parquet, CSV ...)")
    add("--target", "--class", metavar="COLUMN", help="the column that is the class (default: guessed)")
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="the zip to write the model to")
    add("--family", default="alr", metavar="NAME", help="alr, lr, hlr, halr, salr, hsalr, anje (default: alr)")
    add("--order", type=_number_or_auto(int), default=2, metavar="N", help="columns a cell is of, or "
        "auto: as log loss on validation rows says (default: 2)")  # fmt: skip
    add("--passes", type=from_one("passes"), default=5, metavar="N", help="over the rows, to learn (default: 5)")
    add("--solver", metavar="NAME", help="what learns: auto, averaged, adagrad, tron or lbfgs (default: "
        "auto, which a sample chooses)")  # fmt: skip
    add("--alpha", type=_alpha, metavar="A", help="strength of the penalty, for hlr and halr also one for each "
        "order: 0.1,3; auto: as log loss on validation rows says (default: the family's)")  # fmt: skip
    add("--penalty", metavar="ON", help="what it is on: phi or w (default: the family's)")
    add("--center", type=_center, metavar="MODEL", help="what it shrinks toward: 0, 1, anje or shares (default: "
        "0)")  # fmt: skip
    add("--start", metavar="MODEL", help="where learning begins: zero, one, anje or random (default: "
        "zero)")  # fmt: skip
    add("--keep", type=_number_or_auto(float), metavar="SHARE", help="of tuples, or above 1 their number, "
        "or auto: the smallest share of like loss, for salr and hsalr (default: .6)")  # fmt: skip
    add("--selection", metavar="NAME", help="what scores tuples: mi, mi-mm, cv or gain (default: mi)")
    add("--unit", metavar="NAME", help="what is scored and kept: tuple or cell (default: tuple)")
    add("--grow", metavar="HOW", help="what hsalr looks at next: weak or strong (default: weak)")
    add("--discretize", default="mdl", choices=("mdl", "quantile", "uniform", "none"),
        help="how numbers are cut; none: every value is a level (default: mdl)")  # fmt: skip
    add("--kind", metavar="COLUMN=KIND", action="append", default=[], help="categorical, numeric, ordinal "
        "or ignore; may be given several times")  # fmt: skip
    add("--holdout", type=float, default=0.05, metavar="SHARE", help="of rows that judge (default: .05)")
    add("--seed", type=seed, default=0, metavar="N", help="of test rows and of the order of rows")
    add("--unreadable", default="error", choices=("error", "missing"), help="what becomes of a value that "
        "is not what its column's are (default: error)")  # fmt: skip
    add("--cache", type=Path, metavar="DIR", help="folder of codes (default: the user's)")
    add("--scheduler", metavar="ADDRESS", help="a Dask cluster's, such as tcp://host:8786: passes are its")
    add("--resume", action="store_true", help="go on after the last pass of a fit that was broken off")
    add("--threads", type=int, metavar="N", help="threads (default: all)")
    add_read_options(parser)
    parser.set_defaults(command=fit)


def _number_or_auto(kind: Callable[[str], float]) -> Callable[[str], float | str]:
    """What reads a number, or "auto"."""

    def read(text: str) -> float | str:
        try:
            return text if text == "auto" else kind(text)
        except ValueError as error:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not known; expected {what}, or auto") from error

    return read


def _alpha(text: str) -> str | float | tuple[float, ...]:
    if text == "auto":
        return text
    try:
        first, *more = map(float, text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not known; expected a number, one for each order: 0.1,3, or auto"
        ) from error
    return (first, *more) if more else first


def _center(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def fit(options: argparse.Namespace) -> int:
    """Fit the model and write it."""
    from alrviz.memory import few_arenas, whole_arrays
    from alrviz.passes.cluster import connect

    few_arenas()
    whole_arrays()
    with connect(options.scheduler) as client:  # first: all files might be read for nothing
        return _fit_on(client, options)


def _fit_on(client: Client | None, options: argparse.Namespace) -> int:
    if not options.out.parent.is_dir() or options.out.is_dir():
        folder = f"there is no folder {str(options.out.parent)!r} to write the model to"
        raise Refused(f"{str(options.out)!r} is a folder; a file was expected" if options.out.is_dir() else folder)
    from alrviz.data.stream.table import open_table
    from alrviz.fitting.families import FAMILIES, STREAMS, require_streams
    from alrviz.fitting.recipe import Recipe
    from alrviz.fitting.runs.run import Run

    require_streams(options.family)
    began, said = time.monotonic(), Progress()
    kinds = dict(kind_of(text) for text in options.kind)
    said_of = {name: getattr(options, name) for name in _SETTINGS}
    params = FAMILIES[options.family].params
    if foreign := next((name for name, value in said_of.items() if value is not None and name not in params), None):
        of = ", ".join(name for name in STREAMS if foreign in FAMILIES[name].params)
        raise Refused(f"--{foreign} is for {of}; {options.family} has no such setting")
    given = {"order": options.order, **{name: value for name, value in said_of.items() if value is not None}}
    if "max_iter" in params:
        given["max_iter"] = options.passes
    discretize = None if options.discretize == "none" else options.discretize
    recipe = Recipe(options.family, discretize=discretize, holdout=options.holdout, seed=options.seed, **given)
    stream = open_table(
        options.files, options.target, options=read_options(options), kinds=kinds, unreadable=options.unreadable,
        cache=options.cache, progress=said.rows,
    )  # fmt: skip
    said.line(f"{stream.name}: {stream.n_rows:,} rows, class {stream.target!r}", *map(with_options, stream.notes))
    kept = options.out.with_name(f"{options.out.name}.resume")
    if kept.exists() and not options.resume:
        raise Refused(f"{str(kept)!r} is of a fit that was broken off: go on with --resume, or remove it")
    run = Run(stream, recipe, n_jobs=options.threads, checkpoint=kept, scheduler=client, progress=said.rows)
    if options.resume and not kept.exists():
        said.line(f"there is no {kept} to go on from: this is a new fit")
    warnings.simplefilter("ignore", LostColumnsWarning)  # they are among the run's notes
    try:
        for step in run.steps():
            if step.index == 0 and run.estimate is not None:
                said.line(
                    *map(with_options, run.notes),
                    f"{run.estimate.cost.parameters:,} parameters of {run.estimate.cells_seen:,} cells",
                )
                choice = run.estimate.choice
                said.line(*([choice.reason] if choice and "solver" not in given else []))
            said.line(_of_pass(run, step, options.passes))
    except KeyboardInterrupt:
        said.line(f"broken off; {kept} goes on with --resume" if kept.exists() else "broken off before the first pass")
        raise
    judged = [step for step in run.trace.since(0) if "heldout_log_loss" in step.extra]
    best = min(judged, key=lambda step: step.extra["heldout_log_loss"], default=None)
    if best is not None and 0 < best.index < judged[-1].index:
        at = f"{best.passes - run.passes_before:g}"
        said.line(f"the test loss was lowest after pass {at}; the model is that of the last (--passes {at})")
    from alrviz.estimators.make import estimator_of  # 40 MB of estimators, which a fit does without
    from alrviz.estimators.model_file import save_model

    save_model(estimator_of(run), options.out)
    kept.unlink(missing_ok=True)
    said.line(f"the model is {options.out}, after {time.monotonic() - began:,.0f} s; alrviz predict {options.out} ROWS")
    return 0


def _of_pass(run: Run, step: Step, passes: int) -> str:
    """What a pass brought, in one line."""
    held = step.extra.get("heldout_log_loss")
    judged = "" if held is None else f", test {held:.5f} (error {step.extra['heldout_error']:.4f})"
    made = step.passes - run.passes_before
    more = f" and {made - passes:g} more to end the last step" if made > passes else ""
    at = f"pass {min(made, passes):g} of {passes}{more}" if made else "counted" if run.solver == "none" else "start"
    return f"{at}: log loss {step.nll / run.trace.rows:.5f}{judged}"
