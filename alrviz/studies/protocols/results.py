"""Figures of methods on data sets that a file has, with the face of a finished comparison.

results = read_results("reproduction/fits/sets.csv")
CompareView(results.of(["alr2 paper", "a1de"]))     the same table, win-draw-loss and picture as of `alrviz.compare`

A line is a fit, or the mean of several: `data` (or `set`) and `name` (or `method`) say of what, every column that is
called as one of `COMPARED` is a figure; `accuracy`, as a share or in per cent, is one less `error`. Several lines of a
method on a set count as its fits: their mean and standard deviation are shown.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.errors import TableError
from alrviz.fitting.families import FAMILIES
from alrviz.studies.core.progress import Progress
from alrviz.studies.core.study_task import Row
from alrviz.studies.protocols.compare import COMPARED
from alrviz.studies.statistics.measures import MEASURES

if TYPE_CHECKING:
    import pandas as pd

_NAMED = {"data": ("data", "set", "dataset", "data set"), "name": ("method", "name", "model", "recipe")}
_FOLD = ["data", "name", "repeat", "fold"]


@dataclass(frozen=True)
class Method:
    """A method of a file, in the place of a recipe; `label` is a family's, by which it has a colour."""

    name: str
    label: str

    def to_json(self) -> str:
        """Return its name: of settings the file tells nothing."""
        return json.dumps({"method": self.name})


@dataclass(frozen=True)
class NamedSet:
    """A data set of which only figures are there."""

    name: str
    leaks, leaks_note = (), ""


class Results:
    """What a file has, or some methods of it: what a view asks of a study that is done.

    Args:
        file: its name.
        rows: data, name and the figures, a line each.
        names: the methods; all of the file without them.

    Attributes:
        methods: all of the file, those with figures on most sets first.
        measured: the figures that there are, of `COMPARED`.
    """

    kind, phase, error, link, entry, problem = "results", "done", None, "", None, ""

    def __init__(self, file: str, rows: "pd.DataFrame", names: Sequence[str] = ()):
        self._file, self._rows = file, rows
        self.measured = tuple(name for name in COMPARED if name in rows)
        sets = rows.groupby("name", sort=False)["data"].nunique().sort_values(ascending=False, kind="stable")
        self.methods = tuple(sets.index)
        self.names = tuple(names or self.methods)
        free = [label for family in FAMILIES.values() for label in family.colours]
        free = [label for label in free if label not in {_family(name) for name in self.names}]
        labels = [_family(name) or free[k % len(free)] for k, name in enumerate(self.names)]
        self.recipes = tuple(map(Method, self.names, labels))
        own = rows[rows["name"].isin(self.names)]
        self.datasets = {name: NamedSet(name) for name in dict.fromkeys(own["data"])}
        most = int(own.groupby(["data", "name"]).size().max())
        self.tasks = range(most * len(self.datasets) * len(self.names))
        self.spec = json.dumps({"file": file, "methods": self.names})

    def of(self, names: Sequence[str]) -> "Results":
        """Return these methods of the file alone."""
        return Results(self._file, self._rows, names)

    @property
    def progress(self) -> Progress:
        """All is done."""
        return Progress(len(self.tasks), len(self.tasks), 0, None)

    def results(self) -> list[object]:
        """Return nothing: no fit is at hand."""
        return []

    def frame(self) -> "pd.DataFrame":
        """Return the lines of the file, as a study has its fits, where it tells their folds; else nothing."""
        rows = self._rows
        if not {*_FOLD} <= {*rows} or rows.duplicated(_FOLD).any():
            return rows.iloc[:0]
        racers = {name: racer for racer, name in enumerate(self.names)}
        return rows[rows["name"].isin(self.names)].assign(racer=lambda own: own["name"].map(racers))

    def summary(self) -> "pd.DataFrame":
        """Return a line for each data set and method, with the columns of a comparison's."""
        import pandas as pd

        found = dict(iter(self._rows.groupby(["data", "name"])))
        lines: list[Row] = []
        for data, (racer, method) in product(self.datasets, enumerate(self.recipes)):
            mine = found.get((data, method.name), self._rows.iloc[:0])
            line: Row = {"data": data, "racer": racer, "label": method.label, "name": method.name, "fits": len(mine)}
            for measure in COMPARED:
                line[measure] = mine[measure].mean() if measure in mine else float("nan")
                if measure in MEASURES:
                    told = mine[spread].mean() if (spread := f"{measure}_sd") in mine else float("nan")
                    line[spread] = mine[measure].std() if measure in mine and len(mine) > 1 else told
            lines.append(line)
        return pd.DataFrame(lines)


def _family(name: str) -> str:
    """The family that a method's name begins with: "alr2 paper" is of alr; "" for none."""
    known = {label for family in FAMILIES.values() for label in family.colours}
    return max((label for label in known if name.startswith(label)), key=len, default="")


def read_results(source: str | Path | bytes, file: str = "") -> Results:
    r"""Return the figures of a CSV: a path, or its bytes, of which `file` is the name.

    Raises:
        TableError: for what is no such CSV, with what is missing.

    >>> found = read_results(b"set,method,accuracy\niris,tree,90\niris,lr,95\nwine,lr,97\n", "mine.csv")
    >>> found.methods, found.measured, found.summary()["error"].round(2).tolist()
    (('lr', 'tree'), ('error',), [0.05, 0.1, 0.03, nan])
    """
    import pandas as pd

    if not isinstance(source, bytes):
        file, source = file or Path(source).name, Path(source).read_bytes()
    rows = _parse_csv(source, file)
    for name, known in _NAMED.items():
        there = next((column for column in known if column in rows), None)
        if there is None:
            raise TableError(_expected(file, f"a column {' or '.join(map(repr, known))}", rows))
        rows = rows.drop(columns=name, errors="ignore") if there != name else rows
        rows = rows.rename(columns={there: name})
    if "accuracy" in rows and "error" not in rows:
        accuracy = pd.to_numeric(rows["accuracy"], errors="coerce")
        rows["error"] = 1.0 - accuracy / (100.0 if accuracy.max() > 1.0 else 1.0)
    measured = [name for name in COMPARED if name in rows]
    figures = rows[measured].apply(pd.to_numeric, errors="coerce")
    measured = [name for name in measured if figures[name].notna().any()]
    if not measured:
        raise TableError(_expected(file, f"figures in a column accuracy, {', '.join(COMPARED)}", rows))
    spreads = [f"{name}_sd" for name in measured if f"{name}_sd" in rows]
    about = rows[["data", "name", *(set(rows) & {"repeat", "fold"})]]
    rows = about.join(figures[measured]).join(rows[spreads].apply(pd.to_numeric, errors="coerce"))
    rows = rows[rows["data"].notna() & rows["name"].notna() & figures[measured].notna().any(axis=1)]
    return Results(file, rows.astype({"data": str, "name": str}))


def _parse_csv(source: bytes, file: str) -> "pd.DataFrame":
    import pandas as pd

    try:
        lines = source.decode("utf-8-sig").splitlines(keepends=True)
        body = "".join(line for line in lines if not line.startswith("# "))  # what our own files say above
        return pd.read_csv(io.StringIO(body))
    except (ValueError, pd.errors.ParserError) as error:  # of them what is no UTF-8
        raise TableError(f"{file or 'the file'} cannot be read as CSV: {error}") from error


def _expected(file: str, what: str, rows: "pd.DataFrame") -> str:
    columns = ", ".join(map(str, list(rows)[:12]))
    return f"{file or 'the file'} has no results of methods on data sets: expected {what}; its columns are {columns}"
