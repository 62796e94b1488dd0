"""Files held for their owners: those of who left make room, those of who is there do not."""

import pytest

from alrviz.errors import TableError
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.tables import FileLink, MemoryReservation, Upload, UploadedTables
from tests.explorer.fakes import Clock


def holding(*owners):
    clock = Clock()
    tables = UploadedTables(ServerLimits(uploads=100, tables=2, idle=60), clock)
    for owner in owners:
        tables.keep(owner, "h", Upload(owner, b"x" * 40))
        clock.now += 1
    return tables, clock


def held(tables, owner, name="h"):
    return tables.find(owner, FileLink("f.csv", 1, 1, name)) is not None


def test_who_is_there_keeps_the_files_and_the_next_is_told():
    tables, _ = holding("ann", "bob")
    with pytest.raises(TableError, match=r"40 bytes.*80 bytes.*100 bytes"):
        MemoryReservation(tables, "cid").resize(40)
    with pytest.raises(TableError, match="no room"):
        tables.keep("cid", "h", Upload("cid", b"x" * 40))
    assert held(tables, "ann")
    assert held(tables, "bob")
    assert not held(tables, "cid")


def test_the_longest_unseen_makes_room():
    tables, clock = holding("ann", "bob")
    clock.now += 61
    reservation = MemoryReservation(tables, "cid")
    reservation.resize(20)
    assert tables.bytes == 100  # nobody has to go yet
    reservation.resize(40)
    assert tables.bytes == 80
    reservation.release()
    tables.keep("cid", "h", Upload("cid", b"x" * 40))
    assert not held(tables, "ann")
    assert held(tables, "bob")
    assert held(tables, "cid")


def test_looking_keeps_a_file():
    tables, clock = holding("ann", "bob")
    clock.now += 61
    tables.note_look("ann")
    tables.keep("cid", "h", Upload("cid", b"x" * 40))
    assert held(tables, "ann")
    assert not held(tables, "bob")


def test_own_files_give_way_to_the_new_one():
    tables, _ = holding("ann")
    for name in ("i", "j"):
        tables.keep("ann", name, Upload(name, b"x" * 45))
    assert [held(tables, "ann", name) for name in "hij"] == [False, True, True]
    tables.keep("ann", "k", Upload("k", b"x" * 90))
    assert (tables.bytes, held(tables, "ann", "k")) == (90, True)


def test_files_on_their_way_count():
    tables, _ = holding("ann")
    first, second = MemoryReservation(tables, "bob"), MemoryReservation(tables, "bob")
    first.resize(30)
    second.resize(30)
    assert tables.bytes == 100
    with pytest.raises(TableError, match="no room"):
        second.resize(31)
    with pytest.raises(TableError, match="no room"):
        tables.keep("cid", "h", Upload("cid", b"x"))
    assert second.size == 30  # a refusal leaves the reservation as it was
    first.release()
    first.release()
    second.resize(60)
    second.release()
    assert tables.bytes == 40
