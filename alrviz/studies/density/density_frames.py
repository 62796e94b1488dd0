"""Plain values that pictures of a dlr fit show: one step (`DensityFrame`), all steps (`BandwidthPath`).

A scene has for each column the curve phi_d(x) (or its value at each level), its weight, its bandwidth with Silverman's
for comparison, and some rows for the rug. `studies.density_film` makes them from a model and a run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.passes.aligned_buffers import Floats


@dataclass(frozen=True, eq=False)
class ColumnRatio:
    """Density log-ratio of one column.

    Attributes:
        column: its name.
        phi: (G,) for two classes, (G, C) for more: at each x, or at each level.
        weight: w_d: a number for two classes, (C,) for more.
        x: (G,) ascending positions on a numeric column, None for levels.
        levels: (G,) levels of a categorical column; only the most frequent ones beyond `density_film.MAX_LEVELS`.
        bandwidth, silverman: h and Silverman's h, in units of the column; NaN for levels.
        rug, rug_class: (R,) values of some rows and their class codes.
        shown: (G,) positions of `levels` among the column's, None if all are shown. left_out: number of levels not
            shown.
        whole: the same with all levels, if some are left out: pictures show the most frequent, files have all.
    """

    column: str
    phi: Floats
    weight: Any
    x: Floats | None = None
    levels: tuple[str, ...] = ()
    bandwidth: float = float("nan")
    silverman: float = float("nan")
    rug: Floats = field(default_factory=lambda: np.empty(0))
    rug_class: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    shown: NDArray[np.intp] | None = None
    left_out: int = 0
    whole: "ColumnRatio | None" = None

    @property
    def weighted(self) -> Floats:
        """w_d phi_d: the column's part of the score (of each class)."""
        return self.phi * self.weight

    def at_rows(self, values: Floats) -> Floats:
        """Return the values of a curve (`phi`, `weighted`) nearest to the rug's rows; the whole curve without a rug."""
        if self.x is None or not len(self.rug):
            return values
        return values[np.clip(np.searchsorted(self.x, self.rug), 0, len(self.x) - 1)]

    @property
    def importance(self) -> float:
        """Standard deviation of w_d phi_d over its rug, or over its levels: how much the column moves scores."""
        values = self.at_rows(self.weighted)
        return float(np.max(np.std(values, axis=0))) if len(values) else 0.0


@dataclass(frozen=True, eq=False)
class DensityFrame:
    """All columns at one step of a fit.

    Attributes:
        columns: the columns with a feature.
        classes: the classes as text; with two, phi is that of the second.
        iteration: the step.
        note: words to show with it ("by hand").
    """

    columns: tuple[ColumnRatio, ...]
    classes: tuple[str, ...]
    iteration: int = 0
    note: str = ""


@dataclass(frozen=True, eq=False)
class BandwidthPath:
    """Bandwidths and losses along a fit.

    Attributes:
        iterations: (T,) step indices, ascending.
        columns: the names of the D numeric columns.
        ratios: (T, D) h over Silverman's h.
        losses: NLL per row in nats by part ("training", "validation", "test"), each (T,), NaN if unknown.
        outer: (T,) whether the step moved bandwidths; else it moved only weights.
    """

    iterations: NDArray[np.intp]
    columns: tuple[str, ...]
    ratios: Floats
    losses: Mapping[str, Floats]
    outer: NDArray[np.bool_]


def density_table(scene: DensityFrame) -> pd.DataFrame:
    """Return a scene as a tidy frame with all levels: column, x or level, class of phi, phi, w, w phi, h."""
    frames = []
    for ratio in (column_ratio.whole or column_ratio for column_ratio in scene.columns):
        shown_classes = scene.classes[1:] if ratio.phi.ndim == 1 else scene.classes
        phi, weighted = (np.reshape(values, (len(ratio.phi), -1)) for values in (ratio.phi, ratio.weighted))
        weights = np.atleast_1d(ratio.weight)
        for k, name in enumerate(shown_classes):
            columns = {
                "column": ratio.column,
                "x": np.nan if ratio.x is None else ratio.x,
                "level": list(ratio.levels) if ratio.x is None else "",
                "class": name,
                "phi": phi[:, k],
                "w": float(weights[k]),
                "w phi": weighted[:, k],
                "h": ratio.bandwidth,
            }
            frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def path_frame(path: BandwidthPath) -> pd.DataFrame:
    """Return a path as a frame: step, whether bandwidths moved, NLL per row by part, h over Silverman's by column."""
    step_columns: dict[str, Any] = {"step": path.iterations, "bandwidths moved": path.outer}
    step_columns |= {f"NLL {sample_name}": losses for sample_name, losses in path.losses.items()}
    ratios = pd.DataFrame(path.ratios, columns=[f"h / Silverman's of {name}" for name in path.columns])
    return pd.concat([pd.DataFrame(step_columns), ratios], axis=1)
