"""Against scikit-learn, Vowpal Wabbit and plain numpy: seconds per iteration, to a target and to a held-out loss.

Three parts, each described in its own module:

    each    _each.py    seconds per iteration of L-BFGS on the same penalised objective of all pairs, and memory
    target  _target.py  seconds to F <= F* + 1e-3 N by every solver, alpha 1e-3 and 1
    loss    _vowpal.py  seconds to the held-out log loss of Vowpal Wabbit after 1, 2, 5 and 10 passes

Sets are read from --data: 70 % of the rows cut by MDL, of Covertype's sample all in 20 quantiles (in the last part 70 %
of them, too). Without it there is only a made table. --quick is a small version of all of it, for a look.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.fitting.warm import warm
from alrviz.passes.threads import resolve_jobs
from benchmarks._each import per_iteration
from benchmarks._sets import encoder_of, load_set, made_rows, speed_rows, train_and_held
from benchmarks._target import our_racers, peers_of, to_target
from benchmarks._tools import Row
from benchmarks._vowpal import to_loss

PARTS = ("each", "target", "loss")
ITERATION_SETS = ("adult", "connect-4", "covtype-sample")
ALL_SETS = (*ITERATION_SETS, "poker-hand-125k", "census-income", "letter-recognition")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add parts, sets, the shape of the made table, penalty and limits."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="which parts (default: all)")
    parser.add_argument("--sets", nargs="*", metavar="SET", help=f"read with --data (default: {', '.join(ALL_SETS)}; "
                        f"of the first part {', '.join(ITERATION_SETS)})")  # fmt: skip
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the made table (default: 50000)")
    parser.add_argument("--columns", type=int, default=15, help="its columns (default: 15)")
    parser.add_argument("--levels", type=int, default=10, help="its levels per column (default: 10)")
    parser.add_argument("--classes", type=int, default=7, help="its classes (default: 7)")
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")
    parser.add_argument("--alpha", type=float, default=1.0, help="penalty on phi in the first part (default: 1)")
    parser.add_argument("--alphas", nargs="+", type=float, default=[1e-3, 1.0], help="in the second (default: 1e-3 1)")
    parser.add_argument("--iterations", type=int, default=20, help="of each fit in the first part (default: 20)")
    parser.add_argument("--minutes", type=float, default=4.0, help="for a table in the first part (default: 4)")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of a fit in the others (default: 30)")
    parser.add_argument(
        "--patience", type=float, default=25.0, help="times our best that a peer may take in the second (default: 25)"
    )
    parser.add_argument(
        "--peer-limit", type=float, default=60.0, help="seconds that it may take there at most (default: 60)"
    )
    parser.add_argument("--racers", nargs="+", choices=list(our_racers(2, 1.0)), metavar="RACER",
                        help="which of ours there, beside auto (default: all)")  # fmt: skip
    parser.add_argument("--peers", nargs="+", choices=list(peers_of()), metavar="PEER",
                        help="which peers there (default: all; one of " + "; ".join(peers_of()) + ")")  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="a small made table, of the sets adult alone, short limits"
    )


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print the tables of every part; yield their rows."""
    warm(wide=False)
    if options.quick:
        options.rows, options.repeats, options.minutes = min(options.rows, 5000), 1, 0.5
        options.limit = options.peer_limit = 5.0
    print(f"order {options.order}, penalty on phi, from zero, {resolve_jobs(None)} threads\n", flush=True)
    made_table = made_rows(options.rows, options.columns, options.levels, options.classes)
    name = f"made, {options.columns} columns of {options.levels} levels"
    if "each" in options.parts:
        yield from per_iteration(name, made_table, options)
        for set_name in sets_of(options, ITERATION_SETS):
            yield from per_iteration(set_name, speed_rows(options.data, set_name), options)
    if "target" in options.parts:
        for set_name, encoded in _tables(options, name, made_table):
            yield from to_target(set_name, encoded, options)
    if "loss" in options.parts:
        for set_name, (train, validation) in _halves(options, name, made_table):
            yield from to_loss(set_name, train, validation, options)


def sets_of(options: argparse.Namespace, default: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sets to read."""
    if options.data is None:
        return ()
    return tuple(options.sets if options.sets is not None else ("adult",) if options.quick else default)


def _tables(options: argparse.Namespace, name: str, made_table: Encoded) -> Iterator[tuple[str, Encoded]]:
    set_names = sets_of(options, ALL_SETS)
    if not set_names:
        yield name, made_table
    for set_name in set_names:
        yield set_name, speed_rows(options.data, set_name)


def _halves(
    options: argparse.Namespace, name: str, made_table: Encoded
) -> Iterator[tuple[str, tuple[Encoded, Encoded]]]:
    set_names = sets_of(options, ALL_SETS)
    if not set_names:
        cut = round(0.7 * made_table.n_rows)
        yield name, (made_table.take(np.arange(cut)), made_table.take(np.arange(cut, made_table.n_rows)))
    for set_name in set_names:
        yield set_name, train_and_held(load_set(options.data, set_name), encoder_of(set_name))
