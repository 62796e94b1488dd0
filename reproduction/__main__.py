"""The command line of the reproduction: `python -m reproduction [NAME ...]`.

Measure the papers' tables, figures and claims again and set ours beside theirs. Each item becomes a CSV and a picture
in the folder --out, saved as rows arrive.

Exit codes: 0 done; 2 an unknown item, or no data set was found; 130 interrupted.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from alrviz.cli.options import whole_number
from alrviz.errors import AlrvizError
from reproduction.item import Item
from reproduction.items import ITEMS, SAMPLE, STUDIES, chosen_items
from reproduction.over_sets import published_rows
from reproduction.pictures import save
from reproduction.report import FITS, write_report
from reproduction.sets import default_folder
from reproduction.settings import Settings

SAMPLE_NOTE = (
    "**This is the sample**: tables that come with the package, few rounds; what they cannot decide is left out."
)
SAVE_INTERVAL_SECONDS = 10.0  # between two savings of figures that are still coming
INTERRUPTED = 130  # the shell's exit code of a program that was ended by Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = parser().parse_args(arguments)
    try:
        return reproduce(options)
    except AlrvizError as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="python -m reproduction", description="Measure the papers' tables again, and set ours beside theirs."
    )
    result.add_argument("names", nargs="*", metavar="NAME", help="what to reproduce (default: all of --list)")
    result.add_argument("--list", action="store_true", help="list the items and where sets are looked for, and end")
    result.add_argument("--data", type=Path, metavar="DIR", help="folder with the sets (default: that of --list)")
    result.add_argument(
        "--out",
        type=Path,
        default=Path("build/reproduction"),
        metavar="DIR",
        help="folder to save to (default: build/reproduction)",
    )
    result.add_argument(
        "--sample", action="store_true", help="what tables that come with the package can decide: within ten minutes"
    )
    result.add_argument("--kept", action="store_true", help="show what earlier sittings kept; compute nothing")
    result.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write it all as a Markdown page; what it has is not fitted",
    )
    result.add_argument("--anew", action="store_true", help="measure again what stands beside the page of --report")
    result.add_argument(
        "--jobs",
        type=whole_number("a number of processes", 1),
        default=1,
        help="processes, each with one thread (default: 1)",
    )
    return result


def reproduce(options: argparse.Namespace) -> int:
    """Measure what was asked for."""
    items = chosen_items(options.names or (SAMPLE if options.sample else ()))
    folder = options.data or default_folder()
    if options.list:
        print("\n".join(f"{item.name:9} {item.title}" for item in items))
        print(f"sets are looked for in {folder}")
        return 0
    settings = Settings(folder, options.sample, options.jobs, keep=True, kept_only=options.kept)
    n_figures, missing = 0, 0
    tables: dict[str, Any] = {}
    for study in dict.fromkeys(item.study for item in items):
        study_items = [item for item in items if item.study == study]
        if options.report and not options.anew:
            study_file = options.report.with_suffix("") / FITS / f"{study}.csv"
            settings = replace(settings, published=published_rows(study_file))
        interval = float("inf") if options.kept else SAVE_INTERVAL_SECONDS
        figures, n_missing, study_tables = _save_progress(
            study, STUDIES[study](settings), study_items, options.out, interval
        )
        n_figures, missing, tables = n_figures + figures, missing + n_missing, tables | study_tables
    if options.report:
        reported = [item for item in items if item.name in tables]
        write_report(
            reported, tables, options.out, options.report, list(ITEMS.values()), SAMPLE_NOTE if options.sample else ""
        )
        print(f"\nthe report is {options.report}")
    if not n_figures and missing:
        print(f"reproduction: none of the sets is in {folder}; each line above says where to get one", file=sys.stderr)
        return 2
    return 0


def _save_progress(
    study: str, progress: Iterator[tuple[str, list[dict[str, Any]]]], items: list[Item], folder: Path, interval: float
) -> tuple[int, int, dict[str, Any]]:
    """Save what a study yields and its items' tables as it comes, again after so many seconds, and at the end; return
    rows with figures, rows without, tables.
    """
    rows: list[dict[str, Any]] = []
    tables: dict[str, Any] = {}
    saved = time.monotonic()
    try:
        for step_label, new_rows in progress:
            rows += new_rows
            print(step_label, *(row["missing"] for row in new_rows if "missing" in row), sep="\n  ", flush=True)
            if time.monotonic() - saved > interval:
                save(study, rows, items, folder)
                saved = time.monotonic()
    finally:
        tables = save(study, rows, items, folder)
        for item in items:
            summary = item.summarize(tables[item.name])
            print(f"\n{item.name}  {item.title}\n  paper said: {item.text}\n  we see: {summary}")
            print(f"  {folder / item.name}.csv, {item.name}.svg; every fit: {study}.csv", flush=True)
    missing = sum("missing" in row for row in rows)
    return len(rows) - missing, missing, tables


if __name__ == "__main__":
    sys.exit(main())
