"""Results of methods on data sets read from a CSV, with the interface of a finished comparison.

results = read_results("reproduction/fits/sets.csv")
CompareView(results.select_methods(["alr2 paper", "a1de"]))     table, win-draw-loss and picture as of `alrviz.compare`

A row is one fit, or the mean of several: `data` (or `set`) and `name` (or `method`) identify it, and every column named
as in `COMPARED` is a measure; `accuracy`, as a share or in per cent, is converted to `error`. Several rows of a method
on a set count as its fits, summarised by mean and standard deviation.
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

_COLUMN_NAMES = {"data": ("data", "set", "dataset", "data set"), "name": ("method", "name", "model", "recipe")}
_FOLD = ["data", "name", "repeat", "fold"]


@dataclass(frozen=True)
class Method:
    """A method of the file, in place of a recipe; `label` is the family that gives its colour."""

    name: str
    label: str

    def to_json(self) -> str:
        """Return its name; the file has no settings."""
        return json.dumps({"method": self.name})


@dataclass(frozen=True)
class NamedSet:
    """A data set of which only the results are known."""

    name: str
    leaks, leaks_note = (), ""


class Results:
    """The results in a file, or of some of its methods; views treat it like a finished study.

    Args:
        file: its name.
        rows: data, name and the measures, a row each.
        names: the methods; by default all of the file.

    Attributes:
        methods: all methods of the file, those with results on most sets first.
        measured: the measures of `COMPARED` that the file has.
    """

    kind, phase, error, link, entry, problem = "results", "done", None, "", None, ""

    def __init__(self, file: str, rows: "pd.DataFrame", names: Sequence[str] = ()):
        self._file, self._rows = file, rows
        self.measured = tuple(name for name in COMPARED if name in rows)
        sets = rows.groupby("name", sort=False)["data"].nunique().sort_values(ascending=False, kind="stable")
        self.methods = tuple(sets.index)
        self.names = tuple(names or self.methods)
        labels = [label for family in FAMILIES.values() for label in family.colours]
        labels = [label for label in labels if label not in {_family(name) for name in self.names}]
        labels = [_family(name) or labels[k % len(labels)] for k, name in enumerate(self.names)]
        self.recipes = tuple(map(Method, self.names, labels))
        selected_rows = rows[rows["name"].isin(self.names)]
        self.datasets = {name: NamedSet(name) for name in dict.fromkeys(selected_rows["data"])}
        max_fits = int(selected_rows.groupby(["data", "name"]).size().max())
        self.tasks = range(max_fits * len(self.datasets) * len(self.names))
        self.spec = json.dumps({"file": file, "methods": self.names})

    def select_methods(self, names: Sequence[str]) -> "Results":
        """Return the results of the methods with these names only."""
        return Results(self._file, self._rows, names)

    @property
    def progress(self) -> Progress:
        """Complete from the start."""
        return Progress(len(self.tasks), len(self.tasks), 0, None)

    def results(self) -> list[object]:
        """Return an empty list: a file has no fits."""
        return []

    def frame(self) -> "pd.DataFrame":
        """Return the rows of the file as a study's fits if it tells their folds; else an empty frame."""
        rows = self._rows
        if not {*_FOLD} <= {*rows} or rows.duplicated(_FOLD).any():
            return rows.iloc[:0]
        racers = {name: racer for racer, name in enumerate(self.names)}
        return rows[rows["name"].isin(self.names)].assign(racer=lambda frame: frame["name"].map(racers))

    def summary(self) -> "pd.DataFrame":
        """Return a row for each data set and method, with the columns of `compare`'s summary."""
        import pandas as pd

        fits_by_data_and_name = dict(iter(self._rows.groupby(["data", "name"])))
        summary_rows: list[Row] = []
        for data, (racer, method) in product(self.datasets, enumerate(self.recipes)):
            fits = fits_by_data_and_name.get((data, method.name), self._rows.iloc[:0])
            row: Row = {"data": data, "racer": racer, "label": method.label, "name": method.name, "fits": len(fits)}
            for measure in COMPARED:
                row[measure] = fits[measure].mean() if measure in fits else float("nan")
                if measure in MEASURES:
                    sd_in_file = fits[sd_name].mean() if (sd_name := f"{measure}_sd") in fits else float("nan")
                    row[sd_name] = fits[measure].std() if measure in fits and len(fits) > 1 else sd_in_file
            summary_rows.append(row)
        return pd.DataFrame(summary_rows)


def _family(name: str) -> str:
    """Return the family that a method's name begins with ("alr2 paper": alr); "" without one."""
    labels = {label for family in FAMILIES.values() for label in family.colours}
    return max((label for label in labels if name.startswith(label)), key=len, default="")


def read_results(source: str | Path | bytes, file: str = "") -> Results:
    r"""Read results from a CSV; source: its path, or its bytes with `file` as its name.

    Raises:
        TableError: if the file is not such a CSV; the message says which column is missing.

    >>> found = read_results(b"set,method,accuracy\niris,tree,90\niris,lr,95\nwine,lr,97\n", "mine.csv")
    >>> found.methods, found.measured, found.summary()["error"].round(2).tolist()
    (('lr', 'tree'), ('error',), [0.05, 0.1, 0.03, nan])
    """
    import pandas as pd

    if not isinstance(source, bytes):
        file, source = file or Path(source).name, Path(source).read_bytes()
    rows = _parse_csv(source, file)
    for name, accepted_names in _COLUMN_NAMES.items():
        column = next((column for column in accepted_names if column in rows), None)
        if column is None:
            raise TableError(_no_results_message(file, f"a column {' or '.join(map(repr, accepted_names))}", rows))
        rows = rows.drop(columns=name, errors="ignore") if column != name else rows
        rows = rows.rename(columns={column: name})
    if "accuracy" in rows and "error" not in rows:
        accuracy = pd.to_numeric(rows["accuracy"], errors="coerce")
        rows["error"] = 1.0 - accuracy / (100.0 if accuracy.max() > 1.0 else 1.0)
    measured_names = [name for name in COMPARED if name in rows]
    figures = rows[measured_names].apply(pd.to_numeric, errors="coerce")
    measured_names = [name for name in measured_names if figures[name].notna().any()]
    if not measured_names:
        raise TableError(_no_results_message(file, f"figures in a column accuracy, {', '.join(COMPARED)}", rows))
    sd_names = [f"{name}_sd" for name in measured_names if f"{name}_sd" in rows]
    key_columns = rows[["data", "name", *(set(rows) & {"repeat", "fold"})]]
    rows = key_columns.join(figures[measured_names]).join(rows[sd_names].apply(pd.to_numeric, errors="coerce"))
    rows = rows[rows["data"].notna() & rows["name"].notna() & figures[measured_names].notna().any(axis=1)]
    return Results(file, rows.astype({"data": str, "name": str}))


def _parse_csv(source: bytes, file: str) -> "pd.DataFrame":
    import pandas as pd

    try:
        text_lines = source.decode("utf-8-sig").splitlines(keepends=True)
        body = "".join(line for line in text_lines if not line.startswith("# "))  # our exports begin with comment lines
        return pd.read_csv(io.StringIO(body))
    except (ValueError, pd.errors.ParserError) as error:  # ValueError: not UTF-8
        raise TableError(f"{file or 'the file'} cannot be read as CSV: {error}") from error


def _no_results_message(file: str, expected_text: str, rows: "pd.DataFrame") -> str:
    columns, file = ", ".join(map(str, list(rows)[:12])), file or "the file"
    return f"{file} has no results of methods on data sets: expected {expected_text}; its columns are {columns}"
