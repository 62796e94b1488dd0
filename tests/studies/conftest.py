"""What several files of studies' tests share."""

import pytest

from alrviz.studies.core import compute_task, workers


@pytest.fixture
def calls(monkeypatch):
    """The keys of the tasks that were computed in this process, in order."""
    seen = []
    original = compute_task.compute

    def compute(task, table, stop):
        seen.append(task.key)
        return original(task, table, stop)

    monkeypatch.setattr(workers, "compute", compute)
    return seen
