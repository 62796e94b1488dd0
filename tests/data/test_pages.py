"""Printed pages: form feeds, page numbers, repeated heads and carried totals are no rows."""

import numpy as np
import pytest

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.doubts import NoteCode, notes_about
from alrviz.data.options import ReadOptions
from alrviz.data.read import read_table
from alrviz.data.stream.new_rows import open_large

NAMES = "Item;Qty;Unit price;ABC"


def pages(n_pages: int = 3, n_rows: int = 15, top: str = "", bottom: str = "", names: str = NAMES) -> bytes:
    """Return pages of a stock list; {page} in `top` and `bottom` is the number of the page."""
    text = ""
    for page in range(1, n_pages + 1):
        rows = [f"I{page}{k:02};{(k * 37 + page) % 90};{k * 7 % 50},50;{'ABC'[k % 3]}" for k in range(n_rows)]
        text += top.format(page=page) + "\n".join([names, *rows]) + "\n" + bottom.format(page=page)
    return text.encode()


@pytest.mark.parametrize(
    ("top", "bottom"),
    [
        ("Stock list;;;Page {page} of 3\n\n", "Carried forward;15903;;\n\n"),
        ("", "\n;;;Page {page}\n\n"),
        ("Stock list, Seite {page}\n", ""),
        ("\f", ""),
        ("\fStock list\nprinted on 3 May\n\n", "\n"),
        ("", "- Page {page} -\n\f"),
    ],
)
def test_only_the_rows_of_printed_pages_are_read(top, bottom):
    data = pages(top=top, bottom=bottom)
    dataset = read_table(data, "ABC")
    assert dataset.n_rows == 45
    assert list(dataset.frame) == NAMES.split(";")
    assert dataset.frame["Unit price"].max() == 49.5
    assert notes_about(dataset.notes, {NoteCode.PAGES})
    assert read_table(data, spec=dataset.spec).hash == dataset.hash
    other = pages(5, 8, top, bottom)
    assert len(read_new_rows(other, dataset.spec).X) == 40


def test_two_pages_of_fixed_width():
    rows = [f"{k:<8}{k * k % 17:>6}  {'AB'[k % 2]}" for k in range(30)]
    head = "Stock list            Page {page}\n\nitem       qty  abc\n------  ------  ---\n"
    text = "".join(head.format(page=k + 1) + "\n".join(rows[15 * k : 15 * k + 15]) + "\n" for k in range(2))
    dataset = read_table(text.encode(), "abc")
    assert (dataset.n_rows, list(dataset.frame)) == (30, ["item", "qty", "abc"])


@pytest.mark.parametrize(
    "cell", [lambda k: f"Page {k}", lambda k: f"see page {k * 7 % 5}", lambda k: f"page {k // 20}"]
)
def test_pages_in_cells_are_values(cell):
    text = "x,where,class\n" + "".join(f"{k},{cell(k)},{'ab'[k % 2]}\n" for k in range(60))
    dataset = read_table(text.encode(), "class")
    assert dataset.n_rows == 60
    assert not notes_about(dataset.notes, {NoteCode.PAGES})
    assert np.array_equal(dataset.frame["x"], np.arange(60))


def test_a_large_file_of_pages_is_read_whole(tmp_path):
    top = "Stock list;;;Page {page} of 900\n\n"
    (tmp_path / "rows.csv").write_bytes(pages(3_000, 50, top=top))
    spec = read_table(pages(top=top), "ABC").spec
    assert open_large(tmp_path / "rows.csv", spec, ReadOptions(), []) is None


def test_a_large_file_of_fixed_width_is_read_whole(tmp_path):
    rows = "".join(f"{k:<8}  {k % 17:>6}  {'AB'[k % 2]}\n" for k in range(120_000))
    text = "item         qty  abc\n--------  ------  ---\n" + rows
    spec = read_table(text[:5000].rpartition("\n")[0].encode(), "abc").spec
    (tmp_path / "rows.txt").write_text(text, "utf-8")
    assert open_large(tmp_path / "rows.txt", spec, ReadOptions(), []) is None
    assert read_new_rows(tmp_path / "rows.txt", spec).X["qty"].tolist()[-1] == 119_999 % 17
