import gc
import sys

import pytest

from alrviz.explorer import process


@pytest.fixture
def unsettled(monkeypatch):
    interval = sys.getswitchinterval()
    monkeypatch.setattr(process, "_settled", False)
    yield
    sys.setswitchinterval(interval)
    gc.unfreeze()


@pytest.mark.usefixtures("unsettled")
def test_a_process_that_serves_pages_no_longer_looks_through_what_it_imported():
    process.settle(object())
    assert gc.get_freeze_count() > 10_000
    assert sys.getswitchinterval() == pytest.approx(process.SWITCH)
    frozen = gc.get_freeze_count()
    leftover = [[] for _ in range(100)]
    process.settle(object())
    assert gc.get_freeze_count() <= frozen, "frozen again: what visitors leave would stay for ever"
    assert len(leftover) == 100


@pytest.mark.usefixtures("unsettled")
def test_a_notebook_keeps_its_own_settings():
    before = sys.getswitchinterval(), gc.get_freeze_count()
    process.settle(None)
    assert (sys.getswitchinterval(), gc.get_freeze_count()) == before
