"""`alrviz fit`: a model of a table of any size, fitted in few passes over its files."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.cli.options import (
    CommandError,
    Commands,
    Progress,
    add_table_options,
    kind_of,
    read_options,
    whole_number,
    with_options,
)
from alrviz.errors import LostColumnsWarning

if TYPE_CHECKING:
    from distributed import Client

    from alrviz.fitting.recipe import Recipe
    from alrviz.fitting.runs.run import Run
    from alrviz.fitting.solvers.step import Step

# Options of `fit` that are settings of recipes.
_SETTINGS = ("solver", "alpha", "penalty", "center", "start", "keep", "selection", "unit", "grow")


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("fit", help="fit a model to a table of any size, in few passes over its files")
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="files, folders or patterns of one table (Parquet, CSV ...)")
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="the zip to write the model to")
    add("--family", default="alr", metavar="NAME", help="alr, lr, hlr, halr, salr, hsalr, anje (default: alr)")
    add("--order", type=_number_or_auto(int), default=2, metavar="N", help="columns of a tuple, or "
        "auto: chosen by log loss on validation rows (default: 2)")  # fmt: skip
    add(
        "--passes",
        type=whole_number("a number of passes", 1),
        default=5,
        metavar="N",
        help="passes over the rows (default: 5)",
    )
    add("--solver", metavar="NAME", help="auto, averaged, adagrad, tron or lbfgs (default: auto, chosen on a "
        "sample)")  # fmt: skip
    add("--alpha", type=_alpha, metavar="A", help="strength of the penalty, for hlr and halr also one for each "
        "order: 0.1,3; auto: chosen by log loss on validation rows (default: the family's)")  # fmt: skip
    add("--penalty", metavar="ON", help="what the penalty is on: phi or w (default: the family's)")
    add("--center", type=_center, metavar="MODEL", help="model that the penalty shrinks to: 0, 1, anje or shares "
        "(default: 0)")  # fmt: skip
    add("--start", metavar="MODEL", help="model to start from: zero, one, anje or random (default: zero)")
    add("--keep", type=_number_or_auto(float), metavar="SHARE", help="share of tuples to keep, or above 1 their "
        "number, or auto: the smallest share without a worse loss, for salr and hsalr (default: .8)")  # fmt: skip
    add("--selection", metavar="NAME", help="score of tuples: mi, mi-mm, cv or gain (default: mi)")
    add("--unit", metavar="NAME", help="unit that is scored and kept: tuple or cell (default: tuple)")
    add("--grow", metavar="HOW", help="which tuples hsalr scores next: weak or strong (default: weak)")
    add("--discretize", default="mdl", choices=("mdl", "quantile", "uniform", "none"),
        help="how numbers are cut; none: every value is a level (default: mdl)")  # fmt: skip
    add("--holdout", type=float, default=0.05, metavar="SHARE", help="share of test rows (default: .05)")
    add(
        "--seed",
        type=whole_number("a seed"),
        default=0,
        metavar="N",
        help="seed of the test rows and of the order of rows",
    )
    add("--unreadable", default="error", choices=("error", "missing"), help="what to do with a value that does "
        "not fit its column (default: error)")  # fmt: skip
    add("--cache", type=Path, metavar="DIR", help="folder for encoded rows (default: the user's)")
    add("--scheduler", metavar="ADDRESS", help="run passes on a Dask cluster, such as tcp://host:8786")
    add("--resume", action="store_true", help="resume an interrupted fit after its last pass")
    add("--threads", type=int, metavar="N", help="threads (default: all)")
    add_table_options(parser, "categorical, numeric, ordinal or ignore")
    parser.set_defaults(command=fit)


def _number_or_auto(kind: Callable[[str], float]) -> Callable[[str], float | str]:
    """Return a parser of numbers, or "auto"."""

    def read(text: str) -> float | str:
        try:
            return text if text == "auto" else kind(text)
        except ValueError as error:
            expected_text = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not known; expected {expected_text}, or auto") from error

    return read


def _alpha(text: str) -> str | float | tuple[float, ...]:
    if text == "auto":
        return text
    try:
        first_alpha, *further_alphas = map(float, text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not known; expected a number, one for each order: 0.1,3, or auto"
        ) from error
    return (first_alpha, *further_alphas) if further_alphas else first_alpha


def _center(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def fit(options: argparse.Namespace) -> int:
    """Fit the model and write it."""
    from alrviz.memory import few_arenas, whole_arrays
    from alrviz.passes.cluster import connect

    few_arenas()
    whole_arrays()
    with connect(options.scheduler) as client:  # before all files are read for nothing
        return _fit_on(client, options)


def _fit_on(client: Client | None, options: argparse.Namespace) -> int:
    if not options.out.parent.is_dir() or options.out.is_dir():
        no_folder = f"there is no folder {str(options.out.parent)!r} to write the model to"
        is_folder = f"{str(options.out)!r} is a folder; a file was expected"
        raise CommandError(is_folder if options.out.is_dir() else no_folder)
    from alrviz.data.stream.table import open_table
    from alrviz.fitting.runs.run import Run

    recipe, start_time, progress = _recipe(options), time.monotonic(), Progress()
    kinds = dict(kind_of(text) for text in options.kind)
    stream = open_table(
        options.files, options.target, options=read_options(options), kinds=kinds, unreadable=options.unreadable,
        cache=options.cache, progress=progress.rows,
    )  # fmt: skip
    progress.line(f"{stream.name}: {stream.n_rows:,} rows, class {stream.target!r}", *map(with_options, stream.notes))
    checkpoint = options.out.with_name(f"{options.out.name}.resume")
    if checkpoint.exists() and not options.resume:
        raise CommandError(f"{str(checkpoint)!r} is of an interrupted fit: continue it with --resume, or remove it")
    run = Run(stream, recipe, n_jobs=options.threads, checkpoint=checkpoint, scheduler=client, progress=progress.rows)
    if options.resume and not checkpoint.exists():
        progress.line(f"there is no {checkpoint} to resume: this is a new fit")
    warnings.simplefilter("ignore", LostColumnsWarning)  # the run's notes say the same
    try:
        _run_passes(run, progress, options)
    except KeyboardInterrupt:
        resume_text = f"interrupted; continue {checkpoint} with --resume"
        progress.line(resume_text if checkpoint.exists() else "interrupted before the first pass")
        raise
    from alrviz.estimators.make import estimator_of  # 40 MB that a fit does not need
    from alrviz.estimators.model_file import save_model

    save_model(estimator_of(run), options.out)
    checkpoint.unlink(missing_ok=True)
    progress.line(
        f"the model is {options.out}, after {time.monotonic() - start_time:,.0f} s; alrviz predict {options.out} ROWS"
    )
    return 0


def _run_passes(run: Run, progress: Progress, options: argparse.Namespace) -> None:
    """Run to the end, with a line of progress for each pass."""
    for step in run.steps():
        if step.index == 0 and run.estimate is not None:
            progress.line(
                *map(with_options, run.notes),
                f"{run.estimate.cost.parameters:,} parameters of {run.estimate.cells_seen:,} cells",
            )
            choice = run.estimate.choice
            progress.line(*([choice.reason] if choice and options.solver is None else []))
        progress.line(_pass_text(run, step, options.passes))
    tested_steps = [step for step in run.trace.since(0) if "heldout_log_loss" in step.extra]
    best_step = min(tested_steps, key=lambda step: step.extra["heldout_log_loss"], default=None)
    if best_step is not None and 0 < best_step.index < tested_steps[-1].index:
        n = f"{best_step.passes - run.passes_before:g}"
        progress.line(f"the test loss was lowest after pass {n}; the model is that of the last (--passes {n})")


def _recipe(options: argparse.Namespace) -> Recipe:
    """Return the recipe of the options; raise `CommandError` for a setting that its family does not have."""
    from alrviz.fitting.families import FAMILIES, STREAMS, require_streams
    from alrviz.fitting.recipe import Recipe

    require_streams(options.family)
    settings = {name: value for name in _SETTINGS if (value := getattr(options, name)) is not None}
    params = FAMILIES[options.family].params
    if foreign := next((name for name in settings if name not in params), None):
        family_names_text = ", ".join(name for name in STREAMS if foreign in FAMILIES[name].params)
        raise CommandError(f"--{foreign} is for {family_names_text}; {options.family} has no such setting")
    settings["order"] = options.order
    if "max_iter" in params:
        settings["max_iter"] = options.passes
    discretize = None if options.discretize == "none" else options.discretize
    return Recipe(options.family, discretize=discretize, holdout=options.holdout, seed=options.seed, **settings)


def _pass_text(run: Run, step: Step, passes: int) -> str:
    """Return a line on a pass: its losses on training and test rows."""
    test_loss = step.extra.get("heldout_log_loss")
    test_loss_text = "" if test_loss is None else f", test {test_loss:.5f} (error {step.extra['heldout_error']:.4f})"
    passes_done = step.passes - run.passes_before
    extra_passes_text = f" and {passes_done - passes:g} more to end the last step" if passes_done > passes else ""
    pass_name = (
        f"pass {min(passes_done, passes):g} of {passes}{extra_passes_text}"
        if passes_done
        else "counted"
        if run.solver == "none"
        else "start"
    )
    return f"{pass_name}: log loss {step.nll / run.trace.rows:.5f}{test_loss_text}"
