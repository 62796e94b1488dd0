"""Compiling ahead leaves nothing to compile: neither to fits nor to predictions."""

import numpy as np
import pytest

from alrviz.fitting import warm as warm_module
from alrviz.fitting.runs import run as run_module
from alrviz.fitting.warm import warm
from alrviz.kernels import (
    adagrad,
    cells,
    density,
    features,
    grids,
    plan,
    ratios,
    rows,
    scores,
)
from alrviz.models import joint_values as joint_module
from alrviz.models import linear
from alrviz.models.averages import AverageModel
from alrviz.models.networks import count_network
from alrviz.models.streamed import count_stream
from alrviz.models.structures import naive_structure
from alrviz.passes import density as density_passes
from alrviz.passes.aligned_buffers import VECTOR_WIDTHS
from alrviz.passes.stream import single_table
from tests.fitting.mixed import density_run, mixed
from tests.fitting.tables import counted, drain, run_of, table
from tests.fitting.test_streamed import chunked

KERNELS = {
    f"{module.__name__}.{name}": value
    for module in (
        rows,
        scores,
        cells,
        plan,
        density,
        grids,
        ratios,
        features,
        adagrad,
    )
    for name, value in vars(module).items()
    if hasattr(value, "signatures") and not name.startswith("_")
}


def signatures():
    return {name: len(kernel.signatures) for name, kernel in KERNELS.items()}


@pytest.fixture(scope="module")
def ready():
    """The signatures there are once everything is warm."""
    variants, seconds = warm()
    assert variants == 2 * len(VECTOR_WIDTHS)
    assert seconds >= 0
    return signatures()


def test_every_kernel_is_made_ready(ready):
    assert len(KERNELS) >= 27
    assert [name for name, number in ready.items() if number == 0] == []


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("slots", [joint_module._MAX_SLOTS, 0])
@pytest.mark.parametrize("many", [linear._MIN_PLANNED_LOOKUPS, 0])
def test_after_warm_no_kernel_is_compiled(many, slots, dtype, ready, monkeypatch):
    """By places and by hash; for repeats, test rows, gaps and predictions of both kinds."""
    monkeypatch.setattr(joint_module, "_MAX_SLOTS", slots)
    monkeypatch.setattr(linear, "_MIN_PLANNED_LOOKUPS", many)
    monkeypatch.setattr(linear, "_MIN_TABLE_LOOKUPS", many)
    encoded = table(60, (3, 2, 4), dtype=dtype, gaps=0.05, weights="fractions")
    run = drain(run_of(encoded, "alr", encoded.take(np.arange(10)), order=2, max_iter=2))
    assert run.compile_seconds == 0.0
    run.model.scores(encoded.codes)
    assert signatures() == ready


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_after_warm_no_kernel_of_averages_is_compiled(n_classes, dtype, ready):
    encoded = table(60, (3, 2, 4), n_classes, dtype=dtype)
    tables = [counted(encoded, n) for n in (1, 2)]
    network = count_network(naive_structure(3), tables[0], encoded.codes, encoded.y, encoded.weights).model()
    model = AverageModel(*tables, network)
    model.scores(encoded.codes)
    model.networks(encoded.codes)
    assert signatures() == ready


@pytest.mark.parametrize("allowed", [0, 2**24])
@pytest.mark.parametrize("n_classes", [2, 3, 17])
def test_after_warm_no_kernel_of_steps_over_chunks_is_compiled(n_classes, allowed, ready):
    """Cells by their place and by hash."""
    encoded = table(60, (3, 2, 4), n_classes, dtype=np.uint8)
    y = encoded.y.astype(np.int32)
    passes = count_stream(encoded.levels, 2, chunked(encoded.codes, y), n_classes, 1.0, allowed, 1).passes
    for parts in (3, 4, 5):
        passes.visit(
            encoded.codes, y, np.arange(60), single_table(passes.cells.n_rows, parts, passes.padded_width), 0.1
        )
    assert signatures() == ready


@pytest.mark.parametrize("votes", [density_passes._VOTES_PER_CALL, 10])
@pytest.mark.parametrize("n_classes", [2, 3, 17])
@pytest.mark.parametrize("mode", ["loo", "validation"])
def test_after_warm_no_kernel_of_densities_is_compiled(mode, n_classes, votes, ready, monkeypatch):
    """By grids, by exact sums and by bundles, which are made once many votes were taken."""
    monkeypatch.setattr(density_passes, "_VOTES_PER_CALL", votes)
    encoded = mixed(340, n_classes, gaps=0.05, weights="fractions")
    run = drain(density_run(encoded, encoded.take(np.arange(10)), bandwidth=mode, max_iter=3))
    assert run.compile_seconds == 0.0
    run.model.scores_of(encoded)
    run.objective.features.curve(0, np.linspace(0.0, 1.0, 9), run.state.point.features.log_h[0])
    run.objective.features.levels(0)
    assert signatures() == ready


def test_read_only_arrays_are_copied_before_compiled_calls(ready):
    """Arrays out of a memory map, as joblib makes of a model's."""
    encoded = table(60, (3, 2, 4))
    model = drain(run_of(encoded, order=2, max_iter=2)).model
    for array in (encoded.codes, encoded.y, encoded.weights, encoded.levels, model.phi, model.bias, model.seen_cells):
        array.flags.writeable = False
    model.scores(encoded.codes)
    drain(run_of(encoded, order=2, max_iter=2))
    assert signatures() == ready


def test_codes_and_keys_are_made_ready_by_the_width_of_each(monkeypatch):
    """Wide codes of few joint values, and the other way round: before the first stage that needs them."""
    asked = []
    monkeypatch.setattr(run_module, "warm_covers", lambda wide: asked.append(("codes", wide)) or 1.0)
    monkeypatch.setattr(warm_module, "warm_passes", lambda n, wide, loss, _: asked.append((loss.name, wide)) or 2.0)
    monkeypatch.setattr(warm_module, "warm_single", lambda wide: asked.append(("single_rows", wide)) or 4.0)
    wide_codes = drain(run_of(table(60, (3, 2), dtype=np.uint32), order=1, max_iter=1, objective="hinge"))
    assert asked == [("codes", True), ("hinge", False)]
    assert wide_codes.compile_seconds == 3.0
    asked.clear()
    many = table(70_000, (300, 300), 3, dtype=np.uint16)
    many.codes[:] = np.divmod(np.arange(70_000), 300)
    wide_keys = drain(run_of(many, order=2, max_iter=0, solver="sgd"))
    assert asked == [("codes", False), ("nll", True), ("single_rows", True)]
    assert wide_keys.compile_seconds == 7.0
