"""Tables read in batches: rows a second of encoding and of each pass, and time and memory as rows grow.

    reading + encoding   open_table and codes, from one Parquet file
    counting, loss and gradient, AdaGrad        a pass over codes that are read from their file

Rows are made: columns of as many levels, and a class that hangs on pairs of them. Passes run on `--threads` threads, 1
as default, so that figures are those of a core; AdaGrad has one in any case. The peak is that of a process which does
it all. --sizes sets further numbers of rows, each in a process of its own; --learners sets other learners of such
tables beside ours (_learners.py).
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from alrviz.data.stream.table import open_table
from alrviz.fitting.warm import warm_cuts, warm_stream
from alrviz.models.parameterisation import parameterise
from alrviz.models.streamed import count_stream
from alrviz.passes.stream import LocalChunks, single_table
from benchmarks._child import in_child
from benchmarks._learners import side_by_side
from benchmarks._tools import Row, mib, seconds, show, timed

# Million rows a second and core at 18 columns of 29 levels, order 2.
REACH = {"encode": 1.0, "count": 4.0, "gradient": 3.0, "adagrad": 2.0}
_AT_ONCE = 2**18


def write_table(path: Path, rows: int, columns: int, levels: int, classes: int) -> None:
    """Write a table whose class hangs on three pairs of columns and on chance."""
    rng = np.random.default_rng(0)
    writer = None
    for begin in range(0, rows, _AT_ONCE):
        n = min(_AT_ONCE, rows - begin)
        codes = rng.integers(0, levels, (columns, n), dtype=np.int8)
        pair_sum = sum((codes[2 * k].astype(int) * codes[2 * k + 1] % 7 > 3) for k in range(min(3, columns // 2)))
        y = (pair_sum + (rng.random(n) < 0.2)) % classes
        table = pa.table({**{f"c{j}": column for j, column in enumerate(codes)}, "class": y.astype(np.int8)})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def measure_table(path: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return seconds of encoding and of each pass, rows and the peak of memory of a table's file."""
    warm_cuts()
    warm_stream(options.classes, np.full(options.columns, options.levels))
    with TemporaryDirectory(dir=options.work) as folder:
        kinds = {f"c{j}": "categorical" for j in range(options.columns)}
        begin = time.perf_counter()
        coded = open_table(path, "class", kinds=kinds, cache=folder).coded(holdout=0.05)
        encode = time.perf_counter() - begin
        cache = coded.cache
        chunks = LocalChunks(partial(cache.chunks, "train"), len(cache.parts["train"]))
        streamed = count_stream(coded.levels, options.order, chunks, options.classes, 1.0, 2**31, options.threads)
        passes = streamed.passes
        scale = parameterise("alr", streamed.tables).scale
        bias, table = np.zeros(options.classes), streamed.blank(None)
        steps = single_table(passes.cells.n_rows, 3, passes.padded_width)
        steps[np.append(streamed.rows, passes.cells.n_rows), 0, : options.classes] = scale
        works: dict[str, Callable[[], Any]] = {
            "count": passes.count_by_class,
            "gradient": lambda: passes.loss_and_gradient(table, bias),
            "adagrad": lambda: passes.adagrad(steps, 0.05, (0,)),
        }
        times = {name: timed(work, options.repeats, 0).median for name, work in works.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    n_coded, rows = sum(map(cache.n_rows, ("train", "test"))), cache.n_rows("train")
    return {
        "rows": rows,
        "coded": n_coded,
        "cells": len(streamed.tables.seen_cells),
        "peak": peak,
        "encode": encode,
        **times,
    }


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the table's shape, order, threads and further sizes."""
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: 1000000")
    parser.add_argument("--sizes", type=int, nargs="*", default=[], metavar="ROWS", help="further numbers of rows")
    parser.add_argument("--columns", type=int, default=18, help="default: 18")
    parser.add_argument("--levels", type=int, default=29, help="of each column (default: 29)")
    parser.add_argument("--classes", type=int, default=2, help="default: 2")
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--learners", action="store_true", help="Vowpal Wabbit, LightGBM, SGDClassifier beside ours")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of other learners (default: 300)")
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="folder of tables and codes (default: a temporary one)"
    )


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a size."""
    figures: list[Row] = []
    for rows in [options.rows, *options.sizes]:
        with TemporaryDirectory(dir=options.work) as folder:
            path = Path(folder) / "made.parquet"
            write_table(path, rows, options.columns, options.levels, options.classes)
            answer = in_child(measure_table, str(path), options)
            if options.learners and rows == options.rows:
                yield from side_by_side(path, options)
        if answer.value is None:
            print(f"{rows:,} rows: {answer.reason}")
            continue
        figures.append({"columns": options.columns, "levels": options.levels, "classes": options.classes,
                      "order": options.order, "threads": options.threads, **answer.value})  # fmt: skip
        yield figures[-1]
    show(
        ((f"{row['rows']:,}", f"{row['cells']:,}", *(seconds(row[name]) for name in REACH), mib(row["peak"]))
         for row in figures),
        header=("training rows", "cells", "read + encode", "count", "loss + gradient", "AdaGrad", "peak"),
    )  # fmt: skip
    print()
    for row in figures:
        rates = {name: row["coded" if name == "encode" else "rows"] / row[name] / 1e6 for name in REACH}
        verdicts = ", ".join(
            f"{name} {rates[name]:.2f} (to reach {reach:g}: {'yes' if rates[name] >= reach else 'NO'})"
            for name, reach in REACH.items()
        )
        print(f"{row['rows']:,} rows, million a second: {verdicts}")
