"""Frames of a dlr fit: a scene for each step, from the step's model, and the path of its bandwidths."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.fitting.families.density import feature_columns
from alrviz.models.density_model import DensityModel
from alrviz.studies.density.density_frames import BandwidthPath, ColumnRatio, DensityFrame, Floats

CURVE_POINTS = 160
RUG_ROWS = 400
MAX_LEVELS = 200  # of a column in a scene: more are unreadable, and every step sends them to the browser
MARGIN_SHARE = 0.04  # share of a column's range beyond its first and last value


def density_frame_of(
    model: DensityModel,
    encoded: Encoded,
    labels: Sequence[Sequence[str]] = (),
    *,
    iteration: int = 0,
    note: str = "",
    previous: DensityFrame | None = None,
) -> DensityFrame:
    """Return the scene of a dlr model.

    Args:
        model: the model of a step. encoded: the training rows of its features.
        labels: names of the levels of every column (`[c.labels for c in encoder.columns_]`).
        iteration: index of the step. note: words shown with it.
        previous: a scene of the same rows, whose curves are reused where bandwidths did not change.
    """
    features, column_indices = model.features, feature_columns(encoded, model.features)
    rug_rows = np.sort(np.random.default_rng(0).permutation(encoded.n_rows)[:RUG_ROWS])
    previous_by_column = {} if previous is None else {ratio.column: ratio for ratio in previous.columns}
    ratios = []
    for feature_index, column in enumerate(column_indices):
        weight: Any = model.w[feature_index] if features.n_values > 1 else float(model.w[feature_index, 0])
        name = str(encoded.names[column])
        if feature_index < len(features.numeric):
            previous_ratio = previous_by_column.get(name)
            ratios.append(_curve_ratio(model, encoded, feature_index, name, weight, rug_rows, previous_ratio))
        else:
            n_levels = int(encoded.levels[column])
            phi = features.levels(feature_index - len(features.numeric)).T[:n_levels]
            level_names = labels[column] if len(labels) else range(n_levels)
            ratios.append(
                _level_ratio(
                    encoded, column, ColumnRatio(name, _narrow(phi), weight), level_names, previous_by_column.get(name)
                )
            )
    return DensityFrame(tuple(ratios), tuple(str(label) for label in encoded.classes), iteration, note)


def _level_ratio(
    encoded: Encoded, column: int, ratio: ColumnRatio, names: Sequence[Any], prior: ColumnRatio | None
) -> ColumnRatio:
    """Return the ratio of a categorical column with names of its levels.

    Of many levels it has only the most frequent ones, with all of them in `whole`. column: its number in `encoded`;
    prior: the ratio in the previous scene.
    """
    n_levels = len(ratio.phi)
    if n_levels <= MAX_LEVELS:
        return replace(ratio, levels=tuple(str(names[k]) for k in range(n_levels)))
    if prior is not None and prior.whole is not None and prior.shown is not None:
        shown_positions, levels = prior.shown, prior.whole.levels
    else:
        rows_by_level = np.bincount(encoded.codes[column], minlength=n_levels)[:n_levels]
        shown_positions = np.sort(np.argsort(-rows_by_level, kind="stable")[:MAX_LEVELS])
        levels = tuple(str(names[k]) for k in range(n_levels))
    whole_ratio = replace(ratio, levels=levels)
    drawn_levels = tuple(levels[k] for k in shown_positions)
    return replace(
        ratio, phi=ratio.phi[shown_positions], levels=drawn_levels, shown=shown_positions,
        left_out=n_levels - len(shown_positions), whole=whole_ratio,
    )  # fmt: skip


def _curve_ratio(
    model: DensityModel, encoded: Encoded, k: int, name: str, weight: Any, rug_rows: Any, prior: ColumnRatio | None
) -> ColumnRatio:
    """Return the ratio of numeric feature k; where its bandwidth is that of `prior`, in the previous scene, curves are
    reused.

    name, weight: of the column; rug_rows: numbers of the rows that are shown.
    """
    assert encoded.numbers is not None  # the table has numeric features
    h, silverman = float(np.exp(model.log_h[k])), float(model.features.silverman[k])
    if prior is not None and prior.bandwidth == h:
        return replace(prior, weight=weight)
    values = encoded.numbers[model.features.numeric[k]]
    if prior is None or prior.x is None:
        lowest, highest = float(np.nanmin(values)), float(np.nanmax(values))
        margin = MARGIN_SHARE * (highest - lowest)
        x = np.linspace(lowest - margin, highest + margin, CURVE_POINTS)
    else:
        x = prior.x
    phi = model.features.curve(k, x, float(model.log_h[k])).phi.T
    if prior is not None:
        return replace(prior, phi=_narrow(phi), weight=weight, x=x, bandwidth=h, silverman=silverman)
    rug = values[rug_rows]
    is_finite = np.isfinite(rug)
    classes = encoded.y[rug_rows][is_finite].astype(np.intp)
    return ColumnRatio(
        name, _narrow(phi), weight, x, bandwidth=h, silverman=silverman, rug=rug[is_finite], rug_class=classes
    )


def _narrow(phi: Floats) -> Floats:
    """Return phi (G, 1) of two classes as (G,), and phi (G, C) of more as it is."""
    return phi[:, 0] if phi.shape[1] == 1 else phi


def bandwidth_path(run: Any) -> BandwidthPath:
    """Return the path of a dlr run up to its latest step."""
    steps = [step for step in run.trace.since(0) if step.kind != "search"]
    features, total_weight = run.objective.features, run.trace.rows or 1.0
    column_indices = feature_columns(run.encoded, features)[: len(features.numeric)]
    bandwidths = [[step.extra.get(f"h_{column_index}", np.nan) for column_index in column_indices] for step in steps]
    h = np.reshape(bandwidths, (len(steps), len(column_indices)))  # keeps two dimensions before the first step
    losses = {"training": np.array([step.nll / total_weight for step in steps])}
    for sample_name, key in (("validation", "validation_log_loss"), ("test", "heldout_log_loss")):
        log_losses = np.array([step.extra.get(key, np.nan) for step in steps], dtype=np.float64)
        if np.isfinite(log_losses).any():
            losses[sample_name] = log_losses
    return BandwidthPath(
        iterations=np.array([step.index for step in steps], dtype=np.intp),
        columns=tuple(str(run.encoded.names[column_index]) for column_index in column_indices),
        ratios=h / features.silverman if len(column_indices) else h,
        losses=losses,
        outer=np.array([step.kind == "outer" for step in steps], dtype=bool),
    )
