"""Drawn points in a link: who opens it sees the same, and a text that holds none breaks nothing."""

import base64
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.explorer.session.link_errors import check_link
from alrviz.explorer.session.points import MAX_POINTS, MAX_TEXT_CHARS, pack_points, unpack_points
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.sketch import Sketch
from alrviz.explorer.session.state import State, read_link, write_link
from tests.explorer.maps import open_page, settled, until
from tests.explorer.pages import session_of

STRANGER = "b" * 32
POINTS = "x1,x2,class\n0.5,1.0,a\n0.7,-2.5e-05,b\n"


def packed(table):
    """Any bytes as `pack` packs a CSV."""
    return base64.urlsafe_b64encode(zlib.compress(table)).decode().rstrip("=")


def grown(sketch, size):
    """A sketch of so many points."""
    for k in range(len(sketch), size):
        sketch = sketch.add(0.0137 * (k % 83), 0.0291 * (k % 71) ** 2, sketch.classes[k % 2])
    return sketch


LABELS = ("a", "b", "ü ö", "?", 'of, "words"', "two\nlines")


@given(st.lists(st.tuples(*[st.floats(-1e300, 1e300)] * 2, st.sampled_from(LABELS)), max_size=12))
def test_points_come_back_from_their_text(points):
    sketch = replace(Sketch.blank(), classes=LABELS, columns=("x, in mm", "x"))
    for point in points:
        sketch = sketch.add(*point)
    assert len(sketch) == 4 + len(points)
    assert unpack_points(pack_points(sketch.csv())) == sketch.csv()


@pytest.mark.parametrize(
    "table",
    [
        b"", b"\xff\xfe", b"x1,x2,class\n", b"x1,x2,class\n1,2,a\n", b"x1,x2,class\n1,2,a\n3,4,a\n",
        b"x1,x2,class\n1,2,a\n3,4\n", b"x1,x2,class\n1,2,a\n3,inf,b\n", b"x1,x2,class\n1,2,a\n3,nan,b\n",
        b"x1,x2,class\n1,2,a\n3,four,b\n", b"x1,x1,class\n1,2,a\n3,4,b\n", b'x1,x2,class\n1,2,a\n3,4,"b\n',
        b"x1,x2,class\n1,2,a\n3,4,b\n\n", b"x1,x2,class\n" + b"1,2,a\n3,4,b\n" * MAX_POINTS, b"\0" * 10**8,
        b"x1,x2,class\n1,2,a\n3,4," + b"b" * 10**6 + b"\n",
    ],
)  # fmt: skip
def test_what_is_no_table_of_points_is_none(table):
    assert unpack_points(packed(table)) == ""


@pytest.mark.parametrize(
    "damaged",
    [
        "", "=", "A", "a b", "ü", "eJx", packed(POINTS.encode())[:-6], packed(POINTS.encode()) + "AAAA",
        packed(POINTS.encode())[:20] + "AA" + packed(POINTS.encode())[22:], "A" * (MAX_TEXT_CHARS + 1),
        "../../etc/passwd",
    ],
)  # fmt: skip
def test_of_damaged_points_the_page_opens_and_says_so(damaged):
    query = f"?page=boundaries&points={damaged}"
    state = read_link(query)
    assert state == State(page="boundaries")
    if damaged:
        assert f"points={damaged[:10]}" in check_link(query, state, {})[1][0]
    session = session_of(query)
    assert session.table.requested_demo[0] == "four-gaussians"
    session.table.cancel()


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=200))
def test_any_text_is_points_or_none(text):
    assert isinstance(unpack_points(text), str)


def test_points_take_the_place_of_file_and_demo_set():
    text = pack_points(POINTS)
    state = read_link(f"?data=iris&rows=20&file=a.csv~3~3~{'0' * 16}&points={text}")
    assert (state.data, state.rows, state.file, state.points) == ("", None, None, text)
    assert read_link(write_link(state)) == state


def test_who_opens_the_link_of_kept_points_sees_the_same(page):
    session, drawing = page.session, page.tab.drawing
    drawing.begin()
    drawing.remove(3)
    drawing.label.value = "new"
    drawing.add(0.12345, 2.5)
    drawing.save()
    until(page, lambda: session.table.dataset.name == "drawn" and settled(page))
    assert session.table.dataset.n_rows == MAX_POINTS
    assert len(session.link.query) < MAX_TEXT_CHARS
    opened = open_page(session.link.query, STRANGER)
    until(opened, lambda: settled(opened))
    assert opened.session.table.requested_file is None
    assert opened.session.table.dataset.hash == session.table.dataset.hash
    assert opened.session.table.source.points == session.table.source.points
    assert np.allclose(opened.tab.pictures.map.surface.values, page.tab.pictures.map.surface.values)
    opened.close()


def kept(page, sketch):
    """The link when these points were kept."""
    page.tab.drawing.sketch = sketch
    page.tab.drawing.save()
    until(page, lambda: page.session.table.dataset.name == "drawn" and page.session.table.loading is None)
    return page.session.link.query


def test_of_too_many_points_the_file_is_asked_for(page):
    assert "points=" in kept(page, grown(Sketch.blank(), MAX_POINTS))
    link = kept(page, grown(Sketch.blank(), MAX_POINTS + 1))
    assert "points=" not in link
    opened: Session = session_of(link, STRANGER)
    assert opened.table.requested_file == page.session.table.source.file


def test_rows_of_a_visitors_own_file_are_in_no_link(page):
    session, drawing = page.session, page.tab.drawing
    rows = "".join(f"{k / 7:.2f},{k % 5 - 2},{'ab'[k % 2]}\n" for k in range(60))
    session.table.load_bytes("mine.csv", "u,v,class\n" + rows)
    until(page, lambda: session.table.dataset.name == "mine" and page.tab.table is not None)
    drawing.begin()
    drawing.add(0.5, 0.5)
    drawing.save()
    until(page, lambda: session.table.dataset.name == "drawn" and session.table.loading is None)
    assert "points=" not in session.link.query
    drawing.begin()
    drawing.save()
    until(page, lambda: session.table.loading is None)
    assert "points=" not in session.link.query
    assert "points=" in kept(page, Sketch.blank())
