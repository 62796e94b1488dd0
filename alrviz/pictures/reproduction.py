"""A reproduction as files in a folder: every fit of a study, and for each of its items a table and a picture.

`<study>.csv` has a line a fit; `<item>.csv` and `<item>.svg` are what the item makes of them, ours beside the paper's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alrviz import __version__
from alrviz.pictures.reproduced import dots, lines
from alrviz.studies.export import to_csv
from alrviz.studies.reproduce.items import Item
from alrviz.studies.reproduce.methods import METHODS


def save(study: str, rows: Sequence[Mapping[str, Any]], items: Sequence[Item], out: Path) -> dict[str, pd.DataFrame]:
    """Write a study's rows and its items to `out`, over what is there; return the items' tables by name."""
    out.mkdir(parents=True, exist_ok=True)
    figures, labels = pd.DataFrame(rows), {name: method.label for name, method in METHODS.items()}
    about = {"alrviz": __version__}
    (out / f"{study}.csv").write_text(to_csv(figures, about), encoding="utf-8")
    tables = {item.name: item.table(figures) for item in items}
    for item in items:
        table = tables[item.name]
        picture = lines(table, item.title, labels) if item.lines else dots(table, item.title, labels, log=item.log)
        (out / f"{item.name}.svg").write_text(picture, encoding="utf-8")
        (out / f"{item.name}.csv").write_text(to_csv(table, about | {"item": item.title}), encoding="utf-8")
    return tables
