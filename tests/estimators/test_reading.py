"""New rows are read as the training table was: what is scored is what the model would say of the data set's rows."""

import io
import json
import subprocess
import sys
import warnings
import zipfile
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import alrviz
from alrviz import AnJEClassifier, DLRClassifier, LRClassifier, NaiveBayesClassifier, ReadOptions, read_table, score
from alrviz.errors import ModelFileError, ReadingWarning, TableError
from alrviz.estimators.scoring import score_csv
from tests.data.test_layout import BODY, CASES, NAMES, workbook
from tests.data.test_messy import DATES, GERMAN, NUMBERS, WORDS
from tests.estimators.model_files import about_of, rewritten

ROWS = 48
EACH = 7  # every so many rows is scored alone


@dataclass
class Messy:
    """A table: `lines` of rows below `head`, before `tail`, as a file or made into another source by `source`."""

    head: list[str]
    lines: list[str]
    tail: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    target: str = "class"
    source: Any = None

    def of(self, rows, head=None, tail=True):
        if self.source is not None:
            return self.source(rows)
        text = "\n".join([*(self.head if head is None else head), *(self.lines[i] for i in rows), *(self.tail * tail)])
        return (text + "\n").encode(self.encoding)


def columns_of(*columns, delimiter=",", **more):
    """A table of these columns, (name, values) each, repeated as often as there are rows, and a class."""
    head = [delimiter.join([*(name for name, _ in columns), "class"])]
    lines = []
    for i in range(ROWS):
        cells = [str(values[(i * (k + 1) + i // 5) % len(values)]) for k, (_, values) in enumerate(columns)]
        cells = [f'"{cell}"' if delimiter in cell else cell for cell in cells]
        lines.append(delimiter.join([*cells, "yes" if i % 3 or i % 7 == 0 else "no"]))
    return Messy(head, lines, **more)


def dated(texts, delimiter, name):
    values = texts.split("|" if "|" in texts else " ")
    return columns_of((name, values), ("size", ["1", "2", "3.5"]), delimiter=delimiter)


def json_lines(rows):
    return "\n".join(json.dumps(record) for record in FRAME.iloc[list(rows)].to_dict("records")).encode()


def parquet(rows):
    out = io.BytesIO()
    FRAME.iloc[list(rows)].to_parquet(out, index=False)
    return out.getvalue()


def book(rows):
    lines = (f"{i % 28 + 1:02}/{i % 6 + 1:02}/2020,{i % 5} kg,{['A b', 'a B'][i % 2]},{'yn'[i % 3 > 0]}" for i in rows)
    return workbook({"Notes": "what,it is\nan,example", "Data": "\n".join(["when,much,kind,class", *lines])})


RAW = [[f"{i % 28 + 1:02}/{i % 12 + 1:02}/2020 {i % 24:02}:30", ["Red", "red", "RED ", "blue"][i % 4],
        ["$1,234", "$5", "$77.5", "-999"][i * 7 % 4], "yes" if i % 3 else "no"] for i in range(ROWS)]  # fmt: skip
FRAME = pd.DataFrame(RAW, columns=["Timestamp", "Colour", "Amount", "class"])
FRAME["Size"] = [float(i * 5 % 11) if i % 9 else np.nan for i in range(ROWS)]
FRAME["Flag"] = [bool(i % 4) for i in range(ROWS)]

TABLES = {
    "everything at once": columns_of(
        ("Timestamp", ["31/01/2020 19:00", "01/02/2020 07:30", "12/11/2019 23:59", "05/06/2020 00:00"]),
        ("Amount", ["$1,234.50", "$39.12", "-999", "$7", "-$3.10"]),
        ("Age", ["12", "-999", "45", "77", "30", "NA"]),
        ("Colour", ["Red", "red", "RED", "dark  blue", "Dark blue", "green"]),
        ("Share", ["12.5%", "7%", "100 %", "0.3%"]),
        ("At", ["19:00", "7:45", "23:15"]),
        options={"options": ReadOptions(missing=("-999", "NA"))},
    ),
    "both orders of days are possible": columns_of(
        ("When", ["01/02/2020", "03/04/2020", "11/12/2019"]), ("Amount", ["1,5", "2,25", "13,0"]), delimiter=";"
    ),
    "thousands that look like decimals": columns_of(
        ("a", ["1.234", "12.345", "1.234.567"]), ("b", ["0,5", "1,25"]), delimiter=";"
    ),
    "marks of its own": columns_of(("a", ["1.5", "2.25", "3.125"]), ("b", ["1,5", "12,25", "7,125"]), delimiter=";"),
    "a dash is a level and a gap": columns_of(("a", ["+", "-", "o"]), ("b", ["1", "-", "3", "4.5"])),
    "spellings kept apart": columns_of(("a", ["Red", "red", "blue"]), options={"options": ReadOptions(merge_case=False)}),
    "codes by case": columns_of(("a", ["a", "A", "b", "B"]), ("b", ["1", "2", "3"])),
    "kinds said": columns_of(
        ("n", ["1", "2", "2.5", "12"]), ("m", ["1 kg", "2 kg", "x"]), ("o", ["5.5", "7.0", "8"]),
        options={"n": "categorical", "o": "ordinal"},
    ),
    "text said to be numbers": columns_of(("zip", ["00202", "01000", "12345"]), options={"zip": "numeric"}),
    "a part of a date said to be levels": columns_of(
        ("day", ["2020-01-31", "2019-05-01", "2018-02-02"]), options={"day year": "categorical"}
    ),
    "double and empty names": Messy(
        ["a,a,,class"], [f"{i % 3},{'xyz'[i % 3]},{i * 5 % 7}.5,{'yn'[i % 2]}" for i in range(ROWS)]
    ),
    "Western European": columns_of(("Größe", ["groß", "klein", "mittel…"]), ("a", ["1 €", "2 €", "3 €"]), encoding="cp1252"),
    "UTF-16": columns_of(("Größe", ["groß", "klein"]), ("a", ["1", "2", "3"]), encoding="utf-16"),
    "R's row names": Messy(["size,class"], [f"r{i},{i * 5 % 7}.5,{'yn'[i % 2]}" for i in range(ROWS)]),
    "a delimiter at the end": Messy(["a,b,class"], [f"{i % 5},{'xy'[i % 2]},{'yn'[i % 3 > 0]}," for i in range(ROWS)]),
    "no names": Messy(
        [], [f"{i % 5}.5,{'sby'[i % 3]},{'nt'[i % 2]},{'pe'[i % 3 > 0]}" for i in range(ROWS)], target="column 4"
    ),
    "names over merged cells": Messy(
        ["shop,2019,,class", ",men,women,"], [f"s{i % 3},{i},{i * 3 % 7},{'yn'[i % 2]}" for i in range(ROWS)]
    ),
    "names and questions": Messy(
        ["Q1,Q2,class", ",".join(["How satisfied are you with the service that you have received?"] * 3)],
        [f"{['very', 'partly', 'not'][i % 3]},{i % 5},{'yn'[i % 2]}" for i in range(ROWS)],
    ),
    "lines said to be skipped": Messy(
        ["x,y", "u,v", "a,class"], [f"{i % 5},{'yn'[i % 2]}" for i in range(ROWS)],
        options={"options": ReadOptions(skip_rows=2)},
    ),
    "a total that is a level": Messy(
        ["a,b,class"], [f"{['Total', 'Part'][i % 2]},{i % 5},{'yn'[i % 3 > 0]}" for i in range(ROWS)]
    ),
    "a workbook": Messy([], [], source=book, options={"options": ReadOptions(sheet="Data")}),
    "JSON": Messy([], [], source=json_lines),
    "Parquet": Messy([], [], source=parquet),
    "a frame": Messy([], [], source=lambda rows: FRAME.iloc[list(rows)].reset_index(drop=True)),
    "a frame of levels": Messy([], [], source=lambda rows: FRAME.astype("category").iloc[list(rows)].astype(object)),
    "lists of records": Messy([], [], source=lambda rows: FRAME.iloc[list(rows)].to_dict("records")),
}  # fmt: skip
TABLES |= {f"numbers: {case[0]}": columns_of(("a", case[1]), ("b", ["x", "y"])) for case in NUMBERS}
TABLES |= {f"German: {c[0]}": columns_of(("a", c[1]), ("b", ["x", "y"]), delimiter=";") for c in GERMAN}
TABLES |= {f"dates: {case[0]}": dated(case[1], case[2], "day") for case in DATES}
TABLES |= {f"words: {case[0]}": columns_of(("a", case[1]), ("b", ["1", "2", "3"])) for case in WORDS}
for name, text, _, _ in CASES:
    before, rest = text.split(BODY, 1)
    TABLES[f"layout: {name}"] = Messy(before.splitlines(), BODY.splitlines(), rest.replace(BODY, "").splitlines())

MODELS = {
    "naive Bayes": NaiveBayesClassifier(),
    "order 2": AnJEClassifier(order=2, unseen="m-estimate"),
    "order 2, every value": LRClassifier(order=2, discretize=None, max_iter=5, tol=0.0),
    "densities": DLRClassifier(max_iter=5, tol=0.0),
}


def saved(model, dataset, place=None):
    """The model of a data set, fitted, saved with it and read back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, alrviz.errors.LostColumnsWarning))
        model = model.fit(dataset.X, dataset.y)
    file = place or io.BytesIO()
    alrviz.save_model(model, file, dataset=dataset)
    return model, alrviz.load_model(file)


def probabilities(found):
    return found.filter(like="p(").to_numpy()


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("name", TABLES)
def test_a_table_and_each_of_its_rows_are_scored_as_the_data_set_is(name):
    table = TABLES[name]
    every = range(40 if name.startswith("layout") else ROWS)
    dataset = read_table(table.of(every), table.target, **table.options)
    kept = np.flatnonzero(dataset.table.values[dataset.table.names.index(dataset.target)].series.notna())
    whole = alrviz.data.again.read_again(table.of(every), dataset.reading)
    pd.testing.assert_frame_equal(
        whole.X.iloc[kept].reset_index(drop=True).astype(object).where(lambda X: X.notna(), None),
        dataset.X.astype(object).where(dataset.X.notna(), None),
    )
    for model in (MODELS["naive Bayes"], MODELS["densities"]):
        fitted, loaded = saved(model, dataset)
        expected = fitted.predict_proba(dataset.X)
        found = score(loaded, table.of(every))
        np.testing.assert_array_equal(probabilities(found)[kept], expected)
        assert not found["unseen"].any()
        for i in range(0, len(every), EACH):
            alone = fitted.predict_proba(dataset.X.iloc[[np.searchsorted(kept, i)]])
            for one in (table.of([i]), table.of([i], tail=False), table.of([i], head=table.head[-1:], tail=False)):
                if len(table.head) > 1 and table.head[-1:] != [NAMES.strip()] and one != table.of([i]):
                    continue  # of several rows of names all are needed
                np.testing.assert_array_equal(probabilities(score(loaded, one)), alone)
