"""The drop strip and what arrives by it: pieces from a stranger are counted on the server."""

import pytest

from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.tables import MemoryReservation, UploadedTables
from alrviz.explorer.session.incoming_file import PATIENCE_SECONDS, IncomingFile
from alrviz.explorer.shell.drop_strip import LABEL, DropStrip
from tests.explorer.fakes import Clock


@pytest.fixture
def tables():
    return UploadedTables(ServerLimits(uploads=12))


@pytest.fixture
def strip(tables):
    taken, refused, arrivals = [], [], []

    def begun():
        arrivals.append(IncomingFile(MemoryReservation(tables, "ann"), 10, refused.append))
        return arrivals[-1]

    made = DropStrip(10, begun, lambda name, data: taken.append((name, data)), refused.append)
    made.taken, made.refusal, made.arrivals = taken, refused, arrivals
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
    assert (strip.taken, strip.refusal) == ([("t.csv", b"abcdef")], [])


def test_too_many_bytes_are_refused_whatever_was_claimed(strip):
    send(strip, b"12345678", b"90123", b"more")
    assert strip.taken == []
    assert len(strip.refusal) == 1
    assert "t.csv has more than the 10 bytes allowed here" in str(strip.refusal[0])
    assert strip.arrivals[0].is_closed
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
    assert (strip.taken, strip.refusal) == ([], [])


@pytest.mark.parametrize("data", [10**15, "text", [1, 2], {"a": 1}])
def test_what_is_no_bytes_is_no_piece(strip, data):
    send(strip, data, b"fine")
    assert (strip.taken, strip.refusal) == ([("t.csv", b"fine")], [])


def test_what_the_browser_says_went_wrong_is_shown(strip):
    strip._handle_msg({"status": "error", "error": "lost it"})
    assert "could not send the file: lost it" in str(strip.refusal[0])
    strip._handle_msg({"status": "error", "error": 'File "x" (9 MB) exceeds maximum file size of 1 MB'})
    assert "the file has more than the 10 bytes allowed here; take a sample" in str(strip.refusal[1])


def test_pieces_count_against_what_the_server_holds(strip, tables):
    other = MemoryReservation(tables, "bob")
    other.resize(5)
    send(strip, b"1234", b"567", finish=False)
    assert tables.bytes == 12
    strip._handle_msg({"status": "upload_event", "name": "t.csv", "data": b"8"})
    assert "there is no room for another 8 bytes" in str(strip.refusal[0])
    assert tables.bytes == 5  # what was refused is not kept
    strip._handle_msg({"status": "finished"})
    assert strip.taken == []


def test_an_arrival_says_how_far_it_is_and_is_cancelled(strip, tables):
    send(strip, b"abc", finish=False)
    strip._handle_msg({"status": "upload_event", "chunk": 1, "total_chunks": 4, "name": "t.csv", "data": b"d"})
    arrival = strip.arrivals[0]
    assert (arrival.title, arrival.share, arrival.poll()) == ("receiving t.csv", 0.25, True)
    arrival.cancel()
    strip._handle_msg({"status": "upload_event", "name": "t.csv", "data": b"d"})
    strip._handle_msg({"status": "finished"})
    assert (tables.bytes, strip.taken, strip.refusal) == (0, [], [])


@pytest.mark.parametrize("piece", [(5, 4), (0, 4), (10**400, 10**400), ("1", "2"), (None, 3)])
def test_what_a_browser_says_of_its_pieces_is_not_believed(strip, piece):
    message = {"status": "upload_event", "chunk": piece[0], "total_chunks": piece[1], "name": "t.csv", "data": b"d"}
    strip._handle_msg(message)
    assert strip.arrivals[0].share == 0.0


def test_pieces_that_stop_coming_are_told(tables):
    clock, failed = Clock(), []
    arrival = IncomingFile(MemoryReservation(tables, "ann"), None, failed.append, clock)
    arrival.add("t.csv", b"abc", 0.5)
    clock.now += PATIENCE_SECONDS
    assert arrival.poll()
    clock.now += 1
    assert not arrival.poll()
    assert not arrival.poll()
    assert [str(error) for error in failed] == ["t.csv stopped coming after 3 bytes; drop it again"]
    assert tables.bytes == 0


def test_the_strip_never_names_a_file(strip):
    send(strip, b"abc")
    assert (strip.label, strip.uploaded_label, strip.accept) == (LABEL, LABEL, None)
