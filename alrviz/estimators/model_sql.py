"""A fitted model as SQL: tables of its levels, tuples and cells, and a view that predicts the rows of a table by joins.

    NAME_feature      feature, name, missing (the code of a gap), other (the code of what cannot be read)
    NAME_level        feature, and a text or a number that is a level, or stands for a gap: its code, then -1
    NAME_tuple        tuple, its features and their numbers of levels; what a cell that training never saw adds
    NAME_cell         a seen cell a line: tuple, cell (its number within the tuple, the last feature fastest), phi_k
    NAME_above, NAME_alone    of networks: what stands in for a cell, the rest under seen parents, the level by itself
    NAME_predictions  the view: every row's prediction, p(class) of each class, unseen, line, and columns

They are those of the model's file (model_tables.py), with the codes of its encoder and the sums of score_forms.py's
Linear and Network. A row becomes a line for each feature, then for each tuple, and these are summed: the query's length
depends on columns, cuts and classes, not on cells or tuples. Numbers are cut by comparisons, log2 of the cuts deep.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from alrviz.data.parse_spec import ParseSpec
from alrviz.data.parse_values import PLAIN_NUMBER, LevelCodes, is_plain, number_text, numbers_among
from alrviz.errors import ModelFileError, nearest
from alrviz.estimators.model_file import write_whole
from alrviz.estimators.model_form import SavedModel
from alrviz.estimators.model_parts import parts_of
from alrviz.estimators.recipes import RecipeClassifier

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

FINITE = "abs(v.num) <= 1.7976931348623157e308"
GAP = -1  # the code of a text or number that stands for a missing value
_LINES = 500  # of an INSERT, and SELECTs of a UNION: SQLite takes no more
_ARGUMENTS = 50  # of greatest(): SQLite takes 100
_TYPES = {"text": "TEXT", "whole": "BIGINT", "float": "DOUBLE PRECISION"}
# Code points of the characters that str.strip takes for blanks.
_BLANK_CODES = [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288]
_BLANKS = " || ".join(f"chr({code})" for code in _BLANK_CODES)
_PLAIN_NUMBER = r"'^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9][0-9]?[0-9]?[0-9]?)?\s*$'"
_AS_NUMERIC = "abs(CAST(CAST({x} AS TEXT) AS NUMERIC))"
# Postgres raises at a text whose number is beyond float64, at either end: what is infinite is NULL, what vanishes 0.
_POSTGRES_NUMBER = (
    f"CASE WHEN CAST({{x}} AS TEXT) ~ {_PLAIN_NUMBER} THEN CASE WHEN {_AS_NUMERIC} < 1e-323 THEN 0e0 "
    f"WHEN {_AS_NUMERIC} <= 1.7976931348623157e308 THEN CAST({{x}} AS DOUBLE PRECISION) END END"
)


@dataclass(frozen=True)
class Dialect:
    """What databases say differently.

    number: `{x}` as float64, NULL where it is no number. typed: the same, and NULL where it is a text. plain: a text as
    float64, NULL where it is no `PLAIN_NUMBER`. nan: whether it is a float64 that is none. blanks: a text of all
    characters that are blanks. reserved: names of columns, in small letters, that are not found beside `*`. greatest:
    of its arguments. indexed: whether joins need an index. exact: whether every decimal is read as the nearest float64.
    longest: bytes of a name, of which the rest is cut off without an error.
    """

    number: str
    typed: str
    plain: str
    nan: str = ""
    blanks: str = _BLANKS
    reserved: frozenset[str] = frozenset()
    greatest: str = "greatest"
    indexed: bool = True
    exact: bool = True
    longest: int | None = None


DIALECTS: Mapping[str, Dialect] = {
    "duckdb": Dialect(
        number="TRY_CAST({x} AS DOUBLE)",
        typed="CASE WHEN typeof({x}) <> 'VARCHAR' AND typeof({x}) NOT LIKE 'ENUM%' THEN "
        "TRY_CAST(CAST({x} AS TEXT) AS DOUBLE) END",
        plain=f"CASE WHEN regexp_full_match({{x}}, '{PLAIN_NUMBER.pattern}') THEN TRY_CAST({{x}} AS DOUBLE) END",
        nan="typeof({x}) IN ('FLOAT', 'DOUBLE') AND CAST({x} AS TEXT) = 'nan'",
        indexed=False,
    ),
    "sqlite": Dialect(
        number="CASE WHEN typeof({x}) IN ('integer', 'real') THEN CAST({x} AS DOUBLE PRECISION) WHEN json_valid({x}) "
        "AND json_type({x}) IN ('integer', 'real') THEN CAST({x} AS DOUBLE PRECISION) END",
        typed="CASE WHEN typeof({x}) IN ('integer', 'real') THEN CAST({x} AS DOUBLE PRECISION) END",
        plain="CASE WHEN json_valid({x}) AND json_type({x}) IN ('integer', 'real') "
        "THEN CAST({x} AS DOUBLE PRECISION) END",
        blanks=f"char({', '.join(map(str, _BLANK_CODES))})",
        reserved=frozenset({"true", "false"}),
        greatest="max",
        exact=False,
    ),
    "postgres": Dialect(
        number=_POSTGRES_NUMBER,
        typed="CASE WHEN CAST(pg_typeof({x}) AS TEXT) IN ('smallint', 'integer', 'bigint', 'real', 'double precision', "
        f"'numeric') THEN {_POSTGRES_NUMBER.replace('CAST({x} AS D', 'CAST(CAST({x} AS TEXT) AS D')} END",
        plain=f"CASE WHEN {{x}} ~ '^({PLAIN_NUMBER.pattern})$' THEN {_POSTGRES_NUMBER} END",
        nan="CAST(pg_typeof({x}) AS TEXT) IN ('real', 'double precision') AND CAST({x} AS TEXT) = 'NaN'",
        longest=63,
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
        A ValueError: a model of ande or dlr, which is no table of scores, an elr that sums missing values out along a
        tree, or none of ours; an unknown dialect; a name that the database cannot have.
    NotFittedError
        From scikit-learn: it was not fitted yet.

    Examples
    --------
    >>> import alrviz, io, sqlite3
    >>> data, file = alrviz.load_demo("led", rows=300), io.BytesIO()
    >>> model = alrviz.ALRClassifier(order=1).fit(data.X, data.y)
    >>> alrviz.save_sql(model, file, "sqlite")
    >>> database = sqlite3.connect(":memory:")
    >>> _ = data.X.astype(str).to_sql("rows", database, index=False)
    >>> _ = database.executescript(file.getvalue().decode())
    >>> [found] = database.execute('SELECT "p(7)" FROM model_predictions WHERE line = 1').fetchone()
    >>> bool(abs(found - model.predict_proba(data.X)[0, 7]) < 1e-9)
    True
    """
    if dialect not in DIALECTS:
        raise ModelFileError(
            f"no SQL for {dialect!r}; expected one of {', '.join(DIALECTS)}{nearest(dialect, DIALECTS)}"
        )
    parts = parts_of(model, dataset)
    if parts.about["form"] not in ("linear", "network"):
        raise ModelFileError(
            f"a model of {model.recipe_.family} is no table of scores that joins could look up; lr, alr, hlr, halr, "
            "salr, hsalr, anje, wanbia-c, tan, kdb and elr are, and save_model keeps this one with a script that "
            "predicts"
        )
    if parts.about.get("summed"):
        raise ModelFileError(
            "no SQL sums out missing values along a tree; expected a model with sum_missing=False, where a missing "
            "value is a level, and save_model keeps this one with a script that predicts"
        )
    texts = _Sql(parts, dialect, rows, name).texts()
    with write_whole(path, "model.sql") as file:
        for text in texts:
            file.write(text.encode())


def identifier(name: str) -> str:
    """Return a name, quoted."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any, exact: bool = True) -> str:
    """Return a value as SQL. Floats have an exponent, without which DuckDB takes them for decimals; where a database
    does not read all digits exactly, they are a quotient of whole numbers which it does.
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
    over, under = float(value).as_integer_ratio()
    if not exact and len(text.split("e")[0].strip("-0.")) > 15 and max(abs(over), under) < 2**62:
        return f"{over} / {under}.0"
    return text if "e" in text else f"{text}e0"


def _together(function: str, parts: Sequence[str]) -> str:
    """A function of any number of arguments, of which databases take some at once."""
    while len(parts) > 1:
        parts = [f"{function}({', '.join(some)})" if len(some) > 1 else some[0] for some in _batches(parts, _ARGUMENTS)]
    return parts[0]


def _batches(parts: Sequence[Any], n: int) -> Iterator[Sequence[Any]]:
    return (parts[begin : begin + n] for begin in range(0, len(parts), n))


@dataclass(frozen=True)
class _Table:
    """A table to be made: its columns with their types, its rows, the columns that joins look up, and whether its
    floats are looked up, not summed: the last digit counts then.
    """

    name: str
    columns: Mapping[str, str]
    rows: Iterable[Sequence[Any]]
    keys: Sequence[Sequence[str]] = ()
    exact: bool = False


class _Sql:
    """A model's SQL: `texts` are its statements, a piece at a time."""

    def __init__(self, parts: SavedModel, dialect: str, rows: str, name: str):
        self.about, self.pieces, self.rows = parts.about, parts.tables, rows
        self.dialect, self.called = DIALECTS[dialect], dialect
        self.columns: list[dict[str, Any]] = parts.about["encoder"]["columns"]
        self.labels: list[Any] = parts.about["encoder"]["classes"]["labels"]
        known, self.signs = parts.about["spec"], parts.about["missing_tokens"]
        self.spec = ParseSpec.from_dict(known) if known else ParseSpec.of_model(self.columns, self.signs)
        self.network, self.name = parts.about["form"] == "network", name
        self.unseen = not self.network and parts.about["unseen"]
        self.tuples = pa.concat_tables(self.pieces["tuples.parquet"])
        self.members: list[list[int]] = self.tuples.column("members").to_pylist()
        self.sizes = sorted({*map(len, self.members)})
        names = [own["name"] for own in self.columns]
        for each in (rows, name, *names):
            if not each or "\0" in each:
                raise ModelFileError(f"{each!r} is no name that a database takes; expected a text that is not empty")
        if nul := [value for value in _texts_of(parts.about) if "\0" in value]:
            raise ModelFileError(
                f"{nul[0]!r}, a level, class or text of the model, holds a NUL character, which no SQL file can; "
                "replace it in the table and fit again"
            )
        longest = self.dialect.longest
        if _cut(long := f"{name}_predictions", longest) != long:
            raise ModelFileError(f"{long!r} is too long a name; {dialect} keeps {longest} bytes of one")
        kept = [_cut(name, longest) for name in names]
        alike = kept if dialect == "postgres" else [name.casefold() for name in names]
        if same := [name for name, key in zip(names, alike, strict=True) if alike.count(key) > 1]:
            differ = f"after their first {longest} bytes" if dialect == "postgres" else "by capitals"
            raise ModelFileError(
                f"columns {same} differ {differ} alone, which {dialect} does not tell apart; rename one"
            )
        what = "p" if parts.about["probabilities"] else "score"
        self.shown = _distinct([f"{what}({label})" for label in self.labels], kept, longest)
        reserved = {j: name for j, name in enumerate(names) if name.lower() in self.dialect.reserved}
        own = _distinct(
            ["line", "prediction", "unseen", *(f"{name} (given)" for name in reserved.values())], [*kept, *self.shown]
        )
        self.line, self.best, self.strange = map(identifier, own[:3])
        self.given = {j: identifier(name) for j, name in zip(reserved, own[3:], strict=True)}

    def texts(self) -> Iterator[str]:
        """Yield the SQL."""
        yield self._head()
        yield "BEGIN;\n"
        for table in self._tables():
            name = self.table(table.name)
            of = ", ".join(f"{identifier(column)} {_TYPES[kind]}" for column, kind in table.columns.items())
            yield f"CREATE TABLE {name} ({of});\n"
            rows, exact = iter(table.rows), self.dialect.exact or not table.exact
            while some := list(islice(rows, _LINES)):
                lines = (f"({', '.join(literal(value, exact) for value in row)})" for row in some)
                yield f"INSERT INTO {name} VALUES\n" + ",\n".join(lines) + ";\n"
            for number, key in enumerate(table.keys if self.dialect.indexed else ()):
                index = identifier(f"{self.name}_{table.name}_{number}")
                yield f"CREATE INDEX {index} ON {name} ({', '.join(map(identifier, key))});\n"
        yield f"CREATE VIEW {self.table('predictions')} AS\n{self._query()};\nCOMMIT;\n"

    def table(self, name: str) -> str:
        """The quoted name of one of the model's tables."""
        return identifier(f"{self.name}_{name}")

    def _head(self) -> str:
        """Comments; names are JSON's, which have no line ends."""
        wanted = [
            f"--   {json.dumps(own['name'])} {'number' if own['kind'] == 'numeric' else 'level'}"
            for own in self.columns
        ]
        versions = self.about["versions"]
        lines = [
            f"-- A model of alrviz {versions['alrviz']} for {self.called}: {self.about['estimator']}, "
            f"{len(self.members)} tuples. Run it once where there is a table",
            f"--   {json.dumps(self.rows)}",
            "-- with the columns",
            *wanted,
            "-- and read the predictions of its rows from",
            f"--   {json.dumps(self.name + '_predictions')}",
        ]
        return "\n".join(lines) + "\n"

    # ---- tables --------------------------------------------------------------------------------------------------

    def _tables(self) -> Iterator[_Table]:
        classes = range(len(self.labels))
        whole, floats = "whole", "float"
        features = (
            (j, own["name"], own["missing_code"], own["missing_code"] if own["cuts"] is not None else None)
            for j, own in enumerate(self.columns)
        )
        of = {"feature": whole, "name": "text", "missing": whole, "other": whole}
        yield _Table("feature", of, features)
        of = {"feature": whole, "txt": "text", "num": floats, "code": whole}
        yield _Table("level", of, self._levels(), (("feature", "txt"), ("feature", "num")), exact=True)
        most = max(self.sizes, default=0)
        of = {"tuple": whole, "size": whole}
        of |= {f"{what}_{i}": whole for i in range(most) for what in ("feature", "levels")}
        of |= {f"unseen_{k}": floats for k in classes if self.unseen}
        yield _Table("tuple", of, self._tuples(most))
        yield self._from_file("cell", "cells.parquet", ("tuple", "cell"), "phi")
        if self.network:
            yield self._from_file("above", "parents.parquet", ("tuple", "cell"), "rest")
            yield self._from_file("alone", "levels.parquet", ("column", "level"), "alone")

    def _from_file(self, name: str, file: str, keys: Sequence[str], what: str) -> _Table:
        """A table of the model's file, by its keys, with what it knows of each class."""
        values = [f"{what}_{k}" for k in range(len(self.labels))]
        rows = (
            row
            for piece in self.pieces[file]
            for row in zip(*(piece.column(column).to_pylist() for column in (*keys, *values)), strict=True)
        )
        return _Table(name, dict.fromkeys(keys, "whole") | dict.fromkeys(values, "float"), rows, [keys])

    def _tuples(self, most: int) -> Iterator[list[Any]]:
        levels = [len(own["labels"]) for own in self.columns]
        more = [self.tuples.column(f"unseen_{k}").to_pylist() for k in range(len(self.labels)) if self.unseen]
        for t, members in enumerate(self.members):
            pairs = [number for j in members for number in (j, levels[j])]
            gaps = [None] * (2 * (most - len(members)))
            yield [t, len(members), *pairs, *gaps, *(column[t] for column in more)]

    def _levels(self) -> Iterator[tuple[int, str | None, float | None, int]]:
        """What has a code: texts of levels, numbers of those that are or look like one, and signs of a gap."""
        for j, (own, spec) in enumerate(zip(self.columns, self.spec.columns, strict=True)):
            texts, numbers = dict[str, int](), dict[float, int]()
            if own["kind"] == "numeric":
                numbers = {float(value): code for code, value in enumerate(own["values"] or ())}
            else:
                texts = dict(LevelCodes(own["values"] or (), GAP, GAP, self.signs).by_text)
            texts |= dict.fromkeys(map(str.strip, spec.missing), GAP)
            if own["kind"] != "numeric":
                numbers = {float(text): code for text, code in texts.items() if _is_number(text)}
            numbers |= dict.fromkeys(numbers_among(spec.missing), GAP)
            for key, level in spec.spellings.items():
                if level in texts:
                    for text in {key, key.upper(), key.capitalize(), key.title()}:
                        if is_plain(text):
                            texts[text] = texts[level]
            yield from ((j, text, None, code) for text, code in texts.items())
            yield from ((j, None, number, code) for number, code in numbers.items())

    # ---- the query -------------------------------------------------------------------------------------------------

    def _query(self) -> str:
        table, classes = self.table, range(len(self.labels))
        values, parts = [], [self._value(j) for j in range(len(self.columns))]
        for number, some in enumerate(_batches(parts, _LINES)):
            values.append(f"value_{number} AS MATERIALIZED (\n  {_union(some)})")
        every = _union([f"SELECT * FROM value_{number}" for number in range(len(values))])
        sums = ", ".join(f"sum({self._added(k)}) AS z_{k}" for k in classes)
        scores = ", ".join(f"{literal(b)} + s.z_{k} AS z_{k}" for k, b in enumerate(self.about["bias"]))
        z = [f"z_{k}" for k in classes]
        best = " ".join(f"WHEN z_{k} = top THEN {literal(label)}" for k, label in enumerate(self.labels))
        # No exp() of less: Postgres refuses what is no float64 but 0.
        e = ", ".join(f"CASE WHEN z_{k} - top < -700 THEN 0e0 ELSE exp(z_{k} - top) END AS e_{k}" for k in classes)
        what = self.about["probabilities"]
        shown = [f"p.e_{k} / ({' + '.join(f'p.e_{i}' for i in classes)})" if what else f"p.z_{k}" for k in classes]
        outputs = [f"p.best AS {self.best}"]
        outputs += [f"{value} AS {identifier(name)}" for value, name in zip(shown, self.shown, strict=True)]
        n = self.line
        given = "".join(f"r.{identifier(self.columns[j]['name'])} AS {name}, " for j, name in self.given.items())
        steps = [
            f"numbered AS MATERIALIZED (SELECT row_number() OVER () AS {n}, {given}r.* FROM {identifier(self.rows)} r)",
            *values,
            f"value AS ({every})",
            f"""known AS (
  SELECT v.line, v.feature, v.txt, CASE WHEN v.typed = 1 THEN coalesce(m.code, l.code, v.code)
      ELSE coalesce(l.code, m.code, v.code) END AS code
  FROM value v LEFT JOIN {table("level")} l ON l.feature = v.feature AND l.txt = v.txt
  LEFT JOIN {table("level")} m ON m.feature = v.feature AND m.num = v.num)""",
            f"""code AS MATERIALIZED (
  SELECT k.line, k.feature,
    CASE WHEN k.txt IS NULL OR k.code = {GAP} THEN f.missing ELSE coalesce(k.code, f.other) END AS code,
    CASE WHEN k.txt IS NOT NULL AND k.code IS NULL THEN 1 ELSE 0 END AS unseen
  FROM known k JOIN {table("feature")} f ON f.feature = k.feature)""",
            f"cell AS (\n  {_union(map(self._cells, self.sizes))})",
            f"summed AS (\n  SELECT c.line, {sums}\n  FROM cell c {self._joins()}\n  GROUP BY c.line)",
            "strange AS (SELECT line, CAST(sum(unseen) AS BIGINT) AS unseen FROM code GROUP BY line)",
            f"score AS (\n  SELECT u.line, u.unseen, {scores}\n  FROM strange u JOIN summed s ON s.line = u.line)",
            f"topped AS (SELECT score.*, {_together(self.dialect.greatest, z)} AS top FROM score)",
            f"odds AS MATERIALIZED (\n  SELECT line, unseen, CASE {best} END AS best, {', '.join(z)}, {e}\n"
            "  FROM topped)",
        ]
        return (
            "WITH "
            + ",\n".join(steps)
            # first: of two columns of a name, databases call the second another
            + f"\nSELECT {', '.join(outputs)}, p.unseen AS {self.strange}, r.*\n"
            f"FROM numbered r JOIN odds p ON p.line = r.{n}"
        )

    def _value(self, j: int) -> str:
        """A feature's values: the text that may be a level, the number that may be, the code of its interval."""
        own = self.columns[j]
        x = f"r.{self.given.get(j) or identifier(own['name'])}"
        numeric, d = own["kind"] == "numeric", self.dialect
        text = f"trim(CAST({x} AS TEXT), {d.blanks})"
        if d.nan:
            text = f"CASE WHEN NOT ({d.nan.format(x=x)}) THEN {text} END"
        cuts = own["cuts"]
        code = "NULL" if cuts is None else f"CASE WHEN {FINITE} THEN {self._interval(cuts, 0, len(cuts))} END"
        own_number = (d.number if numeric else d.typed).format(x=x)
        number = "w.own" if numeric else f"coalesce(w.own, {d.plain.format(x='w.txt')})"
        return (
            f"SELECT v.line, CAST({j} AS BIGINT) AS feature, v.txt, v.typed, CASE WHEN {FINITE} THEN v.num END AS num, "
            f"CAST({code} AS BIGINT) AS code\n    FROM (SELECT w.line, w.txt, {number} AS num, "
            "CASE WHEN w.own IS NULL THEN 0 ELSE 1 END AS typed\n      "
            f"FROM (SELECT r.{self.line} AS line, {text} AS txt, {own_number} AS own "
            "FROM numbered r) w) v"
        )

    def _interval(self, cuts: Sequence[float], begin: int, end: int) -> str:
        """The code of a number that has `begin` cuts below it at least, and `end` at most."""
        if begin == end:
            return str(begin)
        middle = (begin + end) // 2
        low, high = self._interval(cuts, begin, middle), self._interval(cuts, middle + 1, end)
        return f"CASE WHEN v.num <= {literal(cuts[middle], self.dialect.exact)} THEN {low} ELSE {high} END"

    def _cells(self, size: int) -> str:
        """Every row's cell of each tuple of a size, NULL where it has no level of one of its features."""

        def number(n: int) -> str:
            found = "c0.code"
            for i in range(1, n):
                found = f"({found} * t.levels_{i} + c{i}.code)"
            return found

        above = number(size - 1) if size > 1 else "CAST(NULL AS BIGINT)"
        more = f", {above} AS above, t.feature_{size - 1} AS child, c{size - 1}.code" if self.network else ""
        joins = " ".join(
            f"JOIN code c{i} ON c{i}.feature = t.feature_{i}" + (f" AND c{i}.line = c0.line" if i else "")
            for i in range(size)
        )
        of = f"{self.table('tuple')} t {joins} WHERE t.size = {size}"
        return f"SELECT c0.line, t.tuple, {number(size)} AS cell{more} FROM {of}"

    def _joins(self) -> str:
        """Where what a cell adds is looked up."""
        found = f"LEFT JOIN {self.table('cell')} f ON f.tuple = c.tuple AND f.cell = c.cell"
        if self.network:
            found += f"\n  LEFT JOIN {self.table('above')} a ON a.tuple = c.tuple AND a.cell = c.above"
            found += f'\n  LEFT JOIN {self.table("alone")} o ON o."column" = c.child AND o.level = c.code'
        return found + (f"\n  JOIN {self.table('tuple')} t ON t.tuple = c.tuple" if self.unseen else "")

    def _added(self, k: int) -> str:
        """What a cell adds to the score of class k: see Linear and Network of score_forms.py."""
        if self.network:
            return f"CASE WHEN c.code IS NOT NULL THEN coalesce(f.phi_{k}, a.rest_{k}, o.alone_{k}) ELSE 0 END"
        if not self.unseen:
            return f"coalesce(f.phi_{k}, 0)"
        known = "WHEN c.cell IS NULL THEN 0 " if self.about["known_only"] else ""
        return f"CASE WHEN f.cell IS NOT NULL THEN f.phi_{k} {known}ELSE t.unseen_{k} END"


def _texts_of(value: Any) -> Iterator[str]:
    """Yield the texts of a value that JSON knows, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts_of(key)
            yield from _texts_of(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts_of(one)


def _union(parts: Iterable[str]) -> str:
    return "\n  UNION ALL ".join(parts)


def _is_number(text: str) -> bool:
    """Whether a text is what `number_text` writes of a finite number."""
    return PLAIN_NUMBER.fullmatch(text) is not None and math.isfinite(float(text)) and number_text(float(text)) == text


def _cut(name: str, longest: int | None) -> str:
    """A name as a database keeps it that cuts off all but some bytes."""
    return name.encode()[:longest].decode(errors="ignore")


def _distinct(names: Sequence[str], taken: Iterable[str], longest: int | None = None) -> list[str]:
    """Names of columns that differ, capitals aside, from each other and from those taken; of so many bytes at most."""
    there = {name.casefold() for name in taken}
    found = []
    for name in names:
        marks = chain([""], (f" ({i})" for i in count(2)))
        room = (_cut(name, longest and longest - len(mark)) + mark for mark in marks)
        own = next(text for text in room if text.casefold() not in there)
        there.add(own.casefold())
        found.append(own)
    return found
