"""`alrviz reproduce`: the papers' tables again, per item a CSV and a picture, saved as rows come."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alrviz.cli.options import Commands, Refused, from_one

if TYPE_CHECKING:
    from alrviz.reproduce.items import Item

SAMPLE_NOTE = (
    "**This is the sample**: tables that come with the package, few rounds; what they cannot decide is left out."
)
SAVE_EVERY = 10.0  # seconds between two savings of figures that are still coming


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("reproduce", help="measure the papers' tables again, and set ours beside theirs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to reproduce (default: all of --list)")
    parser.add_argument("--list", action="store_true", help="list the items and where sets are looked for, and end")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with the sets (default: that of --list)")
    parser.add_argument("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="folder to save to")
    parser.add_argument(
        "--sample", action="store_true", help="what tables that come with the package can decide: within ten minutes"
    )
    parser.add_argument("--kept", action="store_true", help="show what earlier sittings kept; compute nothing")
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write it all as a Markdown page; what it has is not fitted",
    )
    parser.add_argument("--anew", action="store_true", help="measure again what stands beside the page of --report")
    parser.add_argument(
        "--jobs", type=from_one("processes"), default=1, help="processes, each with one thread (default: 1)"
    )
    parser.set_defaults(command=reproduce)


def reproduce(options: argparse.Namespace) -> int:
    """Measure what was asked for."""
    if find_spec("alrviz.reproduce") is None:
        raise Refused("this is the library alone; reproduce is run from a checkout of alrviz: pip install -e .")
    from alrviz.reproduce.items import ITEMS, SAMPLE, STUDIES, chosen_items
    from alrviz.reproduce.over_sets import published_rows
    from alrviz.reproduce.report import FITS, write_report
    from alrviz.reproduce.sets import default_folder
    from alrviz.reproduce.settings import Settings

    items = chosen_items(options.names or (SAMPLE if options.sample else ()))
    folder = options.data or default_folder()
    if options.list:
        print("\n".join(f"{item.name:9} {item.title}" for item in items))
        print(f"sets are looked for in {folder}")
        return 0
    settings = Settings(folder, options.sample, options.jobs, keep=True, kept_only=options.kept)
    found, missing = 0, 0
    tables: dict[str, Any] = {}
    for study in dict.fromkeys(item.study for item in items):
        own = [item for item in items if item.study == study]
        if options.report and not options.anew:
            beside = options.report.with_suffix("") / FITS / f"{study}.csv"
            settings = replace(settings, published=published_rows(beside))
        every = float("inf") if options.kept else SAVE_EVERY
        figures, lacking, made = _measured(study, STUDIES[study](settings), own, options.out, every)
        found, missing, tables = found + figures, missing + lacking, tables | made
    if options.report:
        told = [item for item in items if item.name in tables]
        write_report(
            told, tables, options.out, options.report, list(ITEMS.values()), SAMPLE_NOTE if options.sample else ""
        )
        print(f"\nthe report is {options.report}")
    if not found and missing:
        raise Refused(f"none of the sets is in {folder}; each line above says where to get one")
    return 0


def _measured(
    study: str, progress: Iterator[tuple[str, list[dict[str, Any]]]], items: list[Item], out: Path, every: float
) -> tuple[int, int, dict[str, Any]]:
    """Save what a study yields and its items' tables as it comes, again after so many seconds, and at the end; return
    rows with figures, rows without, tables.
    """
    from alrviz.reproduce.pictures import save

    rows: list[dict[str, Any]] = []
    tables: dict[str, Any] = {}
    saved = time.monotonic()
    try:
        for done, more in progress:
            rows += more
            print(done, *(row["missing"] for row in more if "missing" in row), sep="\n  ", flush=True)
            if time.monotonic() - saved > every:
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
