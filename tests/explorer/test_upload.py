"""The drop strip: pieces from a stranger are counted on the server."""

import pytest

from alrviz.explorer.upload import DropStrip


@pytest.fixture
def strip():
    taken, refused = [], []
    made = DropStrip(10, lambda name, data: taken.append((name, data)), refused.append)
    made.taken, made.refused = taken, refused
    return made


def send(strip, *pieces, name="t.csv", finish=True):
    strip._handle_msg({"status": "initializing"})
    for k, piece in enumerate(pieces, 1):
        strip._handle_msg(
            {"status": "upload_event", "chunk": k, "total_chunks": len(pieces), "name": name, "data": piece}
        )
    if finish:
        strip._handle_msg({"status": "finished"})


def test_pieces_become_a_file(strip):
    send(strip, b"abc", b"def")
    assert (strip.taken, strip.refused) == ([("t.csv", b"abcdef")], [])


def test_too_many_bytes_are_refused_whatever_was_claimed(strip):
    send(strip, b"12345678", b"90123", b"more")
    assert strip.taken == []
    assert len(strip.refused) == 1
    assert "t.csv has more than the 0 MB allowed here" in str(strip.refused[0])
    assert strip._pieces == []
    send(strip, b"fine")
    assert strip.taken == [("t.csv", b"fine")]


def test_a_name_is_no_path(strip):
    send(strip, b"a", name="../../etc/<b>.csv")
    assert strip.taken[0][0] == "_b_.csv"


def test_of_several_files_the_first_counts(strip):
    send(strip, b"a", name="one.csv", finish=False)
    strip._handle_msg({"status": "upload_event", "name": "two.csv", "data": b"b"})
    strip._handle_msg({"status": "finished"})
    assert strip.taken == [("one.csv", b"a")]


def test_an_empty_file_is_handed_on_to_be_refused_by_the_reader(strip):
    send(strip)
    assert strip.taken == [("table", b"")]


@pytest.mark.parametrize("message", [None, 3, {}, {"status": "nonsense"}, {"status": "upload_event"}])
def test_nonsense_is_ignored(strip, message):
    strip._handle_msg(message)
    assert (strip.taken, strip.refused) == ([], [])


@pytest.mark.parametrize("data", [10**15, "text", [1, 2], {"a": 1}])
def test_what_is_no_bytes_is_no_piece(strip, data):
    send(strip, data, b"fine")
    assert (strip.taken, strip.refused) == ([("t.csv", b"fine")], [])


def test_what_the_browser_says_went_wrong_is_shown(strip):
    strip._handle_msg({"status": "error", "error": "lost it"})
    assert "could not send the file: lost it" in str(strip.refused[0])
    strip._handle_msg({"status": "error", "error": 'File "x" (9 MB) exceeds maximum file size of 1 MB'})
    assert "the file has more than the 0 MB allowed here; take a sample" in str(strip.refused[1])
