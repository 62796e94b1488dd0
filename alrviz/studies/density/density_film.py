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
    features, tables = model.features, feature_columns(encoded, model.features)
    rug_rows = np.sort(np.random.default_rng(0).permutation(encoded.n_rows)[:RUG_ROWS])
    previous_by_column = {} if previous is None else {ratio.column: ratio for ratio in previous.columns}
    parts = []
    for d, j in enumerate(tables):
        weight: Any = model.w[d] if features.n_values > 1 else float(model.w[d, 0])
        name = str(encoded.names[j])
        if d < len(features.numeric):
            old = previous_by_column.get(name)
            parts.append(_curve(model, encoded, d, name, weight, rug_rows, old))
        else:
            count = int(encoded.levels[j])
            phi = features.levels(d - len(features.numeric)).T[:count]
            texts = labels[j] if len(labels) else range(count)
            parts.append(
                _levels(encoded, j, ColumnRatio(name, _narrow(phi), weight), texts, previous_by_column.get(name))
            )
    return DensityFrame(tuple(parts), tuple(str(label) for label in encoded.classes), iteration, note)


def _levels(encoded: Encoded, j: int, ratio: ColumnRatio, texts: Sequence[Any], old: ColumnRatio | None) -> ColumnRatio:
    """Return the ratio with names of its levels; only the most frequent ones if there are many, with `whole` beside."""
    count = len(ratio.phi)
    if count <= MAX_LEVELS:
        return replace(ratio, levels=tuple(str(texts[k]) for k in range(count)))
    if old is not None and old.whole is not None and old.shown is not None:
        shown_positions, levels = old.shown, old.whole.levels
    else:
        rows = np.bincount(encoded.codes[j], minlength=count)[:count]
        shown_positions = np.sort(np.argsort(-rows, kind="stable")[:MAX_LEVELS])
        levels = tuple(str(texts[k]) for k in range(count))
    whole_ratio = replace(ratio, levels=levels)
    drawn_levels = tuple(levels[k] for k in shown_positions)
    return replace(
        ratio, phi=ratio.phi[shown_positions], levels=drawn_levels, shown=shown_positions,
        left_out=count - len(shown_positions), whole=whole_ratio,
    )  # fmt: skip


def _curve(
    model: DensityModel, encoded: Encoded, d: int, name: str, weight: Any, rug_rows: Any, old: ColumnRatio | None
) -> ColumnRatio:
    assert encoded.numbers is not None  # the table has numeric features
    h, silverman = float(np.exp(model.log_h[d])), float(model.features.silverman[d])
    if old is not None and old.bandwidth == h:
        return replace(old, weight=weight)
    values = encoded.numbers[model.features.numeric[d]]
    if old is None or old.x is None:
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        air = MARGIN_SHARE * (high - low)
        x = np.linspace(low - air, high + air, CURVE_POINTS)
    else:
        x = old.x
    phi = model.features.curve(d, x, float(model.log_h[d])).phi.T
    if old is not None:
        return replace(old, phi=_narrow(phi), weight=weight, x=x, bandwidth=h, silverman=silverman)
    rug = values[rug_rows]
    is_finite = np.isfinite(rug)
    classes = encoded.y[rug_rows][is_finite].astype(np.intp)
    return ColumnRatio(
        name, _narrow(phi), weight, x, bandwidth=h, silverman=silverman, rug=rug[is_finite], rug_class=classes
    )


def _narrow(phi: Floats) -> Floats:
    """Return (G,) for two classes, which need one number, and (G, C) for more."""
    return phi[:, 0] if phi.shape[1] == 1 else phi


def bandwidth_path(run: Any) -> BandwidthPath:
    """Return the path of a dlr run up to its latest step."""
    steps = [step for step in run.trace.since(0) if step.kind != "search"]
    features, rows = run.objective.features, run.trace.rows or 1.0
    places = feature_columns(run.encoded, features)[: len(features.numeric)]
    bandwidths = [[step.extra.get(f"h_{j}", np.nan) for j in places] for step in steps]
    h = np.reshape(bandwidths, (len(steps), len(places)))  # keeps two dimensions before the first step
    losses = {"training": np.array([step.nll / rows for step in steps])}
    for part, key in (("validation", "validation_log_loss"), ("test", "heldout_log_loss")):
        values = np.array([step.extra.get(key, np.nan) for step in steps], dtype=np.float64)
        if np.isfinite(values).any():
            losses[part] = values
    return BandwidthPath(
        iterations=np.array([step.index for step in steps], dtype=np.intp),
        columns=tuple(str(run.encoded.names[j]) for j in places),
        ratios=h / features.silverman if len(places) else h,
        losses=losses,
        outer=np.array([step.kind == "outer" for step in steps], dtype=bool),
    )
