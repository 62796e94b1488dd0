"""Scenes and paths of a DLR fit: the values that pictures show are the model's."""

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.encode import Encoder
from alrviz.models.density import DensityFeatures
from alrviz.models.density_model import DensityModel
from alrviz.studies.density.density_film import CURVE_POINTS, MAX_LEVELS, RUG_ROWS, bandwidth_path, density_frame_of
from alrviz.studies.density.density_frames import BandwidthPath, ColumnRatio, DensityFrame, density_table, path_frame


@pytest.fixture(scope="module")
def run():
    run = alrviz.Run(
        alrviz.load_demo("mixed-types", rows=300), alrviz.Recipe("dlr", bandwidth="loo", max_iter=6, alpha=10.0)
    )
    for _ in run.steps():
        pass
    return run


def labels_of(run):
    return [column.labels for column in run.encoder.columns_]


def test_a_scene_adds_up_to_the_models_scores(run):
    """Curves and levels, read off at the training rows, give the scores of those rows."""
    scene = density_frame_of(run.model, run.encoded, labels_of(run))
    assert {ratio.column for ratio in scene.columns} == set(run.encoded.names)
    names = list(run.encoded.names)
    z = np.full(run.encoded.n_rows, float(run.model.w[-1, 0]))
    for ratio in scene.columns:
        j = names.index(ratio.column)
        if ratio.x is None:
            z += ratio.weighted[run.encoded.codes[j]]
        else:
            numbers = run.encoded.numbers[list(run.encoded.numeric).index(j)]
            z += np.interp(numbers, ratio.x, ratio.weighted)
            assert len(ratio.x) == CURVE_POINTS
    scores = run.model.scores_of(run.encoded)
    there = np.isfinite(run.encoded.numbers).all(axis=0)  # a number that is missing stands nowhere on a curve
    assert there.mean() > 0.9
    assert np.abs(z - (scores[:, 1] - scores[:, 0]))[there].max() < 0.01


def test_levels_have_their_names_and_numbers_their_bandwidth(run):
    scene = density_frame_of(run.model, run.encoded, labels_of(run), iteration=6, note="by hand")
    by_name = {ratio.column: ratio for ratio in scene.columns}
    assert set(by_name["smoker"].levels) == {"no", "yes"}
    assert np.isnan(by_name["smoker"].bandwidth)
    assert by_name["temperature"].bandwidth == pytest.approx(float(run.model.bandwidths[0]))
    assert by_name["temperature"].silverman == pytest.approx(float(run.model.features.silverman[0]))
    assert len(by_name["temperature"].rug) == min(RUG_ROWS, run.encoded.n_rows)
    assert (scene.iteration, scene.note) == (6, "by hand")


def test_a_curve_whose_bandwidth_did_not_move_is_kept(run):
    from dataclasses import replace

    first = density_frame_of(run.model, run.encoded, labels_of(run))
    moved = replace(run.model, log_h=run.model.log_h + np.array([0.1, 0.0]), w=2 * run.model.w)
    second = density_frame_of(moved, run.encoded, labels_of(run), previous=first)
    old, new = ({ratio.column: ratio for ratio in scene.columns} for scene in (first, second))
    assert new["pressure"].phi is old["pressure"].phi
    assert new["pressure"].weight == 2 * old["pressure"].weight
    assert new["temperature"].x is old["temperature"].x
    assert new["temperature"].rug is old["temperature"].rug
    assert np.abs(new["temperature"].phi - old["temperature"].phi).max() > 1e-3


def test_three_classes_have_a_curve_each():
    run = alrviz.Run(alrviz.load_demo("iris"), alrviz.Recipe("dlr", bandwidth="loo", max_iter=2, alpha=10.0))
    for _ in run.steps():
        pass
    scene = density_frame_of(run.model, run.encoded)
    assert scene.classes == ("setosa", "versicolor", "virginica")
    assert scene.columns[0].phi.shape == (CURVE_POINTS, 3)
    np.testing.assert_array_equal(scene.columns[0].weight, run.model.w[0])


def test_a_path_is_the_traces(run):
    path = bandwidth_path(run)
    trace = run.trace.frame()
    np.testing.assert_array_equal(path.iterations, trace["index"])
    np.testing.assert_allclose(path.losses["training"], trace["nll"] / run.trace.rows)
    np.testing.assert_allclose(path.ratios[0], 1.0)
    np.testing.assert_allclose(path.ratios[-1], run.model.bandwidths / run.model.features.silverman)
    np.testing.assert_array_equal(path.outer, trace["kind"] == "outer")
    assert path.columns == ("temperature", "pressure")
    assert set(path.losses) == {"training", "test"}


def test_frames_are_tidy():
    x = np.array([0.0, 1.0])
    numeric = ColumnRatio("u", np.array([1.0, -1.0]), 2.0, x=x, bandwidth=0.5, silverman=1.0)
    levels = ColumnRatio("c", np.array([[1.0, 2.0, 3.0]]), np.array([1.0, 0.5, 0.0]), levels=("a",))
    two = density_table(DensityFrame((numeric,), ("no", "yes")))
    assert two[["column", "x", "class", "phi", "w", "w phi", "h"]].values.tolist() == [
        ["u", 0.0, "yes", 1.0, 2.0, 2.0, 0.5],
        ["u", 1.0, "yes", -1.0, 2.0, -2.0, 0.5],
    ]
    three = density_table(DensityFrame((levels,), ("p", "q", "r")))
    assert three[["level", "class", "w phi"]].values.tolist() == [["a", "p", 1.0], ["a", "q", 1.0], ["a", "r", 0.0]]
    steps = np.arange(2)
    path = BandwidthPath(steps, ("u",), np.array([[1.0], [0.5]]), {"training": np.array([0.7, 0.6])}, steps > 0)
    assert path_frame(path).columns.tolist() == ["step", "bandwidths moved", "NLL training", "h / Silverman's of u"]


def test_importance_follows_the_movement_of_scores():
    x, rug = np.linspace(-1, 1, 50), np.linspace(-0.1, 0.1, 20)
    wide = ColumnRatio("u", 10 * x, 1.0, x=x, rug=rug)
    steep = ColumnRatio("v", np.where(np.abs(x) < 0.15, 40 * x, 0), 1.0, x=x, rug=rug)
    assert steep.importance > wide.importance  # no row lies where the first is far from 0
    assert ColumnRatio("w", steep.phi, 0.1, x=x, rug=rug).importance == pytest.approx(0.1 * steep.importance)


def test_of_ninety_thousand_levels_a_scene_has_the_most_frequent():
    rows = 90_000
    level = np.concatenate([np.arange(rows), np.repeat([7, 88_888], 50)])
    frame = pd.DataFrame({"id": [f"v{k:05d}" for k in level], "y": np.where(level % 2, "odd", "even")})
    data = alrviz.read_table(frame, target="y").with_kinds(id="categorical")
    encoder = Encoder()
    encoded = encoder.fit(data.X, data.y).encode(data.X, data.y)
    codes, weights = encoded.codes, encoded.weights
    features = DensityFeatures(np.empty((0, encoded.n_rows)), codes, encoded.levels, encoded.y, weights, 2)
    model = DensityModel(features, np.ones((2, 1)), np.empty(0))
    labels = [column.labels for column in encoder.columns_]
    (column,) = (scene := density_frame_of(model, encoded, labels)).columns
    assert len(column.levels) == len(column.phi) == MAX_LEVELS
    assert {"v00007", "v88888"} <= set(column.levels)
    assert column.left_out == rows - MAX_LEVELS
    (again,) = density_frame_of(model, encoded, labels, previous=scene).columns
    assert again.levels == column.levels
    frame = density_table(scene)
    assert frame["level"].tolist() == list(labels[0]), "a file has all of them"
    assert frame["phi"].to_numpy()[column.shown] == pytest.approx(column.phi)
    assert density_table(density_frame_of(model, encoded, labels, previous=scene)).equals(frame)
