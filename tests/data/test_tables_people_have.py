"""Tables as people have them: surveys, clinics, councils, schools, shops, sensors.

Each case is a small table with what a careful analyst would expect of it, written without regard to how the reader
works. A name that ends in "counterexample" has the pattern of its neighbours where it means nothing. A strict xfail is
a reading that is wrong today: whoever mends the reader removes the mark.
"""

import io
import itertools
import random
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import alrviz

Values = list[Any] | dict[int, Any] | Callable[[list[Any]], bool]
Columns = dict[str, list[str]]


@dataclass(frozen=True)
class Case:
    """A table and what is expected of it; what is None or empty is not checked.

    `names` are exact, or tuples of parts that the name contains. `values` of a column are the whole list, some rows
    of it, or a predicate. `levels` are an ordinal column's, in order. `said` and `unsaid` are patterns for notes and
    warnings; `said` also searches the reasons of columns. `check` takes the data set. `refusal` is "must" where the
    table has to be refused, "may" where saying it in an error is as good; `said` then holds for the error's text.
    """

    name: str
    source: str | bytes
    target: str | None = "outcome"
    file: str = ""
    rows: int | None = None
    names: Sequence[str | tuple[str, ...]] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Values] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[str, Sequence[str] | Callable[[list[str]], bool]] = field(default_factory=dict)
    classes: Sequence[str] | None = None
    said: Sequence[str] = ()
    unsaid: Sequence[str] = ()
    check: Callable[[alrviz.Dataset], bool] | None = None
    refusal: str = ""


# Making tables


def draw(n: int, seed: int = 1, /, **columns: Any) -> Columns:
    """Return n random texts per column: from a list of choices, or from a function of the generator."""
    generator = random.Random(seed)
    return {
        name: [str(make(generator) if callable(make) else generator.choice(make)) for _ in range(n)]
        for name, make in columns.items()
    }


def people(n: int = 40, seed: int = 1, /, **columns: Any) -> Columns:
    """Return respondents with a class that nothing predicts, and with further columns."""
    return draw(
        n,
        seed,
        outcome=["yes", "no"],
        age=whole(19, 86),
        town=["Leeds", "York", "Hull", "Selby"],
        income=whole(8_000, 61_000),
        **columns,
    )


def whole(low: int, high: int) -> Callable[[random.Random], int]:
    return lambda generator: generator.randint(low, high)


def decimal(low: float, high: float, digits: int = 1) -> Callable[[random.Random], str]:
    return lambda generator: f"{generator.uniform(low, high):.{digits}f}"


def put(column: list[str], cells: Mapping[int, str]) -> list[str]:
    return [cells.get(row, cell) for row, cell in enumerate(column)]


def lines(columns: Columns, sep: str = ",", header: bool = True) -> list[str]:
    return ([sep.join(columns)] if header else []) + [sep.join(row) for row in zip(*columns.values(), strict=True)]


def text(columns: Columns, sep: str = ",", header: bool = True) -> str:
    return "\n".join(lines(columns, sep, header)) + "\n"


def grid(columns: Columns) -> list[list[Any]]:
    """Return header and rows with numbers as numbers, as a workbook holds them."""
    return [list(columns), *([as_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True))]


def as_cell(cell: str) -> Any:
    return float(cell) if re.fullmatch(r"-?\d+(\.\d+)?", cell) else cell or None


def workbook(
    sheets: Mapping[str, list[list[Any]]], row: int = 1, column: int = 1, merge: str = "", touch: str = ""
) -> bytes:
    """Return an xlsx file; tables begin at (row, column), `merge` is merged, `touch` is formatted but empty."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, cells in sheets.items():
        sheet = book.create_sheet(title)
        for down, cells_of_row in enumerate(cells):
            for right, cell in enumerate(cells_of_row):
                sheet.cell(row + down, column + right, cell)
        if merge:
            sheet.merge_cells(merge)
        if touch:
            sheet[touch].number_format = "0.00"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def plain(name: str, columns: Columns, sep: str = ",", **expected: Any) -> Case:
    """Return a case of well-formed text, of which all rows and names are expected."""
    return Case(
        name, text(columns, sep), **{"rows": len(next(iter(columns.values()))), "names": list(columns)} | expected
    )


# What values may look like


def proportional(expected: Sequence[float | None]) -> Callable[[list[Any]], bool]:
    """Return whether values are the expected ones in some unit: percent or shares, minutes or hours."""

    def check(actual: list[Any]) -> bool:
        pairs = [(a, e) for a, e in zip(actual, expected, strict=True) if e is not None]
        unit = float(pairs[0][0]) / float(pairs[0][1] or 1)
        return unit > 0 and all(float(a) == pytest.approx(float(e or 0) * unit, rel=1e-6) for a, e in pairs)

    return check


def floats(column: Sequence[str]) -> list[float]:
    return [float(cell) for cell in column]


def years(expected: Sequence[int]) -> Callable[[list[Any]], bool]:
    return lambda actual: [pd.Timestamp(value).year for value in actual] == list(expected)


def same(actual: Any, expected: Any) -> bool:
    if expected is None or pd.isna(expected):
        return bool(pd.isna(actual))
    if isinstance(expected, pd.Timestamp):
        return pd.Timestamp(actual) == expected
    if isinstance(expected, int | float):
        return not isinstance(actual, str) and float(actual) == pytest.approx(expected)
    return str(actual) == expected


def is_not_numeric(column: str) -> Callable[[alrviz.Dataset], bool]:
    return lambda dataset: (
        not pd.api.types.is_numeric_dtype(dataset.frame[column]) and (dataset.kinds[column] != "numeric")
    )


def is_used(column: str) -> Callable[[alrviz.Dataset], bool]:
    """Return whether a column of numbers or of an order bears the name, such as the year of a date."""
    return lambda dataset: any(
        kind in ("numeric", "ordinal") for name, kind in dataset.kinds.items() if name.startswith(column)
    )


def has_pair(name: str, first: list[float], second: list[float]) -> Callable[[alrviz.Dataset], bool]:
    """Return whether a column of pairs has become two columns of numbers that bear its name."""

    def check(dataset: alrviz.Dataset) -> bool:
        parts = [
            [float(value) for value in dataset.frame[column]]
            for column in dataset.frame
            if column.startswith(name) and pd.api.types.is_numeric_dtype(dataset.frame[column])
        ]
        return first in parts and second in parts

    return check


def has_titles(*titles: str) -> Callable[[alrviz.Dataset], bool]:
    """Return whether a column holds the titles of stacked tables."""
    return lambda dataset: any(set(map(str, dataset.frame[name])) == set(titles) for name in dataset.frame)


def day(first: int, last: int, form: str) -> Callable[[random.Random], str]:
    """Return random days of the years first to last in a strftime form."""
    return lambda generator: (
        f"{pd.Timestamp(generator.randint(first, last), generator.randint(1, 12), generator.randint(1, 28)):{form}}"
    )


def stamps(column: Sequence[str], form: str) -> list[pd.Timestamp]:
    return [pd.to_datetime(cell, format=form) for cell in column]


def line_with(*patterns: str) -> str:
    """Return a pattern for a line that has all of these, in any order and in capitals or not."""
    return "(?im)^" + "".join(f"(?=.*(?:{pattern}))" for pattern in patterns)


def either_way(order: list[str]) -> Callable[[list[str]], bool]:
    return lambda levels: levels in (order, order[::-1])


WARD = people(30, 4)
WORDS = ["bus", "late", "again", "driver", "friendly", "cold", "stop", "long", "wait", "please", "more", "seats"]
PERSONS = [
    f"{first} {last}"
    for first in ("Anna", "Ben", "Carla", "Dev", "Ewa", "Femi", "Grete", "Hal")
    for last in ("Abel", "Brown", "Costa", "Dunn", "Evans", "Frost", "Gill", "Hart")
][:60]

# The cases, by kind


def ragged_lines() -> Iterator[Case]:
    """Lines that are too short or too long."""
    clinic = people(days=whole(1, 30))
    file_lines = [line.rpartition(",")[0] if i in (5, 17, 30) else line for i, line in enumerate(lines(clinic))]
    yield Case(
        "short lines of a clinic",
        "\n".join(file_lines),
        rows=40,
        missing={"days": 3, "age": 0},
        said=[r"\b3\b.*line|line.*\b3\b"],
    )

    file_lines = [line + ",," if i in (4, 9, 11, 20, 21, 33) else line for i, line in enumerate(lines(clinic))]
    yield Case(
        "surplus empty cells of a shop",
        "\n".join(file_lines),
        rows=40,
        names=list(clinic),
        missing={"days": 0},
        said=[r"\b6\b"],
    )

    file_lines = lines(clinic)
    file_lines[-1] = ",".join(file_lines[-1].split(",")[:2])
    yield Case(
        "download that broke off", "\n".join(file_lines), rows=40, missing={"town": 1, "days": 1}, said=["line 41"]
    )

    addresses = people(150, street=["Mill Lane", "High Street", "Park Row"])
    file_lines = lines(addresses)
    file_lines[57] += ", Flat 2"
    yield Case(
        "address with a bare comma in one of 150 lines",
        "\n".join(file_lines),
        check=lambda dataset: dataset.n_rows >= 149 and list(dataset.frame)[:5] == list(addresses),
        said=["line 58"],
    )
    remarks = people(remark=["late", "early", "noisy"])
    remarks["remark"] = put(remarks["remark"], dict.fromkeys((2, 9, 14, 30), ""))
    yield plain(
        "empty last cells are no short lines, counterexample",
        remarks,
        missing={"remark": 4},
        unsaid=["too few", "padded", "short"],
    )


def quotation_marks() -> Iterator[Case]:
    """Quotation marks."""
    shop = people(60, comment=["fine", "slow delivery", "would buy again", "box was damaged", "all good so far"])
    comments = put(shop["comment"], {7: 'my 15" screen broke', 31: 'the 3/4" hose leaks', 44: '24" too wide'})
    yield plain(
        "inches in the comments of a shop",
        shop | {"comment": comments, "stars": shop["age"]},
        values={"comment": {7: 'my 15" screen broke', 8: comments[8], 31: 'the 3/4" hose leaks', 44: '24" too wide'}},
    )
    comments = put(shop["comment"], {12: '"Never again', 40: '"quick" they said'})
    yield plain(
        "comments that begin with a mark",
        shop | {"comment": comments, "stars": shop["age"]},
        values={"comment": {13: comments[13], 59: comments[59]}},
        said=["line 14"],
    )
    comments = put(shop["comment"], {20: '"loved it'})
    yield plain(
        "a mark in a column of a tab-separated export",
        {"comment": []} | shop | {"comment": comments},
        sep="\t",
        values={"comment": {20: '"loved it', 21: comments[21]}, "age": floats(shop["age"])},
    )
    comments = put(shop["comment"], {3: '"He said ""no"",\nand left"', 9: '"a, b and c"'})
    yield plain(
        "proper quotes over two lines, counterexample",
        shop | {"comment": comments},
        values={"comment": {3: 'He said "no",\nand left', 9: "a, b and c"}},
        unsaid=["quotation", "quote"],
    )


def surroundings() -> Iterator[Case]:
    """Prose, notes, code books and totals."""
    yield Case(
        "title, source and notes around a council's table",
        "Housing survey 2019, responses by household\nPublished 3 March 2020\n\n"
        + text(WARD)
        + "\nSource: Borough Council\nNotes: incomes are before tax, rounded to the pound\n",
        rows=30,
        names=list(WARD),
        values={"income": floats(WARD["income"])},
        said=["line"],
    )
    codes = draw(60, 5, outcome=["0", "1"], ethnic=["1", "2", "3"], age=whole(19, 86))
    yield Case(
        "code book below a survey",
        text(codes) + "\n1 = White\n2 = Asian\n3 = Black\n",
        rows=60,
        names=list(codes),
        values={"age": floats(codes["age"])},
        said=["line"],
    )
    sales = draw(
        24,
        6,
        shop=["North", "South", "East"],
        visitors=whole(100, 900),
        revenue=whole(1000, 9000),
        target=["hit", "missed"],
    )
    total = sum(map(int, sales["visitors"])), sum(map(int, sales["revenue"]))
    mean = total[0] / 24, total[1] / 24
    yield Case(
        "totals and means below a shop's table",
        text(sales) + f"Total,{total[0]},{total[1]},\nMean,{mean[0]:.1f},{mean[1]:.1f},\n",
        target="target",
        rows=24,
        check=lambda dataset: set(map(str, dataset.frame["shop"])) == {"North", "South", "East"},
        said=["(?i)total|mean|statistic|footer|below"],
    )
    parts = [people(20, seed) for seed in (7, 8)]
    yield Case(
        "two wards under one another with titles and headers",
        "Ward A\n" + text(parts[0]) + "\nWard B\n" + text(parts[1]),
        rows=40,
        values={"age": floats(parts[0]["age"] + parts[1]["age"])},
        check=has_titles("Ward A", "Ward B"),
    )
    yield Case(
        "two terms of a school under one another in a sheet",
        workbook({"Marks": [["Autumn"], *grid(parts[0]), [], ["Spring"], *grid(parts[1])]}),
        rows=40,
        values={"income": floats(parts[0]["income"] + parts[1]["income"])},
        check=has_titles("Autumn", "Spring"),
    )
    yield Case(
        "notes below the table of a sheet",
        workbook({"Survey": [*grid(WARD), [], ["Source: own survey"], ["* preliminary"]]}),
        rows=30,
        values={"age": floats(WARD["age"])},
    )
    groups = lines(people(40))
    yield Case(
        "empty lines between the groups of a table, counterexample",
        "\n".join([*groups[:11], "", *groups[11:21], "", *groups[21:]]),
        rows=40,
        names=list(people(1)),
        values={"age": floats(people(40)["age"])},
    )
    fuel = draw(30, 9, brand=["Shell", "Total", "Esso"], litres=decimal(8, 60), queue=["yes", "no"])
    fuel["brand"][-1] = "Total"
    yield plain(
        "Total is a brand of petrol, counterexample",
        fuel,
        target="queue",
        values={"brand": fuel["brand"], "litres": floats(fuel["litres"])},
    )


def header_rows() -> Iterator[Case]:
    """Header rows."""
    visits = draw(
        40, 10, outcome=["yes", "no"], age=whole(19, 86), sex=["f", "m"], first=whole(90, 180), second=whole(90, 180)
    )
    joined_names: list[str | tuple[str, ...]] = [
        "outcome",
        ("patient", "age"),
        ("patient", "sex"),
        ("visit", "first"),
        ("visit", "second"),
    ]
    yield Case(
        "names of groups above the names",
        ",Patient,,Visit,\n" + text(visits),
        rows=40,
        names=joined_names,
        check=lambda dataset: list(dataset.kinds.values()).count("numeric") == 3,
    )
    yield Case(
        "names of groups over merged cells",
        workbook({"Visits": [[None, "Patient", None, "Visit", None], *grid(visits)]}, merge="D1:E1"),
        rows=40,
        names=joined_names,
    )
    devices = draw(
        30,
        11,
        outcome=["yes", "no"],
        age=whole(19, 86),
        phone=["Phone", ""],
        tablet=["Tablet", ""],
        laptop=["Laptop", ""],
    )
    yield Case(
        "questions and answers of an online survey",
        "outcome,How old are you?,Which devices do you use?,,\n,Response,Phone,Tablet,Laptop\n"
        + text(devices, header=False),
        rows=30,
        names=["outcome", ("how old",), ("devices", "phone"), ("devices", "tablet"), ("devices", "laptop")],
    )
    sensor = draw(
        40, 12, temp=decimal(-5, 30), pressure=decimal(980, 1030), wind=decimal(0, 20), outcome=["rain", "dry"]
    )
    yield Case(
        "units below the names of a sensor",
        "temp,pressure,wind,outcome\n°C,hPa,m/s,\n" + text(sensor, header=False),
        rows=40,
        names=[("temp",), ("pressure",), ("wind",), "outcome"],
        check=lambda dataset: list(dataset.kinds.values()) == ["numeric"] * 3,
    )
    orange = draw(
        40, 13, age=whole(19, 86), grade=["1", "2", "3"], verdict=["good", "bad"], name=[f"case {i}" for i in range(99)]
    )
    yield Case(
        "three header rows of Orange",
        "age\tgrade\tverdict\tname\ncontinuous\tdiscrete\tdiscrete\tstring\n\t\tclass\tmeta\n"
        + text(orange, "\t", header=False),
        target=None,
        rows=40,
        names=list(orange),
        kinds={"age": "numeric", "grade": "categorical", "name": "ignore"},
        classes=["bad", "good"],
    )
    yield Case(
        "prefixes of Orange in one header row",
        "C#age\tD#grade\tcD#verdict\tmS#name\n" + text(orange, "\t", header=False),
        target=None,
        rows=40,
        names=list(orange),
        kinds={"age": "numeric", "grade": "categorical", "name": "ignore"},
        classes=["bad", "good"],
    )
    poll = draw(
        40, 14, party=["Red", "Blue", "Green"], region=["North", "South"], tenure=["own", "rent"], vote=["yes", "no"]
    )
    yield plain(
        "one header row above texts alone, counterexample", poll, target="vote", values={"party": poll["party"]}
    )
    poll = draw(40, 15, region=["North", "South"], party=["Red", "Blue"], extra=["", "Green"], vote=["yes", "no"])
    poll = {name: put(cells, {0: "" if name in ("party", "extra") else cells[0]}) for name, cells in poll.items()}
    yield plain(
        "first row with empty cells is no header, counterexample",
        poll,
        target="vote",
        values={"region": poll["region"]},
    )


def missing_headers() -> Iterator[Case]:
    """No header."""
    measurements = draw(60, 16, a=decimal(0, 9), b=decimal(10, 99), c=whole(100, 999), d=["0", "1"])
    yield Case(
        "measurements without names",
        text(measurements, header=False),
        rows=60,
        target=None,
        check=lambda dataset: [float(value) for value in dataset.frame.iloc[:, 0]] == floats(measurements["a"]),
        said=["(?i)header|names|numbered"],
    )
    census = draw(
        60, 17, age=whole(19, 86), work=["Private", "State-gov", "Self-emp"], hours=whole(10, 70), pay=["<=50K", ">50K"]
    )
    yield Case(
        "census extract without names",
        text(census, ", ", header=False),
        rows=60,
        target=None,
        classes=["<=50K", ">50K"],
        check=lambda dataset: set(map(str, dataset.frame.iloc[:, 1])) == {"Private", "State-gov", "Self-emp"},
        said=["(?i)header|names|numbered"],
    )
    towns = draw(
        30,
        18,
        town=[f"Town {i}" for i in range(99)],
        **{"2019": whole(900, 9000), "2020": whole(900, 9000)},
        growing=["yes", "no"],
    )
    yield plain(
        "years as names, counterexample",
        towns,
        target="growing",
        names=["town", "2019", "2020", "growing"],
        kinds={"2019": "numeric", "2020": "numeric"},
    )


def sheets_and_regions() -> Iterator[Case]:
    """Sheets and regions."""
    prose = [
        ["Read me"],
        ["This workbook holds the responses of the 2021 survey."],
        ["Ask the office for the code book."],
    ]
    yield Case(
        "table on the second sheet, behind a page of prose",
        workbook({"Read me": prose, "Responses": grid(WARD)}),
        rows=30,
        names=list(WARD),
        said=["Responses"],
    )
    yield Case(
        "code list on the first sheet",
        workbook({"Codes": [["code", "meaning"], [1, "White"], [2, "Asian"], [3, "Black"]], "2021": grid(WARD)}),
        rows=30,
        names=list(WARD),
        said=["2021"],
    )
    yield Case(
        "table that begins at C5",
        workbook({"Data": grid(WARD)}, row=5, column=3),
        rows=30,
        names=list(WARD),
        values={"age": floats(WARD["age"])},
        said=["C5|row 5|line 5"],
    )
    yield Case(
        "sheet formatted as far as column AMJ",
        workbook({"Data": grid(WARD)}, touch="AMJ900"),
        rows=30,
        names=list(WARD),
    )
    rows = grid(WARD)
    yield Case(
        "an empty row in the midst of a table, counterexample",
        workbook({"Data": [*rows[:16], [], *rows[16:]]}),
        rows=30,
        names=list(WARD),
        values={"age": floats(WARD["age"])},
    )


def counts() -> Iterator[Case]:
    """Counts and cross tables."""
    cells = list(
        itertools.product(["1st", "2nd", "3rd", "Crew"], ["Male", "Female"], ["Child", "Adult"], ["No", "Yes"])
    )
    counts = draw(32, 19, n=whole(0, 400))["n"]
    yield Case(
        "survivors of a ship, a row for each combination",
        "Class,Sex,Age,Survived,Freq\n"
        + "\n".join(",".join((*cell, n)) for cell, n in zip(cells, counts, strict=True)),
        target="Survived",
        said=["Freq", "(?i)count|weight|expand"],
        check=lambda dataset: (
            [column.name for column in dataset.columns if column.offered_role == "weight"] == ["Freq"]
            and dataset.with_kinds(Freq="weight").weights.sum() == sum(map(int, counts))
        ),
    )
    sizes = draw(30, 20, outcome=["yes", "no"], town=["Hull", "York"], ward=["A", "B"], n=whole(1, 40))
    yield plain("n beside levels that repeat is a measure, counterexample", sizes, kinds={"n": "numeric"})
    yield Case(
        "admissions by department with totals at the edge",
        "Department,Admitted,Rejected,Total\nA,601,332,933\nB,370,215,585\nC,322,596,918\nD,269,523,792\nE,147,437,584\n"
        "F,46,668,714\nTotal,1755,2771,4526\n",
        target=None,
        refusal="may",
        said=["(?i)total", "(?i)count|cross|contingency|expand"],
    )
    posts = people(60, word_count=whole(40, 900), children_count=whole(0, 5))
    yield plain(
        "count of words is a measure, counterexample",
        posts,
        kinds={"word_count": "numeric"},
        unsaid=["(?i)expand", "(?i)cross.?tab", "(?i)frequenc"],
    )


def encodings() -> Iterator[Case]:
    """Encodings."""
    french = draw(
        40,
        20,
        outcome=["oui", "non"],
        ville=["Orléans", "Besançon", "Nîmes"],
        prix=["5 €", "7 €", "12 €"],
        âge=whole(19, 86),
    )
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        yield Case(
            f"French towns in {encoding}",
            text(french, "\t" if encoding == "utf-16" else ";").encode(encoding),
            rows=40,
            names=list(french),
            values={"ville": french["ville"]},
            kinds={"âge": "numeric"},
        )
    german = draw(40, 21, outcome=["ja", "nein"], ort=["Zürich", "Genève", "Köln", "Århus"], wert=decimal(1, 9))
    polish = draw(
        40, 22, outcome=["tak", "nie"], miasto=["Łódź", "Kraków", "Gdańsk", "Częstochowa"], wiek=whole(19, 86)
    )
    yield Case("towns in Mac Roman", text(german).encode("mac_roman"), rows=40, values={"ort": german["ort"]})
    yield Case("Polish towns in cp1250", text(polish).encode("cp1250"), rows=40, values={"miasto": polish["miasto"]})
    byte_lines = text(german).encode().split(b"\n")
    byte_lines[9] = "ja,Málaga,4.5".encode("cp1252")
    yield Case(
        "one line in another encoding",
        b"\n".join(byte_lines),
        rows=40,
        values={"ort": {0: german["ort"][0], 30: german["ort"][30]}, "wert": {8: 4.5}},
        said=["(?i)encod|utf|byte|cp1252", r"line 10|\b1\b"],
    )
    ends = people(40, remark=["“Spaß”", "Größe", "spät", "über"])
    yield Case(
        "German in cp1252 with ends of quotes that may be UTF-8, counterexample",
        text(ends).encode("cp1252"),
        values={"remark": ends["remark"]},
        said=["cp1252"],
    )
    incomes = people(income_eur=lambda generator: f"{generator.randint(8, 60)}\u00a0{generator.randint(100, 999)}")
    yield Case(
        "no-break spaces in numbers and names",
        text(incomes).replace("income_eur", "gross\u00a0income"),
        rows=40,
        names=["outcome", "age", "town", "income", "gross income"],
        kinds={"gross income": "numeric"},
        values={"gross income": [float(cell.replace("\u00a0", "")) for cell in incomes["income_eur"]]},
    )
    yield Case(
        "control characters in names", text(people()).replace("age,", "\x00age\x0b,", 1), rows=40, names=list(people())
    )
    brazil = draw(40, 23, outcome=["sim", "não"], cidade=["SÃO PAULO", "MACAPÁ", "BELÉM"], idade=whole(19, 86))
    yield plain("capitals with a tilde are right, counterexample", brazil, values={"cidade": brazil["cidade"]})


def missing_values() -> Iterator[Case]:
    """Missing values."""
    tokens = ["NA", "N/A", "n/a", "#N/A", "#DIV/0!", "?", ".", "-", "--", "..", "null", "none"]
    lab = people(60, **{f"test{i}": decimal(1, 90) for i in range(len(tokens))})
    for i, token in enumerate(tokens):
        lab[f"test{i}"] = put(lab[f"test{i}"], dict.fromkeys((3, 20 + i, 50), token))
    yield plain(
        "twelve marks for missing in a laboratory's numbers",
        lab,
        missing={f"test{i}": 3 for i in range(len(tokens))},
        kinds={f"test{i}": "numeric" for i in range(len(tokens))},
    )
    survey = people(60, children=whole(0, 9), weekly_hours=whole(0, 60))
    survey["weekly_hours"] = put(survey["weekly_hours"], dict.fromkeys(range(0, 60, 7), "not asked"))
    yield plain(
        "questions not asked",
        survey,
        kinds={"weekly_hours": "numeric"},
        missing={"weekly_hours": 9},
        said=["not asked"],
    )
    school = people(60, grade=["A", "B", "C", "D"])
    school["grade"] = put(school["grade"], {4: "N/A", 8: "", 30: "N/A"})
    yield plain("grades that are not there", school, missing={"grade": 3}, kinds={"grade": "categorical|ordinal"})
    travel = people(60, country=["NA", "ZA", "BW", "ZM", "AO", "ZW"])
    yield plain("NA is Namibia, counterexample", travel, missing={"country": 0}, values={"country": travel["country"]})
    allergy = people(60, allergies=["None", "Penicillin", "Nuts", "Pollen"], rhesus=["+", "-"])
    yield plain(
        "None is an answer, counterexample",
        allergy,
        missing={"allergies": 0},
        values={"allergies": allergy["allergies"]},
    )
    yield plain(
        "minus is a rhesus factor, counterexample", allergy, missing={"rhesus": 0}, values={"rhesus": allergy["rhesus"]}
    )


def sentinels() -> Iterator[Case]:
    """Sentinels."""
    air = draw(120, 24, outcome=["high", "low"], co=decimal(0.3, 9), nox=whole(20, 900), temp=decimal(-12, 30))
    outage = dict.fromkeys((5, 6, 7, 50, 51), "-200")
    air |= {"co": put(air["co"], outage), "nox": put(air["nox"], outage)}
    yield plain(
        "-200 of an air quality station",
        air,
        kinds={"co": "numeric"},
        said=[line_with("-200", "co", r"\b5\b"), line_with("-200", "nox")],
    )
    trust = draw(
        150,
        25,
        outcome=["yes", "no"],
        age=whole(19, 86),
        **{f"trust{i}": ["1", "2", "3", "4", "5"] * 3 + ["8", "9"] for i in (1, 2, 3)},
    )
    yield plain(
        "8 and 9 behind a scale of five", trust, said=[line_with(r"\b8\b", "trust1"), line_with(r"\b9\b", "trust1")]
    )
    ages = people(120, height=whole(148, 196))
    ages |= {"height": put(ages["height"], dict.fromkeys((3, 30, 60, 90), "999"))}
    ages |= {"age": put(ages["age"], dict.fromkeys((3, 8, 60), "999"))}
    yield plain("999 for ages and heights", ages, said=[line_with("999", "age"), line_with("999", "height")])
    stage = people(120, stage=["1", "2", "3"])
    stage["stage"] = put(stage["stage"], dict.fromkeys(range(0, 120, 13), "-9"))
    yield Case("-9 among the classes", text(stage), target="stage", said=[line_with("-9", r"\b10\b")])
    panel = draw(150, 33, outcome=["in", "out"], age=whole(19, 86), children=whole(0, 6), rooms=whole(1, 9))
    refused = dict.fromkeys(range(4, 150, 15), "-1")
    panel |= {"children": put(panel["children"], refused), "rooms": put(panel["rooms"], refused)}
    yield plain(
        "-1 for refused in a panel", panel, said=[line_with("-1", "rooms", r"\b10\b"), line_with("-1", "children")]
    )
    exam = draw(150, 34, outcome=["pass", "fail"], points=whole(0, 20), hours=whole(0, 90))
    exam["points"] = put(exam["points"], dict.fromkeys(range(2, 150, 12), "45"))
    yield plain("45 behind twenty points", exam, said=[line_with("45", r"\b13\b")])
    winter = draw(120, 26, outcome=["snow", "rain"], night=whole(-15, 8), marks=whole(40, 100), dew=whole(-19, 4))
    yield plain(
        "-1 and -9 degrees, 99 marks, counterexample",
        winter,
        missing={"night": 0, "marks": 0},
        kinds={"night": "numeric", "marks": "numeric"},
        unsaid=[r"-9\b", r"-1\b", r"\b99\b"],
    )


def quantities() -> Iterator[Case]:
    """Dates, times and quantities."""
    for form in ("%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%B %d %Y"):
        orders = people(60, ordered=day(2015, 2022, form))
        yield plain(
            f"dates as {form}",
            orders,
            names=None,
            values={"ordered": stamps(orders["ordered"], form)},
            check=is_used("ordered"),
        )
    births = people(60, born=day(1931, 1968, "%d/%m/%Y"), admitted=day(2018, 2022, "%d/%m/%y"))
    born = [int(cell[-4:]) for cell in births["born"]]
    births["born"] = [cell[:-4] + cell[-2:] for cell in births["born"]]
    yield plain(
        "births with two digits of the year", births, names=None, values={"born": years(born)}, check=is_used("born")
    )
    births = people(60, born=day(1910, 1928, "%d/%m/%Y"), admitted=day(2008, 2009, "%d/%m/%y"))
    born = [int(cell[-4:]) for cell in births["born"]]
    births["born"] = [cell[:-4] + cell[-2:] for cell in births["born"]]
    yield plain(
        "births in a care home before the admissions of 2009",
        births,
        names=None,
        values={"born": years(born), "admitted": lambda values: {pd.Timestamp(v).year for v in values} == {2008, 2009}},
    )
    children = people(60, born=day(2005, 2018, "%d/%m/%y"), seen=day(2019, 2022, "%d/%m/%Y"))
    yield plain(
        "children seen after their births, counterexample",
        children,
        names=None,
        values={"born": stamps(children["born"], "%d/%m/%y")},
    )
    orders = people(60, delivered=day(2019, 2022, "%d/%m/%y"))
    yield plain(
        "deliveries of this century, counterexample",
        orders,
        names=None,
        values={"delivered": stamps(orders["delivered"], "%d/%m/%y")},
    )
    months = people(60, born=lambda generator: f"{generator.choice(['Sep', 'Jan', 'Mar'])}-{generator.randint(41, 79)}")
    yield plain(
        "Sep-63 is a month of birth",
        months,
        names=None,
        values={"born": years([1900 + int(c[-2:]) for c in months["born"]])},
    )
    clock = people(60, start=lambda generator: f"{generator.randint(6, 22):02}:{generator.randint(0, 59):02}")
    minutes = [int(cell[:2]) * 60 + int(cell[3:]) for cell in clock["start"]]
    yield plain(
        "times of day",
        clock,
        check=lambda dataset: is_used("start")(dataset) and proportional(minutes)(dataset.X["start"].tolist()),
    )
    runs = people(
        60,
        finish=lambda generator: (
            f"{generator.randint(2, 4)}:{generator.randint(0, 59):02}:{generator.randint(0, 59):02}"
        ),
    )
    seconds = [
        sum(int(part) * unit for part, unit in zip(c.split(":"), (3600, 60, 1), strict=True)) for c in runs["finish"]
    ]
    yield plain(
        "finishing times of runners",
        runs,
        check=lambda dataset: is_used("finish")(dataset) and proportional(seconds)(dataset.X["finish"].tolist()),
    )
    drives = people(60, drive=lambda generator: f"{generator.randint(1, 5)}h {generator.randint(1, 59)}m")
    minutes_driven = [int(c.split("h ")[0]) * 60 + int(c.split("h ")[1][:-1]) for c in drives["drive"]]
    yield plain(
        "hours and minutes of driving",
        drives,
        check=lambda dataset: is_used("drive")(dataset) and proportional(minutes_driven)(dataset.X["drive"].tolist()),
    )
    calls = people(60, called=day(2015, 2022, "%Y-%m-%d"))
    days = stamps(calls["called"], "%Y-%m-%d")
    rows = [[*row[:-1], when.to_pydatetime()] for row, when in zip(grid(calls)[1:], days, strict=True)]
    yield Case(
        "dates of a workbook",
        workbook({"Calls": [list(calls), *rows]}),
        rows=60,
        values={"called": days},
        check=is_used("called"),
    )
    decades = ["1950s", "1960s", "1970s", "1980s", "1990s"]
    house = people(60, built=decades)
    yield plain("decades", house, check=is_used("built"))
    bands = people(80, age_group=["0-5", "Jun-25", "26-45", "46-64", "65+"])
    yield plain(
        "an age band that a spreadsheet made a month",
        bands,
        kinds={"age_group": "ordinal"},
        levels={"age_group": lambda levels: len(levels) == 5 and levels[0] == "0-5" and levels[2] == "26-45"},
        said=["Jun-25"],
    )
    months = people(60, month=["May-25", "Jun-25", "Jul-25", "Aug-25"])
    yield plain("Jun-25 among months, counterexample", months, names=None, check=is_used("month"))
    limits = people(60, crp=whole(5, 120))
    limits["crp"] = put(limits["crp"], {2: "<5", 9: "<5", 17: "<5", 40: ">120"})
    yield plain("laboratory values below and above the limit", limits, kinds={"crp": "numeric"}, said=["<5|< 5"])
    survey = people(60)
    survey["age"] = put(survey["age"], {11: "19 but unclear"})
    yield plain(
        "an age that is unclear",
        survey,
        kinds={"age": "numeric"},
        values={"age": lambda values: pd.isna(values[11]) or values[11] == 19},
        said=["19 but unclear|line 13"],
    )
    feet = people(60, height=lambda generator: f"{generator.choice('456')}'{generator.randint(0, 11)}\"")
    inches = [int(cell[0]) * 12 + int(cell[2:-1]) for cell in feet["height"]]
    yield plain(
        "heights in feet and inches", feet, kinds={"height": "numeric"}, values={"height": proportional(inches)}
    )
    pressure = people(60, pressure=lambda generator: f"{generator.randint(98, 190)}/{generator.randint(55, 110)}")
    upper, lower = ([float(cell.split("/")[i]) for cell in pressure["pressure"]] for i in (0, 1))
    yield plain("blood pressure", pressure, names=None, check=has_pair("pressure", upper, lower))
    money = people(60, budget=lambda generator: f"${generator.randint(11, 900) / 10}{generator.choice('MK')}")
    dollars = [float(cell[1:-1]) * (1e6 if cell[-1] == "M" else 1e3) for cell in money["budget"]]
    yield plain(
        "millions and thousands of dollars",
        money,
        kinds={"budget": "numeric"},
        values={"budget": proportional(dollars)},
    )
    commas = people(60, price=decimal(1, 90))
    prices = floats(commas["price"])
    commas["price"] = [cell.replace(".", ",") for cell in commas["price"]]
    yield plain("decimal commas between tabs", commas, "\t", kinds={"price": "numeric"}, values={"price": prices})
    rents = [random.Random(i).randint(10_005, 99_990) / 10 for i in range(60)]
    for name, marks in (
        ("points and decimal commas", ".,"),
        ("blanks and decimal commas", " ,"),
        ("apostrophes", "'."),
    ):
        cells_text = [f"{rent:,.1f}".translate({44: marks[0], 46: marks[1]}) for rent in rents]
        yield plain(
            f"thousands marked by {name}",
            people(60) | {"rent": cells_text},
            ";",
            kinds={"rent": "numeric"},
            values={"rent": rents},
        )
    shares = people(60, turnout=lambda generator: f"{generator.randint(20, 90)}%")
    yield plain(
        "percent",
        shares,
        kinds={"turnout": "numeric"},
        values={"turnout": proportional([float(c[:-1]) for c in shares["turnout"]])},
    )
    scales = people(60, mass=lambda generator: f"{generator.randint(45, 110)} kg")
    yield plain(
        "kilograms in the cells",
        scales,
        kinds={"mass": "numeric"},
        values={"mass": [float(c[:-3]) for c in scales["mass"]]},
    )
    match = people(60, result=["2-1", "1-1", "3-0", "0-2", "1-2"], form=["7A", "7D", "7E", "7F"])
    yield plain(
        "results of football are no dates, counterexample",
        match,
        check=lambda dataset: not pd.api.types.is_datetime64_any_dtype(dataset.frame["result"]),
        values={"form": match["form"]},
        kinds={"form": "categorical"},
    )


def scales() -> Iterator[Case]:
    """Scales and bands."""
    agreement = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"]
    frequency = ["Never", "Rarely", "Sometimes", "Often", "Always"]
    brackets = ["Under £10,000", "£10,000 to £19,999", "£20,000 to £49,999", "£50,000 to £99,999", "£100,000 or more"]
    age_bands = ["16-24", "25-34", "35-44", "45-54", "55-64", "65+"]
    for name, order in (
        ("agreement", agreement),
        ("frequency", frequency),
        ("income brackets", brackets),
        ("age bands", age_bands),
        ("bands in words", ["less than 1 year", "1 to 2 years", "3 to 5 years", "6 to 10 years", "more than 10 years"]),
        ("satisfaction", ["Very dissatisfied", "Dissatisfied", "Neutral", "Satisfied", "Very satisfied"]),
    ):
        scale = people(80, answer=order)
        yield plain(f"scale of {name}", scale, ";", kinds={"answer": "ordinal"}, levels={"answer": either_way(order)})
    streets = people(80, street=["High Street", "Low Lane", "Middle Road"], reply=["Yes", "No", "Don't know"])
    yield plain(
        "streets are in no order, counterexample", streets, kinds={"street": "categorical", "reply": "categorical"}
    )


def identifiers() -> Iterator[Case]:
    """Identifiers and texts."""
    clinic = people(60)
    clinic = {"patient_no": [str(40_117 + 7 * i) for i in range(60)]} | clinic
    yield plain("numbers of patients", clinic, kinds={"patient_no": "ignore", "age": "numeric"})
    post = people(60, postcode=["01067", "04109", "06108", "10115", "20095", "80331"])
    yield plain(
        "postcodes with zeros in front", post, values={"postcode": post["postcode"]}, check=is_not_numeric("postcode")
    )
    web = people(60) | {"page": [f"https://www.example.org/jobs/{i * 37}?from=mail" for i in range(60)]}
    yield plain("addresses of web pages", web, kinds={"page": "ignore"})
    yield plain("names of persons", people(60) | {"name": PERSONS}, kinds={"name": "ignore"})
    remarks = people(60, remark=lambda generator: " ".join(generator.sample(WORDS, 8)))
    yield plain("free text", remarks, kinds={"remark": "ignore"})
    lists = people(
        60,
        devices=lambda generator: "; ".join(
            sorted(generator.sample(["phone", "tablet", "laptop", "watch", "tv"], generator.randint(1, 4)))
        ),
    )
    yield plain("lists in cells", lists, kinds={"devices": "ignore"}, said=["devices"])
    salary = people(60, paid=["yes", "no"]) | {"salary": [str(20_011 + i * 317 % 60_000) for i in range(60)]}
    yield plain(
        "salaries that all differ are no ids, counterexample",
        salary,
        kinds={"salary": "numeric", "paid": "categorical"},
    )


def leaks() -> Iterator[Case]:
    """Columns that restate the class."""
    patients = people(120)
    patients["outcome_code"] = ["1" if cell == "yes" else "0" for cell in patients["outcome"]]
    yield plain(
        "the class as a code",
        patients,
        said=[line_with("outcome_code", r"\d+ ?%|\d\.\d|120")],
        check=lambda dataset: dataset.leaks == {"outcome_code": 1.0} and "100 %" in dataset.leaks_note,
    )
    patients = draw(120, 30, outcome=["died", "alive"], age=whole(19, 86), ward=["A", "B"])
    patients["cause_of_death"] = ["cancer" if i % 2 else "stroke" for i in range(120)]
    patients["cause_of_death"] = [
        cause if outcome == "died" else ""
        for cause, outcome in zip(patients["cause_of_death"], patients["outcome"], strict=True)
    ]
    yield plain(
        "a cause that only the dead have",
        patients,
        check=lambda dataset: (
            "cause_of_death" in dataset.leaks_note and dataset.leaks_note.count("cause_of_death") == 1
        ),
    )
    smokers = people(120)
    smokers["smoker"] = [
        cell if i % 4 else "no" if cell == "yes" else "yes" for i, cell in enumerate(smokers["outcome"])
    ]
    yield plain(
        "a good predictor is no leak, counterexample",
        smokers,
        check=lambda dataset: not dataset.leaks and not dataset.leaks_note,
    )


def roles() -> Iterator[Case]:
    """Weights, groups and time."""
    for name in ("pspwght", "pweight", "perwt", "wt"):
        weighted = people(120, **{name: decimal(0.2, 3.9, 4)})
        yield plain(f"weights called {name}", weighted, said=[line_with(name, "(?<!p)weight")])
    repeat = people(120, patient_id=[str(1000 + i) for i in range(30)], visit=["1", "2", "3", "4"])
    yield plain("visits of the same patients", repeat, said=[line_with("patient_id", "group|together|same|belong")])
    home = people(120, household=[f"H{i:03}" for i in range(40)])
    yield plain("persons of the same household", home, said=[line_with("household", "group|together|same|belong")])
    meter = draw(120, 31, outcome=["high", "low"], load=decimal(1, 9))
    meter = {
        "time": [f"{pd.Timestamp('2021-03-01') + pd.Timedelta(hours=i):%Y-%m-%d %H:%M}" for i in range(120)]
    } | meter
    yield plain(
        "hourly readings of a meter",
        meter,
        names=None,
        values={"time": {1: pd.Timestamp("2021-03-01 01:00")}},
        said=[line_with("time", "earlier|later|chronolog|past|future|order of|split_by")],
    )
    body = people(120, weight=whole(45, 112), height=whole(148, 196))
    yield plain(
        "weight beside height is a body's, counterexample",
        body,
        kinds={"weight": "numeric", "height": "numeric"},
        unsaid=["(?i)weight"],
    )


def spellings() -> Iterator[Case]:
    """Spellings of a level."""
    race = people(120, race=["White"] * 8 + ["Black"] * 8 + ["WHITE", "white ", "black"])
    yield plain(
        "White, WHITE and white",
        race,
        check=lambda dataset: set(dataset.X["race"].cat.categories.str.lower()) == {"white", "black"},
        said=["race|White", r"\d"],
    )
    answer = people(80)
    answer["outcome"] = put(answer["outcome"], {3: "Yes", 9: "YES", 20: "no ", 31: " yes"})
    yield plain(
        "classes in several spellings",
        answer,
        check=lambda dataset: [c.lower() for c in dataset.classes] == ["no", "yes"],
    )
    towns = people(60, place=["Leeds", "Leeds ", "York", "York\u00a0"])
    yield plain(
        "trailing blanks of towns",
        towns,
        values={"place": [c.strip() for c in towns["place"]]},
        said=["place.*blank|blank.*place"],
    )
    yield Case(
        "blanks behind all commas, counterexample",
        text(people(60), ", "),
        values={"town": people(60)["town"]},
        unsaid=["blank"],
    )
    race = people(120, race=["Caucasian"] * 9 + ["Asian"] * 9 + ["Caucasian?"])
    yield plain("a level with a question mark", race, said=[r"Caucasian\?"])
    gene = people(120, genotype=["AA", "Aa", "aa"])
    yield plain(
        "genotypes differ by capitals, counterexample",
        gene,
        values={"genotype": gene["genotype"]},
        missing={"genotype": 0},
    )


def endings() -> Iterator[Case]:
    """Endings that lie."""
    for file, sep in (
        ("survey.arff", ","),
        ("survey.xls", "\t"),
        ("survey.csv", "\t"),
        ("survey.xlsx", ";"),
        ("survey.json", ","),
    ):
        yield plain(f"text of {sep!r} called {file}", WARD, sep, file=file, kinds={"age": "numeric"})
    yield Case("workbook called csv", workbook({"Data": grid(WARD)}), file="survey.csv", rows=30, names=list(WARD))
    packs = {"PK": [str(i * 7 % 50 + 11) for i in range(30)]} | WARD
    yield plain("names that begin like a zip, counterexample", packs, file="packs.csv")


def arff_files() -> Iterator[Case]:
    """ARFF."""
    arff = (
        "@relation flowers\n@attribute length numeric\n@attribute colour {red, blue, 'pale green'}\n"
        "@attribute outcome {yes, no}\n@data\n"
    )
    flowers = draw(40, 32, length=decimal(1, 9), colour=["red", "blue", "'pale green'"], outcome=["yes", "no"])
    data = lines(flowers, header=False)
    colours = [cell.strip("'") for cell in flowers["colour"]]
    file_lines = [line + "," if i in (3, 8) else line for i, line in enumerate(data)]
    yield Case(
        "stray commas in ARFF",
        arff + "\n".join(file_lines),
        file="a.arff",
        rows=40,
        names=list(flowers),
        values={"colour": colours},
        said=[r"\b2\b"],
    )
    file_lines = [*data[:10], "4.4,purple,yes", *data[10:]]
    yield Case(
        "undeclared level in ARFF",
        arff + "\n".join(file_lines),
        file="a.arff",
        rows=41,
        values={"colour": {10: "purple"}},
        said=["purple"],
    )
    declarations = arff.replace("@data", "@attribute length numeric\n@data")
    file_lines = [f"{line},{i}.5" for i, line in enumerate(data)]
    yield Case(
        "attribute declared twice in ARFF",
        declarations + "\n".join(file_lines),
        file="a.arff",
        rows=40,
        values={"length": floats(flowers["length"])},
        said=["length"],
    )
    yield Case(
        "quoted commas and comments in ARFF, counterexample",
        "% measured by hand\n"
        + arff.replace("'pale green'", "'green, pale'")
        + "\n".join(data).replace("pale green", "green, pale"),
        file="a.arff",
        rows=40,
        names=list(flowers),
        check=lambda dataset: set(map(str, dataset.frame["colour"])) == {"red", "blue", "green, pale"},
        unsaid=["(?i)undeclared", "(?i)too many", "(?i)surplus", "(?i)trimmed"],
    )


def nothing_to_predict() -> Iterator[Case]:
    """Nothing to predict."""
    yield Case(
        "one column of answers",
        "What should we improve?\n" + "\n".join(" ".join(random.Random(i).sample(WORDS, 8)) for i in range(60)),
        target=None,
        refusal="must",
        said=["(?i)column"],
    )
    yield Case(
        "answers of as many words each",
        "\n".join(" ".join(random.Random(i).sample(WORDS, 8)) for i in range(60)),
        target=None,
        refusal="must",
        said=["(?i)column"],
    )
    weather = draw(30, 41, sky=["sunny", "rainy"], heat=["hot", "mild", "cool"], wind=["weak", "strong"], play="yn")
    yield plain("words of a few levels between spaces are a table, counterexample", weather, " ", target="play")
    yield Case(
        "eleven lines of a letter",
        "Dear Ms Brown,\n\nthank you for your letter of 3 March, in which you ask about the bus.\n"
        "We have looked into it.\n"
        "The driver, who is new, did not know the stop; he is sorry.\nFrom Monday on, buses 4, 7 and 12 will wait.\n"
        "If they do not, please write again.\nYour fare of 2.40 will be paid back.\nIt may take a week or two.\n\n"
        "Yours sincerely,\nA. Hart\n",
        target=None,
        refusal="must",
        said=["(?i)prose|text|letter|table"],
    )
    yield Case(
        "names and numbers of members, and the same town",
        text({"member_no": [str(5001 + 3 * i) for i in range(60)], "name": PERSONS, "town": ["York"] * 60}),
        target=None,
        refusal="must",
        said=["(?i)class|predict|target"],
    )
    yield Case(
        "six rows with a class are a table, counterexample",
        "age,sex,outcome\n34,f,yes\n51,m,no\n47,f,no\n29,m,yes\n62,f,yes\n38,m,no\n",
        rows=6,
        classes=["no", "yes"],
        kinds={"age": "numeric"},
    )


KINDS = (
    ragged_lines,
    quotation_marks,
    surroundings,
    header_rows,
    missing_headers,
    sheets_and_regions,
    counts,
    encodings,
    missing_values,
    sentinels,
    quantities,
    scales,
    identifiers,
    leaks,
    roles,
    spellings,
    endings,
    arff_files,
    nothing_to_predict,
)


WRONG_TODAY: dict[str, str] = {
    "45 behind twenty points": "45 is not pointed out",
}


def parameters() -> list[Any]:
    cases = [(kind.__name__, case) for kind in KINDS for case in kind()]
    assert not WRONG_TODAY.keys() - {case.name for _, case in cases}
    return [
        pytest.param(
            case,
            id=f"{kind}: {case.name}",
            marks=pytest.mark.xfail(strict=True, reason=WRONG_TODAY[case.name]) if case.name in WRONG_TODAY else (),
        )
        for kind, case in cases
    ]


@pytest.mark.parametrize("case", parameters())
def test_table_is_read_as_an_analyst_would(case: Case, tmp_path: Path) -> None:
    source: Any = case.source.encode() if isinstance(case.source, str) else case.source
    if case.file:
        path = tmp_path / case.file
        path.write_bytes(source)
        source = path
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", alrviz.DoubtfulTableWarning)
        try:
            dataset = alrviz.read_table(source, case.target)
        except alrviz.TableError as error:
            if not case.refusal:
                raise
            refusal = str(error)
        else:
            refusal = ""
    if refusal:
        assert all(re.search(pattern, refusal) for pattern in case.said), refusal
        return
    assert case.refusal != "must", "the table was not refused"
    check_dataset(case, dataset, [str(warning.message) for warning in caught])


def check_dataset(case: Case, dataset: alrviz.Dataset, messages: list[str]) -> None:
    frame = dataset.frame
    notes = "\n".join([*dataset.notes, dataset.leaks_note, *messages])
    reasons = "\n".join(f"{column.name}: {column.why}" for column in dataset.columns)
    if case.rows is not None:
        assert dataset.n_rows == case.rows, notes
    names = list(map(str, frame.columns))
    assert len(set(names)) == len(names)
    assert not [name for name in names if any(unicodedata.category(c) in ("Cc", "Cf", "Co") for c in name)], names
    if case.names is not None:
        assert len(names) == len(case.names), names
        for name, parts in zip(names, case.names, strict=True):
            if isinstance(parts, str):
                assert name == parts
            else:
                assert all(part in name.lower() for part in parts), names
    for name, kind in case.kinds.items():
        assert dataset.kinds[name] in kind.split("|"), f"{name}: {dataset.kinds[name]}\n{reasons}"
    for column in dataset.columns:
        assert column.why or dataset.kinds.get(column.name) != "ignore", f"{column.name} is ignored without a reason"
    for name, expected in case.values.items():
        actual = frame[name].astype(object).tolist()
        if callable(expected):
            assert expected(actual), f"{name}: {actual[:8]}"
            continue
        pairs = expected if isinstance(expected, dict) else dict(enumerate(expected))
        wrong = {row: (actual[row], value) for row, value in pairs.items() if not same(actual[row], value)}
        assert not wrong, f"{name}: {wrong}"
    counts = {name: int(frame[name].isna().sum()) for name in case.missing}
    assert counts == dict(case.missing), notes
    assert counts == {column.name: column.missing for column in dataset.columns if column.name in counts}
    for name, levels in case.levels.items():
        actual = list(dataset.X[name].cat.categories)
        assert levels(actual) if callable(levels) else actual == list(levels), actual
    if case.classes is not None:
        assert list(dataset.classes) == list(case.classes)
    if case.check is not None:
        assert case.check(dataset), f"{dataset.kinds}\n{notes}\n{frame.head()}"
    for pattern in case.said:
        assert re.search(pattern, f"{notes}\n{reasons}"), f"{pattern}\n{notes}\n{reasons}"
    for pattern in case.unsaid:
        assert not re.search(pattern, notes), f"{pattern}\n{notes}"
