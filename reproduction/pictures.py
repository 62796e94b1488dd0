"""A reproduction as files in a folder: every fit of a study, and for each of its items a table and a picture.

`<study>.csv` has a line a fit; `<item>.csv` and `<item>.svg` are what the item makes of them, ours beside the paper's.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from alrviz import __version__
from alrviz.studies.core.export import to_csv
from reproduction.drawing import WIDTH, dots, lines
from reproduction.item import Item
from reproduction.methods import ALL_METHODS
from reproduction.panels import curves, maps, scatter
from reproduction.svg import page, text
from reproduction.toy import EDGE


def _limits(points: pd.DataFrame, title: str) -> str:
    logs = set(points.loc[points["log"], "set"])
    return dots(points, title, {}, log=logs, panels_across=1, label=WIDTH / 2)


def _maps(points: pd.DataFrame, title: str) -> str:
    return maps(points.to_dict("records"), title, EDGE)


_LABELS = {name: method.label for name, method in ALL_METHODS.items()}
# By `Item.picture`: from what it shows and the title to SVG.
PICTURES: Mapping[str, Callable[[pd.DataFrame, str], str]] = MappingProxyType(
    {
        "dots": lambda table, title: dots(table, title, _LABELS),
        "log dots": lambda table, title: dots(table, title, _LABELS, log=True),
        "growth": lambda table, title: lines(table, title, _LABELS),
        "limits": _limits,
        "scatter": scatter,
        "curves": curves,
        "maps": _maps,
    }
)


def picture(item: Item, figures: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return the SVG of an item, from its study's rows and its table."""
    points = table if item.points is None else item.points(figures)
    if not len(points):
        return page([text(item.title, 12, 22, kind="title"), text("no data yet", 12, 46, kind="quiet")], 760, 64)
    return PICTURES[item.picture](points, item.title)


def save(study: str, rows: Sequence[Mapping[str, Any]], items: Sequence[Item], folder: Path) -> dict[str, pd.DataFrame]:
    """Write a study's rows and its items to `folder`, over what is there; return the items' tables by name."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["set", "method"])
    if "fits" in figures:  # of a set and racer the last row counts: a later stage has more rounds
        figures = figures[figures["fits"].isna() | ~figures.duplicated(["set", "method"], keep="last")]
    metadata = {"alrviz": __version__}
    plain = figures[[name for name in figures if not figures[name].map(lambda cell: isinstance(cell, list)).any()]]
    (folder / f"{study}.csv").write_text(to_csv(plain, metadata), encoding="utf-8")
    tables = {item.name: item.table(figures) for item in items}
    for item in items:
        table = tables[item.name]
        (folder / f"{item.name}.svg").write_text(picture(item, figures, table), encoding="utf-8")
        (folder / f"{item.name}.csv").write_text(to_csv(table, metadata | {"item": item.title}), encoding="utf-8")
    return tables
