"""What a pass will take is known before it is made, and passes made ready are not made ready again."""

import pytest

from alrviz.passes import cost_model
from alrviz.passes.cost_model import PassSize, seconds_on_this_machine
from alrviz.passes.warm import warm_passes


def test_compiled_kernels_take_no_time():
    assert warm_passes(3) >= 0.0
    assert warm_passes(3) == 0.0
    assert warm_passes(7) >= 0.0
    assert warm_passes(8) == 0.0  # the same lanes


def test_seconds_grow_with_the_work_and_shrink_with_threads(monkeypatch):
    monkeypatch.setattr(cost_model, "_factor", 2.0)
    monkeypatch.setattr(cost_model, "resolve_jobs", lambda n_jobs: n_jobs)
    work = PassSize(n_rows=10_000, n_classes=3, n_cells=900, n_blocks=12, n_joint=4000, n_links=30_000)

    def seconds(work, n_jobs):
        return seconds_on_this_machine(work.reference_seconds(), n_jobs, work.n_classes)

    one = seconds(work, 1)
    assert one == 2 * work.reference_seconds() > 0
    few = PassSize(n_rows=1000, n_classes=3, n_cells=90, n_blocks=12, n_joint=400, n_links=3000)
    assert seconds(few, 2) == seconds(few, 1), "waking another thread takes longer than it saves"
    large = PassSize(n_rows=1_000_000, n_classes=3, n_cells=900, n_blocks=12, n_joint=4000, n_links=30_000)
    shared = seconds(large, 1) / 1.8 + 2 * cost_model._WAKING_SECONDS
    assert seconds(large, 2) == pytest.approx(shared)
    double = PassSize(n_rows=20_000, n_classes=3, n_cells=1800, n_blocks=12, n_joint=8000, n_links=60_000)
    assert seconds(double, 1) == pytest.approx(2 * one)
    for more in ({"n_blocks": 13}, {"n_joint": 5000}, {"n_links": 31_000}, {"n_classes": 4}):
        assert PassSize(**{**vars(work), **more}).reference_seconds() > work.reference_seconds()


def test_the_machine_is_measured_once(monkeypatch):
    monkeypatch.setattr(cost_model, "_factor", None)
    first = cost_model.machine_factor()
    assert first > 0
    monkeypatch.setattr(cost_model, "_measure", lambda n_classes: pytest.fail("measured again"))
    assert cost_model.machine_factor() == first
