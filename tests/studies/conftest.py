"""What several files of studies' tests share."""

import pytest

from alrviz.studies.core import tasks, workers


@pytest.fixture
def calls(monkeypatch):
    """The keys of the cells that were computed in this process, in order."""
    seen = []
    original = tasks.compute

    def compute(cell, table, stop):
        seen.append(cell.key)
        return original(cell, table, stop)

    monkeypatch.setattr(workers, "compute", compute)
    return seen
