"""From encoded rows and a recipe of DLR to what a driver runs: the objective, its validation rows, solver, start."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.assemble import Fit, class_weighted
from alrviz.fitting.density import VALIDATES, DensityObjective, DensityRows
from alrviz.fitting.prepare import split
from alrviz.fitting.solvers.hierarchical import Hierarchical
from alrviz.models.density import DensityFeatures
from alrviz.models.density_model import others_of, parts_of
from alrviz.models.density_votes import DensityVotes
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded


def assemble_density(
    encoded: "Encoded", params: Mapping[str, Any], n_jobs: int | None, seed: int = 0, stop: StopToken = NEVER
) -> Fit:
    """Return the fit that "dlr" with `params` (complete, as a recipe holds them) makes of encoded rows.

    `seed` is that of the split in which the bandwidths are validated.

    Raises:
        RecipeError: if no row is left to validate on, or a class weight names no class.
        TableError: if no column has a feature.
    """
    mode = params["bandwidth"]
    validation = None
    if mode in VALIDATES and len(encoded.numeric):
        fraction = params["validation_fraction"]
        train, held = split(encoded.y, fraction, seed)
        if not len(held):
            raise RecipeError(
                f"validation_fraction={fraction:g} of {encoded.n_rows} rows leaves none to validate the bandwidths on; "
                "expected a larger share or more rows, or bandwidth='loo'"
            )
        validation = rows_beside(encoded.take(held), n_jobs, params["class_weight"])
        encoded = encoded.take(train)
    numbers, codes = parts_of(encoded)
    levels = encoded.levels[others_of(encoded)]
    y, weights, n_classes = encoded.y, encoded.weights, encoded.n_classes
    features = DensityFeatures(numbers, codes, levels, y, weights, n_classes, params["smoothing"], n_jobs, stop)
    objective = DensityObjective(
        features,
        class_weighted(Rows(y, weights, n_classes, n_jobs=n_jobs), params["class_weight"], encoded.classes),
        mode,
        alpha=params["alpha"],
        center=params["center"],
        columns=tuple(encoded.numeric[features.numeric].tolist()),
        validation=validation if len(features.numeric) else None,
        stop=stop,
    )
    w0 = objective.start(1.0 if params["start"] == "one" else 0.0)
    return Fit(objective, Hierarchical(params["tol"]), w0, params["max_iter"], params["tol"])


def rows_beside(encoded: "Encoded", n_jobs: int | None, class_weight: Any = None) -> DensityRows:
    """Return rows that do not vote, for a loss of their own."""
    rows = Rows(encoded.y, encoded.weights, encoded.n_classes, n_jobs=n_jobs)
    return DensityRows(class_weighted(rows, class_weight, encoded.classes), *parts_of(encoded))


def feature_columns(encoded: "Encoded", features: DensityVotes) -> np.ndarray:
    """Return the column of the table that each feature (D,) is of."""
    return np.concatenate([encoded.numeric[features.numeric], others_of(encoded)[features.categorical]])
