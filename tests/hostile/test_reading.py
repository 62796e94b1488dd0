"""Hostile files at the level of data: the text expected, quickly, and the reader sound afterwards."""

import io
import re

import pandas as pd
import pytest

from alrviz.data.read import Limits, read_table
from alrviz.errors import TableError
from tests.hostile.cases import CASES, FORMULA, LIMITS, SCRIPT, Case, bomb, rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_expected_text(case: Case):
    data = case.make()
    if case.error is not None:
        with pytest.raises(TableError, match=re.escape(case.error)):
            read_table(data, limits=LIMITS)
        return
    dataset = read_table(data, limits=LIMITS)
    for note in case.notes:
        assert any(note in seen for seen in dataset.notes), dataset.notes
    known = {*dataset.frame.columns, *dataset.classes}
    for column in dataset.frame.select_dtypes("category"):
        known |= set(dataset.frame[column].cat.categories)
    assert set(case.texts) <= known


def test_there_are_cases_enough_and_their_names_differ():
    assert len(CASES) >= 16
    assert len({case.name for case in CASES}) == len({case.filename for case in CASES}) == len(CASES)


def test_a_huge_file_is_refused_by_its_size_without_being_opened(tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(300_000_000)  # no blocks on disk: reading it would give zeros, and another error
    with pytest.raises(TableError, match=r"300 MB.*100 MB"):
        read_table(path, limits=LIMITS)


def test_a_bomb_is_refused_at_the_first_piece_too_many():
    read = 0

    class Counted(io.BytesIO):
        def read(self, size=-1):
            nonlocal read
            piece = super().read(size)
            read += len(piece)
            return piece

    with pytest.raises(TableError, match=r"unpacks to more than the 1\.0 MB"):
        read_table(Counted(bomb()), limits=Limits(bytes=1_000_000))
    assert read < 2_000_000


def test_a_file_that_unpacks_within_limits_is_read():
    assert read_table(rows(30).encode(), limits=LIMITS).n_rows == 30


@pytest.mark.parametrize(
    ("limit", "text"), [("rows", "29 rows allowed"), ("columns", "at most 2"), ("classes", "at most 1")]
)
def test_each_limit_is_exact(limit: str, text: str):
    sound = {"rows": 30, "columns": 3, "classes": 2}
    assert read_table(rows(30).encode(), limits=Limits(**{limit: sound[limit]})).n_rows == 30
    for source in (rows(30).encode(), pd.read_csv(io.BytesIO(rows(30).encode()))):
        with pytest.raises(TableError, match=text):
            read_table(source, limits=Limits(**{limit: sound[limit] - 1}))


def test_a_column_of_too_many_levels_is_ignored_unless_asked_for():
    limits = Limits(levels=9)
    assert read_table(rows(30).encode(), limits=limits).kinds["b"] == "ignore"
    with pytest.raises(TableError, match=r"'b'.*10 levels.*9"):
        read_table(rows(30).encode(), limits=limits, b="categorical")


def test_formulas_in_a_workbook_are_neither_evaluated_nor_shown():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("a", SCRIPT, "class"), *[(f"=1+{i}", f"v{i % 2}", "yes" if i % 2 else "no") for i in range(8)]]:
        book.active.append(row)
    book.active.cell(row=2, column=2).value = FORMULA
    buffer = io.BytesIO()
    book.save(buffer)
    dataset = read_table(buffer.getvalue(), limits=LIMITS)
    assert dataset.kinds == {"a": "ignore", SCRIPT: "categorical"}
    assert dataset.frame["a"].isna().all()


def test_a_message_does_not_repeat_an_endless_value():
    with pytest.raises(TableError) as caught:
        read_table((rows(8) + ("9,a,b," + "x" * 100_000 + "\n") * 12).encode())
    assert len(str(caught.value)) < 1500
