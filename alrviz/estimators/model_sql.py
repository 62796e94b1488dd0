"""A fitted model as SQL: tables of its levels, tuples and cells, and a view that predicts rows by joining them.

    NAME_feature      feature, name, missing (code of a missing value), other (code of an unreadable or unseen one)
    NAME_level        feature; a text or number that is a level or means "missing"; its code (-1: missing)
    NAME_tuple        tuple, its features, their numbers of levels, and what one of its unseen cells adds
    NAME_cell         one line per seen cell: tuple, cell (its number in the tuple, last feature fastest), phi_k
    NAME_above        networks: log p of a level never seen under seen parent levels (rest_k)
    NAME_alone        networks: log p(level given the class), used under unseen parent levels (alone_k)
    NAME_predictions  the view: prediction and p(class) of every row, unseen, line, and the row's columns

The tables are those of the model file (model_tables.py), the codes its encoder's, the sums those of `Linear` and
`Network` in score_forms.py. The view turns a row into one line per feature, then per tuple, and sums these, so that
the query's length depends on columns, cuts and classes, not on cells. Numbers are cut by binary search.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from alrviz.data.parse_spec import ParseSpec
from alrviz.data.parse_values import PLAIN_NUMBER, LevelCodes, has_usual_capitals, number_text, numbers_among
from alrviz.errors import ModelFileError, listed, nearest
from alrviz.estimators.model_file import write_atomically
from alrviz.estimators.model_form import SavedModel
from alrviz.estimators.model_parts import parts_of
from alrviz.estimators.recipes import RecipeClassifier

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

IS_FINITE = "abs(v.num) <= 1.7976931348623157e308"
MISSING_CODE = -1  # the code of a text or number that stands for a missing value
_MAX_LINES = 500  # of an INSERT, or SELECTs of a UNION; SQLite takes no more
_MAX_ARGUMENTS = 50  # of greatest(); SQLite takes 100
_SQL_TYPES = {"text": "TEXT", "whole": "BIGINT", "float": "DOUBLE PRECISION"}
# Code points of the characters that str.strip removes.
_BLANK_CODES = [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288]
_BLANKS = " || ".join(f"chr({code})" for code in _BLANK_CODES)
_PLAIN_NUMBER = r"'^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9][0-9]?[0-9]?[0-9]?)?\s*$'"
_AS_NUMERIC = "abs(CAST(CAST({x} AS TEXT) AS NUMERIC))"
# Postgres raises where a text is a number outside float64's range, so such numbers become NULL or 0 before the cast.
_POSTGRES_NUMBER = (
    f"CASE WHEN CAST({{x}} AS TEXT) ~ {_PLAIN_NUMBER} THEN CASE WHEN {_AS_NUMERIC} < 1e-323 THEN 0e0 "
    f"WHEN {_AS_NUMERIC} <= 1.7976931348623157e308 THEN CAST({{x}} AS DOUBLE PRECISION) END END"
)


@dataclass(frozen=True)
class Dialect:
    """The SQL in which databases differ; `{x}` stands for a value.

    Attributes:
        number: `{x}` as float64, NULL if it is no number.
        typed_number: the same, but also NULL if `{x}` is stored as text.
        text_number: a text as float64, NULL unless it matches `PLAIN_NUMBER`.
        is_nan: whether `{x}` is a float64 NaN; "" where a database has no NaN.
        blanks: a text of all characters to trim.
        reserved_names: column names, in lower case, that cannot be selected beside `*`.
        greatest: the function that returns the largest of its arguments.
        needs_index: whether joins are slow without an index.
        is_exact: whether decimals are read as the nearest float64.
        max_name_bytes: longer names are cut off without an error; None for no limit.
    """

    number: str
    typed_number: str
    text_number: str
    is_nan: str = ""
    blanks: str = _BLANKS
    reserved_names: frozenset[str] = frozenset()
    greatest: str = "greatest"
    needs_index: bool = True
    is_exact: bool = True
    max_name_bytes: int | None = None


DIALECTS: Mapping[str, Dialect] = {
    "duckdb": Dialect(
        number="TRY_CAST({x} AS DOUBLE)",
        typed_number="CASE WHEN typeof({x}) <> 'VARCHAR' AND typeof({x}) NOT LIKE 'ENUM%' THEN "
        "TRY_CAST(CAST({x} AS TEXT) AS DOUBLE) END",
        text_number=f"CASE WHEN regexp_full_match({{x}}, '{PLAIN_NUMBER.pattern}') THEN TRY_CAST({{x}} AS DOUBLE) END",
        is_nan="typeof({x}) IN ('FLOAT', 'DOUBLE') AND CAST({x} AS TEXT) = 'nan'",
        needs_index=False,
    ),
    "sqlite": Dialect(
        number="CASE WHEN typeof({x}) IN ('integer', 'real') THEN CAST({x} AS DOUBLE PRECISION) WHEN json_valid({x}) "
        "AND json_type({x}) IN ('integer', 'real') THEN CAST({x} AS DOUBLE PRECISION) END",
        typed_number="CASE WHEN typeof({x}) IN ('integer', 'real') THEN CAST({x} AS DOUBLE PRECISION) END",
        text_number="CASE WHEN json_valid({x}) AND json_type({x}) IN ('integer', 'real') "
        "THEN CAST({x} AS DOUBLE PRECISION) END",
        blanks=f"char({', '.join(map(str, _BLANK_CODES))})",
        reserved_names=frozenset({"true", "false"}),
        greatest="max",
        is_exact=False,
    ),
    "postgres": Dialect(
        number=_POSTGRES_NUMBER,
        typed_number="CASE WHEN CAST(pg_typeof({x}) AS TEXT) IN ('smallint', 'integer', 'bigint', 'real', "
        "'double precision', 'numeric') THEN "
        f"{_POSTGRES_NUMBER.replace('CAST({x} AS D', 'CAST(CAST({x} AS TEXT) AS D')} END",
        text_number=f"CASE WHEN {{x}} ~ '^({PLAIN_NUMBER.pattern})$' THEN {_POSTGRES_NUMBER} END",
        is_nan="CAST(pg_typeof({x}) AS TEXT) IN ('real', 'double precision') AND CAST({x} AS TEXT) = 'NaN'",
        max_name_bytes=63,
    ),
}


def save_sql(
    model: RecipeClassifier,
    path: Any,
    dialect: str = "duckdb",
    *,
    rows: str = "rows",
    name: str = "model",
    dataset: "Dataset | None" = None,
) -> None:
    """Write a fitted model as SQL: tables, and the view NAME_predictions of the class probabilities of a table's rows.

    Run once in a database that has the table `rows`, its columns named as the model's, it creates both in one
    transaction. The view has "prediction", "p(class)" for each class, "unseen" (how many values of the row training
    never saw or cannot be read as numbers), "line", and all columns of `rows`; a database gives one that is called like
    these another name, or refuses it. Probabilities are `predict_proba`'s to 1e-9.

    Parameters
    ----------
    model : a fitted lr, alr, hlr, halr, salr, hsalr, anje (naive Bayes), wanbia-c, tan, kdb or elr classifier
    path : path of the file, or a file opened for writing in binary mode
    dialect : "duckdb", "sqlite" (3.38 or later, with its mathematical functions) or "postgres" (12 or later)
    rows : str, optional
        The table or view whose rows are predicted.
    name : str, optional
        What the names of the model's tables and its view begin with.
    dataset : Dataset, optional
        What it was fitted on: texts that stand for missing values and spellings of one level are then understood.

    Raises
    ------
    ModelFileError
        A ValueError: an ande or dlr model, whose scores are no sums over tables; an elr model that sums over missing
        values; columns read with `fill_down`; a model of another package;
        an unknown dialect; a name that the database does not accept.
    NotFittedError
        From scikit-learn: the model is not fitted.

    Examples
    --------
    >>> import alrviz, io, sqlite3
    >>> data, file = alrviz.load_demo("led", rows=300), io.BytesIO()
    >>> model = alrviz.ALRClassifier(order=1, alpha=1).fit(data.X, data.y)
    >>> alrviz.save_sql(model, file, "sqlite")
    >>> database = sqlite3.connect(":memory:")
    >>> _ = data.X.astype(str).to_sql("rows", database, index=False)
    >>> _ = database.executescript(file.getvalue().decode())
    >>> [probability] = database.execute('SELECT "p(7)" FROM model_predictions WHERE line = 1').fetchone()
    >>> bool(abs(probability - model.predict_proba(data.X)[0, 7]) < 1e-9)
    True
    """
    if dialect not in DIALECTS:
        raise ModelFileError(
            f"no SQL for {dialect!r}; expected one of {', '.join(DIALECTS)}{nearest(dialect, DIALECTS)}"
        )
    saved_model = parts_of(model, dataset)
    if saved_model.metadata["form"] not in ("linear", "network"):
        raise ModelFileError(
            f"{model.recipe_.family} models cannot be written as SQL: their scores are no sums over tables; expected "
            "lr, alr, hlr, halr, salr, hsalr, anje, wanbia-c, tan, kdb or elr, or save_model, whose file has a script "
            "that predicts"
        )
    if saved_model.metadata.get("summed"):
        raise ModelFileError(
            "SQL cannot sum over missing values along a tree; expected a model with sum_missing=False, where a missing "
            "value is a level, or save_model, whose file has a script that predicts"
        )
    texts = _Sql(saved_model, dialect, rows, name).texts()
    with write_atomically(path, "model.sql") as file:
        for text in texts:
            file.write(text.encode())


def identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any, exact: bool = True) -> str:
    """Return a value as SQL.

    Floats get an exponent: without one DuckDB reads them as decimals. Where a database does not read every digit
    (`exact` false), a long float is written as a quotient of two whole numbers.
    """
    if value is None or value != value:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    text = repr(float(value))
    numerator, denominator = float(value).as_integer_ratio()
    if not exact and len(text.split("e")[0].strip("-0.")) > 15 and max(abs(numerator), denominator) < 2**62:
        return f"{numerator} / {denominator}.0"
    return text if "e" in text else f"{text}e0"


def _nested_calls(function: str, arguments: Sequence[str]) -> str:
    """Nest calls of a function so that no call has more arguments than a database accepts."""
    while len(arguments) > 1:
        batches = _batches(arguments, _MAX_ARGUMENTS)
        arguments = [f"{function}({', '.join(batch)})" if len(batch) > 1 else batch[0] for batch in batches]
    return arguments[0]


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[begin : begin + size] for begin in range(0, len(items), size))


@dataclass(frozen=True)
class _Table:
    """A table to create.

    Attributes:
        columns: SQL types (keys of `_SQL_TYPES`) by column name.
        keys: the columns of each index.
        exact: whether its floats are compared, so that their last digit matters.
    """

    name: str
    columns: Mapping[str, str]
    rows: Iterable[Sequence[Any]]
    keys: Sequence[Sequence[str]] = ()
    exact: bool = False


class _Sql:
    """The SQL of a model; `texts` yields its statements."""

    def __init__(self, saved_model: SavedModel, dialect: str, rows: str, name: str):
        self.metadata, self.pieces, self.rows = saved_model.metadata, saved_model.tables, rows
        self.dialect, self.dialect_name = DIALECTS[dialect], dialect
        self.columns: list[dict[str, Any]] = saved_model.metadata["encoder"]["columns"]
        self.labels: list[Any] = saved_model.metadata["encoder"]["classes"]["labels"]
        spec, self.signs = saved_model.metadata["spec"], saved_model.metadata["missing_tokens"]
        self.spec = ParseSpec.from_dict(spec) if spec else ParseSpec.of_model(self.columns, self.signs)
        if filled_names := [column.name for column in self.spec.columns if column.fill_down]:
            raise ModelFileError(
                f"SQL cannot fill the empty cells of {listed(filled_names)} with the value above (fill_down): rows "
                "of a database have no order; expected a model of a table whose cells were filled beforehand, or "
                "save_model, whose file has a script that predicts"
            )
        self.network, self.name = saved_model.metadata["form"] == "network", name
        self.unseen = not self.network and saved_model.metadata["unseen"]
        self.tuples = pa.concat_tables(self.pieces["tuples.parquet"])
        self.members: list[list[int]] = self.tuples.column("members").to_pylist()
        self.sizes = sorted({*map(len, self.members)})
        names = [column["name"] for column in self.columns]
        for text in (rows, name, *names):
            if not text or "\0" in text:
                raise ModelFileError(f"{text!r} cannot be a name in a database; expected a text that is not empty")
        if nul_texts := [value for value in _texts_of(saved_model.metadata) if "\0" in value]:
            raise ModelFileError(
                f"{nul_texts[0]!r}, a level, class or text of the model, contains a NUL character, which SQL cannot "
                "hold; replace it in the table and fit again"
            )
        max_name_bytes = self.dialect.max_name_bytes
        if _cut_name(view_name := f"{name}_predictions", max_name_bytes) != view_name:
            raise ModelFileError(f"{view_name!r} is too long a name; {dialect} keeps {max_name_bytes} bytes of a name")
        shown_names = [_cut_name(name, max_name_bytes) for name in names]
        keys = shown_names if dialect == "postgres" else [name.casefold() for name in names]
        if clashing := [name for name, key in zip(names, keys, strict=True) if keys.count(key) > 1]:
            difference_text = f"after {max_name_bytes} bytes" if dialect == "postgres" else "in upper and lower case"
            raise ModelFileError(
                f"columns {clashing} differ only {difference_text}, and {dialect} treats them as one name; rename one"
            )
        measure = "p" if saved_model.metadata["probabilities"] else "score"
        self.measure_names = _distinct_names(
            [f"{measure}({label})" for label in self.labels], shown_names, max_name_bytes
        )
        reserved_names = {j: name for j, name in enumerate(names) if name.lower() in self.dialect.reserved_names}
        columns = _distinct_names(
            ["line", "prediction", "unseen", *(f"{name} (given)" for name in reserved_names.values())],
            [*shown_names, *self.measure_names],
        )
        self.line_column, self.prediction_column, self.unseen_column = map(identifier, columns[:3])
        self.renamed = {j: identifier(name) for j, name in zip(reserved_names, columns[3:], strict=True)}

    def texts(self) -> Iterator[str]:
        """Yield the statements, in pieces small enough to be written one by one."""
        yield self._header_comment()
        yield "BEGIN;\n"
        for table in self._tables():
            name = self.table(table.name)
            columns = ", ".join(f"{identifier(column)} {_SQL_TYPES[kind]}" for column, kind in table.columns.items())
            yield f"CREATE TABLE {name} ({columns});\n"
            rows, is_exact = iter(table.rows), self.dialect.is_exact or not table.exact
            while batch := list(islice(rows, _MAX_LINES)):
                row_texts = (f"({', '.join(literal(value, is_exact) for value in row)})" for row in batch)
                yield f"INSERT INTO {name} VALUES\n" + ",\n".join(row_texts) + ";\n"
            for index_number, key in enumerate(table.keys if self.dialect.needs_index else ()):
                index = identifier(f"{self.name}_{table.name}_{index_number}")
                yield f"CREATE INDEX {index} ON {name} ({', '.join(map(identifier, key))});\n"
        yield f"CREATE VIEW {self.table('predictions')} AS\n{self._view_query()};\nCOMMIT;\n"

    def table(self, name: str) -> str:
        """Return the quoted name of one of the model's tables."""
        return identifier(f"{self.name}_{name}")

    def _header_comment(self) -> str:
        """Return the comment at the top; JSON quotes names, so that a line end in one cannot end the comment."""
        columns = [
            f"--   {json.dumps(column['name'])} {'number' if column['kind'] == 'numeric' else 'level'}"
            for column in self.columns
        ]
        versions = self.metadata["versions"]
        lines = [
            f"-- A model of alrviz {versions['alrviz']} for {self.dialect_name}: {self.metadata['estimator']}, "
            f"{len(self.members)} tuples. Run it once where there is a table",
            f"--   {json.dumps(self.rows)}",
            "-- with the columns",
            *columns,
            "-- and read the predictions of its rows from",
            f"--   {json.dumps(self.name + '_predictions')}",
        ]
        return "\n".join(lines) + "\n"

    # ---- tables --------------------------------------------------------------------------------------------------

    def _tables(self) -> Iterator[_Table]:
        """Yield the tables of the model, in the order in which they are created."""
        classes = range(len(self.labels))
        whole, floats = "whole", "float"
        features = (
            (j, column["name"], column["missing_code"], column["missing_code"] if column["cuts"] is not None else None)
            for j, column in enumerate(self.columns)
        )
        columns = {"feature": whole, "name": "text", "missing": whole, "other": whole}
        yield _Table("feature", columns, features)
        columns = {"feature": whole, "txt": "text", "num": floats, "code": whole}
        yield _Table("level", columns, self._levels(), (("feature", "txt"), ("feature", "num")), exact=True)
        max_size = max(self.sizes, default=0)
        columns = {"tuple": whole, "size": whole}
        columns |= {f"{quantity}_{i}": whole for i in range(max_size) for quantity in ("feature", "levels")}
        columns |= {f"unseen_{k}": floats for k in classes if self.unseen}
        yield _Table("tuple", columns, self._tuples(max_size))
        yield self._from_file("cell", "cells.parquet", ("tuple", "cell"), "phi")
        if self.network:
            yield self._from_file("above", "parents.parquet", ("tuple", "cell"), "rest")
            yield self._from_file("alone", "levels.parquet", ("column", "level"), "alone")

    def _from_file(self, name: str, file: str, keys: Sequence[str], quantity: str) -> _Table:
        """Return the SQL table `name` of a file of the model: its keys, and the value of `quantity` for each class."""
        values = [f"{quantity}_{k}" for k in range(len(self.labels))]
        rows = (
            row
            for piece in self.pieces[file]
            for row in zip(*(piece.column(column).to_pylist() for column in (*keys, *values)), strict=True)
        )
        return _Table(name, dict.fromkeys(keys, "whole") | dict.fromkeys(values, "float"), rows, [keys])

    def _tuples(self, max_size: int) -> Iterator[list[Any]]:
        """Yield the rows of the tuple table; tuples below `max_size` columns are padded by NULL."""
        levels = [len(column["labels"]) for column in self.columns]
        unseen_columns = [self.tuples.column(f"unseen_{k}").to_pylist() for k in range(len(self.labels)) if self.unseen]
        for t, members in enumerate(self.members):
            pairs = [number for j in members for number in (j, levels[j])]
            padding = [None] * (2 * (max_size - len(members)))
            yield [t, len(members), *pairs, *padding, *(column[t] for column in unseen_columns)]

    def _levels(self) -> Iterator[tuple[int, str | None, float | None, int]]:
        """Yield (feature, text, number, code) for each level, and for the values that stand for "missing"."""
        for j, (column, spec) in enumerate(zip(self.columns, self.spec.columns, strict=True)):
            texts, numbers = dict[str, int](), dict[float, int]()
            if column["kind"] == "numeric":
                numbers = {float(value): code for code, value in enumerate(column["values"] or ())}
            else:
                texts = dict(LevelCodes(column["values"] or (), MISSING_CODE, MISSING_CODE, self.signs).by_text)
            texts |= dict.fromkeys(map(str.strip, spec.missing), MISSING_CODE)
            if column["kind"] != "numeric":
                numbers = {float(text): code for text, code in texts.items() if _is_number(text)}
            numbers |= dict.fromkeys(numbers_among(spec.missing), MISSING_CODE)
            for key, level in spec.spellings.items():
                if level in texts:
                    for text in {key, key.upper(), key.capitalize(), key.title()}:
                        if has_usual_capitals(text):
                            texts[text] = texts[level]
            yield from ((j, text, None, code) for text, code in texts.items())
            yield from ((j, None, number, code) for number, code in numbers.items())

    # ---- the query -------------------------------------------------------------------------------------------------

    def _view_query(self) -> str:
        """Return the SELECT of the view: rows, codes, cells, scores and probabilities, step by step."""
        table, classes = self.table, range(len(self.labels))
        value_steps, value_queries = [], [self._value_query(j) for j in range(len(self.columns))]
        for batch_number, batch in enumerate(_batches(value_queries, _MAX_LINES)):
            value_steps.append(f"value_{batch_number} AS MATERIALIZED (\n  {_union_query(batch)})")
        all_values = _union_query([f"SELECT * FROM value_{batch_number}" for batch_number in range(len(value_steps))])
        sum_columns = ", ".join(f"sum({self._added_score(k)}) AS z_{k}" for k in classes)
        score_columns = ", ".join(f"{literal(b)} + s.z_{k} AS z_{k}" for k, b in enumerate(self.metadata["bias"]))
        score_names = [f"z_{k}" for k in classes]
        predicted_cases = " ".join(f"WHEN z_{k} = top THEN {literal(label)}" for k, label in enumerate(self.labels))
        # Not exp() below -700: Postgres raises where the result would round to 0.
        exp_columns = ", ".join(
            f"CASE WHEN z_{k} - top < -700 THEN 0e0 ELSE exp(z_{k} - top) END AS e_{k}" for k in classes
        )
        exp_total = " + ".join(f"p.e_{k}" for k in classes)
        measures = [f"p.e_{k} / ({exp_total})" if self.metadata["probabilities"] else f"p.z_{k}" for k in classes]
        output_columns = [f"p.best AS {self.prediction_column}"]
        output_columns += [
            f"{value} AS {identifier(name)}" for value, name in zip(measures, self.measure_names, strict=True)
        ]
        line = self.line_column
        renamed_columns = "".join(
            f"r.{identifier(self.columns[j]['name'])} AS {name}, " for j, name in self.renamed.items()
        )
        common_tables = [
            f"numbered AS MATERIALIZED (SELECT row_number() OVER () AS {line}, {renamed_columns}r.* "
            f"FROM {identifier(self.rows)} r)",
            *value_steps,
            f"value AS ({all_values})",
            f"""known AS (
  SELECT v.line, v.feature, v.txt, CASE WHEN v.typed = 1 THEN coalesce(m.code, l.code, v.code)
      ELSE coalesce(l.code, m.code, v.code) END AS code
  FROM value v LEFT JOIN {table("level")} l ON l.feature = v.feature AND l.txt = v.txt
  LEFT JOIN {table("level")} m ON m.feature = v.feature AND m.num = v.num)""",
            f"""code AS MATERIALIZED (
  SELECT k.line, k.feature,
    CASE WHEN k.txt IS NULL OR k.code = {MISSING_CODE} THEN f.missing ELSE coalesce(k.code, f.other) END AS code,
    CASE WHEN k.txt IS NOT NULL AND k.code IS NULL THEN 1 ELSE 0 END AS unseen
  FROM known k JOIN {table("feature")} f ON f.feature = k.feature)""",
            f"cell AS (\n  {_union_query(map(self._cell_query, self.sizes))})",
            f"summed AS (\n  SELECT c.line, {sum_columns}\n  FROM cell c {self._joins()}\n  GROUP BY c.line)",
            "strange AS (SELECT line, CAST(sum(unseen) AS BIGINT) AS unseen FROM code GROUP BY line)",
            f"score AS (\n  SELECT u.line, u.unseen, {score_columns}\n  FROM strange u JOIN summed s ON s.line "
            "= u.line)",
            f"topped AS (SELECT score.*, {_nested_calls(self.dialect.greatest, score_names)} AS top FROM score)",
            f"odds AS MATERIALIZED (\n  SELECT line, unseen, CASE {predicted_cases} END AS best, "
            f"{', '.join(score_names)}, {exp_columns}\n"
            "  FROM topped)",
        ]
        return (
            "WITH "
            + ",\n".join(common_tables)
            # r.* last: of two columns with one name, databases rename the second
            + f"\nSELECT {', '.join(output_columns)}, p.unseen AS {self.unseen_column}, r.*\n"
            f"FROM numbered r JOIN odds p ON p.line = r.{line}"
        )

    def _value_query(self, j: int) -> str:
        """Return the SELECT of a feature's values: the text and number that may be levels, its interval's code."""
        column = self.columns[j]
        x = f"r.{self.renamed.get(j) or identifier(column['name'])}"
        numeric, d = column["kind"] == "numeric", self.dialect
        text = f"trim(CAST({x} AS TEXT), {d.blanks})"
        if d.is_nan:
            text = f"CASE WHEN NOT ({d.is_nan.format(x=x)}) THEN {text} END"
        cuts = column["cuts"]
        code = "NULL" if cuts is None else f"CASE WHEN {IS_FINITE} THEN {self._interval(cuts, 0, len(cuts))} END"
        stored_number = (d.number if numeric else d.typed_number).format(x=x)
        number = "w.own" if numeric else f"coalesce(w.own, {d.text_number.format(x='w.txt')})"
        return (
            f"SELECT v.line, CAST({j} AS BIGINT) AS feature, v.txt, v.typed, "
            f"CASE WHEN {IS_FINITE} THEN v.num END AS num, "
            f"CAST({code} AS BIGINT) AS code\n    FROM (SELECT w.line, w.txt, {number} AS num, "
            "CASE WHEN w.own IS NULL THEN 0 ELSE 1 END AS typed\n      "
            f"FROM (SELECT r.{self.line_column} AS line, {text} AS txt, {stored_number} AS own "
            "FROM numbered r) w) v"
        )

    def _interval(self, cuts: Sequence[float], begin: int, end: int) -> str:
        """Return the code of a number, given that at least `begin` and at most `end` cuts lie below it."""
        if begin == end:
            return str(begin)
        middle = (begin + end) // 2
        lower_code, upper_code = self._interval(cuts, begin, middle), self._interval(cuts, middle + 1, end)
        return (
            f"CASE WHEN v.num <= {literal(cuts[middle], self.dialect.is_exact)} THEN {lower_code} ELSE {upper_code} END"
        )

    def _cell_query(self, size: int) -> str:
        """Return the SELECT of every row's cell in each tuple of a size, NULL where a feature's value is no level."""

        def number(n: int) -> str:
            expression = "c0.code"
            for i in range(1, n):
                expression = f"({expression} * t.levels_{i} + c{i}.code)"
            return expression

        parent_cell = number(size - 1) if size > 1 else "CAST(NULL AS BIGINT)"
        child_columns = (
            f", {parent_cell} AS above, t.feature_{size - 1} AS child, c{size - 1}.code" if self.network else ""
        )
        joins = " ".join(
            f"JOIN code c{i} ON c{i}.feature = t.feature_{i}" + (f" AND c{i}.line = c0.line" if i else "")
            for i in range(size)
        )
        source = f"{self.table('tuple')} t {joins} WHERE t.size = {size}"
        return f"SELECT c0.line, t.tuple, {number(size)} AS cell{child_columns} FROM {source}"

    def _joins(self) -> str:
        """Return the joins that look up what a cell adds to the scores."""
        joins = f"LEFT JOIN {self.table('cell')} f ON f.tuple = c.tuple AND f.cell = c.cell"
        if self.network:
            joins += f"\n  LEFT JOIN {self.table('above')} a ON a.tuple = c.tuple AND a.cell = c.above"
            joins += f'\n  LEFT JOIN {self.table("alone")} o ON o."column" = c.child AND o.level = c.code'
        return joins + (f"\n  JOIN {self.table('tuple')} t ON t.tuple = c.tuple" if self.unseen else "")

    def _added_score(self, k: int) -> str:
        """Return the expression of what a cell adds to the score of class k, as in score_forms.py."""
        if self.network:
            return f"CASE WHEN c.code IS NOT NULL THEN coalesce(f.phi_{k}, a.rest_{k}, o.alone_{k}) ELSE 0 END"
        if not self.unseen:
            return f"coalesce(f.phi_{k}, 0)"
        missing_case = "WHEN c.cell IS NULL THEN 0 " if self.metadata["known_only"] else ""
        return f"CASE WHEN f.cell IS NOT NULL THEN f.phi_{k} {missing_case}ELSE t.unseen_{k} END"


def _texts_of(value: Any) -> Iterator[str]:
    """Yield all texts within a JSON value, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts_of(key)
            yield from _texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_of(item)


def _union_query(queries: Iterable[str]) -> str:
    return "\n  UNION ALL ".join(queries)


def _is_number(text: str) -> bool:
    """Return whether a text is the one that `number_text` writes for its number."""
    return PLAIN_NUMBER.fullmatch(text) is not None and math.isfinite(float(text)) and number_text(float(text)) == text


def _cut_name(name: str, max_name_bytes: int | None) -> str:
    """Return a name cut to max_name_bytes, as a database keeps it that cuts names; unchanged for None."""
    return name.encode()[:max_name_bytes].decode(errors="ignore")


def _distinct_names(names: Sequence[str], reserved: Iterable[str], max_name_bytes: int | None = None) -> list[str]:
    """Return the names, each numbered that equals another or a reserved one, ignoring case, cut to max_name_bytes."""
    used_names = {name.casefold() for name in reserved}
    result = []
    for name in names:
        suffixes = chain([""], (f" ({i})" for i in count(2)))
        candidates = (_cut_name(name, max_name_bytes and max_name_bytes - len(suffix)) + suffix for suffix in suffixes)
        free_name = next(text for text in candidates if text.casefold() not in used_names)
        used_names.add(free_name.casefold())
        result.append(free_name)
    return result
