"""Compiling ahead leaves nothing to compile: neither to fits nor to predictions."""

import numpy as np
import pytest

from alrviz.fitting.warm import warm
from alrviz.kernels import cells, joint, plan, rows, scores
from alrviz.models import joint as joint_module
from alrviz.models import linear
from alrviz.passes.room import LANES
from tests.fitting.tables import drain, run_of, table

KERNELS = {
    f"{module.__name__}.{name}": value
    for module in (rows, scores, joint, cells, plan)
    for name, value in vars(module).items()
    if hasattr(value, "signatures") and not name.startswith("_")
}


def signatures():
    return {name: len(kernel.signatures) for name, kernel in KERNELS.items()}


@pytest.fixture(scope="module")
def ready():
    """The signatures there are once everything is warm."""
    variants, seconds = warm()
    assert variants == 2 * len(LANES)
    assert seconds >= 0
    return signatures()


def test_every_kernel_is_made_ready(ready):
    assert len(KERNELS) >= 17
    assert [name for name, number in ready.items() if number == 0] == []


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("slots", [joint_module._SLOTS, 0])
@pytest.mark.parametrize("many", [linear._MANY, 0])
def test_after_warm_no_kernel_is_compiled(many, slots, dtype, ready, monkeypatch):
    """By places and by hash; for repeats, held-out rows, gaps and predictions of both kinds."""
    monkeypatch.setattr(joint_module, "_SLOTS", slots)
    monkeypatch.setattr(linear, "_MANY", many)
    encoded = table(60, (3, 2, 4), dtype=dtype, gaps=0.05, weights="fractions")
    run = drain(run_of(encoded, "alr", encoded.take(np.arange(10)), order=2, max_iter=2))
    assert run.compile_seconds == 0.0
    run.model.scores(encoded.codes)
    run.model.contributions(encoded.codes)
    assert signatures() == ready


def test_what_may_only_be_read_is_not_compiled_for(ready):
    """Arrays out of a memory map, as joblib makes of a model's."""
    encoded = table(60, (3, 2, 4))
    model = drain(run_of(encoded, order=2, max_iter=2)).model
    for array in (encoded.codes, encoded.y, encoded.weights, encoded.levels, model.phi, model.bias, model.seen):
        array.flags.writeable = False
    model.scores(encoded.codes)
    drain(run_of(encoded, order=2, max_iter=2))
    assert signatures() == ready
