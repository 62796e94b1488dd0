"""The console script `alrviz`: explore a table in the browser, fit and predict, compile kernels ahead, reproduce.

`explore` serves the same page as `panel serve apps/explorer.py`, on this machine only unless an address is given.
`explore --check` is the same server, asked once for its page by the program itself: what an installation without a
browser can try. `fit` makes a model of a table of any size, `predict` puts new rows through a saved model. `reproduce`
measures the papers' tables again: per item a CSV and a picture, saved as rows come. A command imports what it needs
itself, so that `alrviz --version` answers at once.

Exit codes: 0 done; 1 the check failed; 2 something asked for cannot be had (a missing file, a port in use); 130 a fit
was broken off.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import secrets
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from html import unescape
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

from alrviz import __version__
from alrviz.errors import AlrvizError, LostColumnsWarning, nearest
from alrviz.memory import free_memory

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.server.server import Server
    from distributed import Client

    from alrviz.data.dataset import Dataset
    from alrviz.data.options import ReadOptions
    from alrviz.data.stream.table import Stream
    from alrviz.explorer.server.tables import Upload
    from alrviz.fitting.runs.run import Run
    from alrviz.fitting.solvers.step import Step
    from alrviz.reproduce.items import Item

PORT = 5006  # Panel's own habit; the next free one is taken when it is in use
PORTS_TRIED = 50
PATH = "explorer"  # the page's path under `panel serve apps/explorer.py`, so that links work for both
LOCAL = ("127.0.0.1", "localhost")
PATIENCE = 120.0  # seconds for an answer: a first page on a slow disk imports everything
# Options of `fit` that are settings of recipes.
_SETTINGS = ("solver", "alpha", "penalty", "center", "start", "keep", "selection", "unit", "grow")
SAVE_EVERY = 10.0  # seconds between two savings of figures that are still coming

# What a sentence tells a caller of Python to pass, and the option that says it here.
_OPTIONS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"pass quartiles=True", "say --quartiles"),
    (r" \(quartiles=False [^)]*\)", ""),
    (r"pass target=", "say --class "),
    (r"options=ReadOptions\(dayfirst=True\)", "--day-first"),
    (r"options=ReadOptions\(dayfirst=False\)", "--month-first"),
    (r"options=ReadOptions\(missing=\((.*?),?\)\)", lambda m: " ".join(f"--missing {t}" for t in m[1].split(", "))),
    (r"(?:options=)?ReadOptions\((\w+)=([^)]*)\)", lambda m: f"--{m[1].replace('_', '-')} {m[2]}"),
    (r"options \(decimal, thousands, missing\) say", "--decimal, --thousands and --missing say"),
    (r"pass kinds=", "say --kind COLUMN=KIND"),
)


def with_options(text: str) -> str:
    """Return a sentence that says the command line's options where it says what is passed in Python.

    >>> with_options("pass quartiles=True to cut it; options=ReadOptions(decimal=',') reads it")
    "say --quartiles to cut it; --decimal ',' reads it"
    """
    for said, option in _OPTIONS:
        text = re.sub(said, option, text)
    return text


class _Refused(Exception):
    """What was asked for cannot be had; the text is shown as it is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except (_Refused, AlrvizError) as error:
        print(f"alrviz: {with_options(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
        return getattr(options, "broken_off", 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="alrviz", description="Classifiers from naive Bayes to higher-order logistic regression, watched live."
    )
    parser.add_argument("--version", action="version", version=f"alrviz {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="called")

    explore = commands.add_parser("explore", help="open the explorer in the browser")
    explore.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a table to open with (CSV, Parquet, ARFF ...)"
    )
    explore.add_argument(
        "--target", "--class", metavar="COLUMN", help="the column that is the class (default: guessed, or asked)"
    )
    explore.add_argument(
        "--batches", action="store_true", help="do not read the table whole: pages show a sample, Convergence can race "
        "all rows (a folder, a pattern in quotes, or what memory does not hold is opened so anyway)",
    )  # fmt: skip
    explore.add_argument("--quartiles", action="store_true", help="cut a target of measured numbers into four classes")
    _add_read_options(explore)
    explore.add_argument("--port", type=_port, help=f"the port to serve on (default: {PORT}, or the next that is free)")
    explore.add_argument("--address", default="127.0.0.1", help="the address to serve on (default: this machine only)")
    explore.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="a name under which others reach the page; needed with --address, may be repeated",
    )
    explore.add_argument(
        "--token",
        metavar="TEXT",
        help="what the page's address must hold the first time (default: one made up; none: ask for no token)",
    )
    explore.add_argument("--no-show", action="store_true", help="do not open a browser")
    explore.add_argument("--check", action="store_true", help="serve, fetch the page once, say what was seen, and end")
    explore.set_defaults(command=_explore)

    warm = commands.add_parser("warm", help="compile the kernels now, so that the first run starts at once")
    warm.set_defaults(command=_warm)

    predict = commands.add_parser("predict", aliases=["score"], help="predict new rows with a saved model")
    predict.add_argument("model", type=Path, metavar="MODEL", help="a zip, as save_model and the explorer write it")
    predict.add_argument("rows", type=Path, metavar="ROWS", help="new rows (CSV, JSON, Parquet, ARFF, xlsx ...)")
    predict.add_argument("-o", "--out", type=Path, metavar="FILE", help="CSV or Parquet to write (default: the screen)")
    predict.add_argument("--keep", metavar="COLUMN", action="append", default=[], help="pass a column of ROWS "
                       "through, as an id; may be given several times")  # fmt: skip
    predict.add_argument("--keep-all", action="store_true", help="pass all columns of ROWS through")
    _add_read_options(predict)
    predict.set_defaults(command=_predict)

    fit = commands.add_parser("fit", help="fit a model to a table of any size, in few passes over its files")
    fit.add_argument(
        "files", nargs="+", metavar="FILE", help="files, folders or patterns of one table (Parquet, CSV ...)"
    )
    fit.add_argument("--target", "--class", metavar="COLUMN", help="the column that is the class (default: guessed)")
    fit.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the zip to write the model to")
    fit.add_argument(
        "--family", default="alr", metavar="NAME", help="alr, lr, hlr, halr, salr, hsalr, anje (default: alr)"
    )
    fit.add_argument("--order", type=_number_or_auto(int), default=2, metavar="N", help="columns a cell is of, or "
                     "auto: as AnJE's loss on rows set apart says (default: 2)")  # fmt: skip
    fit.add_argument("--passes", type=_passes, default=5, metavar="N", help="over the rows, to learn (default: 5)")
    fit.add_argument("--solver", metavar="NAME", help="what learns: auto, averaged, adagrad, tron or lbfgs (default: "
                     "auto, which a sample chooses)")  # fmt: skip
    fit.add_argument("--alpha", type=_alpha, metavar="A", help="strength of the penalty, for hlr and halr also one for "
                     "each order: 0.1,3 (default: the family's)")  # fmt: skip
    fit.add_argument("--penalty", metavar="ON", help="what it is on: phi or w (default: the family's)")
    fit.add_argument("--center", type=_center, metavar="MODEL", help="what it shrinks toward: 0, 1 or anje (default: "
                     "0)")  # fmt: skip
    fit.add_argument("--start", metavar="MODEL", help="where learning begins: zero, one, anje or random (default: "
                     "zero)")  # fmt: skip
    fit.add_argument("--keep", type=_number_or_auto(float), metavar="SHARE", help="of tuples, or above 1 their number, "
                     "or auto: the smallest share of like loss, for salr and hsalr (default: .6)")  # fmt: skip
    fit.add_argument("--selection", metavar="NAME", help="what scores tuples: mi, mi-mm, cv or gain (default: mi)")
    fit.add_argument("--unit", metavar="NAME", help="what is scored and kept: tuple or cell (default: tuple)")
    fit.add_argument("--grow", metavar="HOW", help="what hsalr looks at next: weak or strong (default: weak)")
    fit.add_argument("--discretize", default="mdl", choices=("mdl", "quantile", "uniform", "none"),
                     help="how numbers are cut; none: every value is a level (default: mdl)")  # fmt: skip
    fit.add_argument("--kind", metavar="COLUMN=KIND", action="append", default=[], help="categorical, numeric, ordinal "
                     "or ignore; may be given several times")  # fmt: skip
    fit.add_argument("--holdout", type=float, default=0.05, metavar="SHARE", help="of rows that judge (default: .05)")
    fit.add_argument("--seed", type=int, default=0, metavar="N", help="of held-out rows and of the order of rows")
    fit.add_argument("--unreadable", default="error", choices=("error", "missing"), help="what becomes of a value that "
                     "is not what its column's are (default: error)")  # fmt: skip
    fit.add_argument("--cache", type=Path, metavar="DIR", help="folder of codes (default: the user's)")
    fit.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster's, such as tcp://host:8786: passes are its")
    fit.add_argument("--resume", action="store_true", help="go on after the last pass of a fit that was broken off")
    fit.add_argument("--threads", type=int, metavar="N", help="threads (default: all)")
    _add_read_options(fit)
    fit.set_defaults(command=_fit, broken_off=130)

    reproduce = commands.add_parser("reproduce", help="measure the papers' tables again, and set ours beside theirs")
    reproduce.add_argument("names", nargs="*", metavar="NAME", help="what to reproduce (default: all of --list)")
    reproduce.add_argument("--list", action="store_true", help="list the items and where sets are looked for, and end")
    reproduce.add_argument("--data", type=Path, metavar="DIR", help="folder with the sets (default: that of --list)")
    reproduce.add_argument("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="folder to save to")
    reproduce.add_argument("--quick", action="store_true", help="small sets, fewer splits: within ten minutes")
    reproduce.add_argument("--kept", action="store_true", help="show what earlier sittings kept; compute nothing")
    reproduce.add_argument("--report", type=Path, metavar="FILE", help="write it all as a Markdown page with pictures")
    reproduce.add_argument("--jobs", type=_jobs, default=1, help="processes, each with one thread (default: 1)")
    reproduce.set_defaults(command=_reproduce)
    return parser


def _add_read_options(parser: argparse.ArgumentParser) -> None:
    """What `ReadOptions` says, for a file that is not read rightly by itself."""
    group = parser.add_argument_group("how the file is read (default: as it looks, or as the model's table was)")
    group.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook, or its place from 1")
    group.add_argument("--missing", metavar="TEXT", action="append", help="a text or number that stands for a missing "
                       "value, such as -999; may be given several times")  # fmt: skip
    group.add_argument("--delimiter", metavar="C", help="what is between two values; 'tab' for a tabulator")
    group.add_argument("--decimal", metavar="C", help="the decimal mark, . or ,")
    group.add_argument("--thousands", metavar="C", help="the mark between thousands; '' for none")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--day-first", dest="dayfirst", action="store_const", const=True, help="5/6/2020 is 5 June")
    order.add_argument("--month-first", dest="dayfirst", action="store_const", const=False, help="5/6/2020 is 6 May")
    group.add_argument("--encoding", metavar="NAME", help="of the text, such as utf-8 or cp1252")
    group.add_argument("--header", metavar="N", type=_count, help="rows that hold the names, 0 to 3")
    group.add_argument("--skip-rows", metavar="N", type=_count, help="lines before the names")
    group.add_argument("--skip-footer", metavar="N", type=_count, help="lines behind the table")


def _read_options(options: argparse.Namespace) -> ReadOptions:
    from alrviz.data.options import ReadOptions

    return ReadOptions(
        delimiter="\t" if options.delimiter in ("tab", "\\t") else options.delimiter,
        encoding=options.encoding,
        decimal=options.decimal,
        thousands=options.thousands,
        missing=None if options.missing is None else tuple(options.missing),
        header=options.header,
        skip_rows=options.skip_rows,
        skip_footer=options.skip_footer,
        sheet=options.sheet,
        dayfirst=options.dayfirst,
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines; expected a whole number from 0")
    return int(text)


def _number_or_auto(kind: Callable[[str], float]) -> Callable[[str], float | str]:
    """What reads a number, or "auto"."""

    def read(text: str) -> float | str:
        try:
            return text if text == "auto" else kind(text)
        except ValueError as error:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} is not known; expected {what}, or auto") from error

    return read


def _alpha(text: str) -> float | tuple[float, ...]:
    try:
        first, *more = map(float, text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not known; expected a number, or one for each order: 0.1,3"
        ) from error
    return (first, *more) if more else first


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; expected a whole number from 1 to 65535")
    return int(text)


def _passes(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of passes; expected a whole number from 1")
    return int(text)


def _center(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; expected a whole number from 1")
    return int(text)


def _warm(options: argparse.Namespace) -> int:
    from alrviz.fitting.warm import warm

    variants, taken = warm()
    print(f"{variants} variants of the kernels are ready and kept on disk, after {taken:.1f} s")
    return 0


def _predict(options: argparse.Namespace) -> int:
    if options.called == "score":
        print("alrviz: score is called predict now", file=sys.stderr)
    for file in (options.model, options.rows):
        _require_file(file)
    notes: list[str] = []
    rows, strange = _written(_predictions(options, notes), options.out)
    for note in notes:
        print(f"alrviz: {note}", file=sys.stderr)
    if options.out is not None:
        print(f"{rows:,} rows predicted, {strange:,} with values that training never saw: {options.out}")
    return 0


def _predictions(options: argparse.Namespace, notes: list[str]) -> Iterator[pd.DataFrame]:
    from alrviz.estimators.model_file import load_model
    from alrviz.estimators.predict_table import predict_batches

    keep = "all" if options.keep_all else options.keep
    try:
        model = load_model(options.model)
        yield from predict_batches(model, options.rows, options=_read_options(options), keep=keep, notes=notes)
    except OSError as error:
        if isinstance(error, AlrvizError):
            raise
        raise _Refused(f"{error.filename or str(options.rows)!r} cannot be read: {error.strerror or error}") from error


def _written(parts: Iterator[pd.DataFrame], out: Path | None) -> tuple[int, int]:
    """Write predictions as they come, as Parquet where the name ends so, else as CSV; return how many rows there are,
    and how many with values not seen before. A file has its name once it is whole.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from alrviz.estimators.predict_table import predictions_csv

    rows = strange = 0
    if out is None:
        for part in parts:
            sys.stdout.write(predictions_csv(part, header=not rows))
            rows += len(part)
        return rows, strange
    draft, writer = out.with_name(f"{out.name}.{uuid.uuid4().hex}.part"), None
    try:
        with ExitStack() as ending:
            for part in parts:
                if out.suffix == ".parquet":
                    table = pa.Table.from_pandas(part, writer and writer.schema, preserve_index=False)
                    writer = writer or ending.enter_context(pq.ParquetWriter(draft, table.schema))
                    writer.write_table(table)
                else:
                    writer = writer or ending.enter_context(draft.open("w", encoding="utf-8", newline=""))
                    writer.write(predictions_csv(part, header=not rows))
                rows, strange = rows + len(part), strange + int((part["unseen"] != "").sum())
        os.replace(draft, out)
    except OSError as error:
        if isinstance(error, AlrvizError):
            raise
        raise _Refused(f"{str(out)!r} cannot be written: {error.strerror or error}") from error
    except pa.ArrowException as error:
        raise _Refused(f"{str(out)!r} cannot be written as Parquet ({error}); CSV takes any values") from error
    finally:
        draft.unlink(missing_ok=True)
    return rows, strange


def _fit(options: argparse.Namespace) -> int:
    from alrviz.passes.cluster import connected

    with connected(options.scheduler) as client:  # first: all files might be read for nothing
        return _fit_on(client, options)


def _fit_on(client: Client | None, options: argparse.Namespace) -> int:
    if not options.out.parent.is_dir() or options.out.is_dir():
        folder = f"there is no folder {str(options.out.parent)!r} to write the model to"
        raise _Refused(f"{str(options.out)!r} is a folder; a file was expected" if options.out.is_dir() else folder)
    from alrviz.data.stream.table import open_table
    from alrviz.estimators.model_file import save_model
    from alrviz.fitting.families import FAMILIES, STREAMS
    from alrviz.fitting.recipe import Recipe
    from alrviz.fitting.runs.run import Run

    if options.family not in STREAMS:
        raise _Refused(
            f"family {options.family!r} is not fitted to tables read in batches; expected "
            f"{', '.join(map(repr, STREAMS))}"
        )
    began, said = time.monotonic(), _Progress()
    kinds = dict(_kind(text) for text in options.kind)
    said_of = {name: getattr(options, name) for name in _SETTINGS}
    params = FAMILIES[options.family].params
    if foreign := next((name for name, value in said_of.items() if value is not None and name not in params), None):
        of = ", ".join(name for name in STREAMS if foreign in FAMILIES[name].params)
        raise _Refused(f"--{foreign} is for {of}; {options.family} has no such setting")
    given = {"order": options.order, **{name: value for name, value in said_of.items() if value is not None}}
    if "max_iter" in params:
        given["max_iter"] = options.passes
    discretize = None if options.discretize == "none" else options.discretize
    recipe = Recipe(options.family, discretize=discretize, holdout=options.holdout, seed=options.seed, **given)
    stream = open_table(
        options.files, options.target, options=_read_options(options), kinds=kinds, unreadable=options.unreadable,
        cache=options.cache, progress=said.rows,
    )  # fmt: skip
    said.line(f"{stream.name}: {stream.n_rows:,} rows, class {stream.target!r}", *map(with_options, stream.notes))
    kept = options.out.with_name(f"{options.out.name}.resume")
    if kept.exists() and not options.resume:
        raise _Refused(f"{str(kept)!r} is of a fit that was broken off: go on with --resume, or remove it")
    run = Run(stream, recipe, n_jobs=options.threads, checkpoint=kept, scheduler=client, progress=said.rows)
    if options.resume and not kept.exists():
        said.line(f"there is no {kept} to go on from: this is a new fit")
    warnings.simplefilter("ignore", LostColumnsWarning)  # they are among the run's notes
    try:
        for step in run.steps():
            if step.index == 0 and run.price is not None:
                said.line(
                    *map(with_options, run.notes),
                    f"{run.price.parameters:,} parameters of {run.price.cells_seen:,} cells",
                )
                said.line(*([run.price.choice.reason] if run.price.choice and "solver" not in given else []))
            said.line(_of_pass(run, step, options.passes))
    except KeyboardInterrupt:
        said.line(f"broken off; {kept} goes on with --resume" if kept.exists() else "broken off before the first pass")
        raise
    judged = [step for step in run.trace.since(0) if "heldout_log_loss" in step.extra]
    best = min(judged, key=lambda step: step.extra["heldout_log_loss"], default=None)
    if best is not None and 0 < best.index < judged[-1].index:
        at = f"{best.passes - run.passes_before:g}"
        said.line(f"held out was lowest after pass {at}; the model is that of the last (--passes {at})")
    save_model(run.estimator(), options.out)
    kept.unlink(missing_ok=True)
    said.line(f"the model is {options.out}, after {time.monotonic() - began:,.0f} s; alrviz predict {options.out} ROWS")
    return 0


def _kind(text: str) -> tuple[str, str]:
    name, found, kind = text.rpartition("=")
    if not found:
        raise _Refused(f"--kind {text!r} names no kind; expected COLUMN=KIND, such as {text}=categorical")
    return name, kind


def _of_pass(run: Run, step: Step, passes: int) -> str:
    """What a pass brought, in one line."""
    held = step.extra.get("heldout_log_loss")
    judged = "" if held is None else f", held out {held:.5f} (error {step.extra['heldout_error']:.4f})"
    made = step.passes - run.passes_before
    at = f"pass {made:g} of {passes}" if made else "counted" if run.solver == "none" else "start"
    return f"{at}: log loss {step.nll / run.trace.rows:.5f}{judged}"


class _Progress:
    """Says how far it is, on one line of a terminal that changes, or every few seconds."""

    def __init__(self) -> None:
        self._said, self._shown = 0.0, 0

    def rows(self, what: str, rows: int) -> None:
        """Tell of how many rows something is done."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self._said < (0.2 if terminal else 10.0):
            return
        self._said, text = now, f"{what}: {rows:,} rows"
        print(
            f"\r{text.ljust(self._shown)}" if terminal else text,
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._shown = len(text) if terminal else 0

    def line(self, *lines: str) -> None:
        """Print lines in place of what was told."""
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0
        for text in lines:
            print(text, flush=True)


def _reproduce(options: argparse.Namespace) -> int:
    if find_spec("alrviz.reproduce") is None:
        raise _Refused("this is the library alone; reproduce is run from a checkout of alrviz: pip install -e .")
    from alrviz.reproduce.items import ITEMS, STUDIES, chosen_items
    from alrviz.reproduce.pictures import write_report
    from alrviz.reproduce.sets import default_folder
    from alrviz.reproduce.settings import Settings

    items, folder = chosen_items(options.names), options.data or default_folder()
    if options.list:
        print("\n".join(f"{item.name:9} {item.title}" for item in items))
        print(f"sets are looked for in {folder}")
        return 0
    settings = Settings(folder, options.quick, options.jobs, keep=True, kept_only=options.kept)
    found, missing = 0, 0
    tables: dict[str, Any] = {}
    for study in dict.fromkeys(item.study for item in items):
        own = [item for item in items if item.study == study]
        figures, lacking, made = _measured(study, STUDIES[study](settings), own, options.out)
        found, missing, tables = found + figures, missing + lacking, tables | made
    if options.report:
        told = [item for item in items if item.name in tables]
        write_report(told, tables, options.out, options.report, options.quick, options.kept, list(ITEMS))
        print(f"\nthe report is {options.report}")
    if not found and missing:
        raise _Refused(f"none of the sets is in {folder}; each line above says where to get one")
    return 0


def _measured(
    study: str, progress: Iterator[tuple[str, list[dict[str, Any]]]], items: list[Item], out: Path
) -> tuple[int, int, dict[str, Any]]:
    """Save what a study yields and its items' tables as it comes; return rows with figures, rows without, tables."""
    from alrviz.reproduce.pictures import save

    rows: list[dict[str, Any]] = []
    tables: dict[str, Any] = {}
    saved = time.monotonic()
    try:
        for done, more in progress:
            rows += more
            print(done, *(row["missing"] for row in more if "missing" in row), sep="\n  ", flush=True)
            if time.monotonic() - saved > SAVE_EVERY:
                save(study, rows, items, out)
                saved = time.monotonic()
    finally:
        tables = save(study, rows, items, out)
        for item in items:
            seen = item.seen(tables[item.name])
            print(f"\n{item.name}  {item.title}\n  paper said: {item.said}\n  we see: {seen}")
            print(f"  {out / item.name}.csv, {item.name}.svg; every fit: {study}.csv", flush=True)
    missing = sum("missing" in row for row in rows)
    return len(rows) - missing, missing, tables


def _explore(options: argparse.Namespace) -> int:
    dataset = _read(options) if options.file else None
    from alrviz.explorer import application, preload
    from alrviz.explorer.server.visitor_ids import LOCAL_SWITCH
    from alrviz.explorer.web.guard import protect

    if options.address in LOCAL:
        os.environ.setdefault(LOCAL_SWITCH, "1")  # a machine of one's own: one owner, whichever browser asks
    page = application if dataset is None else partial(application, dataset=dataset, path=options.file.resolve())
    failures: list[Exception] = []
    preload()
    server = _serve(_watched(page, failures), options)
    host = options.address if options.address not in ("", "0.0.0.0") else "localhost"
    token = "" if options.token == "none" else options.token or secrets.token_hex(24)
    protect(server._tornado, token)
    asked = ({"page": "data"} if dataset is not None else {}) | ({"token": token} if token else {})
    url = f"http://{host}:{server.port}/{PATH}" + (f"?{urlencode(asked)}" if asked else "")
    if options.check:
        return _checked(server, url, failures)
    print(f"The explorer is at {url} (end it with Ctrl-C)", flush=True)
    if options.address not in LOCAL:
        who = "who opens it with this token" if token else "who can reach this address"
        print(f"Everyone {who} can upload tables and run fits on this machine.", flush=True)
    if not options.no_show:
        server.io_loop.add_callback(server.show, urlsplit(url)._replace(scheme="", netloc="").geturl())
    _run(server)
    return 0


def _require_file(file: Path) -> None:
    if not os.path.isfile(file):  # a name that no system allows is none too: pathlib would raise what is wrong with it
        there = os.listdir(file.parent) if os.access(file.parent, os.R_OK) and os.path.isdir(file.parent) else ()
        hint = nearest(file.name, (name for name in there if os.path.isfile(file.parent / name)))
        raise _Refused(f"there is no file {str(file)[:300]!r}{hint}")


def _in_batches(file: Path, options: argparse.Namespace) -> bool:
    """Whether a table is not read whole: that was asked for, it is several files, or memory would not hold it."""
    if (
        options.batches
        or os.path.isdir(file)
        or (not os.path.exists(file) and any(sign in file.name for sign in "*?["))
    ):
        return True
    times = 3 if file.suffix.lower() in (".csv", ".tsv", ".txt") else 12  # in memory, beside what is packed in a file
    return os.path.isfile(file) and os.path.getsize(file) * times > free_memory() // 2


def _read(options: argparse.Namespace) -> Dataset | Upload | Stream:
    """The file's table; the file itself where nobody can guess its class: the page asks. Of what memory does not hold
    only a sample is read.
    """
    file = options.file.expanduser()
    if _in_batches(file, options):
        from alrviz.data.stream.table import open_table

        told = _Progress()
        stream = open_table(str(file), options.target, options=_read_options(options), progress=told.rows)
        told.line(f"{stream!r}: pages show a sample of {stream.sample.n_rows:,} rows", *stream.notes)
        return stream
    _require_file(file)
    from alrviz.data.read import read_columns
    from alrviz.explorer.server.tables import Upload

    said = _read_options(options)
    try:
        table = read_columns(file, options=said)
        try:
            return table.dataset(options.target, quartiles=options.quartiles or None)
        except AlrvizError as error:
            if options.target is not None:
                raise
            print(f"Which column is the class has to be chosen on the page: {with_options(str(error))}", flush=True)
            return Upload.of(file.name, file.read_bytes()).replace(options=said)
    except OSError as error:
        raise _Refused(f"{str(file)!r} cannot be read: {error.strerror or error}") from error


def _serve(page: Callable[[], Any], options: argparse.Namespace) -> Server:
    """Bind a server for `page`, not started yet, on the port asked for or on the first that is free."""
    ports = [0] if options.check else [options.port] if options.port else range(PORT, PORT + PORTS_TRIED)
    for port in ports:
        try:
            return _bound(page, port, options)
        except ValueError as error:  # Bokeh's, of an origin that it cannot compare
            raise _Refused(
                f"cannot serve there: {error}; expected names or IPv4 addresses, each with a port behind a colon if "
                "it is another"
            ) from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise _Refused(f"cannot serve on {options.address}: {error.strerror or error}") from error
    if options.port:
        raise _Refused(f"port {options.port} is in use; give another, or leave --port out for the next free one")
    raise _Refused(f"the ports from {ports[0]} to {ports[-1]} are all in use; name a free one with --port")


def _bound(page: Callable[[], Any], port: int, options: argparse.Namespace) -> Server:
    from panel.io.server import get_server

    names = ["localhost", "127.0.0.1", options.address, *options.origin]
    origins = [name if ":" in name else f"{name}:{port}" for name in dict.fromkeys(names)]
    return get_server(
        {PATH: page}, port=port, address=options.address, websocket_origin=origins, title={PATH: "alrviz"}
    )


def _watched(page: Callable[[], Any], failures: list[Exception]) -> Callable[[], Any]:
    """Keep what `page` raises: Panel shows it to the reader on a page that looks like any other to a program."""

    def watched() -> Any:
        try:
            return page()
        except Exception as error:
            failures.append(error)
            raise

    return watched


def _run(server: Server) -> None:
    """Serve until the loop is stopped; Panel stops it on Ctrl-C."""
    server.start()
    try:
        server.io_loop.start()
    finally:
        server.stop()


def _checked(server: Server, url: str, failures: list[Exception]) -> int:
    """Serve while a thread looks at the page once; say what it saw."""
    findings: list[tuple[bool, str]] = []

    def look() -> None:
        try:
            findings.append(_seen(url))
        except (OSError, HTTPException) as error:
            findings.append((False, f"no page: {error}"))
        finally:
            server.io_loop.add_callback(server.io_loop.stop)

    threading.Thread(target=look, name="alrviz-check", daemon=True).start()
    _run(server)
    good, sentence = findings[0] if findings else (False, "ended before the page came")
    if failures:
        good, sentence = False, f"the page could not be built: {type(failures[0]).__name__}: {failures[0]}"
    print(f"{url.partition('?')[0]}: {sentence}", file=sys.stdout if good else sys.stderr)
    return 0 if good else 1


def _seen(url: str) -> tuple[bool, str]:
    """Fetch the page and the scripts and styles that it takes from its own server."""
    opened = build_opener(HTTPCookieProcessor()).open
    with opened(url, timeout=PATIENCE) as answer:
        text = answer.read().decode()
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    roots = re.search(r'"roots":\{(.*?)\}', text)
    if title is None or roots is None or not roots[1]:
        return False, "the server answered, but not with a page of the explorer"
    files = {urljoin(url, unescape(name)) for name in re.findall(r'(?:src|href)="([^"]+\.(?:js|css)\b[^"]*)"', text)}
    own = sorted(file for file in files if urlsplit(file).netloc == urlsplit(url).netloc)
    for file in own:
        with opened(file, timeout=PATIENCE) as answer:
            answer.read()
    name, elsewhere = unescape(title[1].strip()), len(files) - len(own)
    parts = f"{len(own)} scripts and styles" + (
        f" (and {elsewhere} from elsewhere, not asked for)" if elsewhere else ""
    )
    return True, f"page {name!r} of {len(text) / 1000:.0f} kB, {parts}: all there"


if __name__ == "__main__":
    sys.exit(main())
