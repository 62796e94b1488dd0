"""Studies that a test looks at while they compute."""

import time

from alrviz.studies.core import workers
from alrviz.views.studies import study_view


def slowed(monkeypatch, seconds):
    """Let every cell take so many seconds more, and no picture wait for the next: on a busy machine one draws long."""
    original = workers.compute

    def compute(*args):
        time.sleep(seconds)
        return original(*args)

    monkeypatch.setattr(workers, "compute", compute)
    monkeypatch.setattr(study_view, "REST_PER_DRAW_SECOND", 0)


def until(view, condition, seconds=120):
    """Pump the view until it is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, (view.sentence.object, view.bar.progress.object)
        view.pump()
        time.sleep(0.01)
